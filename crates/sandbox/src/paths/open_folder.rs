//! One folder of a tree that is walked: how it is opened, and which names in it count.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use toolgate_model::Access;

use super::PathWall;
use super::error::{BadPath, FileKind, Limit, PathError};
use super::fold::Folded;
use super::folder::{self, MOST_NAMES, Name};
use super::guard::folded;
use super::ignores::Ignores;
use super::message::shown;
use super::missing::join;
use super::patterns::EntryRules;
use super::resolve::Want;
use super::stage::failed;
use super::stat::FileStat;
use super::tree::{WalkEntry, WalkOptions};

/// Each level holds a descriptor; deeper trees are reported and not entered.
const DEEPEST: usize = 200;

/// What all folders of one walk have in common.
#[derive(Debug)]
pub(crate) struct Tree<'w> {
    wall: &'w PathWall,
    options: &'w WalkOptions,
    root: usize,
    /// Where names beneath the start begin in a path.
    beneath: usize,
}

/// A folder that was opened from the one above it.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    fd: OwnedFd,
    /// Its path as a request would name it; empty for the working folder.
    pub(crate) path: Vec<u8>,
    /// Its name in the root, links resolved; nothing if that is its path.
    real: Option<Vec<u8>>,
    /// Both as rules look at them; one if they are the same.
    ways: Vec<Folded<'static>>,
    /// What holds above it, and in it once its names are read.
    ignores: Ignores,
    /// How deep beneath the start; the start is 0.
    pub(crate) depth: usize,
}

/// Paths of a folder's entries, one after the other in the same memory.
#[derive(Debug)]
pub(crate) struct EntryPaths {
    path: Vec<u8>,
    path_start: usize,
    /// Only where the real name differs.
    real: Option<(Vec<u8>, usize)>,
}

impl<'w> Tree<'w> {
    /// Opens the folder where a walk starts.
    pub(crate) fn open(
        wall: &'w PathWall,
        path: &Path,
        options: &'w WalkOptions,
    ) -> Result<(Self, OpenFolder), PathError> {
        let request = wall.request(path, Access::Read)?;
        let found = wall.find(&request, Want::List, Access::Read)?;
        let real = found.moved_to.unwrap_or_else(|| request.rel.to_vec());
        let mut ways = vec![folded(&real).into_owned()];
        if *real != *request.rel {
            ways.push(folded(&request.rel).into_owned());
        }
        let path = if request.root == 0 {
            request.rel.to_vec()
        } else {
            let rel = Path::new(OsStr::from_bytes(&request.rel));
            let name = wall.name(request.root, rel);
            name.into_os_string().into_encoded_bytes()
        };
        let ignores = if options.ignored {
            Ignores::default()
        } else {
            Ignores::above(wall, found.root, &real, options.global_excludes.as_deref())
        };
        let tree = Self {
            wall,
            options,
            root: found.root,
            beneath: path.len() + usize::from(!path.is_empty()),
        };
        let start = OpenFolder {
            fd: found.fd,
            real: (real != path).then_some(real),
            path,
            ways,
            ignores,
            depth: 0,
        };
        Ok((tree, start))
    }

