//! Several files that change together.
//!
//! ```text
//! stage all ─▶ sync_all ─▶ stand_by all ─▶ place or remove each ─▶ finish_all
//!                                              └─ one fails: take_back those that are done
//! ```
//!
//! Several renames are not one step of the file system. But all of
//! them can be taken back, here or, after a crash, by the process that
//! finds the intent in the journal.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use toolgate_model::Access;

use super::made::sync_directory;
use super::stage::{Committed, Staged, failed};
use super::target::Resolved;
use super::temporary::{Rights, Temporary, is_at};
use crate::paths::PathSandbox;
use crate::paths::error::{Failure, FileKind, PathError};
use crate::paths::message::shown;
use crate::paths::read::stat::FileStat;

/// More files than this are synced as one file system, not one by one.
const ONE_BY_ONE: usize = 16;

impl Staged {
    /// Like [`Staged::sync`] for all of them, with one group of syncs.
    pub fn sync_all(staged: &mut [&mut Self]) -> Result<(), PathError> {
        if staged.len() <= ONE_BY_ONE {
            return staged.iter_mut().try_for_each(|file| file.sync());
        }
        let mut systems = HashMap::new();
        for file in &*staged {
            file.take_over()?;
            let stat = rustix::fs::fstat(&file.temporary.file);
            let stat = stat.map_err(|errno| failed(&file.asked, errno))?;
            systems.entry(stat.st_dev).or_insert(file);
        }
        for file in systems.into_values() {
            let synced = rustix::fs::syncfs(&file.temporary.file);
            synced.map_err(|errno| failed(&file.asked, errno))?;
        }
        for file in staged {
            file.synced = true;
        }
        Ok(())
    }

    /// Like [`Staged::finish`] for all of them, each directory synced once.
    pub fn finish_all(staged: Vec<Self>) -> Result<Vec<Committed>, PathError> {
        let mut directories = HashMap::new();
        let mut synced = Vec::with_capacity(staged.len());
        for file in &staged {
            let stat = rustix::fs::fstat(&file.directory);
            let known = stat.map_err(|errno| failed(&file.asked, errno))?;
            let done = *directories
                .entry((known.st_dev, known.st_ino))
                .or_insert_with(|| sync_directory(file.directory.as_fd()));
            synced.push(done && file.parents.sync());
        }
        let all = staged.into_iter().zip(synced);
        all.map(|(file, synced)| file.done(synced)).collect()
    }

    /// Drops several staged files so that directories made for the first and used by the
    /// others go as well: the last first.
    pub fn discard(mut staged: Vec<Self>) {
        while staged.pop().is_some() {}
    }

    /// Undoes [`Staged::place`]: the old file is restored, with this content.
    pub fn take_back(mut self, before: &[u8], nonce: u128) -> Result<(), PathError> {
        if !self.placed {
            return Ok(());
        }
        if !is_at(&self.temporary.file, self.directory.as_fd(), &self.name) {
            return Err(busy(&self.asked));
        }
        match self.existing {
            None => {
                rustix::fs::unlinkat(&self.directory, &*self.name, AtFlags::empty())
                    .map_err(|errno| failed(&self.asked, errno))?;
                sync_directory(self.directory.as_fd());
                // With this the directories that were made go as well.
                self.placed = false;
            }
            Some(old) => put_back(&self.directory, &self.name, before, old, nonce, true)
                .map_err(|errno| failed(&self.asked, errno))?,
        }
        Ok(())
    }
}

/// A file that is going to be deleted.
#[derive(Debug)]
pub struct StagedDelete {
    asked: Vec<u8>,
    root: usize,
    rel: Vec<u8>,
    directory: OwnedFd,
    name: Vec<u8>,
    stat: FileStat,
}

