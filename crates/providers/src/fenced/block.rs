//! The content of one tool block while it arrives.

use super::fault::BlockError;
use super::fence::{Closer, Fence};

/// An open tool block. Keeps at most as many bytes as a block may have, and counts the rest.
#[derive(Debug)]
pub(super) struct Block {
    fence: Fence,
    /// How many spaces the opening fence had; so many are taken from the start of each line.
    indent: usize,
    indent_left: usize,
    closer: Closer,
    max_bytes: usize,
    content: String,
    bytes: usize,
    /// How many bytes came before the current line and the line end in front of
    /// it: what is left of the content if this line closes the block.
    before_line: usize,
    not_utf8: bool,
}

impl Block {
    pub(super) const fn new(fence: Fence, indent: usize, max_bytes: usize) -> Self {
        Self {
            fence,
            indent,
            indent_left: indent,
            closer: Closer::NEW,
            max_bytes,
            content: String::new(),
            bytes: 0,
            before_line: 0,
            not_utf8: false,
        }
    }

    /// One character inside a line.
    pub(super) fn take(&mut self, c: char) {
        self.closer.take(c, self.fence);
        if c == ' ' && self.indent_left > 0 {
            self.indent_left -= 1;
            return;
        }
        self.indent_left = 0;
        self.keep(c);
    }

    /// The character just taken stands for bytes that were not UTF-8.
    pub(super) const fn mark_not_utf8(&mut self) {
        self.not_utf8 = true;
    }

    /// The end of a line that did not close the block.
    pub(super) fn end_line(&mut self, c: char) {
        self.before_line = self.bytes;
        self.keep(c);
        self.closer = Closer::NEW;
        self.indent_left = self.indent;
    }

    /// The second half of a CR LF.
    pub(super) fn line_feed(&mut self) {
        self.keep('\n');
    }

    fn keep(&mut self, c: char) {
        self.bytes = self.bytes.saturating_add(c.len_utf8());
        if self.bytes <= self.max_bytes {
            self.content.push(c);
        }
    }

    /// Whether the current line closes the block if it ends here.
    pub(super) const fn closes(&self) -> bool {
        self.closer.closes(self.fence)
    }

    /// The content as far as it was kept, and what speaks against reading it.
    /// Called when the current line, or the stream, has ended.
    pub(super) fn close(mut self) -> (String, Option<BlockError>) {
        let closed = self.closes();
        if closed {
            self.content.truncate(self.before_line);
            self.bytes = self.before_line;
        }
        let fault = if self.bytes > self.max_bytes {
            Some(BlockError::TooLarge {
                got: self.bytes,
                max: self.max_bytes,
                start: super::fault::head(&self.content),
            })
        } else if !closed {
            Some(BlockError::unclosed(&self.content))
        } else if self.not_utf8 {
            Some(BlockError::not_utf8(&self.content))
        } else {
            None
        };
        (self.content, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(indent: usize, max_bytes: usize, lines: &[&str]) -> (String, Option<BlockError>) {
        let mut block = Block::new(Fence { mark: '`', len: 3 }, indent, max_bytes);
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                block.end_line('\n');
            }
            line.chars().for_each(|c| block.take(c));
        }
        block.close()
    }

    #[test]
    fn content_is_what_stands_between_the_fences() {
        assert_eq!(
            block(0, 99, &["a", "", "b", "```"]),
            ("a\n\nb".into(), None)
        );
        assert_eq!(block(0, 99, &["", "```"]), (String::new(), None));
        assert_eq!(block(0, 99, &["```"]), (String::new(), None));
        assert_eq!(block(0, 99, &["``` x", "```"]), ("``` x".into(), None));
    }

    #[test]
    fn the_indentation_of_the_fence_is_taken_from_each_line() {
        let lines = ["   a", " b", "c", "  \td", "  ```"];
        assert_eq!(block(2, 99, &lines), (" a\nb\nc\n\td".into(), None));
    }

    #[test]
    fn neither_the_closing_fence_nor_the_line_end_before_it_counts_as_content() {
        assert_eq!(block(0, 4, &["1234", "`````  "]), ("1234".into(), None));
        let (kept, fault) = block(0, 4, &["12", "45", "```"]);
        assert_eq!(kept, "12\n4");
        assert!(
            matches!(fault, Some(BlockError::TooLarge { got: 5, max: 4, .. })),
            "{fault:?}"
        );
    }

    #[test]
    fn a_character_that_does_not_fit_ends_what_is_kept() {
        let (kept, fault) = block(0, 4, &["abcé", "d"]);
        assert_eq!(kept, "abc");
        assert!(
            matches!(fault, Some(BlockError::TooLarge { got: 7, .. })),
            "{fault:?}"
        );
    }

    #[test]
    fn a_block_without_its_fence_is_unclosed() {
        let (_, fault) = block(0, 99, &["{}", "``"]);
        assert!(
            matches!(fault, Some(BlockError::Unclosed { .. })),
            "{fault:?}"
        );
    }
}
