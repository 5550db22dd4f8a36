//! The mounts by which the system is shown in a new root.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::bind::{NODEV, NOSUID, RDONLY, beneath, bind, mount_at, put};
use super::mounts::{NewRoot, SYSTEM};
use super::system::Tree;
use crate::command::protocol::report::{SetupError, Step};

impl NewRoot {
    /// Shows the directories of the system, those without owners and the others.
    pub(crate) fn system(&self, mut trees: Vec<Tree>) -> Result<(), SetupError> {
        for name in SYSTEM {
            let path = format!("/{name}");
            let failed = |errno| SetupError::new(Step::System, errno).about(path.as_str());
            let Ok(stat) = rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(CWD, &path, Vec::new()).map_err(failed)?;
                    rustix::fs::symlinkat(&target, &self.root, name).map_err(failed)?;
                }
                FileType::Directory => {
                    self.mkdir(name, 0o755).map_err(failed)?;
                    let tree = trees.iter().position(|(tree, _)| *tree == name);
                    match tree.map(|index| trees.swap_remove(index)) {
                        Some((_, tree)) => put(&tree, &self.root, name),
                        None => {
                            bind(CWD, &path, &self.root, name, RDONLY | NOSUID | NODEV).map(drop)
                        }
                    }
                    .map_err(failed)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Root sees only the world-readable part of the system's configuration. Gives whether the
    /// file is there.
    pub(super) fn hide_in_system(&self, path: &str) -> Result<bool, SetupError> {
        let failed = |errno| SetupError::new(Step::System, errno).about(path);
        match beneath(self.root.as_fd(), path.trim_start_matches('/').as_bytes()) {
            Ok(target) => self.hide(&target).map(|_| true).map_err(failed),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Where names are resolved by a service, the file that says so lies outside `/etc`,
    /// and is shown like a directory. Gives its path.
    pub(crate) fn name_servers(&self) -> Result<Option<Vec<u8>>, SetupError> {
        let Ok(target) = std::fs::canonicalize("/etc/resolv.conf") else {
            return Ok(None);
        };
        let Some(path) = target.to_str().filter(|path| !path.starts_with("/etc/")) else {
            return Ok(None);
        };
        (|| {
            let file = self.make_file(path.as_bytes())?;
            bind(CWD, path, &file, "", RDONLY | NOSUID | NODEV)
        })()
        .map_err(|errno| SetupError::new(Step::System, errno).about(path))?;
        Ok(Some(path.as_bytes().to_vec()))
    }

    /// Hides paths of the system again that are no longer hidden: a file that was replaced has
    /// nothing on it. Gives whether that was necessary.
    pub(super) fn hide_again(&self, hidden: &[String]) -> Result<bool, SetupError> {
        let is_hidden = |path: &&String| {
            let path = path.trim_start_matches('/').as_bytes();
            mount_at(&self.root, path, AtFlags::SYMLINK_NOFOLLOW).is_some()
        };
        let mut again = false;
        for path in hidden.iter().filter(|path| !is_hidden(path)) {
            again |= self.hide_in_system(path)?;
        }
        Ok(again)
    }
}
