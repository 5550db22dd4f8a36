//! Where Toolgate keeps its own files.

use std::path::PathBuf;

use crate::failure::CliError;

/// Directories of this person.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// Configuration: `config.toml`.
    pub(crate) config: PathBuf,
    /// What Toolgate remembers: trust, grants.
    pub(crate) data: PathBuf,
}

impl Home {
    /// Everything in one directory.
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self {
            config: directory.clone(),
            data: directory,
        }
    }

    /// `TOOLGATE_HOME`, else the platform's directories. A machine without any has to be told.
    pub(crate) fn find() -> Result<Self, CliError> {
        let directory = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(home) = directory("TOOLGATE_HOME") {
            return Ok(Self::at(home));
        }
        let home = directory("HOME");
        let under = |xdg: &str, rest: &str| {
            directory(xdg)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(rest)))
                .map(|path| path.join("toolgate"))
        };
        match (
            under("XDG_CONFIG_HOME", ".config"),
            under("XDG_DATA_HOME", ".local/share"),
        ) {
            (Some(config), Some(data)) => Ok(Self { config, data }),
            _ => Err(CliError::usage(
                "neither TOOLGATE_HOME nor HOME is set; say where Toolgate keeps its files",
            )),
        }
    }

    pub(crate) fn user_config(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The record.
    pub(crate) fn journal(&self) -> PathBuf {
        self.data.join("journal.db")
    }

    /// Full outputs that `read_output` returns.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.data.join("outputs")
    }

    /// What the command sandbox has to clear up after a crash.
    pub(crate) fn sandbox_records(&self) -> PathBuf {
        self.data.join("sandbox")
    }

    /// The runs that go on, with what they started.
    pub(crate) fn runs(&self) -> PathBuf {
        self.data.join("runs")
    }

    pub(crate) fn trust(&self) -> PathBuf {
        self.data.join("trust.toml")
    }

    pub(crate) fn grants(&self) -> PathBuf {
        self.data.join("grants.toml")
    }
}
