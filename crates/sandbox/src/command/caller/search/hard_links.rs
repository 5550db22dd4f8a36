//! Other names of a guarded file: hard links to it.

use std::collections::HashSet;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, RawDir};
use rustix::io::Errno;

use super::dir_cache::{DirCache, Inside};
use super::entry::{kind_of, look};
use super::found::{Found, Guarded, Identity, Listed, Missed, Why};
use super::walk::{BUFFER, Search, join};
use crate::command::caller::guards::ancestors;

/// Up to this many newly guarded files are looked up one by one.
const FEW: usize = 16;

impl Search<'_> {
    /// Guards the other names of guarded files: hard links that no rule knows by name. Where
    /// not every name of a denied file can be known, every file with several names is denied.
    pub(crate) fn guard_links(&self, cache: &mut DirCache, known: &Inodes, found: &mut Found) {
        // A directory that did not change holds what it held: it is compared with the files
        // that are guarded since.
        let added = known.denied.difference(&cache.links.denied);
        let added = added.chain(known.protected.difference(&cache.links.protected));
        let added: Vec<u64> = added.copied().collect();
        let is_near = !known.all && added.len() <= FEW;
        let all = std::mem::take(&mut found.listed);
        let is_compared = Arc::ptr_eq(&cache.links.compared, &all);
        if is_near && added.is_empty() && is_compared && cache.links.hits.is_empty() {
            return;
        }
        let guarded = found.guarded.iter().filter(|known| known.is_masked());
        let guarded: HashSet<&[u8]> = guarded.map(|known| known.path.as_slice()).collect();
        let mut hits = HashSet::new();
        let mut links = Vec::new();
        for listed in all.iter() {
            let directory = &listed.directory;
            if is_near
                && (listed.checked || is_compared)
                && !cache.links.hits.contains(directory)
                && (added.is_empty() || !listed.inodes.iter().any(|inode| added.contains(inode)))
            {
                continue;
            }
            cache.note_checked(directory, &listed.inodes);
            let is_known =
                |inode: &u64| known.denied.contains(inode) || known.protected.contains(inode);
            if !known.all && !listed.inodes.iter().any(is_known) {
                continue;
            }
            if let Err(errno) = self.links_in(listed, known, &guarded, &mut links) {
                let path = self.at(directory);
                found
                    .missed
                    .get_or_insert(Missed::Unreadable { path, errno });
            }
            hits.insert(directory.clone());
        }
        if cache.links.denied != known.denied {
            cache.links.denied.clone_from(&known.denied);
        }
        if cache.links.protected != known.protected {
            cache.links.protected.clone_from(&known.protected);
        }
        cache.links.hits = hits;
        cache.links.compared = all;
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
            let is_guarded = |path: &[u8]| guarded.contains(path);
            if !why.hides() && (is_guarded(&path) || ancestors(&path).any(is_guarded)) {
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
}

/// The inodes of files whose other names are guarded as well.
#[derive(Debug, Default)]
pub(crate) struct Inodes {
    pub(crate) denied: HashSet<u64>,
    pub(crate) protected: HashSet<u64>,
    /// Whether a denied file may be missing here.
    pub(crate) all: bool,
}

impl Inodes {
    /// Of what was found in all trees of a command.
    pub(crate) fn of<'a>(all: impl Iterator<Item = &'a Found>) -> Self {
        let mut inodes = Self::default();
        for found in all {
            inodes.denied.extend(&found.denied);
            inodes.protected.extend(&found.protected);
            inodes.all |= found.closed_own;
        }
        inodes
    }
}
