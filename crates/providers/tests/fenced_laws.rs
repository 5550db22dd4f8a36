//! Laws of the fenced format, on generated text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod oracle;

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use serde_json::{Value, json};
use toolgate_model::json::JsonLimits;
use toolgate_model::{Call, ErrorKind, ToolError, ToolResult};
use toolgate_providers::fenced::{
    Answer, Definition, Language, Parser, Piece, render_results, system_prompt,
};

fn limits() -> JsonLimits {
    JsonLimits {
        max_bytes: 80,
        max_depth: 8,
    }
}

/// The pieces of an answer with neighbouring text joined: where calls stand in the text counts too.
fn pieces<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Piece> {
    let mut parser = Parser::new(limits());
    let mut all: Vec<Piece> = Vec::new();
    let mut add = |more: Vec<Piece>| {
        for piece in more {
            match (all.last_mut(), piece) {
                (_, Piece::Text(text)) if text.is_empty() => panic!("an empty piece of text"),
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, piece) => all.push(piece),
            }
        }
    };
    for chunk in chunks {
        add(parser.push_bytes(chunk));
    }
    add(parser.finish());
    all
}

/// Cuts bytes at the given places, in whatever order they come.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|at| at % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut rest = bytes;
    let mut start = 0;
    for at in places {
        let (chunk, after) = rest.split_at(at - start);
        chunks.push(chunk);
        (rest, start) = (after, at);
    }
    chunks.push(rest);
    chunks
}

/// Text that is dense in fences, calls, damage and line ends of all kinds.
fn dense() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        3 => "[ ]{0,4}(`{2,5}|~{2,5})",
        3 => "[ ]{0,3}(```|~~~)[ ]?tool\n",
        2 => Just("tool".to_owned()),
        2 => Just("{\"name\":\"ls\",\"args\":{\"p\":[1]}}\n".to_owned()),
        1 => Just("{\"name\":\"ls\",\n  \"x\":1}\n".to_owned()),
        1 => Just("{\"name\":".to_owned()),
        1 => "[ \t]{1,5}",
        1 => "[a-zé🎉\u{2028}]{1,30}",
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Lines of which CommonMark knows only paragraphs, indented code and fences.
///
/// No tab follows a closing fence: the specification allows one since 0.31, the
/// implementation held against here does not. `cases.jsonl` has that case.
fn commonmark_lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[ ]{0,5}(`{1,5}|~{1,5})[ ]{0,2}",
        4 => "[ ]{0,4}(`{3,4}|~{3,4})[ ]{0,2}(tool|tools|x)[ \t]{0,2}",
        1 => "[ ]{0,3}(```|~~~)tool (`|~|x)",
        2 => "[ ]{0,5}[xyz]{0,3}",
        1 => Just(String::new()),
    ];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    prop::collection::vec((line, end), 0..16)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

