//! The conversation loop: ask the model, run its calls, ask again with their results.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use toolgate::Workspace;
//! use toolgate::providers::{Script, ScriptedProvider, StopReason};
//! use toolgate::turn::{Prompt, Turn, TurnOutcome, TurnSettings, run_turn};
//!
//! # let directory = tempfile::tempdir()?;
//! let workspace = Workspace::open(directory.path())?;
//! let script = Script::from_toml("[[steps]]\ntext = \"Nothing to do.\"")?;
//! let mut provider = ScriptedProvider::new(script, Default::default());
//!
//! let context = workspace.turn_context(&workspace.session("c"));
//! let turn = Turn::new(1, TurnSettings::default());
//! let end = run_turn(&mut provider, &context, turn, Prompt::Message("Go.".into())).await;
//! assert_eq!(end.outcome, TurnOutcome::Done(StopReason::EndTurn));
//! assert_eq!(end.text, "Nothing to do.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a call that needs approval, somebody who gives it, and events:
//!
//! ```
//! # #[cfg(feature = "tools")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use toolgate::Workspace;
//! use toolgate::approve::ApproveAll;
//! use toolgate::events::{EventKind, EventSink};
//! use toolgate::providers::{Script, ScriptedProvider};
//! use toolgate::turn::{Prompt, Turn, TurnSettings, run_turn};
//!
//! # let directory = tempfile::tempdir()?;
//! let workspace = Workspace::open(directory.path())?;
//! let script = Script::from_toml(
//!     r#"
//!     [[steps]]
//!     [[steps.calls]]
//!     id = "1"
//!     name = "write_file"
//!     args = { path = "poem.txt", content = "roses are red" }
//!
//!     [[steps]]
//!     text = "It is written."
//!     "#,
//! )?;
//! let mut provider = ScriptedProvider::new(script, Default::default());
//!
//! let mut context = workspace.turn_context(&workspace.session("c")).asking(ApproveAll);
//! let (events, mut listener) = EventSink::channel(64);
//! context.events = events;
//! let watching = tokio::spawn(async move {
//!     let mut questions = 0;
//!     while let Some(event) = listener.recv().await {
//!         questions += i32::from(matches!(event.kind, EventKind::ApprovalRequested { .. }));
//!     }
//!     questions
//! });
//!
//! let turn = Turn::new(1, TurnSettings::default());
//! let end = run_turn(&mut provider, &context, turn, Prompt::Message("A poem.".into())).await;
//! drop(context); // the last sender: the listener ends
//! assert_eq!(end.text, "It is written.");
//! assert_eq!(std::fs::read_to_string(directory.path().join("poem.txt"))?, "roses are red");
//! assert_eq!(watching.await?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The conversation of a turn is its session's. Turns are numbered from 1; the number is on record.

pub use toolgate_engine::{
    CODER, Context as ModelContext, Effect as TurnEffect, Finished as TurnEnd, History,
    Input as TurnInput, Next as TurnNext, Outcome as TurnOutcome, Permissions, Prompt, Retry,
    Step as TurnStep, Streamed, Supplied, ToolsFor, Turn, TurnContext, TurnSettings, context_of,
    instructions_prompt, run_turn, system_prompt,
};
