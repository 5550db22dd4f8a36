//! A cache of directories that have not changed since an earlier search.
//!
//! The names in a directory cannot change without its change time, which no program can set.
//! So a directory that is the same inode with the same times still holds the same names, and
//! one look at it takes the place of reading it. That is only true where
//!
//! - the file system keeps the promise: those of a server or of a program may not;
//! - the times are fine enough: a directory that was changed just before it was read can be
//!   changed again within the same tick, so it is read once more next time.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::found::{Guarded, Listed};
use super::planted::{Judged, Kind};
use super::unlayerable::Unlayerable;
use crate::paths::LOCAL;

/// How old a change has to be before the time of the next one is sure to differ, where the
/// file system may keep whole seconds only.
const SETTLED: Duration = Duration::from_secs(2);
/// The same where it keeps fractions of a second: the kernel's clock ticks a hundred times
/// a second at least.
const SETTLED_FINE: Duration = Duration::from_millis(100);

/// The stamp by which a directory is known to be unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, u64),
    modified: (i64, u64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }

    /// Whether a change after this moment certainly changes the stamp.
    fn is_settled(&self, now: SystemTime) -> bool {
        let since = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let (seconds, nanos) = self.changed;
        let changed = u64::try_from(seconds)
            .map(Duration::from_secs)
            .unwrap_or_default()
            + Duration::from_nanos(nanos);
        let age = if nanos == 0 { SETTLED } else { SETTLED_FINE };
        changed + age <= since
    }
}

/// The entries of one directory that matter to a search.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// How many names there are.
    pub(crate) names: usize,
    /// The guarded ones.
    pub(crate) guarded: Vec<Guarded>,
    /// The inodes of denied files.
    pub(crate) denied: Vec<u64>,
    /// The inodes of protected files.
    pub(crate) protected: Vec<u64>,
    /// The files that are judged by what they say.
    pub(crate) judged: Vec<(Vec<u8>, Kind)>,
    /// The names by which git would know a repository, or that it would obey in one.
    pub(crate) marks: Vec<Vec<u8>>,
    /// Whether git takes the directory for a repository.
    pub(crate) repository: bool,
    /// Whether it does so only since the command: what was read then is not remembered.
    pub(crate) appeared: bool,
    /// The inodes of all files.
    pub(crate) inodes: Arc<[u64]>,
    /// The links in a protected directory, and what they say.
    pub(crate) links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether a directory lies too deep to be searched.
    pub(super) too_deep: bool,
    /// What a layer could not show.
    pub(crate) unlayerable: Option<Unlayerable>,
    /// The directories to look into.
    pub(crate) directories: Vec<(Vec<u8>, Inside)>,
}

/// The kind of tree that a directory lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing that is guarded.
    Nothing,
    /// A directory that git takes for its own by its content; paths in it begin
    /// at this byte.
    Git(usize),
    /// A protected directory: commands can read it.
    Protected,
    /// A denied directory: commands see nothing of it.
    Denied,
}

/// Where hard links to denied files were found.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// The inodes of the denied and of the protected files that were looked for.
    pub(crate) denied: HashSet<u64>,
    pub(crate) protected: HashSet<u64>,
    /// The directories with other names of them.
    pub(super) hits: HashSet<Vec<u8>>,
    /// The files compared last: those of a tree that is searched once stay the same.
    pub(crate) compared: Arc<Vec<Listed>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    inside: Inside,
    contents: Contents,
    /// Whether its files were compared with the denied ones in [`Links::denied`].
    checked: bool,
}

/// The directories of one tree, by their paths in it.
#[derive(Debug, Default)]
pub(crate) struct DirCache {
    /// The device of the tree, once it is known to keep its promise.
    device: Option<Option<u64>>,
    known: HashMap<Vec<u8>, Known>,
    next: HashMap<Vec<u8>, Known>,
    pub(crate) links: Links,
    /// The judgements of files by content.
    judged: HashMap<Vec<u8>, Judged>,
    /// The directories that protected links lead to, which are searched a second time.
    ways: Option<Box<DirCache>>,
}

