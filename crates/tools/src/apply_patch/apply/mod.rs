//! Patches applied to the files on a desk, step by step, or not at all.
//!
//! Each format has its own rules for what fits; all of them change lines of the
//! text as the steps before left it, and all of them end at the first step that
//! does not fit, with its number, its line of the patch and what is there instead.

mod envelope;
mod lp1;
mod unified;

use super::formats::{Patch, PatchError, PatchProblem, Sought};
use super::patch_files::{ApplyError, PatchFiles};
use crate::change::Sheet;

/// How well the lines of a hunk fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Exact,
    /// But for blanks at the end of lines.
    TrailingBlanks,
    /// But for blanks around lines.
    Blanks,
}

impl Fit {
    /// Its name in metadata.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingBlanks => "trailing_blanks",
            Self::Blanks => "blanks",
        }
    }
}

/// A hunk that fitted, and not quite as it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) path: String,
    pub(super) hunk: usize,
    /// The line at which it was found, counted from 1.
    pub(super) line: usize,
    pub(super) fit: Fit,
    /// How far that is from where it should have been.
    pub(super) moved: Option<isize>,
}

/// Why a patch does not apply.
#[derive(Debug)]
pub(super) enum Failure {
    Patch(PatchError),
    Tool(toolgate_model::ToolError),
}

/// Where in a patch something is done.
#[derive(Clone, Copy, Debug)]
struct At<'p> {
    line: usize,
    path: &'p str,
}

impl At<'_> {
    /// The failure of a step.
    fn failed(self, step: impl Into<String>, trouble: impl Into<ApplyError>) -> Failure {
        match trouble.into() {
            ApplyError::Tool(error) => Failure::Tool(error),
            ApplyError::PatchProblem(problem) => Failure::Patch(PatchError {
                line: self.line,
                step: step.into(),
                path: Some(self.path.to_owned()),
                problem: Box::new(problem),
            }),
        }
    }
}

/// Applies a patch to the files on a desk.
pub(super) fn apply(patch: &Patch, desk: &mut PatchFiles<'_>) -> Result<Vec<Remark>, Failure> {
    match patch {
        Patch::Lp1(patch) => lp1::apply(patch, desk).map(|()| Vec::new()),
        Patch::Envelope(patch) => envelope::apply(patch, desk),
        Patch::Unified(patch) => unified::apply(patch, desk),
    }
}

/// What was looked for, with the text as it is.
fn sought(lines: &[String], sheet: &Sheet, from: usize) -> Sought {
    Sought {
        lines: lines.to_vec(),
        text: sheet.text(),
        from: from + 1,
    }
}

/// Places that an error shows.
const PLACES: usize = 10;

fn ambiguous(lines: &[String], sheet: &Sheet, places: &[usize], from: usize) -> PatchProblem {
    PatchProblem::Ambiguous {
        sought: sought(lines, sheet, from),
        count: places.len(),
        places: places.iter().take(PLACES).map(|at| at + 1).collect(),
    }
}
