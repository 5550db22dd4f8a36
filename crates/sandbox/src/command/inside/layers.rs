//! Layers: writable roots whose changes go somewhere else.
//!
//! ```text
//!  template   .layers/d0         the root itself, read-only       (the lower half)
//!             .layers/b0         the caller's private directory
//!             .layers/b0/NAME/   an empty directory for each name that stays vacant
//!  sandbox    .layers/b0/NAME/{upper,work}                         made by each sandbox
//!             overlay of upper, the vacant names and d0, at the root's path
//!             directories inside the root, on top of it
//!             .layers is covered; the other guards come with the order
//! ```
//!
//! A sandbox mounts its own, because no two may share an upper half. Guards come last: each is a
//! look at a name, after which the merged tree no longer notices that the root changes there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FlockOperation, Gid, Mode, OFlags, Timestamps, Uid};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::bind::{NODEV, NOSUID, RDONLY, beneath, bind, is_directory, put};
use super::mounts::{NewRoot, Shown};
use crate::command::protocol::message::{Mask, MaskKind, Order};
use crate::command::protocol::report::{SetupError, Step};
use crate::layer::{UPPER, WORK, copy_attributes};

/// Where the halves are kept, in the new root.
const PARK: &str = ".layers";

/// The private directory for the upper half of a layer, in a template.
#[derive(Debug)]
pub(super) struct Base {
    id: (u64, u64),
    /// Where the vacant names are, if there are any.
    vacant: Option<String>,
    /// Says that the template lives.
    _lock: Option<OwnedFd>,
}

/// The layers of one sandbox.
#[derive(Debug)]
pub(super) struct Made {
    /// Their name in every private directory.
    pub(super) name: String,
    /// Says that the sandbox lives.
    _locks: Vec<OwnedFd>,
}

fn failed(step: Step, path: &[u8]) -> impl Fn(Errno) -> SetupError {
    move |errno| SetupError::new(step, errno).about(String::from_utf8_lossy(path))
}

impl NewRoot {
    /// In the template: keeps a directory ready that each sandbox mounts itself.
    pub(super) fn park(
        &self,
        number: usize,
        directory: BorrowedFd<'_>,
        order: &Order,
    ) -> Result<Shown, SetupError> {
        let source = self.source(directory)?;
        let path = source.path.clone();
        let failed = failed(Step::Directory, &path);
        let (layered, writable) = order
            .directories
            .get(number)
            .map_or((false, false), |one| (one.layered, one.writable));
        let attributes = if layered || !writable { RDONLY } else { 0 };
        let parked = self.parking(&format!("d{number}")).map_err(&failed)?;
        let tree = bind(&source.tree, "", &parked, "", attributes | NOSUID | NODEV);
        let tree = tree.map_err(&failed)?;
        // What lies in a layer has its place there.
        let mut outer = order.directories.iter().filter(|one| one.layered);
        if !outer.any(|outer| lies_deeper(&source.path, &outer.path)) {
            self.target(&source.path)?;
        }
        Ok(Shown { tree, ..source })
    }

    /// In the template: keeps the private directory for an upper half ready.
    pub(super) fn park_base(
        &self,
        number: usize,
        directory: BorrowedFd<'_>,
        vacant: &[&[u8]],
    ) -> Result<Base, SetupError> {
        let source = self.source(directory)?;
        let failed = failed(Step::Layer, &source.path);
        let parked = self.parking(&format!("b{number}")).map_err(&failed)?;
        let base = bind(&source.tree, "", &parked, "", NOSUID | NODEV).map_err(&failed)?;
        let places = (|| {
            if vacant.is_empty() {
                return Ok(None);
            }
            let name = random()?;
            let lock = make_locked(&base, &name)?;
            for name in vacant {
                rustix::fs::mkdirat(&lock, *name, Mode::from_raw_mode(0o555))?;
            }
            Ok(Some((format!("{PARK}/b{number}/{name}"), lock)))
        })();
        let (vacant, lock) = places.map_err(&failed)?.unzip();
        Ok(Base {
            id: source.id,
            vacant,
            _lock: lock,
        })
    }

