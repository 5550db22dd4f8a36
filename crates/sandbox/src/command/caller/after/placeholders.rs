//! Names that are kept free of content while commands run.
//!
//! A mask needs something to lie on. For the names that turn into execution when they
//! appear in a root, an empty directory is made and removed again. It is a directory
//! whatever the name usually is: git does not see empty directories, so none ends up in a
//! commit. Every one is written down before it is made; what a killed process left is
//! removed by the next start. Only empty directories are ever removed.
//!
//! Removing a directory takes the masks off it everywhere, also those of another program
//! whose commands still run. So every user of a placeholder holds a shared lock on the
//! directory itself, and removing it takes an exclusive lock. Placeholders are recognised by
//! their mode, which no other program gives a directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

use super::records::Record;
use super::vacant_names::{self, is_beneath};
use crate::paths::PathSandbox;

const PREFIX: &str = "placeholders-";
/// The mode that distinguishes a placeholder from the user's directories.
const MARK: u32 = 0o1755;
/// Attempts to take a placeholder that another process removes at the same time.
const TRIES: usize = 8;

/// The placeholders of one sandbox.
#[derive(Debug)]
pub(crate) struct Placeholders {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rules: PathSandbox,
    /// The names that are protected, by root.
    wanted: Vec<Vec<String>>,
    /// How long one stays after the last command that needed it: making and removing them
    /// costs more than the rest of a command on some disks.
    linger: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    made: HashMap<PathBuf, Placeholder>,
    /// Whether a thread is there to remove what lingers.
    attended: bool,
    record: Option<Record>,
}

#[derive(Debug)]
struct Placeholder {
    root: usize,
    name: String,
    /// Open, with a shared lock, so that it is not removed.
    handle: OwnedFd,
    id: (u64, u64),
    /// How many commands need it.
    users: usize,
    /// Since when no command needs it.
    idle_since: Instant,
}

/// The state of a placeholder's path.
enum Look {
    Held,
    Missing,
    /// Something else, or something that cannot be looked at.
    Taken,
}

/// The placeholders that one command needs.
#[derive(Debug, Default)]
pub(crate) struct Held {
    paths: Vec<PathBuf>,
    names: Vec<(usize, Vec<Vec<u8>>)>,
}

impl Held {
    /// The names that are vacant in a root.
    pub(crate) fn names(&self, root: usize) -> &[Vec<u8>] {
        let of_root = self.names.iter().find(|(number, _)| *number == root);
        of_root
            .map(|(_, names)| names.as_slice())
            .unwrap_or_default()
    }
}

impl Placeholders {
    /// Opens the record, after removing what dead processes left.
    pub(crate) fn open(
        rules: &PathSandbox,
        records: Option<&Path>,
        linger: Duration,
    ) -> std::io::Result<Self> {
        let roots = 0..rules.roots().iter().count();
        Ok(Self {
            shared: Arc::new(Shared {
                rules: rules.clone(),
                wanted: roots
                    .map(|root| vacant_names::wanted(rules, root))
                    .collect(),
                linger,
                state: Mutex::new(State {
                    made: HashMap::new(),
                    attended: false,
                    record: records.map(new_record).transpose()?,
                }),
            }),
        })
    }

    /// The names to keep vacant in a root whose changes go to a layer. Nothing is made.
    pub(crate) fn list(&self, root: usize, is_opened: impl Fn(&[u8]) -> bool, held: &mut Held) {
        if let (Some(place), Some(names)) = (
            self.shared.rules.roots().get(root),
            self.shared.wanted.get(root),
        ) {
            let vacant = vacant_names::missing(place.handle(), names, is_opened);
            held.names.push((root, vacant));
        }
    }

