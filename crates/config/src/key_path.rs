//! The full name of a key: its sections and its own name.

use std::fmt;

use crate::picture::visible;

/// A key with its sections. Names that are no bare TOML keys are shown in quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyPath(Vec<String>);

impl KeyPath {
    /// The path of these names.
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self(names.into_iter().map(str::to_owned).collect())
    }

    /// The names it is made of.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// The key of this name beneath it.
    #[must_use]
    pub(crate) fn with(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// The key of this name beside it.
    #[must_use]
    pub(crate) fn beside(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.pop();
        names.push(name.to_owned());
        Self(names)
    }

    /// The name as a section of a file.
    pub(crate) fn section(&self) -> String {
        if self.0.is_empty() {
            "the file".to_owned()
        } else {
            format!("[{self}]")
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            f.write_str(&key_name(name))?;
        }
        Ok(())
    }
}

/// A name as it is written in a file.
pub(crate) fn key_name(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) {
        name.to_owned()
    } else {
        visible(&format!("{name:?}"))
    }
}
