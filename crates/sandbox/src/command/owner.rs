//! The owner's right: directories that a command closed are opened while they are searched.
//!
//! A command can take the rights to list or enter a directory away from everybody, also from
//! the user it runs as. The user owns the directory and can give them back; that is done for
//! the search after a command, and undone after it, because the mode is the command's work.

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::bind::beneath;

/// Directories that were opened, with the modes they get back.
#[derive(Debug)]
pub(super) struct Reopened {
    opened: RefCell<Vec<(OwnedFd, Mode)>>,
    /// Directories that were closed before the command. They were hidden from it, and what
    /// is in them is the user's.
    closed_before: HashSet<Vec<u8>>,
}

impl Reopened {
    pub(super) fn new(closed_before: HashSet<Vec<u8>>) -> Self {
        Self {
            opened: RefCell::default(),
            closed_before,
        }
    }

    /// Gives the user every right to a directory. Gives whether that changed anything.
    pub(super) fn open(&self, tree: BorrowedFd<'_>, directory: &[u8]) -> bool {
        !self.closed_before.contains(directory) && self.try_open(tree, directory).unwrap_or(false)
    }

    fn try_open(&self, tree: BorrowedFd<'_>, directory: &[u8]) -> Result<bool, Errno> {
        let handle = if directory.is_empty() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::openat(tree, c".", flags, Mode::empty()).or_else(|_| {
                // Without the right to enter it, a directory has no `.` either.
                rustix::io::fcntl_dupfd_cloexec(tree, 0)
            })?
        } else {
            beneath(tree, directory)?
        };
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode & 0o7777);
        if mode.contains(Mode::RWXU) {
            return Ok(false);
        }
        set_mode(handle.as_fd(), mode | Mode::RWXU)?;
        self.opened.borrow_mut().push((handle, mode));
        Ok(true)
    }
}

impl Drop for Reopened {
    fn drop(&mut self) {
        // The innermost first: the way to it has to stay open.
        for (handle, mode) in self.opened.borrow_mut().drain(..).rev() {
            let _ = set_mode(handle.as_fd(), mode);
        }
    }
}

/// Changes the mode of exactly this directory: a descriptor that only names it can be changed
/// by its name in `/proc` alone.
fn set_mode(handle: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::chmodat(CWD, path, mode, rustix::fs::AtFlags::empty())
}
