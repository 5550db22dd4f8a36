//! Nothing that somebody else wrote acts on the terminal or passes for a line of the program,
//! whichever command shows it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::{Path, PathBuf};

use program::{Bench, Done, answer, finish};
use serde_json::{Value, json};
use toolgate_gate::journal::{Entry, Journal, LeaseJournal, Record};
use toolgate_journal::{Options, SqliteJournal};
use toolgate_testkit::{Loopback, Told};

/// A name: everything in it that a terminal obeys or does not show, and a line of its own.
const NAME: &str = "h\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}]8;;x:y\u{1b}\\\u{1b}[2J\u{9b}31m\u{90}q\u{9c}\u{85}\u{7f}\r\nFORGED\u{2028}FORGED\u{202e}\u{2066}\u{200b}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{feff}\u{e0041}t";

/// A text of several lines, which may stand at the start of one.
fn text() -> String {
    NAME.replace("FORGED", "line")
}

/// Everything but line ends and tabs that must not be printed.
fn acts(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        )
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

fn harmless(what: &str, done: &Done) {
    for shown in [&done.stdout, &done.stderr] {
        assert!(!shown.contains(acts), "{what}: {shown:?}");
        let forged = shown.lines().find(|line| line.starts_with("FORGED"));
        assert_eq!(forged, None, "{what}: {shown:?}");
    }
}

/// The same at a terminal: colours are the program's own, line ends are the terminal's, the
/// program takes back its own row that says what it waits for, and rows are cut at the edge only
/// while a page of a question is drawn.
fn harmless_at_a_terminal(what: &str, done: &Done) {
    let mut plain = String::new();
    let mut cut = false;
    // A row is taken back from its start, and nothing else is erased.
    let shown = done.stdout.replace("\r\u{1b}[K", "\n");
    for (at, part) in shown.split("\u{1b}[").enumerate() {
        let wraps = part.strip_prefix(if cut { "?7h" } else { "?7l" });
        if let Some(rest) = wraps.filter(|_| at > 0) {
            cut = !cut;
            plain.push_str(rest);
            continue;
        }
        let digits = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match digits.strip_prefix('m') {
            _ if at == 0 => plain.push_str(part),
            Some(rest) => plain.push_str(rest),
            None => panic!("{what}: {:?}", done.stdout),
        }
    }
    assert!(!cut, "{what}: rows stay cut: {:?}", done.stdout);
    let stdout = plain.replace("\r\n", "\n");
    let done = Done {
        stdout,
        stderr: String::new(),
        code: done.code,
    };
    harmless(what, &done);
}

fn at_terminal(bench: &Bench, args: &[&str], keys: &[&str]) -> Done {
    let quoted = |arg: &&str| format!("'{}'", arg.replace('\'', r"'\''"));
    let args: Vec<String> = args.iter().map(quoted).collect();
    let program = env!("CARGO_BIN_EXE_toolgate");
    bench.home("ask.sh", &format!("exec {program} {}\n", args.join(" ")));
    let line = format!("bash {}", bench.home_directory().join("ask.sh").display());
    let mut command = bench.command(Path::new("script"));
    command.args([
        "--quiet",
        "--return",
        "--echo",
        "never",
        "--command",
        &line,
        "/dev/null",
    ]);
    answer(command, keys.iter().copied())
}

/// Runs a command with and without `--json`, and at a terminal.
fn all_ways(bench: &Bench, args: &[&str]) {
    let what = format!("{args:?}");
    harmless(&what, &bench.run(args));
    harmless(&what, &bench.run(&[&["--json"][..], args].concat()));
    harmless_at_a_terminal(&what, &at_terminal(bench, args, &[]));
}

/// A text as TOML takes it: most characters as they are, but not the controls.
fn toml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        quoted.push_str(&format!("\\U{:08X}", u32::from(c)));
    }
    quoted + "\""
}

