//! Opening a file for reading.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use toolgate_model::Access;

use super::PathWall;
use super::error::{FileKind, Limit, PathError};
use super::message::shown;
use super::resolve::Want;
use super::stat::FileStat;

/// What is read from the disk at once.
const CHUNK: usize = 64 * 1024;

/// A regular file, open for reading, that was found beneath a root and is not denied.
#[derive(Debug)]
pub struct ReadHandle {
    /// The open file.
    pub file: File,
    /// The number of the root it lies in.
    pub root: usize,
    /// Its name in that root, links resolved.
    pub path: PathBuf,
    /// What the system said about this very descriptor.
    pub stat: FileStat,
}

impl PathWall {
    /// Opens a regular file for reading.
    pub fn open_read(&self, path: impl AsRef<Path>) -> Result<ReadHandle, PathError> {
        let request = self.request(path.as_ref(), Access::Read)?;
        let found = self.find(&request, Want::Read, Access::Read)?;
        let stat =
            rustix::fs::fstat(&found.fd).map_err(|errno| PathError::system(request.raw, errno))?;
        let stat = FileStat::of(&stat);
        if stat.kind != FileKind::File {
            return Err(PathError::NotAFile {
                path: request.shown(),
                kind: stat.kind,
            });
        }
        if request.names_folder {
            return Err(PathError::NotADirectory {
                path: request.shown(),
                part: request.shown(),
            });
        }
        let moved_to = found.moved_to.as_deref();
        self.check_file(&request, found.root, moved_to)?;
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
    /// Reads on from where the file stands, at most `limit` bytes, and says whether
    /// that was all. Memory grows with what is really there, never with what the
    /// system says is there.
    pub fn read_up_to(&mut self, limit: u64) -> Result<(Vec<u8>, bool), PathError> {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; CHUNK.min(usize::try_from(limit).unwrap_or(CHUNK)).max(1)];
        loop {
            let left = limit.saturating_sub(bytes.len() as u64);
            // With nothing left, one byte more tells whether there is more.
            let wanted = usize::try_from(left).unwrap_or(CHUNK).clamp(1, chunk.len());
            let space = chunk.get_mut(..wanted).unwrap_or_default();
            let count = match self.file.read(space) {
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.failed(&e)),
            };
            if count == 0 {
                return Ok((bytes, true));
            }
            if left == 0 {
                self.file.seek_relative(-1).map_err(|e| self.failed(&e))?;
                return Ok((bytes, false));
            }
            bytes.extend_from_slice(space.get(..count).unwrap_or_default());
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
