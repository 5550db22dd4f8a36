//! Results that a person supplies for the calls that were left to them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;
use toolgate_engine::History;
use toolgate_gate::output::approval_text;
use toolgate_model::{CallId, ErrorKind, ToolError, ToolResult};

use super::prepare::INPUT;
use crate::failure::CliError;
use crate::input;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    call_id: CallId,
    content: Option<String>,
    /// What went wrong, where the call failed.
    error: Option<String>,
}

/// The results of the file, each for a call that waits for one.
pub(super) fn supplied(path: &Path, history: &History) -> Result<Vec<ToolResult>, CliError> {
    let bytes = input::file(Some(path), INPUT)?;
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    // Ids can be there more than once; each of their calls waits for one result.
    let mut waiting = history.clone();
    let mut given: BTreeMap<CallId, usize> = BTreeMap::new();
    let mut results = Vec::new();
    for (line, number) in lines.zip(1..).filter(|(line, _)| !line.is_empty()) {
        let told =
            |why: &dyn Display| CliError::usage(format!("{} line {number}: {why}", path.display()));
        let Line {
            call_id,
            content,
            error,
        } = read(line).map_err(|why| told(&why))?;
        let id = approval_text(call_id.as_str());
        let Some(tool) = waiting.tool_of(&call_id) else {
            return Err(match given.get(&call_id) {
                Some(before) => told(&format!("call {id:?} has its result in line {before}")),
                None => told(&format!("no result is wanted for a call {id:?}")),
            });
        };
        let result = match (content, error) {
            (Some(content), None) => ToolResult::ok(call_id.clone(), tool, content),
            (None, Some(error)) => {
                let error = ToolError::new(ErrorKind::Failed, error);
                ToolResult::failed(call_id.clone(), tool, error)
            }
            (None, None) => return Err(told(&format!("has no result for call {id:?}; {FORM}"))),
            (Some(_), Some(_)) => {
                return Err(told(&format!(
                    "has both `content` and `error` for call {id:?}; {FORM}"
                )));
            }
        };
        // Which calls still wait is told when all results are there.
        let _ = waiting.supplied(vec![result.clone()]);
        given.insert(call_id, number);
        results.push(result);
    }
    Ok(results)
}

const FORM: &str = "a line is {\"call_id\": …, \"content\": …}, or has \"error\" instead of \"content\" where the call failed";

fn read(line: &[u8]) -> Result<Line, String> {
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
