//! Markdown of a model as lines, block by block.
//!
//! ```text
//! deltas ──▶ Streaming ── closed blocks ──▶ lines, printed once
//!                     └─ the last block ──▶ lines of the live region, rendered again
//! ```
//!
//! ```
//! use toolgate_tui::blocks::Streaming;
//!
//! let mut answer = Streaming::default();
//! let closed = answer.push("# Title\n\nA *word*\n", 80);
//! assert_eq!(closed[0].to_string(), "Title");
//! assert_eq!(answer.open(80)[1].to_string(), "A word");
//! assert_eq!(answer.finish(80).len(), 2);
//! ```

mod markdown;
mod table;

use pulldown_cmark::{Event, Options, Parser};
use ratatui_core::text::Line;

pub use markdown::render;

/// An open block that is longer than this is closed at a line's end.
const LONGEST: usize = 16 * 1024;

/// The Markdown that is understood.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// An answer that comes in.
#[derive(Debug, Default)]
pub struct Streaming {
    /// The text that is not closed.
    tail: String,
    /// How many bytes have come.
    bytes: u64,
    /// Whether a line of blocks was given out: blocks are set apart by an empty line.
    begun: bool,
}

impl Streaming {
    /// How many bytes have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing of it is open.
    pub fn is_empty(&self) -> bool {
        self.tail.trim().is_empty()
    }

    /// Adds text; the lines of blocks that are closed by it.
    pub fn push(&mut self, text: &str, columns: usize) -> Vec<Line<'static>> {
        self.tail.push_str(text);
        self.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        // A block is closed by a line, so a piece without an end closes none.
        if !text.contains('\n') && self.tail.len() < LONGEST {
            return Vec::new();
        }
        // A line that has not come to its end may still belong to the block before it.
        let lines = self.tail.rfind('\n').map_or(0, |at| at + 1);
        let closed = closed(self.tail.get(..lines).unwrap_or_default());
        if closed > 0 {
            let rest = self.tail.split_off(closed);
            let block = std::mem::replace(&mut self.tail, rest);
            return self.set_apart(render(&block, columns));
        }
        if self.tail.len() < LONGEST {
            return Vec::new();
        }
        self.cut(columns)
    }

    /// Closes most of a block that is too long to be rendered again and again.
    fn cut(&mut self, columns: usize) -> Vec<Line<'static>> {
        let at = match self.tail.rfind('\n') {
            Some(at) if at > 0 => at + 1,
            _ => self.tail.len(),
        };
        let fence = fence(&self.tail);
        let rest = self.tail.split_off(at);
        let mut block = std::mem::replace(&mut self.tail, rest);
        if let Some(fence) = fence {
            self.tail.insert_str(0, &format!("{fence}\n"));
            block.push_str(
                &fence
                    .chars()
                    .take_while(|c| "`~".contains(*c))
                    .collect::<String>(),
            );
        }
        let is_first = !self.begun;
        self.begun = true;
        let mut lines = render(&block, columns);
        if !is_first {
            lines.insert(0, Line::default());
        }
        lines
    }

    fn set_apart(&mut self, mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        if !lines.is_empty() && std::mem::replace(&mut self.begun, true) {
            lines.insert(0, Line::default());
        }
        lines
    }

    /// The lines of the block that is open.
    pub fn open(&self, columns: usize) -> Vec<Line<'static>> {
        let mut lines = render(&self.tail, columns);
        if !lines.is_empty() && self.begun {
            lines.insert(0, Line::default());
        }
        lines
    }

    /// The lines of what is left, at the end of the answer.
    pub fn finish(&mut self, columns: usize) -> Vec<Line<'static>> {
        let tail = std::mem::take(&mut self.tail);
        let lines = render(&tail, columns);
        let lines = self.set_apart(lines);
        *self = Self::default();
        lines
    }
}

/// How many bytes at the beginning are blocks that no more text can change.
fn closed(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut last_begin = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last_begin = range.start;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last_begin = range.start,
            _ => {}
        }
    }
    // The last block may go on.
    last_begin
}

/// The first line of a code block that the text begins with.
fn fence(text: &str) -> Option<String> {
    let first = text.lines().next()?;
    let is_fence = first.starts_with("```") || first.starts_with("~~~");
    is_fence.then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    const TEXT: &str = "# Title\n\nA *paragraph* of\ntwo lines.\n\n- one\n- two\n  - three\n\n```rust\nfn main() {}\n\n// end\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n\nEnd `x`.";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn chunks_make_the_lines_of_the_whole(cuts in prop::collection::vec(0..TEXT.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut streaming = Streaming::default();
            let mut lines = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().chain([TEXT.len()]) {
                lines.extend(streaming.push(TEXT.get(from..to).unwrap(), 60));
                from = to;
            }
            lines.extend(streaming.finish(60));
            prop_assert_eq!(shown(&lines), shown(&render(TEXT, 60)));
        }
    }

    #[test]
    fn a_code_block_without_an_end_is_bounded_and_loses_no_line() {
        let mut streaming = Streaming::default();
        let mut lines = streaming.push("```\n", 80);
        for number in 0..5_000 {
            lines.extend(streaming.push(&format!("line {number}\n"), 80));
            assert!(streaming.tail.len() <= LONGEST + 100);
        }
        lines.extend(streaming.finish(80));
        let all = shown(&lines);
        let all: Vec<&String> = all.iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(all.len(), 5_000);
        assert_eq!(all.last().unwrap().as_str(), "line 4999");
    }
}
