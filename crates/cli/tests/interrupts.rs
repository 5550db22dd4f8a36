//! Ctrl-C while `toolgate run` listens to a model or runs a command: it ends at once, nothing
//! is left without a result, and the conversation goes on.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use program::{Bench, Done, Process, finish};
use serde_json::Value;
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Sent, Told};

/// Nobody who pressed Ctrl-C waits longer for the end. It is a matter of milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

const WORDS: &str =
    "[[steps]]\ntext = \"First I look around and then I go on.\"\nchunk_bytes = 6\n";

const HALF_A_CALL: &str = r#"
[[steps]]
text = "I write it down."
chunk_bytes = 6
[[steps.calls]]
id = "c1"
name = "write_file"
args = { path = "never.txt", content = "this call never arrives as a whole" }
"#;

const COMMAND: &str = r#"
[[steps]]
text = "I wait."
[[steps.calls]]
id = "c1"
name = "read_file"
args = { path = "notes.txt" }
[[steps.calls]]
id = "c2"
name = "run_command"
args = { command = "echo begun; sleep 300" }
[[steps.calls]]
id = "c3"
name = "write_file"
args = { path = "never.txt", content = "x" }
"#;

/// A server that gives the first answer as far as this says, and a short one to whoever
/// comes after.
fn server(wire: Wire, script: &str, sent: impl Fn(Vec<u8>) -> Sent) -> Loopback {
    let first = Script::from_toml(script).unwrap().steps.remove(0);
    let mut first = Some(sent(first.render(wire)));
    Loopback::start(move |_| match first.take() {
        Some(sent) => Told::new(200, wire.stream_type(), "").sent(sent),
        None => {
            let on = Script::from_toml("[[steps]]\ntext = \"On.\"\n").unwrap();
            let on = on.steps.first().unwrap().render(wire);
            Told::new(200, wire.stream_type(), on)
        }
    })
}

fn run(bench: &Bench, wire: Wire, server: &Loopback, more: &[&str]) -> Command {
    let base = match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses => format!("{}/v1", server.url()),
        Wire::Anthropic | Wire::Ollama => server.url(),
    };
    let mut command = bench.toolgate();
    command
        .args(["run", "--approve", "all", "--model", "m", "--base-url"])
        .args([&base, "--provider", wire.as_str()])
        .args(more)
        .env("ANTHROPIC_API_KEY", "key-of-a-test")
        .env("OPENAI_API_KEY", "key-of-a-test");
    command
}

/// The program, ended with the test however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a turn and interrupts it after this event.
fn interrupted(mut command: Command, after: impl Fn(&Value) -> bool) -> (Done, Vec<Process>) {
    let child = command
        .arg("--json")
        .arg("go")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let mut events = BufReader::new(running.0.stdout.take().unwrap());
    let mut stdout = String::new();
    loop {
        let mut line = String::new();
        assert!(
            events.read_line(&mut line).unwrap() > 0,
            "it ended: {stdout}"
        );
        stdout.push_str(&line);
        if after(&serde_json::from_str(&line).unwrap()) {
            break;
        }
    }
    let started = Process::started_by(running.0.id());
    let pid = rustix::process::Pid::from_child(&running.0);
    let pressed = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    events.read_to_string(&mut stdout).unwrap();
    let mut stderr = String::new();
    let mut errors = running.0.stderr.take().unwrap();
    errors.read_to_string(&mut stderr).unwrap();
    let code = running.0.wait().unwrap().code();
    assert!(pressed.elapsed() < PATIENCE, "{:?}", pressed.elapsed());
    let done = Done {
        stdout,
        stderr,
        code,
    };
    (done, started)
}

fn conversation(done: &Done) -> String {
    let told = done
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("conversation "));
    let id = told.and_then(|rest| rest.split(':').next());
    id.unwrap_or_else(|| panic!("{done:?}")).to_owned()
}

/// The calls that the model made or that were received, and those that have a result, in what is on record.
fn calls(bench: &Bench, id: &str) -> (BTreeSet<String>, Vec<(String, Value)>) {
    let shown = bench.run(&["journal", "show", id, "--json"]);
    let entries = shown
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut received, mut finished) = (BTreeSet::new(), Vec::new());
    for entry in entries {
        let call = entry["call"].as_str().unwrap().to_owned();
        match entry["kind"].as_str().unwrap() {
            "received" | "received_bad" => drop(received.insert(call)),
            "finished" => finished.push((call, entry["body"]["result"].clone())),
            "assistant_message" => {
                let parts = entry["body"]["content"].as_array().into_iter().flatten();
                let named = parts.filter_map(|part| part["call"]["id"].as_str());
                received.extend(named.map(str::to_owned));
            }
            _ => {}
        }
    }
    (received, finished)
}

