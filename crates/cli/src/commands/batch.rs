//! `toolgate batch`: JSON lines of calls in, one result line each out.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use toolgate_app::{Batch, Purpose};
use toolgate_model::json::{self, JsonLimits};
use toolgate_model::{Args, BadCall, Call, CallId, ErrorKind, ToolCall, ToolError, ToolResult};

use crate::args::Common;
use crate::assembly;
use crate::failure::CliError;
use crate::input;
use crate::out::Out;
use crate::signals;

/// The most bytes of all calls together.
const INPUT: usize = 64 * 1024 * 1024;
/// What a line has around its arguments.
const AROUND: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Option<String>,
    name: String,
    args: Args,
    reason: Option<String>,
}

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    file: Option<&Path>,
    unlimited: bool,
    conversation: Option<String>,
) -> Result<u8, CliError> {
    let app = assembly::app_with_approver(common, out)?;
    let project = match unlimited {
        true => app.unlimited_project(Purpose::RunAll)?,
        false => app.project(Purpose::RunAll)?,
    };
    let bytes = input::file(file, INPUT)?;
    let limits = JsonLimits {
        max_bytes: project.limits().max_bytes + AROUND,
        ..project.limits()
    };
    let calls = read(&bytes, limits);
    let id = match conversation {
        Some(id) => app.find_id_or_new(&id).await?,
        None => app.fresh_id("batch")?,
    };
    let batch = Batch {
        cancel: signals::stop_token()?,
        ..Batch::new(id, calls)
    };
    let results = project.run(batch).await;
    for result in &results {
        out.json_line(result)?;
    }
    Ok(ToolResult::batch_exit_code(&results))
}

/// Every line that is not blank is a call, or a bad call under the name of its line.
fn read(bytes: &[u8], limits: JsonLimits) -> Vec<Call> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .map(|(index, line)| {
            (
                CallId::new(format!("line_{}", index + 1)),
                line.trim_ascii(),
            )
        })
        .filter(|(_, line)| !line.is_empty())
        .map(|(id, line)| call(id, line, limits))
        .collect()
}

fn call(id: CallId, line: &[u8], limits: JsonLimits) -> Call {
    let bad = |message: String| {
        let kind = ErrorKind::BadCall;
        Call::Bad(BadCall {
            id: id.clone(),
            name: None,
            error: ToolError::new(kind, message),
        })
    };
    let map = match json::parse_object(line, limits) {
        Ok(map) => map,
        Err(error @ json::JsonError::TooLarge { .. }) => {
            let error = ToolError::new(ErrorKind::LimitExceeded, error.to_string());
            return Call::Bad(BadCall {
                id,
                name: None,
                error,
            });
        }
        Err(error) => return bad(format!("the line is no call: {error}")),
    };
    let named = map.get("name").and_then(Value::as_str).map(str::to_owned);
    let given = map
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
        .map(CallId::from);
    match serde_json::from_value::<Line>(Value::Object(map)) {
        Ok(line) if line.id.as_deref() == Some("") => {
            bad("the line is no call: its id is empty; leave it out or name the call".to_owned())
        }
        Ok(line) => {
            let id = line.id.map_or(id, CallId::from);
            Call::Whole(ToolCall {
                id,
                name: line.name,
                args: line.args,
                reason: line.reason,
            })
        }
        Err(error) => {
            let message =
                format!("the line is no call: {error}; send {{\"name\": …, \"args\": {{…}}}}");
            let error = ToolError::new(ErrorKind::BadCall, message);
            Call::Bad(BadCall {
                id: given.unwrap_or(id),
                name: named,
                error,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_before_the_first_line_is_taken_and_an_empty_id_is_not() {
        let text =
            b"\xef\xbb\xbf{\"name\":\"a\",\"args\":{}}\n{\"id\":\"\",\"name\":\"b\",\"args\":{}}";
        let calls = read(text, JsonLimits::default());
        assert!(matches!(&calls[0], Call::Whole(call) if call.name == "a"));
        let Call::Bad(bad) = &calls[1] else { panic!() };
        assert_eq!(bad.id.as_str(), "line_2");
        assert!(bad.error.message.contains("its id is empty"));
    }

    #[test]
    fn lines_become_calls_or_say_why_not() {
        let text = b"{\"name\":\"a\",\"args\":{}}\n\n  {\"id\":\"x\",\"name\":\"b\",\"args\":{\"k\":1},\"reason\":\"r\"}\r\nnot json\n{\"name\":\"c\"}\n{\"id\":\"y\",\"name\":\"d\",\"args\":{},\"approved\":true}\n{\"name\":1,\"args\":{}}";
        let calls = read(text, JsonLimits::default());
        let ids: Vec<&str> = calls.iter().map(|call| call.id().as_str()).collect();
        assert_eq!(ids, ["line_1", "x", "line_4", "line_5", "y", "line_7"]);
        assert!(
            matches!(&calls[1], Call::Whole(call) if call.args["k"] == 1 && call.reason.as_deref() == Some("r"))
        );
        for (index, part) in [
            (2, "no call"),
            (3, "missing field `args`"),
            (4, "approved"),
            (5, "invalid type"),
        ] {
            let Call::Bad(bad) = &calls[index] else {
                panic!("{index}")
            };
            assert_eq!(bad.error.kind, ErrorKind::BadCall);
            assert!(bad.error.message.contains(part), "{}", bad.error.message);
        }
        assert_eq!(calls[4].name(), Some("d"));
    }
}
