//! Results of a batch that the user discarded after it was cut off.
//!
//! The record keeps the one result each call has. What a model is told, and what an export
//! shows, is that none of them counts, and how far each call had come.

use serde_json::json;
use toolgate_model::{CallId, ErrorKind, ToolError, ToolResult};

/// What every result of a discarded batch begins with.
pub const DISCARDED: &str = "the person discarded this batch";

const FINISHED: &str = "this call had finished, and what it did is still there: look before doing it again (`toolgate undo` takes changes of files back)";
const NO_RESULT: &str = "the program ended before this call had a result";

/// The result of a call of a discarded batch.
pub fn discarded(id: CallId, tool: String, result: Option<ToolResult>) -> ToolResult {
    let (tool, class, known) = match result {
        // It had none when the user chose, and got one that says so.
        Some(result) if result.metadata.get("resumed") == Some(&json!("discard")) => {
            return result;
        }
        Some(result) if result.kind() == Some(ErrorKind::Interrupted) => {
            (result.tool, "outcome_unknown", result.content)
        }
        Some(result) => (result.tool, "finished", FINISHED.to_owned()),
        None => (tool, "outcome_unknown", NO_RESULT.to_owned()),
    };
    let error = ToolError::new(ErrorKind::Interrupted, format!("{DISCARDED}; {known}"));
    let mut failed = ToolResult::failed(id, tool, error);
    for (key, value) in [("resumed", "discard"), ("class", class)] {
        failed.metadata.insert(key.to_owned(), json!(value));
    }
    failed
}
