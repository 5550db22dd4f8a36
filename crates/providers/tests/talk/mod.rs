//! Conversations with everything in them that a request can carry.
#![allow(dead_code, unreachable_pub)]

use serde_json::{Map, Value, json};
use toolgate_model::{
    BadCall, ContentBlock, ErrorKind, ResourceBody, ToolCall, ToolError, ToolResult,
};
use toolgate_providers::request::{Conversation, Effort, Frame, Reasoning, RequestOptions, Tools};
use toolgate_providers::{Content, Definition, Message, Seal, Wire};

pub fn definitions() -> Vec<Definition> {
    let define = |name: &str, schema| Definition {
        name: name.to_owned(),
        description: format!("What {name} does."),
        schema,
        requires_approval: false,
    };
    vec![
        define(
            "read_file",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Which file."},
                    "start_line": {"type": "integer", "minimum": 1},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
        ),
        define("memory", json!({"type": "object", "properties": {}})),
    ]
}

pub fn call(id: &str, name: &str, args: Value) -> Content {
    let Value::Object(args) = args else {
        panic!("{args}")
    };
    Content::Call {
        call: ToolCall::new(id, name, args),
    }
}

pub fn bad_call(id: &str, name: Option<&str>) -> Content {
    Content::BadCall {
        call: BadCall {
            id: id.into(),
            name: name.map(str::to_owned),
            error: ToolError::new(ErrorKind::BadCall, "not JSON"),
        },
    }
}

pub fn thinking(text: &str, seal: Option<Seal>) -> Content {
    Content::Thinking {
        text: text.to_owned(),
        seal,
    }
}

pub fn reasoning_item(encrypted: bool) -> Seal {
    let mut item = json!({
        "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}],
    });
    if encrypted {
        item["encrypted_content"] = json!("gAAAA");
    }
    let Value::Object(item) = item else { panic!() };
    Seal::Item(item)
}

pub fn ok(id: &str, content: &str) -> ToolResult {
    ToolResult::ok(id.into(), "read_file", content)
}

pub fn failed(id: &str, message: &str) -> ToolResult {
    let error = ToolError::new(ErrorKind::NotFound, message);
    ToolResult::failed(id.into(), "read_file", error)
}

pub fn says(content: Vec<Content>) -> Message {
    Message::Assistant { content }
}

pub fn results(results: Vec<ToolResult>) -> Message {
    Message::Tool { results }
}

