//! The patch envelope: `*** Begin Patch` … `*** End Patch`.

use std::fmt;

use super::Touched;
use super::error::PatchError;
use super::lines::{Lines, Printed};

/// The first line.
pub(super) const BEGIN: &str = "*** Begin Patch";
pub(super) const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// A patch in an envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// What is done to each file, with its line of the patch.
    pub sections: Vec<(usize, Section)>,
}

/// What is done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// It is made.
    Add {
        /// The file.
        path: String,
        /// Its lines.
        lines: Vec<String>,
    },
    /// It is removed.
    Delete {
        /// The file.
        path: String,
    },
    /// It is changed, and possibly moved.
    Update {
        /// The file.
        path: String,
        /// Where it goes, if it is moved.
        move_to: Option<String>,
        /// What changes in it.
        hunks: Vec<EnvelopeHunk>,
    },
}

/// One change within a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvelopeHunk {
    /// Its line of the patch.
    pub line: usize,
    /// Lines to seek first, one below the other.
    pub seek: Vec<String>,
    /// The lines it is about.
    pub lines: Vec<EnvelopeLine>,
    /// Whether it ends where the file ends.
    pub end_of_file: bool,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeLine {
    /// It is there and stays.
    Context(String),
    /// It is there and goes.
    Remove(String),
    /// It comes.
    Add(String),
}

impl EnvelopeHunk {
    /// The lines that have to be there.
    pub fn old(&self) -> Vec<String> {
        let old = self.lines.iter().filter_map(|line| match line {
            EnvelopeLine::Context(text) | EnvelopeLine::Remove(text) => Some(text.clone()),
            EnvelopeLine::Add(_) => None,
        });
        old.collect()
    }
}

impl Envelope {
    /// Reads an envelope.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let mut lines = Lines::of(text).without_cr();
        loop {
            match lines.next() {
                Some((_, line)) if line.trim() == BEGIN => break,
                Some((_, line)) if line.trim().is_empty() || line.starts_with('#') => {}
                Some((number, _)) => return Err(PatchError::syntax(number, missing(BEGIN))),
                None => return Err(PatchError::syntax(1, missing(BEGIN))),
            }
        }
        let mut sections = Vec::new();
        loop {
            let Some((number, line)) = lines.next() else {
                return Err(PatchError::syntax(lines.number(), missing(END)));
            };
            if line.trim().is_empty() {
                continue;
            }
            if line.trim() == END {
                break;
            }
            let section = if let Some(path) = named(line, ADD, number)? {
                Section::Add {
                    path,
                    lines: added(&mut lines)?,
                }
            } else if let Some(path) = named(line, DELETE, number)? {
                Section::Delete { path }
            } else if let Some(path) = named(line, UPDATE, number)? {
                updated(path, number, &mut lines)?
            } else {
                let what = format!(
                    "expected `{ADD} …`, `{UPDATE} …`, `{DELETE} …` or `{END}`, found {line:?}"
                );
                return Err(PatchError::syntax(number, what));
            };
            sections.push((number, section));
        }
        while let Some((number, line)) = lines.next() {
            if !line.trim().is_empty() {
                let what = format!("Nothing may follow `{END}` but blank lines");
                return Err(PatchError::syntax(number, what));
            }
        }
        if sections.is_empty() {
            return Err(PatchError::syntax(1, "The patch names no file"));
        }
        Ok(Self { sections })
    }

    pub(super) fn touch(&self, touched: &mut Touched) {
        for (_, section) in &self.sections {
            match section {
                Section::Add { path, .. } => touched.write(path),
                Section::Delete { path } => touched.delete(path),
                Section::Update {
                    path,
                    move_to: Some(to),
                    ..
                } => {
                    touched.delete(path);
                    touched.write(to);
                }
                Section::Update { path, .. } => touched.write(path),
            }
        }
    }
}

fn missing(what: &str) -> String {
    format!("`{what}` is missing")
}

/// The path behind a keyword, if the line starts with it.
fn named(line: &str, keyword: &str, number: usize) -> Result<Option<String>, PatchError> {
    let Some(path) = line.trim().strip_prefix(keyword) else {
        return Ok(None);
    };
    let path = path.trim();
    if path.is_empty() {
        let what = format!("`{keyword}` without a path");
        return Err(PatchError::syntax(number, what));
    }
    Ok(Some(path.to_owned()))
}

fn is_directive(line: &str) -> bool {
    line.starts_with("*** ")
}

/// The lines of a new file.
fn added(lines: &mut Lines<'_>) -> Result<Vec<String>, PatchError> {
    let mut content = Vec::new();
    let mut blank = None;
    // A new line starts with `+`, so blanks in front make no marker a line.
    while let Some(line) = lines.peek().filter(|line| !is_directive(line.trim_start())) {
        let number = lines.number();
        lines.skip();
        match (line.strip_prefix('+'), blank) {
            (Some(_), Some(at)) => return Err(PatchError::syntax(at, NO_PLUS)),
            (Some(text), None) => content.push(text.to_owned()),
            // Blank lines may separate sections.
            (None, _) if line.trim().is_empty() => blank = blank.or(Some(number)),
            (None, _) => return Err(PatchError::syntax(number, NO_PLUS)),
        }
    }
    Ok(content)
}

