//! The owner's rights: directories that a command closed are opened while they are searched.
//!
//! A command can remove the permission to list or enter a directory, even for
//! the user it runs as. The user owns the directory and can restore it; that is done for
//! the search after a command, and undone after it, because the mode is the command's work.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::command::inside::bind::beneath;

/// Directories that were opened, with the modes they get back.
///
/// They are kept by their paths: a command can close more of them than the process can hold
/// descriptors. One that was moved meanwhile keeps the owner's rights.
#[derive(Debug)]
pub(crate) struct Reopened<'a> {
    tree: BorrowedFd<'a>,
    opened: RefCell<Vec<Opened>>,
    /// Directories that were closed before the command, with their inodes. They were hidden
    /// from it, and what is in them is the user's.
    closed_before: HashMap<Vec<u8>, u64>,
}

#[derive(Debug)]
struct Opened {
    path: Vec<u8>,
    device: u64,
    inode: u64,
    mode: Mode,
}

impl<'a> Reopened<'a> {
    pub(crate) fn new(tree: BorrowedFd<'a>, closed_before: HashMap<Vec<u8>, u64>) -> Self {
        Self {
            tree,
            opened: RefCell::default(),
            closed_before,
        }
    }

    /// Gives the user every right to a directory. Gives whether that changed anything.
    pub(crate) fn open(&self, directory: &[u8]) -> bool {
        self.try_open(directory).unwrap_or(false)
    }

    fn try_open(&self, directory: &[u8]) -> Result<bool, Errno> {
        let handle = self.named(directory)?;
        let stat = rustix::fs::fstat(&handle)?;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        let closed_before = self.closed_before.get(directory) == Some(&stat.st_ino);
        if mode.contains(Mode::RWXU) || closed_before || !is_directory {
            return Ok(false);
        }
        set_mode(handle.as_fd(), mode | Mode::RWXU)?;
        self.opened.borrow_mut().push(Opened {
            path: directory.to_vec(),
            device: stat.st_dev,
            inode: stat.st_ino,
            mode,
        });
        Ok(true)
    }

    fn named(&self, directory: &[u8]) -> Result<OwnedFd, Errno> {
        if !directory.is_empty() {
            return beneath(self.tree, directory);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(self.tree, c".", flags, Mode::empty()).or_else(|_| {
            // Without the right to enter it, a directory has no `.` either.
            rustix::io::fcntl_dupfd_cloexec(self.tree, 0)
        })
    }

    fn close(&self, opened: &Opened) -> Result<(), Errno> {
        let handle = self.named(&opened.path)?;
        let stat = rustix::fs::fstat(&handle)?;
        if (stat.st_dev, stat.st_ino) == (opened.device, opened.inode) {
            set_mode(handle.as_fd(), opened.mode)?;
        }
        Ok(())
    }
}

impl Drop for Reopened<'_> {
    fn drop(&mut self) {
        // The innermost first: the way to it has to stay open.
        let opened = std::mem::take(&mut *self.opened.borrow_mut());
        for opened in opened.iter().rev() {
            let _ = self.close(opened);
        }
    }
}

/// Changes the mode of exactly this directory: a descriptor that only names it can be changed
/// by its name in `/proc` alone.
fn set_mode(handle: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::chmodat(CWD, path, mode, rustix::fs::AtFlags::empty())
}