impl PathSandbox {
    /// Prepares the deletion of a regular file. Links are refused: deleting one
    /// after reading its target could mean either file.
    pub fn stage_delete(&self, path: impl AsRef<Path>) -> Result<StagedDelete, PathError> {
        let request = self.request(path.as_ref(), Access::Delete)?;
        let target = self.entry(&request)?;
        match target.existing {
            Some(stat) if stat.kind == FileKind::File => Ok(StagedDelete {
                asked: request.raw.to_vec(),
                root: target.root,
                rel: target.rel(),
                directory: target.directory,
                name: target.name,
                stat,
            }),
            other => Err(PathError::NotAFile {
                path: request.shown(),
                kind: other.map_or(FileKind::Unknown, |stat| stat.kind),
            }),
        }
    }
}

impl StagedDelete {
    /// The file to delete.
    pub fn resolved(&self) -> Resolved {
        Resolved {
            root: self.root,
            path: PathBuf::from(OsStr::from_bytes(&self.rel)),
            stat: Some(self.stat),
        }
    }

    /// Deletes the file, if it is still the same. The directory is not synced yet.
    pub fn remove(&self) -> Result<(), PathError> {
        let now = rustix::fs::statat(&self.directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed(&self.asked, errno))?;
        if !FileStat::of(&now).unchanged_since(&self.stat) {
            return Err(busy(&self.asked));
        }
        rustix::fs::unlinkat(&self.directory, &*self.name, AtFlags::empty())
            .map_err(|errno| failed(&self.asked, errno))
    }

    /// Waits until the directory has forgotten the file; says whether the system could.
    pub fn finish(&self) -> bool {
        sync_directory(self.directory.as_fd())
    }

    /// Undoes [`StagedDelete::remove`]: the file is there again, with this content.
    pub fn take_back(&self, before: &[u8], nonce: u128) -> Result<(), PathError> {
        put_back(&self.directory, &self.name, before, self.stat, nonce, false)
            .map_err(|errno| failed(&self.asked, errno))
    }
}

/// Writes an old file anew.
fn put_back(
    directory: &OwnedFd,
    name: &[u8],
    content: &[u8],
    old: FileStat,
    nonce: u128,
    replace: bool,
) -> Result<(), rustix::io::Errno> {
    let directory = directory.as_fd();
    let mut temporary = match Temporary::unnamed(directory, true, nonce) {
        Some(temporary) => temporary,
        None => Temporary::named(directory, true, nonce)?,
    };
    let rights = Rights {
        like: Some(old),
        executable: None,
    };
    let done = temporary
        .write_all(content)
        .and_then(|()| temporary.take_over(rights))
        .and_then(|()| rustix::fs::fsync(&temporary.file))
        .and_then(|()| temporary.rename(directory, name, replace));
    temporary.vanish(directory);
    sync_directory(directory);
    done
}

fn busy(asked: &[u8]) -> PathError {
    PathError::Failed {
        path: shown(asked),
        what: Failure::Busy,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::paths::{PathRules, StageOptions};

    #[test]
    fn a_directory_that_could_not_be_synced_is_not_said_to_be() {
        let place = tempfile::tempdir().unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(place.path())).unwrap();
        // Nothing that is no directory can be synced as one.
        let no_directory = || OwnedFd::from(File::open("/dev/null").unwrap());
        let staged = |path: &str, nonce| {
            let options = StageOptions {
                overwrite: false,
                create_parents: true,
                nonce,
            };
            let mut staged = sandbox.stage(path, options).unwrap();
            staged.place().unwrap();
            staged
        };
        assert!(staged("a/one", 1).finish().unwrap().directory_synced);
        let all = Staged::finish_all(vec![staged("b/one", 2)]).unwrap();
        assert!(all.iter().all(|file| file.directory_synced));

        let mut one = staged("a/two", 3);
        one.directory = no_directory();
        assert!(!one.finish().unwrap().directory_synced);
        let mut several = [staged("b/two", 4), staged("c/d/three", 5)];
        several[0].directory = no_directory();
        let all = Staged::finish_all(several.into()).unwrap();
        let synced: Vec<bool> = all.iter().map(|file| file.directory_synced).collect();
        assert_eq!(synced, [false, true]);

        let mut deleted = sandbox.stage_delete("a/one").unwrap();
        deleted.remove().unwrap();
        assert!(deleted.finish());
        deleted.directory = no_directory();
        assert!(!deleted.finish());
    }
}
