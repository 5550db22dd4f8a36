//! The built-in tools, each through a real gate over a temporary workspace.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod absolute;
mod changes;
mod discovery_laws;
mod edit;
mod file_laws;
mod fixture;
mod guarded;
mod hidden;
mod kept;
mod links;
mod listing;
mod many;
mod names;
mod patch;
mod patch_cases;
mod patch_laws;
mod patch_oracle;
mod read;
mod search;
mod timeouts;
mod tree;
mod write;