/// What the model is told in the next turn.
fn goes_on(bench: &Bench, wire: Wire, server: &Loopback, id: &str) -> String {
    let heard = server.heard().len();
    let command = run(bench, wire, server, &["--conversation", id, "and now?"]);
    let done = finish(command, b"");
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "On.\n"),
        "{wire}: {done:?}"
    );
    assert_eq!(bench.run(&["journal", "verify"]).code, Some(0), "{wire}");
    String::from_utf8_lossy(&server.heard()[heard].body).into_owned()
}

/// As much of a stream as holds this word, to the end of its event.
fn up_to(stream: &[u8], word: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(stream);
    let at = text
        .find(word)
        .unwrap_or_else(|| panic!("{word} in {text}"));
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let end = text[end..]
        .find(|c| c != '\n')
        .map_or(text.len(), |more| end + more);
    stream[..end].to_vec()
}

#[test]
fn ctrl_c_in_the_middle_of_an_answer_ends_the_turn_and_the_conversation_goes_on() {
    for wire in Wire::ALL {
        for (script, word) in [(WORDS, "look"), (HALF_A_CALL, "never.txt")] {
            let bench = Bench::new();
            // The name of a file comes in pieces on some wires; half of it will do.
            let server = server(wire, script, |whole| {
                let text = String::from_utf8_lossy(&whole).into_owned();
                let word = if text.contains(word) {
                    word
                } else {
                    "write_file"
                };
                Sent::Hangs(up_to(&whole, word))
            });
            let command = run(&bench, wire, &server, &[]);
            let (done, _) = interrupted(command, |event| event["type"] == "text_delta");
            assert_eq!(done.code, Some(130), "{wire} {word}: {done:?}");
            assert!(!done.stdout.contains("call_started"), "{wire}: {done:?}");
            assert!(bench.listing().is_empty(), "{wire}: {:?}", bench.listing());
            let id = conversation(&done);
            let (received, finished) = calls(&bench, &id);
            let settled: BTreeSet<String> = finished.into_iter().map(|(call, _)| call).collect();
            assert_eq!(received, settled, "{wire} {word}");
            let told = goes_on(&bench, wire, &server, &id);
            assert!(told.contains("go") && told.contains("and now?"), "{told}");
        }
    }
}

#[test]
fn ctrl_c_in_the_middle_of_a_command_settles_every_call_and_leaves_no_process() {
    for wire in Wire::ALL {
        let bench = Bench::new();
        bench.write("notes.txt", "milk\n");
        let server = server(wire, COMMAND, |whole| Sent::Pieces(vec![whole]));
        let command = run(&bench, wire, &server, &[]);
        let (done, started) = interrupted(command, |event| {
            event["type"] == "output_chunk"
                && event["text"]
                    .as_str()
                    .is_some_and(|text| text.contains("begun"))
        });
        assert_eq!(done.code, Some(130), "{wire}: {done:?}");
        assert!(!started.is_empty(), "{wire}: a command ran");
        // What makes the sandboxes ends by itself when the program has gone.
        let ended = Instant::now();
        while started.iter().any(Process::lives) {
            assert!(ended.elapsed() < PATIENCE, "{wire}: {started:?}");
            std::thread::yield_now();
        }
        let id = conversation(&done);
        let (received, finished) = calls(&bench, &id);
        let kinds: Vec<&str> = finished
            .iter()
            .map(|(_, result)| result["error"]["kind"].as_str().unwrap_or("ok"))
            .collect();
        assert_eq!(
            kinds,
            ["ok", "cancelled", "cancelled"],
            "{wire}: {finished:?}"
        );
        assert_eq!(received.len(), 3, "{wire}: {received:?}");
        let settled: BTreeSet<String> = finished.iter().map(|(call, _)| call.clone()).collect();
        assert_eq!(received, settled, "{wire}");
        let shown = finished[1].1["content"].as_str().unwrap();
        assert!(
            shown.contains("begun"),
            "{wire}: what it wrote is kept: {shown}"
        );
        assert_eq!(bench.listing(), ["notes.txt"], "{wire}");
        let told = goes_on(&bench, wire, &server, &id);
        for part in ["milk", "begun", "and now?"] {
            assert!(told.contains(part), "{wire}: {part} is missing in {told}");
        }
    }
}
