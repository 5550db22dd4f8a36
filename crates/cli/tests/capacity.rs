//! What the configuration says about a model's size reaches the provider and the results.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::Bench;
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Told};

/// A server that plays a script on a wire.
fn playing(wire: Wire, script: &str) -> Loopback {
    let mut steps = Script::from_toml(script).unwrap().steps.into_iter();
    Loopback::start(move |_| Told::new(200, wire.stream_type(), steps.next().unwrap().render(wire)))
}

fn asked(bench: &Bench, wire: Wire, server: &Loopback, model: &str, more: &str) -> String {
    bench.home(
        "config.toml",
        &format!(
            "[providers.p]\nkind = \"{wire}\"\nmodel = \"{model}\"\nbase_url = \"{}\"\n{more}\n",
            server.url()
        ),
    );
    let done = bench.run(&["run", "go", "--json"]);
    assert_eq!(done.code, Some(0), "{wire}: {more}: {done:?}");
    done.stdout
}

#[test]
fn the_sizes_of_the_configuration_go_out_as_each_wire_has_them() {
    let said = "context_tokens = 30000\nmax_tokens = 5000\n";
    for (wire, reasoning, fields) in [
        (
            Wire::Anthropic,
            "2000",
            json!({"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ),
        (
            Wire::Anthropic,
            "\"off\"",
            json!({"max_tokens": 5000, "thinking": {"type": "disabled"}}),
        ),
        (
            Wire::OpenAiChat,
            "\"xhigh\"",
            json!({"max_completion_tokens": 5000, "reasoning_effort": "xhigh"}),
        ),
        (
            Wire::OpenAiResponses,
            "\"minimal\"",
            json!({"max_output_tokens": 5000, "reasoning": {"summary": "auto", "effort": "minimal"}}),
        ),
        (
            Wire::Ollama,
            "\"on\"",
            json!({"options": {"num_predict": 5000, "num_ctx": 30000}, "think": true}),
        ),
    ] {
        let bench = Bench::new();
        let server = playing(wire, "[[steps]]\ntext = \"ok\"\n");
        let more = format!("{said}reasoning = {reasoning}");
        asked(&bench, wire, &server, "m", &more);
        let sent = server.heard()[0].json();
        for (field, value) in fields.as_object().unwrap() {
            assert_eq!(sent[field], *value, "{wire}: {field}");
        }
    }
}

/// How many bytes of hits in a file of this size the model gets, and whether these are a part.
fn search(wire: Wire, model: &str, more: &str, size: usize, usage: &str) -> (usize, bool) {
    let bench = Bench::new();
    let line = format!("{}\n", "0123456789".repeat(20));
    bench.write("a.txt", &line.repeat(size / line.len()));
    let server = playing(
        wire,
        &format!(
            "[[steps]]\n{usage}\n[[steps.calls]]\nid = \"c\"\nname = \"grep\"\nargs = {{ pattern = \"0\", max_results = 10000 }}\n[[steps]]\ntext = \"ok\"\n"
        ),
    );
    let shown = asked(&bench, wire, &server, model, more);
    let events = shown
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let result = events
        .into_iter()
        .find(|event| event["type"] == "call_finished")
        .map(|event| event["result"].clone())
        .expect("a result");
    assert_eq!(server.heard().len(), 2);
    let content = result["content"].as_str().unwrap();
    (content.len(), result["truncated"] == true)
}

#[test]
fn a_small_context_bounds_a_result_and_an_uncounted_one_is_bounded_as_if_unknown() {
    let counted = "usage = { input_tokens = 2000, output_tokens = 0 }";
    let small = "context_tokens = 5000\nmax_tokens = 1000";
    for wire in Wire::ALL {
        // Two thousand tokens are left, which are at least three bytes each.
        let (bytes, cut) = search(wire, "m", small, 32_000, counted);
        assert!(cut && (4_000..=6_000).contains(&bytes), "{wire}: {bytes}");
    }
    let wire = Wire::OpenAiChat;
    for (what, model, usage, whole) in [
        ("counted, known", "gpt-4.1", counted, true),
        ("not counted, known", "gpt-4.1", "", false),
        ("counted, unknown", "m", counted, false),
        ("not counted, unknown", "m", "", false),
    ] {
        let (bytes, cut) = search(wire, model, "", 96_000, usage);
        assert_eq!(cut, !whole, "{what}: {bytes}");
        let most = if whole { 102_400 } else { 65_536 };
        assert!((60_000..=most).contains(&bytes), "{what}: {bytes}");
    }
}
