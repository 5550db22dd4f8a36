//! The live region as a function of the state.
//!
//! ```text
//!   tail of the answer      what is being said
//!   calls                   spinner, name, time, output
//!   question                rows that scroll, choices
//!   queue, input, status
//! ```
//!
//! ```
//! use std::time::Duration;
//! use toolgate_tui::draw::draw;
//! use toolgate_tui::state::{State, Status};
//! use toolgate_tui::terminal::Size;
//!
//! let mut state = State::new(Status::default(), Vec::new());
//! let size = Size { columns: 40, rows: 10 };
//! let drawn = draw(&mut state, size, Duration::ZERO);
//! assert!(drawn.rows.len() < 10);
//! assert_eq!(drawn.panel_rows, None);
//! ```

mod panel;
mod status;

use std::time::Duration;

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use crate::state::calls::{Progress, TAIL};
use crate::state::{BOLD, DIM, SPIN, State};
use crate::terminal::Size;
use crate::text::{cut, one_line, wrapped};

const SPINNER: [char; 8] = ['⠋', '⠙', '⠸', '⠴', '⠦', '⠇', '⠏', '⠹'];

/// Rows of the input at most, as a part of the screen.
const INPUT_PART: u16 = 3;

/// A drawn live region.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Its rows.
    pub rows: Vec<Line<'static>>,
    /// The caret: column and row.
    pub caret: Option<(u16, u16)>,
    /// How many rows of the question are on the screen, if there is one.
    pub panel_rows: Option<usize>,
}

/// Draws the live region for a terminal of this size.
pub fn draw(state: &mut State, size: Size, now: Duration) -> Drawn {
    let columns = usize::from(size.columns.saturating_sub(1)).max(1);
    let most = usize::from(size.rows.saturating_sub(1)).max(3);
    let (input, caret) = input(state, columns, usize::from(size.rows / INPUT_PART).max(1));
    let mut below = queue(state, columns);
    let caret_row = below.len() + caret.1;
    below.extend(input);
    below.extend(status::fitting(state, columns, most / 3));
    below.push(status::line(state, columns, now));
    let left = most.saturating_sub(below.len());
    let mut above = Vec::new();
    let mut panel_rows = None;
    if state.panel.is_some() {
        // The question comes before everything else that moves.
        let (rows, shown) = panel::rows(state, columns, left, now);
        above = rows;
        panel_rows = Some(shown);
    }
    let left = left.saturating_sub(above.len());
    let mut rows = moving(state, columns, left, now);
    rows.extend(above);
    let before = rows.len();
    rows.extend(below);
    let over = rows.len().saturating_sub(most);
    rows.drain(..over);
    let row = (before + caret_row).saturating_sub(over);
    let panel_focus = state.panel.as_ref().is_some_and(|panel| panel.has_focus);
    let place = || Some((u16::try_from(caret.0).ok()?, u16::try_from(row).ok()?));
    Drawn {
        rows,
        caret: if panel_focus { None } else { place() },
        panel_rows,
    }
}

/// The spinner's shape now.
fn spinner(now: Duration) -> char {
    let step = now.as_millis() / SPIN.as_millis();
    let at = usize::try_from(step % 8).unwrap_or(0);
    SPINNER.get(at).copied().unwrap_or('*')
}

/// The tail of the answer and the calls under way, in so many rows.
fn moving(state: &State, columns: usize, most: usize, now: Duration) -> Vec<Line<'static>> {
    let mut calls = Vec::new();
    for call in &state.calls {
        calls.push(cut(&call.row(now, spinner(now)), columns));
        if matches!(call.progress, Progress::Running(_)) {
            let part = (most / 2).min(TAIL);
            let tail = call.tail.rows(part);
            calls.extend(tail.iter().map(|row| cut(row, columns)));
        }
    }
    let hidden = calls.len().saturating_sub(most);
    if hidden > 0 {
        calls.drain(..hidden);
    }
    let left = most - calls.len();
    let mut rows = Vec::new();
    if !state.thinking.is_empty() && left > 0 {
        let last = state.thinking.lines().next_back().unwrap_or_default();
        let line = Line::styled(
            format!("{} thinking: {}", spinner(now), one_line(last)),
            DIM,
        );
        rows.push(cut(&line, columns));
    }
    if !state.answer.is_empty() {
        rows.extend(wrapped(&state.answer.open(columns), columns));
    }
    if rows.is_empty()
        && calls.is_empty()
        && state.is_working()
        && state.panel.is_none()
        && left > 0
    {
        rows.push(Line::styled(
            format!("{} waiting for the model", spinner(now)),
            DIM,
        ));
    }
    let over = rows.len().saturating_sub(left);
    rows.drain(..over);
    rows.extend(calls);
    rows
}

/// What is sent when the turn is over.
fn queue(state: &State, columns: usize) -> Vec<Line<'static>> {
    let rows = state.queue.iter().map(|text| {
        let first = text.trim().lines().next().unwrap_or_default();
        let line = Line::styled(
            format!("queued: {} (Up takes it back)", one_line(first)),
            DIM,
        );
        cut(&line, columns)
    });
    rows.collect()
}

/// The rows of the input and the caret's place in them.
fn input(state: &State, columns: usize, most: usize) -> (Vec<Line<'static>>, (usize, usize)) {
    let prompt = Style::new().fg(Color::Cyan);
    if let Some((words, skip)) = &state.search {
        let found = state
            .history
            .search(words, *skip)
            .map_or("", |(_, text)| text);
        let found = one_line(found.lines().next().unwrap_or_default());
        let begin = format!("search: {}", one_line(words));
        let caret = crate::text::width(&begin).min(columns);
        let line = Line::from(vec![
            Span::styled(begin, prompt),
            Span::styled(format!("  {found}"), BOLD),
        ]);
        return (vec![cut(&line, columns)], (caret, 0));
    }
    let (rows, caret) = state.editor.rows(columns.saturating_sub(2));
    let first = (caret.1 + 1).saturating_sub(most);
    let shown = rows.iter().enumerate().skip(first).take(most);
    let rows = shown.map(|(number, row)| {
        let mark = if number == 0 { "> " } else { "  " };
        Line::from(vec![Span::styled(mark, prompt), Span::raw(row.clone())])
    });
    (rows.collect(), (caret.0 + 2, caret.1 - first))
}
