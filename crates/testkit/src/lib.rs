//! Scripted parts for tests of the line.
//!
//! ```text
//! Rig (workspace, tools, rules, clock, journal) ──▶ Bench (gate + session) ──▶ results, entries, events
//! ```
//!
//! Everything here is exact: time stands still until a test moves it, ids are
//! counted, answers are given in order, and a journal fails at the commit that
//! the test names. A part that cannot be put together panics: that is a broken
//! test, not an error of the program.

// Whoever uses these parts is a test, and a test fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approver;
mod blocks;
mod events;
mod faulty;
pub mod journal_laws;
mod laws;
mod loopback;
mod render;
mod rig;
mod time;
mod tools;
mod workspace;

pub use approver::{Reply, ScriptedApprover};
pub use blocks::{PNG, any_block, each_block};
pub use events::{Collected, kinds};
pub use faulty::{Fault, FaultyJournal};
pub use laws::laws;
pub use loopback::{Heard, Loopback, Sent, Told};
pub use render::Render;
pub use rig::{Bench, Rig, asking, call, call_because, raw_call};
pub use time::{CountingEntropy, DryEntropy, FakeClock, paused};
pub use tools::{Act, AtEnd, Blocking, Count, Release, Scripted, Step, states_facts};
pub use workspace::{Snapshot, Workspace};
