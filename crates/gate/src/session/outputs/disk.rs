//! Outputs in files of Toolgate's own directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures::future::BoxFuture;
use sha2::{Digest, Sha256};
use toolgate_model::{ConversationId, OutputHandle};

use super::{KeepError, KeptText, OutputStore, Spool, WholeText};
use crate::blocking;
use crate::tool::hex;

/// Stands in the directory of a conversation whose last output made room, and says its number.
const TAKEN: &str = ".taken";

/// Keeps outputs in files, a directory per conversation, within a quota; the oldest go first.
///
/// The files outlive the process, so that a conversation that is taken up again can still
/// read what was cut. They hold clean text: sanitized and without secrets. A number is never
/// given twice: a handle means its text, or nothing.
#[derive(Clone, Debug)]
pub struct KeptOnDisk {
    directory: PathBuf,
    each: u64,
    all: u64,
}

impl KeptOnDisk {
    /// A store in this directory with at most `each` bytes of one output and `all` of all.
    /// Nothing is made before the first output is kept.
    pub fn at(directory: impl Into<PathBuf>, each: u64, all: u64) -> Self {
        Self {
            directory: directory.into(),
            each,
            all: all.max(each),
        }
    }

    /// Conversations are called what their callers like; directories are not.
    fn home_of(&self, conversation: &ConversationId) -> PathBuf {
        let digest = hex(&Sha256::digest(conversation.as_str().as_bytes()));
        let name = digest.get(..32).unwrap_or(&digest);
        self.directory.join(name)
    }

    fn write(&self, home: &Path, text: WholeText) -> io::Result<(u64, PathBuf)> {
        make_directory(home)?;
        let (number, path, mut file) = first_free(home, last_taken(home)?.saturating_add(1))?;
        // One more byte than may be there tells a text that is too long.
        let written = io::copy(&mut text.take(self.all.saturating_add(1)), &mut file);
        match written {
            Ok(bytes) if bytes <= self.all => Ok((number, path)),
            Ok(_) => {
                std::fs::remove_file(&path)?;
                let all = self.all;
                Err(io::Error::other(format!(
                    "it is longer than the quota of {all} bytes"
                )))
            }
            Err(error) => {
                std::fs::remove_file(&path)?;
                Err(error)
            }
        }
    }

    /// Removes the oldest outputs until the rest fits. What cannot be removed stays.
    fn make_room(&self, newest: &Path) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for home in std::fs::read_dir(&self.directory)? {
            let home = home?.path();
            let Ok(entries) = std::fs::read_dir(&home) else {
                continue;
            };
            for entry in entries.flatten() {
                let is_output = entry.file_name().to_str().and_then(number_of).is_some();
                if let Some(stat) = entry.metadata().ok().filter(|_| is_output) {
                    let at = stat.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    files.push((at, entry.path(), stat.len()));
                }
            }
        }
        files.sort();
        let mut sum: u64 = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, bytes) in files {
            if sum <= self.all {
                break;
            }
            if path != newest && remove(&path).is_ok() {
                sum = sum.saturating_sub(bytes);
            }
        }
        Ok(())
    }
}

impl OutputStore for KeptOnDisk {
    fn keep<'a>(
        &'a self,
        conversation: &'a ConversationId,
        text: WholeText,
    ) -> BoxFuture<'a, Result<OutputHandle, KeepError>> {
        Box::pin(async move {
            let (store, home) = (self.clone(), self.home_of(conversation));
            let kept = blocking::run(move || {
                let kept = store.write(&home, text).and_then(|(number, path)| {
                    store.make_room(&path)?;
                    Ok(OutputHandle::new(format!("out_{number}")))
                });
                kept.map_err(|error| KeepError::new(format!("{}: {error}", home.display())))
            });
            kept.await.unwrap_or_else(|| Err(KeepError::cut_off()))
        })
    }

    fn open<'a>(
        &'a self,
        conversation: &'a ConversationId,
        handle: &'a OutputHandle,
    ) -> BoxFuture<'a, Option<KeptText>> {
        Box::pin(async move {
            // A handle is a number, never a path.
            let number = number_of(handle.as_str())?;
            let path = self.home_of(conversation).join(format!("out_{number}"));
            let file = blocking::run(move || File::open(path).ok()).await??;
            let text = BufReader::with_capacity(64 * 1024, file);
            Some(Box::new(text) as KeptText)
        })
    }

    fn spool(&self) -> Spool {
        Spool::in_store(self.each, &self.directory)
    }
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("out_")?;
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

fn numbers(home: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(home)? {
        numbers.extend(entry?.file_name().to_str().and_then(number_of));
    }
    Ok(numbers)
}

