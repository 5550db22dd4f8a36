//! Lines as rows of a screen, and rows as pages that are read one after the other.
//!
//! ```text
//! Line ─▶ rows of at most this width ─▶ pages of at most this height ─▶ Enter ─▶ … ─▶ the last
//! ```
//!
//! A question that is longer than the screen would lose its beginning, and with it what the
//! answer is about. So its pages are shown one by one, and only the last of them takes a yes.

use std::io;

use unicode_width::UnicodeWidthChar;

use crate::clean::{Clean, Style, say, style};
use crate::tty::Tty;

/// Stands before the part of a line that did not fit into the row above.
const GOES_ON: &str = "     \u{21b3} ";
const GOES_ON_WIDTH: usize = 8;

/// A tab leads to the next multiple of this.
const TAB: usize = 8;

/// A line: pieces of text, each in its style.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Style, Clean)>);

impl Line {
    /// A line of this text, which is one line whatever is in it.
    pub(crate) fn of(style: Style, text: impl Into<Clean>) -> Self {
        Self::default().and(style, text)
    }

    /// The same with more text.
    pub(crate) fn and(mut self, style: Style, text: impl Into<Clean>) -> Self {
        self.0.push((style, text.into()));
        self
    }

    /// The rows that it takes on a screen of so many columns.
    pub(crate) fn rows(&self, columns: usize) -> Vec<Clean> {
        // A row has room for what stands before it and for a character.
        let columns = columns.max(GOES_ON_WIDTH + 2);
        let mut rows = vec![Clean::default()];
        let mut column = 0;
        for (style, text) in &self.0 {
            let mut piece = String::new();
            for c in text.plain().as_str().chars() {
                let wide = match c {
                    '\t' => TAB - column % TAB,
                    c => width(c),
                };
                if column + wide > columns {
                    add(&mut rows, *style, &mut piece);
                    rows.push(GOES_ON.into());
                    column = GOES_ON_WIDTH;
                }
                match c {
                    '\t' => piece.extend(std::iter::repeat_n(' ', wide.min(TAB))),
                    c => piece.push(c),
                }
                column += wide;
            }
            add(&mut rows, *style, &mut piece);
        }
        rows
    }
}

/// The most columns that a terminal gives a character. Beyond ASCII they do not agree: some give
/// two to what others give one or none.
fn width(c: char) -> usize {
    match c {
        c if c.is_ascii() => 1,
        c => c.width().unwrap_or(2).max(2),
    }
}

fn add(rows: &mut [Clean], style: Style, piece: &mut String) {
    let piece = std::mem::take(piece);
    if let Some(row) = rows.last_mut()
        && !piece.is_empty()
    {
        row.push(style.on(piece));
    }
}

/// What was typed before the last page was shown.
pub(crate) enum Read {
    /// Nothing but that the next page is wanted: the last one is shown.
    ToTheEnd,
    /// This instead, or nothing where the user went away.
    Stopped(Option<String>),
}

/// Shows lines page by page, leaving room for so many rows below the last page. `ends` says
/// which typed lines end the reading; `told` is what they are, for the line below a page.
pub(crate) fn read(
    tty: &mut Tty,
    lines: &[Line],
    (below, colours): (usize, bool),
    told: &'static str,
    ends: impl Fn(&str) -> bool,
) -> io::Result<Read> {
    let mut shown = 0;
    let mut known = None;
    loop {
        let (height, columns) = tty.size();
        if known != Some((height, columns)) {
            // Rows of another width are other rows: reading begins again.
            (shown, known) = (0, Some((height, columns)));
        }
        let rows: Vec<Clean> = lines.iter().flat_map(|line| line.rows(columns)).collect();
        let size = height.saturating_sub(below.max(2)).max(1);
        let page = rows.iter().skip(shown).take(size);
        tty.cut_rows(true)?;
        for row in page {
            let row = if colours { row.clone() } else { row.plain() };
            tty.show(say!("{}\n", row))?;
        }
        tty.cut_rows(false)?;
        shown += size;
        if shown >= rows.len() {
            if rows.len() > size {
                // What was typed for an earlier page is no answer to the last.
                tty.forget_typed()?;
            }
            return Ok(Read::ToTheEnd);
        }
        let (number, count) = (shown / size, rows.len().div_ceil(size));
        loop {
            // Keys that were pressed before this page was there turn no page.
            tty.forget_typed()?;
            tty.show(say!(
                "{} > ",
                style::BOLD.on(say!(
                    "Page {} of {}: [Enter] next page  {}",
                    number,
                    count,
                    told
                ))
            ))?;
            let Some(line) = tty.line()? else {
                return Ok(Read::Stopped(None));
            };
            if turns_the_page(&line) {
                break;
            }
            if ends(&line) {
                return Ok(Read::Stopped(Some(line)));
            }
            tty.show("Not yet: the rest has to be read first. ")?;
        }
    }
}

/// Enter, blanks, and the keys that lead down.
fn turns_the_page(line: &str) -> bool {
    let line = line.trim();
    let down = ["\u{1b}[B", "\u{1b}OB", "\u{1b}[6~"];
    line.is_empty() || down.contains(&line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean::style::{PLAIN, RED};

    #[test]
    fn a_long_line_becomes_rows_with_nothing_lost() {
        for text in [
            "",
            "short",
            &"x".repeat(10_000),
            &"漢字".repeat(300),
            &"\u{3248}".repeat(300),
            &"±é€".repeat(300),
            "a\tb",
        ] {
            for columns in [1, 9, 20, 80, 200] {
                let line = Line::of(PLAIN, "  1  ").and(RED, text.to_owned());
                let rows = line.rows(columns);
                let wide = columns.max(GOES_ON_WIDTH + 2);
                let mut all = String::new();
                for (at, row) in rows.iter().enumerate() {
                    let row = row.plain();
                    let shown: usize = row.as_str().chars().map(width).sum();
                    assert!(shown <= wide, "{columns}: {row:?}");
                    let row = row.as_str();
                    all.push_str(if at == 0 {
                        row
                    } else {
                        row.strip_prefix(GOES_ON).unwrap()
                    });
                }
                let expected = Clean::line(text);
                assert_eq!(all, format!("  1  {}", expected.as_str()), "{columns}");
            }
        }
    }

    #[test]
    fn a_tab_takes_its_room() {
        let rows = Line::of(PLAIN, Clean::lines("a\tb")).rows(80);
        assert_eq!(rows[0].as_str(), "a       b");
    }

    #[test]
    fn only_keys_that_mean_so_turn_a_page() {
        for (line, turns) in [
            ("\n", true),
            (" \n", true),
            ("\u{1b}[B\n", true),
            ("y\n", false),
            ("n\n", false),
        ] {
            assert_eq!(turns_the_page(line), turns, "{line:?}");
        }
    }
}