impl DirCache {
    /// The cache of the directories that protected links lead to.
    pub(super) fn of_ways(&mut self, tree: BorrowedFd<'_>) -> &mut Self {
        let ways = self.ways.get_or_insert_default();
        ways.device.get_or_insert_with(|| prompt_device(tree));
        ways
    }

    /// Ends a search through a part of the tree. Nothing is forgotten.
    pub(crate) fn keep(&mut self) {
        self.known.extend(std::mem::take(&mut self.next));
    }

    /// Begins a search through this tree.
    pub(crate) fn begin(&mut self, tree: BorrowedFd<'_>) {
        if self.device.is_none() {
            self.device = Some(prompt_device(tree));
        }
        self.next = HashMap::with_capacity(self.known.len());
    }

    /// The entries of a directory, if it has not changed since it was read, and whether its files
    /// were compared with the denied ones.
    pub(super) fn recall(
        &mut self,
        tree: BorrowedFd<'_>,
        path: &[u8],
        inside: Inside,
    ) -> Option<(&Contents, bool)> {
        let known = self.known.remove(path)?;
        let at: &[u8] = if path.is_empty() { b"." } else { path };
        // A look at the wrong place, because a directory on the way was replaced meanwhile,
        // finds another stamp.
        let stat = rustix::fs::statat(tree, at, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if Stamp::of(&stat) != known.stamp || known.inside != inside {
            return None;
        }
        let known = self.next.entry(path.to_vec()).or_insert(known);
        Some((&known.contents, known.checked))
    }

    /// Remembers what was read from a directory that had this stamp before.
    pub(super) fn note(
        &mut self,
        path: Vec<u8>,
        inside: Inside,
        stamp: Stamp,
        read: SystemTime,
        of: &Contents,
    ) {
        if self.device == Some(Some(stamp.device)) && stamp.is_settled(read) {
            let known = Known {
                stamp,
                inside,
                contents: of.clone(),
                checked: false,
            };
            self.next.insert(path, known);
        }
    }

    /// Notes that the files of a directory were compared with the denied ones.
    pub(super) fn note_checked(&mut self, directory: &[u8], inodes: &Arc<[u64]>) {
        if let Some(known) = self.known.get_mut(directory)
            && Arc::ptr_eq(&known.contents.inodes, inodes)
        {
            known.checked = true;
        }
    }

    /// The judgement of a file. It is read again unless it was last changed before `since`:
    /// a program that has it mapped changes it without a trace.
    pub(super) fn judge(
        &mut self,
        tree: BorrowedFd<'_>,
        path: &[u8],
        kind: Kind,
        since: SystemTime,
    ) -> Result<Option<Judged>, Errno> {
        let known = self
            .judged
            .get(path)
            .filter(|known| known.is_older_than(since));
        let judged = Judged::at(tree, path, kind, known)?;
        if let Some(judged) = &judged {
            self.judged.insert(path.to_vec(), judged.clone());
        }
        Ok(judged)
    }

    /// Ends a search. Directories that it did not visit are forgotten.
    pub(crate) fn end(&mut self) {
        self.known = std::mem::take(&mut self.next);
    }
}

/// The device of a directory, if its file system notes every change.
fn prompt_device(directory: BorrowedFd<'_>) -> Option<u64> {
    let system = rustix::fs::fstatfs(directory.as_fd()).ok()?;
    // The kernel's numbers have 32 bits, whatever type holds them.
    let number = system.f_type & 0xFFFF_FFFF;
    let stat = rustix::fs::fstat(directory).ok()?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    (is_directory && LOCAL.contains(&number)).then_some(stat.st_dev)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::command::caller::search::found::Found;
    use crate::command::caller::search::walk::Search;
    use crate::paths::{PathRules, PathSandbox};

    fn search(sandbox: &PathSandbox, cache: &mut DirCache, now: SystemTime) -> Found {
        let root = sandbox.roots().get(0).expect("a root");
        let search = Search {
            denied: None,
            own: Default::default(),
            path: root.path(),
            after: None,
            since: SystemTime::UNIX_EPOCH,
            layers: false,
            rules: sandbox,
            directory: root.handle(),
            root: Some(0),
            writable: true,
            opened: Vec::new(),
            vacant: &[],
            most: 1000,
            now,
        };
        search.run(cache)
    }

    /// A time after which every change is old.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3600)
    }

