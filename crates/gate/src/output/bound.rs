//! Bounding: of too long a text the head, the tail and a marker that says what is
//! missing and how to get it.
//!
//! The error usually stands at the end and the command's own words at the start, so
//! both halves get the same room. The marker counts inside the limit.

use std::collections::VecDeque;

use super::chars::split;

/// The most bytes of one result unless configured otherwise.
pub const DEFAULT_MAX_BYTES: usize = 100 * 1024;

/// The room assumed where nobody knows how much the context still takes.
pub const UNKNOWN_CAPACITY_BYTES: usize = 64 * 1024;

/// How far a cut moves to fall on a line end, at most.
const NEAR_LINE_END: usize = 1024;

/// How long a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes, marker included.
    pub max_bytes: usize,
    /// The most lines, marker included; the marker itself always stays.
    pub max_lines: Option<usize>,
    /// What the context still takes; `None` where that is not known.
    pub capacity: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: DEFAULT_MAX_BYTES,
            max_lines: None,
            capacity: None,
        }
    }
}

impl Limits {
    /// At most `max_bytes`, whatever else there is room for.
    #[must_use]
    pub fn bytes(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            max_lines: None,
            capacity: Some(max_bytes),
        }
    }

    /// The bytes that both limits leave.
    #[must_use]
    pub fn effective_bytes(&self) -> usize {
        self.max_bytes
            .min(self.capacity.unwrap_or(UNKNOWN_CAPACITY_BYTES))
    }
}

/// A text within its limits, and what is missing from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounded {
    /// The text: whole, or head, marker and tail.
    pub text: String,
    /// Whether anything is missing.
    pub truncated: bool,
    /// How many bytes of the original are missing.
    pub missing_bytes: u64,
    /// How many lines of the original are missing, wholly or in part.
    pub missing_lines: u64,
    /// How many bytes the original has.
    pub total_bytes: u64,
    /// How many lines the original has.
    pub total_lines: u64,
}

/// Collects a text of any length in the memory that its limits allow.
///
/// ```
/// # use toolgate_gate::output::{Bounder, Limits};
/// let mut bounder = Bounder::new(Limits::bytes(120));
/// for line in 0..1_000 {
///     bounder.push(&format!("line {line}\n"));
/// }
/// let bounded = bounder.finish(Some("out_3"));
/// assert!(bounded.text.len() <= 120);
/// assert!(bounded.text.starts_with("line 0\n") && bounded.text.ends_with("line 999\n"));
/// ```
#[derive(Debug, Clone)]
pub struct Bounder {
    limits: Limits,
    head: String,
    /// The head takes nothing any more: the next byte does not follow its last.
    head_full: bool,
    /// The last bytes after the head. Its front can stand inside a character.
    tail: VecDeque<u8>,
    /// The byte that fell out of the tail last.
    before_tail: Option<u8>,
    bytes: u64,
    newlines: u64,
    ends_line: bool,
}

