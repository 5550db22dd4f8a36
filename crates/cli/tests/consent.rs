//! What is asked although a list or a rule for everybody would let it pass, through the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;
use std::time::Duration;

use program::{Bench, answer};
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Told};

const ALLOWLISTED: &str = "[tools.approval]\nallowlist = [\"run_command\", \"apply_patch\"]\n";

fn rule(tool: &str, more: &str) -> String {
    format!("[[tools.rules]]\ntool = \"{tool}\"\naction = \"allow\"\n{more}\n")
}

/// What `policy explain` says, and its exit code.
fn explained(bench: &Bench, tool: &str, args: &Value) -> (Value, Option<i32>) {
    let done = bench.run(&["policy", "explain", tool, &args.to_string()]);
    let page = serde_json::from_str(&done.stdout);
    (
        page.unwrap_or_else(|error| panic!("{error}: {done:?}")),
        done.code,
    )
}

#[test]
fn fr_tool_cmd_01_a_command_is_asked_unless_a_trusted_rule_names_the_tool() {
    let echo = json!({"command": "echo hi"});
    let asked = [
        ALLOWLISTED.to_owned(),
        "[tools.approval]\nallowlist = [\"bash\"]\n".to_owned(),
        "[tools.approval]\nallowlist = [\"shell\"]\nmode = \"auto\"\n".to_owned(),
        "[tools.approval]\nallowlist = [\"run_command\"]\nmode = \"deny\"\n".to_owned(),
        rule("*", ""),
        rule("*", "command = [\"echo\"]"),
        rule("*", "opaque = true"),
    ];
    let allowed = [
        rule("run_command", ""),
        rule("shell", ""),
        rule("run_command", "command = [\"echo\"]"),
        format!("{ALLOWLISTED}{}", rule("bash", "command = [\"echo\"]")),
        "[tools.approval]\nallowed_commands = [\"echo\"]\n".to_owned(),
        "[tools.approval]\ntrust = \"autonomous\"\n".to_owned(),
    ];
    for (configs, decision, code) in [(&asked[..], "ask", 4), (&allowed[..], "allow", 0)] {
        for config in configs {
            let bench = Bench::new();
            bench.home("config.toml", config);
            for tool in ["run_command", "bash", "shell"] {
                let (page, explained) = explained(&bench, tool, &echo);
                assert_eq!(page["decision"], decision, "{tool} under {config}: {page}");
                assert_eq!(
                    page["rule"] == "requires_approval",
                    decision == "ask",
                    "{tool} under {config}: {page}"
                );
                assert_eq!(explained, Some(code), "{tool} under {config}");
            }
            let done = bench.run(&["exec", "bash", &echo.to_string()]);
            assert_eq!(done.code, Some(code), "{config}: {done:?}");
            let result: Value = serde_json::from_str(&done.stdout).unwrap();
            if decision == "ask" {
                assert_eq!(result["error"]["kind"], "no_approver", "{config}");
            } else {
                assert_eq!(result["content"], "hi\n", "{config}");
            }
        }
    }
}

#[test]
fn a_remembered_yes_names_the_tool_and_lifts_its_question() {
    let bench = Bench::new();
    bench.home("config.toml", ALLOWLISTED);
    let line = format!(
        "{} exec bash '{{\"command\":\"echo one\"}}'",
        env!("CARGO_BIN_EXE_toolgate")
    );
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let done = answer(command, ["p\n"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for (command, decision) in [
        ("echo one", "allow"),
        ("pwd", "ask"),
        ("echo one; pwd", "ask"),
    ] {
        let (page, _) = explained(&bench, "run_command", &json!({"command": command}));
        assert_eq!(page["decision"], decision, "{command}: {page}");
    }
}

/// Two writes, one after the other's answer.
const TWO_WRITES: &str = r#"
[[steps]]
[[steps.calls]]
name = "write_file"
args = { path = "one.txt", content = "x" }
[[steps]]
[[steps.calls]]
name = "write_file"
args = { path = "two.txt", content = "x" }
[[steps]]
text = "Done."
"#;

/// Runs two writes, of which the first question is left to expire, and types these lines, each
/// when this text has been shown.
fn after_expiry(bench: &Bench, typed: [&str; 2]) -> program::Done {
    bench.home("two.toml", TWO_WRITES);
    let line = format!(
        "{} run --script {} go < /dev/null",
        env!("CARGO_BIN_EXE_toolgate"),
        bench.home_directory().join("two.toml").display()
    );
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    answer(command, typed)
}

#[test]
fn what_is_typed_after_a_question_has_expired_answers_the_next_one() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools.approval]\ntimeout_seconds = 4\n");
    let done = after_expiry(&bench, ["", "y\n"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(bench.listing(), ["two.txt"], "{done:?}");
    assert!(done.stdout.contains("this is another one"), "{done:?}");
}

/// A yes that comes when the next question is just shown was typed for the one before.
#[test]
fn a_yes_that_comes_too_late_is_none_to_the_next_question() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools.approval]\ntimeout_seconds = 3\n");
    bench.home("two.toml", TWO_WRITES);
    let line = format!(
        "{} run --script {} go < /dev/null",
        env!("CARGO_BIN_EXE_toolgate"),
        bench.home_directory().join("two.toml").display()
    );
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let done = program::answer_late(command, "another one", Duration::from_millis(1200), "y\n");
    assert_eq!(bench.listing(), Vec::<String>::new(), "{done:?}");
}

