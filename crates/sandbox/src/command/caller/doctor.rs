//! Reports which layers of the sandbox work on this machine, and how to get the others.

use rustix::io::Errno;

use super::left_out::LeftOut;
use super::sandbox::CommandSandbox;
use crate::command::error::SandboxError;
use crate::command::inside::landlock::{NEEDED_ALONE, NEEDED_WITH_NAMESPACES, SCOPES};
use crate::command::protocol::report::{SetupError, Step};
use crate::command::rules::{Level, Omit, SandboxRules};
use crate::command::sys;
use crate::command::warden::machine;

/// One layer of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Its name.
    pub name: &'static str,
    /// Whether it works.
    pub in_force: bool,
    /// The kernel feature behind it, or why it fails.
    pub why: String,
    /// The next step, if there is one.
    pub advice: Option<&'static str>,
}

/// All layers of the command sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorReport {
    /// The level that commands run on; none where they are refused.
    pub level: Option<Level>,
    /// Each layer.
    pub protections: Vec<Protection>,
    /// Grants that commands do not get.
    pub left_out: Vec<LeftOut>,
}

impl DoctorReport {
    /// Whether commands would be refused.
    pub fn refuses(&self) -> bool {
        self.level.is_none()
    }
}

/// Builds the sandbox that these rules ask for and reports the result.
pub fn probe(rules: &SandboxRules) -> DoctorReport {
    let (level, failure, left_out) = match CommandSandbox::start(rules) {
        Ok(sandbox) => (
            Some(sandbox.level()),
            sandbox.stepped_down().cloned(),
            sandbox.left_out().to_vec(),
        ),
        Err(SandboxError::Unavailable { failure, .. }) => (None, Some(failure), Vec::new()),
        Err(error) => {
            let sandbox = Protection {
                name: "warden",
                in_force: false,
                why: error.to_string(),
                advice: None,
            };
            return DoctorReport {
                level: None,
                protections: vec![sandbox],
                left_out: Vec::new(),
            };
        }
    };
    let namespaces = level == Some(Level::Namespaces);
    let because = failure.as_ref().map(SetupError::to_string);
    let advised = failure.as_ref().map(advice);
    let stands = |name, in_force: bool, yes: &str| Protection {
        name,
        in_force,
        why: if in_force {
            yes.to_owned()
        } else {
            because.clone().unwrap_or_else(|| "switched off".to_owned())
        },
        advice: advised.filter(|_| !in_force),
    };
    let abi = sys::landlock_abi().unwrap_or(0);
    let protections = vec![
        stands(
            "namespaces",
            namespaces,
            "user, mount, process, IPC and network namespaces for every command",
        ),
        stands(
            "masks",
            namespaces,
            "denied files are hidden and protected paths read-only inside the roots",
        ),
        Protection {
            name: "landlock",
            in_force: level.is_some() && !rules.omit.landlock,
            why: landlock(abi),
            advice: (abi < NEEDED_WITH_NAMESPACES).then_some(LANDLOCK),
        },
        Protection {
            name: "seccomp",
            in_force: level.is_some() && !rules.omit.seccomp,
            why: "system calls are filtered for every command; Unix sockets exist only as connected pairs".to_owned(),
            advice: None,
        },
        processes(namespaces),
        Protection {
            name: "memory",
            in_force: false,
            why: "memory is not limited: a limit on address space breaks Node and the JVM"
                .to_owned(),
            advice: Some(
                "run toolgate inside a cgroup with a limit: systemd-run --user --scope -p MemoryMax=8G toolgate …",
            ),
        },
    ];
    DoctorReport {
        level,
        protections,
        left_out,
    }
}

/// The Landlock features of the kernel's version.
fn landlock(abi: i32) -> String {
    if abi >= SCOPES {
        format!("the kernel has version {abi}; abstract sockets and signals are scoped")
    } else {
        format!(
            "the kernel has version {abi}; abstract sockets and signals are blocked by seccomp and namespaces alone (version {SCOPES} scopes them as well)"
        )
    }
}

fn processes(namespaces: bool) -> Protection {
    let root = rustix::process::geteuid().is_root();
    let (in_force, why, advice) = match (namespaces && machine::has_own_pid_max(), root) {
        (true, _) => (true, "the process namespace has a limit of its own", None),
        (false, false) => (true, "by a resource limit of the user", None),
        (false, true) => (
            false,
            "the kernel does not apply the resource limit to root",
            Some("run toolgate as an ordinary user, or use Linux 6.14 or newer"),
        ),
    };
    Protection {
        name: "process limit",
        in_force,
        why: why.to_owned(),
        advice,
    }
}

const LANDLOCK: &str = "use a kernel with Landlock (Linux 6.2 or newer; 6.12 where namespaces are not available) and `landlock` in its list of security modules (`lsm=` on the kernel's command line)";

/// The next step after a layer failed.
pub(crate) fn advice(failure: &SetupError) -> &'static str {
    let errno = Errno::from_raw_os_error(failure.errno);
    match (failure.step, errno) {
        (Step::Landlock, _) => LANDLOCK,
        (Step::Clone, Errno::NOSPC) => {
            "Raise the number of namespaces: sysctl -w user.max_user_namespaces=10000"
        }
        (
            Step::Clone | Step::IdMaps | Step::Propagation | Step::NewRoot,
            Errno::PERM | Errno::ACCESS,
        ) => {
            "Allow unprivileged user namespaces (sysctl -w kernel.unprivileged_userns_clone=1; on Ubuntu an AppArmor profile with `userns,`, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile that permits them)"
        }
        (Step::Clone, Errno::NOSYS) => {
            "Use Linux 5.12 or newer; in a container, a seccomp profile that permits clone3"
        }
        (Step::Proc, _) => {
            "In a container, start it so that /proc is not masked (docker run --security-opt systempaths=unconfined)"
        }
        (Step::System | Step::Devices, _) => {
            "Use Linux 5.12 or newer, and see that the path named can be mounted"
        }
        _ => "Check the path or feature that the message names; `toolgate doctor` shows each layer",
    }
}

/// The kernel features that a level needs.
pub(super) fn needs_kernel(namespaces: bool, omit: Omit) -> Result<(), SetupError> {
    let needed = if namespaces {
        NEEDED_WITH_NAMESPACES
    } else {
        NEEDED_ALONE
    };
    let abi = sys::landlock_abi().unwrap_or(0);
    if omit.landlock || abi >= needed {
        return Ok(());
    }
    Err(SetupError::new(Step::Landlock, Errno::NOSYS).about(format!(
        "version {needed} is needed and the kernel has {abi}"
    )))
}
