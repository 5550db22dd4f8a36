//! Journal and store for as long as the process lives. Both are part of the gate.

pub use toolgate_gate::journal::MemoryJournal;
pub use toolgate_gate::store::MemoryStore;
