//! Models: wire formats, HTTP, recordings, and the trait for a provider of your own.
//!
//! ```
//! use toolgate::providers::{Script, ScriptedProvider};
//!
//! let script = Script::from_toml(
//!     r#"
//!     [[steps]]
//!     text = "Hello."
//!     "#,
//! )?;
//! // Answers like a model, without one: for tests and demonstrations.
//! let provider = ScriptedProvider::new(script, Default::default());
//! # let _ = provider;
//! # Ok::<(), toolgate::providers::ScriptError>(())
//! ```
//!
//! # Scripts
//!
//! A step is one answer of the model: `thinking`, then `text`, then calls. It may say what the
//! results before it have to contain; otherwise the turn ends with an error that says what is
//! there instead. `stop`, `error` and `cut` say how an answer ends, `chunk_bytes` and `delay_ms`
//! how it comes in.
//!
//! ```
//! use toolgate::providers::Script;
//!
//! let script = Script::from_toml(
//!     r#"
//!     [[steps]]
//!     text = "Let me see."
//!
//!     [[steps.calls]]
//!     id = "call_1"
//!     name = "read_file"
//!     args = { path = "README.md" }
//!
//!     [[steps]]
//!     text = "It says hello."
//!
//!     [[steps.expect]]
//!     call_id = "call_1"
//!     status = "ok"
//!     contains = ["hello"]
//!     "#,
//! )?;
//! assert_eq!(script.steps.len(), 2);
//! # Ok::<(), toolgate::providers::ScriptError>(())
//! ```
//!
//! # A provider of your own
//!
//! [`Provider`] is one conversation with one model: it keeps the messages that are pushed.
//! `hear` is called until it returns [`StreamEvent::End`]; one that never does is waited for
//! until the turn is cancelled. `CallStarted` and fragments of arguments are for whoever watches;
//! a [`StreamEvent::Call`] is what counts. Ids of calls may come again in later answers.

use toolgate_gate::registry::Definition;

pub use toolgate_providers::decode::DecodeError;
pub use toolgate_providers::fenced::{Definition as OfferedTool, Language};
pub use toolgate_providers::http::{
    Client, Endpoint, EndpointError, HttpProvider, HttpTimeouts, ListedModel, Secret,
};
pub use toolgate_providers::provider::{
    Fenced as FencedProvider, Played as ScriptedProvider, Recorded as RecordingProvider,
};
pub use toolgate_providers::replay::{Script, ScriptError, Step as ScriptStep};
pub use toolgate_providers::request::{
    Conversation as WireConversation, Effort, Frame, HistoryError, Reasoning, RequestError,
    RequestOptions, Tools as ToolOffer,
};
pub use toolgate_providers::{
    Content, Message, Provider, ProviderError, ProviderErrorKind, Refused, Role, Seal, StopReason,
    StreamError, StreamEvent, StreamLimits, Usage, Wire,
};

/// The tools of a registry as a [`Frame`] takes them.
///
/// ```
/// use toolgate::Registry;
/// use toolgate::providers::{Frame, RequestOptions, Wire, offered};
///
/// let registry = Registry::new();
/// let tools = offered(&registry.definitions("")?);
/// let frame = Frame::new(Wire::Anthropic, &RequestOptions::new("a-model"), &tools)?;
/// # let _ = frame;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn offered(definitions: &[Definition]) -> Vec<OfferedTool> {
    let offer = |definition: &Definition| OfferedTool {
        name: definition.name.clone(),
        description: definition.description.clone(),
        schema: definition.input_schema.clone(),
        requires_approval: definition.requires_approval,
    };
    definitions.iter().map(offer).collect()
}
