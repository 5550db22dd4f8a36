//! Why a patch cannot be read or applied, and where.

use std::fmt;

use toolgate_gate::output::preview_name;

/// What is wrong with a patch, and at which of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PatchError {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// Which operation or hunk of which file, in words; empty outside of one.
    pub step: String,
    /// The file it is about, if it is about one.
    pub path: Option<String>,
    /// What is wrong.
    pub problem: Box<PatchProblem>,
}

/// What can be wrong with a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchProblem {
    /// It is in none of the formats.
    NoFormat {
        /// The first line that is neither blank nor a comment.
        first: Option<String>,
    },
    /// It does not follow the rules of its format.
    Syntax(String),
    /// A line has a character that the file's encoding does not have.
    Unencodable(String),
    /// The file that should be changed is not there.
    Missing {
        /// Whether an earlier part of the patch removed it.
        removed: bool,
    },
    /// The file that should be made is there already.
    Exists,
    /// The file is no text.
    Binary,
    /// The file has both kinds of line endings, from this line on.
    MixedEndings(usize),
    /// The file has a carriage return that ends no line, in this line.
    LoneCr(usize),
    /// The lines to find are not there.
    NotFound(Sought),
    /// The lines to find are there more than once.
    Ambiguous {
        /// What was looked for.
        sought: Sought,
        /// How many places fit.
        count: usize,
        /// The lines at which the first of them start, counted from 1.
        places: Vec<usize>,
    },
    /// There are fewer places than the one that was asked for.
    OutOfRange {
        /// Which one was asked for.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// Nothing to find, and no number that says where.
    EmptyMatch,
    /// The file does not end where the patch says it does.
    NotAtEnd(Sought),
    /// A deletion that would leave lines.
    LeavesLines(usize),
}

/// Lines that were looked for, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// The lines.
    pub lines: Vec<String>,
    /// The text as the steps before had left it.
    pub text: String,
    /// From which line on it was searched, counted from 1.
    pub from: usize,
}

impl PatchError {
    /// Something that does not follow the rules, at this line of the patch.
    pub(crate) fn syntax(line: usize, what: impl Into<String>) -> Self {
        Self {
            line,
            step: String::new(),
            path: None,
            problem: Box::new(PatchProblem::Syntax(what.into())),
        }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_none() && self.step.is_empty() {
            return write!(f, "line {} of the patch: {}", self.line, self.problem);
        }
        if let Some(path) = &self.path {
            write!(f, "{}: ", preview_name(path))?;
        }
        if !self.step.is_empty() {
            write!(f, "{} ", self.step)?;
        }
        write!(f, "(line {} of the patch): {}", self.line, self.problem)
    }
}

impl fmt::Display for PatchProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFormat { first } => {
                match first {
                    Some(first) => write!(f, "Missing LP1 header: the patch starts with {first:?}.")?,
                    None => f.write_str("Missing LP1 header: there is nothing in the patch.")?,
                }
                f.write_str(
                    " Its first line is `LP1`, `*** Begin Patch`, or a header of a unified diff such as `--- a/file`.",
                )
            }
            Self::Syntax(what) | Self::Unencodable(what) => f.write_str(what),
            Self::Missing { removed: false } => f.write_str("File does not exist for match-based operation"),
            Self::Missing { removed: true } => {
                f.write_str("File does not exist any more: an earlier part of the patch removed it")
            }
            Self::Exists => f.write_str("The file is there already; update it instead of adding it"),
            Self::Binary => f.write_str("The file is binary, and patches are for text"),
            Self::MixedEndings(line) => write!(
                f,
                "Mixed EOL in file: line {line} ends differently from those above it. Rewrite the file with one kind of line ending first, or use edit_file"
            ),
            Self::LoneCr(line) => write!(
                f,
                "Bare CR in file: line {line} has a carriage return without a newline. Use edit_file"
            ),
            Self::NotFound(_) => f.write_str("Match not found"),
            Self::Ambiguous { count, .. } => write!(f, "Match is not unique: {count} places fit"),
            Self::OutOfRange { asked, count } => write!(
                f,
                "Occurrence out of range: number {asked} was asked for, and there are {count}"
            ),
            Self::EmptyMatch => f.write_str(
                "Empty match requires occurrence: put the lines to find into the first block",
            ),
            Self::NotAtEnd(_) => f.write_str(
                "The file does not end like this: the hunk says where the file ends, or whether with a newline",
            ),
            Self::LeavesLines(count) => write!(
                f,
                "The patch deletes the file but not all of its lines: {count} would be left"
            ),
        }
    }
}
