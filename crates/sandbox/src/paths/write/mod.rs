//! Writing: content is staged out of sight, synced, and moved to its place in one step. Removing
//! and renaming are here too.

pub(crate) mod made;
pub(crate) mod remove;
pub(crate) mod several;
pub(crate) mod stage;
pub(crate) mod target;
pub(crate) mod temporary;