    fn parking(&self, name: &str) -> Result<OwnedFd, Errno> {
        for path in [PARK.to_owned(), format!("{PARK}/{name}")] {
            match self.mkdir(&path, 0o700) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        beneath(self.root.as_fd(), format!("{PARK}/{name}").as_bytes())
    }

    /// In a sandbox: mounts what the template left to it. Gives all directories as they are now.
    pub(super) fn make_layers(
        &self,
        order: &Order,
        from: &[Shown],
        deferred: &[bool],
        bases: &[Base],
    ) -> Result<(Vec<Shown>, Made), SetupError> {
        let name = random().map_err(|errno| SetupError::new(Step::Layer, errno))?;
        let mut made = Made {
            name,
            _locks: Vec::new(),
        };
        let mut bases = bases.iter().enumerate();
        let mut all_shown = Vec::with_capacity(from.len());
        let all = order.directories.iter().zip(from).zip(deferred);
        for (number, ((directory, shown), deferred)) in all.enumerate() {
            if !deferred {
                all_shown.push(self.find(shown)?);
                continue;
            }
            let failed = failed(Step::Layer, &shown.path);
            let lower = format!("{PARK}/d{number}");
            let target = self.target(&shown.path)?;
            if directory.layered {
                let Some((number, base)) = bases.next() else {
                    return Err(failed(Errno::BADMSG));
                };
                let upper = format!("{PARK}/b{number}/{}", made.name);
                let lock = self.prepare_upper(&lower, &upper).map_err(&failed)?;
                made._locks.push(lock);
                let vacant = base.vacant.as_deref();
                let merged = overlay(&lower, vacant, &upper).map_err(&failed)?;
                put(&merged, &target, "").map_err(&failed)?;
            } else {
                let from = beneath(self.root.as_fd(), lower.as_bytes()).map_err(&failed)?;
                bind(&from, "", &target, "", 0).map_err(&failed)?;
            }
            let path = shown.path.strip_prefix(b"/").unwrap_or(&shown.path);
            let shown = Shown {
                tree: beneath(self.root.as_fd(), path).map_err(&failed)?,
                path: shown.path.clone(),
                id: shown.id,
            };
            for mask in order.masks.iter().filter(|mask| order.has_place(mask)) {
                if usize::from(mask.directory) == number {
                    self.guard(&shown, mask)?;
                }
            }
            all_shown.push(shown);
        }
        let parked = beneath(self.root.as_fd(), PARK.as_bytes());
        parked
            .and_then(|parked| self.hide(&parked))
            .map_err(|errno| SetupError::new(Step::Layer, errno))?;
        Ok((all_shown, made))
    }

    /// Makes the directories of an upper half. The merged root looks like its upper half, so that
    /// looks like the root.
    fn prepare_upper(&self, lower: &str, upper: &str) -> Result<OwnedFd, Errno> {
        let private = Mode::from_raw_mode(0o700);
        let lock = make_locked(&self.root, upper)?;
        rustix::fs::mkdirat(&lock, UPPER, private)?;
        rustix::fs::mkdirat(&lock, WORK, private)?;
        let top = rustix::fs::openat(&lock, UPPER, FLAGS, Mode::empty())?;
        let root = rustix::fs::openat(&self.root, lower, FLAGS, Mode::empty())?;
        look_like(&top, &root)?;
        Ok(lock)
    }

    /// Puts a guard on a path of a directory that the sandbox mounted itself. The place for a
    /// vacant name inside a directory of the root is made in the merged tree: the root keeps its own.
    pub(super) fn guard_layer(
        &self,
        directory: &Shown,
        layered: bool,
        mask: &Mask,
    ) -> Result<(), SetupError> {
        if layered && mask.kind == MaskKind::Vacant {
            make_vacant(directory, &mask.path).map_err(failed(Step::Mask, &mask.path))?;
        }
        self.guard(directory, mask).map(drop)
    }
}

impl Base {
    /// Whether this descriptor is of the same directory.
    pub(super) fn is(&self, directory: BorrowedFd<'_>) -> bool {
        let stat = rustix::fs::fstat(directory);
        stat.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.id)
    }
}