/// The highest number that was given in this directory.
fn last_taken(home: &Path) -> io::Result<u64> {
    let mark = match std::fs::read_to_string(home.join(TAKEN)) {
        // A mark that cannot be read is no reason to give a number again.
        Ok(text) => text.trim().parse().map_err(io::Error::other)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(numbers(home)?.into_iter().max().unwrap_or(0).max(mark))
}

/// Removes an output. If none with a higher number is left to tell, its number is noted first.
fn remove(path: &Path) -> io::Result<()> {
    let number = path.file_name().and_then(|name| number_of(name.to_str()?));
    if let (Some(home), Some(number)) = (path.parent(), number)
        && last_taken(home)? == number
    {
        let whole = home.join(format!("{TAKEN}-{number}"));
        std::fs::write(&whole, number.to_string())?;
        std::fs::rename(whole, home.join(TAKEN))?;
    }
    std::fs::remove_file(path)
}

/// Another process may take a number at the same time; then the next one is ours.
fn first_free(home: &Path, from: u64) -> io::Result<(u64, PathBuf, File)> {
    for number in from..from.saturating_add(1000) {
        let path = home.join(format!("out_{number}"));
        match private().create_new(true).open(&path) {
            Ok(file) => return Ok((number, path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// A file without a name: it is gone with its last user, whatever happens.
pub(super) fn anonymous_file(directory: &Path) -> io::Result<File> {
    for _ in 0..16 {
        let bits = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let path = directory.join(format!(".spool-{bits:016x}"));
        match private().create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use futures::executor::block_on;

    use super::*;

    fn keep(
        store: &KeptOnDisk,
        owner: &ConversationId,
        text: &[u8],
    ) -> Result<OutputHandle, KeepError> {
        let text = Box::new(io::Cursor::new(text.to_vec()));
        block_on(store.keep(owner, text))
    }

    fn read(
        store: &KeptOnDisk,
        owner: &ConversationId,
        handle: impl Into<String>,
    ) -> Option<String> {
        let mut text = String::new();
        let handle = OutputHandle::new(handle.into());
        let mut kept = block_on(store.open(owner, &handle))?;
        kept.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn outputs_outlive_the_store_and_belong_to_their_conversation() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("outputs");
        let (a, b) = (ConversationId::new("../a"), ConversationId::new("b"));
        let store = KeptOnDisk::at(&place, 100, 1000);
        let first = keep(&store, &a, b"one").unwrap();
        let second = keep(&store, &a, b"two").unwrap();
        assert_eq!((first.as_str(), second.as_str()), ("out_1", "out_2"));
        let again = KeptOnDisk::at(&place, 100, 1000);
        assert_eq!(read(&again, &a, "out_1").unwrap(), "one");
        assert_eq!(read(&again, &a, "out_2").unwrap(), "two");
        assert_eq!(keep(&again, &a, b"3").unwrap().as_str(), "out_3");
        for (owner, handle) in [
            (&b, "out_1"),
            (&a, "out_01"),
            (&a, "out_+1"),
            (&a, "../out_1"),
            (&a, "out_9"),
        ] {
            assert!(read(&again, owner, handle).is_none(), "{handle}");
        }
        let file = store.home_of(&a).join("out_1");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&place)), (0o600, 0o700));
    }

    #[test]
    fn the_oldest_outputs_make_room_and_too_long_ones_leave_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = KeptOnDisk::at(directory.path(), 4, 10);
        let (a, b) = (ConversationId::new("a"), ConversationId::new("b"));
        for text in ["1111", "2222", "3333"] {
            let handle = keep(&store, &a, text.as_bytes()).unwrap();
            // Files of one tick of the clock have no order.
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
            let path = store.home_of(&a).join(handle.as_str());
            File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_modified(at)
                .unwrap();
        }
        assert_eq!(read(&store, &a, "out_1"), None);
        assert_eq!(read(&store, &a, "out_3").unwrap(), "3333");
        let error = keep(&store, &b, &[b'x'; 11]).unwrap_err();
        assert!(error.to_string().contains("quota of 10"), "{error}");
        assert!(numbers(&store.home_of(&b)).unwrap().is_empty());
        keep(&store, &b, &[b'x'; 10]).unwrap();
        assert!(read(&store, &a, "out_3").is_none());
        assert!(numbers(&store.home_of(&a)).unwrap().is_empty());
        // A handle that was given means nothing else later.
        let next = keep(&store, &a, b"4").unwrap();
        assert_eq!(next.as_str(), "out_4");
    }
}
