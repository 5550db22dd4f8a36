//! LP1: whole lines, exactly, and exactly one place.

use std::ops::Range;

use super::super::formats::{Lp1, Operation, PatchProblem, Place};
use super::super::patch_files::{Item, Now, PatchFiles};
use super::{At, Failure, ambiguous, sought};
use crate::change::{Ending, Row, Sheet};
use crate::text::Encoding;

pub(super) fn apply(patch: &Lp1, desk: &mut PatchFiles<'_>) -> Result<(), Failure> {
    for section in &patch.sections {
        for (number, (line, operation)) in (1..).zip(&section.operations) {
            let at = At {
                line: *line,
                path: &section.path,
            };
            let step = || format!("operation {number} ({})", operation.letter());
            let opened = desk.open(&section.path);
            let opened = opened.map_err(|trouble| at.failed(step(), trouble))?;
            if let Some(item) = desk.get(opened) {
                one(operation, item).map_err(|problem| at.failed(step(), problem))?;
            }
        }
    }
    Ok(())
}

fn one(operation: &Operation, item: &mut Item) -> Result<(), PatchProblem> {
    let creates = matches!(operation, Operation::Append(_) | Operation::Prepend(_));
    let matches = !creates && !matches!(operation, Operation::FinalNewline(_));
    if item.before.is_none() && matches {
        // Also if an operation before this one made it: there is nothing the model could have read.
        return Err(PatchProblem::Missing { removed: false });
    }
    if item.now == Now::Absent && creates {
        item.now = Now::Text(Sheet::default(), Encoding::Utf8);
    }
    let sheet = item.sheet()?;
    let ending = sheet.one_ending()?;
    match operation {
        Operation::Replace(place, with) => {
            let found = find(sheet, place)?;
            put(sheet, found, with, ending);
        }
        Operation::InsertAfter(place, block) => {
            let end = find(sheet, place)?.end;
            put(sheet, end..end, block, ending);
        }
        Operation::InsertBefore(place, block) => {
            let start = find(sheet, place)?.start;
            put(sheet, start..start, block, ending);
        }
        Operation::Erase(place) => {
            let found = find(sheet, place)?;
            put(sheet, found, &[], ending);
        }
        Operation::Append(block) => {
            let end = sheet.rows.len();
            put(sheet, end..end, block, ending);
        }
        Operation::Prepend(block) => put(sheet, 0..0, block, ending),
        Operation::FinalNewline(true) => {
            if sheet.rows.is_empty() {
                sheet.rows.push(Row::new("", ending));
            }
            sheet.final_newline = true;
        }
        Operation::FinalNewline(false) => {
            if sheet.final_newline
                && matches!(sheet.rows.as_slice(), [only] if only.text.is_empty())
            {
                sheet.rows.clear();
            }
            sheet.final_newline = false;
        }
    }
    Ok(())
}

fn put(sheet: &mut Sheet, range: Range<usize>, lines: &[String], ending: Ending) {
    let rows = lines.iter().map(|line| Row::new(line, ending)).collect();
    sheet.splice(range, rows);
}

fn find(sheet: &Sheet, place: &Place) -> Result<Range<usize>, PatchProblem> {
    let Place { occurrence, find } = place;
    // Nothing stands between any two lines, and before the first and after the last.
    if find.is_empty() && occurrence.is_none() {
        return Err(PatchProblem::EmptyMatch);
    }
    let places: Vec<usize> = sheet
        .places(find, 0, |row, wanted| row.text == *wanted)
        .collect();
    let chosen = match (occurrence, places.as_slice()) {
        (_, []) => return Err(PatchProblem::NotFound(sought(find, sheet, 0))),
        (None, [only]) => *only,
        (None, _) => return Err(ambiguous(find, sheet, &places, 0)),
        (Some(asked), places) => {
            let chosen = asked.checked_sub(1).and_then(|at| places.get(at));
            *chosen.ok_or(PatchProblem::OutOfRange {
                asked: *asked,
                count: places.len(),
            })?
        }
    };
    Ok(chosen..chosen + find.len())
}
