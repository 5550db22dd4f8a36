//! The conversation loop.
//!
//! ```text
//! person ──▶ Turn (a state machine, no I/O) ──▶ ask the provider ──▶ its events ─┐
//!              ▲                             └─▶ run a batch at the gate ─▶ results ┤
//!              └────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! In: what the user says. Out: the model's answer, after as many rounds of tool calls as
//! it takes, with exactly one result per call whatever happens in between. [`run_turn`] is
//! the whole loop; [`Turn`] decides and can be driven by hand; what is said is noted in the session
//! and gets into the same commits as what is done; [`History`] is a conversation read back from
//! its record.
//!
//! **What can go wrong** ends the turn with an [`Outcome`] that says so, never the
//! conversation: the history stays one that every provider accepts.

mod capacity;
mod discarded;
mod history;
mod preset;
mod run;
mod shown;
mod turn;

pub use capacity::{Context, context_of};
pub use discarded::{DISCARDED, discarded};
pub use history::{History, Streamed, Supplied};
pub use preset::{CODER, Permissions, instructions_prompt, system_prompt};
pub use run::{TurnContext, run_turn};
pub use turn::{
    Effect, Finished, Input, Next, Outcome, Part, Prompt, Retry, Step, ToolsFor, Turn, TurnSettings,
};
