//! Scripts: read, written, recorded, played, and rendered for every wire.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod scenario;

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolgate_model::json::JsonLimits;
use toolgate_model::{ErrorKind, Status, ToolError, ToolResult};
use toolgate_providers::replay::{
    Arguments, Expected, Finish, Pace, Part, PlayedCall, Recorder, Script, ScriptError, Step,
};
use toolgate_providers::{
    Content, ProviderError, ProviderErrorKind, Reply, Seal, StopReason, StreamDecoder, StreamEvent,
    StreamLimits, Usage, Wire,
};
use toolgate_testkit::Render;

/// The example of the module's documentation.
const EXAMPLE: &str = r#"
[[steps]]
thinking = "First I look."
text = "Let me see."
chunk_bytes = 5
delay_ms = 20

[[steps.calls]]
id = "call_1"
name = "read_file"
args = { path = "README.md" }

[[steps]]
text = "It says hello."
usage = { input_tokens = 120, output_tokens = 8 }

[[steps.expect]]
call_id = "call_1"
status = "ok"
contains = ["hello"]
"#;

fn played(step: &Step) -> Reply {
    let played = step.play(JsonLimits::default(), 1);
    played
        .beats
        .into_iter()
        .flat_map(|beat| beat.events)
        .collect()
}

#[test]
fn the_documented_example_plays_as_it_says() {
    let script = Script::from_toml(EXAMPLE).unwrap();
    let first = script.steps[0].play(JsonLimits::default(), 1);
    let wait = Duration::from_millis(20);
    assert!(first.beats.iter().all(|beat| beat.delay == wait));
    let texts: Vec<&StreamEvent> = first.beats.iter().flat_map(|beat| &beat.events).collect();
    assert_eq!(texts[0], &StreamEvent::Thinking("First".into()));
    assert_eq!(texts[3], &StreamEvent::Text("Let m".into()));
    assert_eq!(first.next_number, 2);
    assert_eq!(
        played(&script.steps[0]).lines(),
        [
            json!({"type": "thinking", "text": "First I look."}),
            json!({"type": "text", "text": "Let me see."}),
            json!({"type": "call", "call": {"id": "call_1", "name": "read_file", "args": {"path": "README.md"}}}),
            json!({"type": "end", "stop": "tool_use"}),
        ]
    );
    assert_eq!(
        played(&script.steps[1]).lines(),
        [
            json!({"type": "text", "text": "It says hello."}),
            json!({"type": "usage", "input_tokens": 120, "output_tokens": 8}),
            json!({"type": "end", "stop": "end_turn"}),
        ]
    );
    let result = |id: &str, text: &str| ToolResult::ok(id.into(), "read_file", text);
    let check = |results: &[ToolResult]| {
        let checked = script.steps[1].check(results);
        checked.map_err(|error| error.to_string())
    };
    assert_eq!(
        check(&[result("call_0", ""), result("call_1", "hello you")]),
        Ok(())
    );
    for (results, message) in [
        (vec![], "no result for call_1; it has none"),
        (vec![result("call_0", "hello")], "it has call_0"),
        (
            vec![result("call_1", "bye")],
            "has content \"bye\", expected \"hello\" in it",
        ),
        (
            vec![ToolResult::failed(
                "call_1".into(),
                "x",
                ToolError::new(ErrorKind::NotFound, "hello"),
            )],
            "has status error, expected ok",
        ),
    ] {
        let said = check(&results).unwrap_err();
        assert!(said.contains(message), "{said}");
    }
    let kind = Step {
        expect: vec![Expected {
            call_id: "a".into(),
            status: Some(Status::Ok),
            kind: Some(ErrorKind::Timeout),
            contains: vec![],
        }],
        ..Step::default()
    };
    let said = kind.check(&[result("a", "")]).unwrap_err().to_string();
    assert!(said.contains("has kind none, expected timeout"), "{said}");
}

