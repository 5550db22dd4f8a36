//! Who does what next, and what is ready to be handed over.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::super::folder::Name;
use super::super::open_folder::OpenFolder;
use super::super::tree::Flow;

/// Folders deeper than this are entered by one worker at a time: each folder above
/// them is an open descriptor, and a process has only so many.
const DEEP: usize = 64;

/// A piece of work.
#[derive(Debug)]
pub(super) struct Job {
    /// Nothing that comes of it is before this path.
    pub(super) key: Vec<u8>,
    pub(super) task: Task,
}

#[derive(Debug)]
pub(super) enum Task {
    /// Open the folder of this name in a folder.
    Enter(Arc<OpenFolder>, Vec<u8>),
    /// Look at these files of a folder.
    Look(Arc<OpenFolder>, Vec<Name>),
}

/// The path at which the contents of a folder begin.
pub(super) fn folder_key(path: &[u8]) -> Vec<u8> {
    let mut key = path.to_vec();
    if !key.is_empty() {
        key.push(b'/');
    }
    key
}

impl Job {
    fn depth(&self) -> usize {
        match &self.task {
            Task::Enter(folder, _) | Task::Look(folder, _) => folder.depth,
        }
    }
}

/// The first by path is the greatest, as a heap wants it.
impl Ord for Job {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Job {}

/// Takes the runs in order.
type Take<'t, R> = &'t mut (dyn FnMut(R) -> Flow + Send);

/// What the workers share.
pub(super) struct Board<'t, R> {
    state: Mutex<State<'t, R>>,
    changed: Condvar,
    look_ahead: usize,
    results: fn(&R) -> usize,
}

struct State<'t, R> {
    open: BinaryHeap<Job>,
    /// The keys of what is being done, and by whom.
    busy: Vec<(usize, Vec<u8>)>,
    /// Runs that wait for something before them.
    ready: BTreeMap<Vec<u8>, R>,
    /// Results in them.
    ahead: usize,
    /// Workers that wait for a change.
    idle: usize,
    take: Take<'t, R>,
    over: bool,
}

/// Ends the work of all when the worker that holds it is gone.
pub(super) struct Alarm<'b, 't, R>(&'b Board<'t, R>);

impl<R> Drop for Alarm<'_, '_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<'t, R> Board<'t, R> {
    pub(super) fn new(take: Take<'t, R>, look_ahead: usize, results: fn(&R) -> usize) -> Self {
        Self {
            state: Mutex::new(State {
                open: BinaryHeap::new(),
                busy: Vec::new(),
                ready: BTreeMap::new(),
                ahead: 0,
                idle: 0,
                take,
                over: false,
            }),
            changed: Condvar::new(),
            look_ahead,
            results,
        }
    }

    pub(super) fn alarm(&self) -> Alarm<'_, 't, R> {
        Alarm(self)
    }

    fn state(&self) -> MutexGuard<'_, State<'t, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: &State<'t, R>) {
        // Waking nobody is a system call all the same.
        if state.idle > 0 {
            self.changed.notify_all();
        }
    }

    /// Notes that the first worker has the start in hand.
    pub(super) fn begin(&self, key: Vec<u8>) {
        self.state().busy.push((0, key));
    }

    /// Adds work that is part of what the caller has in hand.
    pub(super) fn add(&self, jobs: Vec<Job>) {
        if !jobs.is_empty() {
            let mut state = self.state();
            state.open.extend(jobs);
            self.tell(&state);
        }
    }

    /// Ends the work of all.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.over = true;
        self.tell(&state);
    }

    /// The next piece of work; nothing when all is done.
    pub(super) fn next(&self, worker: usize) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.over || (state.open.is_empty() && state.busy.is_empty()) {
                return None;
            }
            if state.may_begin(self.look_ahead)
                && let Some(job) = state.open.pop()
            {
                state.busy.push((worker, job.key.clone()));
                return Some(job);
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Hands in what a piece of work came to, and hands over what is ready. Says how
    /// many pieces are open.
    pub(super) fn finish(&self, worker: usize, runs: Vec<(Vec<u8>, R)>) -> usize {
        let mut state = self.state();
        state.busy.retain(|(other, _)| *other != worker);
        for (key, run) in runs {
            state.ahead += (self.results)(&run);
            state.ready.insert(key, run);
        }
        while !state.over && state.is_first_final() {
            let Some((_, run)) = state.ready.pop_first() else {
                break;
            };
            state.ahead = state.ahead.saturating_sub((self.results)(&run));
            let flow = (state.take)(run);
            state.over |= flow == Flow::Stop;
        }
        self.tell(&state);
        state.open.len()
    }
}

impl<R> State<'_, R> {
    /// Whether the first open piece may be begun now.
    fn may_begin(&self, look_ahead: usize) -> bool {
        let Some(job) = self.open.peek() else {
            return false;
        };
        // What everybody waits for is never held back, so somebody always goes on.
        self.busy.iter().all(|(_, key)| job.key < *key)
            || (job.depth() <= DEEP && self.ahead <= look_ahead)
    }

    /// Whether nothing can come before the first run that waits.
    fn is_first_final(&self) -> bool {
        let Some((first, _)) = self.ready.first_key_value() else {
            return false;
        };
        let open = self.open.peek().map(|job| &job.key);
        let busy = self.busy.iter().map(|(_, key)| key);
        busy.chain(open).all(|key| first < key)
    }
}
