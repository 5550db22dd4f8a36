//! `toolgate run` with the real program: four wires over loopback, recordings, bad providers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::process::Command;

use program::{Bench, Done, finish};
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Sent, Told};

const KEY: &str = "sk-loopback-0123456789abcdef";

const WORK: &str = r#"
[[steps]]
thinking = "First the notes."
text = "I look."
chunk_bytes = 5
usage = { input_tokens = 50, output_tokens = 9 }
[[steps.calls]]
id = "call_a"
name = "read_file"
args = { path = "notes.txt" }
[[steps.calls]]
id = "call_b"
name = "write_file"
args = { path = "out/summary.md", content = "three things" }

[[steps]]
text = "Written down."
usage = { input_tokens = 90, output_tokens = 3 }
"#;

fn base(wire: Wire, server: &Loopback) -> String {
    match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses => format!("{}/v1", server.url()),
        Wire::Anthropic | Wire::Ollama => server.url(),
    }
}

/// A server that plays a script on a wire.
fn playing(wire: Wire, script: &str) -> Loopback {
    let mut steps = Script::from_toml(script).unwrap().steps.into_iter();
    Loopback::start(move |_| match steps.next() {
        Some(step) => Told::new(200, wire.stream_type(), step.render(wire)),
        None => Told::new(500, "text/plain", "the script is over"),
    })
}

fn asking(bench: &Bench, wire: Wire, server: &Loopback, more: &[&str]) -> Command {
    let mut command = bench.toolgate();
    command
        .args([
            "run",
            "--approve",
            "all",
            "--provider",
            wire.as_str(),
            "--model",
            "m-1",
        ])
        .args(["--base-url", &base(wire, server)])
        .args(more)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("OPENAI_API_KEY", KEY);
    command
}

fn conversation(done: &Done) -> String {
    let told = done
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("conversation "));
    told.and_then(|rest| rest.split(':').next())
        .expect("an id")
        .to_owned()
}

