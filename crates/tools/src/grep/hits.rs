//! Lines that fit, as they come out of a search.

use std::borrow::Cow;
use std::fmt::Write;
use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use toolgate_gate::output::Redactor;

use crate::place::shown;
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
    path: &'a Path,
    room: usize,
    /// The whole file, if it is in memory.
    whole: Option<&'a str>,
    /// Its name for the answer and its secrets, looked for when the first line fits.
    file: Option<(String, Secrets)>,
    found: Found,
    /// The next line does not follow the last one.
    apart: bool,
}

/// What a search of one file came to.
#[derive(Default)]
pub(super) struct Found {
    /// Lines of the answer, each with its line end.
    text: String,
    /// Where each line ends, and how many hits there were up to it.
    ends: Vec<(usize, usize)>,
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

    /// The file itself as the one hit, with the number of its hits where that is asked for.
    pub(super) fn into_file(self, path: &Path, counted: bool, room: usize) -> Self {
        let mut file = Self {
            failed: self.failed,
            ..Self::default()
        };
        if self.hits == 0 {
            return file;
        }
        if room == 0 {
            file.more = true;
            return file;
        }
        file.text = match counted {
            true => format!("{}: {}\n", shown(path), self.hits),
            false => format!("{}\n", shown(path)),
        };
        file.ends = vec![(file.text.len(), 1)];
        file.hits = 1;
        file
    }

    /// Leaves out all hits but so many.
    pub(super) fn cut(&mut self, room: usize) {
        if self.hits <= room {
            return;
        }
        let kept = self.ends.partition_point(|(_, hits)| *hits <= room);
        let last = kept.checked_sub(1).and_then(|last| self.ends.get(last));
        self.text.truncate(last.map_or(0, |(end, _)| *end));
        self.hits = room;
        self.more = true;
    }

    /// The lines of the answer, each with its line end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl<'a> Hits<'a> {
    pub(super) fn new(
        matcher: &'a RegexMatcher,
        redactor: &'a Redactor,
        path: &'a Path,
        room: usize,
        whole: Option<&'a str>,
    ) -> Self {
        Self {
            matcher,
            redactor,
            path,
            room,
            whole,
            file: None,
            found: Found::default(),
            apart: false,
        }
    }

    pub(super) fn found(self, searched: io::Result<()>) -> Found {
        Found {
            failed: searched.is_err(),
            ..self.found
        }
    }

    fn push(&mut self, number: Option<u64>, offset: u64, line: &[u8], hit: bool) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (redactor, whole) = (self.redactor, self.whole);
        let (name, secrets) = self.file.get_or_insert_with(|| {
            let secrets = whole.map(|whole| Secrets::find(redactor, whole));
            (shown(self.path), secrets.unwrap_or_default())
        });
        let text = match (whole, usize::try_from(offset)) {
            (Some(whole), Ok(start)) => secrets.masked(whole, start, start + line.len()),
            // Secrets go before the line is cut: half of one would not be recognized.
            _ => {
                let text = String::from_utf8_lossy(line);
                Cow::Owned(redactor.redact(&text).0.into_owned())
            }
        };
        let out = &mut self.found.text;
        if std::mem::take(&mut self.apart) && !out.is_empty() {
            out.push_str("--\n");
        }
        let number = number.unwrap_or(0);
        // Writing to a string does not fail.
        let _ = if hit {
            write!(out, "{name}:{number}: ")
        } else {
            write!(out, "{name}-{number}- ")
        };
        short(self.matcher, &text, hit, out);
        out.push('\n');
        self.found.ends.push((out.len(), self.found.hits));
    }
}

/// Appends a line that is not too long and really one line.
fn short(matcher: &RegexMatcher, line: &str, hit: bool, out: &mut String) {
    let mut piece = line;
    let (mut before, mut after) = (false, false);
    if line.len() > LONGEST_SHOWN {
        let found = matcher.find(line.as_bytes()).ok().flatten();
        let at = found.filter(|_| hit).map_or(0, |found| found.start());
        let start = line.floor_char_boundary(at.saturating_sub(BEFORE_HIT));
        let end = line.floor_char_boundary(start + LONGEST_SHOWN);
        piece = line.get(start..end).unwrap_or_default();
        (before, after) = (start > 0, end < line.len());
    }
    out.extend(before.then_some('…'));
    let mut pieces = piece.split(['\r', '\u{85}', '\u{2028}', '\u{2029}']);
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push(' ');
        out.push_str(piece);
    }
    out.extend(after.then_some('…'));
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.hits == self.room {
            self.found.more = true;
            return Ok(false);
        }
        self.found.hits += 1;
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
        self.found.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finished: &SinkFinish) -> io::Result<()> {
        self.found.binary |= finished.binary_byte_offset().is_some();
        Ok(())
    }
}
