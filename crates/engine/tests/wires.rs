//! Providers over HTTP: what is sent, what is heard, and what a bad one is told as.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate_model::Call;
use toolgate_providers::http::{Client, Endpoint, HttpProvider, HttpTimeouts, Secret};
use toolgate_providers::replay::{Script, Step};
use toolgate_providers::request::{Conversation, Frame, RequestOptions, Tools};
use toolgate_providers::{
    Definition, Message, Provider, Reply, StreamError, StreamEvent, StreamLimits, Wire,
};
use toolgate_testkit::{Loopback, Render, Sent, Told};

const LOOK: &str = r#"
[[steps]]
text = "I look."
chunk_bytes = 3
usage = { input_tokens = 5, output_tokens = 1 }
[[steps.calls]]
id = "toolu_1"
name = "read_file"
args = { path = "src/lib.rs" }
"#;

fn look() -> Step {
    Script::from_toml(LOOK).unwrap().steps.remove(0)
}

fn base(wire: Wire, server: &Loopback) -> String {
    match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses => format!("{}/v1", server.url()),
        Wire::Anthropic | Wire::Ollama => server.url(),
    }
}

fn client(wire: Wire, server: &Loopback, timeouts: HttpTimeouts) -> Client {
    let key = Secret::new("k-123");
    let endpoint = Endpoint::new(wire, Some(&base(wire, server)), Some(&key), []).unwrap();
    Client::new(endpoint, timeouts).unwrap()
}

