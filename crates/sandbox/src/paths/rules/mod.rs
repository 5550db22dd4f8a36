//! Whether a name may be used: patterns, built-in lists and Toolgate's own places. All of it works
//! on names and open descriptors; nothing here opens a file for a tool.

pub(crate) mod attributes;
pub(crate) mod braces;
pub(crate) mod data_names;
pub(crate) mod executed;
pub(crate) mod executed_config;
pub(crate) mod fold;
pub(crate) mod git_config;
pub(crate) mod glob;
pub(crate) mod guard;
pub(crate) mod lifted;
pub(crate) mod linked;
pub(crate) mod lists;
pub(crate) mod opening;
pub(crate) mod own;
pub(crate) mod patterns;
