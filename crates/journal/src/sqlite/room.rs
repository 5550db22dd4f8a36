//! Room in the log, made before a commit needs it.
//!
//! A commit that makes the log longer waits until the disk knows of the new length too, which
//! takes about as long again as its pages. Where commits follow each other so closely that
//! the log is never folded in, each of them would wait for that. So when a few have made it
//! longer, a good piece of zeros is put at its end between two commits, when nobody is kept
//! waiting for an answer: to SQLite they are frames that were never written.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustix::fs::{Mode, OFlags};

use super::open;

/// So many commits may make the log longer before there is reason to believe that more will
/// come: who writes a few entries and ends is not held up.
const PATIENCE: u32 = 4;
/// The log is made twice as long, at least and at most by this much.
const LEAST: u64 = 256 * 1024;
const MOST: u64 = 1024 * 1024;

/// How long the log was after the last commit.
pub(crate) struct Room {
    log: Option<PathBuf>,
    length: u64,
    grown: u32,
    wanted: bool,
}

impl Room {
    /// The log of an open file.
    pub(crate) fn of(db: &Connection) -> Self {
        // SQLite knows the file by the name behind all links, and puts the log beside that.
        let name = db.path().filter(|name| !name.is_empty());
        Self {
            log: name.map(|name| open::log_of(Path::new(name))),
            length: 0,
            grown: 0,
            wanted: false,
        }
    }

    /// To be called after every commit: looks whether it was one more that made the log
    /// longer, and says whether it is time to make room.
    pub(crate) fn is_wanted(&mut self) -> bool {
        let found = self.log.as_deref().map(std::fs::symlink_metadata);
        let Some(Ok(found)) = found else {
            return false;
        };
        let grown = found.len() > self.length;
        self.length = found.len();
        self.grown += u32::from(grown && self.grown < PATIENCE);
        self.wanted |= grown && self.grown >= PATIENCE;
        self.wanted
    }

    /// Makes it, and says whether that went well. Room that cannot be made is no trouble:
    /// commits make their own, as before.
    pub(crate) fn make(&mut self, db: &mut Connection) -> bool {
        self.wanted = false;
        let made = self.log.as_deref().map(|log| make(log, db));
        if let Some(Ok(length)) = made {
            self.length = length;
        }
        matches!(made, Some(Ok(_)))
    }
}

/// Makes the log longer while nobody can write to it, and says how long it is.
fn make(log: &Path, db: &mut Connection) -> std::io::Result<u64> {
    // Another process that writes now makes its own room.
    open::at_once(db, |db| db.execute_batch("BEGIN IMMEDIATE")).map_err(std::io::Error::other)?;
    let made = lengthen(log);
    let _ = db.execute_batch("ROLLBACK");
    made
}

fn lengthen(log: &Path) -> std::io::Result<u64> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(log, flags, Mode::empty())?);
    let length = file.seek(SeekFrom::End(0))?;
    let left = u64::from(open::LOG_BYTES).saturating_sub(length);
    let more = length.clamp(LEAST, MOST).min(left);
    if more == 0 {
        return Ok(length);
    }
    std::io::copy(&mut std::io::repeat(0).take(more), &mut file)?;
    file.sync_all()?;
    Ok(length + more)
}
