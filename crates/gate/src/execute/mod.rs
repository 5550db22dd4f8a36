//! Running allowed calls.
//!
//! ```text
//! Authorized ──locks──▶ before_start ──▶ started (journal) ──▶ preconditions unchanged? ──▶ run ──▶ settle ──▶ ToolResult
//!                                                                                   timeout, cancel, panic
//! ```
//!
//! In: plans that policy allowed or the user approved. Out: exactly one result per
//! call, in call order. What can go wrong is a result too: the time runs out, the
//! batch is cancelled, the tool panics, a file changed since it was shown, or a tool
//! ignores that it should stop; then it is reported as still running and keeps its
//! paths locked for as long as it lives.

pub(crate) mod call;
mod chunks;
mod handle;
mod hold;
mod locks;
mod one;
mod schedule;
mod side_by_side;
mod stop;
mod timers;

pub use crate::events::EventSink;
pub use handle::CallHandle;
pub use locks::{Claim, Locks, PathGuard};

pub(crate) use chunks::Chunks;
pub(crate) use hold::Hold;
pub(crate) use one::{Job, Runner, cancelled, shown};
pub(crate) use schedule::{Readiness, Schedule};
pub(crate) use side_by_side::SideBySide;
pub(crate) use stop::Stop;
