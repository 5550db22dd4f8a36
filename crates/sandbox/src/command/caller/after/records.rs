//! Files that a process keeps while it lives, and that the next start finds if it was killed.
//!
//! Each process has files of its own, locked as long as it lives. A file that no process has
//! locked was left behind.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

/// The file in the directory of records that is no record.
pub const RECORDS_LOCK: &str = "lock";

/// A file of this process.
#[derive(Debug)]
pub(super) struct Record {
    pub(crate) file: File,
    path: PathBuf,
}

impl Record {
    /// Hands over what dead processes left, then makes a file of this process's own.
    pub(crate) fn open(
        directory: &Path,
        prefix: &str,
        left: impl FnMut(Self) -> std::io::Result<()>,
    ) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        // No other process takes a new record for a dead one while this is held.
        let mut options = OpenOptions::new();
        let lock = owned(
            options.create(true).truncate(false),
            &directory.join(RECORDS_LOCK),
        )?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        abandoned(directory, prefix)?
            .into_iter()
            .try_for_each(left)?;
        let name = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        let path = directory.join(format!("{prefix}{}", name.trim()));
        let file = owned(OpenOptions::new().create_new(true), &path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { file, path })
    }

    /// Replaces the content in one step: a process that is killed meanwhile leaves the old
    /// content or the new one.
    pub(crate) fn replace(&mut self, content: &[&[u8]]) -> std::io::Result<()> {
        let next = self.next();
        let mut options = OpenOptions::new();
        let mut file = owned(options.create(true).truncate(true), &next)?;
        let written = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(std::io::Error::from)
            .and_then(|()| content.iter().try_for_each(|part| file.write_all(part)))
            .and_then(|()| std::fs::rename(&next, &self.path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&next);
            return Err(error);
        }
        self.file = file;
        Ok(())
    }

    /// Where the next content is written.
    fn next(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        let mut next = std::ffi::OsString::from("next-");
        next.push(name);
        self.path.with_file_name(next)
    }

    /// Removes the file, and what a killed process had written of the next content.
    pub(crate) fn remove(&self) -> std::io::Result<()> {
        let _ = std::fs::remove_file(self.next());
        std::fs::remove_file(&self.path)
    }
}

/// Whether a path still names this file: a process that lives may have replaced it.
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(held), Ok(named)) = (file.metadata(), path.symlink_metadata()) else {
        return false;
    };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

fn owned(options: &mut OpenOptions, path: &Path) -> std::io::Result<File> {
    options.read(true).write(true).mode(0o600).open(path)
}

/// The files of processes that are gone: no process holds their lock.
fn abandoned(directory: &Path, prefix: &str) -> std::io::Result<Vec<Record>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)?.flatten() {
        let path = entry.path();
        let is_record = entry.file_name().as_bytes().starts_with(prefix.as_bytes());
        if is_record
            && let Ok(file) = File::open(&path)
            && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_at(&file, &path)
        {
            found.push(Record { file, path });
        }
    }
    Ok(found)
}
