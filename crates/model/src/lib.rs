//! Plain data of Toolgate.
//!
//! Everything that crosses a stage of the pipeline, is shown to the user, hashed or
//! written to the journal has its type here. There is no I/O and no async in
//! this crate, and nothing here can make a tool run.
//!
//! ```text
//! json ──▶ call (ToolCall | BadCall) ──▶ plan (PlanRecord: facts, decision) ──▶ result (ToolResult)
//!                                          event (Event) tells everybody what happened
//! ```

mod approval;
pub mod base64;
pub mod call;
pub mod characters;
pub mod content;
mod decimal;
pub mod decision;
pub mod error;
pub mod event;
pub mod facts;
pub mod graphic;
pub mod hex;
pub mod ids;
pub mod json;
pub mod media;
pub mod names;
pub mod nearest;
pub mod plan;
pub mod result;

pub use approval::{
    ApprovalItem, ApprovalOutcome, ApprovalQuestion, CallKind, DirectoryAccess, NetworkAccess,
    OpenedDirectory, Openings,
};
pub use call::{Args, BadCall, Call, ToolCall};
pub use content::{ContentBlock, Picture, Resource, ResourceBody};
pub use decision::{Action, AtomAnswer, Decision, RuleSource};
pub use error::{ErrorKind, Status, ToolError};
pub use event::{Event, EventKind, Stream};
pub use facts::{Access, Facts, Run};
pub use ids::{ApprovalId, CallId, ConversationId, MessageId, OutputHandle, PlanHash};
pub use media::ImageKind;
pub use plan::{Category, FileDigest, Lead, NeededDirectory, PlanRecord, Risk};
pub use result::{Metadata, ToolResult};
