//! Where protected links lead.
//!
//! A link cannot be masked, so everything on its way is guarded in its place:
//!
//! ```text
//!  a directory on the way    →  pinned, it stays the same directory
//!  another link on the way   →  compared after the command, and restored
//!  the end of the way        →  read-only; a directory is searched for more links
//!  a name that is missing    →  it may not appear
//! ```
//!
//! A way may leave the tree and come back, or end in another root or grant: the steps have
//! absolute paths, and every tree takes those that lie in it. The search after a command
//! follows nothing: it looks again at each step that was found before.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx};
use rustix::io::Errno;

use super::dir_cache::{DirCache, Inside};
use super::entry::{kind_of, look};
use super::found::{Found, Guarded, Identity, Link, Missed, Why};
use super::walk::{Search, is_opened};
use crate::command::caller::guards::ancestors;
use crate::command::inside::bind::beneath;

/// The kernel follows no more links in a row.
const MOST_LINKS: usize = 40;
/// The rule that a report names for a link that only its directory protects.
const IN_PROTECTED: &str = "a link in a protected directory";

/// A protected link of a tree.
#[derive(Clone, Debug)]
struct Lead {
    path: Vec<u8>,
    target: Vec<u8>,
    rule: String,
}

/// Something on the way of a protected link.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Absolute, and without links.
    pub(crate) path: PathBuf,
    kind: Kind,
    id: Identity,
    /// The rule that protects the link.
    rule: String,
}

#[derive(Clone, Debug)]
enum Kind {
    Directory,
    Link(Link),
    End { is_directory: bool },
    Missing,
}

/// Why a way was not followed to its end.
enum Stop {
    /// A directory on it was replaced meanwhile.
    Moved,
    Missed(Missed),
}

/// The guarded paths of a tree while steps are added to them.
struct Known {
    paths: HashSet<Vec<u8>>,
    /// Those that are no links: commands change nothing beneath them.
    covers: HashSet<Vec<u8>>,
    /// How many names to look at in directories that links lead to.
    left: usize,
}

impl Known {
    fn of(found: &Found, most: usize) -> Self {
        let masked = found.guarded.iter().filter(|known| known.is_masked());
        let paths = found.guarded.iter().map(|known| known.path.clone());
        Self {
            covers: masked.map(|known| known.path.clone()).collect(),
            paths: paths.collect(),
            left: most,
        }
    }

    fn covers(&self, path: &[u8]) -> bool {
        ancestors(path).any(|above| self.covers.contains(above))
    }
}

