//! The three formats of patches, as text and as data.
//!
//! ```text
//!  text ──▶ first line ─┬─ LP1 ─────────────▶ Lp1 ──────┐
//!                       ├─ *** Begin Patch ─▶ Envelope ─┼─▶ which files are touched ──▶ applied on a desk
//!                       └─ ---, diff, … ────▶ Unified ──┘
//! ```
//!
//! Reading a patch touches nothing. What can go wrong is one [`PatchError`], with
//! the line of the patch it is about. Printing a patch gives its canonical form,
//! which reads as the same patch.

mod envelope;
mod error;
mod lines;
mod lp1;
mod quote;
mod unified;
mod wrapped;

use std::fmt;

pub use envelope::{Envelope, EnvelopeHunk, EnvelopeLine, Section};
pub use error::{PatchError, PatchProblem, Sought};
pub use lp1::{FileSection, Lp1, Operation, Place};
pub use unified::{FileDiff, Hunk, HunkLine, Relation, Unified};

/// A patch in one of the formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// The line patch.
    Lp1(Lp1),
    /// `*** Begin Patch` and so on.
    Envelope(Envelope),
    /// A unified diff.
    Unified(Unified),
}

/// Paths as a patch names them, each once, in the order of the patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Files whose content is taken for others.
    pub reads: Vec<String>,
    /// Files that are made or changed.
    pub writes: Vec<String>,
    /// Files that are removed.
    pub deletes: Vec<String>,
}

impl Patch {
    /// Reads a patch in the format that its first line tells. A fence of Markdown around it and
    /// blanks around the markers of an envelope are passed over.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        Self::parse_plain(&wrapped::unwrapped(text))
    }

    fn parse_plain(text: &str) -> Result<Self, PatchError> {
        let mut first = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line == "LP1" {
                return Lp1::parse(text).map(Self::Lp1);
            }
            if line == envelope::BEGIN {
                return Envelope::parse(text).map(Self::Envelope);
            }
            if !line.is_empty() && !line.starts_with('#') {
                first = Some((number, line));
                break;
            }
        }
        // Mails and logs carry diffs below words of their own.
        if unified::has_header(text) {
            return Unified::parse(text).map(Self::Unified);
        }
        Err(PatchError {
            line: first.map_or(1, |(number, _)| number),
            step: String::new(),
            path: None,
            problem: Box::new(PatchProblem::NoFormat {
                first: first.map(|(_, line)| line.chars().take(60).collect()),
            }),
        })
    }

    /// The name of the format, for metadata.
    pub const fn format(&self) -> &'static str {
        match self {
            Self::Lp1(_) => "lp1",
            Self::Envelope(_) => "envelope",
            Self::Unified(_) => "unified",
        }
    }

    /// The files it touches.
    pub fn touched(&self) -> Touched {
        let mut touched = Touched::default();
        match self {
            Self::Lp1(patch) => patch.touch(&mut touched),
            Self::Envelope(patch) => patch.touch(&mut touched),
            Self::Unified(patch) => patch.touch(&mut touched),
        }
        touched
    }
}

impl Touched {
    fn add(list: &mut Vec<String>, path: &str) {
        if !list.iter().any(|known| known == path) {
            list.push(path.to_owned());
        }
    }

    fn read(&mut self, path: &str) {
        Self::add(&mut self.reads, path);
    }

    fn write(&mut self, path: &str) {
        Self::add(&mut self.writes, path);
    }

    fn delete(&mut self, path: &str) {
        Self::add(&mut self.deletes, path);
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lp1(patch) => patch.fmt(f),
            Self::Envelope(patch) => patch.fmt(f),
            Self::Unified(patch) => patch.fmt(f),
        }
    }
}