impl Bounder {
    /// A collector that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            head: String::new(),
            head_full: false,
            tail: VecDeque::new(),
            before_tail: None,
            bytes: 0,
            newlines: 0,
            ends_line: true,
        }
    }

    /// Takes the next piece of the text.
    pub fn push(&mut self, chunk: &str) {
        let Some(&last) = chunk.as_bytes().last() else {
            return;
        };
        self.bytes = self.bytes.saturating_add(as_u64(chunk.len()));
        self.newlines = self.newlines.saturating_add(newlines(chunk.as_bytes()));
        self.ends_line = last == b'\n';
        let mut rest = chunk;
        if !self.head_full {
            let room = self.head_room().saturating_sub(self.head.len());
            let (taken, after) = split(chunk, chunk.floor_char_boundary(room));
            self.head.push_str(taken);
            self.head_full = !after.is_empty();
            rest = after;
        }
        self.push_tail(rest.as_bytes());
    }

    fn head_room(&self) -> usize {
        self.limits.effective_bytes() / 2
    }

    /// The head leaves up to three bytes of its half empty where it would have ended
    /// inside a character. The tail takes them, so that a text of exactly the limit
    /// is still there as a whole.
    fn tail_room(&self) -> usize {
        (self.limits.effective_bytes() - self.head_room()).saturating_add(3)
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let room = self.tail_room();
        if let Some(dropped) = bytes.len().checked_sub(room)
            && dropped > 0
        {
            let (gone, kept) = bytes.split_at_checked(dropped).unwrap_or((&[], bytes));
            self.before_tail = gone.last().copied();
            self.tail.clear();
            self.tail.extend(kept);
            return;
        }
        let dropped = (self.tail.len() + bytes.len()).saturating_sub(room);
        if dropped > 0 {
            self.before_tail = self.tail.drain(..dropped).next_back();
        }
        self.tail.extend(bytes);
    }

    /// The text within its limits. The marker names the `handle` that returns what
    /// is missing, if there is one.
    #[must_use]
    pub fn finish(mut self, handle: Option<&str>) -> Bounded {
        let limit = self.limits.effective_bytes();
        let total_lines = self.newlines + u64::from(!self.ends_line);
        let fits_lines = self
            .limits
            .max_lines
            .is_none_or(|max| total_lines <= as_u64(max));
        let fits_bytes = self.bytes <= as_u64(limit);
        let before_tail = self.before_tail.or(self.head.as_bytes().last().copied());
        let tail = from_boundary(self.tail.make_contiguous());
        if fits_bytes && fits_lines {
            self.head.push_str(tail);
            return Bounded {
                text: self.head,
                truncated: false,
                missing_bytes: 0,
                missing_lines: 0,
                total_bytes: self.bytes,
                total_lines,
            };
        }

        let cut = Cut {
            total_bytes: self.bytes,
            total_lines,
            newlines: self.newlines,
            handle,
        };
        if fits_bytes {
            self.head.push_str(tail);
            return cut.bounded(&self.head, &self.head, None, &self.limits);
        }
        cut.bounded(&self.head, tail, before_tail, &self.limits)
    }
}

/// A whole text within `limits`.
#[must_use]
pub fn bound(text: &str, limits: Limits, handle: Option<&str>) -> Bounded {
    let mut bounder = Bounder::new(limits);
    bounder.push(text);
    bounder.finish(handle)
}

/// What is known about a text from which something has to go.
struct Cut<'h> {
    total_bytes: u64,
    total_lines: u64,
    newlines: u64,
    handle: Option<&'h str>,
}

