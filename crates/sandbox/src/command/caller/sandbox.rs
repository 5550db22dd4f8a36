//! The caller's side of the sandbox: starts a warden and gives it commands.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::net::SendFlags;
use rustix::process::Signal;

use super::connection::Connection;
use super::layout::Layout;
use super::left_out::{LeftOut, leave_out};
use super::reach::Reach;
use super::running::{Before, Poised, Running};
use super::start::{find_level, try_level};
use crate::command::caller::after::baseline::{Baseline, LeftBehind};
use crate::command::caller::after::placeholders::{Held, Placeholders};
use crate::command::caller::after::sweep::{Appeared, Settled};
use crate::command::error::SandboxError;
use crate::command::protocol::report::SetupError;
use crate::command::protocol::wire;
use crate::command::rules::{CommandSpec, Grant, Level, Network, Omit, SandboxRules};
use crate::command::warden::serve;
use crate::layer::{NoLayer, Places};

/// Whether this program became able to be a warden.
pub(crate) static READY: AtomicBool = AtomicBool::new(false);

/// How long the warden may take to answer. It does so in milliseconds; a machine that
/// needs longer than this is not one to start commands on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How many commands with an incomplete sweep are remembered.
const MOST_PENDING: usize = 16;

/// The sandbox in force, for the metadata of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The level.
    pub level: Level,
    /// The layers that are left out.
    pub omit: Omit,
    /// The network.
    pub network: Network,
}

impl std::fmt::Display for InForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.level == Level::Namespaces, "namespaces"),
            (!self.omit.landlock, "landlock"),
            (!self.omit.seccomp, "seccomp"),
        ];
        let names: Vec<&str> = parts
            .iter()
            .filter_map(|(there, name)| there.then_some(*name))
            .collect();
        f.write_str(&names.join("+"))
    }
}

/// The sandbox around commands. Cheap to clone. The warden ends with the last sandbox that uses
/// it, and with the warden every command.
#[derive(Clone, Debug)]
pub struct CommandSandbox {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(crate) rules: SandboxRules,
    pub(crate) placeholders: Placeholders,
    pub(crate) layout: Layout,
    pub(crate) baseline: Baseline,
    /// Guarded names that commands of killed programs made, until they are reported.
    earlier: Mutex<Vec<Appeared>>,
    /// Guarded names that no result reported.
    unreported: Mutex<Vec<Appeared>>,
    /// The states before commands whose sweep was incomplete.
    pending: Mutex<Vec<Before>>,
    warden: Mutex<Arc<Connection>>,
    pub(super) level: Level,
    /// The directories for layers, or why there are none.
    pub(super) places: Result<Arc<Places>, NoLayer>,
    /// Why the kernel mounts no layer, once it refused.
    pub(super) no_layer: Mutex<Option<NoLayer>>,
    /// Why the highest level was not reached.
    stepped_down: Option<SetupError>,
    left_out: Vec<LeftOut>,
}

impl CommandSandbox {
    /// Finds the highest level that a warden can reach. Sandboxes of one process share a warden
    /// where they would start the same one; the first starts it.
    pub fn start(rules: &SandboxRules) -> Result<Self, SandboxError> {
        let (usable, granted, left_out) = leave_out(rules);
        let rules = &usable;
        let warden = Connection::open(rules.warden.as_deref())?;
        let (level, stepped_down) = find_level(&warden, rules)?;
        let placeholders = Placeholders::open(&rules.paths, rules.records.as_deref(), rules.linger)
            .map_err(SandboxError::Records)?;
        let (baseline, left) =
            Baseline::open(rules.records.as_deref()).map_err(SandboxError::Records)?;
        let layout = Layout::open(rules, granted)?;
        let earlier = sweep_left_behind(rules, &layout, left);
        Ok(Self {
            inner: Arc::new(Inner {
                layout,
                rules: rules.clone(),
                placeholders,
                baseline,
                earlier: Mutex::new(earlier),
                unreported: Mutex::default(),
                pending: Mutex::default(),
                warden: Mutex::new(warden),
                places: Places::open(&rules.layers).map(Arc::new),
                no_layer: Mutex::default(),
                level,
                stepped_down,
                left_out,
            }),
        })
    }

    /// The level that commands run on. On [`Level::Landlock`] every command needs approval,
    /// whatever the rules say.
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// The network of commands that ask for none of their own.
    pub fn network(&self) -> Network {
        self.inner.rules.network
    }

    /// Why the level is not the highest that was allowed.
    pub fn stepped_down(&self) -> Option<&SetupError> {
        self.inner.stepped_down.as_ref()
    }

