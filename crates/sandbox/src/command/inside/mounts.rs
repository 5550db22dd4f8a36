//! The file system that a command sees, built mount by mount.
//!
//! Everything happens in a mount namespace of its own. The new root covers
//! `/proc` of the old tree while it is built: that is the one place where no root and
//! no grant can be, so every source stays reachable by its path. A sandbox gets a copy of it,
//! and mounts its private file systems there.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags};

use super::bind::{
    NODEV, NOSUID, RDONLY, beneath, bind, is_directory, is_link, is_within, mount_at,
    open_directory, proc, tmpfs,
};
use super::scratch;
use super::system::Tree;
use super::user_limits::{self, UserLimits};
use crate::command::protocol::message::{Mask, MaskKind};
use crate::command::protocol::report::{SetupError, Step};
use crate::command::rules::Limits;
use crate::command::sys;

/// Where the new root hangs in the old tree.
pub(super) const PLACE: &str = "/proc";
/// Parts of the system that are shown, if they exist; links are copied as links.
pub(crate) const SYSTEM: [&str; 11] = [
    "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu",
];
/// The devices that programs need and that lead nowhere.
pub(crate) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Where every sandbox has a file system in memory of its own, over whatever is there.
const PRIVATE: [&[u8]; 3] = [b"run", b"tmp", VAR_TMP.as_bytes()];
/// A link to `/tmp`, except where something of the machine's own is shown.
const VAR_TMP: &str = "var/tmp";

/// The new root, while it hangs in the old tree and when it is the only one.
#[derive(Debug)]
pub(crate) struct NewRoot {
    pub(crate) root: OwnedFd,
    /// Read-only: something that cannot be read, as a file and as a directory, and an
    /// empty directory.
    masks: OwnedFd,
    /// The covers of private system directories in which a directory is shown.
    covers: RefCell<Vec<OwnedFd>>,
    /// The file system in memory that the sandboxes of a conversation share.
    shared: Option<OwnedFd>,
}

/// A directory of the machine that is shown in the new root.
#[derive(Debug)]
pub(super) struct Shown {
    /// The mount.
    pub(crate) tree: OwnedFd,
    pub(crate) path: Vec<u8>,
    pub(super) id: (u64, u64),
}

fn at(step: Step) -> impl Fn(Errno) -> SetupError {
    move |errno| SetupError::new(step, errno)
}

impl NewRoot {
    /// Everything that does not depend on the command.
    pub(crate) fn prepare(
        trees: Vec<Tree>,
        hidden: &[String],
        limits: &UserLimits,
        scratch: Option<&OwnedFd>,
    ) -> Result<Self, SetupError> {
        rustix::mount::mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(at(Step::Propagation))?;
        let root = (|| {
            tmpfs(PLACE, "mode=755,size=4m,nr_inodes=16k")?;
            open_directory(CWD, PLACE)
        })()
        .map_err(at(Step::NewRoot))?;
        let masks = mask_sources(root.as_fd()).map_err(at(Step::NewRoot))?;
        let covers = RefCell::default();
        let mut new = Self {
            root,
            masks,
            covers,
            shared: None,
        };
        new.system(trees)?;
        for path in hidden {
            new.hide_in_system(path)?;
        }
        new.devices().map_err(at(Step::Devices))?;
        new.places().map_err(at(Step::Scratch))?;
        let shared = scratch.map(|scratch| new.show_scratch(scratch)).transpose();
        new.shared = shared.map_err(at(Step::Scratch))?;
        // The kernel allows a new one only if a full one is visible.
        proc(&format!("{PLACE}/proc")).map_err(at(Step::Proc))?;
        limits.set(new.root.as_fd()).map_err(at(Step::Limits))?;
        Ok(new)
    }

    /// The root from within: where it is the only one, in a copy of the namespace.
    pub(crate) fn within() -> Result<Self, SetupError> {
        (|| {
            let root = open_directory(CWD, "/")?;
            let masks = open_directory(&root, ".masks")?;
            let covers = RefCell::default();
            Ok(Self {
                root,
                masks,
                covers,
                shared: None,
            })
        })()
        .map_err(at(Step::NewRoot))
    }

    pub(super) fn mkdir(&self, path: &str, mode: u32) -> Result<(), Errno> {
        rustix::fs::mkdirat(&self.root, path, Mode::from_raw_mode(mode))
    }

    fn devices(&self) -> Result<(), Errno> {
        self.mkdir("dev", 0o755)?;
        for name in DEVICES {
            let path = format!("dev/{name}");
            rustix::fs::openat(
                &self.root,
                &path,
                OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
                Mode::from_raw_mode(0o644),
            )?;
            bind(CWD, &format!("/{path}"), &self.root, &path, NOSUID)?;
        }
        for (name, target) in [
            ("dev/fd", "/proc/self/fd"),
            ("dev/stdin", "/proc/self/fd/0"),
            ("dev/stdout", "/proc/self/fd/1"),
            ("dev/stderr", "/proc/self/fd/2"),
        ] {
            rustix::fs::symlinkat(target, &self.root, name)?;
        }
        Ok(())
    }

