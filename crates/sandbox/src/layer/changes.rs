//! Changes as data.

use std::path::PathBuf;

/// Everything that a command changed in the roots, by root and path; a directory comes before what
/// is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes.
    pub all: Vec<Change>,
}

impl std::ops::Deref for Changes {
    type Target = [Change];

    fn deref(&self) -> &[Change] {
        &self.all
    }
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the root.
    pub root: usize,
    /// Where in the root.
    pub path: PathBuf,
    /// The kind of change.
    pub kind: ChangeKind,
    /// What is in the root, unless nothing is.
    pub before: Option<Entry>,
    /// What the command left there, unless nothing.
    pub after: Option<Entry>,
    /// The rule that keeps this from being applied, or that has to be lifted for it.
    pub withheld: Option<Withheld>,
    /// Whether the kernel's attributes have to be removed from it.
    pub(super) marked: bool,
    /// Whether the command wrote to the file that was there, and did not put another in its place.
    /// Known only for files with several names.
    pub(super) in_place: bool,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Nothing was there. What is in a new directory follows as changes of its own.
    Created,
    /// Other content of the same type: of a file, or the target of a link.
    Modified,
    /// The same content with another mode, owner or time.
    Attributes,
    /// Something of another type; or a directory that was removed and made anew, without what was in
    /// it before. [`Layer::beneath`](super::Layer::beneath) lists that.
    Replaced,
    /// Removed. A directory is one change, with all that was in it;
    /// [`Layer::beneath`](super::Layer::beneath) lists that.
    Deleted,
    /// Another name of a file: [`Entry::links_to`] says of which.
    Linked,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The type.
    pub kind: EntryKind,
    /// Bytes of a file.
    pub size: u64,
    /// Permissions.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// When the content last changed: seconds and nanoseconds.
    pub modified: (i64, u64),
    /// How many names a file has.
    pub links: u64,
    /// What a symbolic link says.
    pub target: Option<Vec<u8>>,
    /// The other name of the same file, in the same root.
    pub links_to: Option<PathBuf>,
    /// The inode.
    pub inode: u64,
    /// When anything of it last changed.
    pub(super) changed: (i64, u64),
    /// When it was last read.
    pub(super) accessed: (i64, u64),
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file with content.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Other,
}

/// Why a change is not applied by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Withheld {
    /// Something there would be executed later. Never applied while the rule holds.
    Protected {
        /// The rule.
        rule: String,
    },
    /// The rules deny the name. Applied only where a caller insists.
    Denied {
        /// The rule.
        rule: String,
    },
    /// It is Toolgate's own. Never applied.
    Own,
}

impl Change {
    /// Whether no selection can bring this into the root.
    pub fn is_barred(&self) -> bool {
        matches!(
            self.withheld,
            Some(Withheld::Protected { .. } | Withheld::Own)
        )
    }
}