fn definition() -> Definition {
    Definition {
        name: "read_file".into(),
        description: "Reads.".into(),
        schema: json!({"type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {"path": {"type": "string", "description": "Which file."}}}),
        requires_approval: false,
    }
}

fn provider(wire: Wire, server: &Loopback, timeouts: HttpTimeouts) -> HttpProvider {
    let client = client(wire, server, timeouts);
    let options = RequestOptions::new("m");
    let frame = Frame::new(wire, &options, &[definition()]).unwrap();
    let mut provider = HttpProvider::new(client, frame, StreamLimits::default());
    provider.push(&Message::user("hi")).unwrap();
    provider
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

async fn events(provider: &mut HttpProvider) -> Vec<StreamEvent> {
    let mut all = Vec::new();
    loop {
        let event = provider.hear().await;
        let over = matches!(event, StreamEvent::End(_));
        all.push(event);
        if over {
            return all;
        }
    }
}

/// Asks once and hears everything, whichever way the answer was cut on the way.
fn heard(wire: Wire, piece: usize) -> Vec<StreamEvent> {
    let bytes = look().render(wire);
    let server = Loopback::start(move |_| {
        let pieces = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
        Told::new(200, wire.stream_type(), "").sent(Sent::Pieces(pieces))
    });
    run(async {
        let mut provider = provider(wire, &server, HttpTimeouts::default());
        provider.ask(Tools::Offered).await.unwrap();
        events(&mut provider).await
    })
}

/// The call of the script begins, comes in fragments and ends, in this order and under its id.
fn check_call(wire: Wire) {
    let events = heard(wire, 7);
    let begun: Vec<_> = events
        .iter()
        .enumerate()
        .filter_map(|(at, event)| match event {
            StreamEvent::CallStarted { number, id, name } => {
                Some((at, *number, id.as_str(), name.as_str()))
            }
            _ => None,
        })
        .collect();
    let [(began, number, id, name)] = begun[..] else {
        panic!("one call begins: {events:?}")
    };
    assert_eq!((id, name), ("toolu_1", "read_file"), "{wire}");
    let ends: Vec<_> = (0..)
        .zip(&events)
        .filter(|(_, event)| matches!(event, StreamEvent::Call(_)))
        .collect();
    let [(ended, StreamEvent::Call(Call::Whole(call)))] = ends[..] else {
        panic!("one call ends, whole: {events:?}")
    };
    assert_eq!((call.id.as_str(), call.name.as_str()), (id, name), "{wire}");
    let mut text = String::new();
    let mut fragments = 0;
    for (at, event) in events.iter().enumerate() {
        if let StreamEvent::CallFragment {
            number: of,
            text: more,
        } = event
        {
            assert!(began < at && at < ended, "{wire}: {events:?}");
            assert_eq!(*of, number, "{wire}");
            text.push_str(more);
            fragments += 1;
        }
    }
    match wire {
        Wire::Ollama => assert_eq!(fragments, 1, "it sends a call at once"),
        _ => assert!(fragments > 1, "{wire}: {fragments}"),
    }
    let args: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(args, json!({"path": "src/lib.rs"}));
    assert_eq!(Value::Object(call.args.clone()), args, "{wire}");
    for piece in [1, 64, usize::MAX] {
        let other: Reply = heard(wire, piece).into_iter().collect();
        assert_eq!(other, events.iter().cloned().collect(), "pieces of {piece}");
    }
}

#[test]
fn ac_25_a_call_of_anthropic_begins_comes_in_fragments_and_ends() {
    check_call(Wire::Anthropic);
}

#[test]
fn ac_26_a_call_of_openai_begins_comes_in_fragments_and_ends() {
    check_call(Wire::OpenAiChat);
    check_call(Wire::OpenAiResponses);
}

#[test]
fn ac_27_a_call_of_ollama_begins_comes_at_once_and_ends() {
    check_call(Wire::Ollama);
}

#[test]
fn ac_28_tools_go_out_in_the_form_of_each_wire_with_its_key_and_its_path() {
    let schema = definition().schema;
    let function = json!({"name": "read_file", "description": "Reads.", "parameters": schema});
    let bearer = ("authorization", "Bearer k-123");
    for (wire, line, tool, key) in [
        (
            Wire::Anthropic,
            "POST /v1/messages",
            json!({"name": "read_file", "description": "Reads.", "input_schema": schema}),
            ("x-api-key", "k-123"),
        ),
        (
            Wire::OpenAiChat,
            "POST /v1/chat/completions",
            json!({"type": "function", "function": function}),
            bearer,
        ),
        (
            Wire::OpenAiResponses,
            "POST /v1/responses",
            json!({"type": "function", "name": "read_file", "description": "Reads.",
                "parameters": schema, "strict": false}),
            bearer,
        ),
        (
            Wire::Ollama,
            "POST /api/chat",
            json!({"type": "function", "function": function}),
            bearer,
        ),
    ] {
        let bytes = look().render(wire);
        let server = Loopback::start(move |_| Told::new(200, wire.stream_type(), bytes.clone()));
        run(async {
            let mut provider = provider(wire, &server, HttpTimeouts::default());
            provider.ask(Tools::Offered).await.unwrap();
        });
        let heard = server.heard();
        assert_eq!(heard[0].line, line);
        assert_eq!(heard[0].json()["tools"], json!([tool]), "{wire}");
        assert_eq!(heard[0].header(key.0), Some(key.1));
    }
}

#[test]
fn a_connection_is_used_again_for_the_next_request_of_a_conversation() {
    const REQUESTS: usize = 10;
    for wire in Wire::ALL {
        let bytes = look().render(wire);
        let server = Loopback::start(move |_| Told::new(200, wire.stream_type(), bytes.clone()));
        run(async {
            let mut provider = provider(wire, &server, HttpTimeouts::default());
            for _ in 0..REQUESTS {
                provider.ask(Tools::Offered).await.unwrap();
                events(&mut provider).await;
                // Between two requests there is always something to do.
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
        });
        assert_eq!(server.heard().len(), REQUESTS, "{wire}");
        assert!(
            server.connections() < REQUESTS / 2,
            "{wire}: {}",
            server.connections()
        );
    }
}

#[test]
fn a_long_history_is_sent_whole_and_says_its_length() {
    for wire in Wire::ALL {
        let bytes = look().render(wire);
        let server = Loopback::start(move |_| Told::new(200, wire.stream_type(), bytes.clone()));
        let said: Vec<Message> = (0..60)
            .map(|number: usize| Message::user(format!("{number} ").repeat(1_500 + number * 37)))
            .collect();
        let whole = run(async {
            let mut provider = provider(wire, &server, HttpTimeouts::default());
            let mut plain = Conversation::new(wire);
            plain.push(&Message::user("hi")).unwrap();
            for message in &said {
                provider.push(message).unwrap();
                plain.push(message).unwrap();
            }
            provider.ask(Tools::Offered).await.unwrap();
            events(&mut provider).await;
            assert!(plain.bytes() > 256 * 1024, "more than a block");
            plain.bytes()
        });
        let heard = server.heard();
        assert_eq!(heard.len(), 1, "{wire}");
        let length = heard[0].header("content-length").unwrap();
        assert_eq!(length, heard[0].body.len().to_string(), "{wire}");
        assert!(heard[0].body.len() > whole, "{wire}");
        let text = heard[0].json().to_string();
        for (number, message) in said.iter().enumerate() {
            let Message::User { text: said } = message else {
                unreachable!()
            };
            assert!(text.contains(said.trim()), "{wire}: message {number}");
        }
    }
}

#[test]
fn a_refusal_says_what_the_provider_says_and_how_long_it_wants_to_be_left_alone() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (status, word, retry, kind, again) in [
        (429, "rate_limit_error", Some("2"), "rate_limited", true),
        (
            503,
            "overloaded_error",
            Some("Sun, 06 Nov 1994 08:49:39 GMT"),
            "overloaded",
            true,
        ),
        (529, "overloaded_error", None, "overloaded", true),
        (500, "api_error", None, "server", true),
        (401, "authentication_error", None, "authentication", false),
        (404, "not_found_error", None, "not_found", false),
    ] {
        let body = json!({"type": "error", "error": {"type": word, "message": "slow down"}});
        let server = Loopback::start(move |_| {
            let told = Told::new(status, "application/json", body.to_string());
            let told = told.header("date", date);
            match retry {
                Some(seconds) => told.header("retry-after", seconds),
                None => told,
            }
        });
        let refused = run(async {
            provider(Wire::Anthropic, &server, HttpTimeouts::default())
                .ask(Tools::Offered)
                .await
        })
        .unwrap_err();
        assert_eq!(refused.fault.kind(), kind);
        assert_eq!(refused.fault.is_retryable(), again);
        assert_eq!(refused.retry_after, retry.map(|_| Duration::from_secs(2)));
        assert!(refused.to_string().contains("slow down"), "{refused}");
    }
}

#[test]
fn what_is_no_stream_is_said_before_it_is_read() {
    for (wire, kind, body, part) in [
        (
            Wire::Anthropic,
            "text/html",
            "<html>login</html>",
            "text/html",
        ),
        (
            Wire::OpenAiChat,
            "application/json",
            "{}",
            "application/json",
        ),
        (
            Wire::Ollama,
            "text/event-stream",
            "data: x\n\n",
            "text/event-stream",
        ),
    ] {
        let server = Loopback::start(move |_| Told::new(200, kind, body));
        let refused = run(async {
            provider(wire, &server, HttpTimeouts::default())
                .ask(Tools::Offered)
                .await
        })
        .unwrap_err();
        assert!(matches!(refused.fault, StreamError::NotAStream { .. }));
        assert!(refused.to_string().contains(part), "{refused}");
    }
}

#[test]
fn a_call_that_was_on_its_way_when_the_provider_fell_silent_is_damaged_and_not_lost() {
    const HALF: &str = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"content":"I look."}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":"{\"a\":"}}]}}]}"#,
        "\n\n",
    );
    let hangs =
        Loopback::start(|_| Told::new(200, "text/event-stream", "").sent(Sent::Hangs(HALF.into())));
    for (idle, total, reason) in [(200, 60_000, "Silent"), (60_000, 200, "TooSlow")] {
        let timeouts = HttpTimeouts {
            idle: Duration::from_millis(idle),
            total: Duration::from_millis(total),
            ..HttpTimeouts::default()
        };
        let heard = run(async {
            let mut provider = provider(Wire::OpenAiChat, &hangs, timeouts);
            provider.ask(Tools::Offered).await.unwrap();
            events(&mut provider).await
        });
        let [
            ..,
            StreamEvent::Call(Call::Bad(bad)),
            StreamEvent::End(Err(fault)),
        ] = heard.as_slice()
        else {
            panic!("{heard:?}")
        };
        assert_eq!(bad.id.as_str(), "c1");
        assert!(format!("{fault:?}").starts_with(reason), "{fault:?}");
    }
}

