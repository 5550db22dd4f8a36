//! Room in the log, made before a commit needs it.
//!
//! A commit that makes the log longer waits until the disk knows of the new length too, which
//! takes about as long again as its pages. Where commits follow each other so closely that
//! the log is not folded in between, each of them would wait for that. So when a few have made
//! it longer, a good piece of zeros is put at its end between two commits, when nobody is kept
//! waiting for an answer: to SQLite they are frames that were never written.
//!
//! Without it a whole call that does nothing takes 1.2 times as long (`cargo xtask bench`, `durable`).

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;
use rustix::fs::{Mode, OFlags};

use super::open;

/// So many commits may make the log longer before there is reason to believe that more will
/// come: who writes a few entries and ends is not held up.
const PATIENCE: u32 = 4;
/// The log is made twice as long, at least and at most by this much.
const LEAST: u64 = 256 * 1024;
const MOST: u64 = 1024 * 1024;
/// The zeros of one write.
const PIECE: usize = 16 * 1024;
/// Where less than so many times as much is free, it is left to whoever needs it.
const SPARE: u64 = 16;

/// The log of an open file, and how long it was after the last commit.
pub(crate) struct Preallocation {
    log: Option<File>,
    length: u64,
    /// How many commits made it longer since it was folded in.
    grown: u32,
    wanted: bool,
}

impl Preallocation {
    /// The log of a file that was just opened for writing, when it is there for certain.
    ///
    /// It is opened by its name this one time. Later that can be the name of another file's
    /// log, if the directory was moved, and its lock is not held here. SQLite has one log as long
    /// as anybody has the file open: it is cut in place, and deleted by the last who closes.
    /// Unlike the file itself a log carries no locks, which closing this would drop.
    pub(crate) fn of(db: &Connection) -> Self {
        // SQLite knows the file by the name behind all links, and puts the log beside that.
        let name = db.path().filter(|name| !name.is_empty());
        let log = name.and_then(|name| {
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::open(open::log_of(Path::new(name)), flags, Mode::empty()).ok()
        });
        let mut room = Self {
            log: log.map(File::from),
            length: 0,
            grown: 0,
            wanted: false,
        };
        room.length = room.measure().unwrap_or(0);
        room
    }

    fn measure(&self) -> Option<u64> {
        let found = self.log.as_ref()?.metadata();
        found.ok().map(|found| found.len())
    }

    /// To be called after every commit: looks whether it was one more that made the log
    /// longer, and says whether it is time to make room.
    pub(crate) fn is_wanted(&mut self) -> bool {
        let Some(length) = self.measure() else {
            return false;
        };
        if length < self.length {
            self.folded();
        }
        let grown = length > self.length;
        self.length = length;
        self.grown += u32::from(grown && self.grown < PATIENCE);
        self.wanted |= grown && self.grown >= PATIENCE;
        self.wanted &= length < u64::from(open::LOG_BYTES);
        self.wanted
    }

    /// How long the log was after the last commit, where that could be seen.
    pub(crate) fn length(&self) -> Option<u64> {
        self.log.as_ref().map(|_| self.length)
    }

    /// The log was folded in or cut, and is written from its beginning again.
    pub(crate) fn folded(&mut self) {
        self.grown = 0;
        self.wanted = false;
    }

    /// Makes it, and says whether there is more now. Room that cannot be made is no trouble:
    /// commits make their own, as before, and after a few of them it is tried again.
    pub(crate) fn make(&mut self, db: &mut Connection) -> bool {
        self.wanted = false;
        let made = self.log.as_ref().map(|log| make(log, db));
        if let Some(Ok(length)) = made {
            self.length = length;
        } else {
            self.grown = 0;
        }
        matches!(made, Some(Ok(_)))
    }
}

/// Makes the log longer while nobody can write to it, and says how long it is.
fn make(log: &File, db: &mut Connection) -> Result<u64> {
    // Another process that writes now makes its own room.
    open::at_once(db, |db| db.execute_batch("BEGIN IMMEDIATE")).map_err(Error::other)?;
    let made = lengthen(log);
    let _ = db.execute_batch("ROLLBACK");
    made
}

fn lengthen(log: &File) -> Result<u64> {
    let length = log.metadata()?.len();
    let left = u64::from(open::LOG_BYTES).saturating_sub(length);
    let more = length.clamp(LEAST, MOST).min(left);
    let disk = rustix::fs::fstatvfs(log)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if more == 0 || free < more.saturating_mul(SPARE) {
        return Err(ErrorKind::StorageFull.into());
    }
    let made = fill(log, length, more).and_then(|()| log.sync_all());
    if made.is_err() {
        // What was taken of a full disk is given back, while nobody can have written there.
        let _ = log.set_len(length);
    }
    made.map(|()| length + more)
}

/// Writes zeros piece by piece: all of them at once would stay with the process.
fn fill(log: &File, from: u64, bytes: u64) -> Result<()> {
    let zeros = [0; PIECE];
    let mut written = 0;
    while written < bytes {
        let left = usize::try_from(bytes - written).unwrap_or(PIECE);
        let piece = zeros.get(..left).unwrap_or(&zeros);
        log.write_all_at(piece, from + written)?;
        written += piece.len() as u64;
    }
    Ok(())
}
