//! Walking a tree: what `glob`, `grep` and a recursive listing see.
//!
//! Every folder is opened from the handle of the folder above it, never through
//! a link, and every file that a visitor opens comes from the handle of its
//! folder. Links are shown and not followed, denied names are not shown.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use toolgate_model::Access;

use super::PathWall;
use super::error::{BadPath, FileKind, Limit, PathError};
use super::fold::Folded;
use super::folder::{self, MOST_NAMES, Name};
use super::guard::folded;
use super::ignores::Ignores;
use super::message::shown;
use super::missing::join;
use super::patterns::Scope;
use super::read::ReadHandle;
use super::resolve::Want;
use super::stage::failed;
use super::stat::FileStat;

/// Each level holds a descriptor; deeper trees are reported and not entered.
const DEEPEST: usize = 200;

/// What a walk shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkOptions {
    /// How deep: 1 is the folder's own entries, `None` everything.
    pub max_depth: Option<usize>,
    /// Whether names that start with a dot are shown.
    pub hidden: bool,
    /// Whether what ignore files exclude is shown.
    pub ignored: bool,
    /// The text of the person's own excludes, if there are any.
    pub global_excludes: Option<String>,
}

/// What a visitor wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Go on, but not into this folder.
    SkipFolder,
    /// End the walk.
    Stop,
}

/// What a visitor is shown.
#[derive(Debug)]
pub enum Visit<'a> {
    /// Something that is there.
    Entry(&'a WalkEntry<'a>),
    /// Something that could not be looked at or entered; the walk goes on.
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
    /// Its name without any folder.
    pub name: &'a OsStr,
    /// How deep beneath the start: its own entries are 1.
    pub depth: usize,
    /// What it is; a link is a link, whatever it leads to.
    pub kind: FileKind,
    folder: BorrowedFd<'a>,
    root: usize,
    real: &'a [u8],
}

impl WalkEntry<'_> {
    /// Size, rights and age; of the link itself, if it is one.
    pub fn stat(&self) -> Result<FileStat, PathError> {
        rustix::fs::statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| FileStat::of(&stat))
            .map_err(|errno| self.failed(errno))
    }

    /// Opens the regular file that this is.
    pub fn open(&self) -> Result<ReadHandle, PathError> {
        let flags = Want::Read.flags() | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(self.folder, self.name, flags, Mode::empty())
            .map_err(|errno| self.failed(errno))?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| self.failed(errno))?;
        let stat = FileStat::of(&stat);
        if stat.kind != FileKind::File {
            return Err(PathError::NotAFile {
                path: shown(self.path.as_os_str().as_bytes()),
                kind: stat.kind,
            });
        }
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

/// A folder the walk is in.
struct Level {
    folder: OwnedFd,
    /// Its path as a request would name it; empty for the working folder.
    path: Vec<u8>,
    /// Its name in the root, links resolved.
    real: Vec<u8>,
    /// Both as rules look at them; one if they are the same.
    folded: Vec<Folded<'static>>,
    steps: std::vec::IntoIter<Step>,
    skipped: HashSet<Vec<u8>>,
}

/// What is done in a folder. A folder `a` is shown at `a` and entered at `a/`: names
/// such as `a-b` sort in between, and the walk is in the order of whole paths.
struct Step {
    key: Vec<u8>,
    entry: Name,
    enter: bool,
}

struct Walk<'w, 'v> {
    wall: &'w PathWall,
    options: &'w WalkOptions,
    visitor: &'v mut dyn FnMut(Visit<'_>) -> Flow,
    root: usize,
    ignores: Ignores,
}

