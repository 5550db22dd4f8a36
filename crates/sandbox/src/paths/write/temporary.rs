//! The file that new content is written to before it has a place.
//!
//! Where the file system can, it has no name until it is about to be moved: a
//! process that is killed while it writes leaves nothing behind. Elsewhere it is
//! an exclusive file with a random name from the start.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use crate::paths::read::stat::FileStat;

/// How many temporary names are tried.
const NAMES: u128 = 8;

/// The attributes that a new file takes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Mode and owner of this file.
    pub(crate) like: Option<FileStat>,
    /// Whether its readers may run it; unchanged if not given.
    pub(crate) executable: Option<bool>,
}

/// New content on its way to its place.
#[derive(Debug)]
pub(crate) struct Temporary {
    pub(crate) file: File,
    /// The name it has, or will have.
    pub(crate) name: String,
    named: bool,
}

impl Temporary {
    /// A file without a name, in the file system of this directory. Nothing if it has none.
    pub(crate) fn unnamed(directory: BorrowedFd<'_>, private: bool, nonce: u128) -> Option<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(directory, ".", flags, mode(private)).ok()?;
        // Without /proc there would be no way to name it later.
        rustix::fs::stat(by_descriptor(fd.as_raw_fd())).ok()?;
        let free = |name: &String| {
            let there = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
            matches!(there, Err(Errno::NOENT))
        };
        Some(Self {
            file: File::from(fd),
            name: names(nonce).find(free)?,
            named: false,
        })
    }

