//! Why there is no layer, and what can go wrong with one.

use std::path::PathBuf;

use rustix::io::Errno;

/// Why a command gets no layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoLayer {
    /// No directory for layers is configured.
    #[error("no directory for layers is configured, so changes cannot be held back")]
    NotConfigured,
    /// The directory for layers cannot be used.
    #[error("the directory for layers {path} cannot be used: {errno}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// Commands run without namespaces on this machine.
    #[error("layers need namespaces, which are not available here. See `toolgate doctor`")]
    NoNamespaces,
    /// No root is writable, so there is nothing to hold back.
    #[error("no root is writable, so there are no changes to hold back")]
    NothingWritable,
    /// The kernel or the file system refused the mount.
    #[error("the file system of {root} takes no layer: {errno}")]
    Mount {
        /// The root.
        root: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
    /// Something is mounted inside a root, and would be missing in the layer.
    #[error("{path} is a mount inside {root}, which a layer cannot show")]
    NestedMount {
        /// The root.
        root: PathBuf,
        /// The mount point.
        path: PathBuf,
    },
    /// The tree holds something that a layer would obey instead of showing it.
    #[error(
        "{path} carries attributes or devices of an overlay, which would change what the layer shows. Remove them"
    )]
    Planted {
        /// Where.
        path: PathBuf,
    },
    /// A file of another user cannot be changed in a layer.
    #[error("{path} belongs to user {uid}, so it could not be changed in a layer")]
    ForeignOwner {
        /// The first one found.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
}

/// Why something could not be done with a layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// There are more changes than can be collected.
    #[error("the command changed more than {limit} paths, more than can be shown or applied")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The roots are no longer as they were when the command began. Nothing was applied.
    #[error(
        "{} changed since the command began, so none of its changes were applied. Run it again",
        named(paths, *more)
    )]
    Conflict {
        /// Where, the first ones.
        paths: Vec<PathBuf>,
        /// How many more.
        more: usize,
    },
    /// The command changed two names of one file apart from each other, because a layer shows them
    /// as two files. Nothing was applied.
    #[error(
        "{one} and {other} are one file, and the command changed each by itself, which cannot be applied. Run it without preview"
    )]
    SplitLinks {
        /// One name.
        one: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// Nothing can be renamed from the private directory into a root. Nothing was applied.
    #[error(
        "the directory for layers is on another file system than {root}, so changes cannot be applied in one step. Configure one on the same file system"
    )]
    Apart {
        /// The root.
        root: PathBuf,
    },
    /// What was applied has changed since. Nothing was taken back.
    #[error("{} changed since, so nothing was undone", named(paths, *more))]
    ChangedSince {
        /// Where, the first ones.
        paths: Vec<PathBuf>,
        /// How many more.
        more: usize,
    },
    /// Something could not be taken back. It is tried again by the next start.
    #[error(
        "{} could not be taken back; the originals are kept in {kept}. Close the programs that change it, and start again",
        named(paths, 0)
    )]
    NotTakenBack {
        /// What is neither as it was before nor as it was made.
        paths: Vec<PathBuf>,
        /// Where the originals are.
        kept: PathBuf,
    },
    /// What was kept of applied changes is gone, damaged, or in use by another process.
    #[error("{path} cannot be used to undo anything: it is missing, damaged or in use")]
    NotKept {
        /// The private directory.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{path}: {errno}")]
    System {
        /// About which path.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
}

/// The first of some paths, and how many there are.
fn named(paths: &[PathBuf], more: usize) -> String {
    let first = paths.first().cloned().unwrap_or_default();
    match paths.len().saturating_sub(1) + more {
        0 => first.display().to_string(),
        others => format!("{} and {others} more", first.display()),
    }
}

impl LayerError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(Errno) -> Self {
        let path = path.into();
        move |errno| Self::System { path, errno }
    }
}
