//! Results that a user supplies for the calls that were left to them.
//!
//! ```
//! use toolgate_app::supplied::{self, SuppliedResult};
//!
//! let results = supplied::read(b"{\"call_id\": \"call_1\", \"content\": \"done\"}\n")?;
//! let mut expected = SuppliedResult::ok("call_1", "done");
//! expected.line = 1;
//! assert_eq!(results, [expected]);
//! # Ok::<(), toolgate_app::AppError>(())
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use toolgate_engine::History;
use toolgate_gate::output::approval_text;
use toolgate_model::{CallId, ErrorKind, ToolError, ToolResult};

use crate::error::AppError;

/// The result of a call, as a user supplies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppliedResult {
    /// The line it comes from, from 1; 0 where it comes from no file.
    pub line: usize,
    /// The call.
    pub call_id: CallId,
    /// Its content, or why the call failed.
    pub outcome: Result<String, String>,
}

impl SuppliedResult {
    /// The result of a call that went well.
    pub fn ok(call_id: impl Into<CallId>, content: impl Into<String>) -> Self {
        Self {
            line: 0,
            call_id: call_id.into(),
            outcome: Ok(content.into()),
        }
    }

    /// The result of a call that failed.
    pub fn failed(call_id: impl Into<CallId>, error: impl Into<String>) -> Self {
        Self {
            line: 0,
            call_id: call_id.into(),
            outcome: Err(error.into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    call_id: CallId,
    content: Option<String>,
    /// What went wrong, where the call failed.
    error: Option<String>,
}

/// Reads JSON lines, each `{"call_id", "content"}` or `{"call_id", "error"}`.
pub fn read(text: &[u8]) -> Result<Vec<SuppliedResult>, AppError> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut results = Vec::new();
    for (line, number) in lines.zip(1..).filter(|(line, _)| !line.is_empty()) {
        let told = |reason: String| AppError::Result { number, reason };
        let Line {
            call_id,
            content,
            error,
        } = read_line(line).map_err(told)?;
        let id = approval_text(call_id.as_str());
        let outcome = match (content, error) {
            (Some(content), None) => Ok(content),
            (None, Some(error)) => Err(error),
            (None, None) => return Err(told(format!("has no result for call {id:?}; {FORM}"))),
            (Some(_), Some(_)) => {
                return Err(told(format!(
                    "has both `content` and `error` for call {id:?}; {FORM}"
                )));
            }
        };
        results.push(SuppliedResult {
            line: number,
            call_id,
            outcome,
        });
    }
    Ok(results)
}

/// The results of the tools, each for a call that waits for one.
pub(crate) fn checked(
    supplied: Vec<SuppliedResult>,
    history: &History,
) -> Result<Vec<ToolResult>, AppError> {
    // Ids can be there more than once; each of their calls waits for one result.
    let mut waiting = history.clone();
    let mut given: BTreeMap<CallId, usize> = BTreeMap::new();
    let mut results = Vec::new();
    for (place, one) in (1..).zip(supplied) {
        let number = if one.line == 0 { place } else { one.line };
        let told = |reason: String| AppError::Result { number, reason };
        let id = approval_text(one.call_id.as_str());
        let Some(tool) = waiting.tool_of(&one.call_id) else {
            return Err(match given.get(&one.call_id) {
                Some(before) => told(format!("call {id:?} has its result in line {before}")),
                None => told(format!("no result is wanted for a call {id:?}")),
            });
        };
        let result = match one.outcome {
            Ok(content) => ToolResult::ok(one.call_id.clone(), tool, content),
            Err(error) => {
                let error = ToolError::new(ErrorKind::Failed, error);
                ToolResult::failed(one.call_id.clone(), tool, error)
            }
        };
        // Calls that still wait are reported when all results are there.
        let _ = waiting.supplied(vec![result.clone()]);
        given.insert(one.call_id, number);
        results.push(result);
    }
    Ok(results)
}

const FORM: &str = "a line is {\"call_id\": …, \"content\": …}, or has \"error\" instead of \"content\" where the call failed";

fn read_line(line: &[u8]) -> Result<Line, String> {
    if line.first() != Some(&b'{') {
        return Err(format!("is no JSON object; {FORM}"));
    }
    serde_json::from_slice(line).map_err(|error| {
        // The number of the line is the file's.
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        format!(
            "{} at column {}; {FORM}",
            approval_text(why),
            error.column()
        )
    })
}