#[test]
fn an_error_and_a_list_that_never_end_are_read_as_long_as_an_answer_may_take() {
    let timeouts = HttpTimeouts {
        total: Duration::from_millis(200),
        ..HttpTimeouts::default()
    };
    for status in [500, 200] {
        let hangs = Loopback::start(move |_| {
            Told::new(status, "application/json", "").sent(Sent::Hangs(b"{".to_vec()))
        });
        let began = Instant::now();
        let told = run(async {
            let client = client(Wire::Anthropic, &hangs, timeouts);
            client.models().await.unwrap_err().to_string()
        });
        assert!(began.elapsed() < Duration::from_secs(20), "{told}");
    }
}

#[test]
fn silence_redirects_and_closed_ports_end_in_time_with_a_reason() {
    let quick = HttpTimeouts {
        idle: Duration::from_millis(200),
        ..HttpTimeouts::default()
    };
    let hangs = Loopback::start(|_| {
        Told::new(200, "text/event-stream", "").sent(Sent::Hangs(b": hi\n\n".to_vec()))
    });
    let began = Instant::now();
    let end = run(async {
        let mut provider = provider(Wire::Anthropic, &hangs, quick);
        provider.ask(Tools::Offered).await.unwrap();
        events(&mut provider).await.pop()
    });
    assert!(
        matches!(end, Some(StreamEvent::End(Err(StreamError::Silent { .. })))),
        "{end:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(10));

    let moved = Loopback::start(|_| {
        Told::new(307, "text/plain", "").header("location", "http://example.invalid/")
    });
    let refused = run(async {
        provider(Wire::Anthropic, &moved, HttpTimeouts::default())
            .ask(Tools::Offered)
            .await
    })
    .unwrap_err();
    assert!(refused.to_string().contains("example.invalid"), "{refused}");
    assert_eq!(moved.heard().len(), 1);

    let gone = Loopback::start(|_| Told::new(200, "text/plain", ""));
    let mut nobody = provider(Wire::Anthropic, &gone, HttpTimeouts::default());
    drop(gone);
    let refused = run(async { nobody.ask(Tools::Offered).await }).unwrap_err();
    assert!(
        matches!(refused.fault, StreamError::Unreachable { .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("127.0.0.1"), "{refused}");
}