fn entries(bench: &Bench, id: &str) -> Vec<Value> {
    let shown = bench.run(&["journal", "show", id, "--json"]);
    shown
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn assert_sound(bench: &Bench) {
    let verified = bench.run(&["journal", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn it_e2e_01_a_whole_turn_over_each_wire_runs_records_and_goes_on() {
    for wire in Wire::ALL {
        let bench = Bench::new();
        bench.write("notes.txt", "milk, release, plants\n");
        let server = playing(wire, WORK);
        let done = finish(asking(&bench, wire, &server, &["sum up the notes"]), b"");
        assert_eq!(done.code, Some(0), "{wire}: {done:?}");
        assert_eq!(done.stdout, "Written down.\n", "{wire}");
        assert_eq!(bench.read("out/summary.md"), "three things");
        let heard = server.heard();
        assert_eq!(heard.len(), 2, "{wire}");
        let second = String::from_utf8_lossy(&heard[1].body).into_owned();
        assert!(second.contains("milk, release, plants"), "{wire}: {second}");
        for request in &heard {
            assert_eq!(request.json()["model"], "m-1", "{wire}");
        }
        let id = conversation(&done);
        let kinds: Vec<String> = entries(&bench, &id)
            .iter()
            .map(|entry| entry["kind"].as_str().unwrap().to_owned())
            .collect();
        for (kind, count) in [
            ("user_message", 1),
            ("assistant_message", 2),
            ("finished", 2),
            ("turn_finished", 1),
        ] {
            assert_eq!(
                kinds.iter().filter(|one| *one == kind).count(),
                count,
                "{wire}: {kinds:?}"
            );
        }
        assert_sound(&bench);
        // The key went to the provider, and nowhere else.
        for entry in walk(&bench.home_directory()) {
            let bytes = std::fs::read(&entry).unwrap();
            let found = bytes
                .windows(KEY.len())
                .any(|window| window == KEY.as_bytes());
            assert!(!found, "{wire}: the key is in {}", entry.display());
        }
        assert!(!done.stderr.contains(KEY));
    }
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

#[test]
fn it_cmd_01_chunks_of_a_command_are_shown_and_its_result_is_on_record() {
    let bench = Bench::new();
    bench.write(
        "s.toml",
        "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"run_command\"\nargs = { command = \"echo one; echo two >&2\" }\n[[steps]]\ntext = \"ok\"\n",
    );
    let done = bench.run(&[
        "run",
        "--script",
        "s.toml",
        "--approve",
        "all",
        "--json",
        "go",
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let events: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let place = |kind: &str| events.iter().position(|event| event["type"] == kind);
    let (started, chunk, finished) = (
        place("call_started"),
        place("output_chunk"),
        place("call_finished"),
    );
    assert!(
        started < chunk && chunk < finished && started.is_some(),
        "{events:?}"
    );
    let shown: String = events
        .iter()
        .filter(|event| event["type"] == "output_chunk")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert!(shown.contains("one") && shown.contains("two"), "{shown:?}");
    let record = entries(&bench, &conversation(&done));
    let result = record
        .iter()
        .find(|entry| entry["kind"] == "finished")
        .unwrap();
    assert!(
        result["body"]["result"]["content"]
            .as_str()
            .unwrap()
            .contains("one")
    );
    assert_eq!(events.last().unwrap()["type"], "turn_finished");
}

#[test]
fn a_conversation_goes_on_with_everything_that_was_said_done_and_answered() {
    for wire in Wire::ALL {
        let bench = Bench::new();
        bench.write("notes.txt", "milk\n");
        let first = playing(wire, WORK);
        let done = finish(asking(&bench, wire, &first, &["sum up the notes"]), b"");
        let id = conversation(&done);
        let second = playing(wire, "[[steps]]\ntext = \"Three.\"\n");
        let command = asking(&bench, wire, &second, &["--conversation", &id, "how many?"]);
        let done = finish(command, b"");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Three.\n"),
            "{wire}: {done:?}"
        );
        let body = String::from_utf8_lossy(&second.heard()[0].body).into_owned();
        for part in [
            "sum up the notes",
            "I look.",
            "notes.txt",
            "milk",
            "three things",
            "Written down.",
            "how many?",
        ] {
            assert!(body.contains(part), "{wire}: {part} is missing in {body}");
        }
        assert_sound(&bench);
    }
}

#[test]
fn what_was_recorded_over_a_wire_plays_again_the_same() {
    let bench = Bench::new();
    bench.write("notes.txt", "milk\n");
    let server = playing(Wire::Anthropic, WORK);
    let done = finish(
        asking(
            &bench,
            Wire::Anthropic,
            &server,
            &["--record", "r.toml", "go"],
        ),
        b"",
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    let recorded = bench.read("r.toml");
    assert!(
        recorded.contains("m-1") && !recorded.contains(KEY),
        "{recorded}"
    );
    std::fs::remove_dir_all(bench.workspace().join("out")).unwrap();
    let done = bench.run(&["run", "--script", "r.toml", "--approve", "all", "go"]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "Written down.\n"),
        "{done:?}"
    );
    assert_eq!(bench.read("out/summary.md"), "three things");
}

/// What a bad provider does, what the person is told, and whether it is asked again.
fn bad_ones() -> Vec<(&'static str, Told, &'static str, usize)> {
    let sse = "text/event-stream";
    let error = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    };
    let step = Script::from_toml(WORK)
        .unwrap()
        .steps
        .remove(0)
        .render(Wire::Anthropic);
    let in_call = step.len() - 200;
    vec![
        (
            "garbage",
            Told::new(200, sse, "data: {not json}\n\n"),
            "no anthropic stream",
            1,
        ),
        (
            "bytes",
            Told::new(200, sse, vec![0xff; 4096]),
            "sent nothing that is an answer",
            1,
        ),
        (
            "a line of 1 GiB",
            Told::new(200, sse, "").sent(Sent::Repeated(vec![b'x'; 1 << 16], 1 << 30)),
            "cannot be read",
            1,
        ),
        (
            "never ends",
            Told::new(200, sse, "").sent(Sent::Hangs(step.clone()[..40].to_vec())),
            "sent nothing for 1 s",
            3,
        ),
        (
            "never begins",
            Told::new(200, sse, "").sent(Sent::Hangs(Vec::new())),
            "sent nothing for 1 s",
            3,
        ),
        (
            "an empty answer",
            Told::new(200, sse, ""),
            "sent nothing that is an answer",
            3,
        ),
        (
            "cut off before it begins",
            Told::new(200, sse, "").sent(Sent::Cut(Vec::new())),
            "sent nothing that is an answer",
            3,
        ),
        (
            "overloaded after its opening",
            Told::new(
                200,
                sse,
                format!(
                    "event: ping\ndata: {{\"type\":\"ping\"}}\n\nevent: error\ndata: {}\n\n",
                    error("overloaded_error", "Overloaded")
                ),
            ),
            "Overloaded",
            1,
        ),
        (
            "a web page",
            Told::new(200, "text/html", "<html>Sign in</html>"),
            "text/html",
            1,
        ),
        (
            "too many requests",
            Told::new(
                429,
                "application/json",
                error("rate_limit_error", "slow down"),
            )
            .header("retry-after", "0"),
            "slow down",
            11,
        ),
        (
            "overloaded",
            Told::new(
                529,
                "application/json",
                error("overloaded_error", "Overloaded"),
            )
            .header("retry-after", "0"),
            "Overloaded",
            11,
        ),
        (
            "cut in a call",
            Told::new(200, sse, "").sent(Sent::Cut(step[..in_call].to_vec())),
            "ended in the middle",
            1,
        ),
        (
            "wrong key",
            Told::new(
                401,
                "application/json",
                error("authentication_error", "invalid x-api-key"),
            ),
            "invalid x-api-key",
            1,
        ),
        (
            "unknown model",
            Told::new(
                404,
                "application/json",
                error("not_found_error", "model: m-1"),
            ),
            "not_found: model: m-1",
            1,
        ),
    ]
}

#[test]
fn a_bad_provider_is_told_clearly_and_the_conversation_can_go_on() {
    let bench = Bench::new();
    bench.write("notes.txt", "milk\n");
    bench.home("config.toml", "[providers.p]\nkind = \"anthropic\"\nmodel = \"m-1\"\ntimeout_seconds = 1\nretry_seconds = 0\nbase_url = \"http://127.0.0.1:1\"\n");
    for (name, told, part, asked) in bad_ones() {
        let bad = Loopback::start(move |_| told.clone());
        let mut command = bench.toolgate();
        command.args([
            "run",
            "--provider",
            "p",
            "--base-url",
            &bad.url(),
            "look at the notes",
        ]);
        let done = finish(command, b"");
        assert_eq!(done.code, Some(1), "{name}: {done:?}");
        assert!(done.stderr.contains(part), "{name}: {}", done.stderr);
        assert!(done.stderr.lines().all(|line| line.len() < 2_000), "{name}");
        assert_eq!(bad.heard().len(), asked, "{name}: {}", done.stderr);
        let id = conversation(&done);
        let good = playing(Wire::Anthropic, WORK);
        let mut command = bench.toolgate();
        command.args([
            "run",
            "--approve",
            "all",
            "--provider",
            "p",
            "--base-url",
            &good.url(),
        ]);
        command.args(["--conversation", &id, "try again"]);
        let done = finish(command, b"");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Written down.\n"),
            "{name}: {done:?}"
        );
        std::fs::remove_dir_all(bench.workspace().join("out")).unwrap();
    }
    assert_sound(&bench);
}

#[test]
fn mistakes_are_told_before_anybody_is_asked() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    bench.write("bad.toml", "[[steps]]\ntexxt = \"hi\"\n");
    for (args, part) in [
        (&["run", "x"][..], "No provider is configured"),
        (&["run", "--provider", "nope", "x"], "no provider \"nope\""),
        (
            &["run", "--provider", "anthropic", "--model", "m", "x"],
            "ANTHROPIC_API_KEY",
        ),
        (&["run", "--provider", "ollama", "x"], "--model"),
        (&["run", "--script", "bad.toml", "x"], "texxt"),
        (&["run", "--script", "s.toml", " "], "prompt is empty"),
        (
            &["run", "--script", "s.toml", "--preset", "nope", "x"],
            "no preset \"nope\"",
        ),
        (
            &["run", "--script", "s.toml", "--conversation", "nope", "x"],
            "no turn is on record",
        ),
        (
            &[
                "run",
                "--provider",
                "ollama",
                "--model",
                "m",
                "--base-url",
                "ftp://x",
                "x",
            ],
            "base URL",
        ),
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.stderr.contains(part), "{args:?}: {}", done.stderr);
    }
}

#[test]
fn a_prompt_comes_from_the_words_a_file_or_standard_input() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    bench.write("p.txt", "from the file");
    for (args, input, text) in [
        (
            &["run", "--script", "s.toml", "from the words"][..],
            "",
            "from the words",
        ),
        (
            &["run", "--script", "s.toml", "--file", "p.txt"],
            "",
            "from the file",
        ),
        (
            &["run", "--script", "s.toml"],
            "from the pipe",
            "from the pipe",
        ),
    ] {
        let done = bench.feed(args, input.as_bytes());
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "hi\n"),
            "{done:?}"
        );
        let record = entries(&bench, &conversation(&done));
        assert_eq!(record[1]["body"]["text"], text);
    }
}

