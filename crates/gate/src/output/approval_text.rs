//! Approval mode: one line in which nothing is hidden from the user who decides.

use super::chars::{clear, may_be_unclear};

/// The most characters that [`approval_text`] returns.
pub const APPROVAL_TEXT_CHARS: usize = 200;

/// From this many on, equal unclear characters are shown once, with their number.
/// Fewer are as short written out, and easier to read.
const COUNTED_FROM: usize = 4;

/// More blanks in a row than this push what follows out of sight: their number is shown.
pub(super) const MOST_BLANKS: usize = 40;

/// What stands for the middle of a text that is too long.
const ELLIPSIS: char = '…';

/// `text` as one line for a question: backslashes doubled, everything that cannot
/// be seen written as `\n`, `\r`, `\t` or `\u{hex}`, blanks collapsed to one, four or
/// more equal unseen characters as `[\n x100]`. Of more than
/// [`APPROVAL_TEXT_CHARS`] characters the head and the tail are kept, because what
/// does the damage can stand at either end; an escape is never cut in two.
///
/// ```
/// # use toolgate_gate::output::approval_text;
/// assert_eq!(approval_text("ls\nAllowed: yes"), r"ls\nAllowed: yes");
/// assert_eq!(approval_text(r"ls\nAllowed: yes"), r"ls\\nAllowed: yes");
/// ```
#[must_use]
pub fn approval_text(text: &str) -> String {
    line(text, "\\\\")
}

/// The same for a sentence whose names are written out already: its backslashes are those of
/// escapes and stay, so that the user reads them once.
///
/// ```
/// # use toolgate_gate::output::approval_sentence;
/// assert_eq!(approval_sentence("`write a\\nb`\u{202e}"), r"`write a\nb`\u{202e}");
/// ```
#[must_use]
pub fn approval_sentence(text: &str) -> String {
    line(text, "\\")
}

/// [`approval_text`] of any length: nothing is left out of its middle, and blanks stay unless
/// they are so many that they push the rest out of sight; then their number is shown.
///
/// ```
/// # use toolgate_gate::output::whole_line;
/// assert_eq!(whole_line("a  b\n"), r"a  b\n");
/// assert_eq!(whole_line(&format!("a{}b", " ".repeat(90))), r"a[\u{20} x90]b");
/// ```
#[must_use]
pub fn whole_line(text: &str) -> String {
    whole(text, "\\\\")
}

/// [`approval_sentence`] of any length.
#[must_use]
pub fn whole_sentence(text: &str) -> String {
    whole(text, "\\")
}

fn whole(text: &str, backslash: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = clear(text).peekable();
    while let Some((c, is_clear)) = chars.next() {
        let mut count = 1;
        if c == ' ' || !is_clear {
            while chars.next_if_eq(&(c, is_clear)).is_some() {
                count += 1;
            }
        }
        match c {
            '\\' => shown.push_str(backslash),
            ' ' if count <= MOST_BLANKS => shown.extend(std::iter::repeat_n(' ', count)),
            ' ' => shown.push_str(&format!("[\\u{{20}} x{count}]")),
            _ if is_clear => shown.push(c),
            _ => shown.push_str(&piece(c, count)),
        }
    }
    shown
}

fn line(text: &str, backslash: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let rendered = |chars: &mut Chars<'_>, room| rendered(chars, room, backslash);
    let chars: Vec<(char, bool)> = clear(text).collect();
    let (whole, complete) = rendered(&mut chars.iter().copied(), APPROVAL_TEXT_CHARS);
    if complete {
        return whole.concat();
    }
    // Runs are the same from both ends, and the whole is longer than both parts:
    // they cannot overlap.
    let head_chars = APPROVAL_TEXT_CHARS / 2;
    let (head, _) = rendered(&mut chars.iter().copied(), head_chars);
    let (tail, _) = rendered(
        &mut chars.iter().copied().rev(),
        APPROVAL_TEXT_CHARS - 1 - head_chars,
    );
    let mut short = head.concat();
    short.push(ELLIPSIS);
    short.extend(tail.into_iter().rev());
    short
}

/// Whether a text is its own line, as most are.
fn is_plain(text: &str) -> bool {
    let seen = |c: char| c != '\\' && !may_be_unclear(c);
    text.len() <= APPROVAL_TEXT_CHARS && text.chars().all(seen) && !text.contains("  ")
}

/// Characters, each with whether it is clear.
type Chars<'a> = dyn Iterator<Item = (char, bool)> + 'a;

/// The pieces that fit into `room` characters, in the order of `chars`, and whether
/// that is all of them.
fn rendered(chars: &mut Chars<'_>, room: usize, backslash: &str) -> (Vec<String>, bool) {
    let mut chars = chars.peekable();
    let mut pieces = Vec::new();
    let mut room = room;
    while let Some((c, is_clear)) = chars.next() {
        let mut count = 1;
        if c == ' ' || !is_clear {
            while chars.next_if_eq(&(c, is_clear)).is_some() {
                count += 1;
            }
        }
        let piece = match c {
            '\\' => backslash.to_owned(),
            _ if is_clear => c.to_string(),
            _ => piece(c, count),
        };
        let Some(left) = room.checked_sub(piece.chars().count()) else {
            return (pieces, false);
        };
        room = left;
        pieces.push(piece);
    }
    (pieces, true)
}

/// One character that cannot be seen, or several of it.
pub(super) fn piece(c: char, count: usize) -> String {
    let one = match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    };
    if count < COUNTED_FROM {
        one.repeat(count)
    } else {
        format!("[{one} x{count}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        let cases = [
            ("ls -la", "ls -la"),
            ("a\tb\r\nc", r"a\tb\r\nc"),
            ("a\u{1b}[31mb", r"a\u{1b}[31mb"),
            (
                "a\u{202e}b\u{200d}c\u{fe0f}",
                r"a\u{202e}b\u{200d}c\u{fe0f}",
            ),
            ("a\u{a0}b\u{3000}c", r"a\u{a0}b\u{3000}c"),
            ("\u{e0041}", r"\u{e0041}"),
            ("a\n\n\nb", r"a\n\n\nb"),
            ("a\n\n\n\nb", r"a[\n x4]b"),
            (r"[\n x4]", r"[\\n x4]"),
            ("a    b  c", "a b c"),
            ("  a  ", " a "),
            ("größe 漢字 🦀", "größe 漢字 🦀"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(approval_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn padding_does_not_push_the_end_out_of_sight() {
        for pad in [
            " ", "\n", "\t", "\u{200b}", "\u{a0}", "\u{3164}", "a", "\\", "\r\n", " \u{a0}",
        ] {
            let line = approval_text(&format!("ls{}; rm -rf ~", pad.repeat(5_000)));
            assert!(
                line.starts_with("ls") && line.ends_with("; rm -rf ~"),
                "{pad:?}: {line}"
            );
            assert!(line.chars().count() <= APPROVAL_TEXT_CHARS);
        }
    }

    #[test]
    fn a_text_that_just_fits_is_whole_and_the_next_is_cut_between_escapes() {
        let fits = "a".repeat(APPROVAL_TEXT_CHARS);
        assert_eq!(approval_text(&fits), fits);
        let cut = approval_text(&"ab\u{202e}".repeat(100));
        assert!(cut.contains(ELLIPSIS));
        let rest = cut
            .replace("ab", "")
            .replace("\\u{202e}", "")
            .replace(['a', 'b'], "");
        assert_eq!(rest, "…");
    }
}