impl Search<'_> {
    /// Guards the ways of the protected links that were found.
    pub(super) fn guard_ways(&self, cache: &mut DirCache, found: &mut Found) {
        let inner = std::mem::take(&mut found.links);
        let guarded = found.guarded.iter().filter_map(|known| {
            let rule = match &known.why {
                Why::Protected(rule) => Some(rule),
                _ => known.also.as_ref(),
            };
            Some(Lead {
                path: known.path.clone(),
                target: known.link.as_ref()?.target.clone(),
                rule: rule?.clone(),
            })
        });
        let leads: Vec<Lead> = guarded.chain(in_protected(inner)).collect();
        if !leads.is_empty() {
            let mut known = Known::of(found, self.most);
            self.follow_all(cache, leads, &mut known, found);
        }
    }

    /// Guards the steps in this tree of ways that begin in another one.
    pub(crate) fn guard_steps(&self, cache: &mut DirCache, steps: &[&Step], found: &mut Found) {
        let mut known = Known::of(found, self.most);
        let ends = steps
            .iter()
            .filter_map(|step| self.add(step, &mut known, found));
        for end in ends.collect::<Vec<_>>() {
            let leads = self.links_beneath(cache, end, &mut known, found);
            self.follow_all(cache, leads, &mut known, found);
        }
        if std::mem::take(&mut found.moved) {
            let path = self.path.to_path_buf();
            found.missed.get_or_insert(Missed::Moving { path });
        }
        found.guarded.sort();
    }

    /// Follows links, those in directories that they lead to as well.
    fn follow_all(
        &self,
        cache: &mut DirCache,
        mut leads: Vec<Lead>,
        known: &mut Known,
        found: &mut Found,
    ) {
        let mut followed: HashSet<Vec<u8>> = HashSet::new();
        while let Some(lead) = leads.pop() {
            if !followed.insert(lead.path.clone()) || self.stays_covered(&lead, known) {
                continue;
            }
            let mut steps = Vec::new();
            match self.follow(&lead, &mut steps) {
                Ok(()) => {}
                Err(Stop::Moved) => found.moved = true,
                Err(Stop::Missed(missed)) => drop(found.missed.get_or_insert(missed)),
            }
            for step in &steps {
                if let Some(end) = self.add(step, known, found) {
                    leads.extend(self.links_beneath(cache, end, known, found));
                }
            }
            found.steps.append(&mut steps);
        }
    }

    /// Whether a link leads straight to something that is covered with it.
    fn stays_covered(&self, lead: &Lead, known: &Known) -> bool {
        let (directory, _) = split(&lead.path);
        let Some(path) = straight(directory, &lead.target) else {
            return false;
        };
        if !known.covers(&path) {
            return false;
        }
        match beneath(self.directory, &path) {
            Ok(handle) => look(&handle, c"", AtFlags::EMPTY_PATH)
                .is_ok_and(|stat| kind_of(&stat) != FileType::Symlink),
            Err(errno) => is_missing(errno),
        }
    }

    /// Adds a step that lies in this tree. Gives a directory that is to be searched for links.
    fn add(&self, step: &Step, known: &mut Known, found: &mut Found) -> Option<Vec<u8>> {
        let path = step.path.strip_prefix(self.path).ok()?;
        let path = path.as_os_str().as_bytes().to_vec();
        if path.is_empty() || known.covers(&path) {
            return None;
        }
        if matches!(step.kind, Kind::Directory) {
            found.pinned.insert(path);
            return None;
        }
        if is_opened(&self.opened, &path) || !known.paths.insert(path.clone()) {
            return None;
        }
        let mut guarded = Guarded {
            led_to: true,
            ..Guarded::new(path.clone(), Why::Protected(step.rule.clone()), step.id)
        };
        if let Kind::Link(link) = &step.kind {
            guarded.link = Some(link.clone());
        }
        found.guarded.push(guarded);
        let Kind::End { is_directory } = step.kind else {
            return None;
        };
        known.covers.insert(path.clone());
        if !is_directory {
            found.protected.insert(step.id.inode);
        }
        is_directory.then_some(path)
    }

    /// The links in a directory that a protected link leads to. The files in it are protected
    /// under their other names as well.
    fn links_beneath(
        &self,
        cache: &mut DirCache,
        directory: Vec<u8>,
        known: &mut Known,
        found: &mut Found,
    ) -> Vec<Lead> {
        let mut led = Found::default();
        let cache = cache.of_ways(self.directory);
        let start = vec![(directory, Inside::Protected)];
        self.walk(start, cache, &mut known.left, &mut led);
        cache.keep();
        found.protected.extend(led.protected);
        found.moved |= led.moved;
        found.closed_own |= led.closed_own;
        if let Some(missed) = led.missed {
            found.missed.get_or_insert(missed);
        }
        in_protected(led.links).collect()
    }

    /// Follows a link as the kernel does, and gives every step.
    fn follow(&self, lead: &Lead, steps: &mut Vec<Step>) -> Result<(), Stop> {
        let (directory, _) = split(&lead.path);
        let mut way = Way::from(self.at(directory));
        way.follow(&lead.target);
        let mut links = 0;
        // Whether the last name was looked at.
        let mut end = None;
        while let Some(name) = way.left.pop() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    way.done.pop();
                    end = None;
                    continue;
                }
                _ => {}
            }
            let path = way.done.join(OsStr::from_bytes(&name));
            let step = |kind, id| Step {
                path: path.clone(),
                kind,
                id,
                rule: lead.rule.clone(),
            };
            let (handle, stat) = match self.look_at(&path) {
                Ok(there) => there,
                Err(errno) if is_missing(errno) => {
                    // After a step back the way goes on if a directory is made here.
                    if way.left.iter().any(|name| name == b"..") {
                        steps.push(step(Kind::Missing, Identity::default()));
                        way.done.push(OsStr::from_bytes(&name));
                        end = None;
                        continue;
                    }
                    let rest = way.left.iter().rev();
                    let rest = rest.filter(|name| !matches!(name.as_slice(), b"" | b"."));
                    let mut missing = step(Kind::Missing, Identity::default());
                    missing
                        .path
                        .extend(rest.map(|name| OsStr::from_bytes(name)));
                    steps.push(missing);
                    return Ok(());
                }
                // The kernel goes no further either, or the directory is hidden as a whole.
                Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => return Ok(()),
                Err(Errno::LOOP | Errno::AGAIN) => return Err(Stop::Moved),
                Err(errno) => return Err(Stop::Missed(Missed::Unreadable { path, errno })),
            };
            let id = Identity::of(&stat);
            match kind_of(&stat) {
                FileType::Symlink => {
                    let link = link_of(&handle, &stat);
                    let link = link.map_err(|errno| {
                        Stop::Missed(Missed::Unreadable {
                            path: path.clone(),
                            errno,
                        })
                    })?;
                    way.follow(&link.target);
                    steps.push(step(Kind::Link(link), id));
                    links += 1;
                    if links > MOST_LINKS {
                        return Ok(());
                    }
                    end = None;
                }
                kind => {
                    let is_directory = kind == FileType::Directory;
                    if is_directory && self.is_tree(id) {
                        // The tree under another name: a mount of it.
                        way.done = self.path.to_path_buf();
                        end = None;
                        continue;
                    }
                    if is_directory {
                        steps.push(step(Kind::Directory, id));
                    }
                    end = Some(step(Kind::End { is_directory }, id));
                    way.done.push(OsStr::from_bytes(&name));
                }
            }
        }
        // A directory around the link cannot be read-only as a whole.
        if self.at(&lead.path).starts_with(&way.done) {
            return Ok(());
        }
        match end {
            Some(end) => steps.push(end),
            // The way ends with a step back.
            None => {
                if let Ok((_, stat)) = self.look_at(&way.done) {
                    let is_directory = kind_of(&stat) == FileType::Directory;
                    steps.push(Step {
                        path: way.done,
                        kind: Kind::End { is_directory },
                        id: Identity::of(&stat),
                        rule: lead.rule.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether a directory is the one that is searched.
    fn is_tree(&self, id: Identity) -> bool {
        let tree = rustix::fs::fstat(self.directory);
        tree.is_ok_and(|tree| tree.st_dev == id.device && tree.st_ino == id.inode)
    }

    /// Looks at an absolute path without following any link.
    fn look_at(&self, path: &Path) -> Result<(OwnedFd, Statx), Errno> {
        let handle = match path.strip_prefix(self.path) {
            Ok(rel) if !rel.as_os_str().is_empty() => {
                beneath(self.directory, rel.as_os_str().as_bytes())
            }
            _ => rustix::fs::openat2(
                CWD,
                path,
                OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
            ),
        }?;
        let stat = look(&handle, c"", AtFlags::EMPTY_PATH)?;
        Ok((handle, stat))
    }
}

/// The names on the way of a link.
#[derive(Debug)]
struct Way {
    done: PathBuf,
    /// The remaining names, the next one last.
    left: Vec<Vec<u8>>,
}

impl Way {
    fn from(directory: PathBuf) -> Self {
        Self {
            done: directory,
            left: Vec::new(),
        }
    }

    /// Goes on with what a link says.
    fn follow(&mut self, target: &[u8]) {
        if target.starts_with(b"/") {
            self.done = PathBuf::from("/");
        }
        let parts = target.split(|byte| *byte == b'/').rev();
        self.left.extend(parts.map(<[u8]>::to_vec));
    }
}

fn in_protected(links: Vec<(Vec<u8>, Vec<u8>)>) -> impl Iterator<Item = Lead> {
    links.into_iter().map(|(path, target)| Lead {
        path,
        target,
        rule: IN_PROTECTED.to_owned(),
    })
}

/// The path that a relative link leads to, where no step back follows a name: that could be
/// another link.
fn straight(directory: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let mut path = PathBuf::from(OsStr::from_bytes(directory));
    let mut has_name = false;
    for part in Path::new(OsStr::from_bytes(target)).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !has_name && path.pop() => {}
            Component::Normal(name) => {
                has_name = true;
                path.push(name);
            }
            _ => return None,
        }
    }
    Some(path.as_os_str().as_bytes().to_vec())
}

pub(crate) fn is_missing(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

pub(crate) fn link_of(handle: &OwnedFd, stat: &Statx) -> Result<Link, Errno> {
    Ok(Link {
        changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        target: rustix::fs::readlinkat(handle, c"", Vec::new())?.into_bytes(),
    })
}

/// The directory of a path and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let (directory, name) = path.split_at(at);
            (directory, name.strip_prefix(b"/").unwrap_or(name))
        }
        None => (b"", path),
    }
}
