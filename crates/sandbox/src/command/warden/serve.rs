//! The warden: a small process with one thread that makes sandboxes.
//!
//! The program starts itself under a private name, with nothing in its environment and a
//! socket as standard input. The end of the socket ends the warden, and the end of the
//! warden ends every command. It never looks into an order: it passes the packet on to a
//! sandbox.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::blank::{Blank, formed};
use super::descendants;
use super::machine::Machine;
use super::place::Place;
use super::pool::{Key, Pools};
use super::ready::{Ready, first_word, give};
use super::template::Template;
use crate::command::inside::init::{self, Kind, Pattern};
use crate::command::protocol::packets::{self, Wish};
pub(crate) use crate::command::protocol::packets::{BEGUN, end_packet, run_packet, try_packet};
use crate::command::protocol::report::{Outcome, Report, SetupError, Step};
use crate::command::protocol::wire::{self, Packet};
use crate::command::sys;

/// The name under which the program is a warden.
pub(crate) const NAME: &str = "toolgate-warden";
/// The warden's first message.
pub(crate) const HELLO: &[u8] = b"toolgate warden 1";

/// How long the end of a process is waited for that has no more to do, or was killed.
const TO_LEAVE: Duration = Duration::from_millis(200);

/// If a command comes this soon after the last one, the next one will too. The work
/// between commands is then done while this one runs: in between there is no idle
/// time.
const REST: Duration = Duration::from_millis(20);

/// At most this many finished sandboxes wait to be taken down, however fast orders come in:
/// each keeps about five descriptors.
const MOST_OVER: usize = 8;

/// At most this many commands run at once.
const MOST_AT_WORK: u64 = 1024;

/// Descriptors that the warden needs for itself, and for one sandbox with its order.
const OWN_DESCRIPTORS: u64 = 64;
const DESCRIPTORS_EACH: u64 = 16;

/// At most this many conversations have a place; fewer where descriptors are scarce.
const MOST_PLACES: u64 = 4096;
const LEAST_PLACES: u64 = 256;
const DESCRIPTORS_OF_PLACE: u64 = 3;

/// The warden's life. The caller has made sure that there is only one thread.
pub(crate) fn serve() -> ! {
    let socket = sys::own_stdin();
    // The socket says the same, but not while the warden is busy.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
    sys::reset_signals();
    sys::ignore_children();
    if let Some(machine) = Machine::look()
        && wire::send(&socket, HELLO, &[]).is_ok()
    {
        let (most, most_places) = raise_limit();
        let mut warden = Warden {
            machine,
            mounts: std::fs::File::open("/proc/self/mountinfo").ok(),
            pools: Pools::new(most),
            places: HashMap::new(),
            blank: None,
            awaited: None,
            ended: None,
            hurried: false,
            due: None,
            most,
            most_places,
            at_work: Vec::new(),
            over: Vec::new(),
        };
        while let Ok(packet) = warden.next(&socket) {
            if packet.bytes.is_empty() {
                break;
            }
            warden.answer(&socket, packet);
        }
    }
    sys::end(0)
}

/// Raises the limit on descriptors as far as it goes, and says how many commands and places then
/// fit. Commands get a limit of their own.
fn raise_limit() -> (usize, usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let limit = getrlimit(Resource::Nofile).current;
    let fit = limit.map_or(MOST_AT_WORK, |limit| {
        limit.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS_EACH
    });
    let commands = fit.clamp(1, MOST_AT_WORK);
    let places = limit.map_or(MOST_PLACES, |limit| {
        let left = limit.saturating_sub(OWN_DESCRIPTORS + commands * DESCRIPTORS_EACH);
        (left / DESCRIPTORS_OF_PLACE).clamp(LEAST_PLACES, MOST_PLACES)
    });
    let number = |count| usize::try_from(count).unwrap_or(1);
    (number(commands), number(places))
}

