//! The key of a provider is shown nowhere, whatever the provider does with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::{Path, PathBuf};
use std::process::Command;

use program::{Bench, Done, finish};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Sent, Told};

const KEY: &str = "zx-Loopback.7Q9w8E6r5T4y3U2i1O";

/// Where the program has the key from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Environment,
    Command,
    Header,
}

const ALL: [From; 3] = [From::Environment, From::Command, From::Header];

fn stream(text: impl Into<Vec<u8>>) -> Told {
    Told::new(200, "text/event-stream", text)
}

fn step(toml: &str) -> Vec<u8> {
    let script = Script::from_toml(toml).unwrap();
    script.steps[0].render(Wire::OpenAiChat)
}

/// Everything a server can do with a key, and whether that is an answer.
fn echoes() -> Vec<(&'static str, Told, bool)> {
    let text = step(&format!(
        "[[steps]]\nthinking = \"hm {KEY}\"\ntext = \"your key is {KEY}, keep it\"\nchunk_bytes = 7\n"
    ));
    let escaped = KEY.replace('z', "\\u007a");
    vec![
        (
            "an error",
            Told::new(
                401,
                "application/json",
                format!("{{\"error\":{{\"message\":\"wrong key {KEY}\",\"code\":\"{KEY}\"}}}}"),
            ),
            false,
        ),
        (
            "an error in other letters",
            Told::new(
                401,
                "application/json",
                format!("{{\"error\":{{\"message\":\"wrong key {escaped}\"}}}}"),
            ),
            false,
        ),
        (
            "an error that is cut off in the key",
            Told::new(
                401,
                "text/plain",
                format!("{}{KEY} is wrong", "x".repeat(190)),
            ),
            false,
        ),
        (
            "a redirection",
            Told::new(302, "text/plain", "").header("location", &format!("http://x/?k={KEY}")),
            false,
        ),
        (
            "no stream",
            Told::new(200, "text/html", format!("<p>you sent {KEY}</p>")),
            false,
        ),
        (
            "an error in the stream",
            stream(format!(
                "data: {{\"error\":{{\"message\":\"no, {KEY}\",\"type\":\"{KEY}\"}}}}\n\n"
            )),
            false,
        ),
        (
            "nothing that is the wire",
            stream(format!("data: {{\"choices\": \"{KEY}\n\n")),
            false,
        ),
        (
            "nothing that is the wire, cut off in the key",
            stream(format!("data: {{\"{}{KEY}\n\n", "x".repeat(183))),
            false,
        ),
        ("an answer", stream(text.clone()), true),
        (
            "an answer in single bytes",
            stream("").sent(Sent::Pieces(text.iter().map(|byte| vec![*byte]).collect())),
            true,
        ),
        (
            "a call",
            stream(step(&format!(
                "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"write_file\"\nargs = {{ path = \"k\", content = \"{KEY}\" }}\n"
            ))),
            true,
        ),
    ]
}

fn asking(bench: &Bench, from: From, server: &Loopback, more: &[&str]) -> Command {
    let key = match from {
        From::Environment => "api_key_env = \"SOME_VARIABLE\"".to_owned(),
        From::Command => format!("api_key_command = [\"printf\", \"{KEY}\\n\"]"),
        From::Header => format!("headers = {{ authorization = \"Bearer {KEY}\" }}"),
    };
    bench.home(
        "config.toml",
        &format!(
            "[providers.mine]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}\"\n{key}\n",
            server.url()
        ),
    );
    let mut command = bench.toolgate();
    command.args(["run", "--approve", "all"]).args(more);
    if from == From::Environment {
        command.env("SOME_VARIABLE", KEY);
    }
    command
}

fn has_key(bytes: &[u8]) -> bool {
    // Eight characters of it are too many.
    let windows = KEY.as_bytes().windows(8).collect::<Vec<_>>();
    bytes.windows(8).any(|window| windows.contains(&window))
}

fn assert_clean(what: &str, done: &Done) {
    assert!(!has_key(done.stdout.as_bytes()), "{what}: {}", done.stdout);
    assert!(!has_key(done.stderr.as_bytes()), "{what}: {}", done.stderr);
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .filter(|path| path.is_file())
        .collect()
}

