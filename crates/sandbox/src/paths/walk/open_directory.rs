//! One directory of a tree that is walked: how it is opened, and which names in it count.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use toolgate_model::Access;

use super::ignores::Ignores;
use super::tree::{WalkEntry, WalkOptions};
use crate::paths::PathSandbox;
use crate::paths::error::{BadPath, FileKind, Limit, PathError};
use crate::paths::message::shown;
use crate::paths::read::directory::{self, MOST_NAMES, Name};
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::Want;
use crate::paths::resolve::missing::join;
use crate::paths::rules::fold::Folded;
use crate::paths::rules::guard::folded;
use crate::paths::rules::patterns::EntryRules;
use crate::paths::write::stage::failed;

/// Each level holds a descriptor; deeper trees are reported and not entered.
const DEEPEST: usize = 200;

/// The settings that all directories of one walk share.
#[derive(Debug)]
pub(crate) struct Tree<'w> {
    sandbox: &'w PathSandbox,
    options: &'w WalkOptions,
    root: usize,
    /// Where names beneath the start begin in a path.
    beneath: usize,
}

/// A directory that was opened from the one above it.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    fd: OwnedFd,
    /// Its path as a request would name it; empty for the working directory.
    pub(crate) path: Vec<u8>,
    /// Its name in the root, links resolved; nothing if that is its path.
    real: Option<Vec<u8>>,
    /// Both as rules look at them; one if they are the same.
    ways: Vec<Folded<'static>>,
    /// The ignore rules above it, and in it once its names are read.
    ignores: Ignores,
    /// How deep beneath the start; the start is 0.
    pub(crate) depth: usize,
}

/// Paths of a directory's entries, one after the other in the same memory.
#[derive(Debug)]
pub(crate) struct EntryPaths {
    path: Vec<u8>,
    path_start: usize,
    /// Only where the real name differs.
    real: Option<(Vec<u8>, usize)>,
}

impl<'w> Tree<'w> {
    /// Opens the directory where a walk starts.
    pub(crate) fn open(
        sandbox: &'w PathSandbox,
        path: &Path,
        options: &'w WalkOptions,
    ) -> Result<(Self, OpenDirectory), PathError> {
        let request = sandbox.request(path, Access::Read)?;
        let found = sandbox.find(&request, Want::List, Access::Read)?;
        let real = found.moved_to.unwrap_or_else(|| request.rel.to_vec());
        let mut ways = vec![folded(&real).into_owned()];
        if *real != *request.rel {
            ways.push(folded(&request.rel).into_owned());
        }
        let path = if request.root == 0 {
            request.rel.to_vec()
        } else {
            let rel = Path::new(OsStr::from_bytes(&request.rel));
            let name = sandbox.name(request.root, rel);
            name.into_os_string().into_encoded_bytes()
        };
        let ignores = if options.ignored {
            Ignores::default()
        } else {
            Ignores::above(
                sandbox,
                found.root,
                &real,
                options.global_excludes.as_deref(),
            )
        };
        let tree = Self {
            sandbox,
            options,
            root: found.root,
            beneath: path.len() + usize::from(!path.is_empty()),
        };
        let start = OpenDirectory {
            fd: found.fd,
            real: (real != path).then_some(real),
            path,
            ways,
            ignores,
            depth: 0,
        };
        Ok((tree, start))
    }