/// Makes an empty directory. One that is empty already is the placeholder of another program;
/// anything else appeared since the search.
fn make_vacant(directory: &Shown, path: &[u8]) -> Result<(), Errno> {
    match rustix::fs::mkdirat(&directory.tree, path, Mode::from_raw_mode(0o555)) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let there = beneath(directory.tree.as_fd(), path)?;
    if !is_directory(&there)? {
        return Err(Errno::NOENT);
    }
    let there = rustix::fs::openat(&directory.tree, path, FLAGS, Mode::empty())?;
    let mut buffer = Vec::with_capacity(1 << 10);
    let mut entries = rustix::fs::RawDir::new(&there, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Err(Errno::NOENT);
        }
    }
    Ok(())
}

/// Gives a directory the owner, the mode, the attributes and the times of another.
fn look_like(new: &OwnedFd, old: &OwnedFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(old)?;
    let own = rustix::fs::fstat(new)?;
    if (stat.st_uid, stat.st_gid) != (own.st_uid, own.st_gid) {
        let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        rustix::fs::fchown(new, Some(user), Some(group))?;
    }
    copy_attributes(old, new)?;
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o7777))?;
    let time = |seconds, nanos| {
        Ok::<_, Errno>(rustix::fs::Timespec {
            tv_sec: seconds,
            tv_nsec: i64::try_from(nanos).map_err(|_| Errno::INVAL)?,
        })
    };
    let times = Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec)?,
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec)?,
    };
    rustix::fs::futimens(new, &times)
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Makes a private directory and holds a lock on it.
fn make_locked(at: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(at, path, Mode::from_raw_mode(0o700))?;
    let lock = rustix::fs::openat(at, path, FLAGS, Mode::empty())?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

/// The merged file system, attached nowhere.
fn overlay(lower: &str, vacant: Option<&str>, upper: &str) -> Result<OwnedFd, Errno> {
    let system = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let set =
        |key: &str, value: &str| rustix::mount::fsconfig_set_string(system.as_fd(), key, value);
    let vacant = vacant.map(|vacant| format!("/{vacant}:"));
    set(
        "lowerdir",
        &format!("{}/{lower}", vacant.unwrap_or_default()),
    )?;
    set("upperdir", &format!("/{upper}/{UPPER}"))?;
    set("workdir", &format!("/{upper}/{WORK}"))?;
    for (key, value) in [
        // A renamed directory is copied, and no attribute of the root leads elsewhere.
        ("redirect_dir", "nofollow"),
        ("metacopy", "off"),
        ("index", "off"),
    ] {
        set(key, value)?;
    }
    // Attributes that an ordinary user may set, and no waiting for the disk: what is not applied
    // is thrown away after a crash.
    for flag in ["userxattr", "volatile"] {
        rustix::mount::fsconfig_set_flag(system.as_fd(), flag)?;
    }
    rustix::mount::fsconfig_create(system.as_fd())?;
    rustix::mount::fsmount(
        system.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        // The time of the last access tells a file that was copied up from a new one.
        MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOATIME,
    )
}

fn lies_deeper(path: &[u8], outer: &[u8]) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with(b"/"))
}

fn random() -> Result<String, Errno> {
    let mut bytes = [0; 8];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if read < bytes.len() {
        return Err(Errno::AGAIN);
    }
    Ok(toolgate_model::hex::encode(&bytes))
}
