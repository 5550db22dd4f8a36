//! The record of everything that passed the gate.
//!
//! ```text
//! Entry, Entry, … ──▶ states: may this follow? ──▶ chain: hash on hash ──▶ sqlite: one durable commit
//!                                                                           ├─▶ Reader: list, show, verify
//!                                                                           ├─▶ prune
//!                                                                           ├─▶ recovery after a crash
//!                                                                           └─▶ undo: what files held before
//! ```
//!
//! In: entries, several at once. Out: the same entries, in order, all of a commit or
//! none, chained so that a later change of any of them is found. [`SqliteJournal`]
//! keeps them in one file of the user's own; [`MemoryJournal`] for as long as the
//! process lives.
//!
//! What can go wrong: the file cannot be written (disk full, directory read-only, another
//! process holds the conversation), or is not what it was. Each [`SqliteError`] says what
//! happened and how to go on; nothing that was acknowledged is lost by it.

mod memory;
pub mod process;
mod sqlite;
pub mod undo;

pub use memory::{MemoryJournal, MemoryStore};
pub use sqlite::{Hook, Options, Point, Reader, Size, SqliteError, SqliteJournal, SqliteReader};
pub use toolgate_gate::journal::{
    Anchor, Body, Class, Conversation, Coverage, Filter, Line, Problem, Prune, Pruned, Recovery,
    State, Unfinished, Verified,
};
