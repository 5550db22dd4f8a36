//! Processes told apart, also when their numbers come again.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process, and no other that gets its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's count.
    pub began: u64,
}

impl Process {
    /// The living process of this number. One that has ended and was not yet waited for
    /// does not live.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses can hold anything; the fields after it are numbers.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X");
        let began = fields.nth(18)?.parse().ok()?;
        (!ended).then_some(Self { pid, began })
    }

    /// Whether it has not ended.
    pub fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

/// This start of this machine, if the kernel tells it.
pub fn boot() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

/// What this process's numbers are good for, if the kernel tells it.
pub fn namespace() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(namespace.to_string_lossy().into_owned())
}
