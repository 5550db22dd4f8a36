//! Where a write or a removal would go, found without changing anything.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use toolgate_model::Access;

use crate::paths::PathSandbox;
use crate::paths::error::{Failure, FileKind, PathError};
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::missing::join;
use crate::paths::resolve::request::Request;
use crate::paths::resolve::{Miss, Want};
use crate::paths::rules::guard::folded;

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The number of the root it lies in.
    pub root: usize,
    /// Its name in that root, links resolved.
    pub path: PathBuf,
    /// The file there; `None` if there is none yet.
    pub stat: Option<FileStat>,
}

impl Resolved {
    /// Whether something is there.
    pub fn exists(&self) -> bool {
        self.stat.is_some()
    }
}

/// A name in an open directory, with directories in between that may have to be made.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) root: usize,
    /// The deepest directory on the way that exists.
    pub(crate) directory: OwnedFd,
    /// Its name in the root, links resolved.
    pub(crate) directory_name: Vec<u8>,
    /// Directories that do not exist yet, from there down.
    pub(crate) missing: Vec<Vec<u8>>,
    pub(crate) name: Vec<u8>,
    pub(crate) existing: Option<FileStat>,
}

impl Target {
    /// The name in the root.
    pub(crate) fn rel(&self) -> Vec<u8> {
        let mut rel = self.directory_name.clone();
        for part in self.missing.iter().chain([&self.name]) {
            rel = join(&rel, part);
        }
        rel
    }

    /// The public description.
    pub(crate) fn resolved(&self) -> Resolved {
        Resolved {
            root: self.root,
            path: PathBuf::from(OsStr::from_bytes(&self.rel())),
            stat: self.existing,
        }
    }
}

impl PathSandbox {
    /// Checks a path as an access would, and says what is there. Changes nothing.
    ///
    /// A path that does not exist is an answer for [`Access::Write`] and an error
    /// for the others.
    pub fn preflight(&self, path: impl AsRef<Path>, access: Access) -> Result<Resolved, PathError> {
        let request = self.request(path.as_ref(), access)?;
        match access {
            Access::Read => self.readable(&request),
            Access::Write => Ok(self.write_target(&request)?.resolved()),
            Access::Delete => Ok(self.entry(&request)?.resolved()),
        }
    }

    fn readable(&self, request: &Request<'_>) -> Result<Resolved, PathError> {
        let found = self.find(request, Want::Look, Access::Read)?;
        let said =
            rustix::fs::fstat(&found.fd).map_err(|errno| PathError::system(request.raw, errno))?;
        let stat = FileStat::of(&said);
        let moved_to = found.moved_to.as_deref();
        match stat.kind {
            FileKind::Directory => {}
            FileKind::File if request.names_directory => {
                return Err(PathError::NotADirectory {
                    path: request.shown(),
                    part: request.shown(),
                });
            }
            FileKind::File => {
                self.check_file(request, found.root, moved_to, Access::Read)?;
                self.check_links(request.raw, &said)?;
            }
            kind => {
                return Err(PathError::NotAFile {
                    path: request.shown(),
                    kind,
                });
            }
        }
        Ok(Resolved {
            root: found.root,
            path: PathBuf::from(OsStr::from_bytes(moved_to.unwrap_or(&request.rel))),
            stat: Some(stat),
        })
    }

