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
    /// A system call failed.
    #[error("{path}: {errno}")]
    System {
        /// About which path.
        path: PathBuf,
        /// The kernel's reason.
        errno: Errno,
    },
}

impl LayerError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(Errno) -> Self {
        let path = path.into();
        move |errno| Self::System { path, errno }
    }
}