    /// Makes what is missing in a root.
    pub(crate) fn hold(
        &self,
        root: usize,
        is_opened: impl Fn(&[u8]) -> bool,
        held: &mut Held,
    ) -> Result<(), (PathBuf, Errno)> {
        let (Some(place), Some(names)) = (
            self.shared.rules.roots().get(root),
            self.shared.wanted.get(root),
        ) else {
            return Ok(());
        };
        let at = |name: &str| place.path().join(name);
        let mut state = self.shared.lock();
        let mut vacant: Vec<&str> = Vec::new();
        let mut missing = Vec::new();
        for name in names.iter().map(String::as_str) {
            // `.git` that is only a placeholder has no hooks to keep vacant.
            let within = vacant.iter().any(|above| is_beneath(name, above));
            if within || is_opened(name.as_bytes()) {
                continue;
            }
            match state.look(place.handle(), root, name, at(name)) {
                Look::Held => {}
                Look::Missing => missing.push(name),
                Look::Taken => continue,
            }
            vacant.push(name);
        }
        let failed = |name| move |errno| (at(name), errno);
        if let Some(first) = missing.first() {
            state
                .write_down(missing.iter().map(|name| at(name)))
                .map_err(failed(first))?;
        }
        for name in missing {
            let made = state.make(place.handle(), root, name, at(name));
            if !made.map_err(failed(name))? {
                vacant.retain(|other| *other != name);
            }
        }
        for name in &vacant {
            let path = at(name);
            if let Some(one) = state.made.get_mut(&path) {
                one.users += 1;
                held.paths.push(path);
            }
        }
        let vacant = vacant.iter().map(|name| name.as_bytes().to_vec());
        held.names.push((root, vacant.collect()));
        Ok(())
    }

    /// Releases the placeholders of a command.
    pub(crate) fn release(&self, held: &Held) {
        let mut state = self.shared.lock();
        for path in &held.paths {
            if let Some(one) = state.made.get_mut(path) {
                one.users = one.users.saturating_sub(1);
                one.idle_since = Instant::now();
            }
        }
        if self.shared.linger.is_zero() {
            state.remove_idle(&self.shared.rules, Duration::ZERO);
        } else if !state.attended && !state.made.is_empty() {
            let shared = Arc::downgrade(&self.shared);
            let linger = self.shared.linger;
            state.attended = std::thread::Builder::new()
                .name("toolgate-vacant".to_owned())
                .spawn(move || attend(&shared, linger))
                .is_ok();
        }
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.remove_idle(&self.shared.rules, Duration::ZERO);
        if state.made.is_empty()
            && let Some(record) = &state.record
        {
            let _ = record.remove();
        }
    }
}

