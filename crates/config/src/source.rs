//! A configuration file as it was read.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};

use crate::picture::visible;

/// The largest file that is read.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// The name and text of a configuration file. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    inner: Arc<Inner>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    name: String,
    text: String,
    /// Where lines end.
    ends: Vec<usize>,
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is none.
    #[error("there is no configuration file {name}; check the path")]
    NotFound {
        /// The file.
        name: String,
    },
    /// It is a directory.
    #[error("{name} is a directory, not a configuration file; name the file in it")]
    Directory {
        /// The directory.
        name: String,
    },
    /// It is neither a file nor a directory.
    #[error("{name} is no regular file; pipes and devices are not read as configuration")]
    NotRegular {
        /// What was named.
        name: String,
    },
    /// It is a link where only a regular file is read.
    #[error(
        "{name} is a link; a project's configuration is read only as a regular file: put a copy there"
    )]
    Link {
        /// The link.
        name: String,
    },
    /// It is larger than any configuration.
    #[error(
        "{name} is larger than {MAX_FILE_BYTES} bytes, which is the most that is read as configuration"
    )]
    TooLarge {
        /// The file.
        name: String,
    },
    /// It is not UTF-8.
    #[error("{name} is not UTF-8: line {line} has a byte that is no text; save the file as UTF-8")]
    NotUtf8 {
        /// The file.
        name: String,
        /// The one-based line.
        line: u32,
    },
    /// The system refused.
    #[error("{name} cannot be read: {error}")]
    Refused {
        /// The file.
        name: String,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Source {
    /// Takes content that was read elsewhere; `name` is what mistakes call the file.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let name = name.into();
        if bytes.len() > MAX_FILE_BYTES {
            return Err(ReadError::TooLarge {
                name: visible(&name),
            });
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                let ends = text.match_indices('\n').map(|(at, _)| at).collect();
                Ok(Self {
                    inner: Arc::new(Inner { name, text, ends }),
                })
            }
            Err(error) => {
                let (good, _) = error
                    .as_bytes()
                    .split_at_checked(error.utf8_error().valid_up_to())
                    .unwrap_or_default();
                let line =
                    number(good.iter().filter(|byte| **byte == b'\n').count()).saturating_add(1);
                Err(ReadError::NotUtf8 {
                    name: visible(&name),
                    line,
                })
            }
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::open(path, OFlags::empty())
    }

    /// Reads the file of a project. A link could lead to a private file, whose lines an error
    /// would quote.
    pub fn read_project(path: &Path) -> Result<Self, ReadError> {
        Self::open(path, OFlags::NOFOLLOW)
    }

    fn open(path: &Path, more: OFlags) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let shown = || visible(&name);
        // A pipe must not make the program wait for whoever writes to it.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty())
            .map(std::fs::File::from)
            .map_err(|errno| match errno {
                rustix::io::Errno::NOENT => ReadError::NotFound { name: shown() },
                rustix::io::Errno::LOOP if more.contains(OFlags::NOFOLLOW) => {
                    ReadError::Link { name: shown() }
                }
                // A socket or a device without a driver.
                rustix::io::Errno::NXIO | rustix::io::Errno::NODEV => {
                    ReadError::NotRegular { name: shown() }
                }
                errno => ReadError::Refused {
                    name: shown(),
                    error: errno.into(),
                },
            })?;
        let refused = |error| ReadError::Refused {
            name: shown(),
            error,
        };
        let kind = file.metadata().map_err(refused)?.file_type();
        if kind.is_dir() {
            return Err(ReadError::Directory { name: shown() });
        }
        if !kind.is_file() {
            return Err(ReadError::NotRegular { name: shown() });
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_FILE_BYTES)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(refused)?;
        Self::new(name, bytes)
    }

    /// Like [`Source::read`], where it is no mistake that there is no file.
    pub fn read_if_there(path: &Path) -> Result<Option<Self>, ReadError> {
        if_there(Self::read(path))
    }

    /// Like [`Source::read_project`], where it is no mistake that there is no file.
    pub fn read_project_if_there(path: &Path) -> Result<Option<Self>, ReadError> {
        if_there(Self::read_project(path))
    }

    /// What mistakes call the file.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The one-based line and column (in characters) of a byte.
    pub(crate) fn place(&self, offset: usize) -> (u32, u32) {
        let before = before(self.text(), offset);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().chars().count();
        (self.line(offset), number(column).saturating_add(1))
    }

    /// The one-based line of a byte.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        number(self.inner.ends.partition_point(|end| *end < offset)).saturating_add(1)
    }
}

fn if_there(read: Result<Source, ReadError>) -> Result<Option<Source>, ReadError> {
    match read {
        Ok(source) => Ok(Some(source)),
        Err(ReadError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text before a byte, or before the character that the byte is in.
pub(crate) fn before(text: &str, offset: usize) -> &str {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