#[test]
fn every_way_to_end_and_every_part_can_be_written_down() {
    let script = Script::from_toml(
        r#"
        model = "some"
        [[steps]]
        chunk_bytes = [1, 3]
        delay_ms = [0, 5]
        stop = "max_tokens"
        parts = [
          { text = "a" },
          { call = { name = "ls" } },
          { thinking = "b", seal = { signature = "c" } },
          { thinking = "", seal = { redacted = "d" } },
          { thinking = "", seal = { item_json = '{"type":"reasoning","id":null}' } },
          { refusal = "e" },
          { call = { args_json = '{"x":' } },
        ]
        [[steps]]
        text = "f"
        error = { kind = "overloaded", message = "busy" }
        [[steps]]
        cut = true
        calls = [{ id = "c", name = "ls", args_json = "{\"x\": null}" }]
        [[steps]]
        stop = "tired"
        "#,
    )
    .unwrap();
    assert_eq!(script.model.as_deref(), Some("some"));
    let lines = played(&script.steps[0]).lines();
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "text", "call", "thinking", "thinking", "thinking", "text", "bad_call", "end"
        ]
    );
    assert_eq!(lines[1]["call"]["id"], "replay_1");
    assert_eq!(lines[6]["call"]["id"], "replay_2");
    assert_eq!(lines[7]["stop"], "max_tokens");
    let busy = played(&script.steps[1]).lines();
    assert_eq!(busy[1]["error"]["kind"], "overloaded");
    let cut = played(&script.steps[2]).lines();
    assert_eq!(cut[0]["call"]["args"], json!({"x": null}));
    assert_eq!(cut[1]["error"]["kind"], "cut");
    assert_eq!(
        played(&script.steps[3]).lines(),
        [json!({"type": "end", "stop": "tired"})]
    );
    assert_eq!(
        Script::from_toml(&script.to_toml().unwrap()).unwrap(),
        script
    );
    assert_eq!(Script::from_toml("").unwrap(), Script::default());
}

#[test]
fn what_is_wrong_with_a_script_is_said_with_its_place() {
    for (text, place) in [
        (
            "[[steps]]\ntxt = \"a\"\n",
            "line 2 of the script: unknown field `txt`",
        ),
        ("[[steps]]\ntext = 1\n", "line 2"),
        ("[[steps]\n", "line 1"),
        (
            "[[steps]]\nchunk_bytes = -1\n",
            "a number or a list of numbers",
        ),
        (
            "[[steps]]\nchunk_bytes = [1, 0]\n",
            "step 1 of the script: has chunks of no bytes",
        ),
        (
            "[[steps]]\n[[steps]]\ntext = \"a\"\nparts = []\n",
            "step 2 of the script: has parts",
        ),
        (
            "[[steps]]\ncut = true\nstop = \"end_turn\"\n",
            "ends in two ways",
        ),
        (
            "[[steps]]\nparts = [{ text = \"a\", refusal = \"b\" }]\n",
            "has a part that is not one",
        ),
        (
            "[[steps]]\nparts = [{ text = \"a\", seal = { signature = \"b\" } }]\n",
            "a seal",
        ),
        (
            "[[steps]]\nparts = [{ thinking = \"a\", seal = { item_json = \"[]\" } }]\n",
            "item_json",
        ),
        (
            "[[steps]]\ncalls = [{ args = {}, args_json = \"\" }]\n",
            "args and args_json",
        ),
        (
            "[[steps]]\ncalls = [{ args = { at = 2024-01-01 } }]\n",
            "has a date in args",
        ),
        (
            "[[steps]]\ncalls = [{ args = { at = [nan] } }]\n",
            "has a number in args",
        ),
        (
            "[[steps]]\nerror = { kind = \"bad\", message = \"\" }\n",
            "line 2",
        ),
    ] {
        let fault: ScriptError = Script::from_toml(text).unwrap_err();
        assert!(fault.to_string().contains(place), "{text}: {fault}");
    }
}

/// What an answer came to, where the words for damage do not count.
fn gist(reply: &Reply) -> Vec<Value> {
    let mut lines = reply.lines();
    for line in &mut lines {
        if line["type"] == "bad_call" {
            line["call"]["error"] = Value::Null;
        }
        if line["error"]["kind"] == "malformed" || line["error"]["kind"] == "other" {
            line["error"] = Value::Null;
        }
        if line["error"]["kind"] == "nothing" {
            line["error"] = reply_cut().lines().pop().unwrap()["error"].take();
        }
    }
    lines
}

