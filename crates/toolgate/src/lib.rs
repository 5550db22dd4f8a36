//! Toolgate stands between a language model and a machine. It checks the model's tool calls,
//! asks for approval, runs them in a sandbox, records them, and returns exactly one result per
//! call.
//!
//! ```text
//! Call ──▶ plan ──────────────────▶ approve ─────▶ execute ──▶ settle ──▶ ToolResult
//!          schema, facts, policy     Approver       sandbox     Journal
//! ```
//!
//! This crate re-exports what an agent is built from. [`Workspace::open`] gives a directory with
//! sandbox, built-in tools and [`Gate`] in one step:
//!
//! ```
//! # #[cfg(feature = "tools")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use toolgate::serde_json::json;
//! use toolgate::{Call, BatchContext, Workspace};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("notes.txt"), "buy milk\n")?;
//!
//! let workspace = Workspace::open(directory.path())?;
//! let session = workspace.session("first");
//! let call = Call::new("1", "read_file", json!({"path": "notes.txt"}));
//! let results = workspace.gate().run(&session, vec![call], &BatchContext::default()).await;
//! assert_eq!(results[0].content, "buy milk\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | write a tool | [`tool::typed`], [`Tool`](tool::Tool) |
//! | decide what may run | [`Rules`], [`policy`] |
//! | answer questions | [`Approver`](approve::Approver) |
//! | watch, count or limit calls | [`Middleware`](middleware::Middleware), [`events`] |
//! | store what happened | [`Journal`](journal::Journal), [`MemoryJournal`](journal::MemoryJournal) |
//! | talk to a model | `providers`, `turn` |
//!
//! # Features
//!
//! All of them are on by default.
//!
//! | feature | brings |
//! |---|---|
//! | `providers` | the wire formats of models, HTTP, and the conversation loop `turn::run_turn` |
//! | `sandbox` | the command sandbox, and with `tools` the tools that run commands in it |
//! | `sqlite` | the journal in a SQLite file |
//! | `tools` | the built-in tools for files, patches, search and notes |
//! | `web` | `web_fetch` and `web_search` |
//!
//! Items of `providers` and `turn`, `Workspace::turn_context` and what takes them need
//! `providers`; `WorkspaceBuilder::tool_settings` needs `tools`; `sandbox::init`,
//! `WorkspaceBuilder::command_network` and `command_environment` need `sandbox`.
//!
//! Without any of them the gate with policy, path sandbox and a journal in memory remains:
//! no SQLite, no HTTP, no TLS. The crates `toolgate-policy` and `toolgate-shell` alone need no
//! async runtime: `toolgate-policy` is the smallest build, where only decisions are wanted.
//!
//! # Names
//!
//! Items come from the crates `toolgate-model`, `toolgate-policy`, `toolgate-gate`,
//! `toolgate-engine`, `toolgate-providers`, `toolgate-tools`, `toolgate-journal`,
//! `toolgate-sandbox` and `toolgate-shell`. A short name that several of them use is longer here:
//! a signature that says `Settings` means [`GateSettings`](gate::GateSettings) or
//! [`PolicySettings`](policy::PolicySettings). The pages of this crate link the name to use.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | call | what the model asks for: a tool and its arguments; it gets exactly one result |
//! | batch | the calls of one answer of the model, planned and asked about together |
//! | facts | what a call would touch: paths, hosts, programs |
//! | plan | a checked call with its facts and the decision about it; approval is bound to it |
//! | trust | how much is asked: `guided` asks before side effects, `autonomous` only before what the sandbox does not hold |
//! | approver | who answers questions: a person, or code of yours |
//! | settled | a call that has its result, also one that never ran |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod approve;
pub mod call;
pub mod events;
pub mod gate;
pub mod journal;
pub mod middleware;
pub mod output;
pub mod plan;
pub mod policy;
#[cfg(feature = "providers")]
pub mod providers;
pub mod registry;
pub mod sandbox;
pub mod session;
pub mod shell;
pub mod store;
pub mod tool;
#[cfg(feature = "tools")]
pub mod tools;
#[cfg(feature = "providers")]
pub mod turn;
mod workspace;

pub use futures::future::BoxFuture;
pub use schemars;
pub use serde;
pub use serde_json;
pub use tokio_util::sync::CancellationToken;

pub use toolgate_gate::blocking;
pub use toolgate_gate::registry::Registry;
pub use toolgate_gate::session::Session;
pub use toolgate_gate::{BatchContext, Gate};
pub use toolgate_model::{Call, Event, ToolCall, ToolError, ToolResult};
pub use toolgate_policy::Rules;
pub use workspace::{Workspace, WorkspaceBuilder, WorkspaceError};
