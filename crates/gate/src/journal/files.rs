//! The few things a recovery does to files, each through the path sandbox.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolgate_sandbox::paths::{PathError, PathSandbox, StageOptions};

use crate::tool::hex;

/// Why a file could not be looked at or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    /// What went wrong.
    pub message: String,
    /// Something is there that is no regular file: looking again would find the same.
    pub something_else: bool,
}

impl FileError {
    /// A problem in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            something_else: false,
        }
    }
}

impl From<PathError> for FileError {
    fn from(error: PathError) -> Self {
        Self {
            something_else: matches!(
                error,
                PathError::NotAFile { .. } | PathError::NotADirectory { .. }
            ),
            ..Self::new(error.to_string())
        }
    }
}

/// What a recovery needs of the disk. Places are absolute, links resolved.
pub trait Files: Send + Sync {
    /// SHA-256 of a regular file, in hexadecimal; nothing if nothing is there. Whatever
    /// else is there is a problem.
    fn sha256(&self, place: &Path) -> Result<Option<String>, FileError>;

    /// Renames a temporary file to its place, over what is there; durable when this returns.
    fn put_in_place(&self, staged: &Path, place: &Path) -> Result<(), FileError>;

    /// Makes a file hold these bytes, in one step; durable when this returns. The rights
    /// are those of the file that is there, else `mode`.
    fn restore(
        &self,
        place: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        nonce: u128,
    ) -> Result<(), FileError>;

    /// Removes a file; durable when this returns. That there is none is fine.
    fn remove(&self, place: &Path) -> Result<(), FileError>;
}

impl Files for PathSandbox {
    fn sha256(&self, place: &Path) -> Result<Option<String>, FileError> {
        let mut handle = match self.open_read(within(self, place)) {
            Ok(handle) => handle,
            Err(PathError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut hash = Sha256::new();
        let mut chunk = vec![0_u8; 64 * 1024];
        loop {
            match handle.file.read(&mut chunk) {
                Ok(0) => return Ok(Some(hex(&hash.finalize()))),
                Ok(count) => hash.update(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(FileError::new(format!("{}: {error}", place.display())));
                }
            }
        }
    }

    fn put_in_place(&self, staged: &Path, place: &Path) -> Result<(), FileError> {
        self.rename(within(self, staged), within(self, place), true)?;
        Ok(())
    }

    fn restore(
        &self,
        place: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        nonce: u128,
    ) -> Result<(), FileError> {
        let options = StageOptions {
            overwrite: true,
            create_parents: true,
            nonce,
        };
        let mut staged = self.stage(within(self, place), options)?;
        staged.restores();
        staged.write_all(bytes)?;
        let committed = staged.commit()?;
        if let Some(mode) = mode.filter(|_| committed.created) {
            let handle = self.open_read(within(self, place))?;
            let rights = std::fs::Permissions::from_mode(mode & 0o777);
            handle
                .file
                .set_permissions(rights)
                .and_then(|()| handle.file.sync_all())
                .map_err(|error| FileError::new(format!("{}: {error}", place.display())))?;
        }
        Ok(())
    }

    fn remove(&self, place: &Path) -> Result<(), FileError> {
        match self.delete(within(self, place)) {
            Ok(_) | Err(PathError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The name of a place for the sandbox: relative in the working directory, else as it is.
fn within(sandbox: &PathSandbox, place: &Path) -> PathBuf {
    let working = sandbox.roots().get(0).map(|root| root.path());
    working
        .and_then(|root| place.strip_prefix(root).ok())
        .unwrap_or(place)
        .to_path_buf()
}

#[cfg(test)]
mod tests {
    use toolgate_sandbox::paths::PathRules;

    use super::*;

    #[test]
    fn files_are_looked_at_moved_restored_and_removed_by_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
        let (a, staged) = (root.join("d/a"), root.join("d/.t"));
        assert_eq!(sandbox.sha256(&a).unwrap(), None);
        sandbox.restore(&a, b"one", Some(0o750), 1).unwrap();
        assert_eq!(std::fs::read(&a).unwrap(), b"one");
        let rights = std::fs::metadata(&a).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o750);
        sandbox.restore(&a, b"two", Some(0o600), 2).unwrap();
        let rights = std::fs::metadata(&a).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o750, "what is there keeps its rights");
        std::fs::write(&staged, b"three").unwrap();
        let new = sandbox.sha256(&staged).unwrap();
        sandbox.put_in_place(&staged, &a).unwrap();
        assert_eq!(sandbox.sha256(&a).unwrap(), new);
        assert!(!staged.exists());
        sandbox.remove(&a).unwrap();
        sandbox.remove(&a).unwrap();
        assert!(!a.exists());
        let directory = sandbox.sha256(&root.join("d")).unwrap_err();
        assert!(directory.something_else, "a directory is no file");
    }

    #[test]
    fn a_place_that_has_become_a_way_out_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("d")).unwrap();
        std::fs::write(outside.path().join("a"), "theirs").unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
        let place = root.join("d/a");
        let refused = sandbox.sha256(&place).unwrap_err();
        assert!(!refused.something_else, "what is there was not seen");
        assert!(sandbox.restore(&place, b"x", None, 1).is_err());
        assert!(sandbox.remove(&place).is_err());
        assert_eq!(std::fs::read(outside.path().join("a")).unwrap(), b"theirs");
    }
}
