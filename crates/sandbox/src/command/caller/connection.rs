//! The connection to a warden, shared by all sandboxes of the process that would start the same
//! one.
//!
//! Commands of two workspaces share the process that makes their sandboxes, and nothing else: a
//! sandbox is made from a template of its own directories, the warden never reads an order, and
//! its children close every descriptor that is not theirs before anything else. All sandboxes
//! share the warden's limit of commands, and end with it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::start::start_warden;
use crate::command::error::SandboxError;
use crate::command::protocol::wire;

/// A warden that was started. The last one who drops it ends it.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    /// Held from a question to its answer.
    asking: Mutex<()>,
    /// Whether an answer may still come that belongs to an earlier question.
    broken: AtomicBool,
}

/// Everything that a warden takes over from the thread that starts it, as far as the kernel
/// lists it. Landlock rules of the thread show as `NoNewPrivs`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    program: Option<PathBuf>,
    process: u32,
    status: Vec<String>,
    namespaces: Vec<PathBuf>,
    /// Resource limits, the cgroup and the label of a security module.
    others: Vec<String>,
}

/// Lines of `status` that a child inherits.
const INHERITED: [&str; 13] = [
    "Umask:",
    "Uid:",
    "Gid:",
    "Groups:",
    "CapInh:",
    "CapPrm:",
    "CapEff:",
    "CapBnd:",
    "CapAmb:",
    "NoNewPrivs:",
    "Seccomp:",
    "Seccomp_filters:",
    "Cpus_allowed:",
];

impl Origin {
    /// None if `/proc` does not tell; then nothing is shared.
    fn of(program: Option<&Path>) -> Option<Self> {
        let own = Path::new("/proc/thread-self");
        let status = std::fs::read_to_string(own.join("status")).ok()?;
        let is_inherited = |line: &&str| INHERITED.iter().any(|name| line.starts_with(name));
        let namespaces = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];
        let namespaces = namespaces.map(|name| std::fs::read_link(own.join("ns").join(name)).ok());
        let root = std::fs::read_link(own.join("root")).ok();
        let other = |name| std::fs::read_to_string(own.join(name)).unwrap_or_default();
        Some(Self {
            program: program.map(Path::to_path_buf),
            process: std::process::id(),
            status: status
                .lines()
                .filter(is_inherited)
                .map(str::to_owned)
                .collect(),
            namespaces: namespaces
                .into_iter()
                .chain([root])
                .collect::<Option<_>>()?,
            others: ["limits", "cgroup", "attr/current"].map(other).to_vec(),
        })
    }
}

impl Connection {
    /// The warden that this thread would start: a running one if there is one.
    pub(super) fn open(program: Option<&Path>) -> Result<Arc<Self>, SandboxError> {
        static RUNNING: Mutex<Vec<(Origin, Weak<Connection>)>> = Mutex::new(Vec::new());
        let Some(origin) = Origin::of(program) else {
            return Self::start(program);
        };
        // Held while one starts, so that two sandboxes do not start one each.
        let mut running = lock(&RUNNING);
        running.retain(|(_, warden)| warden.strong_count() > 0);
        let known = running.iter().filter(|(known, _)| *known == origin);
        let mut known = known.filter_map(|(_, warden)| warden.upgrade());
        if let Some(warden) = known.find(|warden| warden.works()) {
            return Ok(warden);
        }
        drop(known);
        let warden = Self::start(program)?;
        running.push((origin, Arc::downgrade(&warden)));
        Ok(warden)
    }

    fn start(program: Option<&Path>) -> Result<Arc<Self>, SandboxError> {
        Ok(Arc::new(Self {
            socket: start_warden(program)?,
            asking: Mutex::default(),
            broken: AtomicBool::new(false),
        }))
    }

    /// Over which orders go.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Whether the warden runs and can be asked.
    pub(super) fn works(&self) -> bool {
        !self.broken.load(Ordering::Acquire) && !wire::is_closed(&self.socket)
    }

    /// Asks something whose answer comes over the socket. After an error nothing can be asked
    /// any more.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&OwnedFd) -> Result<T, SandboxError>,
    ) -> Result<T, SandboxError> {
        let _one_at_a_time = lock(&self.asking);
        let answer = question(&self.socket);
        if answer.is_err() {
            self.broken.store(true, Ordering::Release);
        }
        answer
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
