//! The record on disk: what it keeps, what it finds, what it survives.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod changes;
mod commits;
mod fixture;
mod foreign;
mod full;
mod laws;
mod leases;
mod preallocation;
mod prune;
mod recovery;
mod tamper;
mod untouched;
mod versions;
mod writer;
