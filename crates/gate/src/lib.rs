//! The middle of the pipeline: from a tool call to exactly one result.
//!
//! ```text
//! Call ──▶ plan ──────────────▶ approve ───────▶ execute ──▶ settle ──▶ ToolResult
//!          Settled | Ask | Go    one question     Output      sanitize, redact, bound, record
//! ```
//!
//! [`Gate::run`] is the whole pipeline for one batch. Every stage consumes what the stage
//! before it made, and only that stage can make it; a tool cannot run without the
//! context that only `execute` can issue.

pub mod approve;
pub mod blocking;
mod by_hand;
mod clock;
pub mod events;
pub mod execute;
mod gate;
pub mod journal;
pub mod middleware;
pub mod output;
mod panics;
mod pipeline;
pub mod plan;
mod policies;
mod preconditions;
mod recording;
pub mod registry;
pub mod schema;
pub mod session;
mod settle;
pub mod store;
mod sync;
pub mod tool;

pub use by_hand::ByHand;
pub use clock::{Clock, Entropy, SystemClock, SystemEntropy};
pub use gate::{BuildError, Builder, Gate, OnError, Settings, Timeouts};
pub use pipeline::{BatchContext, Ready};
pub use preconditions::place;
pub use toolgate_policy::Rules;
