//! Record and store for as long as the process lives.

mod journal;

pub use journal::MemoryJournal;
pub use toolgate_gate::store::MemoryStore;
