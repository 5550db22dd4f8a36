//! Requests, and the recorded answers, against the types of the official Python SDKs.
//!
//! The SDKs are installed once below the target directory; where that cannot be
//! done, these tests fail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod scenario;
mod talk;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::decode::SseDecoder;

fn oracle(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracle")
        .join(file)
}

fn run(what: &str, command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
}

/// The interpreter that has the SDKs, installed under a name that says which.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let wanted = fs::read_to_string(oracle("sdks.txt")).unwrap();
    let name: Vec<&str> = wanted.split_whitespace().collect();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.join("-").replace("==", "-"));
    let python = home.join("bin/python");
    if !python.exists() {
        // Another process may do the same at this moment: whoever is done first is right.
        let draft = home.with_extension(format!("draft-{}", std::process::id()));
        let mut venv = Command::new("python3");
        run("python3 -m venv", venv.args(["-m", "venv"]).arg(&draft));
        let mut pip = Command::new(draft.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        run(
            "pip install of the SDKs",
            pip.arg("--requirement").arg(oracle("sdks.txt")),
        );
        if fs::rename(&draft, &home).is_err() {
            fs::remove_dir_all(&draft).unwrap();
        }
    }
    python
});

struct Case {
    name: String,
    wire: Wire,
    kind: &'static str,
    body: Value,
}

/// What the SDK's types say is wrong with each case, by name; nothing for what is right.
fn wrongs(cases: &[Case]) -> BTreeMap<String, String> {
    let mut child = Command::new(&*PYTHON)
        .arg(oracle("sdk_types.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = cases
        .iter()
        .map(|case| {
            let wire = case.wire.as_str();
            json!({"name": case.name, "wire": wire, "kind": case.kind, "body": case.body})
                .to_string()
        })
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.join("\n").as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), cases.len());
    answers
        .into_iter()
        .filter_map(|answer| {
            let wrong = answer["wrong"].as_str()?.to_owned();
            Some((answer["name"].as_str().unwrap().to_owned(), wrong))
        })
        .collect()
}

fn request(name: String, wire: Wire, body: Value) -> Case {
    Case {
        name,
        wire,
        kind: "request",
        body,
    }
}

#[test]
fn requests_are_of_the_types_of_the_official_sdks() {
    let mut cases = Vec::new();
    for wire in Wire::ALL {
        for (name, body) in talk::requests(wire) {
            cases.push(request(format!("{wire} {name}"), wire, body));
        }
    }
    assert!(cases.len() > 100, "{}", cases.len());
    let wrongs = wrongs(&cases);
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

#[test]
fn requests_that_are_wrong_are_found_out() {
    let mut cases = Vec::new();
    for wire in Wire::ALL {
        let (_, body) = talk::requests(wire).pop().unwrap();
        let messages = if wire == Wire::OpenAiResponses {
            "input"
        } else {
            "messages"
        };
        let mut damage = |name: &str, change: &dyn Fn(&mut Value)| {
            let mut body = body.clone();
            change(&mut body);
            cases.push(request(format!("{wire} {name}"), wire, body));
        };
        damage("no model", &|body| {
            drop(body.as_object_mut().unwrap().remove("model"))
        });
        damage("unknown field", &|body| body["mesages"] = json!([]));
        damage("messages are text of numbers", &|body| {
            body[messages] = json!([1])
        });
        damage("a misspelt field of a message", &|body| {
            body[messages][0]["contnet"] = json!("x")
        });
    }
    let found = wrongs(&cases);
    // The Responses type has no required fields, and takes any message that one of many types takes.
    let missed: Vec<&str> = cases
        .iter()
        .map(|case| case.name.as_str())
        .filter(|name| !found.contains_key(*name))
        .collect();
    assert_eq!(missed, ["openai-responses no model"]);
}

/// Scenarios that are not as the wire would send them, on purpose.
const BROKEN: [(Wire, &[&str]); 4] = [
    (Wire::Anthropic, &["garbage", "no_id", "unknown_events"]),
    (
        Wire::OpenAiChat,
        &["arguments_as_object", "no_index", "unknown_stop"],
    ),
    (Wire::OpenAiResponses, &["no_id"]),
    (
        Wire::Ollama,
        &["arguments_as_text", "empty_arguments", "no_name"],
    ),
];

fn events(wire: Wire, stream: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    if wire == Wire::Ollama {
        let text = String::from_utf8_lossy(stream);
        let lines = text.trim_start_matches('\u{feff}').lines();
        events.extend(lines.filter_map(|line| serde_json::from_str(line).ok()));
    } else {
        let mut decoder = SseDecoder::new(Default::default());
        let take = |event: toolgate_providers::decode::SseEvent<'_>| {
            if event.data != "[DONE]" {
                events.push(serde_json::from_str(event.data).unwrap_or_default());
            }
        };
        decoder.push(stream, take).unwrap();
    }
    events
}

#[test]
fn recorded_answers_are_of_the_types_of_the_official_sdks() {
    let mut cases = Vec::new();
    for wire in Wire::ALL {
        for scenario in scenario::all(wire) {
            for (at, body) in events(wire, &scenario.stream).into_iter().enumerate() {
                // Errors have no type of their own on these wires.
                let is_error = wire != Wire::Anthropic && !body["error"].is_null();
                if !is_error {
                    cases.push(Case {
                        name: format!("{wire} {} {at}", scenario.name),
                        wire,
                        kind: "event",
                        body,
                    });
                }
            }
        }
    }
    let mut wrongs = wrongs(&cases);
    for (wire, names) in BROKEN {
        for name in names {
            let start = format!("{wire} {name} ");
            let before = wrongs.len();
            wrongs.retain(|case, _| !case.starts_with(&start));
            assert!(
                wrongs.len() < before,
                "{start}is what the wire sends after all"
            );
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}