    /// The places over which a sandbox mounts what is its own.
    fn places(&self) -> Result<(), Errno> {
        for name in ["run", "tmp", "var", "dev/shm"] {
            self.mkdir(name, 0o755)?;
        }
        self.mkdir("proc", 0o555)?;
        rustix::fs::symlinkat("/tmp", &self.root, VAR_TMP)
    }

    /// Makes a directory of the link, so that something can be shown in it.
    fn make_var_tmp(&self) -> Result<(), Errno> {
        if self.own_var_tmp() != Some(FileType::Symlink) {
            return Ok(());
        }
        rustix::fs::unlinkat(&self.root, VAR_TMP, AtFlags::empty())?;
        self.mkdir(VAR_TMP, 0o755)?;
        self.shared
            .as_ref()
            .map_or(Ok(()), |of| self.show_var_tmp(of))
    }

    /// Sees to it that what the sandboxes of a conversation share is as large as a command may fill it.
    pub(super) fn grow_shared(&self, limits: &Limits) -> Result<(), SetupError> {
        let grown = self
            .shared
            .as_ref()
            .map(|of| scratch::grow(of, limits.scratch_bytes));
        grown.unwrap_or(Ok(())).map_err(at(Step::Scratch))
    }

    /// The entries that the new root itself has there. None where a directory above is shown: that
    /// is the machine's, seen as it is, and whatever it is, it is left alone.
    fn own_var_tmp(&self) -> Option<FileType> {
        let found = rustix::fs::statat(&self.root, VAR_TMP, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let own = rustix::fs::fstat(&self.root).ok()?;
        (found.st_dev == own.st_dev).then(|| FileType::from_raw_mode(found.st_mode))
    }

    fn covers_var_tmp(&self) -> bool {
        self.own_var_tmp() == Some(FileType::Directory)
    }

    /// Mounts the file systems that no sandbox shares: memory for files, unless its conversation shares
    /// that, and `/proc`. Directories that are shown beneath are carried over.
    pub(super) fn make_own<'a>(
        &self,
        shown: impl Iterator<Item = &'a [u8]>,
        limits: &Limits,
        own_pid_max: bool,
        shares_scratch: bool,
    ) -> Result<(), SetupError> {
        if !shares_scratch {
            let carried = self.to_carry(shown)?;
            self.own_scratch(limits.scratch_bytes, self.covers_var_tmp())
                .map_err(at(Step::Scratch))?;
            for (path, from) in &carried {
                let about = String::from_utf8_lossy(path).into_owned();
                self.carry(path, from)
                    .map_err(|errno| SetupError::new(Step::Directory, errno).about(about))?;
            }
        }
        proc("/proc").map_err(at(Step::Proc))?;
        let root = self.root.as_fd();
        if own_pid_max {
            user_limits::limit_processes(root, limits.processes).map_err(at(Step::Limits))?;
        }
        user_limits::forbid_namespaces(root).map_err(at(Step::Limits))?;
        // All of it, not only `sys`: as root, without capabilities, the trigger files
        // beside it can be opened for writing too.
        sys::mount_setattr(&self.root, c"proc", false, RDONLY).map_err(at(Step::Proc))
    }

    /// Opens the directories in a private place, before that is covered. Those in another
    /// one that is carried come with it.
    fn to_carry<'a>(
        &self,
        shown: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Vec<(&'a [u8], OwnedFd)>, SetupError> {
        let mut carried: Vec<(&[u8], OwnedFd)> = Vec::new();
        for path in shown {
            let path = path.strip_prefix(b"/").unwrap_or(path);
            let mut places = PRIVATE.iter().filter(|place| is_within(path, place));
            let private = places.any(|place| *place != VAR_TMP.as_bytes() || self.covers_var_tmp());
            if private && !carried.iter().any(|(outer, _)| is_within(path, outer)) {
                let from = beneath(self.root.as_fd(), path).map_err(|errno| {
                    SetupError::new(Step::Directory, errno).about(String::from_utf8_lossy(path))
                })?;
                carried.push((path, from));
            }
        }
        Ok(carried)
    }

    fn carry(&self, path: &[u8], from: &OwnedFd) -> Result<(), Errno> {
        let target = if is_directory(from)? {
            self.make_directories(path)?
        } else {
            self.make_file(path)?
        };
        bind(from, "", &target, "", 0).map(drop)
    }

