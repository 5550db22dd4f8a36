//! The steps that make changes real, as data.
//!
//! ```text
//!  kind         forward                                taken back
//!  Place        slot ─▶ a free name                    name ─▶ slot; a directory has to be empty
//!  Swap         slot ◀─▶ name, in one step             the same
//!  Remove       name ─▶ slot                           slot ─▶ the free name
//!  Attributes   mode, owner and time are set           the old ones are set
//!  Rewrite      the slot's content goes into the file  the old content goes into it
//! ```
//!
//! Each step has a slot, a name in a private directory: before the step it holds what is new, and
//! after it what was there. What is at the name and in the slot tells whether a step was done, so
//! nothing is written down between steps.

use rustix::fs::Stat;

use super::changes::{Entry, EntryKind};

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Place,
    Swap,
    Remove,
    Attributes,
    Rewrite,
}

/// One step. Its slot has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Which of the roots of the record.
    pub(super) root: usize,
    pub(super) path: Vec<u8>,
    pub(super) kind: StepKind,
    /// What is at the path before the step.
    pub(super) before: Option<Ident>,
    /// What is there after it.
    pub(super) after: Option<Ident>,
}

/// What distinguishes an entry from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ident {
    pub(super) kind: EntryKind,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) modified: (i64, u64),
}

impl Ident {
    pub(super) fn of(stat: &Stat) -> Self {
        Self::from(&Entry::of(stat))
    }

    /// Whether this is the same entry, with whatever content.
    pub(super) fn is_entry(&self, other: &Self) -> bool {
        (self.kind, self.inode) == (other.kind, other.inode)
    }

    /// Whether this is the same entry and nobody wrote to it. Directories change with what is in
    /// them.
    pub(super) fn is_unchanged(&self, other: &Self) -> bool {
        let content = |one: &Self| (one.size, one.modified);
        self.is_entry(other) && (self.is_directory() || content(self) == content(other))
    }

    pub(super) fn has_attributes_of(&self, other: &Self) -> bool {
        (self.mode, self.uid, self.gid) == (other.mode, other.uid, other.gid)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    pub(super) fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }
}

impl From<&Entry> for Ident {
    fn from(entry: &Entry) -> Self {
        Self {
            kind: entry.kind,
            inode: entry.inode,
            size: entry.size,
            mode: entry.mode,
            uid: entry.uid,
            gid: entry.gid,
            modified: entry.modified,
        }
    }
}
