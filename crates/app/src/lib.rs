//! Toolgate as one app, which every face stands on: the command line, a terminal UI, a server.
//!
//! ```text
//! AppOptions ──▶ App ── project ──▶ Project: one-off calls, explanations, tools
//!  (directories,  │ ── start, conversation ──▶ Conversation: turns, approvals, events, undo
//!   environment,  │ ── journal, export, models, doctor
//!   clock, …)     └─ approvals: questions that wait for an answer
//! ```
//!
//! It assembles configuration, gate, journal, providers, presets, recovery, undo and export. It
//! never prints, reads the environment or exits: directories, variables, keys and the clock are
//! passed in, and notices for the user go to a function that is passed in.
//!
//! What can go wrong is an [`AppError`]; what goes wrong in a call is its result.
//!
//! ```
//! use toolgate_app::{App, AppOptions, Home, Input, ScriptText, StartOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let (home, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let app = App::open(AppOptions::new(Home::at(home.path()), workspace.path()))?;
//! let script = ScriptText {
//!     path: "script.toml".into(),
//!     text: b"[[steps]]\ntext = \"Hello.\"\n".to_vec(),
//! };
//! let conversation = app.start(StartOptions {
//!     script: Some(script),
//!     ..StartOptions::default()
//! })?;
//! let turn = conversation.send(Input::message("Say hello.")).await?;
//! assert_eq!(turn.outcome().await?.text, "Hello.");
//! conversation.end().await;
//! assert_eq!(app.conversations().await?.len(), 1);
//! # Ok(())
//! # }
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
//! # runtime.block_on(example()).unwrap();
//! ```

pub mod answers;
mod app;
pub mod approvals;
mod aside;
mod asker;
mod audit;
pub mod carried;
mod command_context;
mod configuration;
pub mod conversation;
pub mod doctor;
mod error;
pub mod explain;
pub mod export;
mod home;
mod instructions;
pub mod interrupted;
pub mod journal;
mod last_turn;
pub mod lasting;
pub mod listing;
pub mod markdown;
pub mod models;
mod options;
mod orphans;
mod own_places;
mod permissions;
pub mod presets;
mod project;
mod provider_source;
mod record;
mod recording;
mod secrets;
mod stored;
pub mod supplied;
pub mod text;
pub mod time;
mod tool_settings;
mod toolchains;
pub mod trust;
pub mod undo;

pub use app::App;
pub use conversation::{
    Conversation, Input, Listen, ScriptText, SendOptions, StartOptions, Subscription, Turn,
};
pub use error::{AppError, ErrorClass};
pub use home::Home;
pub use options::{AppOptions, Approval, Environment, Notices, SecretLookup, SecretSource};
pub use project::{ArgsText, Batch, Project, Purpose};
pub use provider_source::Asked;
pub use toolgate_config::{ConfigError, Effective, schema};
pub use toolgate_engine::{Finished, Outcome};
pub use toolgate_gate::middleware::Metrics;
pub use toolgate_gate::plan::Mode as ToolsMode;
pub use toolgate_gate::registry::{Definition, WireFormat};
pub use toolgate_gate::{Clock, SystemClock};
pub use toolgate_policy::{Permission, Scope};
pub use toolgate_providers::Usage;

/// To be called first thing in `main`: the program of a face is also the warden that makes the
/// processes of commands. Without it, commands are refused.
pub fn init() {
    toolgate_sandbox::command::init();
}
