//! The queue of jobs, and the results in the order of paths.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::paths::read::directory::Name;
use crate::paths::walk::open_directory::OpenDirectory;
use crate::paths::walk::tree::Flow;

/// Directories deeper than this are entered by one worker at a time: each directory above
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
    /// Open the directory of this name in a directory.
    Enter(Arc<OpenDirectory>, Vec<u8>),
    /// Look at these files of a directory.
    Look(Arc<OpenDirectory>, Vec<Name>),
}

/// The path at which the contents of a directory begin.
pub(super) fn directory_key(path: &[u8]) -> Vec<u8> {
    let mut key = path.to_vec();
    if !key.is_empty() {
        key.push(b'/');
    }
    key
}

impl Job {
    fn depth(&self) -> usize {
        match &self.task {
            Task::Enter(directory, _) | Task::Look(directory, _) => directory.depth,
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

/// The state that the workers share.
pub(super) struct Board<'t, R> {
    state: Mutex<State<'t, R>>,
    changed: Condvar,
    look_ahead: usize,
    results: fn(&R) -> usize,
}

struct State<'t, R> {
    open: BinaryHeap<Job>,
    /// The keys of the running jobs, by worker.
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
        // Waking no thread is still a system call.
        if state.idle > 0 {
            self.changed.notify_all();
        }
    }

    /// Adds jobs that belong to the caller's job.
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

    /// Stores the results of a job, and hands over those that are ready. Says how
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
        // The job that all others wait for is never held back, so one worker always goes on.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::paths::walk::open_directory::Tree;
    use crate::paths::walk::tree::WalkOptions;
    use crate::paths::{PathRules, PathSandbox};

    type Run = Vec<&'static str>;

    /// A piece of work that begins at this path, in a directory that is so deep.
    fn job(key: &str, depth: usize) -> Job {
        let place = tempfile::tempdir().unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(place.path())).unwrap();
        let options = WalkOptions::default();
        let (_, mut directory) = Tree::open(&sandbox, Path::new("."), &options).unwrap();
        directory.depth = depth;
        Job {
            key: key.into(),
            task: Task::Look(Arc::new(directory), Vec::new()),
        }
    }

    fn run(key: &'static str, results: usize) -> (Vec<u8>, Run) {
        (key.into(), vec![key; results])
    }

    fn begin(board: &Board<'_, Run>, worker: usize) -> Option<String> {
        let job = board.next(worker)?;
        Some(String::from_utf8(job.key).unwrap())
    }

    #[test]
    fn the_content_of_a_directory_sorts_behind_its_slash() {
        assert_eq!(directory_key(b""), b"");
        assert_eq!(directory_key(b"a/b"), b"a/b/");
    }

    #[test]
    fn pieces_are_equal_when_neither_comes_first() {
        for (one, other, order) in [
            ("a", "b", Ordering::Greater),
            ("b", "a", Ordering::Less),
            ("a", "a", Ordering::Equal),
        ] {
            let (one, other) = (job(one, 1), job(other, 2));
            assert_eq!(one.cmp(&other), order);
            assert_eq!(one == other, order == Ordering::Equal);
        }
    }

    #[test]
    fn results_are_handed_over_when_nothing_can_come_before_them() {
        let taken = Mutex::new(Vec::new());
        let mut take = |run: Run| {
            taken.lock().unwrap().extend(run);
            Flow::Continue
        };
        let seen = || std::mem::take(&mut *taken.lock().unwrap());
        let board = Board::new(&mut take, 10, Vec::len);
        board.add(["c", "a", "d", "b"].map(|key| job(key, 1)).into());
        assert_eq!(begin(&board, 0).unwrap(), "a");
        assert_eq!(board.finish(0, vec![run("a", 2)]), 3);
        assert_eq!(seen(), ["a", "a"]);
        assert_eq!(begin(&board, 0).unwrap(), "b");
        assert_eq!(begin(&board, 1).unwrap(), "c");
        assert_eq!(board.finish(1, vec![run("c", 1), run("cc", 1)]), 1);
        assert!(seen().is_empty(), "what is being done comes first");
        assert_eq!(board.finish(0, vec![run("e", 1)]), 1);
        assert_eq!(seen(), ["c", "cc"], "what is open comes before the last");
        assert_eq!(begin(&board, 1).unwrap(), "d");
        assert_eq!(board.finish(1, vec![]), 0);
        assert_eq!(seen(), ["e"]);
        assert_eq!(begin(&board, 1), None);
    }

    #[test]
    fn a_worker_far_ahead_or_deep_down_waits_for_earlier_ones() {
        for (depth, ahead, before, may) in [
            (DEEP, 10, "a", true),
            (DEEP + 1, 10, "a", false),
            (DEEP, 11, "a", false),
            (DEEP + 1, 11, "c", true),
        ] {
            let mut take = |_| Flow::Continue;
            let board = Board::new(&mut take, 10, Vec::len);
            board.add(vec![job(before, 1), job("x", 1)]);
            assert_eq!(begin(&board, 0).unwrap(), before);
            assert_eq!(begin(&board, 1).unwrap(), "x");
            board.finish(1, vec![run("x", ahead)]);
            board.add(vec![job("b", depth)]);
            let may_begin = || board.state().may_begin(10);
            assert_eq!(may_begin(), may, "{depth} {ahead} {before}");
            board.finish(0, vec![]);
            assert!(may_begin(), "no job is before it");
            assert_eq!(begin(&board, 0).unwrap(), "b");
            board.finish(0, vec![]);
            assert_eq!(board.state().ahead, 0);
            assert!(!may_begin(), "there is nothing left");
        }
    }

    #[test]
    fn after_the_end_nothing_is_begun_or_handed_over() {
        let taken = Mutex::new(Vec::new());
        let mut take = |run: Run| {
            taken.lock().unwrap().extend(run);
            Flow::Stop
        };
        let board = Board::new(&mut take, 10, Vec::len);
        board.add(["a", "b", "c"].map(|key| job(key, 1)).into());
        assert_eq!(begin(&board, 0).unwrap(), "a");
        assert_eq!(begin(&board, 1).unwrap(), "b");
        board.finish(1, vec![run("b", 1)]);
        board.finish(0, vec![run("a", 1)]);
        assert_eq!(*taken.lock().unwrap(), ["a"]);
        assert_eq!(begin(&board, 0), None);

        let mut take = |_: Run| Flow::Continue;
        let board = Board::new(&mut take, 10, Vec::len);
        board.add(vec![job("a", 1)]);
        board.stop();
        assert_eq!(begin(&board, 0), None);
    }

    #[test]
    fn a_waiting_worker_is_woken() {
        let mut take = |_: Run| Flow::Continue;
        let board = Board::new(&mut take, 10, Vec::len);
        board.add(vec![job("a", 1), job("b", DEEP + 1)]);
        assert_eq!(begin(&board, 0).unwrap(), "a");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| begin(&board, 1));
            while board.state().idle == 0 && !other.is_finished() {
                std::thread::yield_now();
            }
            board.finish(0, vec![]);
            assert_eq!(other.join().unwrap().unwrap(), "b");
        });
        assert_eq!(board.state().idle, 0);
    }
}
