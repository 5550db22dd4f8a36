//! Walking a tree: every directory is opened from the handle of the one above it, denied names are
//! left out, ignore files are read through the sandbox.

pub(crate) mod ignores;
pub(crate) mod open_directory;
pub(crate) mod survey;
pub(crate) mod tree;
