//! Policy as the pipeline applies it: rules, defaults, validators, sandbox, trust.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod fixture;
mod laws;
mod rules;
mod sandbox;
mod trust;
mod validators;
