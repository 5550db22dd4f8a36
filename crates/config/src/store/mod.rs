//! Small files that outlive a run: which projects are trusted, what was granted.
//!
//! ```text
//! read    file ──▶ checked ──▶ value                     nobody waits for anybody
//! change  lock ──▶ file ──▶ value ──▶ new file ──▶ rename   one writer at a time, whole or not at all
//! ```
//!
//! What can go wrong: a file that cannot be read, is not what it should be, or
//! that others may write to. Then nothing is changed: such a file is never
//! taken for an empty one and never written over.

mod grants;
mod trust;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use grants::GrantFile;
pub use trust::{TrustStore, TrustedFile};

use crate::picture::{quoted, visible};

/// The largest file that is read.
const MAX_STORE_BYTES: u64 = 16 << 20;

/// After this no further change of a file carries the same time.
const SETTLED: Duration = Duration::from_secs(1);

/// The form of the files that this version reads and writes.
const VERSION: u32 = 1;

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    #[error("{} cannot be {doing}: {error}", visible(&path.display().to_string()))]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// It is not what it should be.
    #[error(
        "{} is damaged and was left as it is: {message}; repair it, or move it away to start anew",
        visible(&path.display().to_string())
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Others may write to it.
    #[error(
        "{0} can be written by others (mode {mode:o}), so nothing in it counts; \
         check what is in it, then `chmod 600` it",
        visible(&path.display().to_string())
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A path that cannot be written down.
    #[error("{} is not UTF-8 and cannot be remembered", visible(&path.display().to_string()))]
    NotText {
        /// The path.
        path: PathBuf,
    },
}

/// What a store holds.
trait Kept: Serialize + DeserializeOwned {
    /// A store with nothing in it.
    fn empty() -> Self;
    /// The form that it was written in.
    fn version(&self) -> u32;
}

/// A file with a value in it.
#[derive(Clone, Debug)]
struct Store {
    path: PathBuf,
}

impl Store {
    /// The value; an empty one if there is no file.
    fn read<T: Kept>(&self) -> Result<T, StoreError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::empty()),
            Err(error) => return Err(self.refused("read", error)),
        };
        let metadata = file
            .metadata()
            .map_err(|error| self.refused("read", error))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o022 != 0 {
            return Err(StoreError::Exposed {
                path: self.path.clone(),
                mode,
            });
        }
        let mut bytes = Vec::new();
        file.take(MAX_STORE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.refused("read", error))?;
        let damaged = |message: String| StoreError::Damaged {
            path: self.path.clone(),
            message,
        };
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_STORE_BYTES {
            return Err(damaged(format!(
                "it is larger than {MAX_STORE_BYTES} bytes"
            )));
        }
        let value: T =
            serde_json::from_slice(&bytes).map_err(|error| damaged(quoted(&error.to_string())))?;
        if value.version() != VERSION {
            return Err(damaged(format!(
                "it has version {}, and this program knows {VERSION}",
                value.version()
            )));
        }
        Ok(value)
    }

    /// Which file this is and when it changed last. Nothing if that does not tell its content:
    /// the system cannot look, or the file changed so short ago that another change could carry
    /// the same time.
    fn stamp(&self) -> Option<[u64; 8]> {
        self.stamp_at(SystemTime::now())
    }

    fn stamp_at(&self, now: SystemTime) -> Option<[u64; 8]> {
        let metadata = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some([0; 8]),
            Err(_) => return None,
        };
        let changed = Duration::new(
            u64::try_from(metadata.ctime()).ok()?,
            u32::try_from(metadata.ctime_nsec()).ok()?,
        );
        let now = now.duration_since(UNIX_EPOCH).ok()?;
        if now.checked_sub(changed)? < SETTLED {
            return None;
        }
        Some([
            metadata.dev(),
            metadata.ino(),
            metadata.size(),
            u64::from(metadata.mode()),
            changed.as_secs(),
            u64::from(changed.subsec_nanos()),
            u64::try_from(metadata.mtime()).ok()?,
            u64::try_from(metadata.mtime_nsec()).ok()?,
        ])
    }

    /// Changes the value; writes only if `change` says that there is something to write.
    fn change<T: Kept>(&self, change: impl FnOnce(&mut T) -> bool) -> Result<bool, StoreError> {
        let directory = match self.path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| self.refused("created", error))?;
        // The file itself is replaced, so that a lock on it would be a lock on the old one.
        let lock = self.beside(".lock");
        let _held = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| StoreError::Refused {
                path: lock,
                doing: "locked",
                error,
            })?;
        let mut value = self.read()?;
        if !change(&mut value) {
            return Ok(false);
        }
        self.replace(&value, directory)
            .map_err(|error| self.refused("written", error))?;
        Ok(true)
    }

    /// Writes the value beside the file and moves it there. Only under the lock.
    fn replace<T: Kept>(&self, value: &T, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        let new = self.beside(".new");
        // What a writer left behind that was killed; whoever holds the lock is the only writer.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.path)?;
        File::open(directory)?.sync_all()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    }

    fn refused(&self, doing: &'static str, error: io::Error) -> StoreError {
        StoreError::Refused {
            path: self.path.clone(),
            doing,
            error,
        }
    }
}

/// Options for a file that is nobody else's business.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// A path as it is written down.
fn text(path: &Path) -> Result<String, StoreError> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(StoreError::NotText {
            path: path.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Words(u32, Vec<String>);

    impl Kept for Words {
        fn empty() -> Self {
            Self(VERSION, Vec::new())
        }

        fn version(&self) -> u32 {
            self.0
        }
    }

    #[test]
    fn a_stamp_changes_with_the_file_and_is_not_given_too_early() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store {
            path: directory.path().join("words.json"),
        };
        assert_eq!(store.stamp(), Some([0; 8]), "there is no file");
        let add = |word: &str| {
            let add = |words: &mut Words| {
                words.1.push(word.to_owned());
                true
            };
            store.change(add).unwrap();
        };
        let later = || SystemTime::now() + SETTLED * 2;
        let mut seen = vec![[0; 8]];
        for word in ["one", "two"] {
            add(word);
            assert_eq!(store.stamp(), None, "another change could follow at once");
            let stamp = store.stamp_at(later()).unwrap();
            assert_eq!(store.stamp_at(later()), Some(stamp));
            assert!(!seen.contains(&stamp));
            seen.push(stamp);
        }
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&store.path, open).unwrap();
        assert!(!seen.contains(&store.stamp_at(later()).unwrap()));
        let before_epoch = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(store.stamp_at(before_epoch), None);
    }
}
