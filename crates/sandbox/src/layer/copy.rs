//! Copying what a rename cannot move.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::changes::EntryKind;
use super::look::OVERLAY;
use super::step::Ident;

/// Bytes that are copied at once.
const CHUNK: usize = 1 << 20;
/// The longest value of an attribute, and the longest list of their names.
const VALUE: usize = 64 << 10;

/// Replaces the content of a file. Holes stay holes.
///
/// A process that is killed here leaves a beginning of the new content.
pub(super) fn replace_content(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::ftruncate(to, 0)?;
    let length = rustix::fs::seek(from, SeekFrom::End(0))?;
    let mut at = 0;
    while at < length {
        let (start, end) = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Ok(start) => (start, rustix::fs::seek(from, SeekFrom::Hole(start))?),
            // Nothing but a hole follows.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => (at, length),
            Err(errno) => return Err(errno),
        };
        copy_range(from, to, start, end)?;
        at = end;
    }
    rustix::fs::ftruncate(to, length)
}

fn copy_range(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> Result<(), Errno> {
    let mut at = start;
    let mut room = Vec::new();
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
        let (mut read, mut write) = (at, at);
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut write), left) {
            Ok(0) => return Err(Errno::STALE),
            Ok(copied) => at += u64::try_from(copied).map_err(|_| Errno::FBIG)?,
            Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                room.resize(left, 0);
                let got = rustix::io::pread(from, &mut room, at)?;
                if got == 0 {
                    return Err(Errno::STALE);
                }
                let mut rest = room.get(..got).unwrap_or_default();
                while !rest.is_empty() {
                    let written = rustix::io::pwrite(to, rest, at)?;
                    rest = rest.get(written..).unwrap_or_default();
                    at += u64::try_from(written).map_err(|_| Errno::FBIG)?;
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Whether a file holds a beginning of another one, or all of it.
pub(super) fn is_beginning(part: &OwnedFd, whole: &OwnedFd) -> Result<bool, Errno> {
    let (mut one, mut other) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    loop {
        let read = fill(part, &mut one, at)?;
        if read == 0 {
            return Ok(true);
        }
        let room = other.get_mut(..read).unwrap_or_default();
        if fill(whole, room, at)? != read || one.get(..read) != other.get(..read) {
            return Ok(false);
        }
        at += u64::try_from(read).map_err(|_| Errno::FBIG)?;
    }
}

fn fill(from: &OwnedFd, into: &mut [u8], at: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let offset = at + u64::try_from(filled).map_err(|_| Errno::FBIG)?;
        match rustix::io::pread(from, rest, offset) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// Copies the attributes of a user, except those that the kernel gives an overlay.
pub(crate) fn copy_attributes(old: &OwnedFd, new: &OwnedFd) -> Result<(), Errno> {
    let mut names = vec![0; VALUE];
    let length = match rustix::fs::flistxattr(old, &mut names) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => 0,
        Err(errno) => return Err(errno),
    };
    let names = names.get(..length).unwrap_or_default();
    for name in names.split(|byte| *byte == 0) {
        let kept = name.starts_with(b"system.posix_acl") || name.starts_with(b"user.");
        if kept && !name.starts_with(OVERLAY) {
            let mut value = vec![0; VALUE];
            let length = rustix::fs::fgetxattr(old, name, &mut value)?;
            let value = value.get(..length).unwrap_or_default();
            rustix::fs::fsetxattr(new, name, value, rustix::fs::XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// Gives an entry the owner, the mode and the time of another. Nothing is followed.
pub(super) fn set_attributes(
    directory: &OwnedFd,
    name: &[u8],
    wanted: &Ident,
) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match name {
        [] => rustix::io::fcntl_dupfd_cloexec(directory, 0)?,
        _ => rustix::fs::openat(directory, name, flags, Mode::empty())?,
    };
    let now = Ident::of(&rustix::fs::fstat(&handle)?);
    if now.kind != wanted.kind {
        return Err(Errno::STALE);
    }
    if (now.uid, now.gid) != (wanted.uid, wanted.gid) {
        let (user, group) = (Uid::from_raw(wanted.uid), Gid::from_raw(wanted.gid));
        rustix::fs::chownat(&handle, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
    }
    if wanted.kind != EntryKind::Symlink {
        let mode = Mode::from_raw_mode(wanted.mode);
        rustix::fs::chmodat(CWD, named(&handle), mode, AtFlags::empty())?;
    }
    if wanted.kind == EntryKind::Directory {
        return Ok(());
    }
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: wanted.modified.0,
            tv_nsec: i64::try_from(wanted.modified.1).map_err(|_| Errno::INVAL)?,
        },
    };
    rustix::fs::utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// The name in `/proc` by which exactly this entry can be changed.
fn named(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}
