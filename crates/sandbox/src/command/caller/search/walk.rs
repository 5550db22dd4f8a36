//! Finds the guarded names in a directory tree: those that rules deny or protect.
//!
//! The search runs before a command, for the masks, and after it, for the names that the command
//! made. It fails closed:
//!
//! ```text
//!  a directory that cannot be listed or entered  →  guarded as a whole
//!  a directory deeper than a path can be long    →  guarded as a whole
//!  the tree itself cannot be listed              →  missed, the command is refused
//!  more names than the limit, any other error    →  missed, the command is refused
//! ```

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use toolgate_model::Access;

use super::dir_cache::{Contents, DirCache, Inside, Stamp};
use super::entry::{guarded, kind_at, look};
use super::found::{After, Found, Guarded, Identity, Listed, Missed, Why};
use super::planted::{Kind, RepositoryNames, judged_as};
use super::unlayerable;
use crate::paths::{DeniedBeneath, KEPT, OwnHere, PathSandbox};

/// Denied to the file tools because it can hold credentials, but git does not work
/// without it: commands see it, and cannot change it.
pub(crate) const READABLE: &str = "**/.git/**/config";
/// As a file it is protected, as a directory only parts of it are.
pub(super) const GIT: &str = ".git";
/// Names are taken from the kernel by so many bytes.
pub(crate) const BUFFER: usize = 32 << 10;
/// A directory with a longer path is guarded as a whole. One more name still fits into
/// the 4,096 bytes that the kernel takes.
pub(crate) const LONGEST: usize = 3_800;
/// Attempts to search a tree in which directories are moved meanwhile.
const SEARCHES: usize = 10;

/// A search through one directory tree.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    pub(crate) rules: &'a PathSandbox,
    /// The deny patterns in a tree that is no root.
    pub(crate) denied: Option<&'a DeniedBeneath>,
    /// Toolgate's own places in the tree.
    pub(crate) own: OwnHere,
    pub(crate) directory: BorrowedFd<'a>,
    /// Where the tree lies.
    pub(crate) path: &'a Path,
    /// The number of the root; none for a grant.
    pub(crate) root: Option<usize>,
    /// Whether commands can write there.
    pub(crate) writable: bool,
    /// Paths of this tree whose protection the user lifted.
    pub(crate) opened: Vec<Vec<u8>>,
    /// Paths that are kept vacant. Nothing beneath them can be reached.
    pub(crate) vacant: &'a [Vec<u8>],
    /// How many names to look at.
    pub(crate) most: usize,
    /// When it begins, for the cache.
    pub(crate) now: SystemTime,
    /// Judged files that were last changed before this are not read again.
    pub(crate) since: SystemTime,
    /// Whether to look for what a layer over the tree could not show.
    pub(crate) layers: bool,
    /// The result from before the command, for the search after it.
    pub(crate) after: Option<After<'a>>,
}

/// A directory that could not be read.
pub(super) enum Miss {
    /// It is not there any more.
    Gone,
    /// It cannot be listed or entered. Its owner, and that is the command, may change that.
    Closed,
    /// Anything else.
    Unknown(Errno),
}

