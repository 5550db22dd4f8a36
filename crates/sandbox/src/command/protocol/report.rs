//! Reports from inside the sandbox: how far a command got, and how it ended.

use std::fmt;

use crate::command::inside::refusals::Refused;

/// A step of the way from an order to a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Step {
    /// Reading the order.
    Order,
    /// Making the process in its namespaces.
    Clone,
    /// Mapping user and group ids.
    IdMaps,
    /// Taking the mounts out of the machine's.
    Propagation,
    /// The new root.
    NewRoot,
    /// The system's directories, read-only.
    System,
    /// The devices.
    Devices,
    /// The private temporary directory.
    Scratch,
    /// The process's own `/proc`.
    Proc,
    /// The loopback device.
    Network,
    /// A root or a grant.
    Directory,
    /// A layer over a root.
    Layer,
    /// A guarded path.
    Mask,
    /// Changing to the new root.
    Pivot,
    /// The limits.
    Limits,
    /// Giving up capabilities and new privileges.
    Privileges,
    /// Making the shell's process.
    Fork,
    /// Session, signals and descriptors of the shell.
    Session,
    /// The directory to start in.
    Cwd,
    /// Landlock.
    Landlock,
    /// Seccomp.
    Seccomp,
    /// Starting the program.
    Exec,
    /// Taking the command: too many run already.
    Busy,
}

impl Step {
    const ALL: [Self; 23] = [
        Self::Order,
        Self::Clone,
        Self::IdMaps,
        Self::Propagation,
        Self::NewRoot,
        Self::System,
        Self::Devices,
        Self::Scratch,
        Self::Proc,
        Self::Network,
        Self::Directory,
        Self::Layer,
        Self::Mask,
        Self::Pivot,
        Self::Limits,
        Self::Privileges,
        Self::Fork,
        Self::Session,
        Self::Cwd,
        Self::Landlock,
        Self::Seccomp,
        Self::Exec,
        Self::Busy,
    ];

    fn byte(self) -> u8 {
        Self::ALL
            .iter()
            .position(|step| *step == self)
            .and_then(|at| u8::try_from(at).ok())
            .unwrap_or(u8::MAX)
    }

    /// The step in words that complete "the sandbox failed at …".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Order => "reading the command",
            Self::Clone => "making namespaces",
            Self::IdMaps => "mapping user ids",
            Self::Propagation => "separating the mounts",
            Self::NewRoot => "making a new root",
            Self::System => "mounting the system read-only",
            Self::Devices => "mounting the devices",
            Self::Scratch => "making the private temporary directory",
            Self::Proc => "mounting /proc",
            Self::Network => "starting the loopback device",
            Self::Directory => "mounting a directory",
            Self::Layer => "mounting a layer over a directory",
            Self::Mask => "guarding a path",
            Self::Pivot => "entering the new root",
            Self::Limits => "setting limits",
            Self::Privileges => "giving up privileges",
            Self::Fork => "starting a process",
            Self::Session => "starting a session",
            Self::Cwd => "entering the working directory",
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
            Self::Exec => "starting the program",
            Self::Busy => "taking the command",
        }
    }
}

/// A step that failed, with the kernel's reason and the path it was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupError {
    /// Which step.
    pub step: Step,
    /// The kernel's reason.
    pub errno: i32,
    /// The subject: a path, or the missing feature.
    pub about: String,
}

impl SetupError {
    pub(crate) fn new(step: Step, errno: impl Into<rustix::io::Errno>) -> Self {
        Self {
            step,
            errno: errno.into().raw_os_error(),
            about: String::new(),
        }
    }

