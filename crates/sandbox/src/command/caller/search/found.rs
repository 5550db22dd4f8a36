//! The result of a search: guarded names, and why it may have missed some.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::dir_cache::Inside;
use super::link_targets::Step;
use super::owner::Reopened;
use super::planted::Judged;
use super::unlayerable::Unlayerable;
use super::walk::LONGEST;

/// The rule for a directory that may hold anything.
pub(super) const UNSEARCHABLE: &str = "a directory that cannot be searched";

/// Why a path is guarded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// It is Toolgate's own, and not visible to commands.
    Own,
    Denied(String),
    Protected(String),
    /// The search could not look into it, so it may hold anything.
    Unsearchable,
}

impl Why {
    /// Whether commands see nothing of it; otherwise they can read it.
    pub(crate) fn hides(&self) -> bool {
        !matches!(self, Self::Protected(_))
    }

    pub(crate) fn rule(&self) -> &str {
        match self {
            Self::Own => "Toolgate's own files",
            Self::Denied(rule) | Self::Protected(rule) => rule,
            Self::Unsearchable => UNSEARCHABLE,
        }
    }
}

/// Distinguishes a link from another of the same name: it cannot be masked, and a file
/// that takes its place can get the same inode number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) changed: (i64, u32),
    pub(crate) target: Vec<u8>,
}

/// Distinguishes an entry from one that takes its place. Inode numbers are used
/// again, so the time of birth counts too, where the file system has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) born: (i64, u32),
}

impl Identity {
    pub(crate) fn of(stat: &Statx) -> Self {
        Self {
            device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
        }
    }
}

/// A guarded path that exists, or is missing at the end of a protected link's way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Guarded {
    pub(crate) path: Vec<u8>,
    pub(crate) why: Why,
    pub(crate) link: Option<Link>,
    pub(crate) id: Identity,
    /// The rule that protects a denied name as well: it must not be made either.
    pub(crate) also: Option<String>,
    /// Whether it is guarded because it is on the way of a protected link, or its end.
    pub(crate) led_to: bool,
}

impl Guarded {
    pub(crate) fn new(path: Vec<u8>, why: Why, id: Identity) -> Self {
        Self {
            path,
            why,
            link: None,
            id,
            also: None,
            led_to: false,
        }
    }

    /// Whether nothing is there: something that appears is what a protected link leads to.
    pub(crate) fn is_missing(&self) -> bool {
        self.id == Identity::default() && self.link.is_none()
    }

    /// Whether a mask lies on it. There is none for a link.
    pub(crate) fn is_masked(&self) -> bool {
        self.link.is_none() && !self.is_missing()
    }

    /// Whether it is a directory that the search does not enter because its path is too long.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.why == Why::Unsearchable && self.path.len() > LONGEST
    }

    /// Whether this is the entry that was there before.
    pub(super) fn is_same(&self, old: &Self) -> bool {
        self.id == old.id && self.link == old.link
    }
}

/// Why a search did not see everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// The directory itself cannot be listed or entered.
    Closed {
        /// The directory.
        path: PathBuf,
    },
    /// There are more names than the search looks at.
    TooMany {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// The kernel refused to show a directory.
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// Directories were moved or removed during each search.
    Moving {
        /// The directory.
        path: PathBuf,
    },
    /// A process of the command is stuck in the kernel and has not ended yet.
    Ending,
    /// Guarded names kept appearing while they were moved aside.
    Unsettled {
        /// The directory.
        path: PathBuf,
    },
}

impl std::fmt::Display for Missed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed { path } => write!(
                f,
                "{} cannot be listed or entered. Run: chmod u+rwx on it",
                path.display()
            ),
            Self::TooMany { path, limit } => write!(
                f,
                "{} holds more than {limit} names. Remove what is not needed, or use a smaller workspace",
                path.display()
            ),
            Self::Unreadable { path, errno } => {
                write!(f, "{} cannot be read: {errno}", path.display())
            }
            Self::Moving { path } => write!(
                f,
                "directories in {} keep moving. Wait for the commands that run there, or stop them",
                path.display()
            ),
            Self::Ending => f.write_str(
                "a process of the command is stuck in the kernel and has not ended yet; what it makes is looked at when it has",
            ),
            Self::Unsettled { path } => write!(
                f,
                "guarded names kept appearing in {} while they were moved aside",
                path.display()
            ),
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Parents before children, so that masks can be put on in this order.
    pub(crate) guarded: Vec<Guarded>,
    /// Files that are judged by what they say.
    pub(crate) judged: BTreeMap<Vec<u8>, Judged>,
    /// The names by which git would know a repository, or that it would obey in one.
    pub(crate) marks: BTreeSet<Vec<u8>>,
    /// The directories that git takes for repositories by their content.
    pub(crate) repositories: BTreeSet<Vec<u8>>,
    /// The inodes of denied files: another name of one of them is denied too.
    pub(crate) denied: HashSet<u64>,
    /// The inodes of protected files: another name of one of them is protected too.
    pub(crate) protected: HashSet<u64>,
    /// Whether the user owns a directory that could not be searched: a file in it may be
    /// denied and have another name.
    pub(crate) closed_own: bool,
    /// The inodes of the files in every directory that is not denied.
    pub(crate) listed: Arc<Vec<Listed>>,
    /// Links in protected directories that were not followed yet, and what they say.
    pub(crate) links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Directories on the ways of protected links.
    pub(crate) pinned: BTreeSet<Vec<u8>>,
    /// The steps of protected links, for other trees.
    pub(crate) steps: Vec<Step>,
    /// The first thing found that a layer could not show.
    pub(crate) unlayerable: Option<Unlayerable>,
    /// Why not everything was seen, if so.
    pub(crate) missed: Option<Missed>,
    /// Whether a directory was gone before it was read: it may be where the search had
    /// already been.
    pub(crate) moved: bool,
}

/// The files of a directory that commands can see.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) directory: Vec<u8>,
    pub(crate) inside: Inside,
    pub(crate) inodes: Arc<[u64]>,
    /// Whether it is as it was when it was compared with the denied files.
    pub(crate) checked: bool,
}

/// A search after a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After<'a> {
    /// Opens directories that the command closed.
    pub(crate) reopened: &'a Reopened<'a>,
    /// The result of the search before it.
    pub(crate) before: &'a Found,
    /// The guarded names before it, by path.
    pub(crate) stood: &'a HashMap<&'a [u8], &'a Guarded>,
}

impl After<'_> {
    /// Whether this existed before the command.
    pub(crate) fn stood(&self, found: &Guarded) -> bool {
        let old = self.stood.get(found.path.as_slice());
        old.is_some_and(|old| found.is_same(old))
    }
}
