//! The inline writer: finished lines scroll away above a live region, and are never touched again.
//!
//! ```text
//! finished lines ──▶ printed once, wrapped by the terminal
//! live rows ───────▶ cells ──▶ only those that changed are written
//! ```
//!
//! Nothing here is an absolute position: the cursor moves relative to the live region, room is
//! made with newlines, and a frame is one write inside a synchronized update. A frame that
//! changes nothing writes nothing.

use std::io::{self, Write};

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::sgr::{Colours, sequence};
use crate::text;

/// Every colour and weight off.
const OFF: &str = "\u{1b}[0m";

/// The terminal's columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// One frame: what is printed for good, and what the live region shows.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Logical lines, printed once.
    pub finished: Vec<Line<'static>>,
    /// Rows of the live region, no wider than the terminal less one column.
    pub live: Vec<Line<'static>>,
    /// Where the caret stands in the live region: column and row. Nothing hides it.
    pub caret: Option<(u16, u16)>,
}

/// The inline writer.
#[derive(Debug)]
pub struct Inline<W> {
    out: W,
    size: Size,
    colours: Colours,
    /// Whether the terminal wraps rows anew when its width changes.
    reflows: bool,
    live: Option<Buffer>,
    /// The cursor: column and row in the live region.
    at: (u16, u16),
    caret_is_hidden: bool,
}

impl<W: Write> Inline<W> {
    /// A writer at the beginning of a row.
    pub fn new(out: W, size: Size, colours: Colours, reflows: bool) -> Self {
        Self {
            out,
            size,
            colours,
            reflows,
            live: None,
            at: (0, 0),
            caret_is_hidden: false,
        }
    }

    /// The size that the last frame was drawn for.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Draws a frame for a terminal of this size. Returns whether anything was written.
    pub fn draw(&mut self, frame: &Frame, size: Size) -> io::Result<bool> {
        let mut out = String::new();
        if size != self.size {
            self.forget_layout(&mut out, size);
        }
        if !frame.finished.is_empty() {
            self.clear(&mut out);
            for line in &frame.finished {
                self.line(&mut out, line);
                out.push_str("\r\n");
            }
        }
        let next = self.buffer(&frame.live);
        let before = out.len();
        match self.live.take() {
            Some(last) if last.area == next.area => self.changes(&mut out, &last, &next),
            last => {
                self.live = last;
                self.clear(&mut out);
                self.whole(&mut out, &next);
            }
        }
        if before == out.len() && out.is_empty() {
            self.live = Some(next);
            if !self.place(&mut out, frame.caret) {
                return Ok(false);
            }
        } else {
            self.live = Some(next);
            self.place(&mut out, frame.caret);
        }
        let written = format!("\u{1b}[?2026h\u{1b}[?25l{out}{}\u{1b}[?2026l", {
            if self.caret_is_hidden {
                ""
            } else {
                "\u{1b}[?25h"
            }
        });
        self.out.write_all(written.as_bytes())?;
        self.out.flush()?;
        Ok(true)
    }

    /// Takes the live region away and leaves the cursor where it began.
    pub fn end(&mut self) -> io::Result<()> {
        let mut out = String::new();
        self.clear(&mut out);
        self.caret_is_hidden = false;
        out.push_str("\u{1b}[?25h");
        self.out.write_all(out.as_bytes())?;
        self.out.flush()
    }

