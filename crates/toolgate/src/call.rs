//! Calls, results and what both are made of. Plain data.
//!
//! ```
//! use toolgate::Call;
//! use toolgate::call::{ErrorKind, Status};
//! use toolgate::serde_json::json;
//!
//! let call = Call::new("1", "read_file", json!({"path": "a.txt"}));
//! assert_eq!(call.name(), Some("read_file"));
//!
//! // Arguments that are no object make a damaged call: it gets an error as its result.
//! let Call::Bad(bad) = Call::new("2", "read_file", json!("a.txt")) else { unreachable!() };
//! assert_eq!(bad.error.kind, ErrorKind::BadCall);
//! assert_eq!(bad.error.kind.status(), Status::Error);
//! ```

pub use toolgate_model::json::{JsonError, JsonLimits};
pub use toolgate_model::{
    Access, ApprovalId, Args, BadCall, Call, CallId, Category, ContentBlock, ConversationId,
    ErrorKind, Facts, FileDigest, Lead, MessageId, Metadata, NeededDirectory, OutputHandle,
    PlanHash, PlanRecord, Risk, Run, Status, ToolCall, ToolError, ToolResult,
};
