//! Looking at single entries, without following anything.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, SeekFrom, Stat};
use rustix::io::Errno;

use super::changes::{Entry, EntryKind};

/// Bytes that are compared at once.
const CHUNK: usize = 64 << 10;

impl Entry {
    pub(super) fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            FileType::Fifo => EntryKind::Fifo,
            FileType::Socket => EntryKind::Socket,
            _ => EntryKind::Other,
        };
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            links: stat.st_nlink,
            target: None,
            links_to: None,
            inode: stat.st_ino,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            accessed: (stat.st_atime, stat.st_atime_nsec),
        }
    }

    pub(super) fn has_attributes_of(&self, other: &Self) -> bool {
        (self.mode, self.uid, self.gid) == (other.mode, other.uid, other.gid)
    }
}

/// What is at a name; nothing if nothing is.
pub(super) fn look(directory: impl AsFd, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Opens what is at a path beneath a directory, without following any link.
///
/// Where the kernel allows it, reading leaves the time of the last access alone: it tells a copy
/// from a new file, and is looked at more than once.
pub(super) fn open(directory: impl AsFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() { b"." } else { path };
    let open = |flags| {
        rustix::fs::openat2(
            &directory,
            path,
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
    };
    if flags.contains(OFlags::PATH) {
        return open(flags);
    }
    match open(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open(flags),
        other => other,
    }
}

/// Opens a directory to list it.
pub(super) fn open_directory(directory: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(directory, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens something of the layer that its owner may have closed. Gives the mode back.
pub(super) fn reopen(
    directory: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    match open(directory, name, flags) {
        Err(Errno::ACCESS) => {
            let Some(stat) = look(directory, name)? else {
                return Err(Errno::NOENT);
            };
            let mode = stat.st_mode & 0o7777;
            let set = |mode| {
                let mode = Mode::from_raw_mode(mode);
                rustix::fs::chmodat(directory, name, mode, AtFlags::empty())
            };
            set(mode | 0o700)?;
            let opened = open(directory, name, flags);
            set(mode)?;
            opened
        }
        other => other,
    }
}

/// Opens a directory of the layer, also one that its owner closed, and keeps it open to its owner
/// until [`leave`] gets what this gives.
pub(super) fn enter(
    directory: BorrowedFd<'_>,
    name: &[u8],
    stat: &Stat,
) -> Result<(OwnedFd, Option<u32>), Errno> {
    let handle = reopen(directory, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mode = stat.st_mode & 0o7777;
    if mode & 0o700 == 0o700 {
        return Ok((handle, None));
    }
    rustix::fs::fchmod(&handle, Mode::from_raw_mode(mode | 0o700))?;
    Ok((handle, Some(mode)))
}

/// Closes a directory again.
pub(super) fn leave(handle: &OwnedFd, mode: Option<u32>) -> Result<(), Errno> {
    match mode {
        Some(mode) => rustix::fs::fchmod(handle, Mode::from_raw_mode(mode)),
        None => Ok(()),
    }
}

/// The names in a directory, in order.
pub(super) fn names(directory: &OwnedFd, buffer: &mut Vec<u8>) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    buffer.clear();
    rustix::fs::seek(directory, SeekFrom::Start(0))?;
    let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether two files have the same content. Stops at the first difference, and leaves out what is
/// a hole in both.
pub(super) fn same_content(one: &OwnedFd, other: &OwnedFd) -> Result<bool, Errno> {
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    loop {
        at = next_data(one, at)?.min(next_data(other, at)?);
        for file in [one, other] {
            rustix::fs::seek(file, SeekFrom::Start(at))?;
        }
        let read = fill(one, &mut left)?;
        if fill(other, &mut right)? != read || left.get(..read) != right.get(..read) {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
        at += u64::try_from(read).map_err(|_| Errno::FBIG)?;
    }
}

/// Where the next data are; the end of the file where there are no more.
fn next_data(file: &OwnedFd, at: u64) -> Result<u64, Errno> {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => rustix::fs::seek(file, SeekFrom::End(0)),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(at),
        other => other,
    }
}

fn fill(from: &OwnedFd, into: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(from, rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// The kernel's attributes on something in the layer: whether there are any, and whether it is
/// a directory without what was in the lower one.
pub(super) fn attributes(handle: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut room = vec![0; 4096];
    loop {
        match rustix::fs::flistxattr(handle, &mut room[..]) {
            Ok(length) => {
                let names = room.get(..length).unwrap_or_default();
                let names = names.split(|byte| *byte == 0);
                let own = names.filter(|name| name.starts_with(OVERLAY));
                return Ok(own.map(<[u8]>::to_vec).collect());
            }
            Err(Errno::NOTSUP) => return Ok(Vec::new()),
            Err(Errno::RANGE) if room.len() < 64 << 10 => room.resize(64 << 10, 0),
            Err(errno) => return Err(errno),
        }
    }
}

/// The prefix of attributes that no applied file keeps: the kernel's own, and those of commands, which
/// the kernel keeps as `user.overlay.overlay.…`.
pub(crate) const OVERLAY: &[u8] = b"user.overlay.";

pub(super) fn is_opaque(handle: &OwnedFd) -> bool {
    let mut value = [0; 2];
    rustix::fs::fgetxattr(handle, c"user.overlay.opaque", &mut value[..]) == Ok(1)
        && value.first() == Some(&b'y')
}
