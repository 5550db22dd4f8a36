//! Finding what is guarded in a folder: the names that rules deny or protect.
//!
//! The search is bounded. What it finds before a command is masked; what it finds after
//! it, and did not find before, the command made.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::message::{Mask, MaskKind};
use crate::paths::PathWall;

/// Denied to the file tools because it can hold credentials, but git does not work
/// without it: commands see it, and cannot change it.
const READABLE: &str = "**/.git/**/config";
/// As a file it is protected, as a folder only parts of it are.
const GIT: &str = ".git";

/// Why a path is guarded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Denied(String),
    Protected(String),
}

impl Why {
    pub(super) fn rule(&self) -> &str {
        match self {
            Self::Denied(rule) | Self::Protected(rule) => rule,
        }
    }
}

/// A guarded path that exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Guarded {
    pub(super) path: Vec<u8>,
    pub(super) why: Why,
    pub(super) is_link: bool,
    pub(super) id: (u64, u64),
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) guarded: Vec<Guarded>,
    /// Whether everything was looked at.
    pub(super) complete: bool,
}

/// A search through one folder.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) rules: &'a PathWall,
    pub(super) folder: BorrowedFd<'a>,
    /// The number of the root, if the folder is one.
    pub(super) root: Option<usize>,
    /// Whether it matters what can be written there.
    pub(super) writable: bool,
    /// Paths of this folder whose protection a person lifted.
    pub(super) opened: Vec<Vec<u8>>,
    /// How many names to look at.
    pub(super) most: usize,
}

impl Search<'_> {
    /// Looks at every name, up to the limit.
    pub(super) fn run(&self) -> Found {
        let mut found = Found {
            guarded: Vec::new(),
            complete: true,
        };
        let mut left = self.most;
        // A folder, and whether it lies in a protected one.
        let mut open: Vec<(Vec<u8>, bool)> = vec![(Vec::new(), false)];
        while let Some((folder, protected)) = open.pop() {
            let Ok(handle) = self.open(&folder) else {
                // Unreadable for us is unreadable for the command: it has no more rights.
                continue;
            };
            let Ok(entries) = Dir::read_from(&handle) else {
                found.complete = false;
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                if left == 0 {
                    found.complete = false;
                    return sorted(found);
                }
                left -= 1;
                let path = join(&folder, name);
                let kind = match entry.file_type() {
                    FileType::Unknown => kind_at(&handle, entry.file_name()),
                    kind => kind,
                };
                let is_folder = kind == FileType::Directory;
                let why = self.why(&path, is_folder, protected);
                let denied = matches!(why, Some(Why::Denied(_)));
                let inside = protected || why.is_some();
                if let Some(why) = why
                    && let Ok(stat) =
                        rustix::fs::statat(&handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                {
                    found.guarded.push(Guarded {
                        path: path.clone(),
                        why,
                        is_link: kind == FileType::Symlink,
                        id: (stat.st_dev, stat.st_ino),
                    });
                }
                if is_folder && !denied {
                    open.push((path, inside));
                }
            }
        }
        sorted(found)
    }

    fn why(&self, path: &[u8], is_folder: bool, protected: bool) -> Option<Why> {
        let name = Path::new(OsStr::from_bytes(path));
        match self.rules.denied_by(name, !is_folder) {
            Some(rule) if rule != READABLE => return Some(Why::Denied(rule.to_owned())),
            _ => {}
        }
        if protected || !self.writable || self.is_opened(path) {
            return None;
        }
        let rule = self.rules.protected_by(self.root?, name)?;
        (rule != GIT || !is_folder).then(|| Why::Protected(rule.to_owned()))
    }

    /// Whether a person opened this path, or one above it.
    pub(super) fn is_opened(&self, path: &[u8]) -> bool {
        self.opened.iter().any(|opened| {
            path.strip_prefix(opened.as_slice())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        })
    }

    fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path: &[u8] = if path.is_empty() { b"." } else { path };
        rustix::fs::openat2(
            self.folder,
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
    }
}

/// Parents before children, so that masks can be put on in this order.
fn sorted(mut found: Found) -> Found {
    found.guarded.sort();
    found
}

fn kind_at(folder: &OwnedFd, name: &std::ffi::CStr) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_or(FileType::Unknown, |stat| {
        FileType::from_raw_mode(stat.st_mode)
    })
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        name.to_vec()
    } else {
        [folder, b"/", name].concat()
    }
}

/// The masks for what was found and for the names to keep vacant, in the order in which
/// they go on.
///
/// Links get none: what they lead to has a name of its own, and the sweep compares the
/// link itself.
pub(super) fn masks(folder: u16, guarded: &[Guarded], vacant: &[Vec<u8>]) -> Vec<Mask> {
    let mut kinds: Vec<(Vec<u8>, MaskKind)> = Vec::new();
    let mut pinned = BTreeSet::new();
    let frozen = guarded
        .iter()
        .filter(|found| matches!(found.why, Why::Protected(_)))
        .map(|found| &found.path);
    for path in frozen.chain(vacant) {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        pinned.extend(slashes.filter_map(|(at, _)| path.get(..at).map(<[u8]>::to_vec)));
    }
    kinds.extend(vacant.iter().map(|path| (path.clone(), MaskKind::Vacant)));
    for found in guarded.iter().filter(|found| !found.is_link) {
        let kind = match found.why {
            Why::Denied(_) => MaskKind::Hide,
            Why::Protected(_) => MaskKind::Freeze,
        };
        if !vacant.contains(&found.path) {
            pinned.remove(&found.path);
            kinds.push((found.path.clone(), kind));
        }
    }
    kinds.extend(pinned.into_iter().map(|path| (path, MaskKind::Pin)));
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    kinds
        .into_iter()
        .map(|(path, kind)| Mask { folder, path, kind })
        .collect()
}
