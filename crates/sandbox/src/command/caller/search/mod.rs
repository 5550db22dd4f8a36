//! Before a command, and again after it: the caller searches the directories that a command gets
//! for names that have to be masked or watched.

pub(crate) mod dir_cache;
pub(crate) mod entry;
pub(crate) mod found;
pub(crate) mod git_state;
pub(crate) mod hard_links;
mod lifted;
pub(crate) mod link_targets;
pub(crate) mod own_files;
pub(crate) mod owner;
pub(crate) mod planted;
pub(crate) mod repository;
pub(crate) mod unlayerable;
pub(crate) mod walk;
