//! Opening a file for reading.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use toolgate_model::Access;

use super::stat::FileStat;
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, Limit, PathError};
use crate::paths::message::shown;
use crate::paths::resolve::Want;

/// The size of one read.
const CHUNK: usize = 64 * 1024;

/// The most memory reserved for a file before it is read.
const MOST_RESERVED: u64 = 16 * 1024 * 1024;

/// A regular file, open for reading, that was found beneath a root and is not denied.
#[derive(Debug)]
pub struct ReadHandle {
    /// The open file.
    pub file: File,
    /// The number of the root it lies in.
    pub root: usize,
    /// Its name in that root, links resolved.
    pub path: PathBuf,
    /// The metadata of this very descriptor.
    pub stat: FileStat,
}

impl PathSandbox {
    /// Opens a regular file for reading.
    pub fn open_read(&self, path: impl AsRef<Path>) -> Result<ReadHandle, PathError> {
        let request = self.request(path.as_ref(), Access::Read)?;
        let found = self.find(&request, Want::Read, Access::Read)?;
        let said =
            rustix::fs::fstat(&found.fd).map_err(|errno| PathError::system(request.raw, errno))?;
        let stat = FileStat::of(&said);
        if stat.kind != FileKind::File {
            return Err(PathError::NotAFile {
                path: request.shown(),
                kind: stat.kind,
            });
        }
        if request.names_directory {
            return Err(PathError::NotADirectory {
                path: request.shown(),
                part: request.shown(),
            });
        }
        let moved_to = found.moved_to.as_deref();
        self.check_file(&request, found.root, moved_to, Access::Read)?;
        self.check_links(request.raw, &said)?;
        let name = moved_to.unwrap_or(&request.rel);
        Ok(ReadHandle {
            file: File::from(found.fd),
            root: found.root,
            path: PathBuf::from(OsStr::from_bytes(name)),
            stat,
        })
    }
}

impl ReadHandle {
    /// Reads on from the current position, at most `limit` bytes, and says whether
    /// that was all. Memory grows with the real content, never with the size that the
    /// system reports.
    pub fn read_up_to(&mut self, limit: u64) -> Result<(Vec<u8>, bool), PathError> {
        // Reserved memory costs nothing until it is filled.
        let said = self.stat.len.min(limit).min(MOST_RESERVED);
        let mut bytes = Vec::with_capacity(usize::try_from(said).unwrap_or(CHUNK) + 1);
        (&self.file)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|e| self.failed(&e))?;
        if (bytes.len() as u64) < limit {
            return Ok((bytes, true));
        }
        // With nothing left, one byte more tells whether there is more.
        let more = read_once(&self.file, &mut [0]).map_err(|e| self.failed(&e))? > 0;
        if more {
            self.file.seek_relative(-1).map_err(|e| self.failed(&e))?;
        }
        Ok((bytes, !more))
    }

    /// Like [`ReadHandle::read_up_to`], into memory that is used again for the next file:
    /// says how many bytes at its beginning are the file's, and whether that was all.
    ///
    /// The memory grows with the real content and is never cleared in between.
    pub fn read_into(
        &mut self,
        space: &mut Vec<u8>,
        limit: u64,
    ) -> Result<(usize, bool), PathError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut filled = 0;
        loop {
            if filled == space.len() {
                let larger = space.len().saturating_mul(2).max(CHUNK);
                // One byte more than wanted tells whether there is more.
                space.resize(larger.min(limit.saturating_add(1)), 0);
            }
            let free = space.get_mut(filled..).unwrap_or_default();
            let count = read_once(&self.file, free).map_err(|e| self.failed(&e))?;
            filled += count;
            // If there was room for more and the reported size is reached,
            // asking once more would say the same.
            let as_said = filled < space.len() && filled as u64 == self.stat.len;
            if filled > limit {
                let back = i64::try_from(filled - limit).unwrap_or(i64::MAX);
                self.file
                    .seek_relative(-back)
                    .map_err(|e| self.failed(&e))?;
                return Ok((limit, false));
            }
            if count == 0 || as_said {
                return Ok((filled, true));
            }
        }
    }

    /// Reads the rest of the file, or refuses if it is longer than `limit` bytes.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, PathError> {
        match self.read_up_to(limit)? {
            (bytes, true) => Ok(bytes),
            (_, false) => Err(PathError::TooLarge {
                path: shown(self.path.as_os_str().as_bytes()),
                limit: Limit::Bytes(limit),
            }),
        }
    }

    fn failed(&self, error: &std::io::Error) -> PathError {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        PathError::system(self.path.as_os_str().as_bytes(), errno)
    }
}

/// Reads once; where a signal came before anything was there, once more.
fn read_once(mut from: impl Read, space: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match from.read(space) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these answers one after the other, and then the end.
    struct Answers(Vec<Result<usize, ErrorKind>>);

    impl Read for Answers {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            let next = (!self.0.is_empty()).then(|| self.0.remove(0));
            next.unwrap_or(Ok(0)).map_err(Into::into)
        }
    }

    #[test]
    fn a_signal_is_no_failure_and_a_failure_is_no_signal() {
        let signal = Err(ErrorKind::Interrupted);
        for (answers, wanted) in [
            (vec![Ok(3), Ok(4)], Ok(3)),
            (vec![signal, signal, Ok(3)], Ok(3)),
            (vec![signal, Err(ErrorKind::Other)], Err(ErrorKind::Other)),
            (vec![Err(ErrorKind::Other), Ok(3)], Err(ErrorKind::Other)),
        ] {
            let read = read_once(Answers(answers.clone()), &mut [0; 8]);
            assert_eq!(read.map_err(|e| e.kind()), wanted, "{answers:?}");
        }
    }
}
