//! Directories that are made on the way to a file, and removed again unless they are kept.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::paths::resolve::Want;
use crate::paths::resolve::missing::join;

/// Directories that were made for a file, removed again unless they are kept.
#[derive(Debug, Default)]
pub(crate) struct MadeDirectories {
    /// Each with the directory it was made in and its name in the root.
    made: Vec<(OwnedFd, Vec<u8>, Vec<u8>)>,
    kept: bool,
}

impl MadeDirectories {
    /// Leaves the directories where they are and says which they are.
    pub(crate) fn keep(&mut self) -> Vec<PathBuf> {
        self.kept = true;
        self.made
            .iter()
            .map(|(_, _, rel)| PathBuf::from(OsStr::from_bytes(rel)))
            .collect()
    }

    /// Waits until the directories' entries are on disk; says whether the system could.
    pub(crate) fn sync(&self) -> bool {
        self.made
            .iter()
            .all(|(at, _, _)| sync_directory(at.as_fd()))
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for (at, name, _) in self.made.iter().rev() {
            // Fails if another process has put something in, as it should.
            let _ = rustix::fs::unlinkat(at, &**name, AtFlags::REMOVEDIR);
        }
    }
}

/// Makes directories in each other, never through a link, and returns the innermost.
pub(crate) fn make_directories(
    start: OwnedFd,
    start_name: &[u8],
    names: &[Vec<u8>],
) -> Result<(OwnedFd, MadeDirectories), Errno> {
    let mut made = MadeDirectories::default();
    let mut here = start;
    let mut rel = start_name.to_vec();
    for name in names {
        rel = join(&rel, name);
        let is_new = match rustix::fs::mkdirat(&here, &**name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(errno),
        };
        let flags = Want::Directory.flags() | OFlags::NOFOLLOW;
        let opened = rustix::fs::openat(&here, &**name, flags, Mode::empty());
        if is_new {
            let at = here.try_clone().map_err(|_| Errno::MFILE)?;
            made.made.push((at, name.clone(), rel.clone()));
        }
        // "No directory" here means that a link or a file came in between.
        here = opened.map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP | Errno::NOENT => Errno::AGAIN,
            other => other,
        })?;
    }
    Ok((here, made))
}

/// Waits until a directory's entries are on disk; says whether the system could.
pub(crate) fn sync_directory(directory: BorrowedFd<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, Mode::empty())
        .and_then(|fd| rustix::fs::fsync(&fd))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_link_that_takes_the_place_of_a_directory_to_be_made_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (ws, out) = (place.path().join("ws"), place.path().join("out"));
        std::fs::create_dir(&ws).unwrap();
        std::fs::create_dir(&out).unwrap();
        std::os::unix::fs::symlink(&out, ws.join("a")).unwrap();
        let start = OwnedFd::from(File::open(&ws).unwrap());
        let names = [b"a".to_vec(), b"b".to_vec()];
        let answer = make_directories(start, b"", &names).map(|_| ());
        assert_eq!(answer, Err(Errno::AGAIN));
        assert!(!out.join("b").exists());
    }

    #[test]
    fn a_file_in_the_place_of_a_directory_is_no_directory() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "").unwrap();
        let start = OwnedFd::from(File::open(place.path()).unwrap());
        let answer = make_directories(start, b"", &[b"a".to_vec()]).map(|_| ());
        assert_eq!(answer, Err(Errno::AGAIN));
    }
}
