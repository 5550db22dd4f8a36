//! The files of a patch while it is applied: in memory, none on disk.

use std::collections::HashMap;
use std::sync::Arc;

use toolgate_gate::output::Redactor;
use toolgate_model::ToolError;

use super::formats::PatchProblem;
use crate::change::{LineEndingError, Sheet};
use crate::place::fact_path;
use crate::placeholders::Placeholders;
use crate::text::{Decoded, Encoding, Unencodable, decode};

/// Where the desk gets files from.
pub(super) type Source<'s> = dyn FnMut(&str) -> Result<Option<Vec<u8>>, ToolError> + 's;

/// What a file is at a moment of the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Absent,
    /// Nobody has looked inside.
    Bytes(Vec<u8>),
    Text(Sheet, Encoding),
}

/// One file.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// As the patch named it first.
    pub(super) path: String,
    /// What it was on disk.
    pub(super) before: Option<Vec<u8>>,
    pub(super) now: Now,
    pub(super) executable: Option<bool>,
    /// The file whose lines it has, if it was moved or copied here.
    pub(super) from: Option<usize>,
    /// Whether it was taken away from here to another place.
    pub(super) moved_to: Option<usize>,
    /// Where its lines are as they were shown: with placeholders of these secrets.
    placeholders: Option<Arc<Placeholders>>,
}

/// What went wrong: with the patch, or with getting at a file.
#[derive(Debug)]
pub(super) enum ApplyError {
    PatchProblem(PatchProblem),
    Tool(ToolError),
}

impl From<PatchProblem> for ApplyError {
    fn from(problem: PatchProblem) -> Self {
        Self::PatchProblem(problem)
    }
}

/// All files of a patch.
pub(super) struct PatchFiles<'s> {
    source: Box<Source<'s>>,
    items: Vec<Item>,
    by_name: HashMap<String, usize>,
    /// Knows the secrets, if the patch holds placeholders of some.
    redactor: Option<Redactor>,
}

impl<'s> PatchFiles<'s> {
    pub(super) fn new(source: impl FnMut(&str) -> Result<Option<Vec<u8>>, ToolError> + 's) -> Self {
        Self {
            source: Box::new(source),
            items: Vec::new(),
            by_name: HashMap::new(),
            redactor: None,
        }
    }

    /// Opens files as they were shown, if the patch holds placeholders.
    pub(super) fn with_placeholders(
        mut self,
        redactor: &Redactor,
        holds_placeholders: bool,
    ) -> Self {
        self.redactor = holds_placeholders.then(|| redactor.clone());
        self
    }

    /// Puts secrets back where their placeholders are.
    pub(super) fn put_back(&mut self) -> Result<(), ToolError> {
        let Some(redactor) = &self.redactor else {
            return Ok(());
        };
        for item in &mut self.items {
            if let (Now::Text(sheet, _), Some(placeholders)) = (&mut item.now, &item.placeholders) {
                let regions = sheet.regions(placeholders.shown());
                let path = fact_path(&item.path);
                let text = placeholders.put_back(redactor, &path, &sheet.text(), &regions)?;
                for (row, line) in sheet.rows.iter_mut().zip(text.split_inclusive('\n')) {
                    let line = line.strip_suffix('\n').unwrap_or(line);
                    row.text = line.strip_suffix('\r').unwrap_or(line).to_owned();
                }
            }
        }
        Ok(())
    }

