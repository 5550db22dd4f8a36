//! Layers: the changes of a command as data, before they are real.
//!
//! ```text
//!  CommandSpec { layering }            the roots stay as they are
//!    │ run                               ▲
//!    ▼                                   │ lower half, read-only
//!  command ── writes ──▶ upper half, in a private directory
//!    │ ends
//!    ▼
//!  Layer ── changes ──▶ Vec<Change>    facts, compared with the roots
//!    │
//!    ├─ stage ── Staged ── apply ──▶ the roots     one step per change; all or nothing
//!    │                       └─ Applied ── undo    the originals are kept until they are forgotten
//!    └─ discard
//! ```
//!
//! # Applying
//!
//! [`Layer::stage`] compares the roots with what they were when the command began, and refuses all
//! changes if any of them conflicts. It moves what is new beside the record of all steps, which is
//! durable before the first step. A step is one rename or exchange of names. An error takes all steps
//! back; after a kill the next [`CommandSandbox::start`](crate::command::CommandSandbox::start)
//! does, and [`interrupted`](crate::command::CommandSandbox::interrupted) says so. The originals
//! are renamed aside and stay until [`Applied::forget`], so [`Applied::undo`] takes back the whole.
//!
//! # Limits
//!
//! - Directories get new times, and files that are written to get new inode numbers. Locks and
//!   watches stay with the old ones, and a process that has a file open keeps the old one.
//! - A file with several names is written in place. A kill can leave a beginning of the new content
//!   in it until the next start.
//! - A layer shows the names of such a file as several files once one is written to. Two that were
//!   changed are refused ([`LayerError::SplitLinks`]). What was written to a name that was then
//!   removed, replaced or renamed is missing under the others.
//! - A directory of a root cannot be renamed in a layer: `mv` copies and removes it, programs
//!   without such a fallback get `EXDEV`. Files in it lose their names outside of it.
//! - Extended attributes and ACLs that are changed on files which keep their content and mode are
//!   not applied.
//! - The private directory and a root have to be on one file system to apply
//!   ([`LayerError::Apart`]).
//!
//! Only writable roots are layered; grants write through. Where there is no layer, [`NoLayer`] says
//! why, and the command runs without or is refused, as [`Layering`] says.

mod apply;
mod changes;
mod collect;
mod copy;
mod error;
mod held;
mod kept;
mod look;
mod places;
mod plan;
mod record;
mod remove;
mod stage;
mod step;
mod undo;

pub use apply::{Applied, BeforeStep};
pub use changes::{Change, ChangeKind, Changes, Entry, EntryKind, Withheld};
pub(crate) use copy::copy_attributes;
pub use error::{LayerError, NoLayer};
pub use held::Layer;
pub(crate) use held::LayeredRoot;
pub(crate) use look::OVERLAY;
pub use stage::Staged;
pub use undo::Interrupted;

pub(crate) use places::{Base, Places, Time};

/// Whether a command's changes go to a layer instead of the roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layering {
    /// They go to the roots.
    #[default]
    Never,
    /// To a layer where there can be one; otherwise to the roots, and
    /// [`Running::no_layer`](crate::command::Running::no_layer) says why.
    IfPossible,
    /// To a layer, or the command is refused.
    Required,
}

/// The directory of an upper half.
pub(crate) const UPPER: &str = "upper";
/// The directory that the kernel needs beside it.
pub(crate) const WORK: &str = "work";
