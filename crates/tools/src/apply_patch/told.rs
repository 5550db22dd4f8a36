//! What is said about a patch: what it did, or why it did nothing.

use serde_json::json;
use toolgate_gate::output::{Redactor, bound};
use toolgate_gate::tool::{Output, RunCtx, path_error};
use toolgate_model::{ErrorKind, ToolError};

use super::apply::{Fit, Remark};
use super::formats::{PatchError, PatchProblem, Sought};
use super::outcome::Outcome;
use crate::change::{closest, numbered};
use crate::place::fact_path;
use crate::secrets::Secrets;
use crate::write_file::PREVIEW;

/// Files that metadata tells of one by one.
const TOLD: usize = 200;

/// A patch that cannot be read.
pub(super) fn unreadable(error: &PatchError) -> ToolError {
    ToolError::new(
        ErrorKind::PatchFailed,
        format!("The patch cannot be read: {error}"),
    )
}

/// The text that an error shows lines of.
fn text_of(problem: &PatchProblem) -> &str {
    match problem {
        PatchProblem::NotFound(sought)
        | PatchProblem::NotAtEnd(sought)
        | PatchProblem::Ambiguous { sought, .. } => &sought.text,
        _ => "",
    }
}

/// The secrets in the text that an error quotes, which was made from these files.
pub(super) fn secrets<'f>(
    error: &PatchError,
    redactor: &Redactor,
    originals: impl Iterator<Item = &'f [u8]>,
) -> Secrets {
    let originals: Vec<_> = originals.map(String::from_utf8_lossy).collect();
    Secrets::find(redactor, text_of(&error.problem))
        .made_from(redactor, originals.iter().map(|original| &**original))
}

/// A patch that does not apply, with what is there instead.
pub(super) fn failed(error: &PatchError, format: &str, secrets: &Secrets) -> ToolError {
    let kind = match &*error.problem {
        // Whatever goes wrong with a line patch is one kind.
        _ if format == "lp1" => ErrorKind::PatchFailed,
        PatchProblem::Missing { .. } => ErrorKind::NotFound,
        PatchProblem::Exists => ErrorKind::AlreadyExists,
        PatchProblem::Binary => ErrorKind::Binary,
        _ => ErrorKind::PatchFailed,
    };
    let there = match &*error.problem {
        PatchProblem::NotFound(sought) => instead(sought, secrets),
        PatchProblem::NotAtEnd(sought) => {
            let total = sought.text.lines().count();
            let last = total.saturating_sub(sought.lines.len().max(1))..total;
            format!(
                ". The file ends with:{}\n",
                numbered(&sought.text, last, secrets)
            )
        }
        PatchProblem::Ambiguous {
            sought,
            places,
            count,
        } => {
            let mut shown = String::new();
            for place in places {
                let lines = place - 1..*place;
                shown.push_str(&numbered(&sought.text, lines, secrets));
            }
            let more = count - places.len();
            if more > 0 {
                shown.push_str(&format!("\n        and {more} more"));
            }
            let how = match format {
                "lp1" => "or give the number of the place",
                _ => "so that only one place fits",
            };
            format!(". They start here:{shown}\nTake more lines into it, {how}.")
        }
        _ => String::new(),
    };
    let mut message = format!("{error}{there}");
    match message.chars().last() {
        Some('\n') => {}
        Some('.' | '?') => message.push(' '),
        _ => message.push_str(". "),
    }
    message.push_str("No file was changed.");
    ToolError::new(kind, message)
}

/// The closest lines to those that were not found.
fn instead(sought: &Sought, secrets: &Secrets) -> String {
    let wanted: Vec<&str> = sought.lines.iter().map(String::as_str).collect();
    let first = wanted.iter().find(|line| !line.trim().is_empty());
    let first: String = first.map_or("", |line| line).chars().take(80).collect();
    let mut text = format!(": {first:?}");
    match wanted.len() {
        0 | 1 => {}
        lines => text.push_str(&format!(" and the lines below it ({lines} lines)")),
    }
    let from = sought.from.saturating_sub(1);
    let exact = sought.text.lines().collect::<Vec<_>>();
    let earlier = exact
        .windows(wanted.len().max(1))
        .take(from)
        .position(|lines| lines == wanted.as_slice());
    if let Some(at) = earlier.filter(|_| from > 0) {
        text.push_str(&format!(
            ". It is at line {}, above the hunk before; hunks come in the order of the file.",
            at + 1
        ));
        return text;
    }
    match closest(&sought.text, &wanted) {
        Some(lines) => text.push_str(&format!(
            ". The closest lines are:{}\nCopy them exactly as they are.",
            numbered(&sought.text, lines, secrets)
        )),
        None => text.push_str(". Nothing in the file is like it; read the file again."),
    }
    text
}

/// The same error with the names of files that may have been meant.
pub(super) fn nearest(error: ToolError, why: &PatchError, cx: &RunCtx) -> ToolError {
    let Some(path) = why.path.as_deref() else {
        return error;
    };
    if *why.problem != (PatchProblem::Missing { removed: false }) {
        return error;
    }
    match cx.sandbox().open_read(path) {
        Err(near) => ToolError {
            message: format!("{} {}", error.message, path_error(&near).message),
            ..error
        },
        Ok(_) => error,
    }
}

/// What a patch did.
pub(super) fn done(outcomes: &[Outcome], remarks: &[Remark]) -> Output {
    let told: Vec<&Outcome> = outcomes.iter().filter(|file| !file.moved_away).collect();
    let mut content: Vec<String> = told.iter().map(|file| file.said()).collect();
    for remark in remarks {
        content.push(format!("note: {}", remark.said()));
    }
    let (mut added, mut removed) = (0, 0);
    let mut files = Vec::new();
    let mut shown = String::new();
    for file in &told {
        let counts = file
            .difference()
            .map(|difference| (difference.added(), difference.removed()));
        let (more, less) = counts.unwrap_or_default();
        added += more;
        removed += less;
        if files.len() < TOLD {
            files.push(json!({
                "path": fact_path(&file.path),
                "added": more,
                "removed": less,
                "lines": file.lines(),
            }));
        }
        if shown.len() <= PREVIEW.max_bytes {
            shown.push_str(&file.shown());
        }
    }
    let count = told.len();
    let s = if count == 1 { "" } else { "s" };
    let display = format!("Patched {count} file{s} (+{added} -{removed})\n{shown}");
    Output::plain(content.join("\n"))
        .display(bound(&display, PREVIEW, None).text)
        .with("files", files)
        .with("added", added)
        .with("removed", removed)
}

impl Remark {
    fn said(&self) -> String {
        let Self {
            path, hunk, line, ..
        } = self;
        let path = fact_path(path);
        match (self.fit, self.moved) {
            (Fit::Exact, Some(moved)) => {
                let way = if moved < 0 { "above" } else { "below" };
                let far = moved.unsigned_abs();
                format!("{path}: hunk {hunk} was found at line {line}, {far} {way} where it said")
            }
            (Fit::Exact, None) => format!("{path}: hunk {hunk} was found at line {line}"),
            (Fit::TrailingBlanks, _) => format!(
                "{path}: hunk {hunk} did not fit exactly; it was applied at line {line}, where only blanks at line ends differ"
            ),
            (Fit::Blanks, _) => format!(
                "{path}: hunk {hunk} did not fit exactly; it was applied at line {line}, where only blanks around lines differ"
            ),
        }
    }
}
