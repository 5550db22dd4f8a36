//! Names that are kept free of content while commands run.
//!
//! A mask needs something to lie on. For the names that turn into execution when they
//! appear in a root, an empty folder is made and removed again. It is a folder whatever
//! the name usually is: git does not see empty folders, so none ends up in a commit.
//! Every one is written down before it is made; what a killed process left is removed by
//! the next start. Only empty folders are ever removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, Stat};
use rustix::io::Errno;

use crate::paths::{OwnHere, PathWall};

/// What is kept vacant in every writable root, unless it is there or was opened.
const NAMES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".cursor",
    ".git",
    ".git/hooks",
    ".gitconfig",
    ".gitmodules",
    ".idea",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".toolgate",
    ".vscode",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "toolgate.toml",
];

const PREFIX: &str = "placeholders-";

/// The placeholders of one wall.
#[derive(Debug)]
pub(super) struct Placeholders {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    rules: PathWall,
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
    record: Option<(File, PathBuf)>,
}

#[derive(Debug)]
struct Placeholder {
    root: usize,
    name: String,
    id: Identity,
    /// How many commands need it.
    users: usize,
    /// Since when nobody does.
    idle_since: Instant,
}

/// What is where a placeholder should be.
enum Look {
    Held,
    Missing,
    /// Something else, or something that cannot be looked at.
    Taken,
}

/// What tells a placeholder from what a person made of it: inode numbers are used again,
/// and filling it leaves the number as it was.
type Identity = (u64, u64, i64, u64, u32);

fn identity(stat: &Stat) -> Identity {
    (
        stat.st_dev,
        stat.st_ino,
        stat.st_ctime,
        stat.st_ctime_nsec,
        stat.st_mode,
    )
}

/// The placeholders that one command needs.
#[derive(Debug, Default)]
pub(super) struct Held {
    paths: Vec<PathBuf>,
    names: Vec<(usize, Vec<Vec<u8>>)>,
}

impl Held {
    /// The names that are vacant in a root.
    pub(super) fn names(&self, root: usize) -> &[Vec<u8>] {
        let of_root = self.names.iter().find(|(number, _)| *number == root);
        of_root
            .map(|(_, names)| names.as_slice())
            .unwrap_or_default()
    }
}

impl Placeholders {
    /// Opens the record, after removing what dead processes left.
    pub(super) fn open(
        rules: &PathWall,
        records: Option<&Path>,
        linger: Duration,
    ) -> std::io::Result<Self> {
        let roots = 0..rules.roots().iter().count();
        let wanted = |root| {
            let is_wanted = |name: &&&str| rules.protected_by(root, Path::new(name)).is_some();
            let names = NAMES
                .iter()
                .filter(is_wanted)
                .map(|name| (*name).to_owned());
            let mut all: Vec<String> = names.collect();
            // A folder that is missing on the way is kept vacant as well: it could be made.
            let own = rules.own_in(root).map(OwnHere::ways_to_kept);
            let own = own.unwrap_or_default();
            all.extend(
                own.iter()
                    .filter_map(|path| path.to_str().map(str::to_owned)),
            );
            all
        };
        Ok(Self {
            shared: Arc::new(Shared {
                rules: rules.clone(),
                wanted: roots.map(wanted).collect(),
                linger,
                state: Mutex::new(State {
                    made: HashMap::new(),
                    attended: false,
                    record: records.map(new_record).transpose()?,
                }),
            }),
        })
    }

    /// Makes what is missing in a root.
    pub(super) fn hold(
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
            match state.look(place.handle(), name, &at(name)) {
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

    /// Lets go of what a command needed.
    pub(super) fn release(&self, held: &Held) {
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

    /// Whether a path is a placeholder.
    pub(super) fn is_held(&self, path: &Path) -> bool {
        self.shared.lock().made.contains_key(path)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.remove_idle(&self.shared.rules, Duration::ZERO);
        if state.made.is_empty()
            && let Some((_, path)) = &state.record
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes what lingers, until nothing does or the wall is gone.
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
    /// What is where a placeholder should be.
    fn look(&mut self, place: BorrowedFd<'_>, name: &str, path: &Path) -> Look {
        let there = match rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(identity(&stat)),
            Err(Errno::NOENT) => None,
            // Not to be seen is not to be made.
            Err(_) => return Look::Taken,
        };
        match (self.made.get(path), there) {
            (Some(one), Some(id)) if one.id == id => return Look::Held,
            // A person put something in its place.
            (Some(_), _) => drop(self.made.remove(path)),
            (None, _) => {}
        }
        if there.is_some() {
            Look::Taken
        } else {
            Look::Missing
        }
    }

    /// Makes a placeholder that nobody needs yet; `false` where it cannot be one.
    fn make(
        &mut self,
        place: BorrowedFd<'_>,
        root: usize,
        name: &str,
        path: PathBuf,
    ) -> Result<bool, Errno> {
        match rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => {}
            // Made by somebody else just now, or in a folder that is missing.
            Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(errno) => return Err(errno),
        }
        let stat = rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let one = Placeholder {
            root,
            name: name.to_owned(),
            id: identity(&stat),
            users: 0,
            idle_since: Instant::now(),
        };
        self.made.insert(path, one);
        Ok(true)
    }

    fn write_down(&mut self, paths: impl Iterator<Item = PathBuf>) -> Result<(), Errno> {
        let Some((record, _)) = &mut self.record else {
            return Ok(());
        };
        let mut lines = Vec::new();
        for path in paths {
            lines.extend(path.as_os_str().as_bytes());
            lines.push(0);
        }
        record
            .write_all(&lines)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
    }

    /// Removes what nobody has needed for so long.
    fn remove_idle(&mut self, rules: &PathWall, linger: Duration) {
        self.made.retain(|_, one| {
            if one.users > 0 || one.idle_since.elapsed() < linger {
                return true;
            }
            // By the root's handle, which is right even if the root was moved. Where a
            // person put something in it meanwhile, it stays theirs.
            if let Some(root) = rules.roots().get(one.root) {
                let _ = rustix::fs::unlinkat(root.handle(), one.name.as_str(), AtFlags::REMOVEDIR);
            }
            false
        });
        if self.made.is_empty()
            && let Some((record, _)) = &mut self.record
        {
            let _ = record.set_len(0);
            let _ = record.rewind();
        }
    }
}

fn is_beneath(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// A record of this process's own, after removing what dead processes left.
fn new_record(folder: &Path) -> std::io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    let owned = |options: &mut std::fs::OpenOptions, path: &Path| {
        options.read(true).write(true).mode(0o600).open(path)
    };
    // Nobody takes a new record for a dead one while this is held.
    let gate = owned(
        std::fs::OpenOptions::new().create(true).truncate(false),
        &folder.join("lock"),
    )?;
    rustix::fs::flock(&gate, FlockOperation::LockExclusive)?;
    remove_left_behind(folder)?;
    let name = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let path = folder.join(format!("{PREFIX}{}", name.trim()));
    let record = owned(std::fs::OpenOptions::new().create_new(true), &path)?;
    rustix::fs::flock(&record, FlockOperation::NonBlockingLockExclusive)?;
    Ok((record, path))
}

/// Removes the placeholders of processes that are gone: nobody holds their lock.
fn remove_left_behind(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)?.flatten() {
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(mut file) = File::open(entry.path()) else {
            continue;
        };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let paths: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
        for path in paths.iter().rev().filter(|path| !path.is_empty()) {
            let _ = std::fs::remove_dir(Path::new(OsStr::from_bytes(path)));
        }
        std::fs::remove_file(entry.path())?;
    }
    Ok(())
}