/// A conversation whose results carry blocks of every kind.
pub fn with_blocks() -> Vec<Message> {
    let png = ContentBlock::image("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let gif = ContentBlock::image("image/gif", b"GIF89a\x01\0\x01\0\0\0\0;");
    let text = ResourceBody::Text("[workspace]".to_owned());
    let blob = ResourceBody::Blob("JVBERi0xLjcK".into());
    let mut all = ok(
        "call_1",
        "words\n[resource a <x:1>]\n[workspace]\n{\"rows\":2}",
    );
    all.blocks = vec![
        ContentBlock::text("words"),
        png.clone(),
        ContentBlock::audio("audio/wav", b"RIFF"),
        ContentBlock::link("x:1", "a"),
        ContentBlock::resource("file:///Cargo.toml", None, text),
        ContentBlock::resource("file:///a.pdf", Some("application/pdf".into()), blob),
        ContentBlock::structured(json!({"rows": 2})),
    ];
    let mut wrong = failed("call_2", "half of the page");
    wrong.blocks = vec![png.clone()];
    let mut only = ok("call_3", "");
    only.blocks = vec![gif, png];
    vec![
        Message::user("Hi"),
        says(vec![
            call("call_1", "read_file", json!({"path": "a"})),
            call("call_2", "read_file", json!({"path": "b"})),
            call("call_3", "memory", json!({})),
        ]),
        results(vec![all, wrong, only]),
    ]
}

/// Histories, each of which is ready for a request.
pub fn histories() -> Vec<(&'static str, Vec<Message>)> {
    let refusal = Content::Text {
        text: "No.".to_owned(),
        refusal: true,
    };
    vec![
        ("first words", vec![Message::user("Hi ü🎉 \"quoted\"\n")]),
        (
            "a second turn",
            vec![
                Message::user("Hi"),
                says(vec![Content::text("Hello"), refusal, Content::text(" ")]),
                Message::user("Go on"),
            ],
        ),
        ("results with blocks", with_blocks()),
        (
            "calls and results",
            vec![
                Message::user("Hi"),
                says(vec![
                    thinking("Hm.", Some(Seal::Signature("c2ln".to_owned()))),
                    thinking("", Some(Seal::Redacted("ZGF0YQ==".to_owned()))),
                    thinking("s", Some(reasoning_item(true))),
                    thinking("open", None),
                    Content::text("I look."),
                    call("call_1", "read_file", json!({"path": "ü", "start_line": 3})),
                    call("functions.read:1", "functions.read", json!({})),
                    bad_call("call_3", Some("memory")),
                    bad_call("", None),
                ]),
                results(vec![
                    failed("", ""),
                    ok("call_1", "text"),
                    failed("call_3", "not JSON"),
                    ok("functions.read:1", ""),
                ]),
                says(vec![call(
                    "call_1",
                    "memory",
                    json!({"nested": {"a": [1, null, 2.5]}}),
                )]),
                results(vec![ok("call_1", "again the same id")]),
                says(vec![]),
                Message::user("Go on"),
                says(vec![thinking("only", Some(reasoning_item(false)))]),
                Message::user("Go on"),
            ],
        ),
    ]
}

pub fn options() -> Vec<(&'static str, RequestOptions)> {
    let plain = RequestOptions::new("some-model");
    let with = |reasoning| RequestOptions {
        reasoning,
        max_tokens: Some(4096),
        ..plain.clone()
    };
    let mut all = vec![
        ("plain", plain.clone()),
        (
            "everything",
            RequestOptions {
                system: Some("You are careful.".to_owned()),
                max_tokens: Some(4096),
                reasoning: Reasoning::On,
                context_tokens: Some(32_768),
                cache: false,
                ..plain.clone()
            },
        ),
        ("off", with(Reasoning::Off)),
        ("small budget", with(Reasoning::Budget(1024))),
        ("budget", with(Reasoning::Budget(4095))),
    ];
    for effort in [
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::XHigh,
        Effort::Max,
    ] {
        all.push(("effort", with(Reasoning::Effort(effort))));
    }
    all
}

pub fn conversation(wire: Wire, messages: &[Message]) -> Conversation {
    said(Conversation::new(wire), messages)
}

fn said(mut conversation: Conversation, messages: &[Message]) -> Conversation {
    for message in messages {
        conversation.push(message).unwrap();
    }
    conversation
}

pub fn body(wire: Wire, options: &RequestOptions, messages: &[Message], tools: Tools) -> Value {
    asked(options, &conversation(wire, messages), tools)
}

/// The same where images go, or do not go.
pub fn body_with(
    wire: Wire,
    options: &RequestOptions,
    messages: &[Message],
    images: bool,
) -> Value {
    let conversation = said(Conversation::new(wire).images(images), messages);
    asked(options, &conversation, Tools::Offered)
}

fn asked(options: &RequestOptions, conversation: &Conversation, tools: Tools) -> Value {
    let frame = Frame::new(conversation.wire(), options, &definitions()).unwrap();
    let request = frame.request(conversation, tools).unwrap();
    let bytes = request.to_vec();
    assert_eq!(bytes.len(), request.bytes());
    serde_json::from_slice(&bytes).unwrap()
}

/// Every history with every options, with tools and without.
pub fn requests(wire: Wire) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (history, messages) in histories() {
        for (name, options) in options() {
            for tools in [Tools::Offered, Tools::Withheld] {
                let name = format!("{history}, {name} {:?}, {tools:?}", options.reasoning);
                all.push((name, body(wire, &options, &messages, tools)));
            }
        }
    }
    let plain = RequestOptions::new("some-model");
    for images in [true, false] {
        let body = body_with(wire, &plain, &with_blocks(), images);
        all.push((format!("results with blocks, images {images}"), body));
    }
    all
}

pub fn extra(fields: Value) -> Map<String, Value> {
    let Value::Object(fields) = fields else {
        panic!()
    };
    fields
}
