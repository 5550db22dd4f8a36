//! `web_search` asks nobody but servers that the user's configuration names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;

use program::{Bench, Done, answer, finish};
use serde_json::{Value, json};
use toolgate_testkit::{Loopback, Told};

/// A search server that finds one page.
fn server() -> Loopback {
    let found =
        json!({"results": [{"title": "Found", "url": "https://s.example/", "content": "x"}]});
    Loopback::start(move |_| Told::new(200, "application/json", found.to_string()))
}

fn names(url: &str) -> String {
    format!("search.searxng.url = \"{url}\"\n")
}

fn search(bench: &Bench, more: &[&str]) -> (Done, Value) {
    let args = [more, &["exec", "web_search", r#"{"query":"q"}"#]].concat();
    let done = bench.run(&args);
    let result = serde_json::from_str(&done.stdout).unwrap_or_default();
    (done, result)
}

fn is_offered(bench: &Bench) -> bool {
    let done = bench.run(&["tools", "--format", "toolgate"]);
    let tools: Value = serde_json::from_str(&done.stdout).unwrap();
    let mut tools = tools.as_array().unwrap().iter();
    tools.any(|tool| tool["name"] == "web_search")
}

/// Runs a search under `strace`: the program's result, and what reached for the internet.
fn traced(bench: &Bench, more: &[&str]) -> (Done, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = bench.command(Path::new("strace"));
    command.args(["-f", "-qqq", "-e", "trace=%network", "-o"]);
    command.arg(&log).arg(env!("CARGO_BIN_EXE_toolgate"));
    command.args(more);
    command.args(["exec", "web_search", r#"{"query":"q"}"#]);
    let done = finish(command, b"");
    let log = std::fs::read_to_string(&log).expect("strace is there");
    // The command sandbox makes sockets to set up its own loopback, which go nowhere.
    let lines = log
        .lines()
        .filter(|line| line.contains("sa_family=AF_INET"));
    (done, lines.map(str::to_owned).collect())
}

#[test]
fn without_a_configured_server_a_search_is_refused_and_nothing_is_sent() {
    let bench = Bench::new();
    for config in ["", "[tools.approval]\ntrust = \"autonomous\"\n"] {
        bench.home("config.toml", config);
        for more in [&[][..], &["--approve", "all"]] {
            let (done, network) = traced(&bench, more);
            assert_eq!(done.code, Some(3), "{done:?}");
            let result: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!(result["error"]["kind"], "disabled", "{done:?}");
            assert!(network.is_empty(), "{network:?}");
        }
        assert!(!is_offered(&bench));
    }
    // With a server the same trace sees the connection.
    let server = server();
    bench.home("config.toml", &names(&server.url()));
    let (done, network) = traced(&bench, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!network.is_empty() && server.heard().len() == 1);
}

#[test]
fn the_line_that_a_refusal_names_configures_the_server() {
    let server = server();
    let bench = Bench::new();
    let (_, refused) = search(&bench, &[]);
    let message = refused["error"]["message"].as_str().unwrap();
    let (_, from) = message.split_once("search.searxng").expect(message);
    let line = format!("search.searxng{}", from.split(" or ").next().unwrap());
    let line = line.replace("http://localhost:8080", &server.url());
    bench.home(
        "config.toml",
        &format!("{line}\n[tools]\nmax_concurrent = 1\n"),
    );
    let (done, result) = search(&bench, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .contains("https://s.example/")
    );
    assert_eq!(server.heard().len(), 1);
    assert!(is_offered(&bench));
}

#[test]
fn a_project_names_a_search_server_only_once_it_is_trusted() {
    let server = server();
    let bench = Bench::new();
    bench.write("toolgate.toml", &names(&server.url()));
    let (done, result) = search(&bench, &["--approve", "all"]);
    assert_eq!(result["error"]["kind"], "disabled", "{done:?}");
    assert!(
        done.stderr.contains("search.searxng.url"),
        "it is said: {done:?}"
    );
    assert!(server.heard().is_empty());

    let trust = format!("{} trust", env!("CARGO_BIN_EXE_toolgate"));
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &trust, "/dev/null"]);
    let trusted = answer(command, ["y\n"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let (done, _) = search(&bench, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(server.heard().len(), 1);

    // Trust ends with the content.
    bench.write(
        "toolgate.toml",
        &format!("# another\n{}", names(&server.url())),
    );
    let (done, result) = search(&bench, &["--approve", "all"]);
    assert_eq!(result["error"]["kind"], "disabled", "{done:?}");
    assert_eq!(server.heard().len(), 1);
}

#[test]
fn a_project_cannot_redirect_searches_of_the_user() {
    let (own, other) = (server(), server());
    let bench = Bench::new();
    bench.home("config.toml", &names(&own.url()));
    bench.write("toolgate.toml", &names(&other.url()));
    let (done, _) = search(&bench, &[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((own.heard().len(), other.heard().len()), (1, 0));
}
