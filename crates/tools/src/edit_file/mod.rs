//! `edit_file`: exact text exchanged for other text, all edits or none.
//!
//! ```text
//!  path, edits ──▶ what is there ──▶ each edit: exactly one place ──▶ lines known? ──▶ change
//!                  text, read       in the text as the edits         as shown to      in one step
//!                  before           before it left it                the model
//! ```
//!
//! The replacement is taken literally. Byte order mark, encoding and line endings
//! stay as they are: an edit that says `\n` in a file of `\r\n` means the file's own.
//!
//! What can go wrong: an edit fits nowhere, or in several places, or in lines that
//! the conversation was never shown; it stands for code it leaves out; the file is
//! binary, was not read, or has changed since. The error says which edit, why, and
//! what is there instead.

mod find;
mod splices;

use std::num::NonZeroU64;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::output::{Redactor, bound, preview_name};
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, Preview, RunCtx, TypedTool, View, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};

use crate::blocking::blocking;
use crate::change::{
    self, After, Change, Current, Difference, Ending, LARGEST, check_elision, closest, numbered,
};
use crate::place::fact_path;
use crate::placeholders::{self, Placeholders};
use crate::secrets::Secrets;
use crate::settings::WriteSettings;
use crate::text::{Encoding, decode};
use crate::write_file::PREVIEW;
use find::{Found, Miss, Strategy, find, find_all, line_number, one_ending, with_ending};
use splices::Edited;

const DESCRIPTION: &str = "Replaces exact pieces of text in a file of the working directory. Each \
    edit names a target, which has to be in the file exactly once, with all blanks and line breaks \
    as read_file showed them, and its replacement, which is taken literally. All edits are made, or \
    none; each one sees the text as the edits before it left it. With replace_all = true an edit \
    changes its target everywhere. The lines have to be read first. A comment that stands for code \
    that is there now is refused.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    /// The file, relative to the working directory, such as `src/lib.rs`.
    #[schemars(length(min = 1))]
    path: String,
    /// The edits, in the order in which they are made.
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
    /// Whether a comment such as "rest unchanged" is meant as it stands, although lines go there.
    #[serde(default)]
    allow_elision: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The text to replace, exactly as it is in the file. It has to be there once.
    #[schemars(length(min = 1))]
    target: String,
    /// The text to put in its place, taken literally. Empty to remove the target.
    replacement: String,
    /// The line near which the target stands, if it is in the file several times.
    #[serde(default)]
    line_hint: Option<NonZeroU64>,
    /// Another spelling of line_hint.
    #[serde(default, rename = "lineHint")]
    other_line_hint: Option<NonZeroU64>,
    /// Whether the target is replaced wherever it is, instead of in the one place where it is.
    #[serde(default)]
    replace_all: bool,
}

impl Edit {
    fn hint(&self) -> Option<u64> {
        let hint = self.line_hint.or(self.other_line_hint);
        hint.map(NonZeroU64::get)
    }
}

impl EditFile {
    fn summary(&self) -> String {
        let count = self.edits.len();
        let s = if count == 1 { "" } else { "s" };
        format!("Edit {} ({count} edit{s})", self.path)
    }
}

/// The tool.
pub(crate) fn tool(settings: WriteSettings) -> TypedTool<EditFile> {
    typed("edit_file", DESCRIPTION, move |args: EditFile, cx| {
        edit(args, Arc::new(cx), settings)
    })
    .check(|args| {
        let wrong = |edit: &Edit| match edit {
            edit if edit.line_hint.and(edit.other_line_hint).is_some() => {
                Some("line_hint and lineHint are the same argument; give one of them")
            }
            edit if edit.replace_all && edit.hint().is_some() => Some(
                "line_hint chooses one place and replace_all takes every one; give one of them",
            ),
            _ => None,
        };
        let numbered = (1_usize..).zip(&args.edits);
        match numbered
            .into_iter()
            .find_map(|(at, edit)| Some((at, wrong(edit)?)))
        {
            Some((at, why)) => Err(ToolError::bad_args(format!("edit {at}: {why}"))),
            None => Ok(()),
        }
    })
    .summary(EditFile::summary)
    .facts(|args| Facts::writing(fact_path(&args.path)))
    .preview(preview)
    .paths(["path"])
    .category(Category::File)
    .side_effects()
    .risk(Risk::Medium)
}

