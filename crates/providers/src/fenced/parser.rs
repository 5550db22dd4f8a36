//! The stream of an answer, taken apart into text and calls.

use toolgate_model::Call;
use toolgate_model::json::JsonLimits;

use super::block::Block;
use super::call;
use super::fence::{Closer, Fence, Opened, Opener, Opening, OtherOpener};

/// A part of an answer, in the order the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text outside tool blocks, as it came. Never empty.
    Text(String),
    /// A block, whole or damaged.
    Call(Call),
}

/// Reads an answer in chunks of any size.
///
/// The same bytes give the same calls and the same text, however they are cut.
/// Text is handed out at once, except for the start of a line that may still
/// open a tool block (at most 1 KiB); a call is handed out when the line of its
/// closing fence ends.
#[derive(Debug)]
pub struct Parser {
    limits: JsonLimits,
    blocks: u64,
    state: State,
    /// The line ended with CR: where a LF that follows at once belongs.
    after_cr: Option<LineEnd>,
    /// The first bytes of a character whose rest has not come yet.
    cut: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// The start of a line outside every block.
    Start(Opener),
    /// The rest of a line that opens nothing.
    Line,
    /// The rest of a line that opens another code block.
    OtherOpener(OtherOpener),
    /// Inside another code block: text, until its fence closes.
    Other { fence: Fence, closer: Closer },
    /// Inside a tool block.
    Tool(Block),
}

impl State {
    fn new() -> Self {
        Self::Start(Opener::default())
    }

    const fn other(fence: Fence) -> Self {
        Self::Other {
            fence,
            closer: Closer::NEW,
        }
    }
}

/// What a line end is part of.
#[derive(Clone, Copy, Debug)]
enum LineEnd {
    Text,
    Content,
    /// The line of a tool block's fence, which is removed.
    Removed,
}

impl Parser {
    /// A parser whose blocks may have as many bytes, and JSON as deep, as the limits say.
    pub fn new(limits: JsonLimits) -> Self {
        Self::counting_from(limits, 1)
    }

    /// A parser whose first block has this number, for a conversation that has had some already.
    pub fn counting_from(limits: JsonLimits, first: u64) -> Self {
        Self {
            limits,
            blocks: first.saturating_sub(1),
            state: State::new(),
            after_cr: None,
            cut: Vec::new(),
        }
    }

    /// The number the next block gets.
    pub const fn next_number(&self) -> u64 {
        self.blocks.saturating_add(1)
    }

    /// Takes the next part of the answer.
    pub fn push(&mut self, chunk: &str) -> Vec<Piece> {
        self.push_bytes(chunk.as_bytes())
    }

