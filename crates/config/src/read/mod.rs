//! From the text of a file to the values in it, with the place of each.
//!
//! ```text
//! Source ──TOML──▶ tree with places ──catalog──▶ Found { key, value, place } ──rules, patterns──▶ Layer
//!            └─ not TOML                 └─ unknown keys, wrong values          └─ rules that cannot be used
//! ```
//!
//! Every mistake of a file is collected, not only the first. A file that is not
//! TOML stops there: what could be recovered of it would only mislead.

mod fit;
mod places;
mod section;
mod usable;

use std::ops::Range;

pub(crate) use places::Places;

use serde_json::{Value, json};
use toml::de::DeTable;

use crate::catalog::Key;
use crate::key_path::KeyPath;
use crate::layer::{Layer, LayerName};
use crate::picture::visible;
use crate::setting_error::{SettingError, SettingErrorKind};
use crate::source::Source;

/// How many mistakes of one file are collected: enough to work on, and bounded.
const MOST_MISTAKES: usize = 1000;

/// What `allow_parallel = true` stands for.
const PARALLEL: u64 = 4;

/// A value that a file has.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: KeyPath,
    pub(crate) key: &'static Key,
    pub(crate) value: Value,
    /// Where the value and what is in it stand.
    pub(crate) places: Places,
    /// The option that it came from, if it came from one.
    pub(crate) option: Option<&'static str>,
}

/// What a file is read into.
pub(crate) struct Reader<'s> {
    source: &'s Source,
    found: Vec<Found>,
    mistakes: Vec<SettingError>,
}

/// Reads a file as a layer.
///
/// # Errors
/// Every mistake in it, in the order of the file.
pub(crate) fn layer(
    source: &Source,
    name: LayerName,
    trusted: bool,
) -> Result<Layer, Vec<SettingError>> {
    let mut reader = Reader {
        source,
        found: Vec::new(),
        mistakes: Vec::new(),
    };
    reader.read();
    if reader.mistakes.is_empty() {
        reader.resolve_short_forms();
        reader.check_usable(name, trusted);
    }
    if reader.mistakes.is_empty() {
        return Ok(Layer {
            name,
            trusted,
            source: Some(source.clone()),
            found: reader.found,
        });
    }
    let mut mistakes = reader.mistakes;
    mistakes.sort_by_key(|mistake| (mistake.span.start, mistake.span.end));
    mistakes.dedup();
    Err(mistakes)
}

impl Reader<'_> {
    fn read(&mut self) {
        let source = self.source;
        let (tree, errors) = DeTable::parse_recoverable(source.text());
        for error in errors.into_iter().take(MOST_MISTAKES) {
            let end = source.text().len();
            let span = error.span().unwrap_or(end..end);
            let message = visible(error.message());
            self.mistake(span, SettingErrorKind::Syntax { message });
        }
        if self.mistakes.is_empty() {
            self.section(&KeyPath::default(), crate::catalog::ROOT, tree.get_ref());
        }
    }

    /// Whether there are mistakes enough to stop looking for advice on more.
    fn is_full(&self) -> bool {
        self.mistakes.len() >= MOST_MISTAKES
    }

    fn mistake(&mut self, span: Range<usize>, fault: SettingErrorKind) {
        if !self.is_full() {
            self.mistakes
                .push(SettingError::new(self.source, span, fault));
        }
    }

    /// Turns other spellings into the keys they stand for.
    fn resolve_short_forms(&mut self) {
        let found = std::mem::take(&mut self.found);
        let (short, mut long): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|found| found.key.short_for.is_some());
        for mut found in short {
            let Some(target) = found.key.short_for else {
                continue;
            };
            let path = found.path.beside(target);
            let Some(key) = crate::catalog::find(&path) else {
                continue;
            };
            found.value = match &found.value {
                Value::Bool(parallel) => json!(if *parallel { PARALLEL } else { 1 }),
                other => other.clone(),
            };
            found.path = path;
            found.key = key;
            match long.iter_mut().find(|given| given.path == found.path) {
                // Both spellings of a list are one list; of a number the long one counts.
                Some(Found {
                    value: Value::Array(entries),
                    places,
                    ..
                }) => {
                    if let Value::Array(more) = found.value {
                        entries.extend(more);
                        places.append(found.places);
                    }
                }
                Some(_) => {}
                None => long.push(found),
            }
        }
        self.found = long;
    }
}
