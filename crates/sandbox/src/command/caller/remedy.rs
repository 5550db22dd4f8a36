//! What a user adds to the configuration to open something to commands.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::paths::RootAccess;

/// The addition to the configuration. As text it is what to paste, see [`Remedy::told`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A line under `[tools.sandbox]`.
    Grant {
        /// The directory to grant, or the protected path of the workspace to open.
        path: PathBuf,
        /// The access.
        access: RootAccess,
    },
    /// A rule that names a path which a built-in pattern denies.
    Rule {
        /// The rule, as lines to append to a configuration file.
        text: String,
    },
}

impl Remedy {
    /// One directory in the list of grants.
    pub fn entry(path: &Path, access: RootAccess) -> String {
        let path = quoted(&path.to_string_lossy());
        match access {
            RootAccess::ReadOnly => path,
            RootAccess::ReadWrite => format!("{{ path = {path}, access = \"write\" }}"),
        }
    }

    /// The line that opens several protected paths.
    pub fn opening(paths: &[PathBuf]) -> String {
        let entries = paths.iter();
        let entries = entries.map(|path| Self::entry(path, RootAccess::ReadWrite));
        format!("grants = [{}]", entries.collect::<Vec<_>>().join(", "))
    }

    /// Who does what with the text, for a model and its user.
    pub fn told(&self) -> String {
        match self {
            Self::Grant { .. } => format!(
                "The user can open it to commands: {self} under [tools.sandbox] in the user's configuration"
            ),
            Self::Rule { .. } => format!(
                "The user can open it by adding this rule to the user's configuration:\n{self}\n"
            ),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { path, access } => write!(f, "grants = [{}]", Self::entry(path, *access)),
            Self::Rule { text } => f.write_str(text),
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
