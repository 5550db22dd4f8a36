//! Lines that fit, as they come out of a search.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use toolgate_gate::output::Redactor;

use crate::secrets::Secrets;

/// Longer lines are cut around what fits.
const LONGEST_SHOWN: usize = 400;
/// How much of a cut line stands before what fits.
const BEFORE_HIT: usize = 100;
/// How many lines of one hit across lines are shown.
const LINES_OF_A_HIT: u64 = 200;

/// Collects hits while a file is searched.
pub(super) struct Hits<'a> {
    matcher: &'a RegexMatcher,
    redactor: &'a Redactor,
    room: usize,
    /// The whole file, if it is in memory.
    whole: Option<&'a str>,
    /// Its secrets, looked for when the first line fits.
    secrets: Option<Secrets>,
    lines: Vec<Line>,
    hits: usize,
    more: bool,
    binary: bool,
    /// The next line does not follow the last one.
    apart: bool,
}

/// One line of the answer.
struct Line {
    number: u64,
    text: String,
    hit: bool,
    apart: bool,
}

/// What a search of one file came to.
#[derive(Default)]
pub(super) struct Found {
    lines: Vec<Line>,
    pub(super) hits: usize,
    /// There was another hit and no room for it.
    pub(super) more: bool,
    pub(super) binary: bool,
    pub(super) failed: bool,
}

impl Found {
    pub(super) fn unreadable() -> Self {
        Self {
            failed: true,
            ..Self::default()
        }
    }

    pub(super) fn binary() -> Self {
        Self {
            binary: true,
            ..Self::default()
        }
    }

    /// The lines of the answer for a file of this name.
    pub(super) fn lines(self, name: &str) -> impl Iterator<Item = String> {
        self.lines.into_iter().flat_map(move |line| {
            let Line { number, text, .. } = &line;
            let shown = if line.hit {
                format!("{name}:{number}: {text}")
            } else {
                format!("{name}-{number}- {text}")
            };
            let gap = line.apart.then(|| "--".to_owned());
            gap.into_iter().chain([shown])
        })
    }
}

impl<'a> Hits<'a> {
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        redactor: &'a Redactor,
        room: usize,
        whole: Option<&'a str>,
    ) -> Self {
        Self {
            matcher,
            redactor,
            room,
            whole,
            secrets: None,
            lines: Vec::new(),
            hits: 0,
            more: false,
            binary: false,
            apart: false,
        }
    }

    pub(super) fn found(self, searched: io::Result<()>) -> Found {
        Found {
            lines: self.lines,
            hits: self.hits,
            more: self.more,
            binary: self.binary,
            failed: searched.is_err(),
        }
    }

    fn push(&mut self, number: Option<u64>, offset: u64, line: &[u8], hit: bool) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = match (self.whole, usize::try_from(offset)) {
            (Some(whole), Ok(start)) => {
                let redactor = self.redactor;
                let secrets = self
                    .secrets
                    .get_or_insert_with(|| Secrets::find(redactor, whole));
                let masked = secrets.masked(whole, start, start + line.len());
                self.short(&masked, hit)
            }
            // Secrets go before the line is cut: half of one would not be recognized.
            _ => {
                let text = String::from_utf8_lossy(line);
                self.short(&self.redactor.redact(&text).0, hit)
            }
        };
        self.lines.push(Line {
            number: number.unwrap_or(0),
            text,
            hit,
            apart: std::mem::take(&mut self.apart) && !self.lines.is_empty(),
        });
    }

    /// A line that is not too long and really one line.
    fn short(&self, line: &str, hit: bool) -> String {
        let mut text = String::new();
        if line.len() <= LONGEST_SHOWN {
            text.push_str(line);
        } else {
            let found = self.matcher.find(line.as_bytes()).ok().flatten();
            let at = found.filter(|_| hit).map_or(0, |found| found.start());
            let start = line.floor_char_boundary(at.saturating_sub(BEFORE_HIT));
            let end = line.floor_char_boundary(start + LONGEST_SHOWN);
            if start > 0 {
                text.push('…');
            }
            text.push_str(line.get(start..end).unwrap_or_default());
            if end < line.len() {
                text.push('…');
            }
        }
        text.replace(['\r', '\u{85}', '\u{2028}', '\u{2029}'], " ")
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.hits == self.room {
            self.more = true;
            return Ok(false);
        }
        self.hits += 1;
        let mut offset = found.absolute_byte_offset();
        for (index, line) in (0..LINES_OF_A_HIT).zip(found.lines()) {
            let number = found.line_number().map(|first| first + index);
            self.push(number, offset, line, true);
            offset += line.len() as u64;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let offset = context.absolute_byte_offset();
        self.push(context.line_number(), offset, context.bytes(), false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.apart = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finished: &SinkFinish) -> io::Result<()> {
        self.binary |= finished.binary_byte_offset().is_some();
        Ok(())
    }
}
