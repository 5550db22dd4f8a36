//! `toolgate serve` as a program: its tokens, its link, and a kill in the middle of a turn.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use program::{Bench, until};
use serde_json::{Value, json};

/// A server that runs, until it is dropped.
struct Served {
    child: Child,
    address: String,
    link: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(bench: &Bench) -> Served {
    let mut command = bench.toolgate();
    command.args(["--json", "serve", "--port", "0"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let link = said["link"].as_str().unwrap().to_owned();
    let token = said["token"].as_str().unwrap();
    assert!(link.ends_with(&format!("/#token={token}")), "{link}");
    Served {
        child,
        address: said["address"].as_str().unwrap().to_owned(),
        link,
    }
}

impl Served {
    /// The status and the body of a request.
    fn ask(&self, token: &str, line: &str, body: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn get(&self, token: &str, path: &str) -> Value {
        self.ask(token, &format!("GET {path}"), &Value::Null).1
    }

    /// Ends it as a crash does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn token(bench: &Bench, arguments: &[&str]) -> Value {
    let mut command = bench.toolgate();
    command.args(["--json", "serve", "token"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[test]
fn tokens_are_created_listed_and_revoked_while_the_server_runs() {
    let bench = Bench::new();
    let served = serve(&bench);
    let made = token(&bench, &["create", "ci", "--role", "reader"]);
    let secret = made["token"].as_str().unwrap();
    let me = served.get(secret, "/api/me");
    assert_eq!((&me["name"], &me["role"]), (&json!("ci"), &json!("reader")));
    assert_eq!(me["operator"], false);
    let listed = token(&bench, &["list"]);
    assert_eq!(listed["id"], made["id"]);
    assert!(!listed.to_string().contains(secret));
    let kept = bench.home_directory().join("server/tokens.json");
    assert!(!std::fs::read_to_string(kept).unwrap().contains(secret));
    token(&bench, &["revoke", "ci"]);
    let (status, _) = served.ask(secret, "GET /api/me", &Value::Null);
    assert_eq!(status, 401);
    let mut wrong = bench.toolgate();
    wrong.args(["serve", "token", "create", "x", "--role", "king"]);
    assert_eq!(wrong.output().unwrap().status.code(), Some(2));
    let mut unknown = bench.toolgate();
    unknown.args(["serve", "token", "revoke", "nobody"]);
    assert_eq!(unknown.output().unwrap().status.code(), Some(2));
    // The page needs none.
    let (status, _) = served.ask("", "GET /", &Value::Null);
    assert_eq!(status, 200);
    assert!(served.link.starts_with("http://127.0.0.1:"));
}

/// A turn of two calls; the second asks.
const SCRIPT: &str = "[[steps]]\ntext = \"One.\"\n\n[[steps.calls]]\nid = \"call_1\"\nname = \"list_directory\"\nargs = { path = \".\" }\n\n[[steps]]\ntext = \"Two.\"\n\n[[steps.calls]]\nid = \"call_2\"\nname = \"write_file\"\nargs = { path = \"b.txt\", content = \"b\" }\n\n[[steps]]\ntext = \"Done.\"\n";

#[test]
fn a_killed_server_goes_on_where_it_was_and_runs_nothing_twice() {
    let bench = Bench::new();
    bench.home("script.toml", SCRIPT);
    let script = bench.home_directory().join("script.toml");
    let config = format!("[providers.script]\nkind = \"replay\"\nscript = {script:?}\n");
    bench.home("config.toml", &config);
    let made = token(&bench, &["create", "me"]);
    let secret = made["token"].as_str().unwrap();
    let served = serve(&bench);
    let new = json!({"conversation_id": "c1"});
    assert_eq!(served.ask(secret, "POST /api/conversations", &new).0, 201);
    let said = json!({"message": "Write.", "request_id": "r1"});
    let send = "POST /api/conversations/c1/messages";
    assert_eq!(served.ask(secret, send, &said).1["turn"], 1);
    let waits = |served: &Served| served.get(secret, "/api/approvals")["total"] == 1;
    until("the question waits", || waits(&served));
    let old = served.get(secret, "/api/approvals")["approvals"][0].clone();
    served.kill();

    // The same token opens the server that is started again.
    let served = serve(&bench);
    assert_eq!(served.get(secret, "/api/approvals")["total"], 0);
    let calls = served.get(secret, "/api/conversations/c1/calls");
    let states: Vec<&Value> = calls["calls"].as_array().unwrap().iter().collect();
    assert_eq!(states[0]["state"], "finished", "{calls}");
    assert_eq!(states[1]["state"], "asked", "{calls}");
    // A question of the run before is void.
    let line = format!(
        "POST /api/approvals/{}",
        old["approval_id"].as_str().unwrap()
    );
    let late = served.ask(secret, &line, &json!({"approve": "all"}));
    assert_eq!((late.0, &late.1["kind"]), (409, &json!("approval_closed")));
    // The request that was made before is not made again.
    assert_eq!(served.ask(secret, send, &said).1["turn"], 1);
    let resume = "POST /api/conversations/c1/resume";
    let settled = served.ask(secret, resume, &json!({"choice": "keep"}));
    assert_eq!((settled.0, &settled.1["settled"]), (200, &json!(1)));
    assert!(bench.listing().is_empty());
    let next = json!({"message": "Go on."});
    assert_eq!(served.ask(secret, send, &next).1["turn"], 2);
    until("the turn is over", || {
        let waiting = served.get(secret, "/api/approvals");
        if let Some(id) = waiting["approvals"][0]["approval_id"].as_str() {
            let line = format!("POST /api/approvals/{id}");
            served.ask(secret, &line, &json!({"approve": "none"}));
        }
        let state = served.get(secret, "/api/conversations/c1");
        state["busy"] == false && state["turn"] == 2
    });
    assert!(bench.listing().is_empty());
    // One result per call: what was done, what was interrupted, and nothing else.
    let entries = served.get(secret, "/api/conversations/c1/entries?bodies=true");
    let entries = entries["entries"].as_array().unwrap();
    let is_second = |entry: &&Value| entry["body"]["turn"] == 2;
    let first: Vec<&Value> = entries
        .iter()
        .take_while(|entry| !is_second(entry))
        .collect();
    for (call, kind) in [("call_1", Value::Null), ("call_2", json!("interrupted"))] {
        let results: Vec<&&Value> = first
            .iter()
            .filter(|entry| entry["kind"] == "finished" && entry["tool_id"] == call)
            .collect();
        assert_eq!(results.len(), 1, "{call}: {entries:?}");
        assert_eq!(results[0]["body"]["result"]["error"]["kind"], kind);
    }
}
