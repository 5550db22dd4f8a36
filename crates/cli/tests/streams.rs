//! An answer that is killed while it streams in, calls that a person answers, and a
//! conversation that comes from elsewhere, with the real program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;
use std::process::{Command, Stdio};

use program::{Bench, Done, finish, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use toolgate_providers::replay::Script;
use toolgate_providers::{Reply, Wire};
use toolgate_testkit::{Loopback, Render, Sent, Told};

const CALLS: &str = r#"
[[steps]]
thinking = "Two things."
text = "I look and I write."
[[steps.calls]]
id = "call_a"
name = "read_file"
args = { path = "notes.txt" }
[[steps.calls]]
id = "call_b"
name = "write_file"
args = { path = "out.txt", content = "x" }
"#;

fn stream(wire: Wire, body: impl Into<Vec<u8>>) -> Told {
    Told::new(200, wire.stream_type(), body)
}

/// The bytes of an answer up to where the wire begins to say that it is over.
fn without_its_end(wire: Wire, whole: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(whole).unwrap();
    let end = match wire {
        Wire::Anthropic => text.find("event: message_delta"),
        Wire::OpenAiResponses => text.find("event: response.completed"),
        Wire::OpenAiChat => {
            let finish = text.find("\"finish_reason\":\"").unwrap();
            text[..finish].rfind("data: ")
        }
        Wire::Ollama => text.trim_end().rfind('\n').map(|at| at + 1),
    };
    whole[..end.unwrap()].to_vec()
}

fn asking(bench: &Bench, wire: Wire, server: &Loopback, more: &[&str]) -> Command {
    let base = match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses => format!("{}/v1", server.url()),
        Wire::Anthropic | Wire::Ollama => server.url(),
    };
    let mut command = bench.toolgate();
    command
        .args(["run", "--approve", "all", "--model", "m"])
        .args(["--provider", wire.as_str(), "--base-url", &base])
        .args(more);
    command
}

