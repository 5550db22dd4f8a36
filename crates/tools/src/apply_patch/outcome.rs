//! What a patch makes of each file.

use toolgate_gate::output::preview_name;
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::RunCtx;
use toolgate_model::{ErrorKind, ToolError};

use super::Found;
use super::patch_files::{Item, Now};
use crate::change::{After, Change, Difference, Region, check_elision};
use crate::lines;
use crate::place::fact_path;
use crate::settings::WriteSettings;
use crate::text::{Decoded, decode};

/// What happens to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Created,
    Modified,
    Deleted,
    /// It came from there, which is told here and not again as a deletion.
    Moved(String),
    Copied(String),
}

/// A file that a patch changes.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// As the patch names it.
    pub(super) path: String,
    pub(super) what: What,
    /// As the patch names the file whose lines it has, if that is another one.
    from: Option<String>,
    /// Whether it went to another place that is told of as well.
    pub(super) moved_away: bool,
    /// The text it starts from; nothing if that was binary.
    old: Option<String>,
    /// The text it ends with; nothing if it is binary or gone.
    new: Option<String>,
    after: Option<Vec<u8>>,
    executable: Option<bool>,
    regions: Option<Vec<Region>>,
}

/// The files that differ from what they were.
pub(super) fn outcomes(items: Vec<Item>) -> Result<Vec<Outcome>, ToolError> {
    let origin = |at: usize| items.get(at);
    let mut outcomes = Vec::new();
    for item in &items {
        let after = item.after();
        let after = after.map_err(|error| error.in_file(&fact_path(&item.path)))?;
        if after == item.before && item.executable.is_none() {
            continue;
        }
        let source = item.from.and_then(origin);
        let base = source.unwrap_or(item);
        let text = |bytes: &Vec<u8>| decode(bytes.clone(), true).map(|Decoded { text, .. }| text);
        let old = match &base.before {
            Some(bytes) => text(bytes),
            None => Some(String::new()),
        };
        let name = |item: &Item| fact_path(&item.path);
        let what = match (&item.before, &after, source) {
            (_, None, _) => What::Deleted,
            (None, Some(_), Some(source)) if source.moved_to.is_some() => What::Moved(name(source)),
            (None, Some(_), Some(source)) => What::Copied(name(source)),
            (None, Some(_), None) => What::Created,
            (Some(_), Some(_), _) => What::Modified,
        };
        let regions = match (&item.now, &old) {
            (Now::Text(sheet, _), Some(old)) => Some(sheet.regions(old)),
            _ => None,
        };
        outcomes.push(Outcome {
            path: item.path.clone(),
            what,
            from: source.map(|source| source.path.clone()),
            moved_away: after.is_none() && item.moved_to.is_some(),
            new: after.as_ref().and_then(text),
            old,
            after,
            executable: item.executable,
            regions,
        });
    }
    Ok(outcomes)
}

impl Outcome {
    /// The difference, if both sides are text.
    pub(super) fn difference(&self) -> Option<Difference<'_>> {
        let old = self.old.as_deref()?;
        match (&self.new, &self.after) {
            (Some(new), _) => Some(match &self.regions {
                Some(regions) => Difference::of(old, new, regions.clone()),
                None => Difference::between(old, new),
            }),
            (None, None) => Some(Difference::between(old, "")),
            (None, Some(_)) => None,
        }
    }

    /// What a person is shown of it.
    pub(super) fn shown(&self) -> String {
        let path = fact_path(&self.path);
        if self.moved_away {
            return String::new();
        }
        let mut text = String::new();
        let (old, new) = match &self.what {
            What::Created => ("/dev/null".to_owned(), path),
            What::Deleted => (path, "/dev/null".to_owned()),
            What::Modified => (path.clone(), path),
            What::Moved(from) | What::Copied(from) => (from.clone(), path),
        };
        let (from, to) = (preview_name(&old), preview_name(&new));
        match &self.what {
            What::Moved(_) => text.push_str(&format!("move {from} to {to}\n")),
            What::Copied(_) => text.push_str(&format!("copy {from} to {to}\n")),
            _ => {}
        }
        if let Some(executable) = self.executable {
            let mode = if executable {
                "executable"
            } else {
                "not executable"
            };
            text.push_str(&format!("{to} becomes {mode}\n"));
        }
        match self.difference() {
            None => text.push_str(&format!("{to} is binary\n")),
            Some(difference) if difference.added() + difference.removed() > 0 => {
                text.push_str(&difference.unified(&old, &new));
            }
            Some(_) if self.what == What::Created => {
                text.push_str(&format!("{to} is made, empty\n"))
            }
            Some(_) if self.what == What::Deleted => text.push_str(&format!("{from} is deleted\n")),
            Some(_) => {}
        }
        text
    }

    /// The change of the file, if the conversation knows enough of it.
    pub(super) fn change(
        &self,
        found: &Found,
        cx: &RunCtx,
        settings: WriteSettings,
        allow_elision: bool,
    ) -> Result<Change, ToolError> {
        let path = fact_path(&self.path);
        let before = found.get(&self.path).cloned();
        let Some(bytes) = &self.after else {
            return Ok(Change {
                path: self.path.clone(),
                before,
                after: None,
            });
        };
        settings.check(&path, bytes.len())?;
        let source = self.from.as_ref().and_then(|from| found.get(from));
        let base = source.or(before.as_ref());
        let mut after = After::content(bytes.clone());
        after.like = source.map(|source| source.stat);
        after.executable = self.executable;
        if let Some(difference) = self.difference() {
            if let (false, Some(old)) = (allow_elision, &self.old) {
                check_elision(&path, old, &difference).map_err(|error| ToolError {
                    kind: ErrorKind::PatchFailed,
                    ..error
                })?;
            }
            if let Some(base) = base {
                if !matches!(self.what, What::Copied(_)) {
                    base.check_seen(&path, difference.touched(), cx)?;
                }
                let seen = cx.session().reads(|log| {
                    let seen = log.seen(&base.place);
                    seen.map_or_else(LineRanges::default, |seen| seen.lines.clone())
                });
                after.known = Some(difference.known_after(&seen));
            }
        }
        Ok(Change {
            path: self.path.clone(),
            before,
            after: Some(after),
        })
    }

    /// How a list of changes names it.
    pub(super) fn said(&self) -> String {
        let path = fact_path(&self.path);
        match &self.what {
            What::Created => format!("created: {path}"),
            What::Modified => format!("modified: {path}"),
            What::Deleted => format!("deleted: {path}"),
            What::Moved(from) => format!("moved: {from} -> {path}"),
            What::Copied(from) => format!("copied: {from} -> {path}"),
        }
    }

    /// Its size in lines, for metadata.
    pub(super) fn lines(&self) -> Option<u64> {
        self.new.as_deref().map(lines::count)
    }
}
