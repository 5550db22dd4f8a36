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
//!    ├─ stage, apply ──▶ the roots     one step per change; all or nothing
//!    └─ discard
//! ```
//!
//! Only writable roots are layered; grants write through. Where there is no layer, [`NoLayer`] says
//! why, and the command runs without or is refused, as [`Layering`] says.

mod changes;
mod collect;
mod error;
mod held;
mod look;
mod places;
mod remove;

pub use changes::{Change, ChangeKind, Changes, Entry, EntryKind, Withheld};
pub use error::{LayerError, NoLayer};
pub use held::Layer;
pub(crate) use held::LayeredRoot;

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