    /// Writes these bytes outside of any frame: a notification, a copy to the clipboard.
    pub fn send(&mut self, bytes: &str) -> io::Result<()> {
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Forgets the live region without clearing it: something else has drawn there.
    pub fn forget(&mut self) {
        self.live = None;
        self.at = (0, 0);
    }

    /// After a change of size the region's rows may be wrapped: they are found by their lengths.
    fn forget_layout(&mut self, out: &mut String, size: Size) {
        let columns = usize::from(size.columns.max(1));
        let narrower = size.columns < self.size.columns;
        self.size = size;
        let Some(live) = self.live.take() else {
            return;
        };
        let (x, y) = self.at;
        let heights: Vec<usize> = (0..live.area.height)
            .map(|row| match narrower && self.reflows {
                true => usize::from(length(&live, row)).div_ceil(columns).max(1),
                false => 1,
            })
            .collect();
        let above: usize = heights.iter().take(usize::from(y)).sum();
        let inside = match narrower && self.reflows {
            // A caret behind the text does not wrap with it.
            true => (usize::from(x) / columns)
                .min(heights.get(usize::from(y)).copied().unwrap_or(1) - 1),
            false => 0,
        };
        let most = usize::from(size.rows.saturating_sub(1));
        let up = (above + inside).min(most);
        let total: usize = heights.iter().sum();
        let total = total.min(usize::from(size.rows)).max(1);
        clear_rows(out, up, total);
        self.at = (0, 0);
    }

    /// Clears the live region; the cursor stands where it began.
    fn clear(&mut self, out: &mut String) {
        if let Some(live) = self.live.take() {
            clear_rows(out, usize::from(self.at.1), usize::from(live.area.height));
        }
        self.at = (0, 0);
    }

    /// A logical line, which the terminal wraps itself.
    fn line(&self, out: &mut String, line: &Line<'_>) {
        for span in &line.spans {
            let style = line.style.patch(span.style);
            let on = sequence(style, self.colours);
            out.push_str(&on);
            out.push_str(&text::one_line(&span.content));
            if !on.is_empty() {
                out.push_str(OFF);
            }
        }
    }

    /// The rows as cells.
    fn buffer(&self, rows: &[Line<'static>]) -> Buffer {
        let most = self.size.rows.saturating_sub(1).max(1);
        let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).clamp(1, most);
        let width = self.size.columns.saturating_sub(1).max(1);
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        for (row, line) in (0..height).zip(rows) {
            buffer.set_line(0, row, line, width);
        }
        buffer
    }

    fn whole(&mut self, out: &mut String, next: &Buffer) {
        out.push_str("\u{1b}[?7l");
        for row in 0..next.area.height {
            if row > 0 {
                out.push_str("\r\n");
            }
            let end = length(next, row);
            self.cells(out, next, row, 0..end);
        }
        out.push_str("\u{1b}[?7h");
        let last = next.area.height.saturating_sub(1);
        self.at = (length(next, last), last);
    }

    /// Cells of a row, from where the cursor stands.
    fn cells(&self, out: &mut String, buffer: &Buffer, row: u16, columns: std::ops::Range<u16>) {
        let mut style = Style::new();
        let mut on = String::new();
        let mut skip_to = columns.start;
        for x in columns {
            let Some(cell) = buffer.cell((x, row)) else {
                continue;
            };
            if x < skip_to {
                continue;
            }
            if cell.style() != style {
                style = cell.style();
                let wanted = sequence(style, self.colours);
                if wanted != on {
                    if !on.is_empty() {
                        out.push_str(OFF);
                    }
                    out.push_str(&wanted);
                    on = wanted;
                }
            }
            out.push_str(&text::one_line(cell.symbol()));
            let wide = text::width(cell.symbol()).max(1);
            skip_to = x.saturating_add(u16::try_from(wide).unwrap_or(1));
            if !cell.symbol().is_ascii() {
                // Terminals disagree about widths: the next cell is where it belongs.
                column(out, skip_to);
            }
        }
        if !on.is_empty() {
            out.push_str(OFF);
        }
    }

    /// The cells that differ, each at its place.
    fn changes(&mut self, out: &mut String, last: &Buffer, next: &Buffer) {
        let begins = out.len();
        for row in 0..next.area.height {
            let (was, is) = (length(last, row), length(next, row));
            let differs = |x: &u16| last.cell((*x, row)) != next.cell((*x, row));
            let first = (0..is).find(differs);
            let end = (0..is).rev().find(differs).map_or(0, |x| x + 1);
            if first.is_none() && was <= is {
                continue;
            }
            if out.len() == begins {
                out.push_str("\u{1b}[?7l");
            }
            self.row(out, row);
            if let Some(first) = first {
                let first = grapheme_start(next, row, first);
                column(out, first);
                self.cells(out, next, row, first..end);
            }
            if was > is {
                column(out, is);
                out.push_str("\u{1b}[K");
            }
            self.at.0 = u16::MAX;
        }
        if out.len() > begins {
            out.push_str("\u{1b}[?7h");
        }
    }

    /// Moves the cursor to a row of the live region.
    fn row(&mut self, out: &mut String, row: u16) {
        match row.cmp(&self.at.1) {
            std::cmp::Ordering::Less => out.push_str(&format!("\u{1b}[{}A", self.at.1 - row)),
            std::cmp::Ordering::Greater => out.push_str(&format!("\u{1b}[{}B", row - self.at.1)),
            std::cmp::Ordering::Equal => {}
        }
        self.at.1 = row;
    }

    /// Puts the cursor at the caret. Returns whether anything had to be done.
    fn place(&mut self, out: &mut String, caret: Option<(u16, u16)>) -> bool {
        let was_hidden = std::mem::replace(&mut self.caret_is_hidden, caret.is_none());
        let Some((x, y)) = caret else {
            return !was_hidden;
        };
        if self.at == (x, y) {
            return was_hidden;
        }
        self.row(out, y);
        column(out, x);
        self.at = (x, y);
        true
    }
}

/// Clears rows that begin so many above the cursor; the cursor stands in the first.
fn clear_rows(out: &mut String, above: usize, count: usize) {
    out.push('\r');
    if above > 0 {
        out.push_str(&format!("\u{1b}[{above}A"));
    }
    for row in 0..count {
        if row > 0 {
            out.push_str("\u{1b}[1B");
        }
        out.push_str("\u{1b}[2K");
    }
    if count > 1 {
        out.push_str(&format!("\u{1b}[{}A", count - 1));
    }
}

fn column(out: &mut String, x: u16) {
    out.push_str(&format!("\u{1b}[{}G", u32::from(x) + 1));
}

/// The columns of a row up to its last cell that is not blank.
fn length(buffer: &Buffer, row: u16) -> u16 {
    let is_drawn = |x: &u16| {
        let cell = buffer.cell((*x, row));
        cell.is_some_and(|cell| {
            *cell != Cell::EMPTY && (cell.symbol() != " " || cell.style() != Cell::EMPTY.style())
        })
    };
    let last = (0..buffer.area.width).rev().find(is_drawn);
    let Some(last) = last else {
        return 0;
    };
    let wide = buffer
        .cell((last, row))
        .map_or(1, |cell| text::width(cell.symbol()).max(1));
    let end = usize::from(last) + wide;
    u16::try_from(end)
        .unwrap_or(u16::MAX)
        .min(buffer.area.width)
}

/// Where the character that covers a cell begins.
fn grapheme_start(buffer: &Buffer, row: u16, x: u16) -> u16 {
    let before = x.checked_sub(1).and_then(|left| buffer.cell((left, row)));
    match before {
        Some(cell) if text::width(cell.symbol()) > 1 => x - 1,
        _ => x,
    }
}
