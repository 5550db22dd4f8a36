//! The names in a directory.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, RawDir};
use rustix::io::Errno;
use toolgate_model::Access;

use super::stat::{FileStat, kind_of};
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, Limit, PathError};
use crate::paths::resolve::Want;
use crate::paths::resolve::missing::join;
use crate::paths::rules::guard::folded;

/// More names than this in one directory are refused: sorting needs all of them in memory.
pub(crate) const MOST_NAMES: usize = 500_000;

/// A name as the directory itself lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: FileKind,
}

/// Why the names are not complete, and those that came before.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) before: Vec<Name>,
    /// `None` when there were more than the limit.
    pub(crate) errno: Option<Errno>,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name, without any directory.
    pub name: OsString,
    /// Its type; links are not followed.
    pub kind: FileKind,
    /// More about it, unless it vanished or the system refused.
    pub stat: Option<FileStat>,
}

impl PathSandbox {
    /// The entries of a directory, sorted by name as bytes, without those that are denied.
    pub fn read_dir(&self, path: impl AsRef<Path>) -> Result<Vec<DirectoryEntry>, PathError> {
        let request = self.request(path.as_ref(), Access::Read)?;
        let found = self.find(&request, Want::List, Access::Read)?;
        let mut names = names(&found.fd, MOST_NAMES).map_err(|unread| match unread.errno {
            Some(errno) => PathError::system(request.raw, errno),
            None => PathError::TooLarge {
                path: request.shown(),
                limit: Limit::Names(MOST_NAMES),
            },
        })?;
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let real = found.moved_to.as_deref();
        Ok(names
            .into_iter()
            .filter_map(|entry| {
                let stat = rustix::fs::statat(&found.fd, &*entry.name, AtFlags::SYMLINK_NOFOLLOW);
                let stat = stat.ok().map(|stat| FileStat::of(&stat));
                let kind = stat.map_or(entry.kind, |stat| stat.kind);
                let hidden = [Some(&*request.rel), real]
                    .into_iter()
                    .flatten()
                    .any(|dir| self.is_denied_entry(found.root, &join(dir, &entry.name), kind));
                (!hidden).then(|| DirectoryEntry {
                    name: OsString::from_vec(entry.name),
                    kind,
                    stat,
                })
            })
            .collect())
    }

    fn is_denied_entry(&self, root: usize, rel: &[u8], kind: FileKind) -> bool {
        let path = Path::new(OsStr::from_bytes(rel));
        let own = self.own_in(root).is_some_and(|own| own.closes_path(path));
        let denied = || {
            let is_file = kind == FileKind::File;
            let denied = self.denied_by(path, is_file).is_some();
            // A link can lead to a file.
            let may_be_data = kind != FileKind::Directory;
            denied || (may_be_data && self.inner.denied.find_data_file(&folded(rel)).is_some())
        };
        own || (denied() && !self.is_lifted(root, rel, Access::Read))
    }
}

/// All names in an open directory but `.` and `..`, in the order of the file system.
pub(crate) fn names(directory: &impl AsFd, most: usize) -> Result<Vec<Name>, Unread> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory.as_fd(), &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => {
                return Err(Unread {
                    before: names,
                    errno: Some(errno),
                });
            }
        };
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() >= most {
            return Err(Unread {
                before: names,
                errno: None,
            });
        }
        names.push(Name {
            name: name.to_vec(),
            kind: kind_of(entry.file_type()),
        });
    }
    Ok(names)
}
