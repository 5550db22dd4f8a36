//! The private directory of changes that are being applied, or that were and can be undone.
//!
//! ```text
//!  DIRECTORY/kept-RANDOM/       locked by the process that works on it
//!            ├ record           all steps; durable before the first of them
//!            ├ applied          exists once all of them are done and durable
//!            ├ undoing          exists from the beginning of an undo
//!            ├ of               in its place: where the record is, if it is elsewhere
//!            └ slots/N          what step N brings, and after it what was there
//!                    N.old      the old content of a file that is written to
//! ```
//!
//! A directory without `applied`, or with `undoing`, is taken back by the next start. One without
//! a record has changed nothing, and is removed.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::error::LayerError;
use super::look::names;
use super::places::random;
use super::record::{self, RootLine};
use super::remove::remove;
use super::step::Step;

/// How the directories begin.
pub(super) const KEPT: &str = "kept-";
const RECORD: &str = "record";
const NEW_RECORD: &str = "record.new";
const OF: &str = "of";
const SLOTS: &str = "slots";
/// A record is not larger than this: a million steps.
const MOST_RECORD: usize = 1 << 30;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Applied,
    Undoing,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Undoing => "undoing",
        }
    }
}

/// The private directory, open and locked.
#[derive(Debug)]
pub(super) struct Kept {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The directory that holds it, and its name there.
    outer: OwnedFd,
    name: Vec<u8>,
    /// Locked.
    handle: OwnedFd,
    /// Directories of the same change on other file systems.
    others: Vec<(OwnedFd, Vec<u8>)>,
    pub(super) roots: Vec<KeptRoot>,
    pub(super) steps: Vec<Step>,
}

/// A root with its slots.
#[derive(Debug)]
pub(super) struct KeptRoot {
    pub(super) line: RootLine,
    pub(super) handle: OwnedFd,
    pub(super) slots: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

pub(super) fn open_path(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())
}

/// Device and inode.
pub(super) fn id_of(handle: &OwnedFd) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(handle)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// A new directory for slots, locked, and the directory in it.
fn make(outer: &OwnedFd, name: &[u8]) -> Result<(OwnedFd, OwnedFd), Errno> {
    let private = Mode::from_raw_mode(0o700);
    rustix::fs::mkdirat(outer, name, private)?;
    let handle = rustix::fs::openat(outer, name, DIRECTORY, Mode::empty())?;
    rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
    rustix::fs::mkdirat(&handle, SLOTS, private)?;
    let slots = rustix::fs::openat(&handle, SLOTS, DIRECTORY, Mode::empty())?;
    Ok((handle, slots))
}

impl Kept {
    /// Makes an empty one for roots, each given with the private directory that its slots are to
    /// be in.
    pub(super) fn new(roots: Vec<(usize, PathBuf, OwnedFd, PathBuf)>) -> Result<Self, LayerError> {
        let name = format!("{KEPT}{}", random().map_err(LayerError::at(""))?);
        let first = roots.first().map(|one| one.3.clone()).unwrap_or_default();
        let path = first.join(&name);
        let outer = open_path(&first).map_err(LayerError::at(&first))?;
        // No other process takes it for one that was left behind.
        rustix::fs::flock(&outer, FlockOperation::LockShared).map_err(LayerError::at(&first))?;
        let (handle, slots) = make(&outer, name.as_bytes()).map_err(LayerError::at(&path))?;
        let unlocked = rustix::fs::flock(&outer, FlockOperation::Unlock);
        let mut kept = Self {
            path,
            outer,
            name: name.clone().into_bytes(),
            handle,
            others: Vec::new(),
            roots: Vec::new(),
            steps: Vec::new(),
        };
        unlocked.map_err(LayerError::at(&first))?;
        let mut made = vec![(first, slots)];
        for (number, root, handle, directory) in roots {
            let failed = LayerError::at(directory.join(&name));
            let known = made.iter().find(|(made, _)| *made == directory);
            let slots = match known {
                Some((_, slots)) => slots.try_clone().map_err(|_| Errno::MFILE),
                None => kept.elsewhere(&directory, &mut made),
            };
            kept.roots.push(KeptRoot {
                line: RootLine {
                    number,
                    id: id_of(&handle).map_err(LayerError::at(&root))?,
                    path: root,
                    slots: directory.join(&name).join(SLOTS),
                },
                handle,
                slots: slots.map_err(failed)?,
            });
        }
        Ok(kept)
    }

    fn elsewhere(
        &mut self,
        directory: &Path,
        made: &mut Vec<(PathBuf, OwnedFd)>,
    ) -> Result<OwnedFd, Errno> {
        let outer = open_path(directory)?;
        rustix::fs::flock(&outer, FlockOperation::LockShared)?;
        let name = self.name.clone();
        let (handle, slots) = make(&outer, &name)?;
        let of = write(&handle, OF, self.path.as_os_str().as_bytes());
        rustix::fs::flock(&outer, FlockOperation::Unlock)?;
        self.others.push((outer, name));
        of?;
        let again = slots.try_clone().map_err(|_| Errno::MFILE)?;
        made.push((directory.to_path_buf(), slots));
        Ok(again)
    }

