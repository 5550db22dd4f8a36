//! Writing a file: staged out of sight, then moved to its place in one step.
//!
//! ```text
//! stage: check, temporary file ─▶ write ─▶ sync ─▶ stand_by: directories, temporary name ─▶ place: check again, rename ─▶ finish: sync directory
//!           └─ dropped before it is placed: the temporary and the directories that were made are removed
//! ```
//!
//! A reader of the path sees the old file or the new one, never half of
//! one. The name is replaced, never the inode: other hard links keep their
//! content. [`Staged::commit`] takes all the steps for one file; a change of
//! several files takes each step for all of them before the next.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use toolgate_model::Access;

use super::made::{MadeDirectories, make_directories, sync_directory};
use super::target::Target;
use super::temporary::{Rights, Temporary};
use crate::paths::PathSandbox;
use crate::paths::error::{Failure, PathError, Protection};
use crate::paths::message::shown;
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::missing::join;
use crate::paths::resolve::name_beneath;
use crate::paths::rules::attributes::{Attributes, is_attributes};

/// How a file is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageOptions {
    /// Whether a file that is there may be replaced.
    pub overwrite: bool,
    /// Whether directories that are missing on the way are made.
    pub create_parents: bool,
    /// A random number that no other process knows, for the temporary name.
    pub nonce: u128,
}

/// A file that is written but not yet in its place.
#[derive(Debug)]
pub struct Staged {
    pub(crate) sandbox: PathSandbox,
    pub(crate) asked: Vec<u8>,
    pub(crate) root: usize,
    rel: Vec<u8>,
    /// The innermost directory that exists, and what is missing from there.
    pub(crate) directory: OwnedFd,
    directory_name: Vec<u8>,
    missing: Vec<Vec<u8>>,
    pub(crate) name: Vec<u8>,
    pub(crate) temporary: Temporary,
    pub(crate) existing: Option<FileStat>,
    rights: Rights,
    /// The content, where it decides whether the file may be written.
    attributes: Option<Attributes>,
    pub(super) synced: bool,
    pub(super) placed: bool,
    // Last: its directories can only be removed when the temporary file is gone.
    pub(super) parents: MadeDirectories,
}

/// A file that was put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The number of the root it lies in.
    pub root: usize,
    /// Its name in that root, links resolved.
    pub path: PathBuf,
    /// Whether there was no file before.
    pub created: bool,
    /// The metadata of the new file.
    pub stat: FileStat,
    /// Directories that were made for it, outermost first.
    pub made_directories: Vec<PathBuf>,
    /// Whether the directory's entry is known to be on disk; some file systems cannot say.
    pub directory_synced: bool,
}

impl PathSandbox {
    /// Prepares a write: checks the path and opens a temporary file for the content.
    /// An existing file stays until [`Staged::place`].
    pub fn stage(
        &self,
        path: impl AsRef<Path>,
        options: StageOptions,
    ) -> Result<Staged, PathError> {
        let request = self.request(path.as_ref(), Access::Write)?;
        let target = self.write_target(&request)?;
        if target.existing.is_some() && !options.overwrite {
            return Err(PathError::AlreadyExists {
                path: request.shown(),
            });
        }
        if !target.missing.is_empty() && !options.create_parents {
            return Err(self.missing(&request));
        }
        let rel = target.rel();
        let asked = request.raw.to_vec();
        let mut names = request.parts.last().copied().into_iter();
        let attributes = (is_attributes(&target.name) || names.any(is_attributes))
            && !self.is_named(target.root, &rel);
        let Target {
            root,
            directory,
            directory_name,
            missing,
            name,
            existing,
        } = target;
        let private = existing.is_some();
        let failed = |errno| failed(&asked, errno);
        let unnamed = Temporary::unnamed(directory.as_fd(), private, options.nonce);
        let (temporary, directory, missing, parents) = match unnamed {
            Some(temporary) => (temporary, directory, missing, MadeDirectories::default()),
            None => {
                let (directory, made) =
                    make_directories(directory, &directory_name, &missing).map_err(failed)?;
                let temporary =
                    Temporary::named(directory.as_fd(), private, options.nonce).map_err(failed)?;
                (temporary, directory, Vec::new(), made)
            }
        };
        Ok(Staged {
            sandbox: self.clone(),
            asked,
            root,
            rel,
            directory,
            directory_name,
            missing,
            name,
            temporary,
            rights: Rights {
                like: existing,
                executable: None,
            },
            attributes: attributes.then(Attributes::default),
            existing,
            synced: false,
            placed: false,
            parents,
        })
    }
}

