//! The rules of a sandbox, and the specification of one command.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::caller::exact::ExactDirectory;
use crate::command::caller::place::Place;
use crate::layer::Layering;
use crate::paths::{GitFiles, PathSandbox, RootAccess};

/// The network of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing but, in a conversation's place, its own loopback.
    #[default]
    Off,
    /// A loopback device of its own, or of the conversation's place.
    Loopback,
    /// The network of the machine.
    On,
}

/// How much of the sandbox is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Landlock and seccomp only. Secrets inside a root cannot be masked, so every
    /// command needs approval.
    Landlock,
    /// Namespaces, mounts, Landlock and seccomp.
    Namespaces,
}

/// Resource limits of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads alive at once.
    pub processes: u32,
    /// Bytes in one file.
    pub file_size: u64,
    /// Descriptors open in one process.
    pub open_files: u32,
    /// Seconds of processor time in one process.
    pub cpu_seconds: Option<u32>,
    /// Bytes in the private temporary directory, which lives in memory.
    pub scratch_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 1024,
            file_size: 8 << 30,
            open_files: 4096,
            cpu_seconds: None,
            scratch_bytes: 1 << 30,
        }
    }
}

/// A directory beyond the roots that commands may use: a toolchain, a package cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where it is.
    pub path: PathBuf,
    /// The access.
    pub access: RootAccess,
}

/// The layers that are left out, so that a test can show what the others do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omit {
    /// No Landlock rules.
    pub landlock: bool,
    /// No seccomp filters.
    pub seccomp: bool,
}

/// The sweep's action on a guarded name that appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetAside {
    /// Moves protected names, because they would be executed later; denied names are
    /// reported, and masked from the next command on.
    #[default]
    Protected,
    /// Moves both.
    ProtectedAndDenied,
}

/// Everything a [`crate::command::CommandSandbox`] is built from.
#[derive(Clone, Debug)]
pub struct SandboxRules {
    /// The roots, with what is denied and protected in them.
    pub paths: PathSandbox,
    /// Directories beyond the roots.
    pub grants: Vec<Grant>,
    /// Protected paths that the user opened to commands, with all that is beneath
    /// them: `.git` before `git init`. Relative to the working directory, or absolute.
    pub opened: Vec<PathBuf>,
    /// The network, unless a command says otherwise.
    pub network: Network,
    /// The limits, unless a command says otherwise.
    pub limits: Limits,
    /// The highest level to try.
    pub highest: Level,
    /// The lowest level to accept. Below it the sandbox refuses.
    pub lowest: Level,
    /// The directory for records of what runs, so that the next start removes placeholders of
    /// a killed process, and moves aside what its commands made under protected names.
    pub records: Option<PathBuf>,
    /// How long placeholders stay after a command, for the next one to find.
    pub linger: Duration,
    /// Private directories for layers, made with mode 0700 where they are missing. Each writable
    /// root uses the first one on its file system, so that changes are applied by renaming, else the
    /// first, and they are copied. Without any, commands get no layer.
    pub layers: Vec<PathBuf>,
    /// What git finds in the home directory of commands.
    pub git: GitFiles,
    /// A program that calls [`crate::command::init`], if this one does not.
    pub warden: Option<PathBuf>,
    /// How many names the search for guarded paths looks at. Where there are more, commands
    /// are refused.
    pub scan_entries: usize,
    /// The sweep's action on new guarded names.
    pub set_aside: SetAside,
    /// Layers to leave out. For tests of the other layers only.
    pub omit: Omit,
    /// Whether commands run in places of conversations. What is prepared before the first command is
    /// then prepared for one; a command without a place still runs.
    pub shared: bool,
}

impl SandboxRules {
    /// The defaults over these roots.
    pub fn new(paths: PathSandbox) -> Self {
        Self {
            paths,
            grants: Vec::new(),
            opened: Vec::new(),
            network: Network::Off,
            limits: Limits::default(),
            highest: Level::Namespaces,
            lowest: Level::Landlock,
            records: None,
            linger: Duration::from_secs(1),
            layers: Vec::new(),
            git: GitFiles::default(),
            warden: None,
            scan_entries: 2_000_000,
            set_aside: SetAside::default(),
            omit: Omit::default(),
            shared: false,
        }
    }
}

/// The program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A line for the shell: `bash` without start-up files, `sh` where there is none.
    Line(OsString),
    /// A program by its absolute path, and its arguments after the name.
    Exact(Vec<OsString>),
}

/// One command.
#[derive(Debug)]
pub struct CommandSpec {
    /// The program.
    pub program: Program,
    /// Its environment, usually from [`crate::env::clean`]. `HOME`, `TMPDIR` and
    /// `PWD` are the sandbox's to set, and `SHELL` where it is not there.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts; absolute, in a root or a grant.
    pub cwd: PathBuf,
    /// Limits of its own.
    pub limits: Option<Limits>,
    /// A network of its own.
    pub network: Option<Network>,
    /// Grants of its own, beside those of the sandbox.
    pub grants: Vec<Grant>,
    /// Directories that an approver opened to it.
    pub opened: Vec<ExactDirectory>,
    /// Its standard input; empty if there is none.
    pub stdin: Option<OwnedFd>,
    /// What it shares with the other commands of its conversation; nothing if there is none.
    pub place: Option<Place>,
    /// Whether its changes go to a layer.
    pub layering: Layering,
}

impl CommandSpec {
    /// A line for the shell, started in a directory, with nothing in its environment.
    pub fn line(line: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: Program::Line(line.into()),
            env: Vec::new(),
            cwd: cwd.into(),
            limits: None,
            network: None,
            grants: Vec::new(),
            opened: Vec::new(),
            stdin: None,
            place: None,
            layering: Layering::Never,
        }
    }
}
