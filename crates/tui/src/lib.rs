//! The terminal of `toolgate chat`: it shows the events of a conversation and passes answers.
//!
//! ```text
//! keys ─────────▶ ┌───────┐ ──▶ effects: send, answer, stop ──▶ Conversation (crates/app)
//! events ───────▶ │ State │
//! questions ────▶ └───────┘ ──▶ draw ──▶ Inline writer ──▶ terminal
//! ```
//!
//! The state is pure, drawing is a function of it, and one writer puts cleaned cells and lines on
//! the terminal. Finished lines are printed once and belong to the terminal from then on.
//!
//! ```
//! use toolgate_tui::text::one_line;
//!
//! assert_eq!(one_line("a\u{1b}[2J"), r"a\u{1b}[2J");
//! ```

pub mod blocks;
pub mod chat;
pub mod draw;
pub mod input;
pub mod panel;
pub mod state;
pub mod terminal;
pub mod text;

pub use chat::{ChatError, ChatOptions, EditText, chat};
