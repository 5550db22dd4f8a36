//! The settings of commands and their sandbox.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use toolgate_model::{ErrorKind, Facts, NeededDirectory, NetworkAccess, ToolError};
use toolgate_sandbox::command::{CommandSandbox, ExactDirectory, Level, Network, seen_by_all};

use super::place::Place;

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
    /// The lines of the configuration that hints would repeat.
    pub configured: ConfiguredLines,
    /// How long a command may take where the call does not say.
    pub timeout: Duration,
}

/// The keys of `[tools.sandbox]` that stand in the configuration. A line that repeats one of them would
/// break the file.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredLines {
    /// The entries of `grants`: the path as a string of TOML, and the whole entry. None if there is no
    /// such line.
    pub grants: Option<Vec<(String, String)>>,
    /// Whether there is a line for `network`.
    pub network: bool,
}

/// How hints say where a line belongs.
const WHERE: &str = " under [tools.sandbox] in the user's configuration";

impl ConfiguredLines {
    /// A hint whose line takes the place of the one that stands in the configuration.
    fn merged(&self, hint: &str) -> String {
        let mut out = String::new();
        let mut rest = hint;
        while let Some((before, after)) = rest.split_once(WHERE) {
            rest = after;
            let (words, replaced) = match (before.rfind("grants = ["), &self.grants) {
                (Some(at), Some(there)) => {
                    let (words, line) = before.split_at(at);
                    let new = line
                        .strip_prefix("grants = [")
                        .and_then(|new| new.strip_suffix(']'));
                    let new = new.unwrap_or_default();
                    // A directory that is opened further stands there once.
                    let stays = there
                        .iter()
                        .filter(|(path, _)| !new.contains(path.as_str()));
                    let all = stays.map(|(_, entry)| entry.as_str()).chain([new]);
                    let all: Vec<&str> = all.collect();
                    (
                        format!("{words}grants = [{}]", all.join(", ")),
                        Some("grants"),
                    )
                }
                (None, _) if self.network && before.contains("network = \"") => {
                    (before.to_owned(), Some("network"))
                }
                _ => (before.to_owned(), None),
            };
            out.push_str(&words);
            out.push_str(WHERE);
            if let Some(key) = replaced {
                out.push_str(&format!(", in place of its line for {key}"));
            }
        }
        out.push_str(rest);
        out
    }
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            sandbox: OnceLock::new(),
            roots: Vec::new(),
            home: None,
            grants: Vec::new(),
            env: Vec::new(),
            configured: ConfiguredLines::default(),
            timeout: Duration::from_secs(300),
        }
    }
}

impl CommandSettings {
    /// The directories of what a command says it touches beyond the roots, with their real names.
    ///
    /// Directories that hold half the machine are not among them: `/`, those just beneath it,
    /// the home directory and those above it.
    pub(super) fn directories_beyond(&self, facts: &Facts) -> Vec<NeededDirectory> {
        let mut directories: Vec<NeededDirectory> = Vec::new();
        for (_, path) in facts.paths().filter(|(_, path)| path.starts_with('/')) {
            let needed = self.directory_of(Path::new(path));
            directories.extend(needed.filter(|needed| !directories.contains(needed)));
        }
        directories
    }

    /// The networks that an approver can open to a command, the smallest first.
    pub(super) fn networks_beyond(&self) -> Vec<NetworkAccess> {
        let Ok(sandbox) = self.sandbox() else {
            return Vec::new();
        };
        match sandbox.network() {
            // Without namespaces there is no loopback device of a command's own.
            Network::Off if sandbox.level() == Level::Landlock => vec![NetworkAccess::On],
            Network::Off => vec![NetworkAccess::Loopback, NetworkAccess::On],
            Network::Loopback => vec![NetworkAccess::On],
            Network::On => Vec::new(),
        }
    }

