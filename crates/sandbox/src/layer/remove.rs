//! Removing a tree that a command made, whatever is in it.
//!
//! Directories can be closed, and nested deeper than a path can be long or than descriptors last.
//! Nothing is followed, and every directory is removed by its own handle.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

/// From this depth on a directory is moved up to the top before it is emptied.
const DEPTH: usize = 64;
/// Names are taken from the kernel by so many bytes.
const BUFFER: usize = 32 << 10;

/// Removes a name and everything beneath it. It is no error if there is nothing.
pub(crate) fn remove(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let top = enter(directory, name)?;
    let mut moved = 0;
    empty(top.as_fd(), top.as_fd(), 0, &mut moved)?;
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

fn empty(
    top: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    depth: usize,
    moved: &mut u64,
) -> Result<(), Errno> {
    loop {
        let again = enter(directory, b".")?;
        let mut directories: Vec<Vec<u8>> = Vec::new();
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut entries = RawDir::new(&again, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entry.file_type() != FileType::Directory {
                match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => continue,
                    Err(Errno::ISDIR | Errno::PERM) => {}
                    Err(errno) => return Err(errno),
                }
            }
            directories.push(name.to_bytes().to_vec());
        }
        if directories.is_empty() {
            return Ok(());
        }
        for name in directories {
            if depth >= DEPTH {
                *moved += 1;
                let up = format!("moved-up-{moved}");
                rustix::fs::renameat(directory, name.as_slice(), top, up.as_str())?;
                continue;
            }
            let inner = enter(directory, &name)?;
            empty(top, inner.as_fd(), depth + 1, moved)?;
            match rustix::fs::unlinkat(directory, name.as_slice(), AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        // What was moved up from here has to be found at the top.
        if depth > 0 {
            return Ok(());
        }
    }
}

/// Opens a directory, also one that its owner closed.
fn enter(directory: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(directory, name, flags, Mode::empty());
    let handle = match open() {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(0o700);
            rustix::fs::chmodat(directory, name, mode, AtFlags::empty())?;
            open()?
        }
        other => other?,
    };
    let stat = rustix::fs::fstat(&handle)?;
    if stat.st_mode & 0o700 != 0o700 {
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(0o700))?;
    }
    Ok(handle)
}