fn reply_cut() -> Reply {
    let step = Step {
        finish: Finish::Cut,
        ..Step::default()
    };
    played(&step)
}

#[test]
fn what_is_recorded_from_a_wire_plays_the_same() {
    let mut count = 0;
    for wire in Wire::ALL {
        for one in scenario::all(wire) {
            let mut recorder = Recorder::new(Some("m".into()));
            recorder.request(&[ToolResult::ok("c".into(), "x", "")]);
            let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
            let mut events = decoder.push(&one.stream);
            events.extend(decoder.finish());
            events.iter().for_each(|event| recorder.event(event));
            let text = recorder.script().to_toml().unwrap();
            let script = Script::from_toml(&text).unwrap();
            assert_eq!(&script, recorder.script(), "{wire} {}: {text}", one.name);
            assert_eq!(script.steps[0].expect[0].call_id, "c");
            let reply: Reply = events.into_iter().collect();
            assert_eq!(
                gist(&played(&script.steps[0])),
                gist(&reply),
                "{wire} {}",
                one.name
            );
            count += 1;
        }
    }
    assert!(count > 80);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        "[a-zü🎉\"'\\\\\n\r\t\u{0}\u{1b} ]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let fields = prop::collection::btree_map("[a-zA-Z.\" ü]{0,6}", inner, 0..4);
    fields.prop_map(|fields| fields.into_iter().collect())
}

fn any_call() -> impl Strategy<Value = PlayedCall> {
    let args = prop_oneof![
        3 => object(any_json()).prop_map(Arguments::Object),
        1 => "[{}\":a1, ]{0,9}".prop_map(Arguments::from_text),
    ];
    (
        prop::option::of("[a-z0-9_]{1,9}"),
        prop::option::of("[a-z_]{1,9}"),
        args,
    )
        .prop_map(|(id, name, args)| PlayedCall { id, name, args })
}

fn any_words() -> impl Strategy<Value = String> {
    "[a-zü🎉\"'\\\\\n\r\t ]{1,30}"
}

fn any_part() -> impl Strategy<Value = Part> {
    let seal = prop_oneof![
        any_words().prop_map(Seal::Signature),
        any_words().prop_map(Seal::Redacted),
        any_json().prop_map(|value| {
            let fields = [("type", json!("reasoning")), ("summary", value)];
            Seal::Item(
                fields
                    .map(|(name, value)| (name.to_owned(), value))
                    .into_iter()
                    .collect(),
            )
        }),
    ];
    prop_oneof![
        any_words().prop_map(Part::Text),
        any_words().prop_map(Part::Refusal),
        (any_words(), prop::option::of(seal))
            .prop_map(|(text, seal)| Part::Thinking { text, seal }),
        any_call().prop_map(Part::Call),
    ]
}

fn any_usage() -> impl Strategy<Value = Usage> {
    (0..9_999_u64, 0..9_999_u64, 0..99_u64, 0..99_u64).prop_map(|(plain, output, cached, kept)| {
        Usage {
            input_tokens: plain + cached + kept,
            output_tokens: output,
            cache_read_tokens: cached,
            cache_write_tokens: kept,
            reasoning_tokens: output / 2,
        }
    })
}

