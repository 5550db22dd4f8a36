//! The text that is being written: lines, a caret, and pastes as single blocks.
//!
//! ```
//! use toolgate_tui::input::Editor;
//!
//! let mut editor = Editor::default();
//! editor.insert("two words");
//! editor.delete_word();
//! assert_eq!(editor.text(), "two ");
//! editor.paste(&"line\n".repeat(50));
//! assert_eq!(editor.text().lines().count(), 50);
//! ```

use unicode_segmentation::UnicodeSegmentation;

use crate::text;

/// A paste with more lines or characters than this is shown as one block.
const LINES: usize = 5;
const CHARACTERS: usize = 400;

/// Stands for a paste in the text. Plane 15 has no characters of its own.
const FIRST: u32 = 0xf_0000;
const MOST: usize = 1000;

/// The text being written.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    /// The text; a paste that is one block is one character.
    held: String,
    /// The caret, a byte of `held` between two characters.
    caret: usize,
    pastes: Vec<String>,
    /// What was cut last.
    cut: String,
}

impl Editor {
    /// An editor with this text and the caret at its end.
    pub fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.set(text);
        editor
    }

    /// The whole text, with pastes.
    pub fn text(&self) -> String {
        self.expanded(&self.held)
    }

    fn expanded(&self, held: &str) -> String {
        let mut text = String::with_capacity(held.len());
        for c in held.chars() {
            match self.paste_at(c) {
                Some(paste) => text.push_str(paste),
                None => text.push(c),
            }
        }
        text
    }

    fn paste_at(&self, c: char) -> Option<&str> {
        let index = u32::from(c).checked_sub(FIRST)?;
        let paste = self.pastes.get(usize::try_from(index).ok()?);
        paste.map(String::as_str)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Replaces everything.
    pub fn set(&mut self, text: &str) {
        let cut = std::mem::take(&mut self.cut);
        *self = Self {
            cut,
            ..Self::default()
        };
        if is_block(text) {
            self.paste(text);
        } else {
            self.insert(text);
        }
    }

    /// Takes everything out.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.set("");
        text
    }

    /// Adds text at the caret.
    pub fn insert(&mut self, text: &str) {
        let normal = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_kept =
            |c: &char| (*c == '\n' || *c == '\t' || !c.is_control()) && u32::from(*c) < FIRST;
        let text: String = normal.chars().filter(is_kept).collect();
        self.put(&text);
    }

    fn put(&mut self, text: &str) {
        self.held.insert_str(self.caret, text);
        self.caret += text.len();
    }

    /// Adds a paste at the caret; a long one is one block.
    pub fn paste(&mut self, text: &str) {
        let index = self.pastes.len();
        let mark = u32::try_from(index)
            .ok()
            .and_then(|index| char::from_u32(FIRST + index));
        match mark {
            Some(mark) if is_block(text) && index < MOST => {
                let normal = text.replace("\r\n", "\n").replace('\r', "\n");
                self.pastes.push(normal);
                self.put(mark.encode_utf8(&mut [0; 4]));
            }
            _ => self.insert(text),
        }
    }

    /// The text before the caret, with pastes as marks.
    pub fn before(&self) -> &str {
        self.held.get(..self.caret).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.held.get(self.caret..).unwrap_or_default()
    }

    /// Removes so many bytes before the caret.
    pub fn remove_before(&mut self, bytes: usize) {
        let begin = self.caret.saturating_sub(bytes);
        if self.held.is_char_boundary(begin) {
            self.held.replace_range(begin..self.caret, "");
            self.caret = begin;
        }
    }

    fn previous(&self) -> usize {
        self.before()
            .graphemes(true)
            .next_back()
            .map_or(0, str::len)
    }

    fn next(&self) -> usize {
        self.after().graphemes(true).next().map_or(0, str::len)
    }

    /// Removes the character before the caret.
    pub fn backspace(&mut self) {
        self.remove_before(self.previous());
    }

    /// Removes the character at the caret.
    pub fn delete(&mut self) {
        let end = self.caret + self.next();
        self.held.replace_range(self.caret..end, "");
    }

    /// Moves the caret a character to the left.
    pub fn left(&mut self) {
        self.caret -= self.previous();
    }

    /// Moves the caret a character to the right.
    pub fn right(&mut self) {
        self.caret += self.next();
    }

    fn word_before(&self) -> usize {
        let before = self.before();
        let words = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        let rest = words.trim_end_matches(char::is_alphanumeric);
        before.len() - rest.len()
    }

    fn word_after(&self) -> usize {
        let after = self.after();
        let words = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        let rest = words.trim_start_matches(char::is_alphanumeric);
        after.len() - rest.len()
    }

    /// Moves the caret to the beginning of the word.
    pub fn word_left(&mut self) {
        self.caret -= self.word_before();
    }

    /// Moves the caret to the end of the word.
    pub fn word_right(&mut self) {
        self.caret += self.word_after();
    }

    /// Cuts the word before the caret.
    pub fn delete_word(&mut self) {
        let begin = self.caret - self.word_before();
        self.cut_out(begin, self.caret);
    }

    /// Cuts from the caret to the end of the line.
    pub fn cut_to_end(&mut self) {
        let rest = self.after().find('\n').unwrap_or(self.after().len());
        let end = self.caret + if rest == 0 { self.next() } else { rest };
        self.cut_out(self.caret, end);
    }

    /// Cuts from the beginning of the line to the caret.
    pub fn cut_to_start(&mut self) {
        let begin = self.before().rfind('\n').map_or(0, |at| at + 1);
        self.cut_out(begin, self.caret);
    }

    fn cut_out(&mut self, begin: usize, end: usize) {
        self.cut = self.held.get(begin..end).unwrap_or_default().to_owned();
        self.held.replace_range(begin..end, "");
        self.caret = begin;
    }

    /// Puts back what was cut last.
    pub fn put_back(&mut self) {
        let cut = self.cut.clone();
        self.put(&cut);
    }

    /// Moves the caret to the beginning of the line.
    pub fn home(&mut self) {
        self.caret = self.before().rfind('\n').map_or(0, |at| at + 1);
    }

    /// Moves the caret to the end of the line.
    pub fn end(&mut self) {
        self.caret += self.after().find('\n').unwrap_or(self.after().len());
    }

    /// Moves the caret a line up; false in the first.
    pub fn up(&mut self) -> bool {
        let before = self.before();
        let Some(end) = before.rfind('\n') else {
            return false;
        };
        let column = before.len() - end - 1;
        let above = before.get(..end).unwrap_or_default();
        let begin = above.rfind('\n').map_or(0, |at| at + 1);
        self.caret = self.boundary(begin + column.min(end - begin));
        true
    }

    /// Moves the caret a line down; false in the last.
    pub fn down(&mut self) -> bool {
        let begin = self.before().rfind('\n').map_or(0, |at| at + 1);
        let column = self.caret - begin;
        let Some(end) = self.after().find('\n') else {
            return false;
        };
        let below = self.caret + end + 1;
        let rest = self.held.get(below..).unwrap_or_default();
        let length = rest.find('\n').unwrap_or(rest.len());
        self.caret = self.boundary(below + column.min(length));
        true
    }

    fn boundary(&self, mut at: usize) -> usize {
        while !self.held.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// The rows that the text takes, and the caret's column and row among them.
    pub fn rows(&self, columns: usize) -> (Vec<String>, (usize, usize)) {
        let columns = columns.max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut at, mut caret) = (0, 0, (0, 0));
        for grapheme in self.held.graphemes(true) {
            if at == self.caret {
                caret = (used, rows.len() - 1);
            }
            at += grapheme.len();
            if grapheme == "\n" {
                rows.push(String::new());
                used = 0;
                continue;
            }
            let shown = self.shown(grapheme);
            for piece in shown.graphemes(true) {
                let wide = text::width(piece);
                if used + wide > columns {
                    rows.push(String::new());
                    used = 0;
                }
                if let Some(row) = rows.last_mut() {
                    row.push_str(piece);
                }
                used += wide;
            }
        }
        if at == self.caret {
            if used >= columns {
                rows.push(String::new());
                used = 0;
            }
            caret = (used, rows.len() - 1);
        }
        (rows, caret)
    }

    fn shown(&self, grapheme: &str) -> String {
        let paste = grapheme.chars().next().and_then(|c| self.paste_at(c));
        match paste {
            Some(paste) => match paste.lines().count() {
                1 => format!("[pasted {} characters]", paste.chars().count()),
                lines => format!("[pasted {lines} lines]"),
            },
            None if grapheme == "\t" => "    ".to_owned(),
            None => text::one_line(grapheme),
        }
    }
}

