//! The picture of a mistake: the line it is in and a caret under the place.
//!
//! ```text
//! error: unknown key `mod` in [tools]
//!   --> toolgate.toml:2:1
//!    |
//!  2 | mod = "enabled"
//!    | ^^^
//!    = help: did you mean `mode`?
//! ```
//!
//! The file may be anybody's: whatever a terminal would not show as it is, is
//! shown by its number, in the line as in the words around it.

use toolgate_gate::output::approval_text;
use unicode_width::UnicodeWidthChar;

use crate::setting_error::SettingError;
use crate::source::before;

/// How wide the shown part of a line may be.
const WIDTH: usize = 100;

/// How much is shown before the caret when a line is cut.
const LEAD: usize = 30;

/// How much of a text from the file is repeated in a message.
const QUOTED: usize = 80;

/// How long a message may be.
const MESSAGE: usize = 400;

const RED: &str = "\u{1b}[1;31m";
const BLUE: &str = "\u{1b}[1;34m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Text with everything that is invisible or controlling shown by its number.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(c, &mut shown));
    shown
}

/// Visible text, cut in the middle of a message that it would otherwise fill.
pub(crate) fn quoted(text: &str) -> String {
    short(text, QUOTED)
}

fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", visible(before(text, end))),
        None => visible(text),
    }
}

fn push_visible(c: char, shown: &mut String) {
    match c {
        ' '..='~' => shown.push(c),
        _ => shown.push_str(&approval_text(c.encode_utf8(&mut [0; 4]))),
    }
}

struct Ink {
    colours: bool,
}

impl Ink {
    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours {
            format!("{colour}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    }
}

/// Draws a mistake.
pub(crate) fn draw(mistake: &SettingError, colours: bool) -> String {
    let ink = Ink { colours };
    let (line, column) = mistake.place();
    let number = line.to_string();
    let margin = " ".repeat(number.len() + 1);
    let bar = ink.paint(BLUE, "|");
    let (text, caret) = excerpt(mistake);
    let mut picture = format!(
        "{}{}\n{margin}{} {}:{line}:{column}\n",
        ink.paint(RED, "error"),
        ink.paint(
            BOLD,
            &format!(": {}", short(&mistake.fault.to_string(), MESSAGE))
        ),
        ink.paint(BLUE, "-->"),
        visible(mistake.file()),
    );
    picture.push_str(&format!("{margin} {bar}\n"));
    picture.push_str(format!(" {} {bar} {text}", ink.paint(BLUE, &number)).trim_end());
    picture.push_str(&format!(
        "\n{margin} {bar} {}{}\n",
        " ".repeat(caret.0),
        ink.paint(RED, &"^".repeat(caret.1)),
    ));
    if let Some(help) = mistake.fault.help() {
        picture.push_str(&format!("{margin} {} help: {help}\n", ink.paint(BLUE, "=")));
    }
    picture
}

/// The line as it is shown, and where the caret starts and how long it is.
fn excerpt(mistake: &SettingError) -> (String, (usize, usize)) {
    let text = mistake.source.text();
    let head = before(text, mistake.span.start);
    let start = head.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..).unwrap_or_default();
    let line = line.split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let from = mistake.span.start.saturating_sub(start);
    let to = mistake.span.end.saturating_sub(start);

    let mut cells: Vec<(String, usize)> = Vec::new();
    let mut marked = (None, 0);
    let mut at = 0;
    for (offset, c) in line.char_indices() {
        let mut shown = String::new();
        match c {
            '\t' => shown.push_str("    "),
            c => push_visible(c, &mut shown),
        }
        let width = shown.chars().map(|c| c.width().unwrap_or(0)).sum();
        if offset >= from {
            marked.0.get_or_insert(at);
        }
        if offset >= from && offset < to {
            marked.1 += width;
        }
        cells.push((shown, width));
        at += width;
    }
    // A mistake of no length, or at the end of the line, still has a place.
    let caret = (marked.0.unwrap_or(at), marked.1.max(1));
    cut(&cells, at, caret)
}

/// The part of a long line around the caret.
fn cut(cells: &[(String, usize)], width: usize, caret: (usize, usize)) -> (String, (usize, usize)) {
    if width <= WIDTH {
        return (
            cells.iter().map(|(shown, _)| shown.as_str()).collect(),
            caret,
        );
    }
    let first = caret.0.saturating_sub(LEAD);
    let mut text = String::new();
    let mut skipped = 0;
    let mut at = 0;
    for (shown, wide) in cells {
        let next = at + wide;
        if next <= first {
            skipped = next;
        } else if next <= first + WIDTH {
            text.push_str(shown);
        } else {
            text.push('…');
            break;
        }
        at = next;
    }
    let lead = if skipped > 0 { 1 } else { 0 };
    if skipped > 0 {
        text.insert(0, '…');
    }
    let room = (first + WIDTH).saturating_sub(caret.0).max(1);
    (
        text,
        (caret.0.saturating_sub(skipped) + lead, caret.1.min(room)),
    )
}
