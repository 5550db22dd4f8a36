//! Locks that a tool holds while it lives.
//!
//! A future that was dropped is not always the end of a tool: it may have handed
//! its work, and the context with it, to a thread that cannot be stopped. So the
//! locked paths belong to the holder of the tool's future or its
//! [`RunCtx`](crate::tool::RunCtx); they are free when the last of these is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::PathGuard;
use crate::sync::{Mutex, lock};

/// How many tools were given up on and still live.
#[derive(Clone, Default)]
pub(crate) struct Stuck(Arc<AtomicUsize>);

impl Stuck {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn one_more(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&self.0))
    }
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The locked paths of a running tool, and the mark that it was given up on.
pub(crate) struct Hold(Mutex<Kept>);

struct Kept {
    paths: Option<PathGuard>,
    counted: Option<Counted>,
}

impl Hold {
    pub(crate) fn new(paths: PathGuard) -> Self {
        Self(Mutex::new(Kept {
            paths: Some(paths),
            counted: None,
        }))
    }

    /// The tool ended by itself: whatever it left behind, its paths are free.
    pub(crate) fn free(&self) {
        let paths = lock(&self.0).paths.take();
        drop(paths);
    }

    /// The tool was given up on and lives: it is counted until it ends.
    pub(crate) fn give_up(&self, stuck: &Stuck) {
        let mut kept = lock(&self.0);
        kept.counted = Some(stuck.one_more());
        if let Some(paths) = &kept.paths {
            paths.give_up();
        }
    }
}
