//! The directories that may be used, opened once.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, ResolveFlags};
use rustix::io::Errno;

use crate::paths::error::RulesError;
use crate::paths::resolve::Want;
use crate::paths::rules::fold::fold_name;

/// The access to a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootAccess {
    /// Reading only.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// A directory that may be used, as the configuration says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRule {
    /// Where it is; absolute, except in tests.
    pub path: PathBuf,
    /// The access.
    pub access: RootAccess,
}

/// A directory that may be used, opened.
///
/// The handle, not the name, is the root: when the directory is moved, accesses go
/// with it, and a new directory of its name is not the root.
#[derive(Debug)]
pub struct Root {
    handle: OwnedFd,
    given: PathBuf,
    canonical: PathBuf,
    access: RootAccess,
    identity: (u64, u64),
}

impl Root {
    fn open(rule: &RootRule) -> Result<Self, Errno> {
        let handle = rustix::fs::openat(CWD, &rule.path, Want::Directory.flags(), Mode::empty())?;
        let stat = rustix::fs::fstat(&handle)?;
        let canonical = match name_of(handle.as_fd()) {
            Ok(name) => PathBuf::from(OsString::from_vec(name)),
            // Without /proc; the name is only used to understand absolute paths.
            Err(_) => std::fs::canonicalize(&rule.path)
                .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?,
        };
        Ok(Self {
            handle,
            given: rule.path.clone(),
            canonical,
            access: rule.access,
            identity: (stat.st_dev, stat.st_ino),
        })
    }

    /// The open directory.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Where the directory was, links resolved, when it was opened.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    /// The access.
    pub fn access(&self) -> RootAccess {
        self.access
    }
}

/// All roots, the working directory first.
#[derive(Debug)]
pub struct Roots {
    all: Vec<Root>,
    /// Whether one root lies in another, so that access depends on more than the root.
    nested: bool,
}

impl Roots {
    /// Opens the directories.
    pub(crate) fn open(rules: &[RootRule]) -> Result<Self, RulesError> {
        let all = rules
            .iter()
            .map(|rule| {
                Root::open(rule).map_err(|errno| RulesError::Root {
                    path: rule.path.display().to_string(),
                    errno,
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(RulesError::NoRoots);
        }
        let nested = all.iter().enumerate().any(|(i, inner)| {
            all.iter()
                .enumerate()
                .any(|(o, outer)| i != o && inner.canonical.starts_with(&outer.canonical))
        });
        Ok(Self { all, nested })
    }

    /// The root with this number.
    pub fn get(&self, root: usize) -> Option<&Root> {
        self.all.get(root)
    }

    /// The roots in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Root> {
        self.all.iter()
    }

    /// The access to a path of a root: the innermost root decides, and of two
    /// that are the same directory the stricter.
    pub(crate) fn access_at(&self, root: usize, rel: &[u8]) -> RootAccess {
        let Some(own) = self.all.get(root) else {
            return RootAccess::ReadOnly;
        };
        if !self.nested {
            return own.access;
        }
        let full = own.canonical.join(OsStr::from_bytes(rel));
        let innermost = self
            .all
            .iter()
            .filter(|other| full.starts_with(&other.canonical))
            .map(|other| (depth(other), other.access == RootAccess::ReadOnly))
            .max();
        // On a file system that folds case, another spelling is the same directory; a
        // read-only root counts under all of them, a writable one under its own.
        let full = fold_path(&full);
        let folded = self
            .all
            .iter()
            .filter(|other| other.access == RootAccess::ReadOnly)
            .filter(|other| full.starts_with(&fold_path(&other.canonical)))
            .map(|other| (depth(other), true))
            .max();
        match innermost.max(folded) {
            Some((_, true)) => RootAccess::ReadOnly,
            Some((_, false)) => RootAccess::ReadWrite,
            None => own.access,
        }
    }

    /// The root whose name is the longest beginning of an absolute path, and how many
    /// of the path's components that name has.
    pub(crate) fn containing(&self, absolute: &[&[u8]]) -> Option<(usize, usize)> {
        self.all
            .iter()
            .enumerate()
            .flat_map(|(root, r)| [(root, &r.canonical), (root, &r.given)])
            .filter_map(|(root, name)| Some((root, common(name, absolute)?)))
            .max_by_key(|(_, length)| *length)
    }

    /// Like [`Roots::containing`], for a path that reaches a root by another name:
    /// the first directory on the way that *is* a root counts. Magic links count for
    /// nothing, and where the kernel cannot rule them out there are no other names.
    pub(crate) fn reached_by(&self, absolute: &[&[u8]]) -> Option<(usize, usize)> {
        let mut prefix = PathBuf::from("/");
        for (index, name) in absolute.iter().enumerate() {
            prefix.push(OsStr::from_bytes(name));
            let flags = Want::Directory.flags();
            let no_magic = ResolveFlags::NO_MAGICLINKS;
            let fd = rustix::fs::openat2(CWD, &prefix, flags, Mode::empty(), no_magic).ok()?;
            let stat = rustix::fs::fstat(&fd).ok()?;
            let identity = (stat.st_dev, stat.st_ino);
            if let Some(root) = self.all.iter().position(|r| r.identity == identity) {
                return Some((root, index + 1));
            }
        }
        None
    }
}

fn depth(root: &Root) -> usize {
    root.canonical.components().count()
}

fn fold_path(path: &Path) -> Vec<Vec<u8>> {
    path.components()
        .map(|part| fold_name(part.as_os_str().as_bytes()).into_owned())
        .collect()
}

/// The number of components of `name` if the absolute path starts with all of them.
fn common(name: &Path, absolute: &[&[u8]]) -> Option<usize> {
    let rest = name.as_os_str().as_bytes().strip_prefix(b"/")?;
    let parts: Vec<_> = rest
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty())
        .collect();
    absolute.starts_with(&parts).then_some(parts.len())
}

/// The name the kernel has for an open file or directory.
pub(crate) fn name_of(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let name = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(name.into_bytes())
}
