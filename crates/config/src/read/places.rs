//! Where a value, and everything in it, stands in its file.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

/// The place of a value and of its entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Where it stands.
    pub(crate) span: Range<usize>,
    /// Its entries; those of a list are named by their position.
    inside: Vec<(String, Places)>,
}

impl Places {
    pub(crate) fn of(value: &Spanned<DeValue<'_>>) -> Self {
        let inside = match value.get_ref() {
            DeValue::Array(entries) => entries
                .iter()
                .enumerate()
                .map(|(at, entry)| (at.to_string(), Self::of(entry)))
                .collect(),
            DeValue::Table(table) => table
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), Self::of(value)))
                .collect(),
            _ => Vec::new(),
        };
        Self {
            span: value.span(),
            inside,
        }
    }

    /// The places of a list with those of another behind it.
    pub(super) fn append(&mut self, other: Self) {
        for (_, places) in other.inside {
            self.inside.push((self.inside.len().to_string(), places));
        }
    }

    /// The place of an entry of a list, else of the whole.
    pub(crate) fn entry(&self, at: usize) -> &Self {
        self.inside.get(at).map_or(self, |(_, places)| places)
    }

    /// The place of a key, else of the whole.
    pub(super) fn key(&self, name: &str) -> &Self {
        self.inside
            .iter()
            .find(|(key, _)| key == name)
            .map_or(self, |(_, places)| places)
    }
}