    /// Opens a folder in a folder, never through a link.
    pub(crate) fn enter(&self, folder: &OpenFolder, name: &[u8]) -> Result<OpenFolder, PathError> {
        let path = join(&folder.path, name);
        let depth = folder.depth + 1;
        if depth >= DEEPEST {
            return Err(PathError::Bad {
                path: shown(&path),
                why: BadPath::TooDeep,
            });
        }
        let flags = Want::List.flags() | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&folder.fd, name, flags, Mode::empty())
            .map_err(|errno| failed(&path, errno))?;
        let ways = folder.ways.iter();
        Ok(OpenFolder {
            fd,
            path,
            real: folder.real.as_ref().map(|real| join(real, name)),
            ways: ways.map(|way| way.child(name).into_owned()).collect(),
            ignores: folder.ignores.clone(),
            depth,
        })
    }

    /// Whether the folders in a folder are entered.
    pub(crate) fn goes_deeper(&self, folder: &OpenFolder) -> bool {
        let most = self.options.max_depth;
        most.is_none_or(|most| folder.depth + 1 < most)
    }

    /// The names that are neither hidden nor denied nor ignored, in no order, and why
    /// they are not all, if they are not.
    pub(crate) fn names(&self, folder: &mut OpenFolder) -> (Vec<Name>, Option<PathError>) {
        let (mut names, error) = match folder::names(&folder.fd, MOST_NAMES) {
            Ok(names) => (names, None),
            Err(unread) => {
                let error = match unread.errno {
                    Some(errno) => failed(&folder.path, errno),
                    None => PathError::TooLarge {
                        path: shown(&folder.path),
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
            let rel = folder.real.as_ref().unwrap_or(&folder.path);
            let inside = folder
                .ignores
                .inside(folder.fd.as_fd(), rel, ignore, gitignore);
            folder.ignores = inside;
        }
        let denied = &self.wall.inner.denied;
        let rules: Vec<EntryRules<'_>> = folder.ways.iter().map(|way| denied.inside(way)).collect();
        let own = self.wall.own_in(self.root);
        let own = own.filter(|own| !own.closes_nothing());
        let mut paths = EntryPaths::of(folder);
        names.retain_mut(|entry| {
            if !self.options.hidden && entry.name.starts_with(b".") {
                return false;
            }
            look_closer(&folder.fd, entry);
            let is_file = entry.kind == FileKind::File;
            if rules.iter().any(|rules| rules.fit(&entry.name, is_file)) {
                return false;
            }
            if let Some(own) = own
                && folder
                    .ways
                    .iter()
                    .any(|way| own.closes(&way.child(&entry.name)))
            {
                return false;
            }
            paths.name(&entry.name);
            let is_folder = entry.kind == FileKind::Folder;
            self.options.ignored || !folder.ignores.ignores(paths.real(), is_folder)
        });
        (names, error)
    }

    /// An entry as a visitor sees it.
    pub(crate) fn entry<'a>(
        &self,
        folder: &'a OpenFolder,
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
            depth: folder.depth + 1,
            kind: entry.kind,
            wall: self.wall,
            folder: folder.fd.as_fd(),
            root: self.root,
            real: paths.real(),
            beneath: self.beneath,
        }
    }
}

impl EntryPaths {
    pub(crate) fn of(folder: &OpenFolder) -> Self {
        let start = |folder: &[u8]| {
            let mut path = folder.to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            let length = path.len();
            (path, length)
        };
        let (path, path_start) = start(&folder.path);
        Self {
            path,
            path_start,
            real: folder.real.as_deref().map(start),
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

/// Asks for what a file system does not say in a list of names: what each of them is.
fn look_closer(folder: &impl AsFd, entry: &mut Name) {
    if entry.kind == FileKind::Unknown
        && let Ok(stat) = rustix::fs::statat(folder, &*entry.name, AtFlags::SYMLINK_NOFOLLOW)
    {
        entry.kind = FileStat::of(&stat).kind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_file_system_did_not_say_is_looked_at_closer() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        std::fs::create_dir(place.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("folder", place.path().join("link")).unwrap();
        let folder = std::fs::File::open(place.path()).unwrap();
        let kind_after = |name: &str, kind| {
            let mut entry = Name {
                name: name.into(),
                kind,
            };
            look_closer(&folder, &mut entry);
            entry.kind
        };
        for (name, said, wanted) in [
            ("file", FileKind::Unknown, FileKind::File),
            ("folder", FileKind::Unknown, FileKind::Folder),
            ("link", FileKind::Unknown, FileKind::Link),
            ("gone", FileKind::Unknown, FileKind::Unknown),
            ("file", FileKind::Other, FileKind::Other),
        ] {
            assert_eq!(kind_after(name, said), wanted, "{name}");
        }
    }
}