/// A workspace with such a name.
fn hostile_workspace(bench: &Bench) -> PathBuf {
    let directory = bench.workspace().join(NAME);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn plan(call: &Value) -> Value {
    json!({
        "conversation": NAME, "call": call, "tool": NAME, "summary": NAME, "risk": "high",
        "locations": [NAME],
        "facts": {
            "reads": [NAME], "writes": [NAME], "deletes": [NAME],
            "runs": [{"words": [NAME], "opaque": true}], "connects": [NAME],
            "complete": false, "claimed": true, "catastrophic": [NAME],
        },
        "decision": {
            "action": "ask", "reason": NAME, "rule": NAME,
            "source": {"layer": NAME, "file": NAME, "line": 1},
            "atoms": [{"atom": NAME, "layer": NAME, "rule": NAME, "answer": "ask"}],
        },
        "preview": text(), "plan_hash": NAME, "opens": [NAME],
    })
}

fn records() -> Vec<Value> {
    let call = json!({"id": NAME, "name": NAME, "args": {NAME: text()}, "reason": NAME});
    let error = json!({"kind": "failed", "message": text(), "retryable": false});
    let mut result = json!({
        "call_id": NAME, "tool": NAME, "status": "error", "content": text(), "display": text(),
        "error": error, "metadata": {NAME: NAME}, "duration_ms": 1, "truncated": false,
    });
    result["error"]["kind"] = "failed".into();
    let id = toolgate_model::ApprovalId::from_bits(1);
    vec![
        json!({"kind": "turn_started", "turn": 1, "provider": NAME, "model": NAME, "preset": NAME}),
        json!({"kind": "user_message", "text": text()}),
        json!({"kind": "assistant_message", "stop": NAME, "content": [
            {"type": "thinking", "text": text()}, {"type": "text", "text": text()},
            {"type": "call", "call": call},
        ]}),
        json!({"kind": "received", "call": call}),
        json!({"kind": "planned", "plan": plan(&call)}),
        json!({"kind": "asked", "approval_id": id, "plan_hash": NAME}),
        json!({"kind": "answered", "approval_id": id, "approved": true, "scope": NAME,
            "by": NAME, "reason": NAME, "opened": [NAME]}),
        json!({"kind": "started"}),
        json!({"kind": "finished", "result": result}),
        json!({"kind": "received", "call": call}),
        json!({"kind": "planned", "plan": plan(&call)}),
        json!({"kind": "started"}),
    ]
}

/// A conversation of which every text is hostile, and which was cut off.
fn hostile_record(bench: &Bench, workspace: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let path = bench.home_directory().join("journal.db");
        let journal = SqliteJournal::open(path, Options::default()).unwrap();
        let id = NAME.into();
        journal.begin(&id, Some(workspace)).await.unwrap();
        for value in records() {
            let record: Record = serde_json::from_value(value.clone())
                .unwrap_or_else(|error| panic!("{error}: {value}"));
            let of_call = !["turn_started", "user_message", "assistant_message"]
                .iter()
                .any(|kind| value["kind"] == *kind);
            let entry = Entry {
                conversation: id.clone(),
                call: if of_call { NAME.into() } else { "".into() },
                at_ms: 1_700_000_000_000,
                record,
            };
            journal.commit(vec![entry]).await.unwrap();
        }
        journal.release(&id).await.unwrap();
    });
}

#[test]
fn a_record_of_hostile_texts_is_shown_harmlessly_by_every_command() {
    let bench = Bench::new();
    let workspace = hostile_workspace(&bench);
    hostile_record(&bench, &workspace);
    let listed = bench.run(&["journal", "list"]);
    assert!(
        listed.stdout.contains(r"h\u{1b}]0;title\u{7}"),
        "{listed:?}"
    );
    let shown = bench.run(&["journal", "show", NAME]);
    assert!(
        shown.stdout.matches(r"\u{1b}]0;title\u{7}").count() > 15,
        "{shown:?}"
    );
    let shown = bench.run(&["journal", "show", NAME, "--full"]);
    assert!(
        shown.stdout.matches(r"\u{1b}]0;title\u{7}").count() > 30,
        "{shown:?}"
    );
    for args in [
        &["journal", "list"][..],
        &["journal", "show", NAME],
        &["journal", "show", NAME, "--full"],
        &["journal", "show", NAME, "--call", NAME],
        &["journal", "show", "no\u{1b}such\nFORGED"],
        &["journal", "show", NAME, "--kind", NAME],
        &["journal", "export", NAME, "--format", "md"],
        &["journal", "export", NAME, "--format", "html"],
        &["journal", "export", NAME, "--format", "json"],
        &["journal", "export", NAME, "--format", NAME],
        &["journal", "export", NAME, "--format", "md", "-o", NAME],
        &["journal", "verify"],
        &["journal", "verify", "--against", NAME],
        &["resume", "none\u{1b}\nFORGED"],
        &["undo", NAME],
        &["undo", NAME, "--call", NAME],
        &["run", "--conversation", NAME, "x"],
        &["run", "--conversation", NAME, "--script", NAME, "x"],
        &["run", "--conversation", NAME, "--workspace", "/", "x"],
        &["run", "--conversation", NAME, "--results", NAME],
        &["resume", NAME],
    ] {
        all_ways(&bench, args);
    }
    for args in [
        &["resume", NAME, "--discard"][..],
        &["resume", NAME, "--keep"],
        &["undo", NAME, "--yes"],
        &["journal", "prune", "--to-bytes", "0"],
        &["journal", "show", NAME],
        &["journal", "export", NAME, "--format", "md"],
    ] {
        all_ways(&bench, args);
    }
}

