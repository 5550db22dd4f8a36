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
//! let turn = Turn::new(1, TurnSettings::new("c"));
//! let end = run_turn(&mut provider, &context, turn, Prompt::Message("Go.".into())).await;
//! assert_eq!(end.outcome, TurnOutcome::Done(StopReason::EndTurn));
//! assert_eq!(end.text, "Nothing to do.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use toolgate_engine::{
    CODER, Context as ModelContext, Effect as TurnEffect, Finished as TurnEnd, History,
    Input as TurnInput, Next as TurnNext, Outcome as TurnOutcome, Permissions, Prompt, Retry,
    Step as TurnStep, Streamed, Supplied, ToolsFor, Turn, TurnContext, TurnSettings, context_of,
    instructions_prompt, run_turn, system_prompt,
};
