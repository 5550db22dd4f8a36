//! The layer of one command.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::UPPER;
use super::error::LayerError;
use super::places::{Places, Time};
use crate::command::{CommandSandbox, Watched};

/// What a command changed in the roots. Nothing of it is real yet; dropping it discards it.
#[derive(Debug)]
pub struct Layer {
    pub(super) name: String,
    pub(super) places: Arc<Places>,
    pub(super) sandbox: CommandSandbox,
    /// When it began, by the clock for files.
    pub(super) begun: Time,
    /// When its program began: the search before it reads directories, and this is later.
    pub(super) started: Time,
    pub(super) roots: Vec<LayeredRoot>,
    /// The roots as they were, for the sweep after applying.
    pub(super) watched: Arc<Vec<Watched>>,
    /// Whether nothing is left to remove.
    pub(super) gone: bool,
}

/// A root whose changes are in the layer.
#[derive(Debug)]
pub(crate) struct LayeredRoot {
    /// Its number among the roots.
    pub(crate) number: usize,
    pub(crate) path: PathBuf,
    pub(crate) handle: OwnedFd,
    /// Which private directory its upper half is in.
    pub(crate) base: usize,
    /// Names that were kept vacant: empty directories in the upper half.
    pub(crate) vacant: Vec<Vec<u8>>,
}

impl Layer {
    pub(crate) fn new(
        name: String,
        places: Arc<Places>,
        sandbox: CommandSandbox,
        begun: Time,
        roots: Vec<LayeredRoot>,
        watched: Vec<Watched>,
    ) -> Self {
        Self {
            name,
            places,
            sandbox,
            begun,
            started: (i64::MAX, 0),
            roots,
            watched: Arc::new(watched),
            gone: false,
        }
    }

    /// Notes that the program begins. Where that fails, everything counts as older.
    pub(crate) fn start(&mut self) {
        if let Ok(now) = self.places.now() {
            self.started = now;
        }
    }

    /// Throws the changes away. Dropping the layer does the same and reports no error.
    ///
    /// # Errors
    /// Something of it cannot be removed; the next start tries again.
    pub fn discard(mut self) -> Result<(), LayerError> {
        self.gone = true;
        let path = PathBuf::from(&self.name);
        self.places.end(&self.name).map_err(LayerError::at(path))
    }

    /// The upper half of a root.
    pub(super) fn upper(&self, root: &LayeredRoot) -> Result<OwnedFd, Errno> {
        let base = self.places.base(root.base).ok_or(Errno::NOENT)?;
        let path = format!("{}/{UPPER}", self.name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(base.handle(), path, flags, Mode::empty())
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        if !self.gone {
            self.places.end_later(&self.name);
        }
    }
}