fn lines(done: &Done) -> Vec<Value> {
    let lines = done.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn entries(bench: &Bench, id: &str) -> Vec<Value> {
    lines(&bench.run(&["--json", "journal", "show", id]))
}

fn only_conversation(bench: &Bench) -> Option<String> {
    let all = lines(&bench.run(&["--json", "journal", "list"]));
    let id = all.first().and_then(|one| one["conversation"].as_str());
    id.map(str::to_owned)
}

#[test]
fn it_jrn_01_calls_of_an_answer_that_was_killed_while_it_streamed_in_are_known_and_not_run() {
    for wire in Wire::ALL {
        let bench = Bench::new();
        bench.write("notes.txt", "milk\n");
        let step = Script::from_toml(CALLS).unwrap().steps.remove(0);
        let begun = without_its_end(wire, &step.render(wire));
        let mut answers = vec![
            stream(wire, "").sent(Sent::Hangs(begun)),
            stream(
                wire,
                Script::from_toml("[[steps]]\ntext = \"Gone on.\"\n")
                    .unwrap()
                    .steps[0]
                    .render(wire),
            ),
        ]
        .into_iter();
        let server = Loopback::start(move |_| answers.next().unwrap());
        let mut child = asking(&bench, wire, &server, &["go"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut id = None;
        until("the answer so far is on record", || {
            id = only_conversation(&bench);
            let noted = |entry: &Value| entry["kind"] == "streamed";
            id.as_deref()
                .is_some_and(|id| entries(&bench, id).iter().any(noted))
        });
        let id = id.unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // This wire says that a call is whole only with the end of the answer.
        let whole = wire != Wire::OpenAiChat;
        let page = bench.run(&["journal", "export", &id, "--format", "md"]);
        assert!(page.stdout.contains("I look and I write."), "{wire}");
        assert_eq!(page.stdout.contains("call_b"), whole, "{wire}: {page:?}");
        if whole {
            // Without a word from the person nothing goes on.
            let undecided = finish(
                asking(&bench, wire, &server, &["--conversation", &id]),
                b"go",
            );
            assert_eq!(undecided.code, Some(4), "{wire}: {undecided:?}");
            for call in ["call_a", "call_b"] {
                assert!(undecided.stderr.contains(call), "{wire}: {undecided:?}");
            }
            let resumed = bench.run(&["--json", "resume", &id, "--keep"]);
            let told = &lines(&resumed)[0];
            let classes: Vec<_> = told["calls"]
                .as_array()
                .unwrap()
                .iter()
                .map(|call| (call["call_id"].clone(), call["class"].clone()))
                .collect();
            assert_eq!(
                classes,
                [
                    (json!("call_a"), json!("not_started")),
                    (json!("call_b"), json!("not_started")),
                ],
                "{wire}"
            );
        }
        let more = ["--conversation", id.as_str(), "go on"];
        let done = finish(asking(&bench, wire, &server, &more), b"");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Gone on.\n"),
            "{wire}: {done:?}"
        );
        let heard = server.heard();
        assert_eq!(heard.len(), 2, "{wire}");
        let sent = String::from_utf8_lossy(&heard[1].body).into_owned();
        assert!(sent.contains("I look and I write."), "{wire}: {sent}");
        let told = sent.matches("before this call was started").count();
        assert_eq!(told, if whole { 2 } else { 0 }, "{wire}: {sent}");
        assert!(!bench.workspace().join("out.txt").exists(), "{wire}");
        let sound = bench.run(&["journal", "verify"]);
        assert_eq!(sound.code, Some(0), "{wire}: {sound:?}");
    }
}

const BY_HAND: &str = r#"
[[steps]]
[[steps.calls]]
id = "cut"
name = "read_file"
args_json = '{"path": '
[[steps.calls]]
id = "typo"
name = "read_flie"
args = { path = "a" }
[[steps.calls]]
id = "good"
name = "read_file"
args = { path = "the file" }
[[steps.calls]]
id = "bad"
name = "read_file"
args = { path = "another" }
"#;

#[test]
fn a_person_answers_what_can_be_answered_and_the_rest_is_refused_at_once() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmode = \"parse_only\"\n");
    bench.write("s.toml", BY_HAND);
    let done = bench.run(&["--json", "run", "--script", "s.toml", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    let events = lines(&done);
    let id = events[0]["conversation_id"].as_str().unwrap().to_owned();
    assert_eq!(events.last().unwrap()["outcome"], "results_wanted");
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    // Whoever answers sees what is asked for.
    let shown: Vec<_> = of("call_planned")
        .map(|event| event["plan"]["call"]["args"]["path"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["the file", "another"]);
    let refused: Vec<_> = of("call_finished")
        .map(|event| event["result"]["error"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(refused, ["bad_call", "unknown_tool"]);
    // Something else cannot be said before the calls have their results.
    let other = bench.run(&["run", "--script", "s.toml", "--conversation", &id, "and?"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("--results FILE"), "{other:?}");
    bench.write("t.toml", "[[steps]]\ntext = \"Thanks.\"\n[[steps.expect]]\ncall_id = \"good\"\ncontains = [\"by hand\"]\n[[steps.expect]]\ncall_id = \"bad\"\nkind = \"failed\"\ncontains = [\"not there\"]\n");
    bench.write(
        "results",
        "{\"call_id\":\"good\",\"content\":\"by hand\"}\n{\"call_id\":\"bad\",\"error\":\"not there\"}\n",
    );
    let go_on = ["run", "--script", "t.toml", "--conversation", &id];
    let done = bench.run(&[&go_on[..], &["--results", "results"]].concat());
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "Thanks.\n"),
        "{done:?}"
    );
    // A third turn is told the person's words, not that the program ended.
    bench.write("t.toml", "[[steps]]\ntext = \"Again.\"\n");
    let done = bench.run(&[&go_on[..], &["more"]].concat());
    assert_eq!(done.stdout, "Again.\n", "{done:?}");
    let ends: Vec<_> = entries(&bench, &id)
        .into_iter()
        .filter(|entry| entry["kind"] == "finished")
        .collect();
    assert_eq!(ends.len(), 4, "one result for each call: {ends:?}");
    let sound = bench.run(&["journal", "verify"]);
    assert_eq!(sound.code, Some(0), "{sound:?}");
}

/// Tools of which only the definitions are known are offered, checked and answered by hand.
#[test]
fn described_tools_are_offered_and_their_calls_are_checked() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[tools]\nmode = \"parse_only\"\n[[tools.definitions]]\nname = \"weather\"\ndescription = \"The weather.\"\nparameters = { type = \"object\", properties = { town = { type = \"string\" } }, required = [\"town\"] }\n",
    );
    let offered = bench.run(&["tools", "--format", "openai-chat"]);
    let offered: Value = serde_json::from_str(&offered.stdout).unwrap();
    assert_eq!(offered[0]["function"]["name"], "weather");
    assert_eq!(offered.as_array().unwrap().len(), 1);
    bench.write("s.toml", "[[steps]]\n[[steps.calls]]\nid = \"a\"\nname = \"weather\"\nargs = { town = 3 }\n[[steps.calls]]\nid = \"b\"\nname = \"weather\"\nargs = { town = \"Porto\" }\n");
    let done = bench.run(&["run", "--script", "s.toml", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(
        done.stderr.contains("your result is wanted for b"),
        "{done:?}"
    );
    assert!(!done.stderr.contains("wanted for a"), "{done:?}");
    assert!(done.stderr.contains("Porto"), "{done:?}");
}

#[test]
fn a_call_of_the_person_in_between_answers_no_call_that_waits() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\n[[steps.calls]]\nid = \"call_1\"\nname = \"read_file\"\nargs = { path = \"s.toml\" }\n");
    bench.write("by_hand.toml", "[tools]\nmode = \"parse_only\"\n");
    let by_hand = [
        "--config",
        "by_hand.toml",
        "run",
        "--script",
        "s.toml",
        "go",
    ];
    assert_eq!(bench.run(&by_hand).code, Some(4));
    let id = only_conversation(&bench).unwrap();
    let read = ["read_file", r#"{"path":"by_hand.toml"}"#];
    let between = bench.run(&[&["exec", "--conversation", &id], &read[..]].concat());
    assert_eq!(between.code, Some(0), "{between:?}");
    assert_ne!(lines(&between)[0]["call_id"], "call_1");
    bench.write("t.toml", "[[steps]]\ntext = \"Thanks.\"\n[[steps.expect]]\ncall_id = \"call_1\"\ncontains = [\"from me\"]\n");
    bench.write(
        "results",
        "{\"call_id\":\"call_1\",\"content\":\"from me\"}\n",
    );
    let go_on = [
        "run",
        "--script",
        "t.toml",
        "--conversation",
        &id,
        "--results",
    ];
    let done = bench.run(&[&go_on[..], &["results"]].concat());
    assert_eq!(done.stdout, "Thanks.\n", "{done:?}");
    // A call that is alone keeps the name that scripts know.
    let alone = bench.run(&[&["exec"], &read[..]].concat());
    assert_eq!(lines(&alone)[0]["call_id"], "call_1");
}

#[test]
fn a_conversation_is_carried_from_one_record_to_another() {
    let bench = Bench::new();
    bench.write("notes.txt", "milk\n");
    let server = |wire, script: &str| {
        let steps = Script::from_toml(script).unwrap().steps;
        let mut answers: Vec<Told> = steps
            .iter()
            .map(|step| stream(wire, step.render(wire)))
            .collect();
        Loopback::start(move |_| answers.remove(0))
    };
    let first = format!("{CALLS}[[steps]]\ntext = \"Written.\"\n");
    let there = server(Wire::Anthropic, &first);
    let done = finish(asking(&bench, Wire::Anthropic, &there, &["go"]), b"");
    assert_eq!(done.stdout, "Written.\n", "{done:?}");
    let id = only_conversation(&bench).unwrap();
    let exported = [
        "journal",
        "export",
        &id,
        "--format",
        "json",
        "-o",
        "talk.json",
    ];
    assert_eq!(bench.run(&exported).code, Some(0));
    for wire in Wire::ALL {
        let other = Bench::new();
        other.write("talk.json", &bench.read("talk.json"));
        let here = server(wire, "[[steps]]\ntext = \"Yes.\"\n");
        let more = ["--history", "talk.json", "still there?"];
        let done = finish(asking(&other, wire, &here, &more), b"");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Yes.\n"),
            "{wire}: {done:?}"
        );
        let sent = String::from_utf8_lossy(&here.heard()[0].body).into_owned();
        for part in [
            "I look and I write.",
            "notes.txt",
            "milk",
            "Written.",
            "still there?",
        ] {
            assert!(sent.contains(part), "{wire}: {part}: {sent}");
        }
        // It is part of the record here, and can be gone on with.
        let id = only_conversation(&other).unwrap();
        let page = other.run(&["journal", "export", &id, "--format", "md"]);
        assert!(page.stdout.contains("milk"), "{wire}: {page:?}");
        let again = server(wire, "[[steps]]\ntext = \"Still.\"\n");
        let more = ["--conversation", &id, "and now?"];
        let done = finish(asking(&other, wire, &again, &more), b"");
        assert_eq!(done.stdout, "Still.\n", "{wire}: {done:?}");
        let sent = String::from_utf8_lossy(&again.heard()[0].body).into_owned();
        assert!(sent.contains("milk") && sent.contains("Yes."), "{wire}");
        let sound = other.run(&["journal", "verify"]);
        assert_eq!(sound.code, Some(0), "{wire}: {sound:?}");
    }
    bench.write("broken.json", "{\"messages\":[{\"role\":\"tool\",\"tool_result\":{\"call_id\":\"x\",\"tool\":\"t\",\"status\":\"ok\",\"content\":\"\",\"display\":\"\",\"truncated\":false,\"duration_ms\":0,\"metadata\":{}}}]}");
    let more = ["--history", "broken.json", "x"];
    let done = finish(asking(&bench, Wire::Ollama, &there, &more), b"");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(
        done.stderr.contains("no call of the message before"),
        "{done:?}"
    );
}

/// At a terminal of its own.
fn at_a_terminal(bench: &Bench, line: &str) -> Command {
    let mut command = bench.command(Path::new("script"));
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_toolgate"));
    command.args([
        "--quiet",
        "--return",
        "--flush",
        "--command",
        &line,
        "/dev/null",
    ]);
    command
}

#[test]
fn at_a_terminal_the_answer_is_shown_while_it_comes_in() {
    let bench = Bench::new();
    let step = Script::from_toml("[[steps]]\ntext = \"Once upon a time\"\n")
        .unwrap()
        .steps
        .remove(0);
    let begun = without_its_end(Wire::Ollama, &step.render(Wire::Ollama));
    let server =
        Loopback::start(move |_| stream(Wire::Ollama, "").sent(Sent::Hangs(begun.clone())));
    let line = format!(
        "run --provider ollama --model m --base-url {} go < /dev/null",
        server.url()
    );
    let mut child = at_a_terminal(&bench, &line)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = String::new();
    let mut stdout = child.stdout.take().unwrap();
    // The answer never ends; what came of it is there all the same.
    while !seen.contains("Once upon a time") {
        let mut piece = [0; 256];
        let read = std::io::Read::read(&mut stdout, &mut piece).unwrap();
        assert!(read > 0, "{seen:?}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    // Ctrl-C, as a terminal takes it. The keyboard outlives the program: waiting for a child ends
    // its input, and `script` would give up on a program that takes its time to stop.
    let mut keys = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut keys, b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{seen:?}");
    drop(keys);
}

#[test]
fn whoever_goes_on_says_only_what_is_different() {
    let bench = Bench::new();
    let server = Loopback::start(move |_| {
        let step = Script::from_toml("[[steps]]\ntext = \"Aye.\"\n").unwrap();
        stream(Wire::Ollama, step.steps[0].render(Wire::Ollama))
    });
    let provider = |name: &str, model: &str| {
        format!(
            "[providers.{name}]\nkind = \"ollama\"\nmodel = \"{model}\"\nbase_url = \"{}\"\n",
            server.url()
        )
    };
    let preset = "[presets.pirate]\nsystem_prompt = \"Talk like a pirate.\"\nmodel = \"parrot\"\n";
    bench.home(
        "config.toml",
        &[&provider("one", "m1"), &provider("two", "m2"), preset].concat(),
    );
    let begun = bench.run(&[
        "--json",
        "run",
        "--provider",
        "two",
        "--preset",
        "pirate",
        "x",
    ]);
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let id = lines(&begun)[0]["conversation_id"]
        .as_str()
        .unwrap()
        .to_owned();
    // From another directory, with nothing but the conversation's name.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = bench.toolgate();
    command
        .current_dir(elsewhere.path())
        .args(["--json", "run", "--conversation", &id, "y"]);
    let gone_on = finish(command, b"");
    assert_eq!(gone_on.code, Some(0), "{gone_on:?}");
    let started = &lines(&gone_on)[0];
    assert_eq!(
        (&started["provider"], &started["model"], &started["turn"]),
        (&json!("two"), &json!("parrot"), &json!(2))
    );
    let heard = server.heard();
    let sent = String::from_utf8_lossy(&heard[1].body).into_owned();
    assert!(sent.contains("Talk like a pirate."), "{sent}");
    let ended = lines(&gone_on).pop().unwrap();
    assert_eq!(
        (&ended["outcome"], &ended["stop"]),
        (&json!("done"), &json!("end_turn"))
    );
}

#[test]
fn what_went_wrong_is_told_to_the_quiet_and_is_on_record() {
    let bench = Bench::new();
    let server =
        Loopback::start(|_| Told::new(401, "application/json", "{\"error\":\"no such key\"}"));
    for quiet in [&[][..], &["--quiet"]] {
        let done = finish(
            asking(&bench, Wire::Ollama, &server, &[quiet, &["x"]].concat()),
            b"",
        );
        assert_eq!(done.code, Some(1), "{done:?}");
        assert_eq!(done.stdout, "");
        assert_eq!(done.stderr.matches("no such key").count(), 1, "{done:?}");
    }
    let id = only_conversation(&bench).unwrap();
    for format in ["md", "json", "html"] {
        let page = bench.run(&["journal", "export", &id, "--format", format]);
        assert!(page.stdout.contains("no such key"), "{format}: {page:?}");
    }
}

#[test]
fn a_recording_that_cannot_be_written_is_told_before_anybody_is_asked() {
    let bench = Bench::new();
    let server = Loopback::start(|_| panic!("nobody is asked"));
    for target in ["nowhere/rec.toml", "."] {
        let done = finish(
            asking(&bench, Wire::Ollama, &server, &["--record", target, "x"]),
            b"",
        );
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("cannot record to"), "{done:?}");
    }
    assert!(server.heard().is_empty());
}

/// Whoever interrupts an answer keeps what came of it, in the recording too.
#[test]
fn a_recording_of_an_interrupted_answer_holds_what_came() {
    let bench = Bench::new();
    let step = Script::from_toml(CALLS).unwrap().steps.remove(0);
    let begun = without_its_end(Wire::Anthropic, &step.render(Wire::Anthropic));
    let server =
        Loopback::start(move |_| stream(Wire::Anthropic, "").sent(Sent::Hangs(begun.clone())));
    let more = ["--record", "rec.toml", "go"];
    let mut child = asking(&bench, Wire::Anthropic, &server, &more)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the answer comes in", || {
        let noted = |entry: &Value| entry["kind"] == "streamed";
        only_conversation(&bench).is_some_and(|id| entries(&bench, &id).iter().any(noted))
    });
    let process = Pid::from_child(&child);
    kill_process(process, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let script = Script::from_toml(&bench.read("rec.toml")).unwrap();
    assert_eq!(script.steps.len(), 1);
    let played = script.steps[0].play(Default::default(), 1);
    let events = played.beats.into_iter().flat_map(|beat| beat.events);
    let reply: Reply = events.collect();
    assert_eq!(reply.calls().count(), 2, "{reply:?}");
    // Every call has its result all the same.
    let id = only_conversation(&bench).unwrap();
    let ends = entries(&bench, &id);
    let ends = ends.iter().filter(|entry| entry["kind"] == "finished");
    assert_eq!(ends.count(), 2);
}

#[test]
fn a_list_of_models_is_read_to_its_end() {
    let bench = Bench::new();
    let server = Loopback::start(|heard| {
        let page = match heard.line.split_once("after_id=") {
            None => json!({"data": [{"id": "m-2"}], "has_more": true, "last_id": "m-2"}),
            Some(("GET /v1/models?", "m-2")) => {
                json!({"data": [{"id": "m-1"}], "has_more": false, "last_id": "m-1"})
            }
            other => panic!("{other:?}"),
        };
        Told::new(200, "application/json", page.to_string())
    });
    let mut command = bench.toolgate();
    command
        .args(["models", "--provider", "anthropic", "--base-url"])
        .arg(server.url());
    let listed = finish(command, b"");
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(
        listed.stdout.contains("m-1") && listed.stdout.contains("m-2"),
        "{listed:?}"
    );
}

/// An answer without an end costs no more than is shown of it, and the conversation goes on.
#[test]
fn after_an_answer_without_an_end_the_conversation_can_be_sent() {
    let bench = Bench::new();
    let piece =
        json!({"message": {"role": "assistant", "content": "so on ".repeat(5_000)}, "done": false});
    let piece = format!("{piece}\n").into_bytes();
    let last = Script::from_toml("[[steps]]\ntext = \"Well.\"\n")
        .unwrap()
        .steps[0]
        .render(Wire::Ollama);
    let mut answers = vec![
        stream(Wire::Ollama, "").sent(Sent::Repeated(piece, 1 << 30)),
        stream(Wire::Ollama, last),
    ]
    .into_iter();
    let server = Loopback::start(move |_| answers.next().unwrap());
    let endless = finish(asking(&bench, Wire::Ollama, &server, &["go"]), b"");
    assert_eq!(endless.code, Some(1), "{:?}", endless.stderr);
    assert!(
        endless.stderr.contains("was stopped"),
        "{}",
        endless.stderr.len()
    );
    let id = only_conversation(&bench).unwrap();
    let done = finish(
        asking(
            &bench,
            Wire::Ollama,
            &server,
            &["--conversation", &id, "well?"],
        ),
        b"",
    );
    assert_eq!(done.stdout, "Well.\n", "{:?}", done.stderr);
    let sent = &server.heard()[1].body;
    assert!(sent.len() < 128 * 1024, "{}", sent.len());
}
