//! Other ways to a guarded file: hard links to it, and links that lead to it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use super::bind::beneath;
use super::found::{Found, Guarded, Identity, Missed, Why};
use super::memory::Memory;
use super::search::{BUFFER, Search, join, kind_of, look};

/// So many links in a row are followed to what a protected link leads to.
const MOST_LINKS: usize = 8;

impl Search<'_> {
    /// Guards the other names of denied files: hard links that no rule knows by name.
    pub(super) fn guard_links(
        &self,
        memory: &mut Memory,
        denied: &HashSet<u64>,
        found: &mut Found,
    ) {
        // Where neither the denied files nor a directory changed, it holds what it held.
        let same = memory.links.denied == *denied;
        let hidden = found.guarded.iter().filter(|known| known.why.hides());
        let hidden: HashSet<&[u8]> = hidden.map(|known| known.path.as_slice()).collect();
        let mut hits = HashSet::new();
        let mut links = Vec::new();
        for listed in std::mem::take(&mut found.listed) {
            let directory = &listed.directory;
            let known = same && listed.checked && !memory.links.hits.contains(directory);
            if known {
                continue;
            }
            memory.note_checked(directory, &listed.inodes);
            if !listed.inodes.iter().any(|inode| denied.contains(inode)) {
                continue;
            }
            if let Err(errno) = self.links_in(directory, denied, &hidden, &mut links) {
                let path = self.at(directory);
                found
                    .missed
                    .get_or_insert(Missed::Unreadable { path, errno });
            }
            hits.insert(listed.directory);
        }
        if !same {
            memory.links.denied = denied.clone();
        }
        memory.links.hits = hits;
        if !links.is_empty() {
            found.guarded.append(&mut links);
            found.guarded.sort();
        }
    }

    fn links_in(
        &self,
        directory: &[u8],
        denied: &HashSet<u64>,
        hidden: &HashSet<&[u8]>,
        links: &mut Vec<Guarded>,
    ) -> Result<(), Errno> {
        let handle = match self.open(directory) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let path = join(directory, name.to_bytes());
            if !denied.contains(&entry.ino()) || hidden.contains(path.as_slice()) {
                continue;
            }
            if let Ok(stat) = look(&handle, name, AtFlags::empty())
                && kind_of(&stat) == FileType::RegularFile
                && stat.stx_nlink > 1
            {
                links.push(Guarded {
                    path,
                    why: Why::Denied("a hard link to a denied file".to_owned()),
                    link: None,
                    id: Identity::of(&stat),
                });
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
            if let Some((path, id)) = self.target_of(link)
                && !targets.iter().any(|other: &Guarded| other.path == path)
                && !known.contains(path.as_slice())
            {
                targets.push(Guarded {
                    path,
                    why: Why::Protected(rule.clone()),
                    link: None,
                    id,
                });
            }
        }
        guarded.append(&mut targets);
    }

    /// What a link leads to, where that lies in the same tree and not around the link.
    fn target_of(&self, link: &Guarded) -> Option<(Vec<u8>, Identity)> {
        let mut at = link.path.clone();
        let mut target = link.link.as_ref()?.target.clone();
        for _ in 0..MOST_LINKS {
            at = lexical(self.path, &at, &target)?;
            let around = link.path.strip_prefix(at.as_slice());
            if at.is_empty() || around.is_some_and(|rest| rest.starts_with(b"/")) {
                return None;
            }
            match beneath(self.folder, &at) {
                Ok(handle) => {
                    let stat = look(&handle, c"", AtFlags::EMPTY_PATH).ok()?;
                    if kind_of(&stat) != FileType::Symlink {
                        return Some((at, Identity::of(&stat)));
                    }
                    let next = rustix::fs::readlinkat(&handle, c"", Vec::new());
                    target = next.ok()?.into_bytes();
                }
                Err(_) => return None,
            }
        }
        None
    }
}

/// Where a link in a tree leads by its words alone; none where that is outside.
fn lexical(tree: &Path, link: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let target = if target.starts_with(b"/") {
        let target = Path::new(OsStr::from_bytes(target));
        target.strip_prefix(tree).ok()?.as_os_str().as_bytes()
    } else {
        parts.extend(link.split(|byte| *byte == b'/'));
        parts.pop();
        target
    };
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(b"/".as_slice()))
}
