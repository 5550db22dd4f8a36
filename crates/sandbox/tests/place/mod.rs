//! A private directory with a workspace, an outside, and a canary that must stay alone.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolgate_sandbox::paths::{Method, PathError, PathRules, PathSandbox, StageOptions};

/// Content that must never be read.
pub const CANARY: &str = "CANARY-7f3a\n";
/// The content of a write.
pub const WRITTEN: &str = "written\n";

/// Both ways of resolving; every test that touches the disk runs with both.
pub const METHODS: [Method; 2] = [Method::Kernel, Method::Walk];

pub struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self::inside(tempfile::tempdir().unwrap())
    }

    /// On a file system in memory, if there is one: for tests that write very often.
    pub fn in_memory() -> Self {
        Self::inside(
            tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
        )
    }

    fn inside(directory: tempfile::TempDir) -> Self {
        std::fs::create_dir(directory.path().join("ws")).unwrap();
        let out = directory.path().join("out");
        std::fs::create_dir_all(out.join("deep")).unwrap();
        std::fs::write(out.join("canary.txt"), CANARY).unwrap();
        std::fs::write(out.join("deep/canary.txt"), CANARY).unwrap();
        Self { directory }
    }

    /// The directory that holds the others, links resolved.
    pub fn top(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub fn ws(&self) -> PathBuf {
        self.top().join("ws")
    }

    pub fn out(&self) -> PathBuf {
        self.top().join("out")
    }

    pub fn sandbox(&self, method: Method) -> PathSandbox {
        self.sandbox_with(method, |_| {})
    }

    pub fn sandbox_with(&self, method: Method, change: impl FnOnce(&mut PathRules)) -> PathSandbox {
        let mut rules = PathRules::new(self.ws());
        change(&mut rules);
        PathSandbox::open_with(&rules, method).unwrap()
    }

    /// Puts the names of this place into a text.
    pub fn fill(&self, text: &str) -> String {
        let name = |path: PathBuf| path.to_str().unwrap().to_owned();
        text.replace("${WS}", &name(self.ws()))
            .replace("$WS", &name(self.ws()))
            .replace("$OUT", &name(self.out()))
            .replace("$TOP", &name(self.top()))
    }

    /// Makes one thing in the workspace: `file x`, `dir x`, `link x -> y`, `hard x = y`,
    /// `fifo x`, `socket x`.
    pub fn make(&self, line: &str) {
        let (what, rest) = line.split_once(' ').unwrap();
        let at = |name: &str| self.ws().join(name);
        let parents = |name: &str| std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        match what {
            "dir" => std::fs::create_dir_all(at(rest)).unwrap(),
            "file" => {
                parents(rest);
                std::fs::write(at(rest), content_of(rest)).unwrap();
            }
            "link" => {
                let (name, target) = rest.split_once(" -> ").unwrap();
                parents(name);
                std::os::unix::fs::symlink(self.fill(target), at(name)).unwrap();
            }
            "hard" => {
                let (name, old) = rest.split_once(" = ").unwrap();
                parents(name);
                std::fs::hard_link(at(old), at(name)).unwrap();
            }
            "fifo" => {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mkfifoat(rustix::fs::CWD, at(rest), mode).unwrap();
            }
            "socket" => drop(std::os::unix::net::UnixListener::bind(at(rest)).unwrap()),
            other => panic!("{other}"),
        }
    }

    /// Everything outside, by name, with its content.
    pub fn outside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.out(), &mut all);
        all
    }

    /// When the directories outside last changed: something that was made there and removed
    /// again leaves this trace.
    pub fn stamps(&self) -> Vec<(i64, i64)> {
        ["", "deep"]
            .map(|name| self.out().join(name).metadata().unwrap())
            .map(|meta| (meta.mtime(), meta.mtime_nsec()))
            .into()
    }

    /// Names in the workspace that a write left behind and should not have.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut all = BTreeMap::new();
        collect(&self.ws(), &mut all);
        all.into_keys()
            .filter(|path| path.to_string_lossy().contains(".toolgate-"))
            .collect()
    }
}

/// The content that `make` writes into a file of this name.
pub fn content_of(name: &str) -> String {
    format!("ok-content of {name}\n")
}

fn collect(directory: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            collect(&path, into);
            into.insert(path, b"a directory".to_vec());
        } else if meta.is_file() {
            let content = std::fs::read(&path).unwrap();
            into.insert(path, content);
        } else {
            into.insert(path, b"something else".to_vec());
        }
    }
}

/// Options of a write with a name of its own.
pub fn options(overwrite: bool) -> StageOptions {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    StageOptions {
        overwrite,
        create_parents: true,
        nonce: u128::from(NEXT.fetch_add(16, Ordering::Relaxed)),
    }
}

pub fn read(sandbox: &PathSandbox, path: &str) -> Result<String, PathError> {
    let bytes = sandbox.open_read(path)?.read_all(1 << 20)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn write(sandbox: &PathSandbox, path: &str, overwrite: bool) -> Result<PathBuf, PathError> {
    let mut staged = sandbox.stage(path, options(overwrite))?;
    staged.write_all(WRITTEN.as_bytes())?;
    Ok(staged.commit()?.path)
}
