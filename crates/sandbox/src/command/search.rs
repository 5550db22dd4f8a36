//! Finding what is guarded in a folder: the names that rules deny or protect.
//!
//! The search is bounded. What it finds before a command is masked; what it finds after
//! it, and did not find before, the command made.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;

use super::memory::{Contents, Memory, Stamp};
use super::message::{Mask, MaskKind};
use crate::paths::{KEPT, OwnHere, PathWall};

/// Denied to the file tools because it can hold credentials, but git does not work
/// without it: commands see it, and cannot change it.
pub(super) const READABLE: &str = "**/.git/**/config";
/// As a file it is protected, as a folder only parts of it are.
const GIT: &str = ".git";
/// Names are taken from the kernel by so many bytes.
const BUFFER: usize = 32 << 10;

/// Why a path is guarded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It is Toolgate's own, and nobody else's to see.
    Own,
    Denied(String),
    Protected(String),
}

impl Why {
    pub(super) fn rule(&self) -> &str {
        match self {
            Self::Own => "Toolgate's own files",
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
    /// Parents before children, so that masks can be put on in this order.
    pub(super) guarded: Vec<Guarded>,
    /// Whether everything was looked at.
    pub(super) complete: bool,
}

/// A search through one folder.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) rules: &'a PathWall,
    /// The own places in the folder.
    pub(super) own: OwnHere,
    pub(super) folder: BorrowedFd<'a>,
    /// The number of the root, if the folder is one.
    pub(super) root: Option<usize>,
    /// Whether it matters what can be written there.
    pub(super) writable: bool,
    /// Paths of this folder whose protection a person lifted.
    pub(super) opened: Vec<Vec<u8>>,
    /// Paths that are kept vacant. Nothing of what lies in them can be reached.
    pub(super) vacant: &'a [Vec<u8>],
    /// How many names to look at.
    pub(super) most: usize,
    /// When it begins, for what is remembered of it.
    pub(super) now: SystemTime,
}

/// A folder that could not be looked into.
enum Miss {
    /// It is not there any more, or closed to us; the command has no more rights.
    Closed,
    /// What is in it is not known.
    Unknown,
}

impl Search<'_> {
    /// Looks at every name, up to the limit.
    pub(super) fn run(&self, memory: &mut Memory) -> Found {
        let mut found = Found {
            guarded: Vec::new(),
            complete: true,
        };
        let mut left = self.most;
        let mut buffer = Vec::with_capacity(BUFFER);
        // A folder, and whether it lies in a protected one.
        let mut open: Vec<(Vec<u8>, bool)> = vec![(Vec::new(), false)];
        memory.begin(self.folder);
        while let Some((folder, protected)) = open.pop() {
            let read;
            let contents = match memory.recall(self.folder, &folder) {
                Some(contents) => contents,
                None => match self.read(&folder, protected, left, &mut buffer) {
                    Ok((contents, stamp)) => {
                        read = contents;
                        if read.names <= left {
                            memory.note(folder, stamp, self.now, &read);
                        }
                        &read
                    }
                    Err(Miss::Closed) => continue,
                    Err(Miss::Unknown) => {
                        found.complete = false;
                        continue;
                    }
                },
            };
            found.guarded.extend(contents.guarded.iter().cloned());
            let folders = contents.folders.iter();
            open.extend(
                folders
                    .filter(|(path, _)| !self.vacant.contains(path))
                    .cloned(),
            );
            match left.checked_sub(contents.names) {
                Some(rest) => left = rest,
                None => {
                    found.complete = false;
                    break;
                }
            }
        }
        memory.end();
        found.guarded.sort();
        found
    }

    /// Reads one folder, one name more than the limit at most.
    fn read(
        &self,
        folder: &[u8],
        protected: bool,
        most: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(Contents, Stamp), Miss> {
        let handle = self.open(folder).map_err(|errno| match errno {
            Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {
                Miss::Closed
            }
            _ => Miss::Unknown,
        })?;
        // First: what changes from here on changes the stamp.
        let stamp = rustix::fs::fstat(&handle).map(|stat| Stamp::of(&stat));
        let stamp = stamp.map_err(|_| Miss::Unknown)?;
        let mut contents = Contents::default();
        let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|_| Miss::Unknown)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            contents.names += 1;
            if contents.names > most {
                break;
            }
            let path = join(folder, name);
            let kind = match entry.file_type() {
                FileType::Unknown => kind_at(&handle, entry.file_name()),
                kind => kind,
            };
            let is_folder = kind == FileType::Directory;
            let why = self.why(&path, is_folder, protected);
            let denied = matches!(why, Some(Why::Denied(_) | Why::Own));
            let inside = protected || why.is_some();
            if let Some(why) = why
                && let Ok(stat) =
                    rustix::fs::statat(&handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
            {
                contents.guarded.push(Guarded {
                    path: path.clone(),
                    why,
                    is_link: kind == FileType::Symlink,
                    id: (stat.st_dev, stat.st_ino),
                });
            }
            if is_folder && !denied {
                contents.folders.push((path, inside));
            }
        }
        Ok((contents, stamp))
    }

    fn why(&self, path: &[u8], is_folder: bool, protected: bool) -> Option<Why> {
        let name = Path::new(OsStr::from_bytes(path));
        if self.own.closes_path(name) {
            return Some(Why::Own);
        }
        match self.rules.denied_by(name, !is_folder) {
            Some(rule) if rule != READABLE => return Some(Why::Denied(rule.to_owned())),
            _ => {}
        }
        if protected || !self.writable || is_opened(&self.opened, path) {
            return None;
        }
        if self.own.keeps_path(name) {
            return Some(Why::Protected(KEPT.to_owned()));
        }
        let rule = self.rules.protected_by(self.root?, name)?;
        (rule != GIT || !is_folder).then(|| Why::Protected(rule.to_owned()))
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

/// Whether a person opened this path, or one above it.
pub(super) fn is_opened(opened: &[Vec<u8>], path: &[u8]) -> bool {
    opened.iter().any(|opened| {
        path.strip_prefix(opened.as_slice())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
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
        .filter(|found| matches!(found.why, Why::Protected(_) | Why::Own))
        .map(|found| &found.path);
    for path in frozen.chain(vacant) {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        pinned.extend(slashes.filter_map(|(at, _)| path.get(..at).map(<[u8]>::to_vec)));
    }
    kinds.extend(vacant.iter().map(|path| (path.clone(), MaskKind::Vacant)));
    for found in guarded.iter().filter(|found| !found.is_link) {
        let kind = match found.why {
            Why::Denied(_) | Why::Own => MaskKind::Hide,
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
