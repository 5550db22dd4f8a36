//! Toolgate over HTTP and WebSocket.
//!
//! ```text
//! connection ─▶ listen: bounds, TLS ─▶ guard: Host, Origin, token, rate ─▶ http/    requests
//!                                                                       └▶ socket/  frames both ways
//!                                        conversations/ ─▶ crates/app ─▶ the pipeline
//! ```
//!
//! Nothing of the pipeline is decided here: conversations, approvals and events are those of
//! [`toolgate_app`]. This crate says who may reach them, and carries them.
//!
//! ```
//! use toolgate_app::{App, AppOptions, Home};
//! use toolgate_server::{Server, ServerOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let app = App::open(AppOptions::new(Home::at(home.path()), place.path()))?;
//! let options = ServerOptions { port: 0, ..ServerOptions::default() };
//! let server = Server::bind(app, options).await?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! server.stopper().cancel();
//! server.run().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod auth;
mod conversations;
mod counters;
pub mod frames;
mod guard;
mod http;
mod listen;
mod options;
mod own_file;
mod problem;
mod rate;
mod scope;
mod server;
mod socket;
mod state;
mod tls;

pub use options::{Limits, ServerOptions, TlsFiles};
pub use scope::{PermissionText, ScopeText};
pub use server::{Server, ServerError};

/// The OpenAPI document of the HTTP interface.
pub fn openapi() -> serde_json::Value {
    http::openapi()
}
