//! Approval: one question per batch, bound to the plan it shows, remembered as far as the answer says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod answers;
mod changes;
mod fixture;
mod grants;
mod questions;
mod wider;
