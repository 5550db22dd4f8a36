//! Searching one file after the other.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use tokio_util::sync::CancellationToken;
use toolgate_gate::tool::RunCtx;
use toolgate_sandbox::paths::ReadHandle;

use super::hits::{Found, Hits};
use crate::text::decode;

/// Files up to this size are searched in memory, where secrets of the whole file are known.
const IN_MEMORY: u64 = 2 * 1024 * 1024;
/// How long a line, or a file that is searched across lines, can be.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Whether there is room for more hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Searched {
    GoOn,
    Enough,
}

/// A search under way.
pub(super) struct Search<'a> {
    cx: &'a RunCtx,
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    context: usize,
    most: usize,
    /// Lines of output.
    pub(super) out: Vec<String>,
    pub(super) hits: usize,
    /// There were more hits than wanted.
    pub(super) more: bool,
    pub(super) files: usize,
    pub(super) files_with_hits: usize,
    pub(super) binary: usize,
    pub(super) unreadable: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        cx: &'a RunCtx,
        matcher: &'a RegexMatcher,
        multiline: bool,
        context: usize,
        most: usize,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .multi_line(multiline)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_LINE))
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self {
            cx,
            matcher,
            searcher,
            context,
            most,
            out: Vec::new(),
            hits: 0,
            more: false,
            files: 0,
            files_with_hits: 0,
            binary: 0,
            unreadable: 0,
        }
    }

    /// Searches one file under the name it is to be shown by.
    pub(super) fn file(&mut self, name: &str, mut handle: ReadHandle) -> Searched {
        self.files += 1;
        let found = match handle.read_up_to(IN_MEMORY) {
            Ok((bytes, true)) => self.in_memory(bytes),
            Ok((start, false)) => self.streamed(start, handle.file),
            Err(_) => Found::unreadable(),
        };
        if found.binary {
            self.binary += 1;
            return Searched::GoOn;
        }
        self.unreadable += usize::from(found.failed);
        self.more |= found.more;
        if found.hits > 0 {
            self.files_with_hits += 1;
            self.hits += found.hits;
            if self.context > 0 && !self.out.is_empty() {
                self.out.push("--".to_owned());
            }
            self.out.extend(found.lines(name));
        }
        if self.more {
            Searched::Enough
        } else {
            Searched::GoOn
        }
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.hits)
    }

    fn in_memory(&mut self, bytes: Vec<u8>) -> Found {
        let redactor = self.cx.redactor();
        if let Some(decoded) = decode(bytes.clone(), true) {
            let text = decoded.text.as_str();
            let mut hits = Hits::new(self.matcher, redactor, self.room(), Some(text));
            let searched = self
                .searcher
                .search_slice(self.matcher, text.as_bytes(), &mut hits);
            return hits.found(searched);
        }
        if memchr::memchr(0, &bytes).is_some() {
            return Found::binary();
        }
        // Text in an encoding that nobody announced is searched byte by byte.
        let mut hits = Hits::new(self.matcher, redactor, self.room(), None);
        let searched = self.searcher.search_slice(self.matcher, &bytes, &mut hits);
        hits.found(searched)
    }

    fn streamed(&mut self, start: Vec<u8>, file: File) -> Found {
        let rest = Rest {
            start: io::Cursor::new(start),
            file,
            cancel: self.cx.cancel(),
        };
        let mut hits = Hits::new(self.matcher, self.cx.redactor(), self.room(), None);
        let searched = self.searcher.search_reader(self.matcher, rest, &mut hits);
        hits.found(searched)
    }
}

/// What was read of a file, then the rest of it, until the call is told to stop.
struct Rest<'a> {
    start: io::Cursor<Vec<u8>>,
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
