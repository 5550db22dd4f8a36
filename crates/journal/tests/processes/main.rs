//! The record under several processes, and under the death of one.
//!
//! The tests start this very program again, with the name of a part in the environment;
//! the part says on its standard output what was acknowledged, and is killed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod child;
mod crash;
mod faults;
#[path = "../record/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod holders;
mod parts;
mod patches;
mod store;
