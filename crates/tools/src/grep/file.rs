//! Searching files, each by whichever worker comes to it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use tokio_util::sync::CancellationToken;
use toolgate_gate::tool::{Hidden, RunCtx};
use toolgate_sandbox::paths::{FileKind, PathError, ReadHandle, Surveyor, WalkEntry};

use super::hits::{Found, Hits};
use super::{Filters, Shows};
use crate::place::{is_hidden, is_too_deep};
use crate::text::text_of;

/// Files up to this size are searched in memory, where secrets of the whole file are known.
const IN_MEMORY: u64 = 2 * 1024 * 1024;
/// How long a line, or a file that is searched across lines, can be.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// What is looked for, and how.
pub(super) struct Search<'a> {
    pub(super) cx: &'a RunCtx,
    pub(super) matcher: RegexMatcher,
    pub(super) filters: Filters,
    pub(super) multiline: bool,
    /// How many lines are shown before and after each hit.
    pub(super) context: (usize, usize),
    pub(super) shows: Shows,
    pub(super) most: usize,
    /// What rules leave out.
    pub(super) hidden: Option<Hidden<'a>>,
    /// Hits that are in the answer already. What is searched now comes after them.
    pub(super) certain: AtomicUsize,
}

/// What one worker searches with.
pub(super) struct WorkerState {
    /// A copy: workers that share one wait for each other.
    matcher: RegexMatcher,
    searcher: Searcher,
    /// The content of one file after the other.
    space: Vec<u8>,
}

/// How many files were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) files: usize,
    pub(super) binary: usize,
    pub(super) unreadable: usize,
    /// Whether directories were left out that lie too deep.
    pub(super) too_deep: bool,
    /// Files that rules left out.
    pub(super) left_out: usize,
}

/// What a run of files came to.
#[derive(Default)]
pub(super) struct Run {
    /// The files with hits, and the counts up to and with each of them.
    pub(super) found: Vec<(Found, Counts)>,
    pub(super) counts: Counts,
    hits: usize,
    /// The run alone has more hits than there is room for.
    full: bool,
}

impl Counts {
    pub(super) fn add(&mut self, more: Self) {
        self.files += more.files;
        self.binary += more.binary;
        self.unreadable += more.unreadable;
        self.too_deep |= more.too_deep;
        self.left_out += more.left_out;
    }
}

impl Surveyor for Search<'_> {
    type WorkerState = WorkerState;
    type Run = Run;

    fn state(&self) -> WorkerState {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .multi_line(self.multiline)
            .before_context(self.context.0)
            .after_context(self.context.1)
            .heap_limit(Some(LONGEST_LINE))
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::quit(0))
            .build();
        WorkerState {
            matcher: self.matcher.clone(),
            searcher,
            space: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.cx.cancel().is_cancelled()
    }

    fn enters(&self, directory: &WalkEntry<'_>) -> bool {
        let unwanted = self.filters.unwanted.as_ref();
        !unwanted.is_some_and(|filter| filter.fits(directory.beneath()))
    }

    fn look(&self, state: &mut WorkerState, entry: &WalkEntry<'_>, run: &mut Run) {
        if run.full
            || entry.kind != FileKind::File
            || !self.filters.pick(entry.beneath())
            || self.cx.cancel().is_cancelled()
        {
            return;
        }
        if is_hidden(self.hidden.as_ref(), entry.path) {
            run.counts.left_out += 1;
            return;
        }
        match entry.open() {
            Ok(handle) => self.file(state, entry.path, handle, run),
            Err(_) => run.counts.unreadable += 1,
        }
    }

    fn failed(&self, _: &Path, error: PathError, run: &mut Run) {
        run.counts.unreadable += 1;
        run.counts.too_deep |= is_too_deep(&error);
    }

    fn results(run: &Run) -> usize {
        run.hits
    }

    fn look_ahead(&self) -> usize {
        self.most
    }
}

impl Search<'_> {
    /// Searches one file under the name it is to be shown by.
    pub(super) fn file(
        &self,
        state: &mut WorkerState,
        path: &Path,
        mut handle: ReadHandle,
        run: &mut Run,
    ) {
        run.counts.files += 1;
        let room = self
            .most
            .saturating_sub(self.certain.load(Ordering::Relaxed));
        let left = room.saturating_sub(run.hits);
        let room = match self.shows {
            Shows::Lines => left,
            Shows::Files => 1,
            Shows::Counts => usize::MAX,
        };
        let WorkerState {
            matcher,
            searcher,
            space,
        } = state;
        let hits = |whole| Hits::new(matcher, self.cx.redactor(), path, room, whole);
        let found = match handle.read_into(space, IN_MEMORY) {
            Ok((count, true)) => {
                let bytes = space.get(..count).unwrap_or_default();
                if let Some(text) = text_of(bytes) {
                    let mut hits = hits(Some(&text));
                    let searched = searcher.search_slice(&*matcher, text.as_bytes(), &mut hits);
                    hits.found(searched)
                } else if memchr::memchr(0, bytes).is_some() {
                    Found::binary()
                } else {
                    // Text in an encoding that nobody announced is searched byte by byte.
                    let mut hits = hits(None);
                    let searched = searcher.search_slice(&*matcher, bytes, &mut hits);
                    hits.found(searched)
                }
            }
            Ok((count, false)) => {
                let rest = Rest {
                    start: space.get(..count).unwrap_or_default(),
                    file: handle.file,
                    cancel: self.cx.cancel(),
                };
                let mut hits = hits(None);
                let searched = searcher.search_reader(&*matcher, rest, &mut hits);
                hits.found(searched)
            }
            Err(_) => Found::unreadable(),
        };
        if found.binary {
            run.counts.binary += 1;
            return;
        }
        let found = match self.shows {
            Shows::Lines => found,
            Shows::Files => found.into_file(path, false, left),
            Shows::Counts => found.into_file(path, true, left),
        };
        run.counts.unreadable += usize::from(found.failed);
        run.hits += found.hits;
        run.full = found.more;
        if found.hits > 0 || found.more {
            run.found.push((found, run.counts));
        }
    }
}

/// What was read of a file, then the rest of it, until the call is told to stop.
struct Rest<'a> {
    start: &'a [u8],
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Rest<'_> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        match self.start.read(space)? {
            0 => self.file.read(space),
            count => Ok(count),
        }
    }
}
