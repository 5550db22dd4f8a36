//! Prepared sandboxes, grouped by the template they are made from.
//!
//! Commands of one workspace get the same directories, so they share a pool. A pool keeps one
//! sandbox ready, and more where commands overlap. It only chooses what to try first: the sandbox
//! itself compares its mounts with the order, so a wrong choice costs time and nothing else.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::ready::Ready;
use super::template::Template;
use crate::command::inside::init::{Kind, Pattern};
use crate::command::protocol::wire::Packet;

/// At most this many templates are kept, each with the mounts of one set of directories; fewer
/// where descriptors are scarce.
const MOST_POOLS: usize = 16;

/// At most this many sandboxes are ready in one pool.
const MOST_READY: usize = 4;

/// At most this many more than one are ready, in all pools together.
const MOST_EXTRA: usize = 4;

/// After this long without commands that overlap, a pool keeps one sandbox ready.
pub(super) const CALM: Duration = Duration::from_secs(10);

/// Tells which template may fit an order: the kind of sandbox, the conversation's place, and the
/// directories by device and inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) place: Option<NonZeroU64>,
    directories: Vec<(u64, u64)>,
}

impl Key {
    /// The key of an order. On the lower level all sandboxes are alike.
    pub(super) fn of(kind: Kind, place: Option<NonZeroU64>, packet: &Packet) -> Self {
        let identity = |fd: &OwnedFd| {
            let stat = rustix::fs::fstat(fd).ok();
            stat.map_or((0, 0), |stat| (stat.st_dev, stat.st_ino))
        };
        let directories = Pattern::directories_in(packet);
        Self {
            kind,
            place: place.filter(|_| kind.shared),
            directories: if kind.namespaces {
                directories.iter().map(identity).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// The key of sandboxes without directories.
    pub(super) fn bare(kind: Kind) -> Self {
        Self {
            kind,
            place: None,
            directories: Vec::new(),
        }
    }
}

/// The sandboxes of one template.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) key: Key,
    pub(super) template: Option<Rc<Template>>,
    /// The last command of the upper level, for the next template.
    pub(super) pattern: Option<Pattern>,
    /// The one that was made first is used first, so that none grows old.
    pub(super) ready: VecDeque<Ready>,
    /// How many to keep ready.
    target: usize,
    /// Whether making one failed since the last command.
    failed: bool,
    /// When a command last ran beside another.
    overlapped: Instant,
}

impl Pool {
    fn new(key: Key) -> Self {
        Self {
            key,
            template: None,
            pattern: None,
            ready: VecDeque::new(),
            target: 1,
            failed: false,
            overlapped: Instant::now(),
        }
    }

    fn is_wanting(&self) -> bool {
        !self.failed && self.ready.len() < self.target
    }

    /// Notes that no more can be made until the next command.
    pub(super) fn give_up(&mut self) {
        self.failed = true;
    }
}

/// All pools, the most recently used one last.
#[derive(Debug)]
pub(super) struct Pools {
    all: Vec<Pool>,
    most: usize,
    /// Sandboxes that are not needed any more, to be taken down when there is time.
    discarded: Vec<Ready>,
}

impl Pools {
    /// Pools of a warden that can run so many commands at once.
    pub(super) fn new(commands: usize) -> Self {
        Self {
            all: Vec::new(),
            most: (commands / 4).clamp(1, MOST_POOLS),
            discarded: Vec::new(),
        }
    }

    /// The pool of a command that has come, the last one from now on.
    pub(super) fn of_command(&mut self, key: Key) -> &mut Pool {
        let known = self.all.iter().position(|pool| pool.key == key);
        let mut pool = match known {
            Some(known) => self.all.remove(known),
            None => {
                if self.all.len() >= self.most {
                    let oldest = self.all.remove(0);
                    self.discarded.extend(oldest.ready);
                }
                Pool::new(key)
            }
        };
        pool.failed = false;
        self.last_with(pool)
    }

    /// Whether there is a pool for a command, and nothing ready in it.
    pub(super) fn is_used_up(&self, key: &Key) -> bool {
        let pool = self.all.iter().find(|pool| pool.key == *key);
        pool.is_some_and(|pool| pool.ready.is_empty())
    }

    /// Notes that a command of this pool runs beside another. If the pool was used up before it, more
    /// are kept ready.
    pub(super) fn overlapped(&mut self, key: &Key, was_used_up: bool) {
        let extra: usize = self.all.iter().map(|pool| pool.target - 1).sum();
        if let Some(pool) = self.all.iter_mut().find(|pool| pool.key == *key) {
            pool.overlapped = Instant::now();
            if was_used_up && pool.target < MOST_READY && extra < MOST_EXTRA {
                pool.target += 1;
            }
        }
    }

    /// Puts a sandbox into its pool.
    pub(super) fn add(&mut self, key: Key, ready: Ready) {
        let known = self.all.iter().position(|pool| pool.key == key);
        let mut pool = known.map_or_else(|| Pool::new(key), |known| self.all.remove(known));
        pool.ready.push_back(ready);
        self.last_with(pool);
    }

    fn last_with(&mut self, pool: Pool) -> &mut Pool {
        self.all.push(pool);
        let last = self.all.len().saturating_sub(1);
        // The pool was just pushed.
        #[allow(clippy::indexing_slicing)]
        &mut self.all[last]
    }

    /// The most recently used pool that lacks a sandbox.
    pub(super) fn wanting(&mut self) -> Option<&mut Pool> {
        self.all.iter_mut().rev().find(|pool| pool.is_wanting())
    }

    /// Whether a pool lacks a sandbox.
    pub(super) fn is_wanting(&self) -> bool {
        self.all.iter().any(Pool::is_wanting)
    }

    /// Drops the pools of a place.
    pub(super) fn leave(&mut self, place: NonZeroU64) {
        for pool in self
            .all
            .extract_if(.., |pool| pool.key.place == Some(place))
        {
            self.discarded.extend(pool.ready);
        }
    }

    /// Sets sandboxes aside that do not fit any more.
    pub(super) fn discard(&mut self, ready: impl IntoIterator<Item = Ready>) {
        self.discarded.extend(ready);
    }

    /// The sandboxes to take down.
    pub(super) fn discarded(&mut self) -> Vec<Ready> {
        std::mem::take(&mut self.discarded)
    }

    /// Reduces pools whose commands did not overlap for a while to one sandbox.
    pub(super) fn calm_down(&mut self) {
        for pool in &mut self.all {
            if pool.target > 1 && pool.overlapped.elapsed() >= CALM {
                pool.target = 1;
                self.discarded
                    .extend(pool.ready.drain(1.min(pool.ready.len())..));
            }
        }
    }

    /// When [`Self::calm_down`] has something to do.
    pub(super) fn calm_at(&self) -> Option<Instant> {
        let busy = self.all.iter().filter(|pool| pool.target > 1);
        busy.map(|pool| pool.overlapped + CALM).min()
    }

    /// Drops all templates and sandboxes: the machine's mounts changed.
    pub(super) fn forget(&mut self) {
        for pool in &mut self.all {
            pool.template = None;
            pool.ready.clear();
        }
        self.discarded.clear();
    }

    pub(super) fn ready(&self) -> impl Iterator<Item = &Ready> {
        let ready = self.all.iter().flat_map(|pool| &pool.ready);
        ready.chain(&self.discarded)
    }

    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        self.all.iter().filter_map(|pool| pool.template.as_deref())
    }
}
