//! From places to spans: one pass over a text that arrives in windows.
//!
//! A window is decided up to the first place whose rule needs to see more, or up to
//! what may be the start of something not yet whole; the rest is the beginning of the
//! next window. A rule sees the same text however the windows fall, so the spans are
//! the same too.

use super::cursor::{Cursor, NeedMore};
use super::rules::Rules;
use super::tail::Tail;
use super::{HOLD_BACK_BYTES, SecretClass, split};

/// What a rule found, with offsets from the place it was asked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Secret {
    pub(super) start: usize,
    /// The end of what the rule has seen of it.
    pub(super) end: usize,
    pub(super) class: SecretClass,
    /// What swallows the rest.
    pub(super) tail: Option<Tail>,
}

/// What comes out, in order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'w> {
    /// Text without secrets.
    Text(&'w str),
    /// Here a secret was left out, which starts at this offset of the whole text.
    Secret { start: usize, class: SecretClass },
    /// The last secret reaches this offset of the whole text.
    CoveredTo(usize),
}

/// How far a text has been decided. All offsets are those of the whole text.
#[derive(Debug, Default, Clone)]
pub(super) struct Scan {
    /// Where the next window starts.
    position: usize,
    /// The character in front of it.
    before: Option<char>,
    /// The end of the last secret.
    covered: usize,
    /// The class of the last secret.
    class: Option<SecretClass>,
    /// Secrets that start behind the next window's start.
    waiting: Vec<Secret>,
    /// Secrets that reached the end of the last window, and where they go on.
    open: Vec<(usize, Tail)>,
}

impl Scan {
    /// Decides as much of `window` as can be, and returns how much that is. The next
    /// window has to start there. With the `last` window everything is decided.
    pub(super) fn advance(
        &mut self,
        rules: &Rules,
        window: &str,
        last: bool,
        emit: &mut impl FnMut(Piece<'_>),
    ) -> usize {
        for (at, tail) in std::mem::take(&mut self.open) {
            self.follow(at, tail, window, emit);
        }
        let decided = self.ask(rules, window, last);
        self.waiting
            .sort_by_key(|secret| (secret.start, secret.class));
        let end = self.position + decided;
        let ready = self.waiting.partition_point(|secret| secret.start < end);
        let later = self.waiting.split_off(ready);
        for secret in std::mem::replace(&mut self.waiting, later) {
            self.take(secret, window, emit);
        }
        self.emit_text(end, window, emit);
        self.before = window
            .get(..decided)
            .and_then(|w| w.chars().next_back())
            .or(self.before);
        self.position = end;
        decided
    }

    /// Asks the rules at every place; returns the end of what is decided.
    fn ask(&mut self, rules: &Rules, window: &str, last: bool) -> usize {
        let mut decided = if last {
            window.len()
        } else {
            rules.cut_off(window)
        };
        let mut found = Vec::new();
        for place in rules.places(window) {
            if place.start >= decided {
                break;
            }
            let (behind, ahead) = split(window, place.start);
            let before = behind.chars().next_back().or(self.before);
            let (seen, _) = split(ahead, ahead.floor_char_boundary(HOLD_BACK_BYTES));
            let more = !last && ahead.len() < HOLD_BACK_BYTES;
            match rules.judge(place, Cursor::new(before, seen, more)) {
                Err(NeedMore) => decided = place.start,
                Ok(None) => {}
                Ok(Some(secret)) => found.push((place.start, secret)),
            }
        }
        // Other rules at the place that needs more are asked again with it.
        let found = found.into_iter().filter(|&(place, _)| place < decided);
        self.waiting.extend(found.map(|(place, secret)| Secret {
            start: self.position + place + secret.start,
            end: self.position + place + secret.end,
            ..secret
        }));
        decided
    }

    fn take(&mut self, secret: Secret, window: &str, emit: &mut impl FnMut(Piece<'_>)) {
        // The pieces of one long value stand side by side and are one secret.
        let goes_on = secret.start == self.covered
            && secret.class == SecretClass::Env
            && self.class == Some(SecretClass::Env);
        if secret.start >= self.covered && !goes_on {
            self.emit_text(secret.start, window, emit);
            emit(Piece::Secret {
                start: secret.start,
                class: secret.class,
            });
            self.class = Some(secret.class);
        }
        self.cover(secret.end, emit);
        if let Some(tail) = secret.tail {
            self.follow(secret.end, tail, window, emit);
        }
    }

    /// Lets a tail swallow what it can of the window, from offset `at`.
    fn follow(
        &mut self,
        at: usize,
        mut tail: Tail,
        window: &str,
        emit: &mut impl FnMut(Piece<'_>),
    ) {
        let (_, rest) = split(window, at - self.position.min(at));
        let (swallowed, open) = tail.swallow(rest);
        self.cover(at + swallowed, emit);
        if open {
            self.open.retain(|(_, older)| !tail.replaces(older));
            self.open.push((at + swallowed, tail));
        }
    }

    fn cover(&mut self, end: usize, emit: &mut impl FnMut(Piece<'_>)) {
        if end > self.covered {
            self.covered = end;
            emit(Piece::CoveredTo(end));
        }
    }

    /// Emits the text up to offset `end` that no secret covers.
    fn emit_text(&self, end: usize, window: &str, emit: &mut impl FnMut(Piece<'_>)) {
        let from = self.covered.max(self.position) - self.position;
        match window.get(from..end.saturating_sub(self.position)) {
            Some(text) if !text.is_empty() => emit(Piece::Text(text)),
            _ => {}
        }
    }
}
