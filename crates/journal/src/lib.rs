//! The record of everything that passed the gate.
//!
//! In: entries, several at once. Out: the same entries, in order, all of a commit or
//! none. For now they are kept in memory for as long as the process lives; nothing
//! here survives a crash, and `toolgate` says so.

mod memory;

pub use memory::MemoryJournal;
