//! The tool call protocol as its first users know it, by the names they gave its tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use serde_json::{Value, json};
use toolgate_model::json::JsonLimits;
use toolgate_model::{Call, ErrorKind, ToolCall};
use toolgate_providers::fenced::{Answer, Parser, Piece};

fn read(text: &str) -> Answer {
    Answer::read(text, JsonLimits::default())
}

fn whole(call: &Call) -> &ToolCall {
    match call {
        Call::Whole(call) => call,
        Call::Bad(bad) => panic!("{}", bad.error),
    }
}

/// The JSON of a `tool` block becomes a call with name, arguments and reason.
#[test]
fn test_tool_call_protocol() {
    let answer = read(
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"ls -la\"}, \"reason\": \"List the directory\"}\n```",
    );
    let call = whole(&answer.calls[0]);
    assert_eq!(call.name, "bash");
    assert_eq!(
        Value::Object(call.args.clone()),
        json!({"command": "ls -la"})
    );
    assert_eq!(call.reason.as_deref(), Some("List the directory"));
    assert_eq!(call.id.as_str(), "fenced_1");
    assert_eq!(answer.clean_text(), "");
}

/// Several blocks of one text are several calls in their order, and the text between them stays.
#[test]
fn test_tool_call_multiple_blocks() {
    let answer = read(concat!(
        "First the list.\n\n```tool\n{\"name\":\"ls\",\"args\":{}}\n```\n\n",
        "Then the file.\n\n```tool\n{\"name\":\"read_file\",\"args\":{\"path\":\"a\"}}\n```\n",
        "```tool\n{\"name\":\"grep\",\"args\":{\"pattern\":\"x\"}}\n```\nDone.\n",
    ));
    let names: Vec<&str> = answer.calls.iter().filter_map(Call::name).collect();
    assert_eq!(names, ["ls", "read_file", "grep"]);
    let ids: Vec<&str> = answer.calls.iter().map(|call| call.id().as_str()).collect();
    assert_eq!(ids, ["fenced_1", "fenced_2", "fenced_3"]);
    assert_eq!(
        answer.clean_text(),
        "First the list.\n\n\nThen the file.\n\nDone."
    );
}

/// A malformed block is an error that says what is wrong; the blocks around it are calls all the same.
#[test]
fn test_tool_call_malformed() {
    let good = "```tool\n{\"name\":\"ls\"}\n```\n";
    for (content, says) in [
        ("{\"name\": \"bash\", \"args\": {", "EOF"),
        ("not json at all", "not json at all"),
        ("{\"args\": {}}", "names no tool"),
        ("", "is empty"),
    ] {
        let answer = read(&format!("{good}```tool\n{content}\n```\n{good}"));
        let [Call::Whole(_), Call::Bad(bad), Call::Whole(_)] = answer.calls.as_slice() else {
            panic!("{answer:?}")
        };
        assert_eq!(bad.error.kind, ErrorKind::BadCall);
        assert_eq!(bad.id.as_str(), "fenced_2");
        assert!(bad.error.message.contains(says), "{}", bad.error);
    }
}

/// A block that arrives in parts is kept until it is whole; one that never becomes whole is an error.
#[test]
fn partial_tool_block_in_stream() {
    let mut parser = Parser::new(JsonLimits::default());
    let mut seen = Vec::new();
    for chunk in [
        "Let me ",
        "look.\n``",
        "`to",
        "ol\n{\"name\": \"re",
        "ad_file\", \"args\": {\"path\": \"a.txt\"}}",
        "\n``",
        "`",
    ] {
        seen.extend(parser.push(chunk));
        assert!(
            !seen.iter().any(|piece| matches!(piece, Piece::Call(_))),
            "{seen:?}"
        );
    }
    seen.extend(parser.push("\nAnd then"));
    let answer: Answer = seen.into_iter().collect();
    assert_eq!(whole(&answer.calls[0]).args["path"], "a.txt");
    assert_eq!(answer.text, "Let me look.\nAnd then");

    parser.push("\n```tool\n{\"name\": \"read_file\", \"args\": {\"pa");
    let rest = parser.finish();
    let [Piece::Call(Call::Bad(bad))] = rest.as_slice() else {
        panic!("{rest:?}")
    };
    assert!(bad.error.message.contains("never closed"), "{}", bad.error);
    assert!(bad.error.message.contains("{\"pa"), "{}", bad.error);
}

/// An answer as models write them: prose, Markdown, code of other languages, an
/// example of the format itself, and calls among all that.
#[test]
fn test_tool_call_parsing() {
    let text = include_str!("data/fenced/answer.md");
    let expected: Value = serde_json::from_str(include_str!("data/fenced/answer.json")).unwrap();
    let answer = read(text);
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .map(|call| serde_json::to_value(whole(call)).unwrap())
        .collect();
    assert_eq!(json!(calls), expected["calls"]);
    assert_eq!(answer.clean_text(), expected["clean_text"]);
    let windows = read(&text.replace('\n', "\r\n"));
    assert_eq!(windows.calls, answer.calls);
    assert_eq!(windows.text, answer.text.replace('\n', "\r\n"));
}
