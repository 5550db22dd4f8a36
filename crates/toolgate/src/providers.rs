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

use toolgate_gate::registry::Definition;

pub use toolgate_providers::fenced::{Definition as OfferedTool, Language};
pub use toolgate_providers::http::{
    Client, Endpoint, EndpointError, HttpProvider, HttpTimeouts, ListedModel, Secret,
};
pub use toolgate_providers::provider::{
    Fenced as FencedProvider, Played as ScriptedProvider, Recorded as RecordingProvider,
};
pub use toolgate_providers::replay::{Script, ScriptError};
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