    /// The file that a write to this path replaces or makes.
    pub(crate) fn write_target(&self, request: &Request<'_>) -> Result<Target, PathError> {
        let mut target = self.in_directory(request, Access::Write)?;
        if target.missing.is_empty() {
            target.existing = stat_entry(request, &target)?;
            if target.existing.is_some_and(|s| s.kind == FileKind::Link) {
                target = self.behind_link(request)?;
            }
        }
        match target.existing.map(|stat| stat.kind) {
            None | Some(FileKind::File) => {}
            Some(kind) => {
                return Err(PathError::NotAFile {
                    path: request.shown(),
                    kind,
                });
            }
        }
        let rel = target.rel();
        self.check_file(request, target.root, Some(&rel), Access::Write)?;
        self.check_plant(request.raw, target.root, &rel)?;
        // Replacing needs no right to write the old file, only its directory. But a user who
        // took that right away wants no write at all. Other errors
        // (gone meanwhile, a kernel that cannot tell) are left to the write itself.
        if target.existing.is_some()
            && let Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) = rustix::fs::accessat(
                &target.directory,
                &*target.name,
                rustix::fs::Access::WRITE_OK,
                AtFlags::EACCESS,
            )
        {
            return Err(PathError::system(request.raw, errno));
        }
        Ok(target)
    }

    /// The entry with this name, links not followed at the end; an error if there is none.
    pub(crate) fn entry(&self, request: &Request<'_>) -> Result<Target, PathError> {
        let mut target = self.in_directory(request, Access::Delete)?;
        if target.missing.is_empty() {
            target.existing = stat_entry(request, &target)?;
        }
        match target.existing.map(|stat| stat.kind) {
            None => Err(self.missing(request)),
            Some(FileKind::File) => {
                self.check_file(request, target.root, Some(&target.rel()), Access::Delete)?;
                Ok(target)
            }
            Some(FileKind::Link) => {
                let rel = target.rel();
                if let Some(pattern) = self.inner.denied.find_data_file(&folded(&rel))
                    && !self.is_lifted(target.root, &rel, Access::Delete)
                {
                    let name = (target.root, &*rel);
                    return Err(self.denied(request.raw, None, name, pattern, Access::Delete));
                }
                Ok(target)
            }
            Some(kind) => Err(PathError::NotAFile {
                path: request.shown(),
                kind,
            }),
        }
    }

    /// The directory a path lies in, as far as it exists.
    pub(crate) fn in_directory(
        &self,
        request: &Request<'_>,
        access: Access,
    ) -> Result<Target, PathError> {
        let Some((name, directories)) = request.parts.split_last() else {
            return Err(PathError::NotAFile {
                path: request.shown(),
                kind: FileKind::Directory,
            });
        };
        let mut length = directories.len();
        let (found, rel) = loop {
            let rel = directories.get(..length).unwrap_or_default().join(&b'/');
            match self.look_up(request.root, &rel, Want::Directory) {
                Ok(found) => break (found, rel),
                Err(miss) => match length.checked_sub(1) {
                    Some(shorter) if miss == Miss::Missing => length = shorter,
                    _ => return Err(self.refuse(request, miss)),
                },
            }
        };
        let missing = directories.get(length..).unwrap_or_default();
        if let Some(first) = missing.first()
            && rustix::fs::statat(&found.fd, *first, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        {
            return Err(PathError::Failed {
                path: request.shown(),
                what: Failure::DanglingLink,
            });
        }
        let moved = found.moved_to.is_some();
        let target = Target {
            root: found.root,
            directory: found.fd,
            directory_name: found.moved_to.unwrap_or(rel),
            missing: missing.iter().map(|part| part.to_vec()).collect(),
            name: name.to_vec(),
            existing: None,
        };
        if moved {
            self.check_resolved(request.raw, target.root, &target.rel(), access)?;
        }
        Ok(target)
    }

    /// The regular file that a link at the end of a path leads to, in its own directory:
    /// a write replaces the file, not the link.
    fn behind_link(&self, request: &Request<'_>) -> Result<Target, PathError> {
        let failed = |what| PathError::Failed {
            path: request.shown(),
            what,
        };
        let found = match self.look_up(request.root, &request.rel, Want::Look) {
            Err(Miss::Missing) => return Err(failed(Failure::DanglingLink)),
            other => other.map_err(|miss| self.refuse(request, miss))?,
        };
        let busy = || failed(Failure::Busy);
        let rel = found.moved_to.ok_or_else(busy)?;
        self.check_resolved(request.raw, found.root, &rel, Access::Write)?;
        let stat =
            rustix::fs::fstat(&found.fd).map_err(|errno| PathError::system(request.raw, errno))?;
        let stat = FileStat::of(&stat);
        let (directory_name, name) = match rel.iter().rposition(|b| *b == b'/') {
            Some(slash) => {
                let (directory, name) = rel.split_at(slash);
                (
                    directory.to_vec(),
                    name.get(1..).unwrap_or_default().to_vec(),
                )
            }
            None => (Vec::new(), rel),
        };
        let directory = self
            .look_up(found.root, &directory_name, Want::Directory)
            .map_err(|miss| self.refuse(request, miss))?;
        let mut target = Target {
            root: directory.root,
            directory: directory.fd,
            directory_name,
            missing: Vec::new(),
            name,
            existing: None,
        };
        if stat.kind == FileKind::File {
            target.existing = stat_entry(request, &target)?;
            if !is_still(stat, target.existing, directory.moved_to.as_deref()) {
                return Err(busy());
            }
        } else {
            target.existing = Some(stat);
        }
        Ok(target)
    }
}

/// Whether a name is that of the file that was looked at, and no link, in a directory that was
/// not found elsewhere.
fn is_still(looked_at: FileStat, now: Option<FileStat>, moved_to: Option<&[u8]>) -> bool {
    moved_to.is_none()
        && now.is_some_and(|now| now.kind == FileKind::File && now.identity == looked_at.identity)
}

fn stat_entry(request: &Request<'_>, target: &Target) -> Result<Option<FileStat>, PathError> {
    match rustix::fs::statat(&target.directory, &*target.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileStat::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(PathError::system(request.raw, errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_or_a_link_in_its_place_is_not_the_file_that_was_looked_at() {
        let file = FileStat {
            kind: FileKind::File,
            len: 1,
            mode: 0o644,
            modified_ns: 1,
            uid: 0,
            gid: 0,
            identity: (1, 2),
        };
        let longer = FileStat { len: 2, ..file };
        let other = FileStat {
            identity: (1, 3),
            ..file
        };
        let link = FileStat {
            kind: FileKind::Link,
            ..file
        };
        assert!(is_still(file, Some(longer), None));
        for now in [None, Some(other), Some(link)] {
            assert!(!is_still(file, now, None), "{now:?}");
        }
        assert!(!is_still(file, Some(file), Some(b"elsewhere")));
    }
}
