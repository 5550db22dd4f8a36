//! Results on their way back to the model, as fenced blocks of one user message.

use serde::Serialize;
use toolgate_model::{Status, ToolError, ToolResult};

use crate::request::{Images, told};

/// A result in the form that [`super::system_prompt`] teaches.
#[derive(Serialize)]
struct Block<'a> {
    id: &'a str,
    tool: &'a str,
    success: bool,
    output: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ToolError>,
    truncated: bool,
    execution_time_ms: u64,
}

/// One user message with a `tool_result` block per result, in the order given.
///
/// Each block is one line of JSON between fences longer than every run of
/// backticks inside, so nothing in an output can end the block or start a new one.
pub fn render_results(results: &[ToolResult]) -> String {
    let blocks: Vec<String> = results.iter().map(render).collect();
    blocks.join("\n")
}

fn render(result: &ToolResult) -> String {
    let text = told(result, Images::NONE).text;
    let block = Block {
        id: result.call_id.as_str(),
        tool: &result.tool,
        success: result.status() == Status::Ok,
        output: &text,
        error: result.error.as_ref(),
        truncated: result.truncated,
        execution_time_ms: result.duration_ms,
    };
    // Strings, booleans and a number always serialize; were it otherwise, the
    // model still learns that there is a result and that it cannot be shown.
    let json = serde_json::to_string(&block)
        .unwrap_or_else(|_| String::from(r#"{"success":false,"output":"unprintable result"}"#));
    let fence = "`".repeat(longest_run(&json).saturating_add(1).max(3));
    format!("{fence}tool_result\n{json}\n{fence}\n")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use toolgate_model::{ContentBlock, ErrorKind};

    use super::*;

    #[test]
    fn results_have_the_documented_form() {
        let mut fine = ToolResult::ok("call_7".into(), "read_file", "a\nb");
        fine.duration_ms = 2;
        let error = ToolError::new(ErrorKind::NotFound, "no file x");
        let mut failed = ToolResult::failed("fenced_2".into(), "read_file", error);
        failed.truncated = true;
        assert_eq!(
            render_results(&[fine, failed]),
            concat!(
                "```tool_result\n",
                r#"{"id":"call_7","tool":"read_file","success":true,"output":"a\nb","truncated":false,"execution_time_ms":2}"#,
                "\n```\n\n```tool_result\n",
                r#"{"id":"fenced_2","tool":"read_file","success":false,"output":"no file x","#,
                r#""error":{"kind":"not_found","message":"no file x","retryable":false},"truncated":true,"execution_time_ms":0}"#,
                "\n```\n",
            )
        );
        assert_eq!(render_results(&[]), "");
    }

    #[test]
    fn images_are_named_in_the_text() {
        let mut result = ToolResult::ok("1".into(), "x", "a page");
        result.blocks = vec![ContentBlock::image(
            "image/png",
            b"\x89PNG\r\n\x1a\n\0\0\0\0",
        )];
        let text = render_results(&[result]);
        let note = "[image image/png, 12 bytes, left out: images are not sent to this model]";
        assert!(
            text.contains(&format!(r#""output":"a page\n{note}""#)),
            "{text}"
        );
    }

    #[test]
    fn the_fence_is_longer_than_any_backticks_inside() {
        let output = "```\n`````tool\n{}\n`````";
        let text = render_results(&[ToolResult::ok("1".into(), "x", output)]);
        assert!(text.starts_with("``````tool_result\n{"), "{text}");
        assert!(text.ends_with("}\n``````\n"), "{text}");
    }
}