#[test]
fn a_preset_says_what_the_model_is_told_and_models_lists_who_can_be_asked() {
    let bench = Bench::new();
    let server = Loopback::start(|heard| {
        if heard.line.starts_with("GET") {
            Told::new(
                200,
                "application/json",
                r#"{"models":[{"name":"b:7b"},{"name":"a:3b"}]}"#,
            )
        } else {
            let step = Script::from_toml("[[steps]]\ntext = \"hi\"\n")
                .unwrap()
                .steps
                .remove(0);
            Told::new(200, "application/x-ndjson", step.render(Wire::Ollama))
        }
    });
    bench.home(
        "config.toml",
        &format!(
            "[providers.local]\nkind = \"ollama\"\nmodel = \"a:3b\"\nbase_url = \"{}\"\n[presets.poet]\nsystem_prompt = \"You rhyme.\"\nmodel = \"b:7b\"\n",
            server.url()
        ),
    );
    let done = bench.run(&["models", "--json"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let listed: Value = serde_json::from_str(done.stdout.trim()).unwrap();
    assert_eq!(listed["models"], serde_json::json!(["a:3b", "b:7b"]));
    assert_eq!(bench.run(&["run", "--preset", "poet", "x"]).code, Some(0));
    assert_eq!(bench.run(&["run", "x"]).code, Some(0));
    let mut portuguese = bench.toolgate();
    portuguese.args(["run", "x"]).env("LANG", "pt_BR.UTF-8");
    assert_eq!(finish(portuguese, b"").code, Some(0));
    let heard: Vec<Value> = server
        .heard()
        .iter()
        .filter(|heard| heard.line.starts_with("POST"))
        .map(|heard| heard.json())
        .collect();
    assert_eq!(heard[0]["messages"][0]["content"], "You rhyme.");
    assert_eq!(
        (&heard[0]["model"], &heard[1]["model"]),
        (&"b:7b".into(), &"a:3b".into())
    );
    let coder = heard[1]["messages"][0]["content"].as_str().unwrap();
    assert!(
        coder.contains("`read_file`") && coder.contains("careful programmer"),
        "{coder}"
    );
    let coder = heard[2]["messages"][0]["content"].as_str().unwrap();
    assert!(
        coder.contains("`read_file`") && coder.contains("cuidadosa"),
        "{coder}"
    );
}

#[test]
fn a_model_without_tool_calls_works_with_fenced_blocks_over_each_wire() {
    let block =
        "I look.\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"notes.txt\"}}\n```\n";
    let script =
        format!("[[steps]]\ntext = {block:?}\nchunk_bytes = 3\n[[steps]]\ntext = \"Milk.\"\n");
    let said = Wire::ALL.map(|wire| (wire, format!("over = \"{wire}\"")));
    // Where nothing is said.
    for (wire, over) in said.into_iter().chain([(Wire::OpenAiChat, String::new())]) {
        let bench = Bench::new();
        bench.write("notes.txt", "milk\n");
        let server = playing(wire, &script);
        bench.home(
            "config.toml",
            &format!(
                "[providers.f]\nkind = \"fenced\"\nmodel = \"m\"\nbase_url = \"{}\"\n{over}\n",
                base(wire, &server)
            ),
        );
        let done = bench.run(&["run", "what is there"]);
        let (code, shown) = (done.code, done.stdout.as_str());
        assert_eq!((code, shown), (Some(0), "Milk.\n"), "{over}: {done:?}");
        let heard = server.heard();
        assert_eq!(heard.len(), 2, "{over}");
        let second = heard[1].json();
        assert!(second.get("tools").is_none(), "{over}");
        let messages = second.get("messages").or_else(|| second.get("input"));
        let last = messages.and_then(Value::as_array).unwrap().last().unwrap();
        assert_eq!(last["role"], "user", "{over}");
        let content = last["content"].to_string();
        assert!(
            content.contains("tool_result") && content.contains("milk"),
            "{over}: {last}"
        );
        // The blocks are taught on every wire.
        let first = String::from_utf8_lossy(&heard[0].body).into_owned();
        assert!(first.contains("```tool"), "{over}: {first}");
    }
}

#[test]
fn fr_mode_01_disabled_tools_are_not_offered_and_calls_are_refused() {
    for wire in Wire::ALL {
        let bench = Bench::new();
        bench.home("config.toml", "[tools]\nmode = \"disabled\"\n");
        bench.write("notes.txt", "milk, release, plants\n");
        // The model calls all the same.
        let server = playing(wire, WORK);
        let done = finish(asking(&bench, wire, &server, &["sum up the notes"]), b"");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Written down.\n"),
            "{wire}: {done:?}"
        );
        let heard = server.heard();
        assert_eq!(heard.len(), 2, "{wire}");
        for request in &heard {
            let tools = request.json().get("tools").cloned();
            let none = tools.as_ref().is_none_or(|tools| *tools == json!([]));
            assert!(none, "{wire}: {tools:?}");
        }
        let second = String::from_utf8_lossy(&heard[1].body).into_owned();
        assert!(second.contains("disabled"), "{wire}: {second}");
        assert!(!second.contains("milk"), "{wire}: {second}");
        assert_eq!(bench.listing(), ["notes.txt"], "{wire}");
        let entries = entries(&bench, &conversation(&done));
        let of = |kind: &str| entries.iter().filter(|one| one["kind"] == kind).count();
        assert_eq!(
            (of("started"), of("finished")),
            (0, 2),
            "{wire}: {entries:?}"
        );
    }
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmode = \"disabled\"\n");
    bench.write("notes.txt", "milk, release, plants\n");
    for (tool, args) in [
        ("read_file", r#"{"path":"notes.txt"}"#),
        ("write_file", r#"{"path":"n","content":"x"}"#),
        ("run_command", r#"{"command":"touch n"}"#),
        ("nonsense", "{}"),
    ] {
        let done = bench.run(&["--approve", "all", "exec", tool, args]);
        let result: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(result["error"]["kind"], "disabled", "{tool}: {result}");
        assert_eq!(done.code, Some(3), "{tool}: {done:?}");
        assert!(!done.stdout.contains("milk"), "{tool}: {done:?}");
    }
    assert_eq!(bench.listing(), ["notes.txt"]);
}

#[test]
fn calls_left_to_a_person_are_answered_with_results() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmode = \"parse_only\"\n");
    bench.write(
        "s.toml",
        "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"read_file\"\nargs = { path = \"a\" }\n",
    );
    let done = bench.run(&["run", "--script", "s.toml", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(
        done.stderr.contains("your result is wanted for c"),
        "{}",
        done.stderr
    );
    let id = conversation(&done);
    bench.write("t.toml", "[[steps]]\ntext = \"Thanks.\"\n[[steps.expect]]\ncall_id = \"c\"\ncontains = [\"by hand\"]\n");
    bench.write("results", "{\"call_id\":\"c\",\"content\":\"by hand\"}\n");
    let done = bench.run(&[
        "run",
        "--script",
        "t.toml",
        "--conversation",
        &id,
        "--results",
        "results",
    ]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "Thanks.\n"),
        "{done:?}"
    );
    assert_sound(&bench);
}

/// Who does not want to answer gives the calls up, and the conversation goes on.
#[test]
fn calls_that_wait_for_a_person_can_be_given_up() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmode = \"parse_only\"\n");
    bench.write(
        "s.toml",
        "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"read_file\"\nargs = { path = \"a\" }\n",
    );
    let done = bench.run(&["run", "--script", "s.toml", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    let id = conversation(&done);
    // Keeping them is no way to go on: they still wait.
    let kept = bench.run(&["resume", &id, "--keep"]);
    assert!(!kept.stderr.contains("can go on"), "{}", kept.stderr);
    let given_up = bench.run(&["resume", &id, "--discard"]);
    assert_eq!(given_up.code, Some(0), "{given_up:?}");
    bench.write("t.toml", "[[steps]]\ntext = \"As you like.\"\n[[steps.expect]]\ncall_id = \"c\"\nstatus = \"error\"\ncontains = [\"instead of answering\", \"was not run\"]\n");
    let done = bench.run(&[
        "run",
        "--script",
        "t.toml",
        "--conversation",
        &id,
        "leave it",
    ]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "As you like.\n"),
        "{done:?}"
    );
    assert_sound(&bench);
}
