//! A model behind HTTP.
//!
//! ```text
//! Endpoint (wire, base URL, key, headers) ──▶ Client ──▶ HttpProvider: push, ask, hear
//!                                                   └──▶ models
//! ```
//!
//! In: messages; out: the events of an answer as it streams in. Keys are values that
//! come in from outside and are shown nowhere, also where a provider repeats them
//! ([`Secrets`]). Redirects are not followed and no proxy
//! is taken from the environment: a key goes to the address it was meant for.
//!
//! **What can go wrong** before anything of an answer came is a [`crate::Refused`], with
//! the time that the provider asks for; afterwards the answer ends with a
//! [`crate::StreamError`]. Everything is bounded: connecting, silence, the whole answer,
//! and the bytes of what is read.

mod body;
mod client;
mod endpoint;
mod models;
mod patience;
mod provider;
mod redaction;
mod secrets;

pub use client::{Client, HttpTimeouts};
pub use endpoint::{Endpoint, EndpointError};
pub use models::ListedModel;
pub use provider::HttpProvider;
pub use secrets::{Secret, Secrets, secret_values};
