//! Execution of one call: timeout, cancellation, panics, stuck tools, events, handles.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod events;
mod fixture;
mod outcomes;
mod stopping;
mod stuck;
mod tools;
