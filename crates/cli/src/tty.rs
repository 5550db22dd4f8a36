//! The terminal this program was started from, as a place for questions.
//!
//! Lines are read on a thread of their own. It reads only while somebody waits for the
//! answer: where the question is dropped (its time is up, or the turn was stopped), the
//! thread wakes and ends, and the next line typed belongs to the next question.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

use crate::clean::Clean;

/// A key that is pressed earlier than this after a question appeared is no answer to it.
const SEEN_AFTER: Duration = Duration::from_millis(700);

/// The same after a question whose time was over: its answer may still be on its way.
const SEEN_AFTER_EXPIRED: Duration = Duration::from_secs(2);

/// Whether the last question ended without an answer.
static EXPIRED: AtomicBool = AtomicBool::new(false);

/// Notes that a question ended, unless it was answered.
struct Unanswered(bool);

impl Drop for Unanswered {
    fn drop(&mut self) {
        EXPIRED.store(self.0, Ordering::SeqCst);
    }
}

/// The terminal while a question is open.
pub(crate) struct Tty {
    file: File,
    /// Its other end is held by whoever waits.
    waited_for: OwnedFd,
    typed: Vec<u8>,
    /// Whether the question before this one ended without an answer.
    follows_expired: bool,
}

/// Whether there is a terminal.
pub(crate) fn is_there() -> bool {
    open().is_ok()
}

fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

/// Asks a question on the terminal; nothing where the person goes away.
pub(crate) async fn ask<T: Send + 'static>(
    converse: impl FnOnce(&mut Tty) -> io::Result<Option<T>> + Send + 'static,
) -> io::Result<Option<T>> {
    let (waited_for, waits) = pipe_with(PipeFlags::CLOEXEC)?;
    let follows_expired = EXPIRED.load(Ordering::SeqCst);
    let mut unanswered = Unanswered(true);
    let asked = tokio::task::spawn_blocking(move || {
        converse(&mut Tty::begin(waited_for, follows_expired)?)
    });
    let answer = asked.await;
    unanswered.0 = false;
    // Until here, or until this future is dropped.
    drop(waits);
    answer.map_err(io::Error::other)?
}

impl Tty {
    /// What was typed before there was a question is no answer to it.
    fn begin(waited_for: OwnedFd, follows_expired: bool) -> io::Result<Self> {
        let file = open()?;
        tcflush(&file, QueueSelector::IFlush)?;
        Ok(Self {
            file,
            waited_for,
            typed: Vec::new(),
            follows_expired,
        })
    }

    /// Whether the question before this one ended without an answer.
    pub(crate) fn follows_expired(&self) -> bool {
        self.follows_expired
    }

    /// Shows a text.
    pub(crate) fn show(&mut self, text: impl Into<Clean>) -> io::Result<()> {
        self.file.write_all(text.into().as_str().as_bytes())
    }

    /// Has a row that is wider than the screen cut at its edge, or go on in the next one again.
    pub(crate) fn cut_rows(&mut self, cut: bool) -> io::Result<()> {
        let sequence: &[u8] = if cut { b"\x1b[?7l" } else { b"\x1b[?7h" };
        self.file.write_all(sequence)
    }

    /// How many rows and columns are seen at once. A terminal that does not say so has those of
    /// the oldest ones.
    pub(crate) fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(&self.file).ok();
        let or = |known: Option<u16>, usual: usize| match known {
            Some(count) if count > 0 => usize::from(count),
            _ => usual,
        };
        (
            or(size.map(|size| size.ws_row), 24),
            or(size.map(|size| size.ws_col), 80),
        )
    }

    /// Forgets what was typed so far: it answers nothing that is shown later.
    pub(crate) fn forget_typed(&mut self) -> io::Result<()> {
        self.typed.clear();
        Ok(tcflush(&self.file, QueueSelector::IFlush)?)
    }

    /// Waits until what is shown can have been seen, then forgets what was typed meanwhile: it
    /// was typed for something else. Whether the user is still there: the end of the input counts.
    pub(crate) fn settle(&mut self) -> io::Result<bool> {
        let start = Instant::now();
        let pause = if self.follows_expired {
            SEEN_AFTER_EXPIRED
        } else {
            SEEN_AFTER
        };
        loop {
            let left = pause.saturating_sub(start.elapsed());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut waited_for = [PollFd::new(&self.waited_for, PollFlags::IN)];
            match poll(&mut waited_for, Some(&left)) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let now = Timespec::default();
        while poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&now))? > 0 {
            if self.file.read(&mut [0; 4096])? == 0 {
                return Ok(false);
            }
        }
        self.forget_typed()?;
        Ok(true)
    }

    /// The next line; nothing where the person goes away or nobody waits any longer.
    pub(crate) fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            let mut chunk = [0; 4096];
            let read = match self.is_waited_for()? {
                true => self.file.read(&mut chunk),
                false => return Ok(None),
            };
            match read {
                Ok(0) => return Ok(None),
                Ok(count) => self.typed.extend(chunk.iter().take(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until something was typed. Whether somebody still wants to know.
    fn is_waited_for(&self) -> io::Result<bool> {
        loop {
            let mut either = [
                PollFd::new(&self.file, PollFlags::IN),
                PollFd::new(&self.waited_for, PollFlags::IN),
            ];
            match poll(&mut either, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [typed, waited_for] = &either;
            if !waited_for.revents().is_empty() {
                return Ok(false);
            }
            if !typed.revents().is_empty() {
                return Ok(true);
            }
        }
    }
}
