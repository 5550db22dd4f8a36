//! What the commands of one conversation share, through the program, for root and for an ordinary user.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;
#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;

use std::io::Write;
use std::process::{Child, Stdio};

use program::{Process, until};
use run::{Place, users};
use serde_json::{Value, json};

/// Starts a conversation with these calls.
fn begin(place: &Place, calls: &[(&str, Value)]) -> Child {
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["--approve", "all", "batch", "--unlimited"]);
    let mut program = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    for (name, args) in calls {
        let call = json!({ "name": name, "args": args }).to_string() + "\n";
        input.write_all(call.as_bytes()).unwrap();
    }
    program
}

fn results(program: Child) -> Vec<Value> {
    let output = program.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn line(line: &str) -> (&'static str, Value) {
    ("run_command", json!({ "command": line }))
}

/// Serves the workspace, and says so once it listens.
const SERVE: &str = "exec python3 -u -c 'import http.server as h
s = h.ThreadingHTTPServer((\"127.0.0.1\", 8000), h.SimpleHTTPRequestHandler)
print(\"listening\")
s.serve_forever()'";
const FETCH: &str = "curl --silent --show-error --fail http://127.0.0.1:8000/page";

fn serve() -> [(&'static str, Value); 2] {
    let wait = json!({ "handle": "cmd_1", "wait_seconds": 60 });
    [
        (
            "run_command",
            json!({ "command": SERVE, "background": true }),
        ),
        ("command_output", wait),
    ]
}

#[test]
fn a_conversation_shares_a_server_and_files_with_nobody_else() {
    for user in users() {
        let place = Place::new(user);
        std::fs::write(place.path("ws/page"), "served").unwrap();
        let [started, listens] = serve();
        let one = begin(
            &place,
            &[
                started,
                listens,
                line(FETCH),
                line("echo kept > /tmp/kept; echo home > ~/kept"),
                line("cat /tmp/kept ~/kept"),
                line("touch ready; until [ -e done ]; do sleep 0.05; done"),
                line(FETCH),
            ],
        );
        until("the first conversation is ready", || {
            place.path("ws/ready").exists()
        });
        let [started, listens] = serve();
        let other = begin(
            &place,
            &[
                line(FETCH),
                line("cat /tmp/kept ~/kept"),
                started,
                listens,
                line(FETCH),
            ],
        );
        let other = results(other);
        assert_eq!(other.len(), 5, "{other:?}");
        for refused in other.iter().take(2) {
            assert_eq!(refused["error"]["kind"], "exit_status", "{refused}");
        }
        assert_eq!(other[4]["content"], "served", "{user:?}: {other:?}");
        let processes = Process::started_by(one.id());
        std::fs::write(place.path("ws/done"), "").unwrap();
        let one = results(one);
        let said = one[1]["content"].as_str().unwrap();
        assert!(said.starts_with("listen"), "{user:?}: {one:?}");
        assert_eq!(one[2]["content"], "served", "{user:?}: {one:?}");
        assert_eq!(one[4]["content"], "kept\nhome\n", "{user:?}: {one:?}");
        assert_eq!(one[6]["content"], "served", "{user:?}: {one:?}");
        assert!(processes.len() >= 4, "{processes:?}");
        until("nothing is left", || {
            processes.iter().all(|one| !one.lives())
        });
        for path in ["/tmp/kept", "/run/home/kept"] {
            assert!(!std::path::Path::new(path).exists(), "{path}");
        }
    }
}

#[test]
fn a_killed_conversation_leaves_nothing() {
    for user in users() {
        let place = Place::new(user);
        let [started, listens] = serve();
        let calls = [started, listens, line("touch ready; exec sleep 1000")];
        let mut program = begin(&place, &calls);
        until("the server runs", || place.path("ws/ready").exists());
        let processes = Process::started_by(program.id());
        assert!(processes.len() >= 4, "{user:?}: {processes:?}");
        program.kill().unwrap();
        program.wait().unwrap();
        until("nothing is left", || {
            processes.iter().all(|one| !one.lives())
        });
    }
}