fn result() -> impl Strategy<Value = ToolResult> {
    let text = || "([a-z\"\\\\\n\r\t`~é\u{0}\u{2028}]|```tool\n|\n~~~\n){0,12}";
    let kind = prop::sample::select(ErrorKind::ALL.to_vec());
    let error = prop::option::of((kind, text(), any::<bool>()));
    (text(), text(), text(), error, any::<bool>(), any::<u64>()).prop_map(
        |(id, tool, content, error, truncated, duration_ms)| {
            let mut result = ToolResult::ok(id.into(), tool, content);
            result.error = error.map(|(kind, message, retryable)| ToolError {
                kind,
                message,
                retryable,
            });
            result.truncated = truncated;
            result.duration_ms = duration_ms;
            result
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn chunking_does_not_matter(text in dense(), places in prop::collection::vec(any::<usize>(), 0..6)) {
        let whole = pieces([text.as_bytes()]);
        prop_assert_eq!(&pieces(text.as_bytes().chunks(1)), &whole);
        prop_assert_eq!(&pieces(cut(text.as_bytes(), &places)), &whole);
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            prop_assert_eq!(&pieces([head, tail]), &whole, "cut at {}", at);
        }
    }

    #[test]
    fn chunking_does_not_matter_for_bytes_that_are_not_utf8(
        bytes in prop::collection::vec(prop_oneof![
            any::<u8>(), Just(b'\n'), Just(b'`'), Just(0xf0), Just(0x9f), Just(0xc3), Just(0xed), Just(0xa0),
        ], 0..60),
        in_block in any::<bool>(),
    ) {
        let mut text = if in_block { b"```tool\n".to_vec() } else { Vec::new() };
        text.extend(&bytes);
        let whole = pieces([text.as_slice()]);
        prop_assert_eq!(&pieces(text.chunks(1)), &whole);
        for at in 0..=text.len() {
            let (head, tail) = text.split_at(at);
            prop_assert_eq!(&pieces([head, tail]), &whole, "cut at {}", at);
        }
        // What the text of such bytes is, the standard library knows too.
        let lossy = String::from_utf8_lossy(&text);
        let texts = |pieces: Vec<Piece>| pieces.into_iter().collect::<Answer>().text;
        prop_assert_eq!(texts(whole), texts(pieces([lossy.as_bytes()])));
    }

    #[test]
    fn text_and_blocks_are_what_a_second_reading_finds(text in dense()) {
        let parts = oracle::parts(&text, "tool");
        let raw: String = parts.iter().map(|part| part.raw).collect();
        prop_assert_eq!(&raw, &text, "the second reading loses nothing");
        let answer = Answer::read(&text, limits());
        let outside = parts.iter().filter(|part| part.block.is_none());
        prop_assert_eq!(&answer.text, &outside.map(|part| part.raw).collect::<String>());
        let blocks: Vec<&oracle::Block> = parts.iter().filter_map(|part| part.block.as_ref()).collect();
        prop_assert_eq!(answer.calls.len(), blocks.len());
        for (call, block) in answer.calls.iter().zip(blocks) {
            let object = serde_json::from_str::<Value>(&block.content).ok();
            match call {
                Call::Whole(call) => {
                    prop_assert!(block.closed && block.content.len() <= limits().max_bytes);
                    prop_assert_eq!(object, Some(json!({"name": call.name, "args": call.args})));
                }
                Call::Bad(bad) => {
                    let large = block.content.len() > limits().max_bytes;
                    prop_assert_eq!(bad.error.kind == ErrorKind::LimitExceeded, large);
                    let known = json!({"name": "ls", "args": {"p": [1]}});
                    let whole = block.closed && !large && object == Some(known);
                    prop_assert!(!whole, "a whole call was refused: {}", bad.error);
                }
            }
        }
    }

    #[test]
    fn blocks_are_the_ones_of_commonmark(text in commonmark_lines()) {
        let mut theirs = Vec::new();
        let mut open = None;
        for event in pulldown_cmark::Parser::new(&text) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "tool" => {
                    open = Some(String::new());
                }
                Event::Text(more) => if let Some(content) = &mut open { content.push_str(&more); },
                Event::End(TagEnd::CodeBlock) => theirs.extend(open.take()),
                _ => {}
            }
        }
        let normal = |content: &str| content.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
        let ours: Vec<String> = oracle::parts(&text, "tool")
            .into_iter()
            .filter_map(|part| Some(normal(&part.block?.content)))
            .collect();
        let theirs: Vec<String> = theirs.iter().map(|content| normal(content)).collect();
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(Answer::read(&text, limits()).calls.len(), theirs.len());
    }

    #[test]
    fn text_without_fences_is_unchanged(text in "([^`~]|`{1,2}[^`]|~~[^~]){0,200}") {
        let answer = Answer::read(&text, limits());
        prop_assert_eq!(answer.text, text);
        prop_assert!(answer.calls.is_empty());
    }

    #[test]
    fn results_can_be_read_back_and_are_never_taken_for_calls(
        results in prop::collection::vec(result(), 0..5),
    ) {
        let message = render_results(&results);
        let answer = Answer::read(&message, limits());
        prop_assert!(answer.calls.is_empty());
        prop_assert_eq!(&answer.text, &message);
        let read: Vec<Value> = oracle::parts(&message, "tool_result")
            .into_iter()
            .filter_map(|part| Some(serde_json::from_str(&part.block?.content).unwrap()))
            .collect();
        let expected: Vec<Value> = results.iter().map(|result| {
            let mut expected = json!({
                "id": result.call_id, "tool": result.tool, "success": result.error.is_none(),
                "output": result.content, "truncated": result.truncated,
                "execution_time_ms": result.duration_ms,
            });
            if let Some(error) = &result.error {
                expected["error"] = json!(error);
            }
            expected
        }).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn a_prompt_holds_its_example_and_no_other_block(
        name in "[a-z_]{1,12}", words in dense(), argument in dense(),
    ) {
        let definition = Definition {
            name: name.clone(),
            description: words.clone(),
            schema: json!({"properties": {argument.as_str(): {"description": words}}}),
            requires_approval: true,
        };
        let prompt = system_prompt(&[definition], Language::Portuguese);
        let calls = Answer::read(&prompt, JsonLimits::default()).calls;
        prop_assert_eq!(calls.len(), 1);
        prop_assert_eq!(calls[0].name(), Some(name.as_str()));
        prop_assert!(matches!(calls[0], Call::Whole(_)));
    }
}