    pub(crate) fn about(mut self, about: impl Into<String>) -> Self {
        self.about = about.into();
        self
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the command sandbox failed at {}", self.step.describe())?;
        if !self.about.is_empty() {
            write!(f, " ({})", self.about)?;
        }
        write!(f, ": {}", std::io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for SetupError {}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By itself, with this exit code.
    Exited(i32),
    /// The shell by this signal, from within.
    Signaled(i32),
    /// It never began: the sandbox could not be built, or the program not started.
    Setup(SetupError),
    /// It was ended from outside, with everything it had started.
    Killed,
}

/// One message from inside the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The command has a process; its descriptor travels beside.
    Started,
    /// The same, with layers of this name in the directories for layers.
    StartedIn(String),
    /// A sandbox is ready.
    Ready,
    /// A sandbox fits the order, and has begun with it.
    Taken {
        /// Whether it fits as it came out of its template.
        as_made: bool,
    },
    /// The system calls that seccomp refused; the numbers ascend.
    Refused(Vec<Refused>),
    /// The end.
    Ended(Outcome),
    /// The end, and no process is left in the sandbox but the reporting one.
    Over(Outcome),
}

/// No report is longer.
pub(super) const MOST_REPORT: usize = 1024;
/// Tag, step and value.
const HEAD: usize = 6;

impl Report {
    /// The report as bytes. The subject of a failure is cut to fit.
    pub fn encode(&self) -> Vec<u8> {
        let (tag, step, value, about) = match self {
            Self::Started => (b's', 0, 0, ""),
            Self::StartedIn(layer) => (b'l', 0, 0, layer.as_str()),
            Self::Ready => (b'r', 0, 0, ""),
            Self::Taken { as_made } => (b't', 0, i32::from(*as_made), ""),
            Self::Ended(Outcome::Exited(code)) => (b'e', 0, *code, ""),
            Self::Ended(Outcome::Signaled(signal)) => (b'k', 0, *signal, ""),
            Self::Ended(Outcome::Killed) => (b'x', 0, 0, ""),
            Self::Ended(Outcome::Setup(failure)) => (
                b'f',
                failure.step.byte(),
                failure.errno,
                failure.about.as_str(),
            ),
            Self::Refused(calls) => {
                let mut out = vec![b'c'];
                for call in calls.iter().take((MOST_REPORT - HEAD) / 8) {
                    out.extend(call.number.to_le_bytes());
                    out.extend(call.times.to_le_bytes());
                }
                return out;
            }
            Self::Over(outcome) => {
                let mut out = Self::Ended(outcome.clone()).encode();
                out.iter_mut().take(1).for_each(u8::make_ascii_uppercase);
                return out;
            }
        };
        let mut out = vec![tag, step];
        out.extend(value.to_le_bytes());
        let cut = about.floor_char_boundary(MOST_REPORT - HEAD);
        out.extend(about.bytes().take(cut));
        out
    }

    /// The report that these bytes are.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MOST_REPORT {
            return None;
        }
        if let Some(calls) = bytes.strip_prefix(b"c") {
            return refused(calls).map(Self::Refused);
        }
        let (head, about) = bytes.split_at_checked(HEAD)?;
        let [tag, step, value @ ..] = head else {
            return None;
        };
        if tag.is_ascii_uppercase() {
            let mut ended = bytes.to_vec();
            ended.iter_mut().take(1).for_each(u8::make_ascii_lowercase);
            return match Self::decode(&ended)? {
                Self::Ended(outcome) => Some(Self::Over(outcome)),
                _ => None,
            };
        }
        let value = i32::from_le_bytes(value.try_into().ok()?);
        let about = std::str::from_utf8(about).ok()?;
        if !matches!(tag, b'f' | b'l') && (*step != 0 || !about.is_empty()) {
            return None;
        }
        Some(match (tag, value) {
            (b's', 0) => Self::Started,
            (b'l', 0) if *step == 0 => Self::StartedIn(about.to_owned()),
            (b'r', 0) => Self::Ready,
            (b't', as_made @ (0 | 1)) => Self::Taken {
                as_made: as_made == 1,
            },
            (b'e', code) => Self::Ended(Outcome::Exited(code)),
            (b'k', signal) => Self::Ended(Outcome::Signaled(signal)),
            (b'x', 0) => Self::Ended(Outcome::Killed),
            (b'f', errno) => Self::Ended(Outcome::Setup(SetupError {
                step: *Step::ALL.get(usize::from(*step))?,
                errno,
                about: about.to_owned(),
            })),
            _ => return None,
        })
    }
}

fn refused(bytes: &[u8]) -> Option<Vec<Refused>> {
    let (pairs, rest) = bytes.as_chunks::<8>();
    let calls: Vec<Refused> = pairs
        .iter()
        .map(|[a, b, c, d, times @ ..]| Refused {
            number: i32::from_le_bytes([*a, *b, *c, *d]),
            times: u32::from_le_bytes(*times),
        })
        .collect();
    let ascends = calls.is_sorted_by(|a, b| a.number < b.number);
    (rest.is_empty() && ascends && !calls.is_empty()).then_some(calls)
}
