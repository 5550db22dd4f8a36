//! Whether a name may be used, however it was reached.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use toolgate_model::Access;

use super::fold::{Folded, fold_name};
use super::lifted::path_of;
use super::opening::rule_that_names;
use super::own::KEPT;
use super::patterns::Scope;
use crate::paths::PathSandbox;
use crate::paths::error::{BadPath, Escape, Failure, FileKind, PathError, Protection};
use crate::paths::message::shown;
use crate::paths::resolve::missing::join;
use crate::paths::resolve::request::Request;
use crate::paths::resolve::roots::RootAccess;
use crate::paths::resolve::{Found, Miss, Want};

/// The suffix that the kernel appends to the name of a removed file.
const REMOVED: &[u8] = b" (deleted)";

/// The names that make a directory a repository for git.
const REPOSITORY: [&str; 3] = ["HEAD", "objects", "refs"];

/// The names by which git takes a directory for its own, all of one line. A directory of a
/// worktree has the others elsewhere.
const GIT_DIRECTORIES: [&[&str]; 2] = [&REPOSITORY, &["HEAD", "commondir"]];

/// The file that makes a directory a Python virtual environment.
const ENVIRONMENT: &str = "pyvenv.cfg";

impl PathSandbox {
    /// Takes a path apart and checks the name that was asked for.
    pub(crate) fn request<'a>(
        &self,
        path: &'a Path,
        access: Access,
    ) -> Result<Request<'a>, PathError> {
        let request = Request::parse(&self.inner.roots, self.inner.allow_absolute, path)?;
        if self.is_closed(request.root, &request.folded) {
            return Err(PathError::Own {
                path: request.shown(),
                resolved: None,
            });
        }
        if let Some(pattern) = self.inner.denied.find(&request.folded, Scope::Whole)
            && !self.is_lifted(request.root, &request.rel, access)
        {
            let name = (request.root, &*request.rel);
            return Err(self.denied(request.raw, None, name, pattern, access));
        }
        if access != Access::Read {
            self.check_write(
                request.raw,
                request.root,
                &request.rel,
                &request.folded,
                false,
            )?;
            if request.parts.is_empty() {
                return Err(PathError::NotAFile {
                    path: request.shown(),
                    kind: FileKind::Directory,
                });
            }
            if request.names_directory {
                return Err(PathError::Bad {
                    path: request.shown(),
                    why: BadPath::NamesADirectory,
                });
            }
        }
        Ok(request)
    }

    /// Opens what was asked for and checks the name that came out.
    pub(crate) fn find(
        &self,
        request: &Request<'_>,
        want: Want,
        access: Access,
    ) -> Result<Found, PathError> {
        let found = self
            .look_up(request.root, &request.rel, want)
            .map_err(|miss| self.refuse(request, miss))?;
        if let Some(name) = &found.moved_to {
            self.check_resolved(request.raw, found.root, name, access)?;
        }
        Ok(found)
    }

    /// Opens a name without any check but that it stays beneath.
    pub(crate) fn look_up(&self, root: usize, rel: &[u8], want: Want) -> Result<Found, Miss> {
        self.inner.method.open(&self.inner.roots, root, rel, want)
    }

    /// Checks a name that a request turned out to lead to.
    pub(crate) fn check_resolved(
        &self,
        asked: &[u8],
        root: usize,
        rel: &[u8],
        access: Access,
    ) -> Result<(), PathError> {
        // The suffix may be the kernel's or part of a real name; both are checked.
        for name in [Some(rel), rel.strip_suffix(REMOVED)].into_iter().flatten() {
            let folded = folded(name);
            if self.is_closed(root, &folded) {
                return Err(PathError::Own {
                    path: shown(asked),
                    resolved: Some(self.name_bytes(root, name)),
                });
            }
            if let Some(pattern) = self.inner.denied.find(&folded, Scope::Whole)
                && !self.is_lifted(root, name, access)
            {
                let resolved = Some(self.name_bytes(root, name));
                return Err(self.denied(asked, resolved, (root, name), pattern, access));
            }
            if access != Access::Read {
                self.check_write(asked, root, name, &folded, true)?;
            }
        }
        Ok(())
    }

    /// Checks the patterns that are only about files, once it is known that this is one.
    pub(crate) fn check_file(
        &self,
        request: &Request<'_>,
        root: usize,
        moved_to: Option<&[u8]>,
        access: Access,
    ) -> Result<(), PathError> {
        if let Some(pattern) = self.inner.denied.find_file(&request.folded)
            && !self.is_lifted(request.root, &request.rel, access)
        {
            let name = (request.root, &*request.rel);
            return Err(self.denied(request.raw, None, name, pattern, access));
        }
        if let Some(name) = moved_to
            && let Some(pattern) = self.inner.denied.find_file(&folded(name))
            && !self.is_lifted(root, name, access)
        {
            let resolved = Some(self.name_bytes(root, name));
            return Err(self.denied(request.raw, resolved, (root, name), pattern, access));
        }
        Ok(())
    }

    /// The refusal of a denied path, with the rule that opens it where one can.
    pub(crate) fn denied(
        &self,
        asked: &[u8],
        resolved: Option<String>,
        (root, rel): (usize, &[u8]),
        pattern: &str,
        access: Access,
    ) -> PathError {
        let name = self.name(root, path_of(rel));
        let opened_by = || rule_that_names(name.as_os_str().as_bytes(), access);
        PathError::Denied {
            path: shown(asked),
            resolved,
            pattern: pattern.to_owned(),
            opened_by: self.can_be_lifted(rel).then(opened_by).flatten(),
        }
    }

    fn check_write(
        &self,
        asked: &[u8],
        root: usize,
        rel: &[u8],
        folded: &Folded<'_>,
        moved: bool,
    ) -> Result<(), PathError> {
        let resolved = || moved.then(|| self.name_bytes(root, rel));
        let refused = |why| Err(self.protected(asked, resolved(), (root, rel), why));
        if self.inner.roots.access_at(root, rel) == RootAccess::ReadOnly {
            return Err(PathError::Protected {
                path: shown(asked),
                resolved: resolved(),
                why: Protection::ReadOnlyRoot,
                opened_by: None,
            });
        }
        if self.is_named(root, rel) {
            return Ok(());
        }
        if self.own_in(root).is_some_and(|own| own.keeps(folded)) {
            return refused(Protection::OwnConfiguration);
        }
        let inner = &self.inner;
        match inner
            .protected
            .find(folded, Scope::Whole)
            .or_else(|| inner.protected.find_file(folded))
            .or_else(|| inner.protected_from_tools.find(folded, Scope::Whole))
        {
            Some(rule) => refused(Protection::Rule {
                rule: rule.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The refusal of a write that a rule which names the path would allow.
    pub(crate) fn protected(
        &self,
        asked: &[u8],
        resolved: Option<String>,
        (root, rel): (usize, &[u8]),
        why: Protection,
    ) -> PathError {
        let name = self.name(root, Path::new(OsStr::from_bytes(rel)));
        PathError::Protected {
            path: shown(asked),
            resolved,
            why,
            opened_by: rule_that_names(name.as_os_str().as_bytes(), Access::Write),
        }
    }

    /// Whether a name of a root is Toolgate's own and closed to tools.
    pub(crate) fn is_closed(&self, root: usize, folded: &Folded<'_>) -> bool {
        self.own_in(root).is_some_and(|own| own.closes(folded))
    }

    pub(crate) fn is_named(&self, root: usize, rel: &[u8]) -> bool {
        !self.inner.named.is_empty() && self.inner.named.contains(&(root, rel.to_vec()))
    }

    /// Refuses the write that would make a directory a bare repository, or that git would obey
    /// in one. Git takes any directory with these three names in it for a repository, whatever
    /// its own name is, and obeys its configuration; none of the names is suspicious alone.
    pub(crate) fn check_plant(
        &self,
        asked: &[u8],
        root: usize,
        rel: &[u8],
    ) -> Result<(), PathError> {
        self.check_plant_with(asked, root, rel, &[])
    }

    /// The same for files that are written together, none of which may be there yet.
    pub fn check_plants<'a>(
        &self,
        writes: impl Iterator<Item = &'a Path>,
    ) -> Result<(), PathError> {
        let parse = |path| Request::parse(&self.inner.roots, self.inner.allow_absolute, path).ok();
        let requests: Vec<Request<'_>> = writes.filter_map(parse).collect();
        let together: Vec<(usize, &[u8])> = requests
            .iter()
            .map(|request| (request.root, &*request.rel))
            .collect();
        requests.iter().try_for_each(|request| {
            self.check_plant_with(request.raw, request.root, &request.rel, &together)
        })
    }

    fn check_plant_with(
        &self,
        asked: &[u8],
        root: usize,
        rel: &[u8],
        together: &[(usize, &[u8])],
    ) -> Result<(), PathError> {
        if self.is_named(root, rel) {
            return Ok(());
        }
        let mut at = 0;
        let mut inside_git = false;
        for part in rel.split(|b| *b == b'/') {
            let name = fold_name(part);
            let others: Option<Vec<&str>> = match name.as_ref() {
                _ if inside_git => None,
                b"head" | b"objects" | b"refs" => Some(
                    REPOSITORY
                        .into_iter()
                        .filter(|other| !other.as_bytes().eq_ignore_ascii_case(&name))
                        .collect(),
                ),
                b"hooks" | b"commondir" => Some(REPOSITORY.to_vec()),
                config if config.starts_with(b"config") => Some(REPOSITORY.to_vec()),
                _ => None,
            };
            let directory = rel.get(..at).unwrap_or_default();
            let directory = directory.strip_suffix(b"/").unwrap_or(directory);
            if let Some(others) = others
                && self.holds_all(root, directory, &others, together)
            {
                let why = Protection::Repository {
                    directory: shown(directory),
                };
                return Err(self.protected(asked, None, (root, rel), why));
            }
            if matches!(name.as_ref(), b"bin" | b"scripts")
                && self.holds_all(root, directory, &[ENVIRONMENT], together)
            {
                let rule = format!("programs of the virtual environment of {ENVIRONMENT}");
                return Err(self.protected(asked, None, (root, rel), Protection::Rule { rule }));
            }
            if !inside_git
                && let Some(rule) = self.obeyed_in_git(rel.get(at..).unwrap_or_default())
                && GIT_DIRECTORIES
                    .iter()
                    .any(|names| self.holds_all(root, directory, names, together))
            {
                let why = Protection::GitDirectory {
                    directory: shown(directory),
                    rule: rule.to_owned(),
                };
                return Err(self.protected(asked, None, (root, rel), why));
            }
            inside_git = name.as_ref() == b".git";
            at += part.len() + 1;
        }
        Ok(())
    }

    /// The rule that would protect this path if it lay in a directory named `.git`.
    fn obeyed_in_git(&self, rel: &[u8]) -> Option<&str> {
        let path = folded(&join(b".git", rel)).into_owned();
        let lists = [&self.inner.protected, &self.inner.protected_from_tools];
        lists
            .into_iter()
            .find_map(|rules| rules.find(&path, Scope::Whole))
    }

    /// Whether all names are in a directory, or come there together with this one.
    fn holds_all(
        &self,
        root: usize,
        directory: &[u8],
        names: &[&str],
        together: &[(usize, &[u8])],
    ) -> bool {
        let found = self.look_up(root, directory, Want::Directory).ok();
        names.iter().all(|name| {
            let is_there = found.as_ref().is_some_and(|directory| {
                rustix::fs::statat(&directory.fd, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
            });
            let path = join(directory, name.as_bytes());
            let comes = |(its_root, rel): &(usize, &[u8])| {
                let within = rel.get(..path.len());
                let ends = matches!(rel.get(path.len()), None | Some(b'/'));
                *its_root == root && ends && within.is_some_and(|w| w.eq_ignore_ascii_case(&path))
            };
            is_there || together.iter().any(comes)
        })
    }

    /// The deny pattern that matches this path of a root, if one does.
    pub fn denied_by(&self, rel: &Path, is_file: bool) -> Option<&str> {
        let folded = folded(rel.as_os_str().as_bytes());
        let denied = &self.inner.denied;
        denied
            .find(&folded, Scope::Whole)
            .or_else(|| denied.find_file(&folded).filter(|_| is_file))
    }

    /// The pattern about data that a directory has in its name, or one above it, where it is
    /// no part of a dependency tree.
    pub(crate) fn data_directory(&self, path: &Path) -> Option<&str> {
        let path = folded(path.as_os_str().as_bytes());
        self.inner.denied.find_data_name(&path)
    }

    /// The rule that protects this path of a root against writing, if one does.
    pub fn protected_by(&self, root: usize, rel: &Path) -> Option<&str> {
        let rel = rel.as_os_str().as_bytes();
        if self.is_named(root, rel) {
            return None;
        }
        let folded = folded(rel);
        if self.own_in(root).is_some_and(|own| own.keeps(&folded)) {
            return Some(KEPT);
        }
        let protected = &self.inner.protected;
        protected
            .find(&folded, Scope::Whole)
            .or_else(|| protected.find_file(&folded))
    }

    /// The rule that protects a path of a directory that is no root: by its name there, or
    /// by where the directory lies, unless the directory itself is protected. Granting that
    /// one for writing opens all of it.
    pub(crate) fn protected_in(&self, directory: &Path, rel: &Path) -> Option<&str> {
        let protected = &self.inner.protected;
        let find = |path: &Path| {
            let folded = folded(path.as_os_str().as_bytes());
            let found = protected.find(&folded, Scope::Whole);
            found.or_else(|| protected.find_file(&folded))
        };
        // A repository is protected in parts, and its own name as a file only.
        let is_repository = directory.file_name() == Some(".git".as_ref());
        let around = || is_repository || find(directory).is_none();
        find(rel).or_else(|| find(&directory.join(rel)).filter(|_| around()))
    }

    /// The error for an unsuccessful lookup.
    pub(crate) fn refuse(&self, request: &Request<'_>, miss: Miss) -> PathError {
        let path = request.shown();
        let failed = |what| PathError::Failed {
            path: request.shown(),
            what,
        };
        match miss {
            Miss::Missing => self.missing(request),
            Miss::NotDirectory => PathError::NotADirectory {
                path,
                part: self.first_that_is_no_directory(request),
            },
            Miss::LeadsOut(link) => PathError::Outside {
                path,
                how: Escape::Link { link: shown(&link) },
            },
            Miss::Loop => failed(Failure::LinkLoop),
            Miss::Busy => failed(Failure::Busy),
            Miss::TooDeep => PathError::Bad {
                path,
                why: BadPath::TooDeep,
            },
            Miss::System(errno) => PathError::system(request.raw, errno),
        }
    }
}

/// A name in a root as rules look at it.
pub(crate) fn folded(rel: &[u8]) -> Folded<'_> {
    let parts: Vec<&[u8]> = rel
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty())
        .collect();
    Folded::of(&parts)
}