impl PathSandbox {
    /// Refuses content that a write to this path would refuse. Changes nothing.
    pub fn check_content(&self, path: impl AsRef<Path>, content: &[u8]) -> Result<(), PathError> {
        let named_so = path
            .as_ref()
            .file_name()
            .is_some_and(|name| is_attributes(name.as_bytes()));
        if !named_so {
            return Ok(());
        }
        let request = self.request(path.as_ref(), Access::Write)?;
        let target = self.write_target(&request)?;
        let mut attributes = Attributes::default();
        attributes.extend(content);
        let rel = target.rel();
        let replaced = target
            .existing
            .map(|_| (target.directory.as_fd(), &*target.name));
        match attributes.new_driver(replaced) {
            Some(driver) if !self.is_named(target.root, &rel) => {
                let why = Protection::Driver { driver };
                Err(self.protected(request.raw, None, (target.root, &rel), why))
            }
            _ => Ok(()),
        }
    }
}

impl Staged {
    /// The number of the root the file will lie in.
    pub fn root(&self) -> usize {
        self.root
    }

    /// The name in the root the file will have, links resolved.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.rel))
    }

    /// The name of the temporary file, in the same directory; what a crash after
    /// [`Staged::stand_by`] leaves behind.
    pub fn temporary(&self) -> &str {
        &self.temporary.name
    }

    /// The file that will be replaced, as it was when this was staged.
    pub fn replaces(&self) -> Option<&FileStat> {
        self.existing.as_ref()
    }

    /// Gives a new file the mode and owner of another one, such as the one it is moved from.
    pub fn takes_after(&mut self, other: &FileStat) {
        self.synced = false;
        self.rights.like = Some(*other);
    }

    /// Allows all readers of the file to run it, or none.
    pub fn executable(&mut self, executable: bool) {
        self.synced = false;
        self.rights.executable = Some(executable);
    }

    /// Takes the content as it is: it was there before, and is given back.
    pub fn restores(&mut self) {
        self.attributes = None;
    }

    /// Appends to the new content.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), PathError> {
        self.synced = false;
        if let Some(attributes) = &mut self.attributes {
            attributes.extend(bytes);
        }
        let written = self.temporary.write_all(bytes);
        written.map_err(|errno| failed(&self.asked, errno))
    }

    /// Gives the new file the rights and, where possible, the owner of the old one,
    /// and waits until its content is on disk.
    pub fn sync(&mut self) -> Result<(), PathError> {
        if self.synced {
            return Ok(());
        }
        self.take_over()?;
        let synced = rustix::fs::fsync(&self.temporary.file);
        synced.map_err(|errno| failed(&self.asked, errno))?;
        self.synced = true;
        Ok(())
    }

    /// Checks the content and gives the new file its rights.
    pub(super) fn take_over(&self) -> Result<(), PathError> {
        self.check_content()?;
        let taken = self.temporary.take_over(self.rights);
        taken.map_err(|errno| failed(&self.asked, errno))
    }

    /// Refuses attributes that make git run a driver that it did not run before.
    fn check_content(&self) -> Result<(), PathError> {
        let replaced = self.existing.map(|_| (self.directory.as_fd(), &*self.name));
        let attributes = self.attributes.as_ref();
        let driver = attributes.and_then(|new| new.new_driver(replaced));
        driver.map_or(Ok(()), |driver| {
            let why = Protection::Driver { driver };
            let place = (self.root, self.rel.as_slice());
            Err(self.sandbox.protected(&self.asked, None, place, why))
        })
    }

    /// Makes the directories that are missing and gives the temporary file its name
    /// beside the place, if the place may still be taken.
    pub fn stand_by(&mut self) -> Result<(), PathError> {
        self.check_again()?;
        if !self.missing.is_empty() {
            let start = self.directory.try_clone();
            let start = start.map_err(|_| failed(&self.asked, Errno::MFILE))?;
            let made = make_directories(start, &self.directory_name, &self.missing);
            let (directory, parents) = made.map_err(|errno| failed(&self.asked, errno))?;
            for part in std::mem::take(&mut self.missing) {
                self.directory_name = join(&self.directory_name, &part);
            }
            (self.directory, self.parents) = (directory, parents);
        }
        let appeared = self.temporary.appear(self.directory.as_fd());
        appeared.map_err(|errno| failed(&self.asked, errno))
    }

    /// Moves the file to its place, in one step. The directory is not synced yet.
    ///
    /// A place that was empty is only taken if it still is; a file that was there is
    /// only replaced if it is still the same.
    pub fn place(&mut self) -> Result<(), PathError> {
        self.sync()?;
        self.stand_by()?;
        self.check_again()?;
        let replace = self.existing.is_some();
        let moved = self
            .temporary
            .rename(self.directory.as_fd(), &self.name, replace);
        moved.map_err(|errno| failed(&self.asked, errno))?;
        self.placed = true;
        Ok(())
    }

    /// Waits until the directory knows of the placed file for good, and says what was done.
    pub fn finish(self) -> Result<Committed, PathError> {
        let synced = sync_directory(self.directory.as_fd()) && self.parents.sync();
        self.done(synced)
    }

    pub(crate) fn done(mut self, directory_synced: bool) -> Result<Committed, PathError> {
        let made_directories = self.parents.keep();
        let stat = rustix::fs::fstat(&self.temporary.file);
        let stat = stat.map_err(|errno| failed(&self.asked, errno))?;
        Ok(Committed {
            root: self.root,
            path: self.path().to_path_buf(),
            created: self.existing.is_none(),
            stat: FileStat::of(&stat),
            made_directories,
            directory_synced,
        })
    }

    /// Puts the file in its place: all the steps at once.
    pub fn commit(mut self) -> Result<Committed, PathError> {
        self.place()?;
        self.finish()
    }

    /// Checks again everything that was checked when this was staged: others may have been
    /// staged or moved since.
    fn check_again(&self) -> Result<(), PathError> {
        let busy = || PathError::Failed {
            path: shown(&self.asked),
            what: Failure::Busy,
        };
        let root = self.sandbox.inner.roots.get(self.root).ok_or_else(busy)?;
        // Without /proc there is no asking; the directory was checked when it was opened.
        if let Ok(directory) = name_beneath(root, &self.directory) {
            let mut now = directory.ok_or_else(busy)?;
            for part in self.missing.iter().chain([&self.name]) {
                now = join(&now, part);
            }
            if now != self.rel {
                self.sandbox
                    .check_resolved(&self.asked, self.root, &now, Access::Write)?;
            }
            self.sandbox.check_plant(&self.asked, self.root, &now)?;
        }
        let Some(old) = &self.existing else {
            return Ok(());
        };
        let now = rustix::fs::statat(&self.directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed(&self.asked, errno))?;
        let now = FileStat::of(&now);
        if now.unchanged_since(old) {
            Ok(())
        } else {
            Err(busy())
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.temporary.vanish(self.directory.as_fd());
        if self.placed {
            // Their content is in its place.
            self.parents.keep();
        }
    }
}

/// The error of a step whose path was already checked: a file that vanishes now was
/// taken away by another process.
pub(crate) fn failed(asked: &[u8], errno: Errno) -> PathError {
    match errno {
        Errno::NOENT | Errno::AGAIN | Errno::NOTDIR | Errno::LOOP => PathError::Failed {
            path: shown(asked),
            what: Failure::Busy,
        },
        Errno::XDEV => PathError::Failed {
            path: shown(asked),
            what: Failure::OtherFileSystem,
        },
        other => PathError::system(asked, other),
    }
}
