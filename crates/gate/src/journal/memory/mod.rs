//! A journal for as long as the process lives.

mod held;
mod journal;
mod reading;

pub use journal::MemoryJournal;
