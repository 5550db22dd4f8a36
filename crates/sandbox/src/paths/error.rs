//! The errors of the path sandbox.

use std::fmt;

use rustix::io::Errno;
use toolgate_model::ErrorKind;

use super::message::shown;
use crate::paths::rules::patterns::PatternError;

/// The type of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Other,
    /// The file system did not say.
    Unknown,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a link",
            Self::Other => "a pipe, device or socket",
            Self::Unknown => "of unknown kind",
        })
    }
}

/// How a path would leave the roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Escape {
    /// It has a `..` component.
    DotDot,
    /// It is absolute, leads into no root, and absolute paths are off.
    Absolute,
    /// It is absolute and in none of the roots.
    NoRoot,
    /// A link on the way leads out.
    Link {
        /// The link that does.
        link: String,
    },
}

/// Why a path may be read and not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Its content is executed later.
    Rule {
        /// The rule that protects it.
        rule: String,
    },
    /// It is Toolgate's configuration.
    OwnConfiguration,
    /// The root is read-only.
    ReadOnlyRoot,
    /// The content makes git run a driver that it did not run before.
    Driver {
        /// The attribute and the driver, as `filter=x`.
        driver: String,
    },
    /// With it the directory would be a repository whose configuration git obeys.
    Repository {
        /// The directory, empty for the root.
        directory: String,
    },
    /// The directory is one of git's, under another name than `.git`, and git obeys the file.
    GitDirectory {
        /// The directory, empty for the root.
        directory: String,
        /// The rule that protects the file in a `.git` directory.
        rule: String,
    },
}

/// Errors in the text of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// There is nothing in it.
    Empty,
    /// It holds a NUL byte.
    Nul,
    /// It, or one of its names, is longer than the system allows.
    TooLong,
    /// It has more directories in each other than are followed.
    TooDeep,
    /// A file was wanted and it ends like a directory, or is the root itself.
    NamesADirectory,
}

/// A refusal or failure of the path sandbox. Each variant is one [`ErrorKind`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
#[non_exhaustive]
pub enum PathError {
    /// The path leads out of every root.
    Outside {
        /// The path as it was asked for.
        path: String,
        /// How it would leave.
        how: Escape,
    },
    /// The path may not be written.
    Protected {
        /// The path as it was asked for.
        path: String,
        /// Where it leads, if that is somewhere else.
        resolved: Option<String>,
        /// Why it may not.
        why: Protection,
        /// The rule that would open it, as lines of configuration.
        opened_by: Option<String>,
    },
    /// The path is one of Toolgate's own, which no tool sees.
    Own {
        /// The path as it was asked for.
        path: String,
        /// Where it leads, if that is somewhere else.
        resolved: Option<String>,
    },
    /// The path matches a deny pattern.
    Denied {
        /// The path as it was asked for.
        path: String,
        /// Where it leads, if that is somewhere else.
        resolved: Option<String>,
        /// The pattern it matches.
        pattern: String,
        /// The rule of configuration that would open it, where one can.
        opened_by: Option<String>,
    },
    /// The file has several names, and one of them is denied or may be.
    Linked {
        /// The path as it was asked for.
        path: String,
        /// The denied name and its pattern; nothing if not all names could be searched.
        other: Option<(String, String)>,
        /// The directory that may not be listed, where that is why.
        unlisted: Option<String>,
    },
    /// Nothing is there.
    NotFound {
        /// The path as it was asked for.
        path: String,
        /// The deepest directory on the way that exists, empty for the root.
        directory: String,
        /// Up to three names in that directory that may have been meant.
        nearest: Vec<String>,
    },
    /// Something is there already.
    AlreadyExists {
        /// The path as it was asked for.
        path: String,
    },
    /// It is not a regular file.
    NotAFile {
        /// The path as it was asked for.
        path: String,
        /// Its real type.
        kind: FileKind,
    },
    /// A directory was wanted, at the path or on the way to it.
    NotADirectory {
        /// The path as it was asked for.
        path: String,
        /// The part that is no directory.
        part: String,
    },
    /// The operating system refused.
    Permission {
        /// The path as it was asked for.
        path: String,
    },
    /// The text is not a valid path.
    Bad {
        /// The path as it was asked for.
        path: String,
        /// The error.
        why: BadPath,
    },
    /// There is more than was allowed.
    TooLarge {
        /// The path as it was asked for.
        path: String,
        /// How much was allowed.
        limit: Limit,
    },
    /// The system failed in its own way.
    Failed {
        /// The path as it was asked for.
        path: String,
        /// The failed operation.
        what: Failure,
    },
}

/// How much of something is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of a file.
    Bytes(u64),
    /// Names in a directory.
    Names(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Names(names) => write!(f, "{names} names"),
        }
    }
}

/// Failures that are no refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Links lead to each other, or there are more than forty.
    LinkLoop,
    /// The link leads to nothing.
    DanglingLink,
    /// Others kept changing the path while it was opened.
    Busy,
    /// The directory has something in it.
    NotEmpty,
    /// The two paths lie on different file systems.
    OtherFileSystem,
    /// Any other error of the system.
    System(Errno),
}

impl PathError {
    /// The kind under which results, journal and metrics know this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Outside { .. } => ErrorKind::OutsideSandbox,
            Self::Protected { .. } => ErrorKind::ProtectedPath,
            Self::Denied { .. } | Self::Own { .. } | Self::Linked { .. } => {
                ErrorKind::DeniedPattern
            }
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Self::NotAFile { .. } => ErrorKind::NotAFile,
            Self::NotADirectory { .. } => ErrorKind::NotADirectory,
            Self::Permission { .. } => ErrorKind::Permission,
            Self::Bad { .. } => ErrorKind::BadArgs,
            Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Failed { .. } => ErrorKind::Failed,
        }
    }

    /// Whether the same access may succeed later without any change.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                what: Failure::Busy,
                ..
            }
        )
    }

    /// The error of a system call on this path.
    pub(crate) fn system(path: &[u8], errno: Errno) -> Self {
        let path = shown(path);
        match errno {
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Permission { path },
            Errno::EXIST => Self::AlreadyExists { path },
            Errno::NOTEMPTY => Self::Failed {
                path,
                what: Failure::NotEmpty,
            },
            Errno::ISDIR => Self::NotAFile {
                path,
                kind: FileKind::Directory,
            },
            Errno::NXIO | Errno::NODEV => Self::NotAFile {
                path,
                kind: FileKind::Other,
            },
            Errno::NAMETOOLONG => Self::Bad {
                path,
                why: BadPath::TooLong,
            },
            other => Self::Failed {
                path,
                what: Failure::System(other),
            },
        }
    }
}

/// Why the rules for the path sandbox cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// There is no root at all.
    #[error("there is no root: at least the working directory is needed")]
    NoRoots,
    /// A root cannot be opened.
    #[error("the root `{path}` cannot be opened: {errno}")]
    Root {
        /// The root as it was given.
        path: String,
        /// The system's error.
        errno: Errno,
    },
    /// A root is a place of Toolgate's own, or lies in one.
    #[error(
        "the root `{root}` lies in `{place}`, where Toolgate keeps its own files: tools may not work there. Name another directory, or move Toolgate's files with TOOLGATE_HOME"
    )]
    Own {
        /// The root.
        root: String,
        /// The place.
        place: String,
    },
    /// A pattern makes no sense.
    #[error("the pattern `{pattern}` cannot be used: {problem}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// The error.
        problem: PatternError,
    },
    /// A named exception is no path in a root.
    #[error("the exception `{path}` is no path inside a root")]
    Named {
        /// The exception as it was given.
        path: String,
    },
}
