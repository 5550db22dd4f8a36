//! `memory` and `write_todos` through a real gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod concurrent;
mod fixture;
mod memory;
mod todos;
