//! Unified diffs: exact context, at the line they name or the nearest that fits.

use std::ops::Range;

use super::super::formats::{FileDiff, Hunk, HunkLine, PatchProblem, Relation, Unified};
use super::super::patch_files::{ApplyError, Now, PatchFiles};
use super::{At, Failure, Fit, Remark, ambiguous, sought};
use crate::change::{Ending, Row, Sheet};

pub(super) fn apply(patch: &Unified, desk: &mut PatchFiles<'_>) -> Result<Vec<Remark>, Failure> {
    let mut remarks = Vec::new();
    for file in &patch.files {
        let path = file.new.as_deref().or(file.old.as_deref());
        let at = At {
            line: file.line,
            path: path.unwrap_or_default(),
        };
        one(file, at, desk, &mut remarks)?;
    }
    Ok(remarks)
}

fn one(
    file: &FileDiff,
    at: At<'_>,
    desk: &mut PatchFiles<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<(), Failure> {
    let header = |trouble| at.failed("the file", trouble);
    match (&file.old, &file.new) {
        (Some(old), Some(new)) if file.relation != Relation::Same => {
            let keep = file.relation == Relation::Copy;
            desk.carry(old, new, keep).map_err(|trouble| {
                let missing = matches!(
                    trouble,
                    ApplyError::PatchProblem(PatchProblem::Missing { .. })
                );
                let path = if missing { old } else { new };
                At { path, ..at }.failed("the file", trouble)
            })?;
        }
        (None, Some(new)) => {
            let opened = desk.open(new).map_err(header)?;
            if let Some(item) = desk.get(opened) {
                let made = item.fill(created(file));
                made.map_err(|problem| header(problem.into()))?;
                item.executable = file.executable.or(item.executable);
            }
            return Ok(());
        }
        _ => {}
    }
    let opened = desk.open(at.path).map_err(header)?;
    let Some(item) = desk.get(opened) else {
        return Ok(());
    };
    item.executable = file.executable.or(item.executable);
    if !file.hunks.is_empty() || file.new.is_none() {
        let sheet = item.sheet().map_err(|problem| header(problem.into()))?;
        hunks(file, at, sheet, remarks)?;
    } else if item.now == Now::Absent {
        let removed = item.before.is_some();
        return Err(header(PatchProblem::Missing { removed }.into()));
    }
    if file.new.is_none() {
        let left = item.sheet().map_or(0, |sheet| sheet.rows.len());
        if left > 0 {
            return Err(header(PatchProblem::LeavesLines(left).into()));
        }
        item.remove().map_err(|problem| header(problem.into()))?;
    }
    Ok(())
}

/// The content of a file that is made.
fn created(file: &FileDiff) -> Sheet {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let open = file.hunks.iter().any(|hunk| hunk.new_open);
    let mut text = String::new();
    for line in lines {
        text.push_str(line.text());
        text.push('\n');
    }
    if open {
        text.pop();
    }
    let mut sheet = Sheet::of(&text);
    sheet.forget_origins();
    sheet
}

fn hunks(
    file: &FileDiff,
    at: At<'_>,
    sheet: &mut Sheet,
    remarks: &mut Vec<Remark>,
) -> Result<(), Failure> {
    // Where the patch shows carriage returns they count; where it shows none, the
    // file's own line endings are kept.
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let shown = lines.clone().any(|line| line.text().ends_with('\r'));
    let mut way = Way {
        endings: shown,
        from: 0,
        grown: 0,
        drift: 0,
    };
    for (number, hunk) in (1..).zip(&file.hunks) {
        let at = At {
            line: hunk.line,
            ..at
        };
        let applied = way.apply(hunk, sheet);
        let (line, moved) =
            applied.map_err(|problem| at.failed(format!("hunk {number}"), problem))?;
        if moved != 0 {
            remarks.push(Remark {
                path: at.path.to_owned(),
                hunk: number,
                line,
                fit: Fit::Exact,
                moved: Some(moved),
            });
        }
    }
    Ok(())
}

/// The way through a file, from hunk to hunk.
struct Way {
    /// Whether line endings count.
    endings: bool,
    /// Where the last hunk ended.
    from: usize,
    /// How many lines the hunks so far have added.
    grown: isize,
    /// How far the last hunk was from where it said it was.
    drift: isize,
}

impl Way {
    /// Applies a hunk; says at which line, and how far that is from where it said.
    fn apply(&mut self, hunk: &Hunk, sheet: &mut Sheet) -> Result<(usize, isize), PatchProblem> {
        let old: Vec<String> = side(hunk, |line| !matches!(line, HunkLine::Add(_)));
        let (named, here) = self.find(hunk, &old, sheet)?;
        let range = here..here + old.len();
        let at_end = range.end == sheet.rows.len();
        let was_empty = sheet.rows.is_empty();
        if (hunk.old_open || hunk.new_open) && !at_end || hunk.old_open && sheet.final_newline {
            return Err(PatchProblem::NotAtEnd(sought(&old, sheet, here)));
        }
        let new = self.rows(hunk, sheet, range.clone());
        let grown = signed(new.len()) - signed(old.len());
        self.from = here + new.len();
        sheet.splice(range, new);
        if at_end {
            if hunk.new_open {
                sheet.final_newline = false;
            } else if hunk.old_open || was_empty {
                sheet.final_newline = true;
            }
        }
        self.drift = signed(here) - named;
        self.grown += grown;
        Ok((here + 1, self.drift))
    }

    /// Where a hunk says it is in the text as it is now, and where it fits.
    fn find(
        &self,
        hunk: &Hunk,
        old: &[String],
        sheet: &Sheet,
    ) -> Result<(isize, usize), PatchProblem> {
        // Of a hunk without old lines the line before it is named.
        let named = if old.is_empty() {
            signed(hunk.old_start)
        } else {
            signed(hunk.old_start) - 1
        };
        let named = named + self.grown;
        if old.is_empty() {
            let here = usize::try_from(named).ok();
            let here = here.filter(|here| (self.from..=sheet.rows.len()).contains(here));
            let here = here.ok_or_else(|| PatchProblem::NotFound(sought(old, sheet, self.from)))?;
            return Ok((named, here));
        }
        let endings = self.endings;
        let open = hunk.old_open;
        let last = old.len() - 1;
        let wanted: Vec<(usize, &String)> = old.iter().enumerate().collect();
        let places: Vec<usize> = sheet
            .places(&wanted, self.from, |row, (at, wanted)| {
                let unended = !sheet.final_newline
                    && sheet
                        .rows
                        .last()
                        .is_some_and(|last| std::ptr::eq(last, row));
                if !endings || unended || open && *at == last {
                    return row.text == **wanted;
                }
                match wanted.strip_suffix('\r') {
                    Some(text) => row.text == text && row.ending == Ending::CrLf,
                    None => row.text == **wanted && row.ending == Ending::Lf,
                }
            })
            .collect();
        let far = |place: usize| (signed(place) - named - self.drift).unsigned_abs();
        let nearest = places.iter().copied().min_by_key(|place| far(*place));
        let Some(nearest) = nearest else {
            return Err(PatchProblem::NotFound(sought(old, sheet, self.from)));
        };
        let as_near = places.iter().filter(|place| far(**place) == far(nearest));
        if as_near.count() > 1 {
            return Err(ambiguous(old, sheet, &places, self.from));
        }
        Ok((named, nearest))
    }

    /// The lines that stand there then: context as it is in the file.
    fn rows(&self, hunk: &Hunk, sheet: &Sheet, range: Range<usize>) -> Vec<Row> {
        let mut ending = sheet.ending_at(&range);
        let mut old = sheet.rows.get(range).unwrap_or_default().iter();
        let mut new = Vec::with_capacity(hunk.lines.len());
        let last = hunk
            .lines
            .iter()
            .rposition(|line| !matches!(line, HunkLine::Remove(_)));
        for (at, line) in hunk.lines.iter().enumerate() {
            if let HunkLine::Add(text) = line {
                let open = hunk.new_open && Some(at) == last;
                new.push(match text.strip_suffix('\r') {
                    _ if !self.endings || open => Row::new(text, ending),
                    Some(text) => Row::new(text, Ending::CrLf),
                    None => Row::new(text, Ending::Lf),
                });
                continue;
            }
            let Some(row) = old.next() else { continue };
            // What comes below it ends like it.
            ending = row.ending;
            if matches!(line, HunkLine::Context(_)) {
                new.push(row.clone());
            }
        }
        new
    }
}

fn side(hunk: &Hunk, keep: fn(&HunkLine) -> bool) -> Vec<String> {
    let lines = hunk.lines.iter().filter(|line| keep(line));
    lines.map(|line| line.text().to_owned()).collect()
}

/// A number of lines, or what a patch says is one, small enough to be added up.
fn signed(number: usize) -> isize {
    isize::try_from(number.min(usize::MAX / 8)).unwrap_or(isize::MAX / 4)
}
