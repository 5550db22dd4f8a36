//! Runs a command to its end: hands on its output and keeps its deadlines.
//!
//! [`Running::drive`] does so on the calling thread. [`Running::driving`] gives the same work in
//! steps that do not block, for callers that wait for many commands at once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::io::Errno;

use super::running::{Cause, Deadlines, Finished, Running, Stream};
use crate::command::protocol::report::Outcome;

/// Half of a pipe's capacity. It is cleared once per command, most commands write less, and
/// filling the pipe takes longer than another read.
const BUFFER: usize = 32 << 10;

/// The most bytes of one stream that are read after the end.
const MOST_LEFT: usize = 4 << 20;

/// A command on its way to its end, step by step.
///
/// Call [`Driving::step`] until it returns [`Turn::Over`], then [`Driving::finish`]. After
/// [`Turn::Quiet`] there is nothing to do until [`Driving::events`] is readable or
/// [`Driving::due`] has come. Dropping it ends the command.
#[derive(Debug)]
pub struct Driving {
    running: Running,
    deadlines: Deadlines,
    begun: Instant,
    /// When the last output was handed on.
    heard: Instant,
    /// Which streams are still open.
    open: [bool; 2],
    buffer: Vec<u8>,
    events: Option<Arc<OwnedFd>>,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something happened, and there may be more.
    More,
    /// Nothing happened.
    Quiet,
    /// The command is over, or has to be ended.
    Over(Cause),
}

struct Events {
    said: bool,
    gone: bool,
    cancelled: bool,
    written: [bool; 2],
}

impl Running {
    /// Runs the command to its end: hands on its output, keeps its deadlines, and returns at
    /// most a second after one of them.
    pub fn drive(
        self,
        deadlines: Deadlines,
        cancel: Option<BorrowedFd<'_>>,
        mut sink: impl FnMut(Stream, &[u8]),
    ) -> Finished {
        let mut driving = self.driving(deadlines);
        let cause = loop {
            if let Turn::Over(cause) = driving.turn(None, cancel, &mut sink) {
                break cause;
            }
        };
        driving.finish(cause, sink)
    }

    /// The same in steps.
    pub fn driving(self, deadlines: Deadlines) -> Driving {
        let begun = Instant::now();
        Driving {
            running: self,
            deadlines,
            begun,
            heard: begun,
            open: [true; 2],
            buffer: vec![0; BUFFER],
            events: None,
        }
    }
}

impl Driving {
    /// Hands on output and reports that are there. If there is none, waits for it for so long;
    /// with a zero duration it never blocks.
    pub fn step(&mut self, within: Duration, sink: impl FnMut(Stream, &[u8])) -> Turn {
        self.turn(Some(within), None, sink)
    }

