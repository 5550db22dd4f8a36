//! Deleting and renaming files.
//!
//! Directories are not moved or deleted with their content: renaming a
//! parent could bring any file under a protected name, or a protected name away.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use toolgate_model::Access;

use super::made::{make_directories, sync_directory};
use super::stage::failed;
use super::target::{Resolved, Target};
use super::temporary::move_to_free;
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, PathError, Protection};
use crate::paths::rules::attributes::{self, Attributes, is_attributes};

impl PathSandbox {
    /// Deletes a regular file, or a link itself, and says what it was.
    pub fn delete(&self, path: impl AsRef<Path>) -> Result<Resolved, PathError> {
        let request = self.request(path.as_ref(), Access::Delete)?;
        let target = self.entry(&request)?;
        rustix::fs::unlinkat(&target.directory, &*target.name, AtFlags::empty())
            .map_err(|errno| failed(request.raw, errno))?;
        sync_directory(target.directory.as_fd());
        Ok(target.resolved())
    }

    /// Removes an empty directory, for example to undo a write that made it.
    pub fn remove_empty_directory(&self, path: impl AsRef<Path>) -> Result<Resolved, PathError> {
        let request = self.request(path.as_ref(), Access::Delete)?;
        let mut target = self.in_directory(&request, Access::Delete)?;
        if !target.missing.is_empty() {
            return Err(self.missing(&request));
        }
        rustix::fs::unlinkat(&target.directory, &*target.name, AtFlags::REMOVEDIR).map_err(
            |errno| match errno {
                Errno::NOENT => self.missing(&request),
                Errno::NOTDIR => PathError::NotADirectory {
                    path: request.shown(),
                    part: request.shown(),
                },
                other => PathError::system(request.raw, other),
            },
        )?;
        sync_directory(target.directory.as_fd());
        target.existing = None;
        Ok(target.resolved())
    }

    /// Renames a regular file within a file system and says where it went. Missing
    /// directories on the way are made; a file at the new name stays unless `overwrite`.
    pub fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        overwrite: bool,
    ) -> Result<Resolved, PathError> {
        let from = self.request(from.as_ref(), Access::Delete)?;
        let to = self.request(to.as_ref(), Access::Write)?;
        let source = self.entry(&from)?;
        if let Some(stat) = source.existing.filter(|stat| stat.kind != FileKind::File) {
            return Err(PathError::NotAFile {
                path: from.shown(),
                kind: stat.kind,
            });
        }
        let target = self.write_target(&to)?;
        if target.existing.is_some() && !overwrite {
            return Err(PathError::AlreadyExists { path: to.shown() });
        }
        if is_attributes(&target.name) && !self.is_named(target.root, &target.rel()) {
            let mut moved = Attributes::default();
            moved.extend(&attributes::read(source.directory.as_fd(), &source.name));
            let replaced = target
                .existing
                .map(|_| (target.directory.as_fd(), &*target.name));
            if let Some(driver) = moved.new_driver(replaced) {
                let why = Protection::Driver { driver };
                return Err(self.protected(to.raw, None, (target.root, &target.rel()), why));
            }
        }
        let answer = Resolved {
            stat: source.existing,
            ..target.resolved()
        };
        let Target {
            directory,
            directory_name,
            missing,
            name,
            existing,
            ..
        } = target;
        let (directory, mut made) = make_directories(directory, &directory_name, &missing)
            .map_err(|errno| failed(to.raw, errno))?;
        let done = if existing.is_some() {
            rustix::fs::renameat(&source.directory, &*source.name, &directory, &*name)
        } else {
            move_to_free(
                source.directory.as_fd(),
                &source.name,
                directory.as_fd(),
                &name,
            )
        };
        done.map_err(|errno| failed(to.raw, errno))?;
        made.keep();
        made.sync();
        sync_directory(directory.as_fd());
        sync_directory(source.directory.as_fd());
        Ok(answer)
    }
}
