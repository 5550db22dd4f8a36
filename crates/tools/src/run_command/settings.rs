//! The settings of commands and their sandbox.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use toolgate_model::{ErrorKind, Facts, NeededDirectory, ToolError};
use toolgate_sandbox::command::{CommandSandbox, ExactDirectory, seen_by_all};

/// Settings of `run_command` and its companions.
#[derive(Clone, Debug)]
pub struct CommandSettings {
    /// The sandbox, or why there is none. Without one, no command runs. It takes its time to
    /// stand, and the tools can be there before.
    pub sandbox: OnceLock<Result<CommandSandbox, String>>,
    /// The workspace's roots; the first is the working directory.
    pub roots: Vec<PathBuf>,
    /// The user's home directory, which `~` may mean and which nothing may remove.
    pub home: Option<String>,
    /// Directories beyond the roots that commands may use.
    pub grants: Vec<PathBuf>,
    /// The variables that commands get.
    pub env: Vec<(OsString, OsString)>,
    /// How long a command may take where the call does not say.
    pub timeout: Duration,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            sandbox: OnceLock::new(),
            roots: Vec::new(),
            home: None,
            grants: Vec::new(),
            env: Vec::new(),
            timeout: Duration::from_secs(300),
        }
    }
}

impl CommandSettings {
    /// The directories of what a command says it reads beyond the roots, with their real names.
    ///
    /// Directories that hold half the machine are not among them: `/`, those just beneath it,
    /// the home directory and those above it.
    pub(super) fn directories_beyond(&self, facts: &Facts) -> Vec<NeededDirectory> {
        let mut directories: Vec<NeededDirectory> = Vec::new();
        for path in facts.reads.iter().filter(|path| path.starts_with('/')) {
            let needed = self.directory_of(Path::new(path));
            directories.extend(needed.filter(|needed| !directories.contains(needed)));
        }
        directories
    }

    /// The directory of a path, unless it is too much to open for one file.
    fn directory_of(&self, path: &Path) -> Option<NeededDirectory> {
        let named = path.parent()?;
        if self.is_too_much(named) || seen_by_all(path) {
            return None;
        }
        let real = ExactDirectory::of(named)?;
        if self.is_too_much(&real.path) || seen_by_all(&real.path) {
            return None;
        }
        Some(NeededDirectory {
            path: named.to_str()?.to_owned(),
            to: real.path.to_str()?.to_owned(),
            device: real.device,
            inode: real.inode,
        })
    }

    fn is_too_much(&self, directory: &Path) -> bool {
        let home = self.home.as_deref().map(Path::new);
        let real_home = home.and_then(|home| std::fs::canonicalize(home).ok());
        let mut homes = home.into_iter().chain(real_home.as_deref());
        directory.components().count() < 3
            || homes.any(|home| home.starts_with(directory))
            || directory
                .components()
                .any(|part| part == Component::ParentDir)
    }

    pub(super) fn sandbox(&self) -> Result<&CommandSandbox, ToolError> {
        let why = match self.sandbox.get() {
            Some(Ok(sandbox)) => return Ok(sandbox),
            Some(Err(why)) => why,
            None => "this program has started no command sandbox",
        };
        Err(ToolError::new(
            ErrorKind::SandboxUnavailable,
            format!("commands cannot be run here: {why}"),
        ))
    }
}