#[test]
fn hostile_arguments_and_names_of_files_are_harmless_in_messages() {
    let bench = Bench::new();
    let workspace = hostile_workspace(&bench);
    let workspace = workspace.to_str().unwrap();
    std::fs::write(
        Path::new(workspace).join("toolgate.toml"),
        "[tools]\nmode = \"enabled\"\n",
    )
    .unwrap();
    let args = json!({ "command": text(), NAME: NAME }).to_string();
    for args in [
        &[NAME][..],
        &["--workspace", NAME],
        &["journal", NAME],
        &["--approve", NAME, "doctor"],
        &["--trust", NAME, "doctor"],
        &["--profile", NAME, "doctor"],
        &["--config", NAME, "doctor"],
        &["--log", "/none/\u{1b}]0;\nFORGED", "doctor"],
        &["--metrics", "/none/\u{1b}]0;\nFORGED", "doctor"],
        &["--journal", "/none/\u{1b}]0;\nFORGED", "journal", "list"],
        &["--workspace", "/none/\u{1b}\nFORGED", "doctor"],
        &["--workspace", workspace, "doctor"],
        &["--workspace", workspace, "config", "show"],
        &["--workspace", workspace, "trust"],
        &["--workspace", workspace, "trust", "list"],
        &["--workspace", workspace, "trust", "revoke"],
        &["trust", "revoke", NAME],
        &["policy", "grants", "revoke", NAME],
        &["policy", "explain", NAME, "{}"],
        &["policy", "explain", "run_command", &args],
        &["policy", "explain", "write_file", NAME],
        &["exec", NAME, "{}"],
        &["exec", "run_command", &args],
        &["exec", "read_file", &json!({ "path": NAME }).to_string()],
        &["exec", "list_directory", "{}", "--conversation", NAME],
        &["tools", "--format", NAME],
        &["parse", NAME, "--format", "fenced"],
        &["batch", NAME],
        &["models", "--provider", NAME],
        &["models", "--base-url", NAME],
        &["run", "--preset", NAME, "x"],
        &["run", "--history", NAME, "x"],
        &["run", "--file", NAME],
        &[
            "run",
            "--record",
            "/none/\u{1b}\nFORGED",
            "--script",
            NAME,
            "x",
        ],
        &["man", "/proc/none\u{1b}\nFORGED"],
        &["completions", NAME],
    ] {
        all_ways(&bench, args);
    }
}