#[test]
fn an_untrusted_project_does_not_shorten_questions() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools.approval]\ntimeout_seconds = 30\n");
    bench.write("toolgate.toml", "[tools.approval]\ntimeout_seconds = 1\n");
    let done = bench.run(&["config", "show"]);
    assert!(done.stdout.contains("timeout_seconds = 30"), "{done:?}");
    assert!(
        format!("{}{}", done.stdout, done.stderr).contains("timeout_seconds"),
        "it is said: {done:?}"
    );
}

#[test]
fn what_is_typed_before_a_question_is_no_answer_to_it() {
    let bench = Bench::new();
    // The program begins when a line waits at its terminal.
    let early = format!(
        "until read -t 0; do :; done; {} exec write_file '{{\"path\":\"n\",\"content\":\"x\"}}'",
        env!("CARGO_BIN_EXE_toolgate")
    );
    bench.home("early.sh", &format!("echo 'type > '; {early}\n"));
    let line = format!("bash {}", bench.home_directory().join("early.sh").display());
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let done = answer(command, ["y\n", "n\n"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(bench.listing().is_empty(), "{done:?}");
}

#[test]
fn models_are_told_which_tools_are_asked_for() {
    let bench = Bench::new();
    let done = bench.run(&["tools", "--format", "toolgate"]);
    let tools: Value = serde_json::from_str(&done.stdout).unwrap();
    let asked: Vec<&Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["requires_approval"] == true)
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(asked, ["run_command"]);
    for (kind, told) in [
        (
            "openai-chat",
            "The user is asked before, and may say no: `apply_patch`, `edit_file`, `run_command`",
        ),
        ("fenced", "The person is asked before it runs."),
    ] {
        let server = Loopback::start(|_| {
            let step = Script::from_toml("[[steps]]\ntext = \"hi\"\n")
                .unwrap()
                .steps
                .remove(0);
            Told::new(200, "text/event-stream", step.render(Wire::OpenAiChat))
        });
        let url = server.url();
        bench.home(
            "config.toml",
            &format!(
                "[providers.local]\nkind = \"{kind}\"\nmodel = \"m\"\nbase_url = \"{url}/v1\"\n"
            ),
        );
        let done = bench.run(&["run", "x"]);
        assert_eq!(done.code, Some(0), "{kind}: {done:?}");
        let body = server.heard()[0].json();
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains(told), "{kind}: {system}");
    }
}

const DELETE: &str = "*** Begin Patch\n*** Delete File: old.txt\n*** End Patch\n";
const MOVE: &str = "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-old\n+new\n*** End Patch\n";
const TO_NULL: &str = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";
const RENAME: &str = "diff --git a/old.txt b/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to new.txt\n";
const ALSO: &str = "*** Begin Patch\n*** Update File: other.txt\n@@\n-old\n+new\n*** Delete File: old.txt\n*** End Patch\n";

const CHANGES: [&str; 4] = [
    "*** Begin Patch\n*** Update File: old.txt\n@@\n-old\n+new\n*** End Patch\n",
    "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\n",
    "--- a/old.txt\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new\n",
    "LP1\nF old.txt\nR\nold\n.\nnew\n.\nEND\n",
];

#[test]
fn fr_tool_patch_01_a_patch_that_deletes_is_high_risk_and_asked_unlike_one_that_changes() {
    let deleting = [DELETE, MOVE, TO_NULL, RENAME, ALSO];
    let deletes = rule("apply_patch", "deletes = [\"**\"]\nwrites = [\"**\"]");
    let writes = rule("apply_patch", "writes = [\"**\"]");
    for (config, decision) in [
        (ALLOWLISTED.to_owned(), "ask"),
        (rule("*", ""), "ask"),
        // Consent to writing is none to deleting.
        (format!("{ALLOWLISTED}{writes}"), "ask"),
        (rule("apply_patch", ""), "allow"),
        (deletes, "allow"),
        (
            "[tools.approval]\ntrust = \"autonomous\"\n".to_owned(),
            "allow",
        ),
    ] {
        let bench = Bench::new();
        bench.home("config.toml", &config);
        bench.write("old.txt", "old\n");
        bench.write("other.txt", "old\n");
        for patch in deleting {
            let args = json!({ "patch": patch });
            let (page, _) = explained(&bench, "apply_patch", &args);
            assert_eq!(page["decision"], decision, "{patch} under {config}: {page}");
            assert_eq!(page["risk"], "high", "{patch} under {config}");
            if decision == "ask" {
                assert_eq!(page["rule"], "requires_approval", "{patch} under {config}");
                let done = bench.run(&["exec", "apply_patch", &args.to_string()]);
                assert_eq!(done.code, Some(4), "{patch} under {config}: {done:?}");
                assert_eq!(bench.read("old.txt"), "old\n");
            }
        }
        for patch in CHANGES {
            let (page, _) = explained(&bench, "apply_patch", &json!({ "patch": patch }));
            assert_eq!(page["decision"], "allow", "{patch} under {config}: {page}");
            assert_eq!(page["risk"], "medium", "{patch} under {config}");
        }
    }
}