impl Search<'_> {
    /// Looks at every name, up to the limit. Where directories are moved meanwhile, it looks
    /// again.
    pub(crate) fn run(&self, cache: &mut DirCache) -> Found {
        let mut found = self.run_once(cache);
        for _ in 1..SEARCHES {
            if !found.moved {
                return found;
            }
            found = self.run_once(cache);
        }
        if found.moved {
            let path = self.path.to_path_buf();
            found.missed.get_or_insert(Missed::Moving { path });
        }
        found
    }

    fn run_once(&self, cache: &mut DirCache) -> Found {
        let mut found = Found::default();
        let start = vec![(Vec::new(), Inside::Nothing)];
        cache.begin(self.directory);
        let to_judge = self.walk(start, cache, &mut self.most.clone(), &mut found);
        cache.end();
        match &self.after {
            _ if !self.writable => {}
            None => self.guard_ways(cache, &mut found),
            Some(after) => self.look_again(after, &mut found),
        }
        if self.writable {
            for (path, kind) in to_judge {
                match cache.judge(self.directory, &path, kind, self.since) {
                    Ok(Some(judged)) => drop(found.judged.insert(path, judged)),
                    Ok(None) => {}
                    Err(errno) => {
                        let path = self.at(&path);
                        let missed = Missed::Unreadable { path, errno };
                        found.missed.get_or_insert(missed);
                    }
                }
            }
        }
        found.guarded.sort();
        found
    }

    /// Looks at every name in these directories and beneath them. Gives the files to judge.
    pub(super) fn walk(
        &self,
        mut open: Vec<(Vec<u8>, Inside)>,
        cache: &mut DirCache,
        left: &mut usize,
        found: &mut Found,
    ) -> Vec<(Vec<u8>, Kind)> {
        let mut to_judge: Vec<(Vec<u8>, Kind)> = Vec::new();
        let mut all_listed = Vec::new();
        let mut buffer = Vec::with_capacity(BUFFER);
        while let Some((directory, inside)) = open.pop() {
            let read;
            let (contents, checked) = match cache.recall(self.directory, &directory, inside) {
                Some(known) => known,
                None => match self.read(&directory, inside, *left, &mut buffer) {
                    Ok((contents, stamp)) => {
                        read = contents;
                        if read.names <= *left && !read.appeared {
                            cache.note(directory.clone(), inside, stamp, self.now, &read);
                        }
                        (&read, false)
                    }
                    Err(Miss::Gone) => {
                        found.moved = true;
                        continue;
                    }
                    // It is hidden with the directory around it.
                    Err(_) if inside == Inside::Denied => {
                        found.closed_own |= self.is_own(&directory);
                        continue;
                    }
                    Err(Miss::Closed) => {
                        found.closed_own |= self.is_own(&directory);
                        match self.whole(&directory) {
                            Ok(guarded) => found.guarded.push(guarded),
                            Err(missed) => drop(found.missed.get_or_insert(missed)),
                        }
                        continue;
                    }
                    Err(Miss::Unknown(errno)) => {
                        let path = self.at(&directory);
                        let missed = Missed::Unreadable { path, errno };
                        found.missed.get_or_insert(missed);
                        continue;
                    }
                },
            };
            found.guarded.extend(contents.guarded.iter().cloned());
            found.denied.extend(&contents.denied);
            found.protected.extend(&contents.protected);
            found.links.extend(contents.links.iter().cloned());
            found.closed_own |= contents.too_deep;
            if found.unlayerable.is_none() {
                found.unlayerable.clone_from(&contents.unlayerable);
            }
            to_judge.extend(contents.judged.iter().cloned());
            found.marks.extend(contents.marks.iter().cloned());
            if contents.repository {
                found.repositories.insert(directory.clone());
            }
            let fresh = self.fresh_in(&contents.guarded);
            let directories = contents.directories.iter();
            // Nothing is beneath a placeholder. After the command it may be another directory.
            let is_vacant = |path| self.after.is_none() && self.vacant.contains(path);
            let directories = directories.filter(|(path, _)| !is_vacant(path));
            open.extend(directories.map(|(path, inside)| {
                // All rules apply inside directories that the command made.
                let inside = if fresh.contains(path.as_slice()) {
                    Inside::Nothing
                } else {
                    *inside
                };
                (path.clone(), inside)
            }));
            let (names, inodes) = (contents.names, Arc::clone(&contents.inodes));
            if inside == Inside::Denied {
                found.denied.extend(inodes.iter());
            } else {
                if inside == Inside::Protected {
                    found.protected.extend(inodes.iter());
                }
                let inside = match inside {
                    Inside::Git(_) => Inside::Nothing,
                    other => other,
                };
                all_listed.push(Listed {
                    directory,
                    inside,
                    inodes,
                    checked,
                });
            }
            match left.checked_sub(names) {
                Some(rest) => *left = rest,
                None => {
                    let (path, limit) = (self.path.to_path_buf(), self.most);
                    found.missed.get_or_insert(Missed::TooMany { path, limit });
                    break;
                }
            }
        }
        found.listed = Arc::new(all_listed);
        to_judge
    }

    /// Whether no rule guards this path, whatever is there.
    pub(crate) fn is_free(&self, path: &[u8]) -> bool {
        let guarded = |is_directory| self.why(path, is_directory, false).is_some();
        !guarded(true) && !guarded(false) && judged_as(path, false, false).is_none()
    }

    /// Whether nothing at this path is executed; it may be denied.
    pub(crate) fn is_harmless(&self, path: &[u8]) -> bool {
        let protected = |is_directory| self.protects(path, is_directory).is_some();
        !protected(true) && !protected(false) && judged_as(path, false, false).is_none()
    }

    /// The denied directories that a command made. Protected ones are moved as a whole.
    fn fresh_in<'a>(&self, guarded: &'a [Guarded]) -> HashSet<&'a [u8]> {
        let Some(after) = &self.after else {
            return HashSet::new();
        };
        let denied = guarded.iter().filter(|found| found.why.hides());
        let fresh = denied.filter(|found| found.also.is_none() && !after.stood(found));
        fresh.map(|found| found.path.as_slice()).collect()
    }

    fn is_own(&self, directory: &[u8]) -> bool {
        let stat = look(self.directory, directory, AtFlags::empty());
        stat.is_ok_and(|stat| stat.stx_uid == rustix::process::geteuid().as_raw())
    }

    /// A directory that is guarded as a whole. The tree itself cannot be.
    fn whole(&self, directory: &[u8]) -> Result<Guarded, Missed> {
        let path = || self.at(directory);
        if directory.is_empty() {
            return Err(Missed::Closed { path: path() });
        }
        let stat = look(self.directory, directory, AtFlags::empty());
        let stat = stat.map_err(|errno| Missed::Unreadable {
            path: path(),
            errno,
        })?;
        let id = Identity::of(&stat);
        Ok(Guarded::new(directory.to_vec(), Why::Unsearchable, id))
    }

    /// Reads one directory, one name more than the limit at most.
    fn read(
        &self,
        directory: &[u8],
        inside: Inside,
        most: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(Contents, Stamp), Miss> {
        let handle = self.enter(directory)?;
        let unknown = Miss::Unknown;
        // First: what changes from here on changes the stamp.
        let stamp = rustix::fs::fstat(&handle).map(|stat| Stamp::of(&stat));
        let stamp = stamp.map_err(unknown)?;
        let mut contents = Contents::default();
        if self.layers {
            contents.unlayerable = unlayerable::directory(&handle, directory).map_err(unknown)?;
        }
        let mut repository = RepositoryNames::default();
        let mut inodes = Vec::new();
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(unknown)?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            contents.names += 1;
            if contents.names > most {
                break;
            }
            let path = join(directory, name.to_bytes());
            let kind = match entry.file_type() {
                FileType::Unknown => kind_at(&handle, name),
                kind => kind,
            };
            let is_directory = kind == FileType::Directory;
            if self.layers && contents.unlayerable.is_none() {
                contents.unlayerable = unlayerable::entry(&handle, name, kind, &path);
            }
            if kind == FileType::RegularFile {
                inodes.push(entry.ino());
            }
            if inside == Inside::Denied {
                if is_directory && path.len() <= LONGEST {
                    contents.directories.push((path, inside));
                } else {
                    contents.too_deep |= is_directory;
                }
                continue;
            }
            repository.note(name.to_bytes());
            let why = self.why(&path, is_directory, inside == Inside::Protected);
            let why = why.or_else(|| self.protects_in_git(&path, inside));
            let within = match &why {
                Some(Why::Denied(_) | Why::Own) => Inside::Denied,
                Some(_) => Inside::Protected,
                None => inside,
            };
            let is_inner_link = kind == FileType::Symlink && why.is_none() && self.writable;
            if is_inner_link && inside == Inside::Protected {
                match rustix::fs::readlinkat(&handle, name, Vec::new()) {
                    Ok(target) => contents.links.push((path, target.into_bytes())),
                    Err(Errno::NOENT | Errno::INVAL) => {}
                    Err(errno) => return Err(unknown(errno)),
                }
                continue;
            }
            if kind == FileType::RegularFile && why.is_some() {
                match within {
                    Inside::Denied => contents.denied.push(entry.ino()),
                    _ => contents.protected.push(entry.ino()),
                }
            }
            if let Some(why) = why {
                let also = match why {
                    Why::Denied(_) => self.protects(&path, is_directory),
                    _ => None,
                };
                match guarded(&handle, name, path.clone(), why) {
                    Ok(guarded) => contents.guarded.push(Guarded { also, ..guarded }),
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(unknown(errno)),
                }
            }
            if is_directory {
                if path.len() <= LONGEST {
                    contents.directories.push((path, within));
                    continue;
                }
                contents.too_deep = true;
                if within != Inside::Denied {
                    let whole = guarded(&handle, name, path, Why::Unsearchable);
                    contents.guarded.push(whole.map_err(unknown)?);
                }
            } else if within != Inside::Protected
                && within != Inside::Denied
                && let in_git = matches!(within, Inside::Git(_))
                && let Some(kind) = judged_as(&path, kind == FileType::Symlink, in_git)
                && !is_opened(&self.opened, &path)
                && !self.is_named(&path)
            {
                contents.judged.push((path, kind));
            }
        }
        contents.inodes = inodes.into();
        if inside == Inside::Nothing && self.writable {
            let marks = repository.all().map(|name| join(directory, name));
            contents.marks = marks.collect();
            contents.repository = repository.is_one();
        }
        if contents.repository {
            self.guard_repository(&handle, directory, &repository, &mut contents)?;
        }
        Ok((contents, stamp))
    }

    pub(super) fn is_named(&self, path: &[u8]) -> bool {
        self.root
            .is_some_and(|root| self.rules.is_named(root, path))
    }

    pub(super) fn why(&self, path: &[u8], is_directory: bool, protected: bool) -> Option<Why> {
        let name = Path::new(OsStr::from_bytes(path));
        if self.own.closes_path(name) {
            return Some(Why::Own);
        }
        let denied = match self.denied {
            Some(denied) => denied.by(name, !is_directory),
            None => self.rules.denied_by(name, !is_directory),
        };
        match denied {
            // Of this directory the user opened a part: the rest is hidden name by name.
            Some(_) if is_directory && self.has_lifted_in(name) => return None,
            Some(rule) if rule != READABLE => match self.lifted(name) {
                None => return Some(Why::Denied(rule.to_owned())),
                Some(Access::Read) if self.writable => {
                    return Some(Why::Protected(rule.to_owned()));
                }
                Some(_) => {}
            },
            _ => {}
        }
        if protected {
            return None;
        }
        self.protects(path, is_directory).map(Why::Protected)
    }

    /// The rule that protects a path.
    pub(super) fn protects(&self, path: &[u8], is_directory: bool) -> Option<String> {
        let name = Path::new(OsStr::from_bytes(path));
        if !self.writable || is_opened(&self.opened, path) {
            return None;
        }
        if self.own.keeps_path(name) {
            return Some(KEPT.to_owned());
        }
        let rule = match self.root {
            Some(root) => self.rules.protected_by(root, name),
            None => self.rules.protected_in(self.path, name),
        }?;
        (rule != GIT || !is_directory).then(|| rule.to_owned())
    }

    /// Opens a directory that can be listed and whose names can be looked at.
    fn enter(&self, directory: &[u8]) -> Result<OwnedFd, Miss> {
        let open = || {
            let handle = self.open(directory)?;
            rustix::fs::accessat(&handle, c".", rustix::fs::Access::EXEC_OK, AtFlags::empty())?;
            Ok(handle)
        };
        let mut opened = open();
        if matches!(opened, Err(Errno::ACCESS | Errno::PERM))
            && let Some(after) = &self.after
            && after.reopened.open(directory)
        {
            opened = open();
        }
        opened.map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Miss::Gone,
            Errno::ACCESS | Errno::PERM => Miss::Closed,
            errno => Miss::Unknown(errno),
        })
    }

    pub(crate) fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path: &[u8] = if path.is_empty() { b"." } else { path };
        rustix::fs::openat2(
            self.directory,
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
    }

    /// The whole path of something in the tree.
    pub(crate) fn at(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }
}

/// Whether the user opened this path, or one above it.
pub(crate) fn is_opened(opened: &[Vec<u8>], path: &[u8]) -> bool {
    opened.iter().any(|opened| {
        path.strip_prefix(opened.as_slice())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        name.to_vec()
    } else {
        [directory, b"/", name].concat()
    }
}
