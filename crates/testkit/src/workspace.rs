//! A directory of its own for every test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;
use toolgate_sandbox::paths::{PathRules, PathSandbox};

/// A temporary directory behind a path sandbox. It is removed with the last owner.
#[derive(Debug)]
pub struct Workspace {
    directory: TempDir,
    sandbox: PathSandbox,
}

/// Everything in a workspace at one moment: names, contents, times.
pub type Snapshot = BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)>;

impl Workspace {
    /// An empty directory with the default path rules.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// An empty directory with changed path rules.
    pub fn with(change: impl FnOnce(&mut PathRules)) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let mut rules = PathRules::new(directory.path());
        change(&mut rules);
        let sandbox = PathSandbox::open(&rules).expect("a path sandbox");
        Self { directory, sandbox }
    }

    /// The same with a file in it.
    #[must_use]
    pub fn file(self, name: &str, content: &str) -> Self {
        self.write(name, content);
        self
    }

    /// Writes a file past the gate, as another program would.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).expect("a directory");
        }
        std::fs::write(path, content).expect("a file");
    }

    /// What a file holds, if it is there.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(name)).ok()
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The sandbox around it.
    pub fn sandbox(&self) -> &PathSandbox {
        &self.sandbox
    }

    /// Everything in it, to be compared with a later look.
    pub fn snapshot(&self) -> Snapshot {
        let mut seen = Snapshot::new();
        let mut directories = vec![self.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(&directory).expect("a directory") {
                let path = entry.expect("an entry").path();
                let stat = std::fs::symlink_metadata(&path).expect("metadata");
                let content = stat
                    .is_file()
                    .then(|| std::fs::read(&path).expect("a file"));
                if stat.is_dir() {
                    directories.push(path.clone());
                }
                seen.insert(path, (content, stat.modified().expect("a time")));
            }
            let own = std::fs::metadata(&directory).expect("metadata");
            seen.insert(directory, (None, own.modified().expect("a time")));
        }
        seen
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}