impl Cut<'_> {
    /// `head` starts where the text starts and `tail` ends where it ends; both can
    /// be the whole text. `before_tail` is the byte in front of `tail`.
    fn bounded(&self, head: &str, tail: &str, before_tail: Option<u8>, limits: &Limits) -> Bounded {
        let limit = limits.effective_bytes();
        // No marker that is written in the end is longer than this one, and two
        // newlines set it apart.
        let largest = self.marker(self.total_lines, self.total_bytes);
        let Some(room) = limit.checked_sub(largest.len() + 2) else {
            return self.marker_only(&largest, limit);
        };
        let (head_lines, tail_lines) = match limits.max_lines {
            None => (usize::MAX, usize::MAX),
            Some(max) => (max / 2, max.saturating_sub(1) / 2),
        };
        let head = first_lines(head_up_to(head, room - room / 2), head_lines);
        let (kept_tail, at_line_start) = last_lines(tail, room / 2, tail_lines, before_tail);

        let kept_bytes = as_u64(head.len() + kept_tail.len());
        let kept_newlines = newlines(head.as_bytes()) + newlines(kept_tail.as_bytes());
        let missing_bytes = self.total_bytes.saturating_sub(kept_bytes);
        // The tail goes on with a line whose start is missing.
        let missing_lines = self.newlines.saturating_sub(kept_newlines) + u64::from(!at_line_start);

        let mut text = String::with_capacity(head.len() + largest.len() + 2 + kept_tail.len());
        text.push_str(head);
        if !head.is_empty() && !head.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&self.marker(missing_lines, missing_bytes));
        if !kept_tail.is_empty() {
            text.push('\n');
            text.push_str(kept_tail);
        }
        self.result(text, missing_bytes, missing_lines)
    }

    fn marker_only(&self, marker: &str, limit: usize) -> Bounded {
        let (text, _) = split(marker, marker.floor_char_boundary(limit));
        self.result(text.to_owned(), self.total_bytes, self.total_lines)
    }

    fn result(&self, text: String, missing_bytes: u64, missing_lines: u64) -> Bounded {
        Bounded {
            text,
            truncated: true,
            missing_bytes,
            missing_lines,
            total_bytes: self.total_bytes,
            total_lines: self.total_lines,
        }
    }

    fn marker(&self, lines: u64, bytes: u64) -> String {
        let (lines, bytes) = (grouped(lines), grouped(bytes));
        match self.handle {
            Some(handle) => format!(
                "[... {lines} lines ({bytes} bytes) omitted; read_output with handle \"{handle}\" returns them ...]"
            ),
            None => format!("[... {lines} lines ({bytes} bytes) omitted ...]"),
        }
    }
}

/// The start of `text` that fits into `room`, ending with a line if one ends near.
fn head_up_to(text: &str, room: usize) -> &str {
    let (kept, _) = split(text, text.floor_char_boundary(room));
    let near = near_line_end(kept.len());
    match memchr::memrchr(b'\n', kept.as_bytes()) {
        Some(newline) if kept.len() - (newline + 1) <= near => split(kept, newline + 1).0,
        _ => kept,
    }
}

/// At most the first `count` lines.
fn first_lines(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        None => "",
        Some(nth) => match memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth) {
            Some(newline) => split(text, newline + 1).0,
            None => text,
        },
    }
}

/// The end of `text` that fits into `room` and has at most `count` lines, starting
/// with a line if one starts near; and whether it does start with a line.
fn last_lines(text: &str, room: usize, count: usize, before: Option<u8>) -> (&str, bool) {
    if count == 0 || room == 0 {
        return ("", text.is_empty() || text.ends_with('\n'));
    }
    let mut start = text.ceil_char_boundary(text.len().saturating_sub(room));
    let near = near_line_end(text.len() - start);
    let starts_line = |at: usize| match at.checked_sub(1) {
        None => before.is_none_or(|b| b == b'\n'),
        Some(previous) => text.as_bytes().get(previous) == Some(&b'\n'),
    };
    if !starts_line(start)
        && let Some(newline) = memchr::memchr(b'\n', split(text, start).1.as_bytes())
        && newline < near
    {
        start += newline + 1;
    }
    // The newline at the very end closes the last line and does not start another.
    let body = text.strip_suffix('\n').unwrap_or(text);
    if let Some(newline) = memchr::memrchr_iter(b'\n', body.as_bytes()).nth(count - 1) {
        start = start.max(newline + 1);
    }
    (split(text, start).1, starts_line(start))
}

/// A cut gives up at most a quarter of what it keeps for the sake of a line end.
fn near_line_end(kept: usize) -> usize {
    (kept / 4).min(NEAR_LINE_END)
}

/// What follows the rest of a character whose start is gone.
fn from_boundary(bytes: &[u8]) -> &str {
    let broken = bytes.iter().take_while(|&&b| b & 0xc0 == 0x80).count();
    std::str::from_utf8(bytes.get(broken..).unwrap_or_default()).unwrap_or_default()
}

fn newlines(bytes: &[u8]) -> u64 {
    as_u64(memchr::memchr_iter(b'\n', bytes).count())
}

fn as_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// `1234567` as `1,234,567`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
