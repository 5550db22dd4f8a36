//! Tools: what a model can call.
//!
//! [`typed`] makes a tool from a struct and an async function; the JSON Schema comes from the
//! struct. A tool with effects says so and states its [`Facts`](crate::call::Facts): policy,
//! approval, locks and sandbox are all built from them.
//!
//! ```
//! use toolgate::call::Facts;
//! use toolgate::schemars::JsonSchema;
//! use toolgate::serde::Deserialize;
//! use toolgate::tool::{Output, Tool, typed};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "toolgate::serde", deny_unknown_fields)]
//! #[schemars(crate = "toolgate::schemars")]
//! struct Deploy {
//!     /// Where to.
//!     host: String,
//! }
//!
//! let tool = typed("deploy", "Deploys the service.", |args: Deploy, cx| async move {
//!     // `cx` is the permit to run: only the gate can make one.
//!     let _ = cx.cancel();
//!     Ok(Output::plain(format!("deployed to {}", args.host)))
//! })
//! .summary(|args| format!("Deploy to {}", args.host))
//! .facts(|args| Facts { connects: vec![args.host.clone()], ..Facts::none() })
//! .side_effects();
//! assert!(tool.spec().side_effects);
//! ```
//!
//! Arguments that the struct does not have are refused in any case; `deny_unknown_fields` says so
//! in the schema that the model sees.

pub use toolgate_gate::tool::{
    Ahead, Described, Invocation, Output, OutputLimits, Preview, RunCtx, Seen as SeenFile,
    Spelling, Text as OutputText, Tool, ToolSpec, TypedTool, View, path_error, read_args, typed,
};
pub use toolgate_policy::Hidden as HiddenPaths;
