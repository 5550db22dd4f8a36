//! The parts of the system that commands see, without private files.
//!
//! Files of the system that others cannot read are not for a command either. It has no
//! capabilities, but the ids of its user, and root owns most of the system. So the mounts
//! that root's commands see have no owners: the kernel maps every id of the files to none,
//! and every user counts as "other" there. That costs nothing, and holds for files that are made
//! later too.
//!
//! Some file systems cannot be mounted like that (overlays, most of all), and only root of
//! the machine itself may do it. There, and in `/etc` for ordinary users, who may be in a
//! group that can read more than others, private entries are searched and hidden one by one.
//! Without mounts, Landlock allows everything around them instead.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::Signal;

use super::bind::{NODEV, NOSUID, RDONLY, copy_of};
use super::mounts::SYSTEM;
use crate::command::protocol::report::{SetupError, Step};
use crate::command::protocol::wire;
use crate::command::sys::{self, Side};

/// An id that no file has.
const NO_ID: &str = "4294967294 4294967294 1";
/// How long the warden searches before it looks whether there is something else to do.
const SLICE: Duration = Duration::from_millis(1);
/// How long a command waits for the search. It is over in less than a second, except where
/// nothing of the system was read before.
const PATIENCE: Duration = Duration::from_secs(8);

/// A directory of the system, as a mount that can be attached once.
pub(crate) type Tree = (&'static str, OwnedFd);

/// How the system is shown to commands.
#[derive(Debug)]
pub(crate) struct System {
    /// The user namespace that has no id of any file.
    strangers: Option<OwnedFd>,
    /// The directories that are shown without owners.
    ownerless: Vec<&'static str>,
    search: Search,
}

impl System {
    /// Finds out which trees can be shown without owners. The others are searched.
    pub(crate) fn look() -> Self {
        let root = rustix::process::geteuid().is_root();
        Self::with(if root { strangers().ok() } else { None })
    }

    fn with(strangers: Option<OwnedFd>) -> Self {
        let root = rustix::process::geteuid().is_root();
        let mut system = Self {
            strangers,
            ownerless: Vec::new(),
            search: Search {
                root,
                ..Search::default()
            },
        };
        for name in SYSTEM.into_iter().filter(|name| is_directory(name)) {
            if system.tree(name).is_ok() {
                system.ownerless.push(name);
            } else if root || name == "etc" {
                system.search.open.push(Path::new("/").join(name));
            }
        }
        system
    }

    /// Looks again after the machine's mounts have changed: what is mounted now may have to be
    /// searched, or be searched again.
    pub(crate) fn look_again(&mut self) {
        let strangers = self.strangers.take();
        *self = Self::with(strangers);
    }

    /// The directories without owners, anew for every template.
    pub(crate) fn trees(&self) -> Result<Vec<Tree>, SetupError> {
        let there = self.ownerless.iter().filter(|name| is_directory(name));
        there
            .map(|name| match self.tree(name) {
                Ok(tree) => Ok((*name, tree)),
                Err(errno) => Err(SetupError::new(Step::System, errno).about(format!("/{name}"))),
            })
            .collect()
    }

    fn tree(&self, name: &str) -> Result<OwnedFd, Errno> {
        let strangers = self.strangers.as_ref().ok_or(Errno::PERM)?;
        let tree = copy_of(CWD, &format!("/{name}"))?;
        sys::map_owners(&tree, strangers, RDONLY | NOSUID | NODEV)?;
        Ok(tree)
    }

    /// The paths to hide, as far as they were found.
    pub(crate) fn hidden(&self) -> &[String] {
        &self.search.found
    }

    /// Whether there is something left to search.
    pub(crate) fn is_searching(&self) -> bool {
        !self.search.open.is_empty()
    }

    /// Searches for a moment.
    pub(crate) fn search_on(&mut self) {
        self.search.go_on(SLICE);
    }

    /// Has the rest of the system searched too, for commands without mounts of their own.
    pub(crate) fn search_all(&mut self) {
        for name in self.ownerless.drain(..) {
            self.search.open.push(Path::new("/").join(name));
        }
    }

    /// Searches to the end. No command runs before that.
    pub(crate) fn finish(&mut self) -> Result<(), SetupError> {
        self.search.go_on(PATIENCE);
        if self.is_searching() {
            let text = "the search for private files of the system takes long; try again";
            return Err(SetupError::new(Step::System, Errno::AGAIN).about(text));
        }
        Ok(())
    }
}

/// A search for what others cannot read, directory by directory.
#[derive(Debug, Default)]
struct Search {
    /// Whether it is for root, who can read whatever it owns.
    root: bool,
    open: Vec<PathBuf>,
    found: Vec<String>,
}

impl Search {
    fn go_on(&mut self, most: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < most
            && let Some(directory) = self.open.pop()
        {
            self.look_into(&directory);
        }
        if self.open.is_empty() {
            self.found.sort();
            self.found.dedup();
        }
    }

    /// Looks at the entries of a directory. An entry that cannot be examined is hidden.
    fn look_into(&mut self, directory: &Path) {
        let gone = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if gone(&error) => return,
            Err(_) => return self.hide(directory),
        };
        for entry in entries {
            let Ok(entry) = entry else {
                return self.hide(directory);
            };
            // Most of it is links, which the names alone tell.
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if gone(&error) => continue,
                Err(_) => {
                    self.hide(&entry.path());
                    continue;
                }
            };
            let mode = metadata.permissions().mode();
            let others = if metadata.is_dir() { 0o005 } else { 0o004 };
            if mode & others != others {
                if self.root || is_open_to_us(&entry.path()) {
                    self.hide(&entry.path());
                }
            } else if metadata.is_dir() {
                self.open.push(entry.path());
            }
        }
    }

    /// Hides a path, or what it lies in where its name is no text.
    fn hide(&mut self, path: &Path) {
        let named = path.ancestors().find_map(Path::to_str);
        self.found.extend(named.map(str::to_owned));
    }
}

/// Whether this process gets at something that others do not.
fn is_open_to_us(path: &Path) -> bool {
    let may = |access| rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    may(Access::READ_OK) || may(Access::EXEC_OK)
}

fn is_directory(name: &str) -> bool {
    let stat = rustix::fs::statat(CWD, format!("/{name}"), AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// Makes the user namespace that has no id of any file.
fn strangers() -> Result<OwnedFd, Errno> {
    let (ours, theirs) = wire::pair()?;
    match sys::clone3(libc::CLONE_NEWUSER)? {
        Side::Child => {
            drop(ours);
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            // Until it is ended, or the other end is closed.
            let _ = wire::receive(&theirs, RecvFlags::empty());
            sys::end(0)
        }
        Side::Parent(child) => {
            let io = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
            let of = |file: &str| format!("/proc/{}/{file}", child.pid.as_raw_nonzero());
            let made = std::fs::write(of("uid_map"), NO_ID)
                .and_then(|()| std::fs::write(of("gid_map"), NO_ID))
                .map_err(io)
                .and_then(|()| {
                    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                    rustix::fs::openat(CWD, of("ns/user"), flags, Mode::empty())
                });
            let _ = rustix::process::pidfd_send_signal(&child.pidfd, Signal::KILL);
            made
        }
    }
}
