//! Visits every file of a tree with all cores, in the order of paths.
//!
//! ```text
//!  start ──▶ board: directories and stretches of files, ──▶ workers: open, read names, look ──▶ board: what each
//!            the first by path on top                   at files; new directories go back          stretch came to
//!                                                       to the board                             │
//!                       take(run), in the byte order of paths, as soon as nothing earlier is open ◀┘
//! ```
//!
//! A directory goes in, with a [`Surveyor`] that does the work on a file. Its runs come out,
//! in the same order and with the same content as if one worker had gone
//! from file to file; the receiver can stop at any of them. Errors on
//! the way go to the surveyor, as in a walk; a start that cannot be opened is an
//! error; a surveyor that panics ends the survey with that panic.

mod board;

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::open_directory::{EntryPaths, OpenDirectory, Tree};
use super::tree::{Flow, WalkEntry, WalkOptions};
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, PathError};
use crate::paths::read::directory::Name;
use crate::paths::resolve::missing::join;
use board::{Board, Job, Task};

/// More workers than this wait for each other.
const MOST_WORKERS: usize = 8;
/// Files of one directory that are looked at in one go.
const STRETCH: usize = 64;

/// The work on the files of a tree, by several workers at once.
pub trait Surveyor: Sync {
    /// The state of one worker: buffers and the like.
    type WorkerState;
    /// The result of a run of files that follow each other.
    type Run: Default + Send;

    /// Sets up a worker.
    fn state(&self) -> Self::WorkerState;

    /// Whether all workers are to stop.
    fn is_over(&self) -> bool;

    /// Whether a directory is entered.
    fn enters(&self, directory: &WalkEntry<'_>) -> bool;

    /// Looks at something that is no directory.
    fn look(&self, state: &mut Self::WorkerState, entry: &WalkEntry<'_>, run: &mut Self::Run);

    /// Hears of a directory that could not be entered or read to its end.
    fn failed(&self, path: &Path, error: PathError, run: &mut Self::Run);

    /// How many results a run holds.
    fn results(run: &Self::Run) -> usize;

    /// How many results may wait for an earlier one. A worker that is so far ahead
    /// of the others pauses.
    fn look_ahead(&self) -> usize;
}

impl PathSandbox {
    /// Looks at every file beneath a directory and hands over the results in the
    /// byte order of paths, until `take` has enough.
    pub fn survey<S: Surveyor>(
        &self,
        path: impl AsRef<Path>,
        options: &WalkOptions,
        surveyor: &S,
        take: &mut (dyn FnMut(S::Run) -> Flow + Send),
    ) -> Result<(), PathError> {
        let (tree, start) = Tree::open(self, path.as_ref(), options)?;
        let board = Board::new(take, surveyor.look_ahead(), S::results);
        let survey = Survey {
            tree: &tree,
            surveyor,
            board: &board,
        };
        let mut state = surveyor.state();
        let key = board::directory_key(&start.path);
        let mut runs = Vec::new();
        survey.directory(&mut state, key, start, &mut runs);
        // Threads for a directory that holds no others would only cost.
        let waiting = board.finish(0, runs);
        std::thread::scope(|scope| {
            for worker in 1..workers().min(waiting) {
                let (survey, surveyor) = (&survey, surveyor);
                let work = move || survey.work(worker, &mut surveyor.state());
                // Without another thread, this one does all of it.
                let started = std::thread::Builder::new().spawn_scoped(scope, work);
                if started.is_err() {
                    break;
                }
            }
            survey.work(0, &mut state);
        });
        Ok(())
    }
}

/// How many workers this machine has use for.
fn workers() -> usize {
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        cores.min(MOST_WORKERS)
    })
}

struct Survey<'s, 'w, 't, S: Surveyor> {
    tree: &'s Tree<'w>,
    surveyor: &'s S,
    board: &'s Board<'t, S::Run>,
}

/// The runs of a job, each with the path it begins at.
type Runs<R> = Vec<(Vec<u8>, R)>;