    /// Opens a directory in a directory, never through a link.
    pub(crate) fn enter(
        &self,
        directory: &OpenDirectory,
        name: &[u8],
    ) -> Result<OpenDirectory, PathError> {
        let path = join(&directory.path, name);
        let depth = directory.depth + 1;
        if depth >= DEEPEST {
            return Err(PathError::Bad {
                path: shown(&path),
                why: BadPath::TooDeep,
            });
        }
        let flags = Want::List.flags() | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&directory.fd, name, flags, Mode::empty())
            .map_err(|errno| failed(&path, errno))?;
        let ways = directory.ways.iter();
        Ok(OpenDirectory {
            fd,
            path,
            real: directory.real.as_ref().map(|real| join(real, name)),
            ways: ways.map(|way| way.child(name).into_owned()).collect(),
            ignores: directory.ignores.clone(),
            depth,
        })
    }

    /// Whether the directories in a directory are entered.
    pub(crate) fn goes_deeper(&self, directory: &OpenDirectory) -> bool {
        let most = self.options.max_depth;
        most.is_none_or(|most| directory.depth + 1 < most)
    }

    /// The names that are neither hidden nor denied nor ignored, in no order, and why
    /// they are not all, if they are not.
    pub(crate) fn names(&self, directory: &mut OpenDirectory) -> (Vec<Name>, Option<PathError>) {
        let (mut names, error) = match directory::names(&directory.fd, MOST_NAMES) {
            Ok(names) => (names, None),
            Err(unread) => {
                let error = match unread.errno {
                    Some(errno) => failed(&directory.path, errno),
                    None => PathError::TooLarge {
                        path: shown(&directory.path),
                        limit: Limit::Names(MOST_NAMES),
                    },
                };
                (unread.before, Some(error))
            }
        };
        if self.options.max_depth == Some(0) {
            return (Vec::new(), error);
        }
        if !self.options.ignored {
            let has = |wanted: &[u8]| names.iter().any(|entry| entry.name == wanted);
            let (ignore, gitignore) = (has(b".ignore"), has(b".gitignore"));
            let rel = directory.real.as_ref().unwrap_or(&directory.path);
            let inside = directory
                .ignores
                .inside(directory.fd.as_fd(), rel, ignore, gitignore);
            directory.ignores = inside;
        }
        let denied = &self.sandbox.inner.denied;
        let rules: Vec<EntryRules<'_>> = directory
            .ways
            .iter()
            .map(|way| denied.inside(way))
            .collect();
        let rel = directory.real.as_ref().unwrap_or(&directory.path);
        let own = self.sandbox.own_in(self.root);
        let own = own.filter(|own| !own.closes_nothing());
        let mut paths = EntryPaths::of(directory);
        names.retain_mut(|entry| {
            if !self.options.hidden && entry.name.starts_with(b".") {
                return false;
            }
            look_closer(&directory.fd, entry);
            if rules.iter().any(|rules| rules.fit(&entry.name, entry.kind)) {
                let rel = join(rel, &entry.name);
                if !self.sandbox.is_lifted(self.root, &rel, Access::Read) {
                    return false;
                }
            }
            if let Some(own) = own
                && directory
                    .ways
                    .iter()
                    .any(|way| own.closes(&way.child(&entry.name)))
            {
                return false;
            }
            paths.name(&entry.name);
            let is_directory = entry.kind == FileKind::Directory;
            self.options.ignored || !directory.ignores.ignores(paths.real(), is_directory)
        });
        (names, error)
    }

    /// An entry as a visitor sees it.
    pub(crate) fn entry<'a>(
        &self,
        directory: &'a OpenDirectory,
        paths: &'a mut EntryPaths,
        entry: &'a Name,
    ) -> WalkEntry<'a>
    where
        'w: 'a,
    {
        paths.name(&entry.name);
        WalkEntry {
            path: Path::new(OsStr::from_bytes(&paths.path)),
            name: OsStr::from_bytes(&entry.name),
            depth: directory.depth + 1,
            kind: entry.kind,
            sandbox: self.sandbox,
            directory: directory.fd.as_fd(),
            root: self.root,
            real: paths.real(),
            beneath: self.beneath,
        }
    }
}

impl EntryPaths {
    pub(crate) fn of(directory: &OpenDirectory) -> Self {
        let start = |directory: &[u8]| {
            let mut path = directory.to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            let length = path.len();
            (path, length)
        };
        let (path, path_start) = start(&directory.path);
        Self {
            path,
            path_start,
            real: directory.real.as_deref().map(start),
        }
    }

    fn name(&mut self, name: &[u8]) {
        self.path.truncate(self.path_start);
        self.path.extend_from_slice(name);
        if let Some((real, start)) = &mut self.real {
            real.truncate(*start);
            real.extend_from_slice(name);
        }
    }

    fn real(&self) -> &[u8] {
        let real = self.real.as_ref();
        real.map_or(&self.path, |(real, _)| real)
    }
}

/// Looks up the types that a file system does not report in a list of names.
fn look_closer(directory: &impl AsFd, entry: &mut Name) {
    if entry.kind == FileKind::Unknown
        && let Ok(stat) = rustix::fs::statat(directory, &*entry.name, AtFlags::SYMLINK_NOFOLLOW)
    {
        entry.kind = FileStat::of(&stat).kind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreported_types_are_looked_up() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        std::fs::create_dir(place.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("directory", place.path().join("link")).unwrap();
        let directory = std::fs::File::open(place.path()).unwrap();
        let kind_after = |name: &str, kind| {
            let mut entry = Name {
                name: name.into(),
                kind,
            };
            look_closer(&directory, &mut entry);
            entry.kind
        };
        for (name, said, wanted) in [
            ("file", FileKind::Unknown, FileKind::File),
            ("directory", FileKind::Unknown, FileKind::Directory),
            ("link", FileKind::Unknown, FileKind::Link),
            ("gone", FileKind::Unknown, FileKind::Unknown),
            ("file", FileKind::Other, FileKind::Other),
        ] {
            assert_eq!(kind_after(name, said), wanted, "{name}");
        }
    }
}
