//! One name in a directory, looked at without following a link.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::found::{Guarded, Identity, Link, Why};

/// The metadata of a name, without following a link.
pub(crate) fn look(from: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    rustix::fs::statx(from, name, flags, wanted)
}

pub(crate) fn guarded(
    directory: &OwnedFd,
    name: impl Arg + Copy,
    path: Vec<u8>,
    why: Why,
) -> Result<Guarded, Errno> {
    let stat = look(directory, name, AtFlags::empty())?;
    let is_link = kind_of(&stat) == FileType::Symlink;
    let link = is_link.then(|| rustix::fs::readlinkat(directory, name, Vec::new()));
    let link = link.transpose()?.map(|target| Link {
        changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        target: target.into_bytes(),
    });
    Ok(Guarded {
        link,
        ..Guarded::new(path, why, Identity::of(&stat))
    })
}

pub(crate) fn kind_of(stat: &Statx) -> FileType {
    FileType::from_raw_mode(u32::from(stat.stx_mode))
}

pub(crate) fn kind_at(directory: &OwnedFd, name: &std::ffi::CStr) -> FileType {
    look(directory, name, AtFlags::empty()).map_or(FileType::Unknown, |stat| kind_of(&stat))
}
