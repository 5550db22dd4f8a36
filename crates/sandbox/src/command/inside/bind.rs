//! Single mounts, each in one call.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};
use rustix::path::Arg;

use crate::command::sys;

/// Nothing is written through the mount.
pub(crate) const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
/// No program gains anything by its owner.
pub(super) const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
/// Devices are only names.
pub(super) const NODEV: u64 = libc::MOUNT_ATTR_NODEV;

/// Opens a directory to name it, not to read it.
pub(super) fn open_directory(from: impl AsFd, path: impl Arg) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(
        from,
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// A copy of a mount and of all beneath it, attached nowhere.
pub(super) fn copy_of(from: impl AsFd, path: &str) -> Result<OwnedFd, Errno> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    if path.is_empty() {
        flags |= OpenTreeFlags::AT_EMPTY_PATH;
    }
    rustix::mount::open_tree(from, path, flags)
}

/// Attaches a copy.
pub(crate) fn put(tree: &OwnedFd, to: impl AsFd, path: &str) -> Result<(), Errno> {
    let mut flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    if path.is_empty() {
        flags |= MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    }
    rustix::mount::move_mount(tree, "", to, path, flags)
}

/// A bind mount with attributes, from one place to another.
pub(crate) fn bind(
    from: impl AsFd,
    source: &str,
    to: impl AsFd,
    target: &str,
    attributes: u64,
) -> Result<OwnedFd, Errno> {
    let tree = copy_of(from, source)?;
    if attributes != 0 {
        sys::mount_setattr(&tree, c"", true, attributes)?;
    }
    put(&tree, to, target)?;
    Ok(tree)
}

/// A file system in memory.
pub(super) fn tmpfs(path: &str, options: &str) -> Result<(), Errno> {
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, Some(options.as_c_str()))
}

/// A view of the processes of this namespace.
pub(crate) fn proc(path: &str) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", path, "proc", flags, None)
}

/// Whether a descriptor is of a symbolic link.
pub(crate) fn is_link(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Whether a descriptor is of a directory.
pub(crate) fn is_directory(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// Whether a path is another or lies in it.
pub(super) fn is_within(path: &[u8], outer: &[u8]) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The mount that begins at a path, if one does.
pub(super) fn mount_at(from: &OwnedFd, path: &[u8], flags: AtFlags) -> Option<u64> {
    let flags = flags | AtFlags::NO_AUTOMOUNT;
    let stat = rustix::fs::statx(from, path, flags, StatxFlags::MNT_ID).ok()?;
    let begins = stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
    let known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID);
    (begins && known).then_some(stat.stx_mnt_id)
}

/// Opens what is at a path of a directory, without following any link.
pub(crate) fn beneath(directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat2(
        directory,
        path,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}