struct Warden {
    machine: Machine,
    /// Says when the machine's mounts change.
    mounts: Option<std::fs::File>,
    /// Prepared sandboxes.
    pools: Pools,
    /// What the sandboxes of each conversation share.
    places: HashMap<NonZeroU64, Place>,
    /// A template that has no form yet.
    blank: Option<Blank>,
    /// The kind to make one for once the system is searched.
    awaited: Option<Kind>,
    /// When the last command ended.
    ended: Option<Instant>,
    /// Whether the last command came soon after the one before.
    hurried: bool,
    /// When to do what can be done between commands.
    due: Option<Instant>,
    /// How many commands may run at once.
    most: usize,
    /// How many conversations may have a place at once.
    most_places: usize,
    /// Sandboxes that have a command.
    at_work: Vec<Ready>,
    /// Sandboxes whose command is over, to be taken down when there is time.
    over: Vec<Ready>,
}

impl Warden {
    /// The next packet. Meanwhile, sandboxes that ended are taken down, and one is made
    /// ready for the next command: when the last one has ended, or has run for a while.
    fn next(&mut self, socket: &OwnedFd) -> Result<Packet, Errno> {
        loop {
            let mut said = match self.wait(socket) {
                Ok(said) => said.into_iter(),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno),
            };
            let asked = said.next() == Some(true);
            let ended: Vec<bool> = said.by_ref().take(self.at_work.len()).collect();
            if said.next() != Some(false) {
                // A command must not see a copy of the old mounts. Where nothing
                // reports changes, every command gets a new one.
                self.forget();
                self.machine.system.look_again();
            }
            if ended.contains(&true) {
                self.set_aside(&ended);
            }
            if asked {
                // Nothing is waited for: the order comes first.
                if self.over.len() >= MOST_OVER {
                    self.take_down(Duration::ZERO);
                }
                return wire::receive(socket, RecvFlags::empty());
            }
            if self.machine.system.is_searching() {
                self.machine.system.search_on();
                if !self.machine.system.is_searching() {
                    self.forget();
                }
                self.make_blank();
            } else if self.due.is_some_and(|due| due <= Instant::now()) {
                self.make_ahead();
                // One at a time: an order that comes meanwhile does not wait for all.
                if !self.pools.is_wanting() {
                    self.due = None;
                    self.take_down(TO_LEAVE);
                }
            } else if self
                .pools
                .calm_at()
                .is_some_and(|calm| calm <= Instant::now())
            {
                self.pools.calm_down();
                self.take_down(TO_LEAVE);
            }
        }
    }

    /// Throws away what was made before it was known what to show and to hide.
    fn forget(&mut self) {
        self.pools.forget();
        self.blank = None;
    }

    /// Makes a template ahead, unless that would be before it is known what to hide.
    fn make_blank(&mut self) {
        if !self.machine.system.is_searching()
            && let Some(kind) = self.awaited.take()
        {
            self.blank = Blank::make(kind, &self.machine).ok();
        }
    }

    /// Waits until something happens or is due. Says which of these has something to say:
    /// the socket, the sandboxes at work, the machine's mounts.
    fn wait(&self, socket: &OwnedFd) -> Result<Vec<bool>, Errno> {
        let left = |due: Instant| due.saturating_duration_since(Instant::now());
        let now = self.machine.system.is_searching().then(Instant::now);
        let due = self.due.into_iter().chain(self.pools.calm_at()).min();
        let left = now.or(due).map(left).map(Timespec::try_from);
        let left = left.transpose().map_err(|_| Errno::INVAL)?;
        let mut fds = vec![PollFd::new(socket, PollFlags::IN)];
        let at_work = self.at_work.iter();
        fds.extend(at_work.map(|ready| PollFd::new(ready.end(), PollFlags::IN)));
        fds.extend(self.mounts.iter().map(|m| PollFd::new(m, PollFlags::PRI)));
        rustix::event::poll(&mut fds, left.as_ref())?;
        Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
    }

    /// Has the sandboxes that ended taken down later, and one made now if there is none.
    fn set_aside(&mut self, ended: &[bool]) {
        let now = Instant::now();
        let mut gone = ended.iter();
        let gone = self.at_work.extract_if(.., |_| gone.next() == Some(&true));
        self.over.extend(gone);
        self.ended = Some(now);
        self.due = Some(if self.pools.is_wanting() {
            now
        } else {
            now + REST
        });
        if self.over.iter().any(|ready| !ready.kind.namespaces) {
            self.end_strays();
        }
    }

    /// Drops the sandboxes whose command is over, which takes their namespaces down.
    /// The end of each is waited for this long at most.
    fn take_down(&mut self, patience: Duration) {
        let mut over = std::mem::take(&mut self.over);
        over.extend(self.pools.discarded());
        // All of them first, so that they end side by side.
        let ending = over.into_iter().map(|ready| {
            drop(ready.control);
            (ready.template, ready.network, ready.pidfd)
        });
        let ending: Vec<_> = ending.collect();
        for (template, network, pidfd) in ending {
            // A network is used again when no process is left in it.
            if let (Some(template), Some(network)) = (template, network)
                && wire::readable(&pidfd, patience) == Ok(true)
            {
                template.take_back(network);
            }
        }
    }

    /// A supervisor that was killed leaves its command to the warden, which ends it. A
    /// stray is a child of the warden that it did not make.
    fn end_strays(&self) {
        let known = || self.pools.ready().chain(&self.at_work).chain(&self.over);
        let templates = known().filter_map(|ready| ready.template.as_deref());
        let templates = templates.chain(self.pools.templates());
        let templates = templates.chain(self.blank.iter().map(|blank| &blank.template));
        let known: Vec<Pid> = known()
            .filter_map(|ready| ready.pid)
            .chain(templates.map(Template::pid))
            .collect();
        loop {
            let mut strays = descendants::children();
            strays.retain(|pid| !known.contains(pid));
            if strays.is_empty() {
                return;
            }
            for pid in strays {
                let Ok(stray) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
                    continue;
                };
                let _ = rustix::process::pidfd_send_signal(&stray, Signal::KILL);
                // Its children are the warden's from then on, and found in the next round.
                let _ = wire::readable(&stray, TO_LEAVE);
            }
        }
    }

    fn answer(&mut self, socket: &OwnedFd, packet: Packet) {
        if packet.bytes == BEGUN {
            if self.hurried {
                self.due = Some(Instant::now());
            }
            return;
        }
        let Some((wish, kind)) = packets::read(&packet.bytes) else {
            return;
        };
        match wish {
            Wish::Try => {
                let said = match self.tries(kind) {
                    Ok(()) => Report::Ready,
                    Err(failure) => Report::Ended(Outcome::Setup(failure)),
                };
                let works = said == Report::Ready;
                init::report(socket, &said);
                self.awaited = Some(kind).filter(|_| works && kind.namespaces);
                if works && !kind.namespaces {
                    self.machine.system.search_all();
                }
                self.make_blank();
            }
            Wish::Run(place) => {
                self.hurried = self.ended.is_some_and(|ended| ended.elapsed() < REST);
                self.start(kind, place, packet);
                self.due = Some(Instant::now() + REST);
            }
            Wish::End(place) => {
                self.places.remove(&place);
                self.pools.leave(place);
                self.take_down(Duration::ZERO);
            }
        }
    }

    /// Whether a sandbox of this kind can be made.
    fn tries(&mut self, kind: Kind) -> Result<(), SetupError> {
        if kind.namespaces {
            let Blank { template, place } = Blank::make(kind, &self.machine)?;
            template.form(&[])?;
            let tried = first_word(&Ready::of(&Rc::new(template))?);
            drop(place);
            return tried;
        }
        let ready = Ready::without_namespaces(kind, &self.machine)?;
        first_word(&ready)?;
        self.pools.add(Key::bare(kind), ready);
        Ok(())
    }

    /// Gives the packet to a sandbox.
    fn start(&mut self, kind: Kind, place: Option<NonZeroU64>, packet: Packet) {
        let Some(status) = packet.fds.get(1) else {
            return;
        };
        if self.at_work.len() >= self.most {
            let busy = SetupError::new(Step::Busy, Errno::AGAIN);
            let busy = busy.about(format!("{} commands run already", self.at_work.len()));
            return init::report(status, &Report::Ended(Outcome::Setup(busy)));
        }
        let key = Key::of(kind, place, &packet);
        let was_used_up = self.pools.is_used_up(&key);
        match self.find(&key, &packet) {
            Ok(ready) => {
                if self.is_at_work() {
                    self.pools.overlapped(&key, was_used_up);
                }
                self.at_work.push(ready);
            }
            Err(failure) => init::report(status, &Report::Ended(Outcome::Setup(failure))),
        }
        if kind.namespaces {
            self.pools.of_command(key).pattern = Pattern::of(packet);
        }
    }

    /// Whether a command runs. One whose end was reported to its caller, and not yet here when the
    /// caller's next order came, has reported it here by the time that order is taken.
    fn is_at_work(&self) -> bool {
        let mut at_work = self.at_work.iter();
        at_work.any(|ready| wire::readable(ready.end(), Duration::ZERO) == Ok(false))
    }

    /// A sandbox that has taken the packet: one that waits, or another copy of the template, or
    /// one of a new template.
    fn find(&mut self, key: &Key, packet: &Packet) -> Result<Ready, SetupError> {
        let kind = key.kind;
        if !kind.namespaces {
            self.machine.system.search_all();
        }
        if self.machine.system.is_searching() {
            self.forget();
            self.machine.system.finish()?;
        }
        let pool = self.pools.of_command(key.clone());
        let ahead = pool.ready.pop_front();
        if !kind.namespaces {
            let ready = match ahead {
                Some(ready) => ready,
                None => Ready::without_namespaces(kind, &self.machine)?,
            };
            let fds: Vec<BorrowedFd<'_>> = packet.fds.iter().map(AsFd::as_fd).collect();
            let sent = wire::send(&ready.control, &packet.bytes, &fds);
            return sent
                .map(|()| ready)
                .map_err(|errno| SetupError::new(Step::Clone, errno));
        }
        let template = pool.template.clone();
        let ahead = ahead.or_else(|| template.and_then(|template| Ready::of(&template).ok()));
        if let Some(ready) = ahead
            && let Some(as_made) = give(&ready, packet)?
        {
            if !as_made {
                self.replace_template(key, None);
            }
            return Ok(ready);
        }
        let template = formed(
            &mut self.blank,
            &mut self.places,
            self.most_places,
            &self.machine,
            key,
            &Pattern::fds_in(packet),
        );
        self.replace_template(key, template.as_ref().ok());
        let ready = Ready::of(&template?)?;
        first_word(&ready)?;
        match give(&ready, packet)? {
            Some(_) => Ok(ready),
            None => Err(SetupError::new(Step::Order, Errno::STALE)
                .about("its directories changed while it began")),
        }
    }

    /// Exchanges the template of a pool. Sandboxes of the old one do not fit any more.
    fn replace_template(&mut self, key: &Key, template: Option<&Rc<Template>>) {
        let pool = self.pools.of_command(key.clone());
        pool.template = template.cloned();
        let old = std::mem::take(&mut pool.ready);
        self.pools.discard(old);
    }

    /// Makes one sandbox for the next command, if that is like an earlier one.
    fn make_ahead(&mut self) {
        let Some(pool) = self.pools.wanting() else {
            return;
        };
        let kind = pool.key.kind;
        let made = if kind.namespaces {
            if pool.template.is_none()
                && let Some(pattern) = &pool.pattern
            {
                let (blank, places) = (&mut self.blank, &mut self.places);
                let template = formed(
                    blank,
                    places,
                    self.most_places,
                    &self.machine,
                    &pool.key,
                    &pattern.fds(),
                );
                pool.template = template.ok();
            }
            let template = pool.template.as_ref();
            template.and_then(|template| Ready::of(template).ok())
        } else {
            Ready::without_namespaces(kind, &self.machine).ok()
        };
        match made {
            Some(ready) => pool.ready.push_back(ready),
            None => {
                pool.template = None;
                pool.give_up();
            }
        }
    }
}