    /// Opens one that exists and locks it. None if it has no record, so that it changed nothing.
    pub(super) fn open(outer: OwnedFd, path: &Path) -> Result<Option<Self>, LayerError> {
        let unusable = || LayerError::NotKept {
            path: path.to_path_buf(),
        };
        let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
        let handle = rustix::fs::openat(&outer, &name, DIRECTORY, Mode::empty());
        let handle = handle.map_err(|_| unusable())?;
        rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| unusable())?;
        let mut kept = Self {
            path: path.to_path_buf(),
            outer,
            name,
            handle,
            others: Vec::new(),
            roots: Vec::new(),
            steps: Vec::new(),
        };
        let text = match read(&kept.handle, RECORD) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(LayerError::at(path))?,
        };
        let text = String::from_utf8(text).ok();
        let decoded = text.and_then(|text| record::decode(&text));
        let (lines, steps) = decoded.ok_or_else(|| LayerError::at(path)(Errno::BADMSG))?;
        kept.steps = steps;
        for line in lines {
            let handle = open_path(&line.path).map_err(LayerError::at(&line.path))?;
            if id_of(&handle).map_err(LayerError::at(&line.path))? != line.id {
                return Err(LayerError::at(&line.path)(Errno::STALE));
            }
            let slots = open_path(&line.slots).map_err(LayerError::at(&line.slots))?;
            let own = line.slots.parent().unwrap_or(Path::new(""));
            if own != path {
                let outer = own.parent().unwrap_or(Path::new(""));
                let outer = open_path(outer).map_err(LayerError::at(outer))?;
                let name = own.file_name().unwrap_or_default();
                kept.others.push((outer, name.as_bytes().to_vec()));
            }
            kept.roots.push(KeptRoot {
                line,
                handle,
                slots,
            });
        }
        Ok(Some(kept))
    }

    /// Makes the record durable, after everything that it speaks of.
    pub(super) fn write_record(&self) -> Result<(), LayerError> {
        let lines: Vec<RootLine> = self.roots.iter().map(|root| root.line.clone()).collect();
        let text = record::encode(&lines, &self.steps);
        let written = write(&self.handle, NEW_RECORD, text.as_bytes())
            .and_then(|()| rustix::fs::renameat(&self.handle, NEW_RECORD, &self.handle, RECORD))
            .and_then(|()| rustix::fs::fsync(&self.handle))
            .and_then(|()| rustix::fs::fsync(&self.outer));
        written.map_err(LayerError::at(&self.path))
    }

    pub(super) fn mark(&self, mark: Mark) -> Result<(), LayerError> {
        let written = write(&self.handle, mark.name(), b"");
        let synced = written.and_then(|()| rustix::fs::fsync(&self.handle));
        synced.map_err(LayerError::at(&self.path))
    }

    pub(super) fn is(&self, mark: Mark) -> Result<bool, LayerError> {
        let stat = rustix::fs::statat(&self.handle, mark.name(), AtFlags::SYMLINK_NOFOLLOW);
        match stat {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(LayerError::at(&self.path)(errno)),
        }
    }

    /// Removes it with all that it holds. The record goes first: what has none means nothing.
    pub(super) fn remove(&self) -> Result<(), LayerError> {
        let gone = match rustix::fs::unlinkat(&self.handle, RECORD, AtFlags::empty()) {
            Err(errno) if errno != Errno::NOENT => Err(errno),
            _ => rustix::fs::fsync(&self.handle),
        };
        let others = self.others.iter();
        let removed = others
            .map(|(outer, name)| remove(outer.as_fd(), name))
            .chain([gone, remove(self.outer.as_fd(), &self.name)])
            .find(Result::is_err);
        removed
            .unwrap_or(Ok(()))
            .map_err(LayerError::at(&self.path))
    }
}

/// The names of the directories in a private one, of changes whose record is there or elsewhere.
pub(super) fn kept_in(outer: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let again = rustix::fs::openat(outer, c".", DIRECTORY, Mode::empty())?;
    let mut all = names(&again, &mut Vec::with_capacity(8 << 10))?;
    all.retain(|name| name.starts_with(KEPT.as_bytes()));
    Ok(all)
}

/// Whether nothing of a directory has to be taken back: all of it was applied, and is kept.
pub(super) fn is_settled(outer: &OwnedFd, name: &[u8]) -> Result<bool, Errno> {
    let handle = rustix::fs::openat(outer, name, DIRECTORY, Mode::empty())?;
    let is = |mark: Mark| {
        let stat = rustix::fs::statat(&handle, mark.name(), AtFlags::SYMLINK_NOFOLLOW);
        match stat {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno),
        }
    };
    Ok(is(Mark::Applied)? && !is(Mark::Undoing)?)
}

/// Where the record of a directory is that holds none itself, if it says so.
pub(super) fn record_elsewhere(outer: &OwnedFd, name: &[u8]) -> Option<PathBuf> {
    let handle = rustix::fs::openat(outer, name, DIRECTORY, Mode::empty()).ok()?;
    let path = read(&handle, OF).ok()?;
    Some(Path::new(OsStr::from_bytes(&path)).to_path_buf())
}

/// Writes a file and waits for the disk.
fn write(directory: &OwnedFd, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o600))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    rustix::fs::fsync(&file)
}

fn read(directory: &OwnedFd, name: &str) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let mut all = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = rustix::io::read(&file, &mut chunk[..])?;
        if read == 0 {
            return Ok(all);
        }
        if all.len() > MOST_RECORD {
            return Err(Errno::FBIG);
        }
        all.extend_from_slice(chunk.get(..read).unwrap_or_default());
    }
}
