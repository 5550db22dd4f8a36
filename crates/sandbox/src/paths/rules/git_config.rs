//! Paths that the configuration of a repository turns into code: hooks in a directory of the
//! project, included configuration, and scripts that git runs.
//!
//! The configuration itself is protected by its name. What it points at can have any name, so
//! it is read when a sandbox opens, and every path in it that lies in a root is protected too.
//! Conditions of includes are not evaluated: an include that may count is taken to count.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

pub(crate) mod harmless;
mod parse;

use parse::{Setting, settings};

/// The largest configuration that is read; git itself writes a few kilobytes.
const MOST_BYTES: u64 = 1 << 20;
/// The most configuration files that are read for one sandbox.
const MOST_FILES: usize = 256;
/// How many directories deep the repositories of submodules are looked for.
const MODULES_DEEP: usize = 6;

/// Keys, by section and last part, whose values are commands or files that git runs or obeys.
const COMMANDS: &[(&str, &str)] = &[
    ("alias", "*"),
    ("browser", "*"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "attributesfile"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "*"),
    ("filter", "*"),
    ("gpg", "*"),
    ("guitool", "*"),
    ("hook", "*"),
    ("init", "templatedir"),
    ("interactive", "difffilter"),
    ("lfs", "clean"),
    ("lfs", "path"),
    ("lfs", "smudge"),
    ("man", "*"),
    ("merge", "driver"),
    ("mergetool", "*"),
    ("pager", "*"),
    ("receive", "*"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sendemail", "*"),
    ("sequence", "editor"),
    ("submodule", "update"),
    ("trailer", "*"),
    ("uploadpack", "packobjectshook"),
    ("web", "*"),
];

/// Patterns, anchored at `root`, of what the configuration of its repository turns into code.
/// `home` is the user's home directory, whose configuration counts in every repository.
pub(crate) fn patterns(root: &Path, home: Option<&Path>) -> Vec<String> {
    let mut reader = Reader {
        root,
        home,
        seen: BTreeSet::new(),
        found: BTreeSet::new(),
    };
    let Some(repository) = Repository::around(root) else {
        return Vec::new();
    };
    let tree = repository.tree.as_path();
    for file in repository.configs() {
        reader.read(&file, tree);
    }
    if let Some(home) = home {
        reader.read(&home.join(".gitconfig"), tree);
        reader.read(&home.join(".config/git/config"), tree);
    }
    reader.read(Path::new("/etc/gitconfig"), tree);
    reader.found.into_iter().collect()
}

/// Where the repository of a directory lies.
struct Repository {
    /// The directory that holds `.git`.
    tree: PathBuf,
    /// The directory of git's own files, and the one that worktrees share.
    directories: Vec<PathBuf>,
}

impl Repository {
    /// The repository that git would use in `root`: its own, or that of a directory above.
    fn around(root: &Path) -> Option<Self> {
        root.ancestors().find_map(|tree| {
            let dot_git = tree.join(".git");
            let kind = std::fs::metadata(&dot_git).ok()?.file_type();
            let directory = if kind.is_dir() {
                dot_git
            } else {
                let text = read_bounded(&dot_git)?;
                tree.join(text.strip_prefix("gitdir:")?.trim())
            };
            let mut directories = vec![directory.clone()];
            if let Some(shared) = read_bounded(&directory.join("commondir")) {
                directories.push(directory.join(shared.trim()));
            }
            Some(Self {
                tree: tree.to_owned(),
                directories,
            })
        })
    }

    fn configs(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for directory in &self.directories {
            files.extend(["config", "config.worktree"].map(|name| directory.join(name)));
            modules(&directory.join("modules"), MODULES_DEEP, &mut files);
        }
        files
    }
}

/// The configuration of the submodules, whose repositories lie below that of the project.
fn modules(directory: &Path, deep: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if deep == 0 || files.len() >= MOST_FILES {
            return;
        }
        let path = entry.path();
        if path.join("HEAD").exists() {
            files.push(path.join("config"));
            modules(&path.join("modules"), deep - 1, files);
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // The name of a submodule may hold slashes.
            modules(&path, deep - 1, files);
        }
    }
}

struct Reader<'a> {
    root: &'a Path,
    home: Option<&'a Path>,
    seen: BTreeSet<(PathBuf, PathBuf)>,
    found: BTreeSet<String>,
}

impl Reader<'_> {
    /// Reads one file and what it includes. Relative commands start in `tree`.
    fn read(&mut self, file: &Path, tree: &Path) {
        let new = self.seen.insert((file.to_owned(), tree.to_owned()));
        if !new || self.seen.len() > MOST_FILES {
            return;
        }
        let Some(text) = read_bounded(file) else {
            return;
        };
        let settings = settings(&text);
        let above = file.parent().unwrap_or(tree);
        let moved = settings.iter().find(|one| one.is("core", "worktree"));
        let tree = match moved.and_then(|one| self.place(above, &one.value)) {
            Some(moved) => moved,
            None => tree.to_owned(),
        };
        for setting in &settings {
            if matches!(&*setting.section, "include" | "includeif") && setting.key == "path" {
                if let Some(included) = self.place(above, &setting.value) {
                    self.protect(&included);
                    self.read(&included, &tree);
                }
            } else if setting.is("core", "hookspath") {
                if let Some(hooks) = self.place(&tree, &setting.value) {
                    self.protect(&hooks);
                }
            } else if COMMANDS
                .iter()
                .any(|(section, key)| setting.is(section, key))
            {
                self.command(&tree, setting);
            }
        }
    }

    /// Protects the files that a command names.
    fn command(&mut self, tree: &Path, setting: &Setting) {
        let apart = |c: char| c.is_whitespace() || "\"'`()[]{}<>|&;$=,!".contains(c);
        let words = setting.value.split(apart);
        for word in words.filter(|word| !word.is_empty() && !word.contains("://")) {
            let Some(path) = self.place(tree, word) else {
                continue;
            };
            let is_script = || word.contains('.') && path.is_file();
            if word.contains('/') || is_script() {
                self.protect(&path);
            }
        }
    }

    /// The place that a path in a configuration names.
    fn place(&self, base: &Path, text: &str) -> Option<PathBuf> {
        let path = match text.strip_prefix("~/") {
            Some(below) => self.home?.join(below),
            None => base.join(text),
        };
        // Links on the way are followed by git as well.
        let mut place = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(place.pop()),
                part => place.push(part),
            }
        }
        Some(place.canonicalize().unwrap_or(place))
    }

    fn protect(&mut self, place: &Path) {
        let Ok(below) = place.strip_prefix(self.root) else {
            return;
        };
        let mut pattern = String::new();
        for part in below {
            pattern.push('/');
            for c in part.to_string_lossy().chars() {
                match c {
                    // A byte that is not UTF-8; wider than the name, and so stricter.
                    '\u{fffd}' => pattern.push('*'),
                    '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' => pattern.extend(['\\', c]),
                    c => pattern.push(c),
                }
            }
        }
        if !pattern.is_empty() {
            self.found.insert(pattern);
        }
    }
}

fn read_bounded(file: &Path) -> Option<String> {
    // A pipe would wait for its writer.
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(file).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