    /// The number of a file; it is read when it is named for the first time.
    pub(super) fn open(&mut self, path: &str) -> Result<usize, ApplyError> {
        let name = fact_path(path);
        if let Some(at) = self.by_name.get(&name) {
            return Ok(*at);
        }
        let before = (self.source)(path).map_err(ApplyError::Tool)?;
        let item = Item {
            path: path.to_owned(),
            now: before.clone().map_or(Now::Absent, Now::Bytes),
            before,
            executable: None,
            from: None,
            moved_to: None,
            placeholders: None,
        };
        self.items.push(item);
        self.by_name.insert(name, self.items.len() - 1);
        Ok(self.items.len() - 1)
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut Item> {
        let item = self.items.get_mut(at)?;
        item.hide(self.redactor.as_ref());
        Some(item)
    }

    /// The files as the patch left them, in the order in which it named them.
    pub(super) fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// Opens a file that has to be there as text.
    pub(super) fn sheet(&mut self, path: &str) -> Result<&mut Sheet, ApplyError> {
        let at = self.open(path)?;
        let missing = PatchProblem::Missing { removed: false };
        let item = self.items.get_mut(at).ok_or(missing)?;
        item.hide(self.redactor.as_ref());
        Ok(item.sheet()?)
    }

    /// Gives one file's content to a name that is free, and takes it away or not.
    pub(super) fn carry(&mut self, from: &str, to: &str, keep: bool) -> Result<(), ApplyError> {
        let (from, to) = (self.open(from)?, self.open(to)?);
        if from == to {
            return Ok(());
        }
        let source = self.items.get(from).cloned();
        let Some(source) = source.filter(|source| source.now != Now::Absent) else {
            let removed = self
                .items
                .get(from)
                .is_some_and(|item| item.before.is_some());
            return Err(PatchProblem::Missing { removed }.into());
        };
        if let Some(target) = self.items.get_mut(to) {
            if target.now != Now::Absent {
                return Err(PatchProblem::Exists.into());
            }
            target.now = source.now;
            target.executable = source.executable;
            target.placeholders = source.placeholders;
            // Its lines come from wherever those of the source came from.
            target.from = source.from.or(Some(from));
        }
        if !keep && let Some(source) = self.items.get_mut(from) {
            source.now = Now::Absent;
            source.moved_to = Some(to);
        }
        Ok(())
    }
}

impl Item {
    /// Takes its lines as they were shown, if there are secrets in them.
    fn hide(&mut self, redactor: Option<&Redactor>) {
        if let (Now::Bytes(bytes), Some(redactor)) = (&self.now, redactor)
            && let Some(Decoded { text, encoding }) = decode(bytes.clone(), true)
            && let Some(placeholders) = Placeholders::of(redactor, &text)
        {
            self.now = Now::Text(Sheet::of(placeholders.shown()), encoding);
            self.placeholders = Some(Arc::new(placeholders));
        }
    }

    /// Its lines.
    pub(super) fn sheet(&mut self) -> Result<&mut Sheet, PatchProblem> {
        if let Now::Bytes(bytes) = &mut self.now {
            let text = decode(std::mem::take(bytes), true);
            let Decoded { text, encoding } = text.ok_or(PatchProblem::Binary)?;
            self.now = Now::Text(Sheet::of(&text), encoding);
        }
        match &mut self.now {
            Now::Text(sheet, _) => Ok(sheet),
            _ => Err(PatchProblem::Missing {
                removed: self.before.is_some(),
            }),
        }
    }

    /// What it is to be on disk.
    pub(super) fn after(&self) -> Result<Option<Vec<u8>>, Unencodable> {
        Ok(match &self.now {
            Now::Absent => None,
            Now::Bytes(bytes) => Some(bytes.clone()),
            Now::Text(sheet, encoding) => Some(encoding.encode(sheet.text())?),
        })
    }

    /// Makes it a new file with these lines.
    pub(super) fn fill(&mut self, sheet: Sheet) -> Result<(), PatchProblem> {
        if self.now != Now::Absent {
            return Err(PatchProblem::Exists);
        }
        self.now = Now::Text(sheet, Encoding::Utf8);
        self.from = None;
        self.placeholders = None;
        Ok(())
    }

    /// Takes it away.
    pub(super) fn remove(&mut self) -> Result<(), PatchProblem> {
        if self.now == Now::Absent {
            return Err(PatchProblem::Missing {
                removed: self.before.is_some(),
            });
        }
        self.now = Now::Absent;
        self.moved_to = None;
        Ok(())
    }
}

impl From<LineEndingError> for PatchProblem {
    fn from(trouble: LineEndingError) -> Self {
        match trouble {
            LineEndingError::Mixed(line) => Self::MixedEndings(line),
            LineEndingError::LoneCr(line) => Self::LoneCr(line),
        }
    }
}
