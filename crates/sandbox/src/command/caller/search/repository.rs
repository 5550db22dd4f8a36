//! Directories that git takes for repositories by their content, whatever their names.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use super::dir_cache::{Contents, Inside};
use super::entry::guarded;
use super::found::{After, Why};
use super::planted::{REPOSITORY, RepositoryNames};
use super::walk::{GIT, Miss, Search, is_opened, join};

impl Search<'_> {
    /// Git takes any directory with `HEAD`, `objects` and `refs` for a repository, and one with
    /// `HEAD` and `commondir` for a part of one, and obeys the configuration and the hooks in
    /// it. All that lies beneath is git's too, if it was a repository before the command.
    pub(super) fn guard_repository(
        &self,
        handle: &OwnedFd,
        directory: &[u8],
        repository: &RepositoryNames,
        contents: &mut Contents,
    ) -> Result<(), Miss> {
        let stood = |after: After<'_>| after.before.repositories.contains(directory);
        contents.appeared = self.after.is_some_and(|after| !stood(after));
        if !contents.appeared && !is_beneath_git(directory) {
            let begin = if directory.is_empty() {
                0
            } else {
                directory.len() + 1
            };
            let beneath = contents.directories.iter_mut();
            beneath
                .filter(|(_, inside)| *inside == Inside::Nothing)
                .for_each(|(_, inside)| *inside = Inside::Git(begin));
        }
        let with_states = contents.appeared && !is_beneath_git(directory);
        for name in repository.obeyed(with_states) {
            let path = join(directory, name);
            if is_opened(&self.opened, &path) || self.is_named(&path) {
                continue;
            }
            let rule = REPOSITORY.to_owned();
            let mut known = contents.guarded.iter_mut();
            if let Some(known) = known.find(|known| known.path == path) {
                known.also.get_or_insert(rule);
                continue;
            }
            let why = Why::Protected(rule);
            match guarded(handle, name, path.clone(), why) {
                Ok(guarded) => {
                    contents.protected.push(guarded.id.inode);
                    contents.guarded.push(guarded);
                }
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(Miss::Unknown(errno)),
            }
            let beneath = contents.directories.iter_mut();
            beneath
                .filter(|(directory, _)| *directory == path)
                .for_each(|(_, inside)| *inside = Inside::Protected);
        }
        Ok(())
    }

    /// The rule that would protect a path if the directory of git's that it lies in were named
    /// `.git`.
    pub(super) fn protects_in_git(&self, path: &[u8], inside: Inside) -> Option<Why> {
        let Inside::Git(begin) = inside else {
            return None;
        };
        if !self.writable || is_opened(&self.opened, path) || self.is_named(path) {
            return None;
        }
        let rest = path.get(begin..).unwrap_or(path);
        let path = join(GIT.as_bytes(), rest);
        let rule = self
            .rules
            .protected_in(self.path, Path::new(OsStr::from_bytes(&path)))?;
        Some(Why::Protected(rule.to_owned()))
    }
}

/// Whether rules know by a name that a directory is git's, or lies in one that is.
fn is_beneath_git(directory: &[u8]) -> bool {
    let mut names = directory.split(|byte| *byte == b'/');
    names.any(|name| name.eq_ignore_ascii_case(GIT.as_bytes()))
}