/// What comes of the edits, before anything is written.
struct Made {
    /// What is told of it.
    counts: String,
    added: usize,
    removed: usize,
    diff: String,
    strategy: Strategy,
    replacements: usize,
    other_endings: bool,
    encoding: Encoding,
    sha256: String,
    /// Nothing if the edits leave the file as it is.
    change: Option<Change>,
}

async fn edit(
    args: EditFile,
    cx: Arc<RunCtx>,
    settings: WriteSettings,
) -> Result<Output, ToolError> {
    let (path, edits) = (fact_path(&args.path), args.edits.len());
    let with = Arc::clone(&cx);
    let mut made = blocking(move || look(args, &with, settings)).await?;
    let s = if edits == 1 { "" } else { "s" };
    let changed = made.change.is_some();
    let (content, display) = match made.change.take() {
        None => (
            format!("unchanged: {path} ({edits} edit{s}, each replaced by itself)"),
            format!("{path} is unchanged"),
        ),
        Some(change) => {
            let changed = change::make(vec![change], &cx).await?;
            let sha256 = changed.into_iter().find_map(|file| file.sha256);
            made.sha256 = sha256.unwrap_or_default();
            let counts = &made.counts;
            (
                format!("modified: {path} ({edits} edit{s}, {counts})"),
                format!("Edited {path} ({counts})\n{}", made.diff),
            )
        }
    };
    let strategy = match made.strategy {
        Strategy::Exact => "exact",
        Strategy::LineHint => "line_hint",
        Strategy::Everywhere => "replace_all",
    };
    let mut output = Output::plain(content)
        .display(bound(&display, PREVIEW, None).text)
        .with("path", path)
        .with("changed", changed)
        .with("edits", edits)
        .with("replacements", made.replacements)
        .with("added", made.added)
        .with("removed", made.removed)
        .with("strategy", strategy)
        .with("encoding", made.encoding.name())
        .with("sha256", made.sha256);
    if made.other_endings {
        output = output.with("line_endings", "taken from the file");
    }
    Ok(output)
}

/// Whether the edits can be made, and what comes of them.
fn look(args: EditFile, cx: &RunCtx, settings: WriteSettings) -> Result<Made, ToolError> {
    let path = fact_path(&args.path);
    let current = Current::look(cx.sandbox(), &args.path)?;
    let Some(current) = current else {
        return Err(missing(&args.path, cx));
    };
    current.check_read(&path, cx)?;
    let (old, encoding) = current.decoded().ok_or_else(|| binary(&path))?;
    let redactor = cx.redactor();
    let applied = apply(&args.edits, &path, &old, redactor)?;
    let edited = applied.edited;
    settings.check(&path, edited.text.len())?;
    let difference = Difference::of(&old, &edited.text, edited.regions(&old));
    if !args.allow_elision {
        check_elision(&path, &old, &difference)?;
    }
    let mut made = Made {
        counts: difference.counts(),
        added: difference.added(),
        removed: difference.removed(),
        diff: difference.unified(&path, &path),
        strategy: applied.strategy,
        replacements: applied.replacements,
        other_endings: applied.other_endings,
        encoding,
        sha256: current.sha256.clone(),
        change: None,
    };
    if edited.text != old {
        current.check_seen(&path, difference.touched(), cx)?;
        let seen = cx.session().reads(|log| {
            let seen = log.seen(&current.place);
            seen.map_or_else(LineRanges::default, |seen| seen.lines.clone())
        });
        let known = difference.known_after(&seen);
        let bytes = encoding.encode(edited.text);
        let mut after = After::content(bytes.map_err(|error| error.in_file(&path))?);
        after.known = Some(known);
        made.change = Some(Change {
            path: args.path,
            before: Some(current),
            after: Some(after),
        });
    }
    Ok(made)
}

