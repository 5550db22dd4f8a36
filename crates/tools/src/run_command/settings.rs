//! What commands are given and what stands around them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use toolgate_model::{ErrorKind, Facts, ToolError};
use toolgate_sandbox::command::{CommandWall, seen_by_all};

/// Settings of `run_command` and its companions.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The wall, or why there is none. Without one, no command runs. It takes its time to
    /// stand, and the tools can be there before.
    pub wall: OnceLock<Result<CommandWall, String>>,
    /// The workspace's roots; the first is the working folder.
    pub roots: Vec<PathBuf>,
    /// The person's home folder, which `~` may mean and which nothing may remove.
    pub home: Option<String>,
    /// Folders beyond the roots that commands may use.
    pub grants: Vec<PathBuf>,
    /// The variables that commands get.
    pub env: Vec<(OsString, OsString)>,
    /// How long a command may take where the call does not say.
    pub timeout: Duration,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            wall: OnceLock::new(),
            roots: Vec::new(),
            home: None,
            grants: Vec::new(),
            env: Vec::new(),
            timeout: Duration::from_secs(300),
        }
    }
}

impl CommandSettings {
    /// The folders of what a command says it reads beyond the walls, by name alone.
    ///
    /// Folders that hold half the machine are not among them: `/`, those just beneath it,
    /// and the home folder.
    pub(super) fn folders_beyond(&self, facts: &Facts) -> Vec<String> {
        let mut folders: Vec<String> = Vec::new();
        for path in facts.reads.iter().filter(|path| path.starts_with('/')) {
            let path = Path::new(path);
            let folder = self.folder_of(path).filter(|_| !seen_by_all(path));
            folders.extend(folder.filter(|folder| !folders.contains(folder)));
        }
        folders
    }

    /// The folder of a path, unless it is too much to open for one file.
    pub(super) fn folder_of(&self, path: &Path) -> Option<String> {
        let folder = path.parent()?.to_str()?;
        let too_much = folder.split('/').count() < 3
            || self.home.as_deref() == Some(folder)
            || folder.split('/').any(|name| name == "..");
        (!too_much).then(|| folder.to_owned())
    }

    pub(super) fn wall(&self) -> Result<&CommandWall, ToolError> {
        let why = match self.wall.get() {
            Some(Ok(wall)) => return Ok(wall),
            Some(Err(why)) => why,
            None => "this program has started no command wall",
        };
        Err(ToolError::new(
            ErrorKind::SandboxUnavailable,
            format!("commands cannot be run here: {why}"),
        ))
    }
}
