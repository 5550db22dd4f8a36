//! The private directories that layers lie in.
//!
//! ```text
//!  DIRECTORY/run-RANDOM/    of one process, locked while it lives
//!            └ NAME/{upper,work}       one layer
//!  DIRECTORY/kept-RANDOM/   changes that are applied, until they are forgotten
//! ```
//!
//! What a killed process left in `run-…` is removed by the next start: its mounts ended with its
//! processes. What it left half applied in `kept-…` is taken back.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::error::NoLayer;
use super::remove::remove;
use super::undo::{Interrupted, recover};

/// Seconds and nanoseconds, as the kernel gives them for a file.
pub(crate) type Time = (i64, u64);

const RUN: &str = "run-";
/// After this many layers, what sandboxes left that no command used is removed.
const SWEEP_EVERY: usize = 16;

/// The directories for the layers of this process.
#[derive(Debug)]
pub(crate) struct Places {
    bases: Arc<Vec<Base>>,
    /// What the start took back, or could not.
    pub(crate) interrupted: Vec<Interrupted>,
    used: Mutex<Used>,
    /// Removes layers that were dropped, so that nobody waits for the disk.
    remover: Mutex<Option<Remover>>,
}

#[derive(Debug)]
struct Remover {
    names: Sender<String>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Used {
    names: HashSet<String>,
    since: usize,
}

/// A directory for the layers of this process.
#[derive(Debug)]
pub(crate) struct Base {
    /// The directory that was named.
    pub(crate) directory: PathBuf,
    /// The one in it.
    pub(crate) path: PathBuf,
    /// Locked while this lives.
    handle: OwnedFd,
    device: u64,
}

impl Places {
    /// Opens the directories, after removing what dead processes left in them.
    pub(crate) fn open(directories: &[PathBuf]) -> Result<Self, NoLayer> {
        if directories.is_empty() {
            return Err(NoLayer::NotConfigured);
        }
        let mut bases = Vec::new();
        let mut first = None;
        let mut interrupted = Vec::new();
        for directory in directories {
            match Base::open(directory, &mut interrupted) {
                Ok(base) => bases.push(base),
                Err(errno) => {
                    let path = directory.clone();
                    first.get_or_insert(NoLayer::Directory { path, errno });
                }
            }
        }
        match first {
            Some(why) if bases.is_empty() => Err(why),
            _ => Ok(Self {
                bases: Arc::new(bases),
                interrupted,
                used: Mutex::default(),
                remover: Mutex::default(),
            }),
        }
    }

    /// The directory for a root: on its file system if there is one.
    pub(crate) fn for_root(&self, root: BorrowedFd<'_>) -> Result<usize, Errno> {
        let device = rustix::fs::fstat(root)?.st_dev;
        let same = self.bases.iter().position(|base| base.device == device);
        Ok(same.unwrap_or(0))
    }

    /// The time by the kernel's clock for files: whatever changes later has this change time or a
    /// later one, and what changed before has an earlier one where the file system can tell.
    pub(crate) fn now(&self) -> Result<Time, Errno> {
        let base = self.bases.first().ok_or(Errno::NOENT)?;
        // The kernel gives a coarse time, unless the file has that one already and it was read.
        base.touch()?;
        base.touch()
    }

    pub(crate) fn base(&self, number: usize) -> Option<&Base> {
        self.bases.get(number)
    }

    /// Notes that a layer is in use, and now and then removes those that never will be: their
    /// sandboxes were thrown away.
    pub(crate) fn begin(&self, name: &str) {
        let mut used = self.lock();
        used.names.insert(name.to_owned());
        used.since += 1;
        if used.since < SWEEP_EVERY {
            return;
        }
        used.since = 0;
        for base in self.bases.iter() {
            for (name, handle) in base.entries().unwrap_or_default() {
                let in_use = name.to_str().is_some_and(|name| used.names.contains(name));
                // A sandbox holds the lock while it lives.
                if !in_use
                    && rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok()
                {
                    let _ = remove(base.handle(), name.as_bytes());
                }
            }
        }
    }

    /// Removes a layer.
    pub(crate) fn end(&self, name: &str) -> Result<(), Errno> {
        let result = remove_all(&self.bases, name);
        self.lock().names.remove(name);
        result
    }