    /// A descriptor that is readable when a step has something to do. It may be readable
    /// without need, and is valid for as long as this lives.
    ///
    /// # Errors
    /// The process has no more descriptors.
    pub fn events(&mut self) -> std::io::Result<Arc<OwnedFd>> {
        if let Some(events) = &self.events {
            return Ok(Arc::clone(events));
        }
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let add = |fd: BorrowedFd<'_>| {
            let data = epoll::EventData::new_u64(0);
            match epoll::add(&events, fd, data, epoll::EventFlags::IN) {
                // The end and the report can be one descriptor.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(errno) => Err(errno),
            }
        };
        add(self.running.report())?;
        add(self.running.end())?;
        for stream in [Stream::Stdout, Stream::Stderr] {
            if self.is_open(stream) {
                add(self.pipe(stream))?;
            }
        }
        let events = Arc::new(events);
        self.events = Some(Arc::clone(&events));
        Ok(events)
    }

    /// When the next step has to come at the latest.
    pub fn due(&self) -> Option<Instant> {
        let total = self.deadlines.total.map(|total| self.begun + total);
        let idle = self.deadlines.idle.map(|idle| self.heard + idle);
        total.into_iter().chain(idle).min()
    }

    /// Starts the idle time anew. For callers whose listener made the command wait.
    pub fn handed_on(&mut self) {
        self.heard = Instant::now();
    }

    /// The command itself.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Ends the command if it still runs, sweeps after it, and hands on the rest of its output.
    /// This can take up to a second.
    pub fn finish(mut self, cause: Cause, mut sink: impl FnMut(Stream, &[u8])) -> Finished {
        let settled = self.running.finish();
        // The command is gone, so the pipes hold all there will be.
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = MOST_LEFT;
            while let Some(read) = self.read(stream, &mut sink) {
                left = left.saturating_sub(read);
                if read == 0 || left == 0 {
                    break;
                }
            }
        }
        Finished {
            outcome: self.running.outcome.clone().unwrap_or(Outcome::Killed),
            cause,
            settled,
            refused: std::mem::take(&mut self.running.refused),
            layer: self.running.layer.take(),
            no_layer: self.running.no_layer.take(),
        }
    }

    fn turn(
        &mut self,
        within: Option<Duration>,
        cancel: Option<BorrowedFd<'_>>,
        mut sink: impl FnMut(Stream, &[u8]),
    ) -> Turn {
        if self.running.outcome.is_some() {
            return Turn::Over(Cause::Itself);
        }
        let now = Instant::now();
        let until = |since: Instant, limit: Option<Duration>| {
            limit.map(|limit| (since + limit).saturating_duration_since(now))
        };
        let total = until(self.begun, self.deadlines.total);
        let idle = until(self.heard, self.deadlines.idle);
        if total.is_some_and(|left| left.is_zero()) {
            return Turn::Over(Cause::Timeout);
        }
        if idle.is_some_and(|left| left.is_zero()) {
            return Turn::Over(Cause::IdleTimeout);
        }
        let within = within.into_iter().chain(total).chain(idle).min();
        let Ok(events) = self.poll(cancel, within) else {
            return Turn::Over(Cause::Cancelled);
        };
        if events.cancelled {
            return Turn::Over(Cause::Cancelled);
        }
        let [stdout, stderr] = events.written;
        for (stream, written) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            if !written {
                continue;
            }
            match self.read(stream, &mut sink) {
                Some(0) => self.close(stream),
                Some(_) => self.heard = Instant::now(),
                None => {}
            }
        }
        let was_silent = self.running.silent;
        self.running.hear(events.said, events.gone);
        if self.running.silent && !was_silent {
            self.forget(self.running.status.as_fd());
        }
        if self.running.outcome.is_some() {
            Turn::Over(Cause::Itself)
        } else if events.said || events.gone || stdout || stderr {
            Turn::More
        } else {
            Turn::Quiet
        }
    }

    fn is_open(&self, stream: Stream) -> bool {
        let [stdout, stderr] = self.open;
        match stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
        }
    }

    fn pipe(&self, stream: Stream) -> BorrowedFd<'_> {
        match stream {
            Stream::Stdout => self.running.stdout(),
            Stream::Stderr => self.running.stderr(),
        }
    }

    fn close(&mut self, stream: Stream) {
        let [stdout, stderr] = &mut self.open;
        match stream {
            Stream::Stdout => *stdout = false,
            Stream::Stderr => *stderr = false,
        }
        self.forget(self.pipe(stream));
    }

    /// A descriptor at its end would be readable forever.
    fn forget(&self, fd: BorrowedFd<'_>) {
        // Without a pidfd the status stands for the end, which is known by then.
        if let Some(events) = &self.events {
            let _ = epoll::delete(events, fd);
        }
    }

    /// Reads once; none if there is nothing to read.
    fn read(&mut self, stream: Stream, sink: &mut impl FnMut(Stream, &[u8])) -> Option<usize> {
        let from = match stream {
            Stream::Stdout => &self.running.stdout,
            Stream::Stderr => &self.running.stderr,
        };
        match rustix::io::read(from, &mut *self.buffer) {
            Ok(read) => {
                if let Some(bytes) = self.buffer.get(..read).filter(|bytes| !bytes.is_empty()) {
                    sink(stream, bytes);
                }
                Some(read)
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(_) => Some(0),
        }
    }

    fn poll(
        &self,
        cancel: Option<BorrowedFd<'_>>,
        within: Option<Duration>,
    ) -> Result<Events, Errno> {
        let end = self.running.end();
        let wanted = |wanted| {
            if wanted {
                PollFlags::IN
            } else {
                PollFlags::empty()
            }
        };
        // A closed pipe would be reported forever; the end takes its place.
        let pipe = |fd, open| if open { fd } else { end };
        let [out, err] = self.open;
        let cancel_fd = cancel.unwrap_or(end);
        let mut fds = [
            PollFd::from_borrowed_fd(self.running.report(), PollFlags::IN),
            PollFd::from_borrowed_fd(end, PollFlags::IN),
            PollFd::from_borrowed_fd(cancel_fd, wanted(cancel.is_some())),
            PollFd::from_borrowed_fd(pipe(self.running.stdout(), out), wanted(out)),
            PollFd::from_borrowed_fd(pipe(self.running.stderr(), err), wanted(err)),
        ];
        let timeout = within
            .map(|within| Timespec::try_from(within).map_err(|_| Errno::INVAL))
            .transpose()?;
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let [said, gone, cancelled, stdout, stderr] = fds.map(|fd| !fd.revents().is_empty());
        Ok(Events {
            said,
            gone,
            cancelled: cancelled && cancel.is_some(),
            written: [stdout && out, stderr && err],
        })
    }
}
