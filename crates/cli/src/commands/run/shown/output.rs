//! The output of commands while they run.

use std::collections::VecDeque;

use toolgate_model::{CallId, Stream};

use crate::clean::Clean;
use crate::clean::style::DIM;
use crate::out::Out;

/// On a terminal the first lines of an output are shown as they come.
const FIRST: usize = 20;

/// Of what follows, these many are shown when the command has ended.
const LAST: usize = 5;

/// Whose line the cursor stands in.
type From = (CallId, Stream);

/// The outputs of the calls that run.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    /// Whether long ones are folded.
    folds: bool,
    /// Whose line has not ended.
    open: Option<From>,
    /// Whose lines were ended before they ended them: their own line end is not shown again.
    ended: Vec<From>,
    calls: Vec<Shown>,
}

/// What was shown of a call's output.
#[derive(Debug)]
struct Shown {
    call: CallId,
    lines: usize,
    hidden: usize,
    /// The last lines that are not shown yet; the last one may not have ended.
    last: VecDeque<String>,
}

impl Outputs {
    pub(super) fn new(folds: bool) -> Self {
        Self {
            folds,
            ..Self::default()
        }
    }

    /// Whether a line has not ended.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A piece of an output. Its line stays open until somebody else writes.
    pub(super) fn take(&mut self, (call, stream): (&CallId, Stream), text: &str, out: &Out) {
        let from = (call.clone(), stream);
        let mut text = text;
        if let Some(at) = self.ended.iter().position(|ended| *ended == from) {
            self.ended.swap_remove(at);
            text = text.strip_prefix('\n').unwrap_or(text);
        }
        let text = match self.folds {
            true => self.folded(call, text),
            false => text.to_owned(),
        };
        if text.is_empty() {
            return;
        }
        if self.open.as_ref() != Some(&from) {
            self.end_line(out);
        }
        out.piece(DIM.on(Clean::lines(&text)));
        self.open = (!text.ends_with('\n')).then_some(from);
    }

    /// The part of a piece that is shown now.
    fn folded(&mut self, call: &CallId, text: &str) -> String {
        let at = self.calls.iter().position(|shown| shown.call == *call);
        let at = at.unwrap_or_else(|| {
            self.calls.push(Shown {
                call: call.clone(),
                lines: 0,
                hidden: 0,
                last: VecDeque::new(),
            });
            self.calls.len() - 1
        });
        let mut now = String::new();
        if let Some(shown) = self.calls.get_mut(at) {
            for line in text.split_inclusive('\n') {
                shown.take(line, &mut now);
            }
        }
        now
    }

    /// Ends the line that is open.
    pub(super) fn end_line(&mut self, out: &Out) {
        if let Some(from) = self.open.take() {
            out.piece("\n");
            self.ended.push(from);
        }
    }

    /// The call has ended: its last lines are shown. How many lines were left out.
    pub(super) fn finish(&mut self, call: &CallId, out: &Out) -> usize {
        self.end_line(out);
        self.ended.retain(|(of, _)| of != call);
        let at = self.calls.iter().position(|shown| shown.call == *call);
        let Some(shown) = at.map(|at| self.calls.swap_remove(at)) else {
            return 0;
        };
        if shown.hidden > 0 && !shown.last.is_empty() {
            out.remark(DIM.on("  …"));
        }
        for line in &shown.last {
            out.remark(DIM.on(Clean::lines(line.trim_end_matches('\n'))));
        }
        shown.hidden
    }
}

impl Shown {
    fn take(&mut self, line: &str, now: &mut String) {
        if self.lines < FIRST {
            now.push_str(line);
            self.lines += usize::from(line.ends_with('\n'));
            return;
        }
        match self.last.back_mut() {
            Some(open) if !open.ends_with('\n') => open.push_str(line),
            _ => self.last.push_back(line.to_owned()),
        }
        if self.last.len() > LAST {
            self.last.pop_front();
            self.hidden += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_come_at_once_and_the_last_at_the_end() {
        let mut outputs = Outputs::new(true);
        let call = CallId::from("c");
        let mut now = String::new();
        for number in 1..=100 {
            now.push_str(&outputs.folded(&call, &format!("line {number}")));
            now.push_str(&outputs.folded(&call, "\n"));
        }
        assert_eq!(now.lines().count(), FIRST);
        let shown = outputs.calls.pop().unwrap();
        assert_eq!(shown.hidden, 100 - FIRST - LAST);
        assert_eq!(shown.last.back().unwrap(), "line 100\n");
        assert_eq!(shown.last.front().unwrap(), "line 96\n");
    }
}
