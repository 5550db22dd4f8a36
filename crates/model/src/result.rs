//! The one result of a call.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::content::ContentBlock;
use crate::error::{ErrorKind, Status, ToolError};
use crate::ids::{CallId, OutputHandle};

/// Whatever else a tool says about its result, by name.
pub type Metadata = Map<String, Value>;

/// What a call came to. Status and error cannot disagree: the status is the error's.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: CallId,
    /// The tool's canonical name, or the unknown name that was called.
    pub tool: String,
    /// Nothing, or what went wrong.
    pub error: Option<ToolError>,
    /// The text that every model gets. It holds the text of every block too.
    pub content: String,
    /// Typed parts, for models and clients that take them.
    pub blocks: Vec<ContentBlock>,
    /// What the user sees, short.
    pub display: String,
    /// Whether something was cut from `content`.
    pub truncated: bool,
    /// Where the whole output can be read.
    pub output_handle: Option<OutputHandle>,
    /// How long the tool ran.
    pub duration_ms: u64,
    /// Whatever else the tool says.
    pub metadata: Metadata,
}

impl ToolResult {
    /// A result of a call that went well.
    pub fn ok(call_id: CallId, tool: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            call_id,
            tool: tool.into(),
            error: None,
            content: content.into(),
            blocks: Vec::new(),
            display: String::new(),
            truncated: false,
            output_handle: None,
            duration_ms: 0,
            metadata: Metadata::new(),
        }
    }

    /// A result of a call that did not. The message is content and display until somebody says better.
    pub fn failed(call_id: CallId, tool: impl Into<String>, error: ToolError) -> Self {
        let message = error.message.clone();
        Self {
            error: Some(error),
            display: message.clone(),
            ..Self::ok(call_id, tool, message)
        }
    }

    /// How the call ended.
    pub fn status(&self) -> Status {
        self.error
            .as_ref()
            .map_or(Status::Ok, |error| error.kind.status())
    }

    /// The kind of its error, if there is one.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.error.as_ref().map(|error| error.kind)
    }

    /// The exit code of a program that made only this call.
    pub fn exit_code(&self) -> u8 {
        self.kind().map_or(0, ErrorKind::exit_code)
    }

    /// The exit code of a program that made all of these: the highest of 130, 4, 3, 1, 0.
    pub fn batch_exit_code<'a>(results: impl IntoIterator<Item = &'a Self>) -> u8 {
        results.into_iter().map(Self::exit_code).max().unwrap_or(0)
    }
}

/// The form on the wire, where status and error stand side by side.
#[derive(Serialize)]
struct Written<'a> {
    call_id: &'a CallId,
    tool: &'a str,
    status: Status,
    content: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: &'a [ContentBlock],
    display: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ToolError>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_handle: Option<&'a OutputHandle>,
    duration_ms: u64,
    metadata: &'a Metadata,
}

/// The same, as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    call_id: CallId,
    tool: String,
    status: Status,
    content: String,
    #[serde(default)]
    blocks: Vec<ContentBlock>,
    display: String,
    #[serde(default)]
    error: Option<ToolError>,
    truncated: bool,
    #[serde(default)]
    output_handle: Option<OutputHandle>,
    duration_ms: u64,
    #[serde(default)]
    metadata: Metadata,
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            call_id: &self.call_id,
            tool: &self.tool,
            status: self.status(),
            content: &self.content,
            blocks: &self.blocks,
            display: &self.display,
            error: self.error.as_ref(),
            truncated: self.truncated,
            output_handle: self.output_handle.as_ref(),
            duration_ms: self.duration_ms,
            metadata: &self.metadata,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let this = Self {
            call_id: wire.call_id,
            tool: wire.tool,
            error: wire.error,
            content: wire.content,
            blocks: wire.blocks,
            display: wire.display,
            truncated: wire.truncated,
            output_handle: wire.output_handle,
            duration_ms: wire.duration_ms,
            metadata: wire.metadata,
        };
        if this.status() == wire.status {
            Ok(this)
        } else {
            Err(serde::de::Error::custom("status and error disagree"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_documented_form() {
        let mut result = ToolResult::ok("call_7".into(), "read_file", "text");
        result.display = "short".into();
        result.duration_ms = 2;
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"call_id":"call_7","tool":"read_file","status":"ok","content":"text",
                "display":"short","truncated":false,"duration_ms":2,"metadata":{}})
        );
        assert_eq!(serde_json::from_value::<ToolResult>(json).unwrap(), result);
    }

    #[test]
    fn blocks_stand_beside_the_text_and_are_absent_when_there_are_none() {
        let plain = ToolResult::ok("1".into(), "t", "text");
        let written = serde_json::to_string(&plain).unwrap();
        assert_eq!(
            written,
            r#"{"call_id":"1","tool":"t","status":"ok","content":"text","display":"","truncated":false,"duration_ms":0,"metadata":{}}"#
        );
        let mut with = plain.clone();
        with.blocks = vec![ContentBlock::text("text")];
        let json = serde_json::to_value(&with).unwrap();
        assert_eq!(
            json["blocks"],
            serde_json::json!([{"type": "text", "text": "text"}])
        );
        assert_eq!(serde_json::from_value::<ToolResult>(json).unwrap(), with);
    }

    #[test]
    fn the_error_decides_status_and_exit_code() {
        let denied = ToolResult::failed(
            "1".into(),
            "x",
            ToolError::new(ErrorKind::PolicyDenied, "no"),
        );
        assert_eq!((denied.status(), denied.exit_code()), (Status::Denied, 3));
        assert_eq!(denied.content, "no");
        let fine = ToolResult::ok("2".into(), "x", "");
        let cancelled = ToolResult::failed(
            "3".into(),
            "x",
            ToolError::new(ErrorKind::Cancelled, "stop"),
        );
        assert_eq!(ToolResult::batch_exit_code([&fine]), 0);
        assert_eq!(ToolResult::batch_exit_code([&fine, &denied]), 3);
        assert_eq!(ToolResult::batch_exit_code([&cancelled, &denied]), 130);
        assert_eq!(ToolResult::batch_exit_code([]), 0);
        let mut json = serde_json::to_value(&denied).unwrap();
        assert_eq!(
            serde_json::from_value::<ToolResult>(json.clone()).unwrap(),
            denied
        );
        json["status"] = "ok".into();
        assert!(serde_json::from_value::<ToolResult>(json).is_err());
    }
}
