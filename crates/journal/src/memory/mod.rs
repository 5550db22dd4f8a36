//! Record and store for as long as the process lives.

mod journal;
mod store;

pub use journal::MemoryJournal;
pub use store::MemoryStore;
