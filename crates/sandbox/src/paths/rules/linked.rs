//! Files with several names, one of which is denied.
//!
//! A hard link shows the content of a denied file under a harmless name. Which files are
//! denied is looked up by device and inode, in an index that a search of the roots makes:
//!
//! ```text
//!  open a file with nlink > 1 ──▶ index still true for it? ──no──▶ search the roots ──▶ index
//!                                        └──yes──▶ is its inode in the index? ──▶ denied or not
//! ```
//!
//! The index holds every denied file, linked or not. A file that gets a further name gets a
//! new change time with it, so an index that is younger than the file's change time still
//! knows all of its names. Renaming a directory changes no file in it; therefore an index is
//! not used for long.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use toolgate_model::Access;

use super::fold::Folded;
use super::guard::folded;
use super::own::CLOSED;
use super::patterns::Scope;
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, PathError};
use crate::paths::message::shown;
use crate::paths::read::directory::{self, Name};
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::missing::join;
use crate::paths::resolve::{Miss, Want};

/// How many names of a root are looked at.
const MOST: usize = 500_000;
/// How long an index is used.
const LONGEST: Duration = Duration::from_secs(10);
/// The same where change times are not those of this machine's clock.
const LONGEST_REMOTE: Duration = Duration::from_secs(1);
/// The kernel's clock for change times ticks a hundred times a second at least.
const TICK: Duration = Duration::from_millis(20);
/// The same where a file system keeps whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// File systems of the kernel itself, which sets their change times and notes every change
/// of a directory.
pub(crate) const LOCAL: [i64; 8] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x0102_1994, // tmpfs
    0x794C_7630, // overlay
    0xF2F5_2010, // F2FS
    0xCA45_1A4E, // bcachefs
    0x8584_58F6, // ramfs
];

/// Another name of a file, and what denies it.
#[derive(Clone, Debug)]
struct DeniedName {
    name: String,
    pattern: String,
}

/// Why an index may lack a denied file.
#[derive(Clone, Debug)]
enum Unsearched {
    /// This directory may not be listed.
    Closed(String),
    /// There are too many names, or a directory could not be read.
    Other,
}

/// The denied files of all roots.
#[derive(Debug)]
struct Index {
    denied: HashMap<(u64, u64), DeniedName>,
    unsearched: Option<Unsearched>,
    /// Before the search began.
    started: SystemTime,
    made: Instant,
}

/// The index of denied files.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    index: Mutex<Option<Index>>,
}

impl PathSandbox {
    /// Refuses a regular file that has a denied name as well.
    pub(crate) fn check_links(&self, asked: &[u8], stat: &Stat) -> Result<(), PathError> {
        let nothing_denied = self.inner.denied.is_empty() && self.inner.own.closed.is_empty();
        if stat.st_nlink < 2 || nothing_denied {
            return Ok(());
        }
        self.check_links_within(asked, stat, MOST)
    }

    fn check_links_within(&self, asked: &[u8], stat: &Stat, most: usize) -> Result<(), PathError> {
        // A search that panicked left nothing half-made behind.
        let index = self.inner.linked.index.lock();
        let mut index = index.unwrap_or_else(PoisonError::into_inner);
        index.take_if(|known| !known.is_true_for(stat, self.is_local()));
        let index = index.get_or_insert_with(|| self.search_denied(most));
        let other = index.denied.get(&FileStat::of(stat).identity);
        let (other, unlisted) = match (other, &index.unsearched) {
            (Some(DeniedName { name, pattern }), _) => {
                (Some((name.clone(), pattern.clone())), None)
            }
            (None, None) => return Ok(()),
            (None, Some(Unsearched::Closed(directory))) => (None, Some(directory.clone())),
            (None, Some(Unsearched::Other)) => (None, None),
        };
        Err(PathError::Linked {
            path: shown(asked),
            other,
            unlisted,
        })
    }