    /// Opens a file of the new root, made where it is missing.
    pub(super) fn make_file(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let end = path.iter().rposition(|b| *b == b'/').unwrap_or(0);
        let (directory, name) = path.split_at(end);
        let name = name.strip_prefix(b"/").unwrap_or(name);
        let directory = self.make_directories(directory)?;
        rustix::fs::openat(
            &directory,
            name,
            OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::from_raw_mode(0o644),
        )
    }

    /// Opens a directory of the new root, made where it is missing.
    fn make_directories(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut at = open_directory(&self.root, ".")?;
        let mut above: Option<(OwnedFd, &[u8])> = None;
        for part in path.split(|b| *b == b'/').filter(|part| !part.is_empty()) {
            let next = match (make_directory(&at, part), &above) {
                (Err(Errno::ACCESS | Errno::NOENT), Some((outer, name))) => {
                    // Private: of all that is in there, only the directory is shown.
                    self.cover(&at)?;
                    at = open_directory(outer, *name)?;
                    let next = make_directory(&at, part)?;
                    self.covers.borrow_mut().push(rustix::io::dup(&at)?);
                    next
                }
                (next, _) => next?,
            };
            above = Some((std::mem::replace(&mut at, next), part));
        }
        Ok(at)
    }

    /// Puts an empty directory on a directory, until [`Self::enter`] writable.
    fn cover(&self, directory: &OwnedFd) -> Result<(), Errno> {
        let link = format!("{PLACE}/proc/self/fd/{}", directory.as_raw_fd());
        tmpfs(&link, "mode=755,size=64k,nr_inodes=64")
    }

    /// Where the machine has a directory now, and which one it is.
    fn whereabouts(&self, directory: BorrowedFd<'_>) -> Result<(Vec<u8>, (u64, u64)), Errno> {
        let link = format!("proc/self/fd/{}", directory.as_raw_fd());
        let name = rustix::fs::readlinkat(&self.root, link, Vec::new())?;
        let stat = rustix::fs::fstat(directory)?;
        Ok((name.into_bytes(), (stat.st_dev, stat.st_ino)))
    }

