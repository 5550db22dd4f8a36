//! The registry: which tools there are, under which names.
//!
//! ```
//! use std::sync::Arc;
//! use toolgate::registry::{Alias, Registry, RegistryError};
//! use toolgate::tool::{Output, typed};
//!
//! #[derive(toolgate::serde::Deserialize, toolgate::schemars::JsonSchema)]
//! #[serde(crate = "toolgate::serde")]
//! #[schemars(crate = "toolgate::schemars")]
//! struct Nothing {}
//!
//! let registry = Registry::new();
//! let tool = Arc::new(typed("now", "Tells the time.", |_: Nothing, _cx| async {
//!     Ok(Output::plain("noon"))
//! }));
//! registry.register(tool.clone())?;
//! registry.alias(Alias::new("clock", "now"))?;
//! assert_eq!(registry.canonical("clock"), "now");
//! // A name is never taken twice by accident; `replace` says what it does.
//! assert!(registry.register(tool).is_err());
//! # Ok::<(), RegistryError>(())
//! ```

pub use toolgate_gate::registry::{
    Alias, Definition as ToolDefinition, Entry as RegisteredTool, LinkedTool, Profile, Registry,
    RegistryError, Resolved as ResolvedCall, Rewrite, WireFormat, inventory,
};