    /// Whether change times in the roots are those of this machine's clock.
    fn is_local(&self) -> bool {
        self.inner.roots.iter().all(|root| {
            let system = rustix::fs::fstatfs(root.handle());
            // The kernel's numbers have 32 bits, whatever type holds them.
            system.is_ok_and(|system| LOCAL.contains(&(system.f_type & 0xFFFF_FFFF)))
        })
    }

    /// Searches every root for denied files.
    fn search_denied(&self, most: usize) -> Index {
        let mut index = Index {
            denied: HashMap::new(),
            unsearched: None,
            started: SystemTime::now(),
            made: Instant::now(),
        };
        for root in 0..self.inner.roots.iter().count() {
            let mut left = most;
            // A directory and the pattern that denies all in it.
            let mut open: Vec<(Vec<u8>, Option<String>)> = vec![(Vec::new(), None)];
            while let Some((directory, denied)) = open.pop() {
                let read = self.denied_in(root, &directory, denied, left, &mut index);
                match read {
                    Ok((names, directories)) => {
                        left -= names.min(left);
                        open.extend(directories);
                    }
                    Err(Miss::Missing | Miss::NotDirectory | Miss::Loop | Miss::LeadsOut(_)) => {}
                    Err(Miss::System(Errno::ACCESS | Errno::PERM)) => {
                        self.note_closed(root, &directory, &mut index);
                    }
                    Err(_) => index.lacks(Unsearched::Other),
                }
                if left == 0 {
                    index.lacks(Unsearched::Other);
                    break;
                }
            }
        }
        self.note_own(most, &mut index);
        index
    }