const NO_PLUS: &str = "every line of a new file starts with `+`, empty ones too";

/// What changes in a file.
fn updated(path: String, number: usize, lines: &mut Lines<'_>) -> Result<Section, PatchError> {
    let mut move_to = None;
    if let Some(line) = lines.peek()
        && let Some(to) = named(line, MOVE, lines.number())?
    {
        lines.skip();
        move_to = Some(to);
    }
    let mut hunks: Vec<EnvelopeHunk> = Vec::new();
    // Whether the last hunk can still grow.
    let mut open = false;
    while let Some(line) = lines.peek() {
        let at = lines.number();
        if line.trim() == END_OF_FILE {
            let hunk = hunks
                .last_mut()
                .filter(|hunk| open && !hunk.lines.is_empty());
            let Some(hunk) = hunk else {
                return Err(PatchError::syntax(
                    at,
                    format!("`{END_OF_FILE}` without a hunk"),
                ));
            };
            hunk.end_of_file = true;
            open = false;
            lines.skip();
            continue;
        }
        if is_directive(line) {
            break;
        }
        lines.skip();
        if let Some(seek) = header(line) {
            match hunks.last_mut() {
                // One more line to seek below the one before.
                Some(hunk) if open && hunk.lines.is_empty() => hunk.seek.extend(seek),
                _ => hunks.push(EnvelopeHunk {
                    line: at,
                    seek: seek.into_iter().collect(),
                    ..EnvelopeHunk::default()
                }),
            }
            open = true;
            continue;
        }
        let mut chars = line.chars();
        let content = match chars.next() {
            Some(' ') => EnvelopeLine::Context(chars.as_str().to_owned()),
            Some('-') => EnvelopeLine::Remove(chars.as_str().to_owned()),
            Some('+') => EnvelopeLine::Add(chars.as_str().to_owned()),
            None if separates(lines) => continue,
            None => EnvelopeLine::Context(String::new()),
            Some(_) => {
                let what = format!(
                    "a line of a hunk starts with a blank, `-` or `+`, and a hunk with `@@`; found {line:?}"
                );
                return Err(PatchError::syntax(at, what));
            }
        };
        if !open {
            hunks.push(EnvelopeHunk {
                line: at,
                ..EnvelopeHunk::default()
            });
            open = true;
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(content);
        }
    }
    if let Some(empty) = hunks.iter().find(|hunk| hunk.lines.is_empty()) {
        return Err(PatchError::syntax(empty.line, "the hunk has no lines"));
    }
    if hunks.is_empty() && move_to.is_none() {
        let what = "the file is neither changed nor moved: hunks are missing";
        return Err(PatchError::syntax(number, what));
    }
    Ok(Section::Update {
        path,
        move_to,
        hunks,
    })
}

/// What a line that starts a hunk asks to seek.
fn header(line: &str) -> Option<Option<String>> {
    let rest = line.strip_prefix("@@")?;
    if rest.trim().is_empty() {
        return Some(None);
    }
    let text = rest.strip_prefix(' ')?;
    Some(Some(text.to_owned()))
}

/// Whether nothing but empty lines comes before the next hunk or section.
fn separates(lines: &Lines<'_>) -> bool {
    let mut rest = lines.clone();
    loop {
        match rest.next() {
            None => return true,
            Some((_, "")) => {}
            Some((_, line)) => return is_directive(line) || header(line).is_some(),
        }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{BEGIN}")?;
        for (_, section) in &self.sections {
            match section {
                Section::Add { path, lines } => {
                    writeln!(f, "{ADD} {path}")?;
                    for line in lines {
                        writeln!(f, "+{}", Printed(line))?;
                    }
                }
                Section::Delete { path } => writeln!(f, "{DELETE} {path}")?,
                Section::Update {
                    path,
                    move_to,
                    hunks,
                } => {
                    writeln!(f, "{UPDATE} {path}")?;
                    if let Some(to) = move_to {
                        writeln!(f, "{MOVE} {to}")?;
                    }
                    for hunk in hunks {
                        hunk.fmt(f)?;
                    }
                }
            }
        }
        writeln!(f, "{END}")
    }
}

impl fmt::Display for EnvelopeHunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seek.is_empty() {
            writeln!(f, "@@")?;
        }
        for line in &self.seek {
            writeln!(f, "@@ {}", Printed(line))?;
        }
        for line in &self.lines {
            match line {
                EnvelopeLine::Context(text) => writeln!(f, " {}", Printed(text))?,
                EnvelopeLine::Remove(text) => writeln!(f, "-{}", Printed(text))?,
                EnvelopeLine::Add(text) => writeln!(f, "+{}", Printed(text))?,
            }
        }
        if self.end_of_file {
            writeln!(f, "{END_OF_FILE}")?;
        }
        Ok(())
    }
}
