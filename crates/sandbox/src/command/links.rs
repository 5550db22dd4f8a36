//! Other ways to a guarded file: hard links to it, and links that lead to it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use super::bind::beneath;
use super::found::{Found, Guarded, Identity, Listed, Missed, Why};
use super::memory::{Inside, Memory};
use super::search::{BUFFER, Search, join, kind_of, look};

/// So many links in a row are followed to what a protected link leads to.
const MOST_LINKS: usize = 8;

impl Search<'_> {
    /// Guards the other names of guarded files: hard links that no rule knows by name. Where
    /// not every name of a denied file can be known, every file with several names is denied.
    pub(super) fn guard_links(&self, memory: &mut Memory, known: &Inodes, found: &mut Found) {
        // Where neither the guarded files nor a directory changed, it holds what it held.
        let same = memory.links.denied == known.denied
            && memory.links.protected == known.protected
            && !known.all;
        let guarded = found.guarded.iter();
        let guarded: HashSet<&[u8]> = guarded.map(|known| known.path.as_slice()).collect();
        let mut hits = HashSet::new();
        let mut links = Vec::new();
        for listed in std::mem::take(&mut found.listed) {
            let directory = &listed.directory;
            if same && listed.checked && !memory.links.hits.contains(directory) {
                continue;
            }
            memory.note_checked(directory, &listed.inodes);
            let is_known =
                |inode: &u64| known.denied.contains(inode) || known.protected.contains(inode);
            if !known.all && !listed.inodes.iter().any(is_known) {
                continue;
            }
            if let Err(errno) = self.links_in(&listed, known, &guarded, &mut links) {
                let path = self.at(directory);
                found
                    .missed
                    .get_or_insert(Missed::Unreadable { path, errno });
            }
            hits.insert(listed.directory);
        }
        if !same {
            memory.links.denied = known.denied.clone();
            memory.links.protected = known.protected.clone();
        }
        memory.links.hits = hits;
        if !links.is_empty() {
            found.guarded.append(&mut links);
            found.guarded.sort();
        }
    }

    fn links_in(
        &self,
        listed: &Listed,
        known: &Inodes,
        guarded: &HashSet<&[u8]>,
        links: &mut Vec<Guarded>,
    ) -> Result<(), Errno> {
        let handle = match self.open(&listed.directory) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let inode = entry.ino();
            let why = if known.denied.contains(&inode) {
                Why::Denied("a hard link to a denied file".to_owned())
            } else if known.protected.contains(&inode) && listed.inside == Inside::Nothing {
                Why::Protected("a hard link to a protected file".to_owned())
            } else if known.all {
                Why::Denied("a file with other names in a place that cannot be searched".to_owned())
            } else {
                continue;
            };
            let path = join(&listed.directory, name.to_bytes());
            if guarded.contains(path.as_slice()) && !why.hides() {
                continue;
            }
            if let Ok(stat) = look(&handle, name, AtFlags::empty())
                && kind_of(&stat) == FileType::RegularFile
                && stat.stx_nlink > 1
            {
                links.push(Guarded::new(path, why, Identity::of(&stat)));
            }
        }
        Ok(())
    }

    /// A protected link cannot be masked; what it leads to is guarded in its place.
    pub(super) fn add_link_targets(&self, guarded: &mut Vec<Guarded>) {
        let mut targets = Vec::new();
        let known: HashSet<&[u8]> = guarded.iter().map(|known| known.path.as_slice()).collect();
        for link in guarded.iter().filter(|known| known.link.is_some()) {
            let Why::Protected(rule) = &link.why else {
                continue;
            };
            // A link that the command made is moved aside itself. What it leads to is not the
            // command's.
            if self.after.is_some_and(|after| !after.stood(link)) {
                continue;
            }
            if let Some((path, id)) = self.target_of(link)
                && !targets.iter().any(|other: &Guarded| other.path == path)
                && !known.contains(path.as_slice())
            {
                targets.push(Guarded {
                    led_to: true,
                    ..Guarded::new(path, Why::Protected(rule.clone()), id)
                });
            }
        }
        guarded.append(&mut targets);
    }

    /// What a link leads to, where that lies in the same tree and not around the link.
    fn target_of(&self, link: &Guarded) -> Option<(Vec<u8>, Identity)> {
        let mut way = Way::from(&link.path);
        way.follow(self.path, &link.link.as_ref()?.target)?;
        let mut links = 0;
        let mut last = None;
        while let Some(path) = way.step()? {
            let handle = beneath(self.folder, &path).ok()?;
            let stat = look(&handle, c"", AtFlags::EMPTY_PATH).ok()?;
            if kind_of(&stat) == FileType::Symlink {
                links += 1;
                let target = rustix::fs::readlinkat(&handle, c"", Vec::new()).ok()?;
                way.done.pop();
                way.follow(self.path, &target.into_bytes())?;
                if links > MOST_LINKS {
                    return None;
                }
                last = None;
            } else {
                last = Some((path, Identity::of(&stat)));
            }
        }
        // The way may end with a step back.
        let at = way.done.join(b"/".as_slice());
        let around = link.path.strip_prefix(at.as_slice());
        if at.is_empty() || around.is_some_and(|rest| rest.starts_with(b"/")) {
            return None;
        }
        match last {
            Some((path, id)) if path == at => Some((path, id)),
            _ => {
                let stat = look(self.folder, at.as_slice(), AtFlags::empty()).ok()?;
                Some((at, Identity::of(&stat)))
            }
        }
    }
}

/// The way that a link leads, name by name.
#[derive(Debug)]
struct Way {
    done: Vec<Vec<u8>>,
    /// What is left, the next name last.
    left: Vec<Vec<u8>>,
}

impl Way {
    /// Begins in the directory of a link.
    fn from(link: &[u8]) -> Self {
        let mut done: Vec<Vec<u8>> = link
            .split(|byte| *byte == b'/')
            .map(<[u8]>::to_vec)
            .collect();
        done.pop();
        Self {
            done,
            left: Vec::new(),
        }
    }

    /// Goes on with what a link says; none where that is outside of the tree.
    fn follow(&mut self, tree: &Path, target: &[u8]) -> Option<()> {
        let target = if target.starts_with(b"/") {
            self.done.clear();
            let target = Path::new(OsStr::from_bytes(target));
            target.strip_prefix(tree).ok()?.as_os_str().as_bytes()
        } else {
            target
        };
        let parts = target.split(|byte| *byte == b'/').rev();
        self.left.extend(parts.map(<[u8]>::to_vec));
        Some(())
    }

    /// The path of the next name; none at the end of the way. Nothing where it leads outside.
    #[allow(clippy::option_option)]
    fn step(&mut self) -> Option<Option<Vec<u8>>> {
        while let Some(part) = self.left.pop() {
            match part.as_slice() {
                b"" | b"." => {}
                b".." => drop(self.done.pop()?),
                _ => {
                    self.done.push(part);
                    return Some(Some(self.done.join(b"/".as_slice())));
                }
            }
        }
        Some(None)
    }
}

/// The inodes of files whose other names are guarded as well.
#[derive(Debug, Default)]
pub(super) struct Inodes {
    pub(super) denied: HashSet<u64>,
    pub(super) protected: HashSet<u64>,
    /// Whether a denied file may be missing here.
    pub(super) all: bool,
}

impl Inodes {
    /// Of what was found in all trees of a command.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Found>) -> Self {
        let mut inodes = Self::default();
        for found in all {
            inodes.denied.extend(&found.denied);
            inodes.protected.extend(&found.protected);
            inodes.all |= found.closed_own;
        }
        inodes
    }
}