    /// Opens a directory of the machine in this namespace; the descriptor says which directory.
    ///
    /// A descriptor from outside cannot be mounted in this namespace. So the kernel says
    /// where it is now, that place is opened here, and it has to be the same directory.
    pub(super) fn source(&self, directory: BorrowedFd<'_>) -> Result<Shown, SetupError> {
        let (path, id) = self.whereabouts(directory).map_err(at(Step::Directory))?;
        let failed =
            |errno| SetupError::new(Step::Directory, errno).about(String::from_utf8_lossy(&path));
        let tree = rustix::fs::openat2(
            CWD,
            path.as_slice(),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .map_err(failed)?;
        let found = rustix::fs::fstat(&tree).map_err(failed)?;
        if id != (found.st_dev, found.st_ino) {
            return Err(failed(Errno::STALE));
        }
        Ok(Shown { tree, path, id })
    }

    /// The place in the new root where a directory is to be shown.
    pub(super) fn target(&self, path: &[u8]) -> Result<OwnedFd, SetupError> {
        (|| {
            if !may_be_shown(path) {
                return Err(Errno::PERM);
            }
            if is_within(path.strip_prefix(b"/").unwrap_or(path), VAR_TMP.as_bytes()) {
                self.make_var_tmp()?;
            }
            self.make_directories(path)
        })()
        .map_err(|errno| {
            SetupError::new(Step::Directory, errno).about(String::from_utf8_lossy(path))
        })
    }

    /// Shows a directory of the machine at its own path.
    pub(super) fn show(
        &self,
        directory: BorrowedFd<'_>,
        writable: bool,
    ) -> Result<Shown, SetupError> {
        let source = self.source(directory)?;
        let target = self.target(&source.path)?;
        let attributes = NOSUID | NODEV | if writable { 0 } else { RDONLY };
        let tree = bind(&source.tree, "", &target, "", attributes).map_err(|errno| {
            SetupError::new(Step::Directory, errno).about(String::from_utf8_lossy(&source.path))
        })?;
        Ok(Shown { tree, ..source })
    }

    /// Whether this descriptor is of the directory that is shown, and the machine still has
    /// it at the same path.
    pub(super) fn still_shows(&self, shown: &Shown, directory: BorrowedFd<'_>) -> bool {
        self.whereabouts(directory)
            .is_ok_and(|(path, id)| path == shown.path && id == shown.id)
    }

    /// Opens a directory that is shown, in a copy of the namespace it was shown in.
    pub(super) fn find(&self, shown: &Shown) -> Result<Shown, SetupError> {
        let path = shown.path.strip_prefix(b"/").unwrap_or(&shown.path);
        (|| {
            let tree = beneath(self.root.as_fd(), path)?;
            let stat = rustix::fs::fstat(&tree)?;
            if mount_of(&tree).is_none() || shown.id != (stat.st_dev, stat.st_ino) {
                return Err(Errno::STALE);
            }
            let (path, id) = (shown.path.clone(), shown.id);
            Ok(Shown { tree, path, id })
        })()
        .map_err(|errno| {
            SetupError::new(Step::Directory, errno).about(String::from_utf8_lossy(&shown.path))
        })
    }

    /// Puts a guard on a path of a directory that is shown.
    ///
    /// A missing path may have been moved and may come back, so this fails, and
    /// the directories have to be searched again.
    pub(super) fn guard(&self, directory: &Shown, mask: &Mask) -> Result<OwnedFd, SetupError> {
        let failed =
            |errno| SetupError::new(Step::Mask, errno).about(String::from_utf8_lossy(&mask.path));
        let target = beneath(directory.tree.as_fd(), &mask.path).map_err(failed)?;
        if is_link(&target).map_err(failed)? {
            return Err(failed(Errno::LOOP));
        }
        match mask.kind {
            MaskKind::Hide => self.hide(&target),
            MaskKind::Freeze => bind(&target, "", &target, "", RDONLY),
            MaskKind::Pin => bind(&target, "", &target, "", 0),
            MaskKind::Vacant => bind(&self.masks, vacant_mask(&mask.path), &target, "", 0),
        }
        .map_err(failed)
    }

    pub(crate) fn hide(&self, target: &OwnedFd) -> Result<OwnedFd, Errno> {
        let source = if is_directory(target)? {
            "directory"
        } else {
            "file"
        };
        bind(&self.masks, source, target, "", 0)
    }

    /// Makes the new root the only one. No directory can be shown afterwards; guards can
    /// still be put on.
    pub(crate) fn enter(&self) -> Result<(), SetupError> {
        (|| {
            for cover in self.covers.borrow_mut().drain(..) {
                sys::mount_setattr(&cover, c"", false, RDONLY)?;
            }
            rustix::process::fchdir(&self.root)?;
            rustix::process::pivot_root(".", ".")?;
            rustix::mount::unmount(".", UnmountFlags::DETACH)?;
            rustix::process::chdir("/")?;
            sys::mount_setattr(&self.root, c"", false, RDONLY)
        })()
        .map_err(at(Step::Pivot))
    }
}

/// Whether a directory can be shown at all: not `/`, and no private directory.
pub(crate) fn may_be_shown(path: &[u8]) -> bool {
    let made: [&[u8]; 6] = [
        b"/proc",
        b"/dev",
        b"/sys",
        b"/run/home",
        b"/.masks",
        b"/.layers",
    ];
    path.starts_with(b"/") && path != b"/" && made.iter().all(|made| !is_within(path, made))
}

/// The mount that a descriptor belongs to.
pub(super) fn mount_of(fd: &OwnedFd) -> Option<u64> {
    mount_at(fd, b"", AtFlags::EMPTY_PATH)
}

/// The mount that begins at a path of a directory, if one does.
pub(super) fn mount_on(directory: &Shown, path: &[u8]) -> Option<u64> {
    mount_at(&directory.tree, path, AtFlags::SYMLINK_NOFOLLOW)
}

/// Opens a directory, made where it is missing.
fn make_directory(at: &OwnedFd, part: &[u8]) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(at, part, Mode::from_raw_mode(0o755)) {
        // In a read-only place only what exists can be a mount point.
        Ok(()) | Err(Errno::EXIST | Errno::ROFS) => open_directory(at, part),
        Err(errno) => Err(errno),
    }
}

/// What lies on a name that stays vacant: an empty directory that can be listed. Nothing can be looked
/// up in it, so git refuses a branch with files there before it changes anything, instead of leaving
/// them out. Git's own names can be entered: it reports a hook that it may not look up.
fn vacant_mask(path: &[u8]) -> &'static str {
    let name = path.rsplit(|byte| *byte == b'/').next();
    match name {
        Some(b".git" | b"hooks") => "vacant",
        _ => "shut",
    }
}

/// The covers of guarded paths. Copies of a read-only mount are read-only.
fn mask_sources(root: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let none = Mode::empty();
    rustix::fs::mkdirat(root, ".masks", Mode::from_raw_mode(0o755))?;
    rustix::fs::mkdirat(root, ".masks/directory", none)?;
    rustix::fs::mkdirat(root, ".masks/vacant", Mode::from_raw_mode(0o555))?;
    rustix::fs::mkdirat(root, ".masks/shut", Mode::from_raw_mode(0o444))?;
    rustix::fs::openat(
        root,
        ".masks/file",
        OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
        none,
    )?;
    bind(root, ".masks", root, ".masks", RDONLY | NOSUID | NODEV)
}
