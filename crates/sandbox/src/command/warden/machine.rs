//! Facts about the machine, looked up once.

use rustix::thread::CpuSet;

use crate::command::inside::seccomp::Filters;
use crate::command::inside::system::System;
use crate::command::inside::user_limits::UserLimits;
use crate::command::sys;

/// The facts that are the same for all commands on this machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) filters: Filters,
    /// How the system is shown.
    pub(crate) system: System,
    pub(crate) landlock_abi: i32,
    /// Whether a PID namespace has a limit of its own.
    pub(crate) own_pid_max: bool,
    /// The shares of per-user resources that all commands get together.
    pub(crate) user_limits: UserLimits,
    /// The processors that commands may use; none if there are more than the mask can hold.
    processors: Option<CpuSet>,
}

impl Machine {
    /// Looks at the machine, once.
    pub(crate) fn look() -> Option<Self> {
        Some(Self {
            filters: Filters::build()?,
            system: System::look(),
            landlock_abi: sys::landlock_abi().unwrap_or(0),
            own_pid_max: has_own_pid_max(),
            user_limits: UserLimits::look(),
            processors: rustix::thread::sched_getaffinity(None).ok(),
        })
    }

    /// Keeps this process, and those that come from it, on the processor it is on. What is
    /// made ready for later then takes no time from the command that runs on another.
    pub(crate) fn stay(&self) {
        self.spread();
        let number = rustix::thread::sched_getcpu();
        // Only if the process can spread again later.
        if self
            .processors
            .is_some_and(|all| number < CpuSet::MAX_CPU && all.is_set(number))
        {
            let mut here = CpuSet::new();
            here.set(number);
            let _ = rustix::thread::sched_setaffinity(None, &here);
        }
    }

    /// Lets this process use all processors again.
    pub(crate) fn spread(&self) {
        if let Some(all) = &self.processors {
            // It fails where none of them may be used any more. Then the kernel has moved
            // the process itself.
            let _ = rustix::thread::sched_setaffinity(None, all);
        }
    }
}

/// Whether `pid_max` belongs to the PID namespace. Before it did, writing it would have
/// changed the whole machine's.
pub(crate) fn has_own_pid_max() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (6, 14),
        _ => false,
    }
}
