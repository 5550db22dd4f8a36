//! No secret of a call leaves to a screen or a file, though what is on record and what the
//! model is sent stays exact.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::{Bench, Done, finish};
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Told};

/// A variable whose name says that it is secret, and its value.
const HANDED_IN: (&str, &str) = ("DEPLOY_TOKEN", "plain-words-of-a-variable");
/// Known by its name alone.
const ASSIGNED: &str = "Zk3vQ9xT7mB2nL5w";

/// Known by its shape; put together, so that this file holds none.
fn shaped() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6")
}

fn run(bench: &Bench, args: &[&str]) -> Done {
    let mut command = bench.toolgate();
    command.args(args).env(HANDED_IN.0, HANDED_IN.1);
    finish(command, b"")
}

fn assert_hidden(shown: &str, what: &str) {
    for secret in [HANDED_IN.1, ASSIGNED, &shaped()] {
        assert!(!shown.contains(secret), "{what}: {secret} is in {shown}");
    }
    assert!(shown.contains("[redacted:"), "{what}: {shown}");
}

#[test]
fn explanations_hold_no_secret() {
    let bench = Bench::new();
    let line = format!(
        "curl --token {ASSIGNED} -H 'Authorization: Bearer {}' https://x/{}",
        shaped(),
        HANDED_IN.1
    );
    let path = format!("notes/{}.txt", shaped());
    for (tool, args) in [
        ("run_command", json!({"command": line})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("read_file", json!({"path": format!("../{path}")})),
        ("read_file", json!({"path": "a", shaped(): 1})),
    ] {
        let done = run(&bench, &["policy", "explain", tool, &args.to_string()]);
        assert_hidden(&done.stdout, tool);
    }
}

#[test]
fn events_pages_and_lists_hold_no_secret_and_the_model_is_sent_what_was_said() {
    let bench = Bench::new();
    let command = format!(
        "echo {} --token {ASSIGNED} {} > /dev/null",
        shaped(),
        HANDED_IN.1
    );
    let script = format!(
        "[[steps]]\ntext = \"I use {}.\"\n[[steps.calls]]\nid = \"c\"\nname = \"run_command\"\nargs = {{ command = \"{command}\" }}\n[[steps]]\ntext = \"ok\"\n",
        HANDED_IN.1
    );
    let mut steps = Script::from_toml(&script).unwrap().steps.into_iter();
    let server = Loopback::start(move |_| match steps.next() {
        Some(step) => Told::new(200, "text/event-stream", step.render(Wire::OpenAiChat)),
        None => Told::new(
            401,
            "application/json",
            format!(
                r#"{{"error":{{"message":"wrong key {} {}"}}}}"#,
                HANDED_IN.1,
                shaped()
            ),
        ),
    });
    bench.home(
        "config.toml",
        &format!(
            "[providers.local]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}/v1\"\n",
            server.url()
        ),
    );
    let prompt = format!("use {}", shaped());
    let done = run(&bench, &["run", "--approve", "all", "--json", &prompt]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let events: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let planned = events
        .iter()
        .find(|event| event["type"] == "call_planned")
        .unwrap();
    assert_hidden(&planned.to_string(), "call_planned");
    for event in events.iter().filter(|event| event["type"] != "text_delta") {
        let shown = event.to_string();
        for secret in [HANDED_IN.1, ASSIGNED, &shaped()] {
            assert!(!shown.contains(secret), "{secret} is in {shown}");
        }
    }
    // The model gets its own call back as it made it.
    let second = server.heard()[1].json().to_string();
    for secret in [HANDED_IN.1, ASSIGNED, &shaped()] {
        assert!(second.contains(secret), "{secret} is missing in {second}");
    }
    let told = done
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("conversation "));
    let id = told.unwrap().split(':').next().unwrap();
    for format in ["json", "md", "html"] {
        let page = run(&bench, &["journal", "export", id, "--format", format]);
        assert_eq!(page.code, Some(0), "{page:?}");
        assert_hidden(&page.stdout, format);
    }
    for more in [&[][..], &["--json"]] {
        let args = [&["journal", "show", id][..], more].concat();
        assert_hidden(&run(&bench, &args).stdout, "journal show");
    }
    // What goes wrong is told without them too.
    for more in [&[][..], &["--json"]] {
        let args = [&["run", "--conversation", id, "again"][..], more].concat();
        let refused = run(&bench, &args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert_hidden(&format!("{}{}", refused.stdout, refused.stderr), "error");
    }
    assert_eq!(run(&bench, &["journal", "verify"]).code, Some(0));
}