    /// A file with an exclusive name in this directory.
    pub(crate) fn named(
        directory: BorrowedFd<'_>,
        private: bool,
        nonce: u128,
    ) -> Result<Self, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in names(nonce) {
            match rustix::fs::openat(directory, &name, flags, mode(private)) {
                Ok(fd) => {
                    return Ok(Self {
                        file: File::from(fd),
                        name,
                        named: true,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Gives it rights and, where possible, an owner.
    pub(crate) fn take_over(&self, rights: Rights) -> Result<(), Errno> {
        let Rights { like, executable } = rights;
        if like.is_none() && executable.is_none() {
            return Ok(());
        }
        let new = FileStat::of(&rustix::fs::fstat(&self.file)?);
        if let Some(old) = like
            && (new.uid, new.gid) != (old.uid, old.gid)
        {
            let (uid, gid) = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
            // Only root can give a file away; the group at least may be ours to set.
            if rustix::fs::fchown(&self.file, Some(uid), Some(gid)).is_err() {
                let _ = rustix::fs::fchown(&self.file, None, Some(gid));
            }
        }
        // Special bits are not taken over, as the kernel drops them on a write.
        let mode = like.unwrap_or(new).mode & 0o777;
        let mode = match executable {
            None => mode,
            Some(true) => mode | (mode & 0o444) >> 2,
            Some(false) => mode & 0o666,
        };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))
    }

    /// Gives it its name in this directory.
    pub(crate) fn appear(&mut self, directory: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.named {
            return Ok(());
        }
        let from = by_descriptor(self.file.as_raw_fd());
        rustix::fs::linkat(CWD, from, directory, &self.name, AtFlags::SYMLINK_FOLLOW)?;
        self.named = true;
        Ok(())
    }

    /// Moves it onto a name, replacing what is there or only if nothing is.
    pub(crate) fn rename(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &[u8],
        replace: bool,
    ) -> Result<(), Errno> {
        self.appear(directory)?;
        if replace {
            rustix::fs::renameat(directory, &self.name, directory, name)?;
        } else {
            move_to_free(directory, self.name.as_bytes(), directory, name)?;
        }
        // The name belongs to the place now.
        self.named = false;
        Ok(())
    }

    /// Takes the name away, if it has one of its own.
    pub(crate) fn vanish(&mut self, directory: BorrowedFd<'_>) {
        if std::mem::take(&mut self.named) {
            let _ = rustix::fs::unlinkat(directory, &self.name, AtFlags::empty());
        }
    }
}

/// A new file gets the mode that the umask leaves; the copy of an old one is
/// private until it has the old one's mode.
const fn mode(private: bool) -> Mode {
    Mode::from_raw_mode(if private { 0o600 } else { 0o666 })
}

fn names(nonce: u128) -> impl Iterator<Item = String> {
    (0..NAMES).map(move |more| format!(".toolgate-{:032x}.tmp", nonce.wrapping_add(more)))
}

fn by_descriptor(fd: std::os::fd::RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

/// Renames onto a free name in one step, or fails.
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

/// Whether this name in a directory is the very file that is open.
pub(crate) fn is_at(file: &File, directory: BorrowedFd<'_>, name: &[u8]) -> bool {
    let there = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let here = rustix::fs::fstat(file.as_fd());
    matches!((there, here), (Ok(there), Ok(here))
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A file of each kind: file systems differ in which they have.
    fn both(directory: &File, private: bool, nonce: u128) -> [Temporary; 2] {
        [
            Temporary::named(directory.as_fd(), private, nonce).unwrap(),
            Temporary::unnamed(directory.as_fd(), private, nonce + 100).unwrap(),
        ]
    }

    fn names(path: &std::path::Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn with_a_name_or_without_it_ends_in_its_place_or_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let directory = File::open(place.path()).unwrap();
        for (mut temporary, number) in both(&directory, false, 7).into_iter().zip(0..) {
            let name = format!("f{number}").into_bytes();
            temporary.write_all(b"new").unwrap();
            temporary.rename(directory.as_fd(), &name, false).unwrap();
            assert!(is_at(&temporary.file, directory.as_fd(), &name));
            temporary.vanish(directory.as_fd());
        }
        assert_eq!(names(place.path()), ["f0", "f1"]);
        for mut temporary in both(&directory, false, 7) {
            let taken = temporary.rename(directory.as_fd(), b"f0", false);
            assert_eq!(taken, Err(Errno::EXIST));
            temporary.vanish(directory.as_fd());
        }
        assert_eq!(names(place.path()), ["f0", "f1"]);
        for mut temporary in both(&directory, false, 7) {
            temporary.write_all(b"newer").unwrap();
            temporary.rename(directory.as_fd(), b"f0", true).unwrap();
        }
        assert_eq!(std::fs::read(place.path().join("f0")).unwrap(), b"newer");
        assert_eq!(names(place.path()), ["f0", "f1"]);
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over_and_a_private_file_is_private() {
        let place = tempfile::tempdir().unwrap();
        let directory = File::open(place.path()).unwrap();
        for name in names_of(7).into_iter().chain(names_of(107)) {
            std::os::unix::fs::symlink("nowhere", place.path().join(name)).unwrap();
        }
        for mut temporary in both(&directory, true, 7) {
            temporary.appear(directory.as_fd()).unwrap();
            let stat = place
                .path()
                .join(&temporary.name)
                .symlink_metadata()
                .unwrap();
            assert!(stat.is_file());
            assert_eq!(stat.permissions().mode() & 0o777, 0o600);
            temporary.vanish(directory.as_fd());
        }
        // With every name taken there is none.
        for name in super::names(7).skip(3) {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let none = Temporary::named(directory.as_fd(), true, 7);
        assert_eq!(none.map(|_| ()), Err(Errno::EXIST));
    }

    #[test]
    fn readers_may_run_a_file_if_it_is_executable() {
        let old = tempfile::tempfile().unwrap();
        let new = tempfile::tempdir().unwrap();
        let directory = File::open(new.path()).unwrap();
        let mode = |file: &File| file.metadata().unwrap().permissions().mode() & 0o7777;
        for (before, executable, after) in [
            (0o640, None, 0o640),
            (0o6751, None, 0o751),
            (0o600, Some(true), 0o700),
            (0o640, Some(true), 0o750),
            (0o644, Some(true), 0o755),
            (0o755, Some(true), 0o755),
            (0o710, Some(true), 0o710),
            (0o755, Some(false), 0o644),
        ] {
            let rights = std::fs::Permissions::from_mode(before);
            old.set_permissions(rights).unwrap();
            let stat = FileStat::of(&rustix::fs::fstat(&old).unwrap());
            for mut temporary in both(&directory, true, 7) {
                let like = Some(stat);
                temporary.take_over(Rights { like, executable }).unwrap();
                assert_eq!(mode(&temporary.file), after, "{before:o} {executable:?}");
                temporary.vanish(directory.as_fd());
            }
        }
    }

    #[test]
    fn new_content_is_not_inherited_by_a_program_that_is_started() {
        let place = tempfile::tempdir().unwrap();
        let directory = File::open(place.path()).unwrap();
        for mut temporary in both(&directory, false, 7) {
            let flags = rustix::io::fcntl_getfd(&temporary.file).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            temporary.vanish(directory.as_fd());
        }
    }

    /// The first names that are tried.
    fn names_of(nonce: u128) -> Vec<String> {
        super::names(nonce).take(3).collect()
    }
}