    /// Notes Toolgate's own files, which mostly lie outside of every root. A place that cannot be
    /// looked at is one that this user could not have linked from either.
    fn note_own(&self, most: usize, index: &mut Index) {
        let mut left = most;
        let mut open = self.inner.own.closed.clone();
        while let Some(place) = open.pop() {
            let Ok(stat) = rustix::fs::lstat(&place) else {
                continue;
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let name = place.display().to_string();
                    let pattern = CLOSED.to_owned();
                    let denied = DeniedName { name, pattern };
                    index.denied.insert(FileStat::of(&stat).identity, denied);
                }
                FileType::Directory => {
                    let entries = std::fs::read_dir(&place).into_iter().flatten();
                    let before = open.len();
                    open.extend(entries.flatten().map(|entry| entry.path()).take(left));
                    left -= (open.len() - before).min(left);
                }
                _ => {}
            }
        }
        if left == 0 {
            index.lacks(Unsearched::Other);
        }
    }

    /// Notes a directory that may not be listed, unless none of its files has a name elsewhere.
    ///
    /// A file gets a further name by a path through its directory, which takes the right to
    /// search that directory but not the right to list it. The owner can grant both at any
    /// time. A directory of another user that is closed altogether, such as the volume of a
    /// database, is therefore no reason to refuse every file with several names.
    fn note_closed(&self, root: usize, directory: &[u8], index: &mut Index) {
        let mut at = directory;
        let found = loop {
            match self.look_up(root, at, Want::Directory) {
                // The directory itself cannot be reached: those above it decide.
                Err(Miss::System(Errno::ACCESS | Errno::PERM)) if !at.is_empty() => {
                    let end = at.iter().rposition(|b| *b == b'/').unwrap_or(0);
                    at = at.get(..end).unwrap_or_default();
                }
                other => break other,
            }
        };
        let may_link = match found {
            Ok(found) => may_link_from(&found.fd),
            Err(Miss::Missing | Miss::NotDirectory | Miss::Loop | Miss::LeadsOut(_)) => false,
            Err(_) => true,
        };
        if may_link {
            index.lacks(Unsearched::Closed(self.name_bytes(root, directory)));
        }
    }

    /// Notes the denied files of one directory; returns how many names it has, and its directories.
    #[allow(clippy::type_complexity)]
    fn denied_in(
        &self,
        root: usize,
        directory: &[u8],
        denied: Option<String>,
        most: usize,
        index: &mut Index,
    ) -> Result<(usize, Vec<(Vec<u8>, Option<String>)>), Miss> {
        let found = self.look_up(root, directory, Want::List)?;
        // A link took the place of the directory; its target is searched by itself.
        if found.moved_to.is_some() {
            return Ok((0, Vec::new()));
        }
        let names = directory::names(&found.fd, most).map_err(|unread| match unread.errno {
            Some(errno) => Miss::System(errno),
            None => Miss::TooDeep,
        })?;
        let count = names.len();
        let path = folded(directory).into_owned();
        let rules = self.inner.denied.inside(&path);
        let own = self.own_in(root).filter(|own| !own.closes_nothing());
        let mut directories = Vec::new();
        for Name { name, kind } in names {
            if !matches!(
                kind,
                FileKind::File | FileKind::Directory | FileKind::Unknown
            ) {
                continue;
            }
            let closed = || own.is_some_and(|own| own.closes(&path.child(&name)));
            let is_directory = kind == FileKind::Directory;
            let pattern = match &denied {
                Some(pattern) => Some(pattern.clone()),
                None if closed() => Some(CLOSED.to_owned()),
                None if rules.fit(&name, kind)
                    && !self.is_lifted(root, &join(directory, &name), Access::Read) =>
                {
                    Some(self.pattern_of(&path.child(&name)))
                }
                None => None,
            };
            // Without a kind the system has to be asked, whatever the name is.
            let stat = if kind == FileKind::Unknown || (!is_directory && pattern.is_some()) {
                match rustix::fs::statat(&found.fd, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => Some(FileStat::of(&stat)),
                    Err(Errno::NOENT) => None,
                    // Listed, but not to be searched.
                    Err(Errno::ACCESS | Errno::PERM) => {
                        self.note_closed(root, directory, index);
                        None
                    }
                    Err(_) => {
                        index.lacks(Unsearched::Other);
                        None
                    }
                }
            } else {
                None
            };
            let kind = stat.map_or(kind, |stat| stat.kind);
            match (kind, stat, pattern) {
                (FileKind::Directory, _, pattern) => {
                    directories.push((join(directory, &name), pattern))
                }
                (FileKind::File, Some(stat), Some(pattern)) => {
                    let name = self.name_bytes(root, &join(directory, &name));
                    index
                        .denied
                        .insert(stat.identity, DeniedName { name, pattern });
                }
                _ => {}
            }
        }
        Ok((count, directories))
    }

    /// The pattern that denies a path.
    fn pattern_of(&self, path: &Folded<'_>) -> String {
        let denied = &self.inner.denied;
        let pattern = denied.find(path, Scope::Last);
        let pattern = pattern.or_else(|| denied.find_file(path));
        pattern.unwrap_or_default().to_owned()
    }
}

/// Whether the current user can give a file of this directory a further name.
fn may_link_from(directory: &OwnedFd) -> bool {
    let owner = rustix::fs::fstat(directory).map(|stat| stat.st_uid);
    if owner.is_ok_and(|owner| owner != rustix::process::geteuid().as_raw()) {
        // Search is what opening a name in it takes, whatever grants it.
        let here = rustix::fs::openat(
            directory,
            ".",
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        );
        return !matches!(here, Err(Errno::ACCESS | Errno::PERM));
    }
    true
}

impl Index {
    /// Notes why it is not complete; the first reason is reported.
    fn lacks(&mut self, why: Unsearched) {
        self.unsearched.get_or_insert(why);
    }

    /// Whether it knows every name that this file has.
    fn is_true_for(&self, stat: &Stat, local: bool) -> bool {
        let age = self.made.elapsed();
        if !local {
            return age < LONGEST_REMOTE;
        }
        let nanos = u64::from(u32::try_from(stat.st_ctime_nsec).unwrap_or(u32::MAX));
        let seconds = u64::try_from(stat.st_ctime).unwrap_or(0);
        let tick = if nanos == 0 { COARSE_TICK } else { TICK };
        let changed = Duration::from_secs(seconds) + Duration::from_nanos(nanos) + tick;
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH);
        age < LONGEST && started.is_ok_and(|started| changed <= started)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::path::Path;