impl PathWall {
    /// Walks the tree beneath a folder in the byte order of paths.
    ///
    /// Only a start that cannot be opened is an error; what goes wrong on the way is
    /// shown to the visitor.
    pub fn walk(
        &self,
        path: impl AsRef<Path>,
        options: &WalkOptions,
        visitor: &mut dyn FnMut(Visit<'_>) -> Flow,
    ) -> Result<(), PathError> {
        let request = self.request(path.as_ref(), Access::Read)?;
        let found = self.find(&request, Want::List, Access::Read)?;
        let real = found.moved_to.unwrap_or_else(|| request.rel.to_vec());
        let mut ways = vec![folded(&real).into_owned()];
        if *real != *request.rel {
            ways.push(folded(&request.rel).into_owned());
        }
        let path = if request.root == 0 {
            request.rel.to_vec()
        } else {
            let rel = Path::new(OsStr::from_bytes(&request.rel));
            self.name(request.root, rel)
                .into_os_string()
                .into_encoded_bytes()
        };
        let global = options.global_excludes.as_deref();
        let ignores = if options.ignored {
            Ignores::default()
        } else {
            Ignores::above(self, found.root, &real, global)
        };
        let mut walk = Walk {
            wall: self,
            options,
            visitor,
            root: found.root,
            ignores,
        };
        let (level, flow) = walk.level(found.fd, path, real, ways, 0);
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
                self.ignores.leave();
                continue;
            };
            let depth = levels.len();
            let Some(level) = levels.last_mut() else {
                return;
            };
            if !step.enter {
                match self.show(level, &step.entry, depth) {
                    Flow::Continue => {}
                    Flow::SkipFolder => {
                        level.skipped.insert(step.entry.name);
                    }
                    Flow::Stop => return,
                }
            } else if !level.skipped.contains(&step.entry.name) {
                match self.enter(level, &step.entry, depth) {
                    Ok((_, Flow::Stop)) | Err(Flow::Stop) => return,
                    Ok((inner, _)) => levels.push(inner),
                    Err(_) => {}
                }
            }
        }
    }

    /// Shows one entry; what is not to be shown is not to be entered either.
    fn show(&mut self, level: &Level, entry: &Name, depth: usize) -> Flow {
        let real = join(&level.real, &entry.name);
        let is_folder = entry.kind == FileKind::Folder;
        if !self.options.ignored && self.ignores.ignores(&real, is_folder) {
            return Flow::SkipFolder;
        }
        let path = join(&level.path, &entry.name);
        (self.visitor)(Visit::Entry(&WalkEntry {
            path: Path::new(OsStr::from_bytes(&path)),
            name: OsStr::from_bytes(&entry.name),
            depth,
            kind: entry.kind,
            folder: level.folder.as_fd(),
            root: self.root,
            real: &real,
        }))
    }

    fn enter(&mut self, level: &Level, entry: &Name, depth: usize) -> Result<(Level, Flow), Flow> {
        let path = join(&level.path, &entry.name);
        if depth >= DEEPEST {
            let error = PathError::Bad {
                path: shown(&path),
                why: BadPath::TooDeep,
            };
            return Err(self.report(&path, depth, error));
        }
        let flags = Want::List.flags() | OFlags::NOFOLLOW;
        match rustix::fs::openat(&level.folder, &*entry.name, flags, Mode::empty()) {
            Ok(fd) => {
                let real = join(&level.real, &entry.name);
                let ways = level
                    .folded
                    .iter()
                    .map(|way| way.child(&entry.name).into_owned())
                    .collect();
                Ok(self.level(fd, path, real, ways, depth))
            }
            Err(errno) => {
                let error = failed(&path, errno);
                Err(self.report(&path, depth, error))
            }
        }
    }

    /// Reads a folder's names and puts the steps in order.
    fn level(
        &mut self,
        folder: OwnedFd,
        path: Vec<u8>,
        real: Vec<u8>,
        ways: Vec<Folded<'static>>,
        depth: usize,
    ) -> (Level, Flow) {
        let mut flow = Flow::Continue;
        let names = folder::names(&folder, MOST_NAMES).unwrap_or_else(|unread| {
            let error = match unread.errno {
                Some(errno) => failed(&path, errno),
                None => PathError::TooLarge {
                    path: shown(&path),
                    limit: Limit::Names(MOST_NAMES),
                },
            };
            flow = self.report(&path, depth, error);
            unread.before
        });
        let has = |wanted: &[u8]| names.iter().any(|entry| entry.name == wanted);
        let (ignore, gitignore) = (has(b".ignore"), has(b".gitignore"));
        let respected = !self.options.ignored;
        self.ignores.enter(
            folder.as_fd(),
            &real,
            respected && ignore,
            respected && gitignore,
        );
        let deeper = self.options.max_depth.is_none_or(|most| depth + 1 < most);
        let shows = self.options.max_depth != Some(0);
        let mut steps = Vec::with_capacity(names.len());
        for mut entry in names {
            if !shows || (!self.options.hidden && entry.name.starts_with(b".")) {
                continue;
            }
            if entry.kind == FileKind::Unknown {
                entry.kind = kind_at(&folder, &entry.name);
            }
            if self.is_denied(&ways, &entry) {
                continue;
            }
            if deeper && entry.kind == FileKind::Folder {
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
            folder,
            path,
            real,
            folded: ways,
            steps: steps.into_iter(),
            skipped: HashSet::new(),
        };
        (level, flow)
    }

    fn is_denied(&self, ways: &[Folded<'static>], entry: &Name) -> bool {
        let denied = &self.wall.inner.denied;
        ways.iter().any(|way| {
            let path = way.child(&entry.name);
            denied.find(&path, Scope::Last).is_some()
                || (entry.kind == FileKind::File && denied.find_file(&path).is_some())
        })
    }

    fn report(&mut self, path: &[u8], depth: usize, error: PathError) -> Flow {
        let path = Path::new(OsStr::from_bytes(path));
        (self.visitor)(Visit::Failed { path, depth, error })
    }
}

fn kind_at(folder: &OwnedFd, name: &[u8]) -> FileKind {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileKind::Unknown, |stat| FileStat::of(&stat).kind)
}