fn is_block(text: &str) -> bool {
    text.lines().nth(LINES).is_some() || text.chars().nth(CHARACTERS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_is_one_block_and_comes_out_whole() {
        let mut editor = Editor::default();
        editor.insert("see ");
        let paste = "x\r\n".repeat(100_000);
        editor.paste(&paste);
        editor.insert("!");
        assert_eq!(editor.rows(40).0, ["see [pasted 100000 lines]!"]);
        assert_eq!(editor.text(), format!("see {}!", "x\n".repeat(100_000)));
        editor.left();
        editor.backspace();
        assert_eq!(editor.text(), "see !");
    }

    #[test]
    fn the_caret_moves_by_what_is_seen() {
        let mut editor = Editor::with("aé漢e\u{301}");
        editor.backspace();
        assert_eq!(editor.text(), "aé漢");
        editor.left();
        editor.delete();
        assert_eq!(editor.text(), "aé");
        assert_eq!(editor.rows(10).1, (2, 0));
        editor.set("one\ntwo longer\nx");
        assert!(editor.up() && editor.up() && !editor.up());
        assert!(editor.down());
        editor.end();
        editor.insert("!");
        assert_eq!(editor.text(), "one\ntwo longer!\nx");
        editor.home();
        editor.cut_to_end();
        editor.put_back();
        assert_eq!(editor.text(), "one\ntwo longer!\nx");
        assert_eq!(
            Editor::with("abcdef").rows(3),
            (vec!["abc".into(), "def".into(), String::new()], (0, 2))
        );
    }

    #[test]
    fn nothing_typed_or_pasted_can_stand_for_another_paste() {
        let mut editor = Editor::default();
        editor.paste(&"a\n".repeat(9));
        editor.paste("\u{f0000}\u{1b}x");
        assert_eq!(editor.text(), format!("{}x", "a\n".repeat(9)));
    }
}
