//! The file system in memory for all that is private: `/run` with the home directory, `/tmp`, and
//! shared memory. Each sandbox has its own, or the sandboxes of one conversation share one.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::bind::{bind, copy_of, open_directory, put, tmpfs};
use super::mounts::{NewRoot, PLACE};

const STICKY: u32 = 0o1777;
/// Where a directory of it is shown, beside `/run`.
const SHOWN: [(&str, &str); 2] = [("tmp", "tmp"), ("shm", "dev/shm")];
/// The directory that is shown where `/var/tmp` has to be one, and is no link to `/tmp`.
const FOR_VAR_TMP: &str = "var-tmp";
const VAR_TMP: &str = "var/tmp";

fn options(bytes: u64) -> String {
    format!("mode=755,size={bytes},nr_inodes=1m")
}

fn make(at: &OwnedFd, name: &str, mode: u32) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(mode);
    rustix::fs::mkdirat(at, name, mode)?;
    // The umask applied to mkdir.
    rustix::fs::chmodat(at, name, mode, AtFlags::empty())
}

fn populate(scratch: &OwnedFd) -> Result<(), Errno> {
    for name in ["tmp", "shm", FOR_VAR_TMP] {
        make(scratch, name, STICKY)?;
    }
    Ok(())
}

impl NewRoot {
    /// Mounts one for this sandbox alone.
    pub(super) fn own_scratch(&self, bytes: u64, with_var_tmp: bool) -> Result<(), Errno> {
        tmpfs("/run", &options(bytes))?;
        let scratch = open_directory(&self.root, "run")?;
        populate(&scratch)?;
        make(&scratch, "home", 0o700)?;
        for (name, place) in SHOWN {
            bind(&scratch, name, &self.root, place, 0)?;
        }
        if with_var_tmp {
            bind(&scratch, FOR_VAR_TMP, &self.root, VAR_TMP, 0)?;
        }
        Ok(())
    }

    /// Shows the one that a conversation shares. Commands see directories of it and never the whole,
    /// so that none of them can be exchanged.
    pub(super) fn show_scratch(&self, shared: &OwnedFd) -> Result<OwnedFd, Errno> {
        put(shared, &self.root, "run")?;
        let scratch = open_directory(&self.root, "run")?;
        for (name, place) in SHOWN.into_iter().chain([("run", "run")]) {
            bind(&scratch, name, &self.root, place, 0)?;
        }
        let run = open_directory(&self.root, "run")?;
        // An earlier command may have removed it.
        match make(&run, "home", 0o700) {
            Ok(()) | Err(Errno::EXIST) => Ok(scratch),
            Err(errno) => Err(errno),
        }
    }

    /// Shows its directory for `/var/tmp`.
    pub(super) fn show_var_tmp(&self, scratch: &OwnedFd) -> Result<(), Errno> {
        bind(scratch, FOR_VAR_TMP, &self.root, VAR_TMP, 0).map(drop)
    }
}

/// Lets a shared one grow to this size. It never shrinks below what is in it.
pub(super) fn grow(scratch: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    let now = rustix::fs::fstatvfs(scratch.as_fd())?;
    if now.f_blocks.saturating_mul(now.f_frsize) >= bytes {
        return Ok(());
    }
    let link = format!("{PLACE}/proc/self/fd/{}", scratch.as_raw_fd());
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount_remount(link, flags, format!("size={bytes}"))
}

/// Makes a shared one, as all there is in this mount namespace: it keeps no other file system of
/// the machine in use.
pub(crate) fn make_shared() -> Result<(), Errno> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    // It grows with the first command, whose limits are not known yet.
    tmpfs(PLACE, &options(1 << 20))?;
    let scratch = open_directory(CWD, PLACE)?;
    populate(&scratch)?;
    make(&scratch, "run", 0o755)?;
    rustix::process::fchdir(&scratch)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")
}

/// A copy of it, from within that mount namespace.
pub(crate) fn copy() -> Result<OwnedFd, Errno> {
    copy_of(CWD, "/")
}
