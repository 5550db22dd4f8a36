//! Limits on resources that are counted per user: a command gets a part of each.
//!
//! The kernel counts watches of files and namespaces for a user in its user namespace and in
//! all namespaces around it. A limit in the template's namespace holds for all sandboxes that
//! are made from it, together, and no process in them can change it.

use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::confine::SHARE;

/// A setting of a user namespace, and the most that all sandboxes of a template get of it.
const SETTINGS: [(&str, u64); 4] = [
    ("max_inotify_instances", 128),
    ("max_inotify_watches", 65_536),
    // Not permitted by seccomp either.
    ("max_fanotify_groups", 0),
    ("max_fanotify_marks", 0),
];

/// The limits that all sandboxes of a template share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserLimits(Vec<(&'static str, u64)>);

impl UserLimits {
    /// A part of what the user has here.
    pub(crate) fn look() -> Self {
        let settings = SETTINGS.into_iter().map(|(name, most)| {
            let had = std::fs::read_to_string(format!("/proc/sys/user/{name}"));
            let had = had.ok().and_then(|had| had.trim().parse::<u64>().ok());
            (name, share_of(had, most))
        });
        Self(settings.collect())
    }

    /// Sets the limits of this process's user namespace; `proc` is under the root.
    pub(crate) fn set(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        for (name, most) in &self.0 {
            match write_number(root, &format!("proc/sys/user/{name}"), *most) {
                // A kernel that does not count has nothing to limit.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Forbids user namespaces inside this one, whatever system calls are permitted. Without
/// a capability there are no other namespaces then either.
pub(super) fn forbid_namespaces(root: BorrowedFd<'_>) -> Result<(), Errno> {
    write_number(root, "proc/sys/user/max_user_namespaces", 0)
}

/// Ends the process ids of this PID namespace, for root as well.
pub(super) fn limit_processes(root: BorrowedFd<'_>, processes: u32) -> Result<(), Errno> {
    // Fewer the kernel does not take: the first 300 are its reserve.
    let most = processes.max(301);
    write_number(root, "proc/sys/kernel/pid_max", u64::from(most))
}

/// A part of the whole. If that is unknown, it is more than the most.
fn share_of(had: Option<u64>, most: u64) -> u64 {
    had.map_or(most, |had| (had / SHARE).min(most))
}

fn write_number(root: BorrowedFd<'_>, path: &str, number: u64) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, path, flags, Mode::empty())?;
    rustix::io::write(file, number.to_string().as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_share_leaves_most_to_the_user(had in any::<u32>(), most in 0_u64..200_000) {
            let share = share_of(Some(u64::from(had)), most);
            prop_assert!(share <= most && share * 4 <= u64::from(had));
            prop_assert_eq!(share_of(None, most), most);
        }
    }
}