fn any_pace() -> impl Strategy<Value = Pace> {
    let delays = prop::collection::vec((0..99_u64).prop_map(Duration::from_millis), 0..3);
    (prop::collection::vec(1..9_usize, 0..3), delays).prop_map(|(chunk_bytes, delays)| Pace {
        chunk_bytes,
        delays,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let error = (
        prop::sample::select(ProviderErrorKind::ALL.to_vec()),
        any_words(),
    );
    let finish = prop_oneof![
        Just(Finish::Normal),
        Just(Finish::Cut),
        Just(Finish::Stop(StopReason::MaxTokens)),
        "[a-z]{1,9}".prop_map(|word| Finish::Stop(StopReason::Other(word))),
        error.prop_map(|(kind, message)| Finish::Error(ProviderError {
            kind,
            message,
            code: String::new(),
        })),
    ];
    let parts = prop::collection::vec(any_part(), 0..6);
    (parts, any_pace(), prop::option::of(any_usage()), finish).prop_map(
        |(parts, pace, usage, finish)| Step {
            expect: Vec::new(),
            parts,
            pace,
            usage,
            finish,
        },
    )
}

/// Steps that every wire can say as they are: words first, whole calls with ids of their own last.
fn plain_step() -> impl Strategy<Value = Step> {
    let words = prop_oneof![
        any_words().prop_map(Part::Text),
        any_words().prop_map(|text| Part::Thinking { text, seal: None }),
    ];
    let calls = prop::collection::vec(("[a-z_]{1,9}", object(small_json())), 0..4);
    (
        prop::collection::vec(words, 1..5),
        calls,
        any_pace(),
        any_usage(),
    )
        .prop_map(|(mut parts, calls, pace, usage)| {
            parts.extend(calls.into_iter().zip(1..).map(|((name, args), number)| {
                Part::Call(PlayedCall {
                    id: Some(format!("call_{number}")),
                    name: Some(name),
                    args: Arguments::Object(args),
                })
            }));
            Step {
                parts,
                pace,
                usage: Some(usage),
                ..Step::default()
            }
        })
}

/// Without numbers that the strict reader refuses.
fn small_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        any_words().prop_map(Value::String),
        prop::collection::vec(any::<bool>().prop_map(Value::Bool), 0..3).prop_map(Value::Array),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read_back(steps in prop::collection::vec(any_step(), 0..4), model in prop::option::of(any_words())) {
        let script = Script { model, steps };
        let text = script.to_toml().unwrap();
        prop_assert_eq!(Script::from_toml(&text).unwrap(), script, "{}", text);
    }

    #[test]
    fn a_pace_changes_no_word(step in any_step()) {
        let at_once = Step { pace: Pace::default(), ..step.clone() };
        let (paced, whole) = (played(&step), played(&at_once));
        prop_assert_eq!(paced, whole);
    }

    /// The same answer, through any wire and in any pieces, comes to the same.
    #[test]
    fn every_wire_brings_the_same_answer(step in plain_step(), size in 1..60_usize) {
        let direct = played(&step);
        for wire in Wire::ALL {
            let stream = step.render(wire);
            let mut reply = scenario::play(wire, StreamLimits::default(), stream.chunks(size));
            if wire == Wire::Ollama {
                // It says only these two.
                let usage = direct.usage.unwrap();
                prop_assert_eq!(reply.usage.unwrap().input_tokens, usage.input_tokens);
                prop_assert_eq!(reply.usage.unwrap().output_tokens, usage.output_tokens);
                reply.usage = direct.usage;
            }
            prop_assert_eq!(&reply, &direct, "{} {}", wire, String::from_utf8_lossy(&stream));
        }
    }

    #[test]
    fn damaged_answers_end_the_same_on_every_wire(step in any_step(), size in 1..60_usize) {
        for wire in Wire::ALL {
            let stream = step.render(wire);
            let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
            let mut reply = Reply::default();
            stream.chunks(size).for_each(|chunk| reply.extend(decoder.push(chunk)));
            reply.extend(decoder.finish());
            let calls = |reply: &Reply| reply.content.iter().filter_map(Content::call_id).count();
            prop_assert_eq!(calls(&reply), calls(&played(&step)), "{}", wire);
            let ended_well = matches!(reply.end, Some(Ok(_)));
            prop_assert_eq!(ended_well, !matches!(step.finish, Finish::Error(_) | Finish::Cut));
        }
    }

    #[test]
    fn any_text_is_a_script_or_says_why_not(text in "([a-z=\\[\\]{}\"' .0-9\n]|\\[\\[steps\\]\\]\n|text = \"x\"\n|cut = true\n){0,20}") {
        if let Ok(script) = Script::from_toml(&text) {
            script.steps.iter().for_each(|step| drop(played(step)));
        }
    }
}