/// A text with all edits made.
struct Applied {
    edited: Edited,
    strategy: Strategy,
    replacements: usize,
    other_endings: bool,
}

/// Makes the edits on a text. Where they hold placeholders, they are made on the text as it was
/// shown, and the secrets are put back.
fn apply(edits: &[Edit], path: &str, old: &str, redactor: &Redactor) -> Result<Applied, ToolError> {
    let are_in =
        |edit: &Edit| placeholders::are_in(&edit.target) || placeholders::are_in(&edit.replacement);
    let placeholders = edits
        .iter()
        .any(are_in)
        .then(|| Placeholders::of(redactor, old));
    let Some(placeholders) = placeholders.flatten() else {
        return one_by_one(edits, path, old, redactor);
    };
    let shown = placeholders.shown();
    let applied = one_by_one(edits, path, shown, redactor)?;
    let regions = applied.edited.regions(shown);
    let text = placeholders.put_back(redactor, path, &applied.edited.text, &regions)?;
    Ok(Applied {
        edited: applied.edited.becomes(text, regions),
        ..applied
    })
}

/// Makes the edits, one after the other.
fn one_by_one(
    edits: &[Edit],
    path: &str,
    old: &str,
    redactor: &Redactor,
) -> Result<Applied, ToolError> {
    let secrets = |text: &str| Secrets::find(redactor, text).made_from(redactor, [old]);
    let ending = one_ending(old);
    let mut applied = Applied {
        edited: Edited::of(old.to_owned()),
        strategy: Strategy::Exact,
        replacements: 0,
        other_endings: false,
    };
    for (number, edit) in (1_usize..).zip(edits) {
        let edited = &mut applied.edited;
        let found = if edit.replace_all {
            find_all(edited, &edit.target, ending)
        } else {
            find(edited, old, &edit.target, edit.hint(), ending)
        };
        let found = found.map_err(|miss| {
            let what = Missed {
                which: format!("edit {number} of {}", edits.len()),
                path,
                edit,
                text: &edited.text,
            };
            what.error(&miss, &secrets(&edited.text))
        })?;
        let Found {
            ranges,
            strategy: how,
            other_endings: other,
        } = found;
        applied.strategy = applied.strategy.max(how);
        applied.replacements += ranges.len();
        applied.other_endings |= other;
        // A file of one line ending keeps it.
        let kept = match ending {
            Some(Ending::CrLf) => with_ending(&edit.replacement, Ending::CrLf),
            Some(Ending::Lf) if other => with_ending(&edit.replacement, Ending::Lf),
            _ => None,
        };
        edited.replace_each(&ranges, kept.as_deref().unwrap_or(&edit.replacement));
    }
    Ok(applied)
}

/// An edit that has no place.
struct Missed<'a> {
    which: String,
    path: &'a str,
    edit: &'a Edit,
    /// The text as the edits before it left it.
    text: &'a str,
}