    /// One change, and the directories whose names it changed.
    fn change(root: &Path, kind: u8, from: &str, to: &str) -> Vec<std::path::PathBuf> {
        let (from, to) = (root.join(from), root.join(to));
        let done = match kind {
            0 => std::fs::create_dir(&from),
            1 => std::fs::write(&from, "x"),
            2 => std::fs::remove_dir_all(&from).or_else(|_| std::fs::remove_file(&from)),
            _ => std::fs::rename(&from, &to),
        };
        let mut changed = vec![from];
        changed.extend((kind > 2).then_some(to));
        let parents = changed.iter().filter_map(|path| path.parent());
        done.map(|()| parents.map(Path::to_path_buf).collect())
            .unwrap_or_default()
    }

    /// A clock that ticks coarsely may give two changes one time; here each gets its own.
    fn tick(directory: &Path, before: Option<(i64, i64)>) {
        let time = || {
            directory
                .metadata()
                .map(|data| (data.ctime(), data.ctime_nsec()))
        };
        while time().is_ok_and(|now| Some(now) == before) {
            let again = directory.join("tick");
            let _ = std::fs::write(&again, "").and_then(|()| std::fs::remove_file(&again));
        }
    }

    fn path() -> impl Strategy<Value = String> {
        let name =
            prop::sample::select(vec!["a", "b", ".git", ".env", ".vscode", "hooks", "id_rsa"]);
        prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn what_is_remembered_is_what_a_new_search_finds(
            rounds in prop::collection::vec(
                prop::collection::vec((0_u8..4, path(), path()), 1..6), 1..6)
        ) {
            let directory = tempfile::tempdir().expect("a directory");
            let sandbox = PathSandbox::open(&PathRules::new(directory.path())).expect("a sandbox");
            let mut cache = DirCache::default();
            for changes in rounds {
                for (kind, from, to) in changes {
                    let root = directory.path();
                    let time = |path: &Path| {
                        path.metadata().ok().map(|data| (data.ctime(), data.ctime_nsec()))
                    };
                    let parents = [&from, &to].map(|path| root.join(path).parent().map(time));
                    let touched = change(root, kind, &from, &to);
                    for (directory, before) in touched.iter().zip(parents) {
                        tick(directory, before.flatten());
                    }
                }
                let known = search(&sandbox, &mut cache, later());
                let new = search(&sandbox, &mut DirCache::default(), later());
                prop_assert_eq!(known.guarded, new.guarded);
                prop_assert_eq!(known.missed, new.missed);
                prop_assert_eq!(known.denied, new.denied);
            }
        }
    }

    #[test]
    fn a_recent_change_is_not_cached() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join("a")).expect("a directory");
        let sandbox = PathSandbox::open(&PathRules::new(directory.path())).expect("a sandbox");
        let mut cache = DirCache::default();
        let changed = directory.path().metadata().expect("a directory").modified();
        search(&sandbox, &mut cache, changed.expect("its time"));
        assert!(cache.known.is_empty());
        search(&sandbox, &mut cache, later());
        assert_eq!(cache.known.len(), 2);
    }

    #[test]
    fn whole_second_times_are_cached_later_than_fractional_ones() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let stamp = |seconds, nanos| Stamp {
            device: 0,
            inode: 0,
            changed: (seconds, nanos),
            modified: (0, 0),
        };
        for (seconds, nanos, settled) in [
            (998, 0, true),
            (998, 1, true),
            (999, 0, false),
            (999, 900_000_000, true),
            (999, 900_000_001, false),
            (1001, 1, false),
        ] {
            assert_eq!(
                stamp(seconds, nanos).is_settled(now),
                settled,
                "{seconds} {nanos}"
            );
        }
    }

    #[test]
    fn a_file_system_that_is_not_listed_is_read_every_time() {
        let mut cache = DirCache::default();
        let proc = std::fs::File::open("/proc").expect("/proc");
        cache.begin(proc.as_fd());
        assert_eq!(cache.device, Some(None));
    }
}
