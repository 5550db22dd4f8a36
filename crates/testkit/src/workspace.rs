//! A folder of its own for every test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;
use toolgate_sandbox::paths::{PathRules, PathWall};

/// A temporary folder behind a path wall. It is removed with the last owner.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
    wall: PathWall,
}

/// Everything in a workspace at one moment: names, contents, times.
pub type Snapshot = BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)>;

impl Workspace {
    /// An empty folder with the default path rules.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// An empty folder with changed path rules.
    pub fn with(change: impl FnOnce(&mut PathRules)) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut rules = PathRules::new(folder.path());
        change(&mut rules);
        let wall = PathWall::open(&rules).expect("a path wall");
        Self { folder, wall }
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
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(path, content).expect("a file");
    }

    /// What a file holds, if it is there.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(name)).ok()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The wall around it.
    pub fn wall(&self) -> &PathWall {
        &self.wall
    }

    /// Everything in it, to be compared with a later look.
    pub fn snapshot(&self) -> Snapshot {
        let mut seen = Snapshot::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let stat = std::fs::symlink_metadata(&path).expect("metadata");
                let content = stat
                    .is_file()
                    .then(|| std::fs::read(&path).expect("a file"));
                if stat.is_dir() {
                    folders.push(path.clone());
                }
                seen.insert(path, (content, stat.modified().expect("a time")));
            }
            let own = std::fs::metadata(&folder).expect("metadata");
            seen.insert(folder, (None, own.modified().expect("a time")));
        }
        seen
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}
