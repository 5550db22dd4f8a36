//! The frames of the WebSocket: `{"type", "payload"}`.
//!
//! ```text
//! chat:hello {protocol, resume} ─▶ chat:welcome ─▶ what was missed, from the journal ─▶ chat:ready
//! chat:send ─▶ chat:accepted ─▶ chat:stream-start ─▶ deltas, calls, questions ─▶ chat:stream-end
//! ```
//!
//! Two cursors: `seq` numbers what is in the journal, and streamed text and output have offsets
//! in bytes. A client applies a piece whose `offset` is what it holds, ignores one below, and
//! asks for a `chat:snapshot` if there is a gap.

mod client;
mod of_event;
mod server;
mod snapshot;

pub use client::{
    Approve, ApproveWord, Cancel, ChatMessage, ClientFrame, FrameError, Hello, Resume, ResumeAt,
    Select, Send, SnapshotOf, Subscribe, ToolApprove,
};
pub use of_event::Frames;
pub(crate) use of_event::Shown;
pub use server::{
    Accepted, ApprovalResolved, Confirm, EntryMissing, ErrorFrame, Inbox, Message, Ping, Ready,
    ServerFrame, StreamEnd, StreamStart, TextDelta, ToolDelta, ToolPlanned, ToolReceived,
    ToolResultFrame, ToolStart, UserMessage, Welcome, WelcomeLimits,
};
pub use snapshot::{RunningCall, Snapshot, SnapshotState};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The JSON Schema of every frame, for clients in other languages.
pub fn schema() -> serde_json::Value {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Socket {
        /// From the client.
        client: ClientFrame,
        /// From the server.
        server: ServerFrame,
    }
    let mut schema = schemars::schema_for!(Socket).to_value();
    if let Some(top) = schema.as_object_mut() {
        top.insert("title".to_owned(), "Frames of Toolgate's WebSocket".into());
    }
    schema
}
