//! Reading: opening a file, listing one directory, and the facts about an open file.

pub(crate) mod directory;
pub(crate) mod file;
pub(crate) mod stat;