impl Missed<'_> {
    fn error(&self, miss: &Miss, secrets: &Secrets) -> ToolError {
        let Self {
            which, path, text, ..
        } = self;
        let target = shortened(&self.edit.target);
        match miss {
            Miss::Nowhere => {
                let wanted: Vec<&str> = self.edit.target.lines().collect();
                let there = match closest(text, &wanted) {
                    Some(lines) => format!(
                        "The closest lines are:{}\nCopy the text exactly as it is there, blanks and line breaks included.",
                        numbered(text, lines, secrets)
                    ),
                    None => "Nothing in the file is like it; read the file again.".to_owned(),
                };
                let done = self.done_already(text);
                ToolError::new(
                    ErrorKind::TargetNotFound,
                    format!(
                        "{which} in {path}: Target text not found: {target}. Nothing was changed.{done} {there}"
                    ),
                )
            }
            Miss::Several { count, starts, tie } => {
                let mut places = String::new();
                for start in starts {
                    let line = line_number(text, *start);
                    let line = usize::try_from(line).unwrap_or(usize::MAX);
                    places.push_str(&numbered(text, line - 1..line, secrets));
                }
                let more = count - starts.len();
                if more > 0 {
                    places.push_str(&format!("\n        and {more} more places"));
                }
                let hint = if *tie {
                    "two of them are equally near to line_hint; give another one"
                } else {
                    "give line_hint, or set replace_all to true to change all of them"
                };
                ToolError::new(
                    ErrorKind::TargetAmbiguous,
                    format!(
                        "{which} in {path}: Target text is ambiguous ({count} matches): {target}. Nothing was changed. It is here:{places}\n\
                         Take more of the lines around it into the target, or {hint}."
                    ),
                )
            }
        }
    }

    /// A model that lost track repeats its edit.
    fn done_already(&self, text: &str) -> String {
        let replacement = &self.edit.replacement;
        if replacement.trim().len() < 4 {
            return String::new();
        }
        match text.find(replacement.as_str()) {
            Some(at) => format!(
                " The replacement is in the file already, at line {}.",
                line_number(text, at)
            ),
            None => String::new(),
        }
    }
}

/// A target as a message quotes it.
fn shortened(target: &str) -> String {
    const MOST: usize = 80;
    let first = target.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or(target);
    let cut = first.floor_char_boundary(MOST);
    let (head, tail) = first.split_at(cut);
    let lines = target.lines().count();
    let dots = if tail.is_empty() && lines <= 1 {
        ""
    } else {
        "…"
    };
    if lines > 1 {
        format!("{head:?}{dots} ({lines} lines)")
    } else {
        format!("{head:?}{dots}")
    }
}

fn binary(path: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Binary,
        format!(
            "`{path}` is binary, and edits are for text. Replace it as a whole if that is needed."
        ),
    )
}

/// The error for a file that is not there, with what is near.
pub(crate) fn missing(path: &str, cx: &RunCtx) -> ToolError {
    match cx.sandbox().open_read(path) {
        Err(error) => toolgate_gate::tool::path_error(&error),
        // Somebody made it in this very moment.
        Ok(_) => ToolError::new(ErrorKind::NotFound, format!("File not found: {path}")),
    }
}

fn preview(args: &EditFile, view: &View) -> Result<Preview, ToolError> {
    let seen = view.read(&args.path, LARGEST)?;
    let path = fact_path(&args.path);
    let name = preview_name(&path);
    // An earlier call of the batch may still make the file what this one needs.
    // Then the edits themselves are shown: the yes counts for whatever the file is by then.
    let fails = |why: &str| {
        let text = format!("as the files are now, this call will fail: {why}\n");
        (text, &[][..])
    };
    let (text, shows): (String, &'static [&'static str]) = match seen.content {
        None => fails(&format!("`{name}` does not exist")),
        Some(bytes) => match decode(bytes, true) {
            None => fails(&format!("`{name}` is binary")),
            Some(old) => match apply(&args.edits, &name, &old.text, view.redactor()) {
                Err(error) => fails(&error.message),
                Ok(Applied { edited, .. }) => {
                    view.check_content(&args.path, edited.text.as_bytes())?;
                    let regions = edited.regions(&old.text);
                    let difference = Difference::of(&old.text, &edited.text, regions);
                    let elided = match args.allow_elision {
                        true => Ok(()),
                        false => check_elision(&name, &old.text, &difference),
                    };
                    let encoded = old.encoding.encode(edited.text.clone());
                    let encoded = encoded.map_err(|error| error.in_file(&name));
                    match elided.and(encoded.map(drop)) {
                        Err(error) => fails(&error.message),
                        Ok(()) => (difference.unified(&path, &path), &["edits"]),
                    }
                }
            },
        },
    };
    Ok(Preview::bounded(&text, PREVIEW, shows, vec![seen.digest]))
}
