//! Recorded conversations: scripts that play a model.
//!
//! ```text
//! TOML ──▶ Script (steps) ──▶ Step::play ──▶ Beats: events with the time between them
//!   ▲
//!   └── Script::to_toml ◀── Recorder ◀── the events of a real provider
//! ```
//!
//! A step is one answer of the model. It may say which results the request
//! before it has to contain, how the answer is cut into pieces, how long each
//! takes, and how it ends:
//!
//! ```toml
//! [[steps]]
//! thinking = "First I look."
//! text = "Let me see."
//! chunk_bytes = 5
//! delay_ms = 20
//!
//! [[steps.calls]]
//! id = "call_1"
//! name = "read_file"
//! args = { path = "README.md" }
//!
//! [[steps]]
//! text = "It says hello."
//! usage = { input_tokens = 120, output_tokens = 8 }
//!
//! [[steps.expect]]
//! call_id = "call_1"
//! status = "ok"
//! contains = ["hello"]
//! ```
//!
//! A step streams thinking, then text, then calls. Any other order is written
//! as `parts`, a list with one of `text`, `refusal`, `thinking` or `call` each.
//! Arguments that are no TOML, or that are damaged on purpose, are written as
//! text in `args_json`. An answer ends as it should, or as `stop` says, or with
//! an `error`, or is `cut`.
//!
//! **What can go wrong** with a script is a [`ScriptError`], with the line; with
//! a request an [`Unexpected`], with what is there instead.

mod play;
mod read;
mod record;
mod script;
mod write;

pub use play::{Beat, Pieces, Played};
pub use read::ScriptError;
pub use record::Recorder;
pub use script::{Arguments, Expected, Finish, Pace, Part, PlayedCall, Script, Step, Unexpected};
