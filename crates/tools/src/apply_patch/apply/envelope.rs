//! The envelope: hunks in the order of the file, exactly if possible.

use std::ops::Range;

use super::super::formats::{Envelope, EnvelopeHunk, EnvelopeLine, PatchProblem, Section};
use super::super::patch_files::{ApplyError, PatchFiles};
use super::{At, Failure, Fit, Remark, ambiguous, sought};
use crate::change::{Row, Sheet};

pub(super) fn apply(patch: &Envelope, desk: &mut PatchFiles<'_>) -> Result<Vec<Remark>, Failure> {
    let mut remarks = Vec::new();
    for (line, section) in &patch.sections {
        match section {
            Section::Add { path, lines } => {
                let at = At { line: *line, path };
                let sheet = Sheet::new(lines);
                let failed = |trouble| at.failed("Add File", trouble);
                let opened = desk.open(path).map_err(failed)?;
                if let Some(item) = desk.get(opened) {
                    item.fill(sheet).map_err(|problem| failed(problem.into()))?;
                }
            }
            Section::Delete { path } => {
                let at = At { line: *line, path };
                let failed = |trouble| at.failed("Delete File", trouble);
                let opened = desk.open(path).map_err(failed)?;
                if let Some(item) = desk.get(opened) {
                    item.remove().map_err(|problem| failed(problem.into()))?;
                }
            }
            Section::Update {
                path,
                move_to,
                hunks,
            } => {
                let at = At { line: *line, path };
                if !hunks.is_empty() {
                    update(at, hunks, desk, &mut remarks)?;
                }
                if let Some(to) = move_to {
                    desk.carry(path, to, false).map_err(|trouble| {
                        let missing = matches!(
                            trouble,
                            ApplyError::PatchProblem(PatchProblem::Missing { .. })
                        );
                        let path = if missing { path } else { to };
                        At { line: *line, path }.failed("Move to", trouble)
                    })?;
                }
            }
        }
    }
    Ok(remarks)
}

fn update(
    at: At<'_>,
    hunks: &[EnvelopeHunk],
    desk: &mut PatchFiles<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<(), Failure> {
    let sheet = desk.sheet(at.path);
    let sheet = sheet.map_err(|trouble| at.failed("Update File", trouble))?;
    let was_empty = sheet.rows.is_empty();
    let mut from = 0;
    for (number, hunk) in (1..).zip(hunks) {
        let place = find(sheet, hunk, from).map_err(|problem| {
            let at = At {
                line: hunk.line,
                ..at
            };
            at.failed(format!("hunk {number}"), problem)
        })?;
        if place.fit != Fit::Exact {
            remarks.push(Remark {
                path: at.path.to_owned(),
                hunk: number,
                line: place.range.start + 1,
                fit: place.fit,
                moved: None,
            });
        }
        from = exchange(sheet, hunk, place.range);
    }
    if was_empty && !sheet.rows.is_empty() {
        // There was no last line whose end could be kept.
        sheet.final_newline = true;
    }
    Ok(())
}

/// Puts the new lines of a hunk in the place of the old ones; context stays what it is in the file.
fn exchange(sheet: &mut Sheet, hunk: &EnvelopeHunk, range: Range<usize>) -> usize {
    let mut ending = sheet.ending_at(&range);
    let mut old = sheet.rows.get(range.clone()).unwrap_or_default().iter();
    let mut new = Vec::with_capacity(hunk.lines.len());
    for line in &hunk.lines {
        if let EnvelopeLine::Add(text) = line {
            new.push(Row::new(text, ending));
            continue;
        }
        let Some(row) = old.next() else { continue };
        // What comes below it ends like it.
        ending = row.ending;
        if matches!(line, EnvelopeLine::Context(_)) {
            new.push(row.clone());
        }
    }
    let end = range.start + new.len();
    sheet.splice(range, new);
    end
}

struct Found {
    range: Range<usize>,
    fit: Fit,
}

/// Where a hunk belongs, from a line on.
fn find(sheet: &Sheet, hunk: &EnvelopeHunk, from: usize) -> Result<Found, PatchProblem> {
    let (mut start, mut fit) = (from, Fit::Exact);
    let mut above = None;
    for line in &hunk.seek {
        let one = std::slice::from_ref(line);
        let (at, how) = seek(sheet, one, start, |fit| {
            sheet
                .places(one, start, move |row, wanted| same(row, wanted, fit))
                .collect()
        })?;
        fit = fit.max(how);
        above = Some(at);
        start = at + 1;
    }
    let old = hunk.old();
    let (at, how) = if old.is_empty() {
        let end = sheet.rows.len();
        let at = if above.is_some() && !hunk.end_of_file {
            start
        } else {
            end
        };
        (at, Fit::Exact)
    } else if hunk.end_of_file {
        let last = sheet
            .rows
            .len()
            .checked_sub(old.len())
            .filter(|last| *last >= start);
        let fits = |fit| {
            let here = last.and_then(|last| {
                let mut places =
                    sheet.places(&old, last, move |row, wanted| same(row, wanted, fit));
                places.next()
            });
            here.into_iter().collect()
        };
        seek(sheet, &old, start, fits).map_err(|problem| match problem {
            PatchProblem::NotFound(sought) => PatchProblem::NotAtEnd(sought),
            other => other,
        })?
    } else {
        let from = |start| {
            let old = &old;
            move |fit| {
                let places = sheet.places(old, start, move |row, wanted| same(row, wanted, fit));
                places.collect::<Vec<usize>>()
            }
        };
        let found = seek(sheet, &old, start, from(start));
        match (found, above) {
            // The line that was sought may come again as the first of the hunk.
            (Err(PatchProblem::NotFound(sought)), Some(above)) => {
                seek(sheet, &old, above, from(above)).map_err(|_| PatchProblem::NotFound(sought))?
            }
            (found, _) => found?,
        }
    };
    Ok(Found {
        range: at..at + old.len(),
        fit: fit.max(how),
    })
}

/// The first place that fits exactly, or the only one that fits less well.
fn seek(
    sheet: &Sheet,
    wanted: &[String],
    from: usize,
    places: impl Fn(Fit) -> Vec<usize>,
) -> Result<(usize, Fit), PatchProblem> {
    for fit in [Fit::Exact, Fit::TrailingBlanks, Fit::Blanks] {
        match (places(fit).as_slice(), fit) {
            ([], _) => {}
            ([first, ..], Fit::Exact) => return Ok((*first, fit)),
            ([only], _) => return Ok((*only, fit)),
            (several, _) => return Err(ambiguous(wanted, sheet, several, from)),
        }
    }
    Err(PatchProblem::NotFound(sought(wanted, sheet, from)))
}

fn same(row: &Row, wanted: &str, fit: Fit) -> bool {
    match fit {
        Fit::Exact => row.text == wanted,
        Fit::TrailingBlanks => row.text.trim_end() == wanted.trim_end(),
        Fit::Blanks => row.text.trim() == wanted.trim(),
    }
}