    /// Removes a layer soon.
    pub(crate) fn end_later(&self, name: &str) {
        let mut remover = self.remover.lock().unwrap_or_else(PoisonError::into_inner);
        if remover.is_none() {
            let (names, next) = channel::<String>();
            let bases = Arc::clone(&self.bases);
            let thread = std::thread::Builder::new().name("toolgate-layers".to_owned());
            let thread = thread.spawn(move || {
                for name in next {
                    let _ = remove_all(&bases, &name);
                }
            });
            *remover = thread.ok().map(|thread| Remover { names, thread });
        }
        let sent = remover.as_ref().map(|one| one.names.send(name.to_owned()));
        if !matches!(sent, Some(Ok(()))) {
            let _ = remove_all(&self.bases, name);
        }
        self.lock().names.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let remover = self.remover.get_mut();
        if let Some(Remover { names, thread }) =
            remover.unwrap_or_else(PoisonError::into_inner).take()
        {
            drop(names);
            let _ = thread.join();
        }
        for base in self.bases.iter() {
            if let (Ok(directory), Some(name)) = (open(&base.directory), base.path.file_name()) {
                let _ = remove(directory.as_fd(), name.as_bytes());
            }
        }
    }
}

fn remove_all(bases: &[Base], name: &str) -> Result<(), Errno> {
    let mut result = Ok(());
    for base in bases {
        let removed = remove(base.handle(), name.as_bytes());
        result = result.and(removed);
    }
    result
}

impl Base {
    fn open(directory: &Path, interrupted: &mut Vec<Interrupted>) -> Result<Self, Errno> {
        let io = |e: std::io::Error| Errno::from_io_error(&e).unwrap_or(Errno::IO);
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(directory).map_err(io)?;
        let outer = open(directory)?;
        let stat = rustix::fs::fstat(&outer)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o022 != 0 {
            // Others could exchange what is in it.
            return Err(Errno::PERM);
        }
        // No other process takes a new directory for that of a dead one while this is held.
        rustix::fs::flock(&outer, FlockOperation::LockExclusive)?;
        interrupted.extend(recover(&outer, directory)?);
        for (name, handle) in entries(&outer)? {
            let is_run = name.as_bytes().starts_with(RUN.as_bytes());
            if is_run
                && rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok()
            {
                let _ = remove(outer.as_fd(), name.as_bytes());
            }
        }
        let name = format!("{RUN}{}", random()?);
        rustix::fs::mkdirat(&outer, &name, Mode::from_raw_mode(0o700))?;
        let path = directory.join(&name);
        let handle = open(&path)?;
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            device: rustix::fs::fstat(&handle)?.st_dev,
            path,
            handle,
        })
    }

    fn touch(&self) -> Result<Time, Errno> {
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let times = rustix::fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        rustix::fs::futimens(&self.handle, &times)?;
        let stat = rustix::fs::fstat(&self.handle)?;
        Ok((stat.st_ctime, stat.st_ctime_nsec))
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    fn entries(&self) -> Result<Vec<(std::ffi::OsString, OwnedFd)>, Errno> {
        entries(&self.handle)
    }
}

/// The directories in a directory, opened.
fn entries(directory: &OwnedFd) -> Result<Vec<(std::ffi::OsString, OwnedFd)>, Errno> {
    let again = rustix::fs::openat(directory, ".", FLAGS, Mode::empty())?;
    let mut buffer = Vec::with_capacity(8 << 10);
    let mut names = rustix::fs::RawDir::new(&again, buffer.spare_capacity_mut());
    let mut all = Vec::new();
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if let Ok(handle) = rustix::fs::openat(directory, name, FLAGS, Mode::empty()) {
            all.push((OsStr::from_bytes(name.to_bytes()).to_owned(), handle));
        }
    }
    Ok(all)
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, FLAGS, Mode::empty())
}

/// A name that no process can predict.
pub(super) fn random() -> Result<String, Errno> {
    let mut bytes = [0; 8];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if read < bytes.len() {
        return Err(Errno::AGAIN);
    }
    Ok(toolgate_model::hex::encode(&bytes))
}