    /// Names programs by their paths where `PATH` finds them in a root. Commands can change files
    /// there, so a rule for `git` is not one for `.venv/bin/git`.
    pub(super) fn find_programs(&self, facts: &mut Facts, place: &Place) {
        let path = self.env.iter().find(|(name, _)| name == "PATH");
        let Some((_, path)) = path else {
            return;
        };
        let places: Vec<PathBuf> = std::env::split_paths(path)
            .map(|entry| place.absolute.join(entry))
            .map(|entry| entry.canonicalize().unwrap_or(entry))
            .collect();
        let in_root = |entry: &PathBuf| self.roots.iter().any(|root| entry.starts_with(root));
        if !places.iter().any(in_root) {
            return;
        }
        for run in &mut facts.runs {
            let Some(program) = run.words.first_mut().filter(|name| !name.contains('/')) else {
                continue;
            };
            let found = places.iter().find(|entry| entry.join(&*program).is_file());
            let Some(found) = found.filter(|entry| in_root(entry)) else {
                continue;
            };
            let file = found.join(&*program);
            let root = self.roots.first().map_or(Path::new("/"), PathBuf::as_path);
            let shown = match file.strip_prefix(root) {
                Ok(below) => Path::new(".").join(below),
                Err(_) => file,
            };
            *program = shown.to_string_lossy().into_owned();
            run.opaque = true;
            facts.complete = false;
        }
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

    pub(super) fn is_too_much(&self, directory: &Path) -> bool {
        let home = self.home.as_deref().map(Path::new);
        let real_home = home.and_then(|home| std::fs::canonicalize(home).ok());
        let mut homes = home.into_iter().chain(real_home.as_deref());
        directory.components().count() < 3
            || homes.any(|home| home.starts_with(directory))
            || directory
                .components()
                .any(|part| part == Component::ParentDir)
    }

    /// A hint whose line can be pasted into the configuration as it is.
    pub(super) fn merged(&self, hint: &str) -> String {
        self.configured.merged(hint)
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

#[cfg(test)]
mod tests {
    use toolgate_model::Run;

    use super::*;

    #[test]
    fn programs_that_path_finds_in_a_root_are_named_by_their_paths() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let root = base.join("ws");
        for file in [
            "ws/.venv/bin/git",
            "ws/.venv/bin/cat",
            "ws/sub/tr",
            "bin/cat",
            "bin/wc",
        ] {
            let file = base.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let named = |path: &str, cwd: Option<&str>, program: &str| {
            let settings = CommandSettings {
                roots: vec![root.clone()],
                env: vec![(
                    "PATH".into(),
                    path.replace("BASE", base.to_str().unwrap()).into(),
                )],
                ..CommandSettings::default()
            };
            let mut facts = Facts::none();
            facts.runs.push(Run {
                words: vec![program.to_owned(), "status".to_owned()],
                opaque: false,
            });
            let place = Place::of(cwd, &settings.roots).unwrap();
            settings.find_programs(&mut facts, &place);
            assert_eq!(facts.complete, facts.runs[0].words[0] == program);
            facts.runs[0].words[0].clone()
        };
        for (path, cwd, program, expected) in [
            ("BASE/ws/.venv/bin:BASE/bin", None, "git", "./.venv/bin/git"),
            ("BASE/ws/.venv/bin:BASE/bin", None, "cat", "./.venv/bin/cat"),
            // The machine's own is found first.
            ("BASE/bin:BASE/ws/.venv/bin", None, "cat", "cat"),
            ("BASE/ws/.venv/bin:BASE/bin", None, "wc", "wc"),
            ("BASE/bin", None, "cat", "cat"),
            // Relative and empty entries begin in the working directory.
            (":BASE/bin", Some("sub"), "tr", "./sub/tr"),
            (".venv/bin", None, "git", "./.venv/bin/git"),
            (".venv/bin", Some("sub"), "git", "git"),
            ("BASE/ws/sub/../.venv/bin", None, "git", "./.venv/bin/git"),
            ("BASE/ws/.venv/bin", None, "./git", "./git"),
        ] {
            assert_eq!(named(path, cwd, program), expected, "{path} {cwd:?}");
        }
    }
}