/// Removes what lingers, until nothing does or the sandbox is gone.
fn attend(shared: &Weak<Shared>, linger: Duration) {
    loop {
        std::thread::sleep(linger);
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let mut state = shared.lock();
        state.remove_idle(&shared.rules, linger);
        if state.made.is_empty() {
            state.attended = false;
            return;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The state of a placeholder's path. Another program's placeholder is held like our own.
    fn look(&mut self, place: BorrowedFd<'_>, root: usize, name: &str, path: PathBuf) -> Look {
        for _ in 0..TRIES {
            let there = match rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => {
                    self.made.remove(&path);
                    return Look::Missing;
                }
                // A name that cannot be looked up cannot be created either.
                Err(_) => return Look::Taken,
            };
            if let Some(one) = self.made.get(&path) {
                if is_marked(&there) && one.id == id_of(&there) {
                    return Look::Held;
                }
                // The user put something in its place.
                self.made.remove(&path);
            }
            if !is_marked(&there) {
                return Look::Taken;
            }
            match take(place, name) {
                Ok(Some((handle, id))) => {
                    self.made
                        .insert(path, Placeholder::new(root, name, handle, id));
                    return Look::Held;
                }
                // It was removed meanwhile, or is being removed now.
                Ok(None) => {}
                Err(_) => return Look::Taken,
            }
        }
        Look::Taken
    }

    /// Makes a placeholder that no command needs yet; `false` if it cannot be made.
    fn make(
        &mut self,
        place: BorrowedFd<'_>,
        root: usize,
        name: &str,
        path: PathBuf,
    ) -> Result<bool, Errno> {
        for _ in 0..TRIES {
            match rustix::fs::mkdirat(place, name, Mode::from_raw_mode(MARK)) {
                Ok(()) => {}
                Err(Errno::EXIST) => match self.look(place, root, name, path.clone()) {
                    Look::Held => return Ok(true),
                    Look::Taken => return Ok(false),
                    Look::Missing => continue,
                },
                // In a directory that is missing.
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(false),
                Err(errno) => return Err(errno),
            }
            if let Some((handle, id)) = take_new(place, name)? {
                self.made
                    .insert(path, Placeholder::new(root, name, handle, id));
                return Ok(true);
            }
        }
        Err(Errno::AGAIN)
    }

    fn write_down(&mut self, paths: impl Iterator<Item = PathBuf>) -> Result<(), Errno> {
        let Some(record) = &mut self.record else {
            return Ok(());
        };
        let mut lines = Vec::new();
        for path in paths {
            lines.extend(path.as_os_str().as_bytes());
            lines.push(0);
        }
        record
            .file
            .write_all(&lines)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
    }

    /// Removes placeholders that no command has needed for so long.
    fn remove_idle(&mut self, rules: &PathSandbox, linger: Duration) {
        self.made.retain(|_, one| {
            if one.users > 0 || one.idle_since.elapsed() < linger {
                return true;
            }
            // By the root's handle, which is right even if the root was moved. Where the user
            // put something in it meanwhile, it stays theirs.
            if let Some(root) = rules.roots().get(one.root) {
                remove(root.handle(), one.name.as_bytes(), one.handle.as_fd());
            }
            false
        });
        if self.made.is_empty()
            && let Some(record) = &mut self.record
        {
            let _ = record.file.set_len(0);
            let _ = record.file.rewind();
        }
    }
}

impl Placeholder {
    fn new(root: usize, name: &str, handle: OwnedFd, id: (u64, u64)) -> Self {
        Self {
            root,
            name: name.to_owned(),
            handle,
            id,
            users: 0,
            idle_since: Instant::now(),
        }
    }
}

/// Whether a directory has the mode of a placeholder. The umask may have taken some of it.
pub(super) fn is_marked(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && stat.st_mode & 0o7777 & !MARK == 0
        && stat.st_mode & 0o1000 != 0
}

fn id_of(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn open(place: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(place, name, flags, Mode::empty())
}

/// A placeholder with a shared lock on it, and which directory it is.
type Taken = (OwnedFd, (u64, u64));

/// Takes a placeholder; none where it is being removed. Only an empty one counts.
fn take(place: BorrowedFd<'_>, name: &str) -> Result<Option<Taken>, Errno> {
    let Some((handle, stat)) = lock(place, name)? else {
        return Ok(None);
    };
    if is_marked(&stat) && is_empty(&handle)? {
        Ok(Some((handle, id_of(&stat))))
    } else {
        Err(Errno::EXIST)
    }
}

/// Takes a placeholder that was just made, and gives it the whole mode of one, whatever the
/// umask is: other users have to be able to lock it.
fn take_new(place: BorrowedFd<'_>, name: &str) -> Result<Option<Taken>, Errno> {
    let Some((handle, stat)) = lock(place, name)? else {
        return Ok(None);
    };
    if stat.st_mode & 0o7777 != MARK {
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(MARK))?;
    }
    Ok(Some((handle, id_of(&stat))))
}

/// Opens a directory and takes a shared lock on it; none where it is removed by then.
fn lock(place: BorrowedFd<'_>, name: &str) -> Result<Option<(OwnedFd, Stat)>, Errno> {
    let handle = match open(place, name) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {}
        // The process that removes it holds the exclusive lock, for a moment only. A command that
        // holds it for longer is not waited for.
        Err(Errno::WOULDBLOCK) => {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(None);
        }
        Err(errno) => return Err(errno),
    }
    let stat = rustix::fs::fstat(&handle)?;
    Ok((stat.st_nlink > 0).then_some((handle, stat)))
}

/// Whether nothing is in a directory.
pub(crate) fn is_empty(directory: &OwnedFd) -> Result<bool, Errno> {
    let mut buffer = Vec::with_capacity(1 << 10);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a placeholder, unless another process needs it: then that process removes it.
fn remove(place: impl AsFd, name: &[u8], handle: BorrowedFd<'_>) {
    if rustix::fs::flock(handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = rustix::fs::unlinkat(place, name, AtFlags::REMOVEDIR);
    }
}

/// A record of this process's own, after removing the placeholders of dead processes.
fn new_record(directory: &Path) -> std::io::Result<Record> {
    Record::open(directory, PREFIX, |mut left| {
        let mut bytes = Vec::new();
        left.file.read_to_end(&mut bytes)?;
        let paths: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
        for path in paths.iter().rev().filter(|path| !path.is_empty()) {
            let path = Path::new(OsStr::from_bytes(path));
            if let Ok(handle) = open(rustix::fs::CWD, path)
                && rustix::fs::fstat(&handle).is_ok_and(|stat| is_marked(&stat))
            {
                remove(rustix::fs::CWD, path.as_os_str().as_bytes(), handle.as_fd());
            }
        }
        left.remove()
    })
}