#[test]
fn a_hostile_configuration_is_harmless_in_everything_that_shows_it() {
    let quoted = serde_json::to_string(NAME).unwrap();
    let name = toml(NAME);
    for config in [
        format!("[providers.{name}]\nkind = \"anthropic\"\nmodel = {name}\napi_key_env = {name}\n"),
        format!("[providers.{name}]\nkind = \"replay\"\nmodel = {name}\nscript = {name}\n"),
        format!("[presets.{name}]\ndescription = {name}\n"),
        format!("[[tools.rules]]\ntool = {name}\naction = \"deny\"\nreason = {name}\n"),
        format!(
            "[[tools.rules]]\ntool = \"run_command\"\naction = \"ask\"\nreason = {name}\ncommand = [{name}]\n"
        ),
        format!("[tools.approval]\nallowlist = [{name}]\n"),
        format!("[tools]\nprofile = {name}\n"),
        format!("{name} = {name}\n"),
        format!("[tools]\n{name} = {name}\n"),
        format!("[tools.sandbox]\ngrants = [{name}]\n"),
        format!("[journal]\npath = {name}\n"),
        format!("broken = \u{202e}\u{9b}{quoted}\n"),
        "a = \u{1b}]0;x\u{7}\nFORGED = 1\n".to_owned(),
    ] {
        let bench = Bench::new();
        bench.home("config.toml", &config);
        for args in [
            &["config", "show"][..],
            &["config", "presets"],
            &["policy", "check"],
            &["policy", "explain", "run_command", "{\"command\":\"ls\"}"],
            &["models"],
            &["run", "x"],
            &["doctor"],
            &["exec", "run_command", "{\"command\":\"ls\"}"],
        ] {
            harmless(&format!("{args:?} {config}"), &bench.run(args));
        }
        // The same as a project's file.
        let bench = Bench::new();
        bench.write("toolgate.toml", &config);
        for args in [
            &["config", "show"][..],
            &["trust"],
            &["doctor"],
            &["policy", "check"],
        ] {
            all_ways(&bench, args);
        }
    }
}

#[test]
fn a_model_that_sends_hostile_texts_is_shown_harmlessly() {
    let (id, text) = (toml(NAME), toml(&text()));
    let script = format!(
        "model = {id}\n[[steps]]\nthinking = {text}\ntext = {text}\n\
         [[steps.calls]]\nid = {id}\nname = {id}\nargs = {{ a = {text} }}\n\
         [[steps.calls]]\nid = \"b\"\nname = \"run_command\"\nargs = {{ command = {text}, cwd = {id} }}\n\
         [[steps.calls]]\nid = \"d\"\nname = \"write_file\"\nargs = {{ path = {id}, content = {text} }}\n\
         [[steps]]\nerror = {{ kind = \"invalid_request\", code = {id}, message = {text} }}\n"
    );
    let bench = Bench::new();
    bench.home("talk.toml", &script);
    let file = bench.home_directory().join("talk.toml");
    let file = file.to_str().unwrap();
    for approve in ["none", "all"] {
        for more in [&[][..], &["--json"], &["--quiet"]] {
            let args = [more, &["--approve", approve, "run", "--script", file, "go"]].concat();
            harmless(&format!("{args:?}"), &bench.run(&args));
        }
    }
    let keys: Vec<&str> = std::iter::repeat_n("\n", 10).collect();
    let done = at_terminal(&bench, &["run", "--script", file, "go"], &keys);
    assert!(done.stdout.contains("Toolgate asks"), "{done:?}");
    harmless_at_a_terminal("a question", &done);
}

#[test]
fn the_error_of_a_server_is_harmless() {
    let body = json!({"error": {"message": text(), "type": NAME}}).to_string();
    let server = Loopback::start(move |_| {
        Told::new(500, NAME.split('\u{1b}').next().unwrap(), body.clone())
    });
    let bench = Bench::new();
    let url = server.url();
    bench.home(
        "config.toml",
        &format!(
            "[providers.local]\nkind = \"openai-chat\"\nmodel = \"m\"\nretry_seconds = 0\nbase_url = \"{url}/v1\"\n"
        ),
    );
    for args in [&["models"][..], &["run", "x"], &["-q", "run", "x"]] {
        all_ways(&bench, args);
    }
}

#[test]
fn a_log_and_a_pipe_get_no_raw_control_either() {
    let bench = Bench::new();
    let input = format!(
        "{}\n",
        json!({"id": NAME, "name": "read_file", "args": {"path": NAME}})
    );
    let mut command = bench.toolgate();
    command.args(["--log", "log.jsonl", "batch", "--conversation", NAME]);
    harmless("batch", &finish(command, input.as_bytes()));
    let log = bench.read("log.jsonl");
    assert!(!log.is_empty() && !log.contains(acts), "{log:?}");
}
