//! The hunks of a file.

use super::super::error::PatchError;
use super::super::lines::Lines;
use super::{Hunk, HunkLine};

/// Reads the hunks that follow the names of a file.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks = Vec::new();
    while let Some(line) = lines.peek().filter(|line| line.starts_with("@@")) {
        let number = lines.number();
        let Some((old, new)) = header(line) else {
            let what =
                format!("a hunk starts with `@@ -first,count +first,count @@`, found {line:?}");
            return Err(PatchError::syntax(number, what));
        };
        lines.skip();
        hunks.push(hunk(number, old, new, lines)?);
    }
    Ok(hunks)
}

/// First line and number of lines on both sides.
type Side = (usize, usize);

fn header(line: &str) -> Option<(Side, Side)> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, after) = rest.split_once(" @@")?;
    if !(after.is_empty() || after.starts_with([' ', '\t', '\r'])) {
        return None;
    }
    Some((side(old)?, side(new)?))
}

fn side(text: &str) -> Option<Side> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    match text.split_once(',') {
        Some((first, count)) => Some((number(first)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

fn hunk(line: usize, old: Side, new: Side, lines: &mut Lines<'_>) -> Result<Hunk, PatchError> {
    let mut hunk = Hunk {
        line,
        old_start: old.0,
        new_start: new.0,
        ..Hunk::default()
    };
    let (mut old_left, mut new_left) = (old.1, new.1);
    while old_left > 0 || new_left > 0 {
        let at = lines.number();
        let Some(text) = lines.peek() else {
            return Err(miscounted(&hunk, old.1, new.1));
        };
        let mut chars = text.chars();
        let (content, minus, plus) = match chars.next() {
            Some(' ') => (HunkLine::Context(chars.as_str().to_owned()), 1, 1),
            Some('-') => (HunkLine::Remove(chars.as_str().to_owned()), 1, 0),
            Some('+') => (HunkLine::Add(chars.as_str().to_owned()), 0, 1),
            // Some editors take the one blank of an empty line away.
            None => (HunkLine::Context(String::new()), 1, 1),
            Some('\r') if text == "\r" => (HunkLine::Context("\r".to_owned()), 1, 1),
            Some('\\') => {
                lines.skip();
                ends_here(&mut hunk, at)?;
                continue;
            }
            Some(_) => return Err(miscounted(&hunk, old.1, new.1)),
        };
        if minus > old_left || plus > new_left {
            return Err(miscounted(&hunk, old.1, new.1));
        }
        if minus > 0 && hunk.old_open || plus > 0 && hunk.new_open {
            let what = "a line after the one that the file ends with";
            return Err(PatchError::syntax(at, what));
        }
        lines.skip();
        old_left -= minus;
        new_left -= plus;
        hunk.lines.push(content);
    }
    if lines.peek().is_some_and(|text| text.starts_with('\\')) {
        let at = lines.number();
        lines.skip();
        ends_here(&mut hunk, at)?;
    }
    more_lines(lines, &hunk, old.1, new.1)?;
    if hunk.lines.is_empty() {
        return Err(PatchError::syntax(line, "the hunk has no lines"));
    }
    Ok(hunk)
}

/// `\ No newline at end of file`: the line above is the last of its side, or of both.
fn ends_here(hunk: &mut Hunk, at: usize) -> Result<(), PatchError> {
    match hunk.lines.last() {
        Some(HunkLine::Context(_)) => (hunk.old_open, hunk.new_open) = (true, true),
        Some(HunkLine::Remove(_)) => hunk.old_open = true,
        Some(HunkLine::Add(_)) => hunk.new_open = true,
        None => {
            let what = "a line that says where the file ends, and no line above it";
            return Err(PatchError::syntax(at, what));
        }
    }
    Ok(())
}

/// Lines that look like part of the hunk although it has all it said it has.
fn more_lines(lines: &Lines<'_>, hunk: &Hunk, old: usize, new: usize) -> Result<(), PatchError> {
    let Some(next) = lines.peek() else {
        return Ok(());
    };
    let header =
        next.starts_with("--- ") && lines.second().is_some_and(|line| line.starts_with("+++ "));
    // Mails end with a line of two dashes.
    let signature = next.trim_end() == "--";
    if next.starts_with([' ', '+', '-']) && !header && !signature {
        return Err(miscounted(hunk, old, new));
    }
    Ok(())
}

/// A hunk is never repaired: half of one that was cut off would still apply.
fn miscounted(hunk: &Hunk, old: usize, new: usize) -> PatchError {
    let (is_old, is_new) = hunk.counts();
    PatchError::syntax(
        hunk.line,
        format!(
            "the hunk says it has {old} old and {new} new lines, but that is not where it ends; \
             {is_old} old and {is_new} new were read. Count context and `-` lines for the first number, context and `+` lines for the second"
        ),
    )
}
