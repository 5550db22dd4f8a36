//! Tool calls as fenced blocks, for models without native tool calls.
//!
//! ```text
//! chunks ──▶ Parser ──▶ Piece::Text   the answer's text, blocks removed
//!                   └─▶ Piece::Call   Whole, or Bad with what was wrong
//! ToolResults ──▶ render_results ──▶ one user message
//! Definitions ──▶ system_prompt  ──▶ how to call, and what can be called
//! ```
//!
//! **A block** is a fenced code block as in CommonMark whose info string is
//! exactly `tool`: three or more `` ` `` or `~`, indented by at most three
//! spaces, closed by a line with at least as many of the same and nothing
//! else. It holds one JSON object `{"name", "args"?, "reason"?, "id"?}`. A
//! missing `args` means none; a missing `id` becomes `fenced_N`, where N counts
//! the blocks from 1, damaged ones too.
//!
//! **What is text**: everything else, byte for byte. A block in a block quote
//! or behind a list marker does not start its line, and one inside another
//! code block is that block's content. Only fences are looked at: HTML does
//! not hide a block. LF, CR LF and a lone CR end a line.
//!
//! **What is removed** with a block is whole lines: from the indentation of its
//! opening fence to the line end after its closing fence. The line end before
//! it stays, so that `a⏎`, block, `⏎b` reads `a⏎⏎b`. [`Answer::clean_text`]
//! trims what is left.
//!
//! **What can go wrong** is a [`BlockError`]: not strict JSON, no name, wrong
//! or unknown fields, not UTF-8, too large, never closed. Each becomes a
//! `BadCall` that quotes the place; nothing is repaired, nothing is dropped.
//! Memory is bounded by the limits: a block that is too large is counted, not
//! kept, and parsing goes on after its closing fence.

mod answer;
mod arguments;
mod block;
mod call;
mod fault;
mod fence;
mod parser;
mod prompt;
mod results;
mod words;

pub use answer::Answer;
pub use fault::BlockError;
pub(crate) use fault::{clip, head};
pub use parser::{Parser, Piece};
pub use prompt::{Definition, system_prompt};
pub use results::render_results;
pub use words::Language;
