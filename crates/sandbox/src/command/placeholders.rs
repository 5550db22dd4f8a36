//! Names that are kept free of content while commands run.
//!
//! A mask needs something to lie on. For the names that turn into execution when they
//! appear in a root, an empty folder is made and removed again. It is a folder whatever
//! the name usually is: git does not see empty folders, so none ends up in a commit.
//! Every one is written down before it is made; what a killed process left is removed by
//! the next start. Only empty folders are ever removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Read, Seek, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FlockOperation, Mode};
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
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// How many commands need each.
    in_use: HashMap<PathBuf, usize>,
    record: Option<std::fs::File>,
    record_path: Option<PathBuf>,
}

/// The placeholders that one command needs; without it they go.
#[derive(Debug)]
pub(super) struct Held {
    paths: Vec<PathBuf>,
}

impl Placeholders {
    /// Opens the record, after removing what dead processes left.
    pub(super) fn open(records: Option<&Path>) -> std::io::Result<Self> {
        let record = records.map(new_record).transpose()?;
        let (record, record_path) = record.unzip();
        Ok(Self {
            state: Mutex::new(State {
                in_use: HashMap::new(),
                record,
                record_path,
            }),
        })
    }

    /// Makes what is missing in a root, and says which names are vacant now.
    pub(super) fn hold(
        &self,
        rules: &PathWall,
        root: usize,
        handle: BorrowedFd<'_>,
        is_opened: impl Fn(&[u8]) -> bool,
        held: &mut Held,
    ) -> Result<Vec<Vec<u8>>, (PathBuf, Errno)> {
        let Some(place) = rules
            .roots()
            .get(root)
            .map(|root| root.path().to_path_buf())
        else {
            return Ok(Vec::new());
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
            let path = place.join(name);
            if !state.in_use.contains_key(&path) {
                // Most commands find most names missing; a look is cheaper than a record.
                match rustix::fs::statat(handle, *name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => {}
                    _ => continue,
                }
                state
                    .write_down(&path)
                    .map_err(|errno| (path.clone(), errno))?;
                match rustix::fs::mkdirat(handle, *name, Mode::from_raw_mode(0o755)) {
                    Ok(()) => {}
                    // Made by somebody else just now, or in a folder that is missing.
                    Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => continue,
                    Err(errno) => return Err((path, errno)),
                }
            }
            *state.in_use.entry(path.clone()).or_default() += 1;
            held.paths.push(path);
            vacant.push(name.as_bytes().to_vec());
        }
        Ok(vacant)
    }

    /// Removes what nobody needs any more.
    pub(super) fn release(&self, held: Held) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for path in held.paths.iter().rev() {
            if let Some(count) = state.in_use.get_mut(path) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    state.in_use.remove(path);
                    // Where a person put something in it meanwhile, it stays theirs.
                    let _ = std::fs::remove_dir(path);
                }
            }
        }
        if state.in_use.is_empty()
            && let Some(record) = &mut state.record
        {
            let _ = record.set_len(0);
            let _ = record.rewind();
        }
    }

    /// Whether a path is a placeholder that some command still needs.
    pub(super) fn is_held(&self, path: &Path) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_use.contains_key(path)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.in_use.is_empty()
            && let Some(path) = &state.record_path
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Held {
    pub(super) fn none() -> Self {
        Self { paths: Vec::new() }
    }
}

impl State {
    fn write_down(&mut self, path: &Path) -> Result<(), Errno> {
        let Some(record) = &mut self.record else {
            return Ok(());
        };
        let line = [path.as_os_str().as_bytes(), b"\0"].concat();
        record
            .write_all(&line)
            .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
    }
}

fn is_beneath(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with(b"/"))
}

/// A record of this process's own, after removing what dead processes left.
fn new_record(folder: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
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
        let Ok(mut file) = std::fs::File::open(entry.path()) else {
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