#[test]
fn a_provider_that_repeats_the_key_does_not_bring_it_anywhere() {
    for (what, told, is_answer) in echoes() {
        for (from, json) in [
            (From::Environment, false),
            (From::Command, true),
            (From::Header, false),
        ] {
            let what = format!("{what}, {from:?}, json {json}");
            let bench = Bench::new();
            // The second request finds the way to an end.
            let mut answers = vec![stream(step("[[steps]]\ntext = \"done\"\n")), told.clone()];
            let server = Loopback::start(move |_| match answers.len() {
                1 => answers[0].clone(),
                _ => answers.pop().unwrap(),
            });
            let mut more = vec!["--record", "recorded.toml", "hello"];
            if json {
                more.push("--json");
            }
            let done = finish(asking(&bench, from, &server, &more), b"");
            assert_eq!(done.code == Some(0), is_answer, "{what}: {done:?}");
            let sent = server.heard()[0].header("authorization").map(str::to_owned);
            assert_eq!(sent, Some(format!("Bearer {KEY}")), "{what}");
            assert_clean(&what, &done);
            // A call with the key in it is not run.
            assert!(!bench.workspace().join("k").exists(), "{what}");
            let told = format!(
                "{}{}{}",
                done.stdout,
                done.stderr,
                bench.read("recorded.toml")
            );
            assert!(
                told.contains("[redacted:") || what.contains("call"),
                "{what}: {told}"
            );
            assert!(!has_key(bench.read("recorded.toml").as_bytes()), "{what}");
            assert_not_kept(&what, &bench);
            if from != From::Environment || !is_answer {
                continue;
            }
            let listed = bench.run(&["journal", "list", "--json"]);
            let id: serde_json::Value =
                serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
            let id = id["conversation"].as_str().unwrap();
            for format in ["md", "json", "html"] {
                let exported = bench.run(&["journal", "export", id, "--format", format]);
                assert_eq!(exported.code, Some(0), "{exported:?}");
                assert_clean(&what, &exported);
            }
        }
    }
}

#[test]
fn a_file_that_holds_the_key_is_read_without_it() {
    for from in ALL {
        let bench = Bench::new();
        bench.write("notes.txt", &format!("first\nit is {KEY} today\n"));
        let mut steps = vec![
            step("[[steps]]\ntext = \"done\"\n"),
            step(
                "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"read_file\"\nargs = { path = \"notes.txt\" }\n",
            ),
        ];
        let server = Loopback::start(move |_| stream(steps.pop().unwrap_or_default()));
        let done = finish(asking(&bench, from, &server, &["--json", "read"]), b"");
        assert_eq!(done.code, Some(0), "{from:?}: {done:?}");
        assert_clean(&format!("{from:?}"), &done);
        let second = String::from_utf8_lossy(&server.heard()[1].body).into_owned();
        assert!(second.contains("it is [redacted:"), "{from:?}: {second}");
        assert!(!has_key(second.as_bytes()), "{from:?}: {second}");
        assert_not_kept(&format!("{from:?}"), &bench);
    }
}

/// No file of the program but its configuration holds the key.
fn assert_not_kept(what: &str, bench: &Bench) {
    for file in files(&bench.home_directory()) {
        let is_config = file.ends_with("config.toml");
        let bytes = std::fs::read(&file).unwrap();
        assert!(is_config || !has_key(&bytes), "{what}: {}", file.display());
    }
}

#[test]
fn a_person_who_says_the_key_does_not_bring_it_anywhere() {
    for from in ALL {
        let bench = Bench::new();
        bench.write(
            "history.json",
            &serde_json::json!({"messages": [
                {"role": "user", "content": format!("it was {KEY}")},
                {"role": "assistant", "content": format!("so {KEY}")},
            ]})
            .to_string(),
        );
        let prompt = format!("my key is {KEY}");
        for more in [
            &["--record", "r.toml", &prompt][..],
            &["--history", "history.json", &prompt],
        ] {
            let server = Loopback::start(|_| stream(step("[[steps]]\ntext = \"done\"\n")));
            let done = finish(asking(&bench, from, &server, more), b"");
            assert_eq!(done.code, Some(0), "{from:?}: {done:?}");
            let body = server.heard()[0].body.clone();
            let text = String::from_utf8_lossy(&body);
            assert!(text.contains("my key is [redacted:"), "{from:?}: {text}");
            assert!(!has_key(&body), "{from:?}: {text}");
            assert_not_kept(&format!("{from:?}, {more:?}"), &bench);
        }
        assert!(!has_key(bench.read("r.toml").as_bytes()), "{from:?}");
    }
}

#[test]
fn a_list_of_models_shows_no_key() {
    for from in ALL {
        for told in [
            Told::new(403, "text/plain", format!("not with {KEY}")),
            Told::new(
                200,
                "application/json",
                format!("{{\"data\":[{{\"id\":\"{KEY}\"}}]}}"),
            ),
            Told::new(200, "application/json", format!("{{\"dat\":\"{KEY}\"}}")),
        ] {
            let bench = Bench::new();
            let server = Loopback::start(move |_| told.clone());
            drop(asking(&bench, from, &server, &[]));
            for json in [&["models"][..], &["models", "--json"]] {
                let mut command = bench.toolgate();
                command.args(json).env("SOME_VARIABLE", KEY);
                let done = finish(command, b"");
                assert!(done.stdout.contains("[redacted:key]"), "{from:?}: {done:?}");
                assert_clean(&format!("{from:?}"), &done);
            }
        }
    }
}

/// Who configures a provider at its own address has its key where its own SDK looks for it.
#[test]
fn a_configured_provider_has_the_usual_variable_of_its_kind() {
    let bench = Bench::new();
    for (kind, variable) in [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai-chat", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
    ] {
        bench.home(
            "config.toml",
            &format!("[providers.x]\nkind = \"{kind}\"\n"),
        );
        let done = bench.run(&["run", "--model", "m", "hi"]);
        assert_eq!(done.code, Some(2), "{kind}: {done:?}");
        assert!(done.stderr.contains(variable), "{kind}: {done:?}");
    }
}
