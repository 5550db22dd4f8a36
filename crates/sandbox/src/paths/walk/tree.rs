//! Walks a tree for `glob`, `grep` and recursive listings.
//!
//! Every directory is opened from the handle of the directory above it, never through
//! a link, and every file that a visitor opens comes from the handle of its
//! directory. Links are shown and not followed, denied names are not shown.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::open_directory::{EntryPaths, OpenDirectory, Tree};
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, PathError};
use crate::paths::message::shown;
use crate::paths::read::directory::Name;
use crate::paths::read::file::ReadHandle;
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::Want;
use crate::paths::resolve::missing::join;
use crate::paths::write::stage::failed;

/// The entries that a walk shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkOptions {
    /// How deep: 1 is the directory's own entries, `None` everything.
    pub max_depth: Option<usize>,
    /// Whether names that start with a dot are shown.
    pub hidden: bool,
    /// Whether what ignore files exclude is shown.
    pub ignored: bool,
    /// The text of the user's own excludes, if there are any.
    pub global_excludes: Option<String>,
}

/// The visitor's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Go on, but not into this directory.
    SkipDirectory,
    /// End the walk.
    Stop,
}

/// An event of a walk.
#[derive(Debug)]
pub enum Visit<'a> {
    /// An entry.
    Entry(&'a WalkEntry<'a>),
    /// An entry that could not be read or entered; the walk goes on.
    Failed {
        /// Where.
        path: &'a Path,
        /// How deep beneath the start.
        depth: usize,
        /// Why.
        error: PathError,
    },
}

/// One entry of a walk.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// Its path as a request would name it.
    pub path: &'a Path,
    /// Its name without any directory.
    pub name: &'a OsStr,
    /// How deep beneath the start: its own entries are 1.
    pub depth: usize,
    /// Its type; links are not followed.
    pub kind: FileKind,
    pub(crate) sandbox: &'a PathSandbox,
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) root: usize,
    pub(crate) real: &'a [u8],
    /// Where the path beneath the start begins.
    pub(crate) beneath: usize,
}

impl WalkEntry<'_> {
    /// Its path from where the walk started.
    pub fn beneath(&self) -> &Path {
        let path = self.path.as_os_str().as_bytes();
        Path::new(OsStr::from_bytes(path.get(self.beneath..).unwrap_or(path)))
    }

    /// Size, rights and age; of the link itself, if it is one.
    pub fn stat(&self) -> Result<FileStat, PathError> {
        rustix::fs::statat(self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| FileStat::of(&stat))
            .map_err(|errno| self.failed(errno))
    }

    /// Opens the regular file that this is.
    pub fn open(&self) -> Result<ReadHandle, PathError> {
        let flags = Want::Read.flags() | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(self.directory, self.name, flags, Mode::empty())
            .map_err(|errno| self.failed(errno))?;
        let said = rustix::fs::fstat(&fd).map_err(|errno| self.failed(errno))?;
        let stat = FileStat::of(&said);
        if stat.kind != FileKind::File {
            return Err(PathError::NotAFile {
                path: shown(self.path.as_os_str().as_bytes()),
                kind: stat.kind,
            });
        }
        let asked = self.path.as_os_str().as_bytes();
        self.sandbox.check_links(asked, &said)?;
        Ok(ReadHandle {
            file: File::from(fd),
            root: self.root,
            path: PathBuf::from(OsStr::from_bytes(self.real)),
            stat,
        })
    }

    fn failed(&self, errno: Errno) -> PathError {
        failed(self.path.as_os_str().as_bytes(), errno)
    }
}

/// A directory the walk is in.
struct Level {
    directory: OpenDirectory,
    paths: EntryPaths,
    steps: std::vec::IntoIter<Step>,
    skipped: HashSet<Vec<u8>>,
}

/// The steps in a directory. A directory `a` is shown at `a` and entered at `a/`: names
/// such as `a-b` sort in between, and the walk is in the order of whole paths.
struct Step {
    key: Vec<u8>,
    entry: Name,
    enter: bool,
}

struct Walk<'w, 'v> {
    tree: Tree<'w>,
    visitor: &'v mut dyn FnMut(Visit<'_>) -> Flow,
}

impl PathSandbox {
    /// Walks the tree beneath a directory in the byte order of paths.
    ///
    /// Only a start that cannot be opened is an error; errors on the way are
    /// shown to the visitor.
    pub fn walk(
        &self,
        path: impl AsRef<Path>,
        options: &WalkOptions,
        visitor: &mut dyn FnMut(Visit<'_>) -> Flow,
    ) -> Result<(), PathError> {
        let (tree, start) = Tree::open(self, path.as_ref(), options)?;
        let mut walk = Walk { tree, visitor };
        let (level, flow) = walk.level(start);
        if flow != Flow::Stop {
            walk.run(level);
        }
        Ok(())
    }
}

impl Walk<'_, '_> {
    fn run(&mut self, start: Level) {
        let mut levels = vec![start];
        while let Some(level) = levels.last_mut() {
            let Some(step) = level.steps.next() else {
                levels.pop();
                continue;
            };
            if !step.enter {
                let Level {
                    directory, paths, ..
                } = level;
                let entry = self.tree.entry(directory, paths, &step.entry);
                match (self.visitor)(Visit::Entry(&entry)) {
                    Flow::Continue => {}
                    Flow::SkipDirectory => {
                        level.skipped.insert(step.entry.name);
                    }
                    Flow::Stop => return,
                }
            } else if !level.skipped.contains(&step.entry.name) {
                match self.enter(&level.directory, &step.entry.name) {
                    Ok((_, Flow::Stop)) | Err(Flow::Stop) => return,
                    Ok((inner, _)) => levels.push(inner),
                    Err(_) => {}
                }
            }
        }
    }

    fn enter(&mut self, directory: &OpenDirectory, name: &[u8]) -> Result<(Level, Flow), Flow> {
        match self.tree.enter(directory, name) {
            Ok(inner) => Ok(self.level(inner)),
            Err(error) => {
                Err(self.report(&join(&directory.path, name), directory.depth + 1, error))
            }
        }
    }

    /// Reads a directory's names and puts the steps in order.
    fn level(&mut self, mut directory: OpenDirectory) -> (Level, Flow) {
        let (names, error) = self.tree.names(&mut directory);
        let flow = error.map_or(Flow::Continue, |error| {
            self.report(&directory.path, directory.depth, error)
        });
        let deeper = self.tree.goes_deeper(&directory);
        let mut steps = Vec::with_capacity(names.len());
        for entry in names {
            if deeper && entry.kind == FileKind::Directory {
                let mut key = entry.name.clone();
                key.push(b'/');
                steps.push(Step {
                    key,
                    entry: entry.clone(),
                    enter: true,
                });
            }
            steps.push(Step {
                key: entry.name.clone(),
                entry,
                enter: false,
            });
        }
        steps.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let level = Level {
            paths: EntryPaths::of(&directory),
            directory,
            steps: steps.into_iter(),
            skipped: HashSet::new(),
        };
        (level, flow)
    }

    fn report(&mut self, path: &[u8], depth: usize, error: PathError) -> Flow {
        let path = Path::new(OsStr::from_bytes(path));
        (self.visitor)(Visit::Failed { path, depth, error })
    }
}
