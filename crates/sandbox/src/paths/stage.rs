//! Writing a file: staged beside its place, then moved there in one step.
//!
//! ```text
//! stage: check, make parents, exclusive temporary file ─▶ write ─▶ sync ─▶ commit: check again, rename, sync folder
//!           └─ dropped before commit: the temporary and the parents that were made are removed
//! ```
//!
//! Whoever looks at the path sees the old file or the new one, never half of
//! one. The name is replaced, never the inode: other hard links keep their
//! content.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use toolgate_model::Access;

use super::PathWall;
use super::error::{Failure, PathError};
use super::message::shown;
use super::missing::join;
use super::resolve::name_beneath;
use super::stat::FileStat;
use super::target::Target;

/// How many temporary names are tried.
const NAMES: u128 = 8;

/// How a file is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageOptions {
    /// Whether a file that is there may be replaced.
    pub overwrite: bool,
    /// Whether folders that are missing on the way are made.
    pub create_parents: bool,
    /// A random number that nobody else knows, for the temporary name.
    pub nonce: u128,
}

/// A file that is written but not yet in its place.
#[derive(Debug)]
pub struct Staged {
    wall: PathWall,
    asked: Vec<u8>,
    root: usize,
    rel: Vec<u8>,
    folder: OwnedFd,
    name: Vec<u8>,
    temporary: String,
    file: File,
    existing: Option<FileStat>,
    synced: bool,
    placed: bool,
    // Last: its folders can only be removed when the temporary file is gone.
    parents: MadeFolders,
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
    /// What the system says about the new file.
    pub stat: FileStat,
    /// Folders that were made for it, outermost first.
    pub made_folders: Vec<PathBuf>,
    /// Whether the folder's entry is known to be on disk; some file systems cannot say.
    pub folder_synced: bool,
}

impl PathWall {
    /// Prepares a write: checks the path, makes missing folders, opens an exclusive
    /// temporary file beside the place. What is there stays until [`Staged::commit`].
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
        let Target {
            root,
            folder,
            folder_name,
            missing,
            name,
            existing,
        } = target;
        let (folder, parents) =
            make_folders(folder, &folder_name, &missing).map_err(|errno| failed(&asked, errno))?;
        let (temporary, fd) = temporary(folder.as_fd(), existing.as_ref(), options.nonce)
            .map_err(|errno| failed(&asked, errno))?;
        Ok(Staged {
            wall: self.clone(),
            asked,
            root,
            rel,
            folder,
            name,
            temporary,
            file: File::from(fd),
            existing,
            synced: false,
            placed: false,
            parents,
        })
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

    /// The name of the temporary file, in the same folder; what a crash leaves behind.
    pub fn temporary(&self) -> &str {
        &self.temporary
    }

    /// The file that will be replaced, as it was when this was staged.
    pub fn replaces(&self) -> Option<&FileStat> {
        self.existing.as_ref()
    }

    /// Appends to the new content.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), PathError> {
        self.synced = false;
        self.file.write_all(bytes).map_err(|e| {
            let errno = Errno::from_io_error(&e).unwrap_or(Errno::IO);
            failed(&self.asked, errno)
        })
    }

    /// Gives the new file the rights and, where possible, the owner of the old one,
    /// and waits until its content is on disk.
    pub fn sync(&mut self) -> Result<(), PathError> {
        if self.synced {
            return Ok(());
        }
        self.take_over()
            .map_err(|errno| failed(&self.asked, errno))?;
        rustix::fs::fsync(&self.file).map_err(|errno| failed(&self.asked, errno))?;
        self.synced = true;
        Ok(())
    }

    fn take_over(&self) -> Result<(), Errno> {
        let Some(old) = &self.existing else {
            return Ok(());
        };
        let new = FileStat::of(&rustix::fs::fstat(&self.file)?);
        if (new.uid, new.gid) != (old.uid, old.gid) {
            let (uid, gid) = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
            // Only root can give a file away; the group at least may be ours to set.
            if rustix::fs::fchown(&self.file, Some(uid), Some(gid)).is_err() {
                let _ = rustix::fs::fchown(&self.file, None, Some(gid));
            }
        }
        // Special bits are not taken over, as the kernel drops them on a write.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.mode & 0o777))
    }

    /// Drops several staged files so that folders made for the first and used by the
    /// others go as well: the last first.
    pub fn discard(mut staged: Vec<Self>) {
        while staged.pop().is_some() {}
    }

    /// Puts the file in its place, in one step.
    ///
    /// A place that was empty is only taken if it still is; a file that was there is
    /// only replaced if it is still the same.
    pub fn commit(mut self) -> Result<Committed, PathError> {
        self.sync()?;
        self.check_again()?;
        let place = match self.existing {
            Some(_) => {
                rustix::fs::renameat(&self.folder, &self.temporary, &self.folder, &*self.name)
            }
            None => move_to_free(
                self.folder.as_fd(),
                self.temporary.as_bytes(),
                self.folder.as_fd(),
                &self.name,
            ),
        };
        place.map_err(|errno| failed(&self.asked, errno))?;
        self.placed = true;
        let made_folders = self.parents.keep();
        let stat = rustix::fs::fstat(&self.file).map_err(|errno| failed(&self.asked, errno))?;
        Ok(Committed {
            root: self.root,
            path: self.path().to_path_buf(),
            created: self.existing.is_none(),
            stat: FileStat::of(&stat),
            folder_synced: sync_folder(self.folder.as_fd()) && self.parents.sync(),
            made_folders,
        })
    }

    /// What was true when this was staged has to be true still: others may have been
    /// staged or moved since.
    fn check_again(&self) -> Result<(), PathError> {
        let busy = || PathError::Failed {
            path: shown(&self.asked),
            what: Failure::Busy,
        };
        let root = self.wall.inner.roots.get(self.root).ok_or_else(busy)?;
        // Without /proc there is no asking; the folder was checked when it was opened.
        if let Ok(folder) = name_beneath(root, &self.folder) {
            let now = join(&folder.ok_or_else(busy)?, &self.name);
            if now != self.rel {
                self.wall
                    .check_resolved(&self.asked, self.root, &now, Access::Write)?;
            }
            self.wall.check_plant(&self.asked, self.root, &now)?;
        }
        let Some(old) = &self.existing else {
            return Ok(());
        };
        let now = rustix::fs::statat(&self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed(&self.asked, errno))?;
        let now = FileStat::of(&now);
        let same =
            (now.identity, now.len, now.modified_ms) == (old.identity, old.len, old.modified_ms);
        if same { Ok(()) } else { Err(busy()) }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed {
            let _ = rustix::fs::unlinkat(&self.folder, &self.temporary, AtFlags::empty());
        }
    }
}