    use super::*;
    use crate::paths::PathRules;

    fn place() -> (tempfile::TempDir, PathSandbox) {
        let place = tempfile::tempdir().unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(place.path())).unwrap();
        (place, sandbox)
    }

    fn stat(path: &Path) -> Stat {
        rustix::fs::fstat(std::fs::File::open(path).unwrap().as_fd()).unwrap()
    }

    fn made(sandbox: &PathSandbox) -> Option<Instant> {
        let index = sandbox.inner.linked.index.lock().unwrap();
        index.as_ref().map(|index| index.made)
    }

    #[test]
    fn files_that_did_not_change_since_a_search_need_no_other() {
        let (place, sandbox) = place();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("store")).unwrap();
        for name in ["a", "b"] {
            std::fs::write(at("store").join(name), "x").unwrap();
            std::fs::hard_link(at("store").join(name), at(name)).unwrap();
        }
        std::fs::write(at("alone"), "x").unwrap();
        sandbox.check_links(b"alone", &stat(&at("alone"))).unwrap();
        assert_eq!(made(&sandbox), None, "one name needs no search");
        let old = |name: &str| {
            let mut stat = stat(&at(name));
            stat.st_ctime -= 60;
            stat
        };
        sandbox.check_links(b"a", &old("a")).unwrap();
        let first = made(&sandbox);
        sandbox.check_links(b"b", &old("b")).unwrap();
        assert_eq!(made(&sandbox), first);
        // A file that changed since may have got a name since.
        let mut changed = old("b");
        changed.st_ctime += 3600;
        sandbox.check_links(b"b", &changed).unwrap();
        assert_ne!(made(&sandbox), first);
    }

    #[test]
    fn a_search_that_is_not_complete_denies_what_it_did_not_find() {
        let (place, sandbox) = place();
        let at = |name: &str| place.path().join(name);
        for name in ["a", ".env", "c", "d"] {
            std::fs::write(at(name), "x").unwrap();
        }
        std::fs::hard_link(at("a"), at("b")).unwrap();
        let check = |most| sandbox.check_links_within(b"b", &stat(&at("b")), most);
        let error = check(3).unwrap_err();
        assert_eq!(error.kind(), toolgate_model::ErrorKind::DeniedPattern);
        assert!(error.to_string().contains("not every name"), "{error}");
        *sandbox.inner.linked.index.lock().unwrap() = None;
        check(100).unwrap();
    }

    #[test]
    fn an_index_is_true_for_older_files_and_not_for_long() {
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let index = |age| Index {
            denied: HashMap::new(),
            unsearched: None,
            started,
            made: Instant::now().checked_sub(age).unwrap(),
        };
        let (young, middle, old) = (
            Duration::ZERO,
            LONGEST_REMOTE + TICK,
            LONGEST + Duration::from_secs(1),
        );
        let (place, _sandbox) = place();
        let mut said = stat(place.path());
        for (seconds, nanos, age, local, wanted) in [
            (999, 1, young, true, true),
            (999, 980_000_000, young, true, true),
            (999, 980_000_001, young, true, false),
            (998, 0, young, true, true),
            (999, 0, young, true, false),
            (1001, 1, young, true, false),
            (900, 1, middle, true, true),
            (900, 1, old, true, false),
            (1001, 1, young, false, true),
            (900, 1, middle, false, false),
        ] {
            said.st_ctime = seconds;
            said.st_ctime_nsec = nanos;
            let answer = index(age).is_true_for(&said, local);
            assert_eq!(answer, wanted, "{seconds} {nanos} {age:?} {local}");
        }
    }
}
