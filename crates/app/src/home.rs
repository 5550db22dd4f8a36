//! Where Toolgate keeps its own files.
//!
//! ```
//! use toolgate_app::{Environment, Home};
//!
//! let environment = Environment::of([("TOOLGATE_HOME", "/srv/toolgate")]);
//! let home = Home::from_environment(&environment)?;
//! assert_eq!(home.journal(), std::path::Path::new("/srv/toolgate/journal.db"));
//! # Ok::<(), toolgate_app::AppError>(())
//! ```

use std::path::PathBuf;

use crate::error::AppError;
use crate::options::Environment;

/// Directories of the user.
#[derive(Clone, Debug)]
pub struct Home {
    /// Configuration: `config.toml`.
    pub(crate) config: PathBuf,
    /// What Toolgate remembers: trust, grants.
    pub(crate) data: PathBuf,
}

impl Home {
    /// Everything in one directory.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            config: directory.clone(),
            data: directory,
        }
    }

    /// `TOOLGATE_HOME`, else the platform's directories; an error where neither is set.
    pub fn from_environment(environment: &Environment) -> Result<Self, AppError> {
        let directory = |name: &str| environment.get(name).map(PathBuf::from);
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
            _ => Err(AppError::usage(
                "neither TOOLGATE_HOME nor HOME is set; say where Toolgate keeps its files",
            )),
        }
    }

    /// The user's configuration.
    pub fn user_config(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Drafts and the history of the input of a chat.
    pub fn chat(&self) -> PathBuf {
        self.journal().with_file_name("chat")
    }

    /// The journal, where nothing else is configured.
    pub fn journal(&self) -> PathBuf {
        self.data.join("journal.db")
    }

    /// What a server knows: its tokens and its conversations.
    pub fn server(&self) -> PathBuf {
        self.data.join("server")
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

    /// Which project files are trusted.
    pub(crate) fn trust(&self) -> PathBuf {
        self.data.join("trust.toml")
    }

    /// Remembered approvals.
    pub(crate) fn grants(&self) -> PathBuf {
        self.data.join("grants.toml")
    }
}