/// Folders that were made for a file, removed again unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct MadeFolders {
    /// Each with the folder it was made in and its name in the root.
    made: Vec<(OwnedFd, Vec<u8>, Vec<u8>)>,
    kept: bool,
}

impl MadeFolders {
    /// Leaves the folders where they are and says which they are.
    pub(crate) fn keep(&mut self) -> Vec<PathBuf> {
        self.kept = true;
        self.made
            .iter()
            .map(|(_, _, rel)| PathBuf::from(OsStr::from_bytes(rel)))
            .collect()
    }

    /// Waits until the folders' entries are on disk; says whether the system could.
    pub(crate) fn sync(&self) -> bool {
        self.made.iter().all(|(at, _, _)| sync_folder(at.as_fd()))
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for (at, name, _) in self.made.iter().rev() {
            // Fails where somebody has put something in, and that is right.
            let _ = rustix::fs::unlinkat(at, &**name, AtFlags::REMOVEDIR);
        }
    }
}

/// Makes folders in each other, never through a link, and returns the innermost.
pub(crate) fn make_folders(
    start: OwnedFd,
    start_name: &[u8],
    names: &[Vec<u8>],
) -> Result<(OwnedFd, MadeFolders), Errno> {
    let mut made = MadeFolders::default();
    let mut here = start;
    let mut rel = start_name.to_vec();
    for name in names {
        rel = join(&rel, name);
        let is_new = match rustix::fs::mkdirat(&here, &**name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(errno),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&here, &**name, flags, Mode::empty());
        if is_new {
            let at = here.try_clone().map_err(|_| Errno::MFILE)?;
            made.made.push((at, name.clone(), rel.clone()));
        }
        // "No folder" here means that a link or a file came in between.
        here = opened.map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP | Errno::NOENT => Errno::AGAIN,
            other => other,
        })?;
    }
    Ok((here, made))
}

fn temporary(
    folder: BorrowedFd<'_>,
    existing: Option<&FileStat>,
    nonce: u128,
) -> Result<(String, OwnedFd), Errno> {
    // A new file gets what the process's mask leaves; the copy of an old one is
    // nobody else's to read until it has the old one's rights.
    let mode = Mode::from_raw_mode(if existing.is_some() { 0o600 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut last = Errno::EXIST;
    for more in 0..NAMES {
        let name = format!(".toolgate-{:032x}.tmp", nonce.wrapping_add(more));
        match rustix::fs::openat(folder, &name, flags, mode) {
            Ok(fd) => return Ok((name, fd)),
            Err(Errno::EXIST) => {}
            Err(errno) => {
                last = errno;
                break;
            }
        }
    }
    Err(last)
}

/// Renames onto a name that is free, or fails; nobody can come in between.
pub(crate) fn move_to_free(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    free: &[u8],
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, name, to, free, RenameFlags::NOREPLACE) {
        // A file system that cannot: a hard link never replaces either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(from, name, to, free, AtFlags::empty())?;
            rustix::fs::unlinkat(from, name, AtFlags::empty())
        }
        done => done,
    }
}

/// Waits until a folder's entries are on disk; says whether the system could.
pub(crate) fn sync_folder(folder: BorrowedFd<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, ".", flags, Mode::empty())
        .and_then(|fd| rustix::fs::fsync(&fd))
        .is_ok()
}

/// The error of a step whose path was already checked: what vanishes now was
/// taken away by somebody else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_takes_the_place_of_a_folder_to_be_made_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (ws, out) = (place.path().join("ws"), place.path().join("out"));
        std::fs::create_dir(&ws).unwrap();
        std::fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink(&out, ws.join("a")).unwrap();
        let start = OwnedFd::from(File::open(&ws).unwrap());
        let names = [b"a".to_vec(), b"b".to_vec()];
        let answer = make_folders(start, b"", &names).map(|_| ());
        assert_eq!(answer, Err(Errno::AGAIN));
        assert!(!out.join("b").exists());
    }
}