    /// Takes the next part of the answer, which may end inside a character.
    ///
    /// Bytes that are not UTF-8 become U+FFFD in text, and make a tool block a damaged call.
    pub fn push_bytes(&mut self, chunk: &[u8]) -> Vec<Piece> {
        let mut out = Pieces::default();
        let mut joined = std::mem::take(&mut self.cut);
        let bytes = if joined.is_empty() {
            chunk
        } else {
            joined.extend_from_slice(chunk);
            &joined
        };
        let mut rest = bytes;
        for part in bytes.utf8_chunks() {
            part.valid().chars().for_each(|c| self.take(c, &mut out));
            rest = rest.get(part.valid().len()..).unwrap_or_default();
            if part.invalid().is_empty() {
                continue;
            }
            // The last bytes may be the start of a character that the next chunk completes.
            let unfinished = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_none());
            if unfinished {
                self.cut = rest.to_vec();
                break;
            }
            self.take_not_utf8(&mut out);
            rest = rest.get(part.invalid().len()..).unwrap_or_default();
        }
        out.0
    }

    /// Ends the answer: hands out what was held back, and an open block as a damaged call.
    ///
    /// The parser is ready for the next answer then, and goes on counting.
    pub fn finish(&mut self) -> Vec<Piece> {
        let mut out = Pieces::default();
        if !std::mem::take(&mut self.cut).is_empty() {
            self.take_not_utf8(&mut out);
        }
        self.after_cr = None;
        match std::mem::replace(&mut self.state, State::new()) {
            State::Start(opener) => match opener.end() {
                Opened::Tool { fence, indent } => {
                    let block = Block::new(fence, indent, self.limits.max_bytes);
                    self.close(block, &mut out);
                }
                Opened::Nothing | Opened::Other(_) => out.text(opener.held()),
            },
            State::Tool(block) => self.close(block, &mut out),
            State::Line | State::OtherOpener(_) | State::Other { .. } => {}
        }
        out.0
    }

    fn take(&mut self, c: char, out: &mut Pieces) {
        match (c, self.after_cr.take()) {
            ('\n', Some(line_end)) => self.take_line_feed(line_end, out),
            ('\n', None) => {
                self.end_line(c, out);
            }
            ('\r', _) => self.after_cr = Some(self.end_line(c, out)),
            _ => self.take_in_line(c, out),
        }
    }

    /// A character that stands for bytes that are none. No fence has one, so in
    /// a tool block it is content.
    fn take_not_utf8(&mut self, out: &mut Pieces) {
        self.take(char::REPLACEMENT_CHARACTER, out);
        if let State::Tool(block) = &mut self.state {
            block.mark_not_utf8();
        }
    }

    fn take_line_feed(&mut self, line_end: LineEnd, out: &mut Pieces) {
        match (line_end, &mut self.state) {
            (LineEnd::Text, _) => out.char('\n'),
            (LineEnd::Content, State::Tool(block)) => block.line_feed(),
            (LineEnd::Content | LineEnd::Removed, _) => {}
        }
    }

    fn take_in_line(&mut self, c: char, out: &mut Pieces) {
        match &mut self.state {
            State::Start(opener) => {
                let next = match opener.take(c) {
                    Opening::Open => return,
                    Opening::Nothing => State::Line,
                    Opening::Other(other) => State::OtherOpener(other),
                };
                out.text(opener.held());
                self.state = next;
            }
            State::Line => out.char(c),
            State::OtherOpener(other) => {
                out.char(c);
                if !other.take(c) {
                    self.state = State::Line;
                }
            }
            State::Other { fence, closer } => {
                out.char(c);
                closer.take(c, *fence);
            }
            State::Tool(block) => block.take(c),
        }
    }

    fn end_line(&mut self, c: char, out: &mut Pieces) -> LineEnd {
        let (next, line_end) = match std::mem::replace(&mut self.state, State::new()) {
            State::Start(opener) => match opener.end() {
                Opened::Tool { fence, indent } => {
                    let block = Block::new(fence, indent, self.limits.max_bytes);
                    (State::Tool(block), LineEnd::Removed)
                }
                Opened::Other(fence) => {
                    out.text(opener.held());
                    (State::other(fence), LineEnd::Text)
                }
                Opened::Nothing => {
                    out.text(opener.held());
                    (State::new(), LineEnd::Text)
                }
            },
            State::Line => (State::new(), LineEnd::Text),
            State::OtherOpener(other) => (State::other(other.fence), LineEnd::Text),
            State::Other { fence, closer } if closer.closes(fence) => (State::new(), LineEnd::Text),
            State::Other { fence, .. } => (State::other(fence), LineEnd::Text),
            State::Tool(block) if block.closes() => {
                self.close(block, out);
                (State::new(), LineEnd::Removed)
            }
            State::Tool(mut block) => {
                block.end_line(c);
                (State::Tool(block), LineEnd::Content)
            }
        };
        self.state = next;
        if matches!(line_end, LineEnd::Text) {
            out.char(c);
        }
        line_end
    }

    fn close(&mut self, block: Block, out: &mut Pieces) {
        self.blocks = self.next_number();
        let call = match block.close() {
            (content, None) => call::read(&content, self.blocks, self.limits),
            (content, Some(fault)) => call::refuse(&content, self.blocks, self.limits, fault),
        };
        out.0.push(Piece::Call(call));
    }
}

/// What one chunk gives; neighbouring text is one piece.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn open_text(&mut self) -> Option<&mut String> {
        if !matches!(self.0.last(), Some(Piece::Text(_))) {
            self.0.push(Piece::Text(String::new()));
        }
        match self.0.last_mut() {
            Some(Piece::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn char(&mut self, c: char) {
        if let Some(text) = self.open_text() {
            text.push(c);
        }
    }

    fn text(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        if let Some(text) = self.open_text() {
            text.push_str(more);
        }
    }
}
