//! A directory beyond the roots by its real name and its identity.
//!
//! An approver is shown a name. Links on the way can be exchanged between the question and
//! the start of a command, so the name alone opens nothing.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::command::caller::search::walk::READABLE;
use crate::paths::{PathSandbox, RootAccess};

/// A directory as it was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactDirectory {
    /// Its name after all links are followed.
    pub path: PathBuf,
    /// The device it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// How commands may use it.
    pub access: RootAccess,
}

impl ExactDirectory {
    /// The directory that a name leads to now, for reading, or none if there is no directory.
    pub fn of(name: &Path) -> Option<Self> {
        let path = std::fs::canonicalize(name).ok()?;
        let (device, inode) = identity(&open(&path).ok()?).ok()?;
        Some(Self {
            path,
            device,
            inode,
            access: RootAccess::ReadOnly,
        })
    }

    /// Opens it. `ESTALE` if another directory is there, or a link leads elsewhere.
    pub(crate) fn open(&self) -> Result<OwnedFd, Errno> {
        let handle = open(&self.path)?;
        if identity(&handle)? == (self.device, self.inode) {
            Ok(handle)
        } else {
            Err(Errno::STALE)
        }
    }
}

/// Opens a directory by its real name. `ESTALE` if a link is on the way.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let real = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if real == path {
        Ok(handle)
    } else {
        Err(Errno::STALE)
    }
}

fn identity(handle: &OwnedFd) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(handle)?;
    Ok((stat.st_dev, stat.st_ino))
}

impl PathSandbox {
    /// The deny pattern that matches a directory by its real name, or one above it.
    pub(super) fn denied_directory(&self, path: &Path) -> Option<&str> {
        let path = path.strip_prefix("/").unwrap_or(path);
        let named = self
            .denied_by(path, false)
            .or_else(|| self.data_directory(path));
        named.filter(|rule| *rule != READABLE)
    }

    /// Whether an approver can open the directory with this real name to a command. Not if it
    /// lies in a root, in a denied directory or in a closed place of Toolgate's own.
    pub fn may_be_opened(&self, path: &Path) -> bool {
        let in_root = self
            .roots()
            .iter()
            .any(|root| path.starts_with(root.path()));
        !in_root
            && self.own().closed_around(path).is_none()
            && self.denied_directory(path).is_none()
    }
}