impl<S: Surveyor> Survey<'_, '_, '_, S> {
    fn work(&self, worker: usize, state: &mut S::WorkerState) {
        // A worker that panics must not leave the others waiting.
        let _alarm = self.board.alarm();
        while let Some(Job { key, task }) = self.board.next(worker) {
            if self.surveyor.is_over() {
                self.board.stop();
                return;
            }
            let mut runs = Vec::new();
            match task {
                Task::Enter(parent, name) => match self.tree.enter(&parent, &name) {
                    Ok(directory) => {
                        drop(parent);
                        self.directory(state, key, directory, &mut runs);
                    }
                    Err(error) => {
                        let path = join(&parent.path, &name);
                        self.failed(key, &path, error, &mut runs);
                    }
                },
                Task::Look(directory, names) => self.stretch(state, &directory, &names, &mut runs),
            }
            self.board.finish(worker, runs);
        }
    }

    fn failed(&self, key: Vec<u8>, path: &[u8], error: PathError, runs: &mut Runs<S::Run>) {
        let mut run = S::Run::default();
        let path = Path::new(OsStr::from_bytes(path));
        self.surveyor.failed(path, error, &mut run);
        runs.push((key, run));
    }

    /// Reads a directory: what is in it goes to the board, the first files are looked at.
    fn directory(
        &self,
        state: &mut S::WorkerState,
        key: Vec<u8>,
        mut directory: OpenDirectory,
        runs: &mut Runs<S::Run>,
    ) {
        let (mut names, error) = self.tree.names(&mut directory);
        if let Some(error) = error {
            let path = directory.path.clone();
            self.failed(key, &path, error, runs);
        }
        let deeper = self.tree.goes_deeper(&directory);
        let mut paths = EntryPaths::of(&directory);
        names.retain(|entry| {
            entry.kind != FileKind::Directory
                || (deeper
                    && self
                        .surveyor
                        .enters(&self.tree.entry(&directory, &mut paths, entry)))
        });
        names.sort_unstable_by(by_path);
        let directory = Arc::new(directory);
        let mut jobs = Vec::new();
        // Files that follow each other with no directory in between are one stretch. The worker that
        // read the names looks at the first stretch, if no directory comes before it.
        let mut own = Vec::new();
        let mut files: Vec<Name> = Vec::new();
        let mut names = names.into_iter().peekable();
        while let Some(entry) = names.next() {
            if entry.kind == FileKind::Directory {
                let path = join(&directory.path, &entry.name);
                jobs.push(Job {
                    key: board::directory_key(&path),
                    task: Task::Enter(Arc::clone(&directory), entry.name),
                });
                continue;
            }
            files.push(entry);
            let next = names.peek();
            let goes_on = next.is_some_and(|next| next.kind != FileKind::Directory);
            if goes_on && files.len() < STRETCH {
                continue;
            }
            let stretch = std::mem::take(&mut files);
            match stretch.first() {
                Some(first) if !own.is_empty() || !jobs.is_empty() => jobs.push(Job {
                    key: join(&directory.path, &first.name),
                    task: Task::Look(Arc::clone(&directory), stretch),
                }),
                _ => own = stretch,
            }
        }
        self.board.add(jobs);
        self.stretch(state, &directory, &own, runs);
    }

    fn stretch(
        &self,
        state: &mut S::WorkerState,
        directory: &OpenDirectory,
        names: &[Name],
        runs: &mut Runs<S::Run>,
    ) {
        let Some(first) = names.first() else {
            return;
        };
        let mut paths = EntryPaths::of(directory);
        let mut run = S::Run::default();
        for entry in names {
            let entry = self.tree.entry(directory, &mut paths, entry);
            self.surveyor.look(state, &entry, &mut run);
        }
        runs.push((join(&directory.path, &first.name), run));
    }
}

/// The order of whole paths: what is in a directory `a` comes where `a/` would.
fn by_path(one: &Name, other: &Name) -> Ordering {
    let common = one.name.len().min(other.name.len());
    let (start, rest) = one.name.split_at(common);
    let (other_start, other_rest) = other.name.split_at(common);
    let next = |rest: &[u8], kind| match rest.first() {
        None if kind == FileKind::Directory => Some(b'/'),
        first => first.copied(),
    };
    start
        .cmp(other_start)
        .then_with(|| next(rest, one.kind).cmp(&next(other_rest, other.kind)))
}
