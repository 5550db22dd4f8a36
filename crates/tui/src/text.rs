//! Text that can be drawn: no character of it acts on a terminal, and none is unseen.
//!
//! ```text
//! words of models, tools, files ──▶ one_line, lines ──▶ Line (ratatui) ──▶ wrap ──▶ rows
//! ```
//!
//! The writer cleans every cell and every line once more, so a text that did not come this way
//! is harmless too.
//!
//! ```
//! use toolgate_tui::text::{lines, one_line};
//!
//! assert_eq!(one_line("a\u{1b}[2J\nb"), r"a\u{1b}[2J\nb");
//! assert_eq!(lines("a\tb\nc"), ["a   b", "c"]);
//! ```

use ratatui_core::text::{Line, Span};
use toolgate_model::characters::seen;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns between tab stops.
const TAB: usize = 4;

/// A text as one line: line ends and characters that would not be seen are written out.
pub fn one_line(text: &str) -> String {
    text.chars().flat_map(seen).collect()
}

/// A text as its lines, with tabs as blanks.
pub fn lines(text: &str) -> Vec<String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n').map(line).collect()
}

/// A line with tabs as blanks. A character that would not be seen is written out.
pub fn line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut column = 0;
    for c in text.chars() {
        if c == '\t' {
            let blanks = TAB - column % TAB;
            clean.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            for c in seen(c) {
                clean.push(c);
                column += 1;
            }
        }
    }
    clean
}

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// A text without the joiners and selectors that terminals disagree about.
fn plain(text: &str) -> String {
    let is_disputed = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    text.chars().filter(|c| !is_disputed(*c)).collect()
}

/// The rows that a line takes. A row breaks after a blank where there is one, and no row is wider
/// than `columns`.
pub fn wrap(line: &Line<'_>, columns: usize) -> Vec<Line<'static>> {
    let columns = columns.max(1);
    let mut rows = vec![Line::default()];
    let mut used = 0;
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let content = plain(&span.content);
        for word in content.split_word_bounds() {
            let wide = width(word);
            if used + wide > columns && wide <= columns && used > 0 {
                rows.push(Line::default());
                used = 0;
                if word.trim().is_empty() {
                    continue;
                }
            }
            let mut piece = String::new();
            for grapheme in word.graphemes(true) {
                let wide = width(grapheme);
                if used + wide > columns && used > 0 {
                    push(&mut rows, std::mem::take(&mut piece), style);
                    rows.push(Line::default());
                    used = 0;
                }
                piece.push_str(grapheme);
                used += wide;
            }
            push(&mut rows, piece, style);
        }
    }
    rows
}

fn push(rows: &mut [Line<'static>], text: String, style: ratatui_core::style::Style) {
    let Some(row) = rows.last_mut() else {
        return;
    };
    if text.is_empty() {
        return;
    }
    match row.spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(&text),
        _ => row.spans.push(Span::styled(text, style)),
    }
}

/// All rows of these lines.
pub fn wrapped(lines: &[Line<'_>], columns: usize) -> Vec<Line<'static>> {
    lines.iter().flat_map(|line| wrap(line, columns)).collect()
}

/// A line cut to these columns, with an ellipsis where something is missing.
pub fn cut(line: &Line<'_>, columns: usize) -> Line<'static> {
    let owned = |line: &Line<'_>| {
        let spans = line.spans.iter();
        let spans: Vec<Span<'static>> = spans
            .map(|span| Span::styled(span.content.to_string(), line.style.patch(span.style)))
            .collect();
        Line::from(spans)
    };
    if line.width() <= columns {
        return owned(line);
    }
    let mut short = Line::default();
    let mut left = columns.saturating_sub(1);
    'spans: for span in &line.spans {
        let style = line.style.patch(span.style);
        let mut piece = String::new();
        for grapheme in plain(&span.content).graphemes(true) {
            let wide = width(grapheme);
            if wide > left {
                short.spans.push(Span::styled(piece, style));
                break 'spans;
            }
            left -= wide;
            piece.push_str(grapheme);
        }
        short.spans.push(Span::styled(piece, style));
    }
    short.spans.push(Span::raw("…"));
    short
}

/// A number of bytes or tokens, short.
pub fn short_number(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=999_999 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// A time that has passed, short.
pub fn short_time(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize) -> Vec<String> {
        let rows = wrap(&Line::raw(text.to_owned()), columns);
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_break_at_blanks_and_never_exceed_the_columns() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(rows("", 5), [""]);
        for columns in 1..20 {
            for row in rows(
                "a 漢字 word \u{1f469}\u{200d}\u{1f680} eeeeeeeeeeeeee\u{301}",
                columns,
            ) {
                assert!(width(&row) <= columns.max(2), "{row:?} {columns}");
            }
        }
    }

    #[test]
    fn a_line_is_cut_with_an_ellipsis() {
        let line = Line::from(vec![Span::raw("abc"), Span::raw("漢字")]);
        assert_eq!(cut(&line, 7).to_string(), "abc漢字");
        assert_eq!(cut(&line, 6).to_string(), "abc漢…");
        assert_eq!(cut(&line, 2).to_string(), "a…");
    }

    #[test]
    fn nothing_in_a_line_acts_on_a_terminal() {
        let hostile = "a\u{1b}]0;t\u{7}\u{9b}2J\r\u{202e}b\u{2066}";
        for clean in [one_line(hostile), line(hostile)] {
            assert!(clean.chars().all(|c| (' '..='~').contains(&c)), "{clean}");
        }
    }
}
