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

use crate::paths::PathWall;

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
    name: &'static str,
    id: Identity,
    /// How many commands need it.
    users: usize,
    /// Since when nobody does.
    idle_since: Instant,
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
}

impl Placeholders {
    /// Opens the record, after removing what dead processes left.
    pub(super) fn open(
        rules: &PathWall,
        records: Option<&Path>,
        linger: Duration,
    ) -> std::io::Result<Self> {
        Ok(Self {
            shared: Arc::new(Shared {
                rules: rules.clone(),
                linger,
                state: Mutex::new(State {
                    made: HashMap::new(),
                    attended: false,
                    record: records.map(new_record).transpose()?,
                }),
            }),
        })
    }

    /// Makes what is missing in a root, and says which names are vacant now.
    pub(super) fn hold(
        &self,
        root: usize,
        is_opened: impl Fn(&[u8]) -> bool,
        held: &mut Held,
    ) -> Result<Vec<Vec<u8>>, (PathBuf, Errno)> {
        let rules = &self.shared.rules;
        let Some(place) = rules.roots().get(root) else {
            return Ok(Vec::new());
        };
        let mut state = self.shared.lock();
        let mut vacant: Vec<Vec<u8>> = Vec::new();
        for name in NAMES {
            let wanted = rules.protected_by(root, Path::new(name)).is_some();
            // `.git` that is only a placeholder has no hooks to keep vacant.
            let within = vacant
                .iter()
                .any(|above| is_beneath(name.as_bytes(), above));
            if !wanted || within || is_opened(name.as_bytes()) {
                continue;
            }
            let path = place.path().join(name);
            let held_one = state
                .hold(place.handle(), root, name, &path)
                .map_err(|errno| (path.clone(), errno))?;
            if held_one {
                held.paths.push(path);
                vacant.push(name.as_bytes().to_vec());
            }
        }
        Ok(vacant)
    }

    /// Lets go of what a command needed.
    pub(super) fn release(&self, held: Held) {
        let mut state = self.shared.lock();
        for path in held.paths {
            if let Some(one) = state.made.get_mut(&path) {
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
    /// Makes a placeholder, or takes the one that is there; `false` where something else is.
    fn hold(
        &mut self,
        place: BorrowedFd<'_>,
        root: usize,
        name: &'static str,
        path: &Path,
    ) -> Result<bool, Errno> {
        let look = || rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW);
        let there = match look() {
            Ok(stat) => Some(identity(&stat)),
            Err(Errno::NOENT) => None,
            // Not to be seen is not to be made.
            Err(_) => return Ok(false),
        };
        if let Some(one) = self.made.get_mut(path) {
            if there == Some(one.id) {
                one.users += 1;
                return Ok(true);
            }
            // A person put something in its place.
            self.made.remove(path);
        }
        if there.is_some() {
            return Ok(false);
        }
        self.write_down(path)?;
        match rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => {}
            // Made by somebody else just now, or in a folder that is missing.
            Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => return Ok(false),
            Err(errno) => return Err(errno),
        }
        let stat = look()?;
        self.made.insert(
            path.to_path_buf(),
            Placeholder {
                root,
                name,
                id: identity(&stat),
                users: 1,
                idle_since: Instant::now(),
            },
        );
        Ok(true)
    }

    fn write_down(&mut self, path: &Path) -> Result<(), Errno> {
        let Some((record, _)) = &mut self.record else {
            return Ok(());
        };
        let line = [path.as_os_str().as_bytes(), b"\0"].concat();
        record
            .write_all(&line)
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
                let _ = rustix::fs::unlinkat(root.handle(), one.name, AtFlags::REMOVEDIR);
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

fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with(b"/"))
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
