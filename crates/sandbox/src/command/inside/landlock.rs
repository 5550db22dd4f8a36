//! Landlock: the second layer around files, and the only one on the lower level.
//!
//! It only allows. The mounts deny parts of what a rule here permits as
//! a whole; paths without a rule stay denied even if a mount is missing.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::mounts::{DEVICES, SYSTEM};
use crate::command::rules::Network;

/// The version for the upper level: files and truncation. The network and other processes are
/// out of sight there.
pub(crate) const NEEDED_WITH_NAMESPACES: i32 = 3;
/// The version for the lower level: also TCP, device requests, signals and abstract sockets.
pub(crate) const NEEDED_ALONE: i32 = SCOPES;
/// The first version that can deny abstract sockets and signals to others.
pub(crate) const SCOPES: i32 = 6;

/// The accesses to allow.
#[derive(Debug)]
pub(super) struct AllowedAccess<'a> {
    /// The version of the kernel.
    pub(crate) abi: i32,
    /// Whether it runs in namespaces.
    pub(crate) namespaces: bool,
    /// The network.
    pub(crate) network: Network,
    /// Directories, and whether they may be written.
    pub(crate) directories: Vec<(BorrowedFd<'a>, bool)>,
    /// Private directories, which may be written.
    pub(crate) private: &'a [&'a str],
    /// Parts of the system that are hidden from commands, where no mount hides them.
    pub(super) private_system: &'a [String],
}

impl AllowedAccess<'_> {
    /// Enforces the ruleset for this thread, for good. All of it, or an error.
    pub(crate) fn close(&self) -> Result<(), Errno> {
        let needed = if self.namespaces {
            NEEDED_WITH_NAMESPACES
        } else {
            NEEDED_ALONE
        };
        if self.abi < needed {
            return Err(Errno::NOSYS);
        }
        match self.build() {
            Ok(RestrictionStatus {
                ruleset: RulesetStatus::FullyEnforced,
                no_new_privs: true,
                ..
            }) => Ok(()),
            Ok(_) => Err(Errno::NOTSUP),
            Err(_) => Err(Errno::INVAL),
        }
    }

    fn build(&self) -> Result<RestrictionStatus, RulesetError> {
        // Never more than was tested here, never less than this kernel has of it.
        let abi = match self.abi {
            ..=3 => ABI::V3,
            4 => ABI::V4,
            5 => ABI::V5,
            _ => ABI::V6,
        };
        let all = AccessFs::from_all(abi);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(all)?;
        // Required where nothing else scopes them; in namespaces seccomp refuses such sockets
        // and the process namespace keeps signals in, with an older kernel too.
        if !self.namespaces || self.abi >= SCOPES {
            rules = rules.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
        }
        if !self.namespaces && self.network != Network::On {
            rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
        }
        let mut rules = rules.create()?;
        let read = AccessFs::from_read(abi);
        for name in SYSTEM {
            // Links lead to what is allowed, or not, by its own path.
            if let Ok(path) = std::fs::canonicalize(format!("/{name}")) {
                rules = self.allow_open(rules, &path, read, abi)?;
            }
        }
        rules = allow(rules, "/proc", read, abi)?;
        if self.namespaces {
            // Names only. Beneath this root is nothing that is not shown on purpose.
            rules = allow(rules, "/", AccessFs::ReadDir.into(), abi)?;
        }
        for name in DEVICES {
            let access = AccessFs::ReadFile | AccessFs::WriteFile;
            rules = allow(rules, &format!("/dev/{name}"), access, abi)?;
        }
        if self.network == Network::On {
            rules = allow(rules, "/run/systemd/resolve", read, abi)?;
        }
        for path in self.private {
            rules = allow(rules, path, all, abi)?;
        }
        for (directory, writable) in &self.directories {
            let access = if *writable { all } else { read };
            rules = rules.add_rule(PathBeneath::new(directory, access))?;
        }
        rules.restrict_self()
    }

    /// Allows a path of the system without its private files. Landlock takes nothing
    /// back, so the entries around them are allowed one by one, and names as a whole.
    fn allow_open(
        &self,
        rules: RulesetCreated,
        path: &Path,
        read: BitFlags<AccessFs>,
        abi: ABI,
    ) -> Result<RulesetCreated, RulesetError> {
        let mut private = self.private_system.iter().map(Path::new);
        if private.clone().any(|private| path.starts_with(private)) {
            return Ok(rules);
        }
        let Some(text) = path.to_str() else {
            // No name of the system is like that, and an unknown one stays denied.
            return Ok(rules);
        };
        if !private.any(|private| private.starts_with(path)) {
            return allow(rules, text, read, abi);
        }
        let mut rules = allow(rules, text, AccessFs::ReadDir.into(), abi)?;
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                rules = self.allow_open(rules, &entry.path(), read, abi)?;
            }
        }
        Ok(rules)
    }
}

/// Allows a path, if it exists: Landlock has no rules for missing paths.
fn allow(
    rules: RulesetCreated,
    path: &str,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else {
        return Ok(rules);
    };
    let is_directory = rustix::fs::fstat(fd.as_fd())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if is_directory {
        access
    } else {
        access & AccessFs::from_file(abi)
    };
    rules.add_rule(PathBeneath::new(fd, access))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(abi: i32, namespaces: bool) -> AllowedAccess<'static> {
        AllowedAccess {
            abi,
            namespaces,
            network: Network::Off,
            directories: Vec::new(),
            private: &[],
            private_system: &[],
        }
    }

    #[test]
    fn an_older_kernel_is_refused_and_not_served_in_part() {
        for (abi, namespaces) in [(0, true), (2, true), (0, false), (5, false)] {
            assert_eq!(allowed(abi, namespaces).close(), Err(Errno::NOSYS), "{abi}");
        }
    }
}
