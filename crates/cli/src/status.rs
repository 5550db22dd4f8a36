//! A line at the end of what is shown that says what is waited for, and for how long.
//!
//! It stands on a terminal only, and only while nothing else is written: everything that prints
//! takes it away first ([`StatusLine::hold`]), and a question keeps it away until it is answered
//! ([`StatusLine::pause`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unicode_width::UnicodeWidthChar;

use crate::clean::Clean;
use crate::clean::style::DIM;
use crate::out::{columns, replace_row};

/// The line, or the place where one would stand.
#[derive(Debug, Default)]
pub(crate) struct StatusLine {
    is_on: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_shown: bool,
    paused: usize,
}

impl StatusLine {
    /// A line that is shown, or never.
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            state: Mutex::default(),
        }
    }

    /// Whether it is ever shown.
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Shows a text in place of the one before, cut to one row.
    pub(crate) fn show(&self, text: &str) {
        if !self.is_on {
            return;
        }
        let mut state = self.state();
        if state.paused > 0 {
            return;
        }
        state.is_shown = true;
        let text = Clean::line(text);
        replace_row(DIM.on(cut(text.as_str(), columns().saturating_sub(1))));
    }

    /// Takes it away, and keeps it away until the guard is dropped.
    pub(crate) fn hold(&self) -> Option<impl Drop + '_> {
        if !self.is_on {
            return None;
        }
        let mut state = self.state();
        erase(&mut state);
        Some(Held { _state: state })
    }

    /// Takes it away for a question.
    pub(crate) fn pause(self: &Arc<Self>) -> Paused {
        let mut state = self.state();
        erase(&mut state);
        state.paused += 1;
        Paused(Arc::clone(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn erase(state: &mut State) {
    if std::mem::take(&mut state.is_shown) {
        replace_row("");
    }
}

struct Held<'a> {
    _state: MutexGuard<'a, State>,
}

// Only so that it is an `impl Drop`: the guard inside does the work.
impl Drop for Held<'_> {
    fn drop(&mut self) {}
}

/// Keeps the line away.
pub(crate) struct Paused(Arc<StatusLine>);

impl Drop for Paused {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.paused = state.paused.saturating_sub(1);
    }
}

/// The beginning of a text that fits into so many columns.
fn cut(text: &str, columns: usize) -> Clean {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= columns
    };
    Clean::line(text.chars().take_while(fits).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_cut_by_the_columns_of_its_letters() {
        for (text, columns, row) in [
            ("abc", 5, "abc"),
            ("abcdef", 5, "abcde"),
            ("日本語", 5, "日本"),
            ("", 5, ""),
        ] {
            assert_eq!(cut(text, columns).as_str(), row);
        }
    }
}
