//! The web's tools through a real gate, against servers of this test's own on loopback.
//!
//! Names are resolved by the test, and every connection that it lets happen leads to one of
//! its servers. Nothing else is ever contacted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod addresses;
mod cases;
mod fetch;
mod fetch_laws;
mod fixture;
mod hostile;
mod one_page;
mod page;
mod page_laws;
mod search;
mod server;