    /// Grants that commands do not get, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.inner.left_out
    }

    /// Guarded names that commands of killed programs left: moved aside when this
    /// one started. The next command's result reports it too.
    pub fn earlier(&self) -> Vec<Appeared> {
        lock(&self.inner.earlier).clone()
    }

    /// Stores guarded names that a command left and no result will report, for
    /// [`CommandSandbox::unreported`].
    pub fn keep_unreported(&self, appeared: impl IntoIterator<Item = Appeared>) {
        lock(&self.inner.unreported).extend(appeared);
    }

    /// Takes the guarded names that no result reported: background commands that ended with
    /// their conversation left them.
    pub fn unreported(&self) -> Vec<Appeared> {
        std::mem::take(&mut *lock(&self.inner.unreported))
    }

    /// The paths that commands can reach, with these grants beside those of the rules.
    pub fn reach(&self, more: &[Grant]) -> Reach {
        self.inner.rules.reach(self.inner.level, more)
    }

    /// The rules against paths that a command line names, on whatever level it would run.
    pub fn rules_about(&self) -> Reach {
        self.inner.rules.reach(Level::Namespaces, &[])
    }

    /// Starts a command. It returns when the command has a process, not when it ends.
    pub fn run(&self, spec: CommandSpec) -> Result<Running, SandboxError> {
        self.poise(spec).map(Poised::go)
    }
}

impl Inner {
    /// The warden. One that was killed is replaced, if the new one reaches the same level.
    pub(super) fn warden(&self) -> Result<Arc<Connection>, SandboxError> {
        let mut warden = lock(&self.warden);
        if !warden.works() {
            let new = Connection::open(self.rules.warden.as_deref())?;
            if let Err(failure) = try_level(&new, self.level == Level::Namespaces, &self.rules)? {
                let advice = super::doctor::advice(&failure);
                return Err(SandboxError::Unavailable { failure, advice });
            }
            *warden = new;
        }
        Ok(Arc::clone(&warden))
    }

    /// Moves aside the guarded names that appeared. If the sweep was incomplete,
    /// the state before the command is kept until a sweep is complete.
    pub(super) fn settle(&self, before: Before) -> Settled {
        let mut settled = Settled {
            appeared: std::mem::take(&mut *lock(&self.earlier)),
            ..Settled::default()
        };
        let mut pending = lock(&self.pending);
        for before in std::mem::take(&mut *pending).into_iter().chain([before]) {
            let mut missed = None;
            for watched in &before.watched {
                let (appeared, not_seen) = watched.sweep(&self.rules);
                settled.appeared.extend(appeared);
                missed = missed.or(not_seen);
            }
            self.placeholders.release(&before.held);
            if missed.is_some() {
                // The oldest states tell best which names are new.
                if pending.len() < MOST_PENDING {
                    pending.push(Before {
                        held: Held::default(),
                        ..before
                    });
                }
                settled.missed = settled.missed.or(missed);
            } else {
                self.baseline.end(&before.listed);
            }
        }
        settled
    }

    /// Settles a command when everything of it has ended. The next result reports it.
    pub(super) fn settle_later(self: &Arc<Self>, pidfd: OwnedFd, before: Before) {
        let sandbox = Arc::clone(self);
        let waiting = std::thread::Builder::new().name("toolgate-ending".to_owned());
        // Without a thread the record says that a command runs, and the next start looks.
        let _ = waiting.spawn(move || {
            while wire::readable(&pidfd, Duration::from_secs(3600)) == Ok(false) {}
            let settled = sandbox.settle(before);
            lock(&sandbox.earlier).extend(settled.appeared);
        });
    }

    /// Releases the resources of a command.
    pub(crate) fn release(&self, before: &Before) {
        self.placeholders.release(&before.held);
        self.baseline.end(&before.listed);
    }

    /// Tells the warden that a program begins. A warden that is too busy to listen has no
    /// use for it.
    pub(super) fn tell_begun(&self) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let warden = Arc::clone(&lock(&self.warden));
        let _ = rustix::net::send(warden.socket(), serve::BEGUN, flags);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sweeps after commands of killed programs, in the directories of this sandbox.
fn sweep_left_behind(
    rules: &SandboxRules,
    layout: &Layout,
    left: Vec<LeftBehind>,
) -> Vec<Appeared> {
    let mut appeared: Vec<Appeared> = Vec::new();
    for mut left in left {
        let mut others = false;
        for stood in &mut left.stood {
            match layout.watched_before(stood) {
                Some(watched) => {
                    let (moved, missed) = watched.sweep(rules);
                    appeared.extend(moved);
                    others |= missed.is_some();
                }
                // A start that uses it looks there.
                None => others |= stood.tree.exists(),
            }
        }
        if !others {
            let _ = left.forget();
        }
    }
    for one in &mut appeared {
        one.earlier = true;
    }
    appeared
}

/// The signal that ends a sandbox. On the lower level the supervisor kills, and has to live
/// for it.
pub(super) fn end_signal(namespaces: bool) -> Signal {
    if namespaces {
        Signal::KILL
    } else {
        Signal::TERM
    }
}

/// The bytes of a path or an argument.
pub(crate) fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}
