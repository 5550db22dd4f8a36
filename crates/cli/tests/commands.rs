//! The commands as a person and a script use them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::Bench;
use serde_json::{Value, json};

#[test]
fn exec_prints_one_result_line_and_exits_by_its_kind() {
    let bench = Bench::new();
    bench.write("a.txt", "hello\n");
    for (args, code, pointer, wanted) in [
        (
            &["exec", "read_file", r#"{"path":"a.txt"}"#][..],
            0,
            "/content",
            "hello\n",
        ),
        (
            &["exec", "file_read", r#"{"path":"a.txt"}"#],
            0,
            "/tool",
            "read_file",
        ),
        (
            &["exec", "read_file", r#"{"path":"b.txt"}"#],
            1,
            "/error/kind",
            "not_found",
        ),
        (
            &["exec", "nonsense", "{}"],
            1,
            "/error/kind",
            "unknown_tool",
        ),
        (&["exec", "read_file", "{"], 1, "/error/kind", "bad_call"),
        (
            &["exec", "read_file", r#"{"path":".env"}"#],
            3,
            "/error/kind",
            "denied_pattern",
        ),
        (
            &["exec", "write_file", r#"{"path":"n","content":"x"}"#],
            4,
            "/error/kind",
            "no_approver",
        ),
        (
            &[
                "--approve",
                "none",
                "exec",
                "write_file",
                r#"{"path":"n","content":"x"}"#,
            ],
            4,
            "/error/kind",
            "no_approver",
        ),
        (
            &[
                "--approve",
                "all",
                "exec",
                "write_file",
                r#"{"path":"n","content":"x"}"#,
            ],
            0,
            "/status",
            "ok",
        ),
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(code), "{args:?}: {done:?}");
        let line: Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(
            line.pointer(pointer).and_then(Value::as_str),
            Some(wanted),
            "{args:?}"
        );
        assert_eq!(done.stdout.lines().count(), 1);
    }
    assert_eq!(bench.read("n"), "x");
}

#[test]
fn batch_answers_every_line_in_order_and_exits_with_the_gravest_code() {
    let bench = Bench::new();
    bench.write("a.txt", "hello\n");
    let input = [
        r#"{"id":"one","name":"read_file","args":{"path":"a.txt"}}"#,
        "",
        "no call",
        r#"{"id":"one","name":"read_file","args":{"path":"a.txt"}}"#,
        r#"{"name":"read_file","args":{"path":"../x"},"reason":"why not"}"#,
    ]
    .join("\n");
    let done = bench.feed(&["batch"], input.as_bytes());
    let ids: Vec<(String, String)> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| {
            (
                line["call_id"].as_str().unwrap().into(),
                line.pointer("/error/kind")
                    .map_or("ok", |kind| kind.as_str().unwrap())
                    .into(),
            )
        })
        .collect();
    let wanted = [
        ("one", "ok"),
        ("line_3", "bad_call"),
        ("one", "duplicate_call_id"),
        ("line_5", "outside_sandbox"),
    ];
    assert_eq!(
        ids,
        wanted.map(|(id, kind)| (id.to_owned(), kind.to_owned()))
    );
    assert_eq!(done.code, Some(3));
    let many = format!("{}\n", r#"{"name":"list_directory","args":{}}"#).repeat(9);
    let done = bench.feed(&["batch"], many.as_bytes());
    assert_eq!(
        (done.stdout.lines().count(), done.code),
        (9, Some(4)),
        "the ninth is too many, the third asks"
    );
    bench.write("calls.jsonl", &many);
    let done = bench.run(&["--approve", "all", "batch", "--unlimited", "calls.jsonl"]);
    assert_eq!(done.stdout.matches("limit_exceeded").count(), 0, "{done:?}");
}

#[test]
fn a_batch_remembers_what_was_read_and_exec_does_not_ask() {
    let bench = Bench::new();
    bench.write("a.txt", "old\n");
    let write =
        r#"{"name":"write_file","args":{"path":"a.txt","content":"new\n","overwrite":true}}"#;
    let done = bench.feed(&["--approve", "all", "batch"], write.as_bytes());
    assert!(done.stdout.contains("stale_file"), "{done:?}");
    let read = r#"{"name":"read_file","args":{"path":"a.txt"}}"#;
    let done = bench.feed(
        &["--approve", "all", "batch"],
        format!("{read}\n{write}\n").as_bytes(),
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(bench.read("a.txt"), "new\n");
    let done = bench.run(&[
        "--approve",
        "all",
        "exec",
        "write_file",
        r#"{"path":"a.txt","content":"x","overwrite":true}"#,
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn explain_says_what_why_and_where_without_doing_anything() {
    let bench = Bench::new();
    bench.write("a.txt", "hello\n");
    bench.home("config.toml", "[[tools.rules]]\ntool = \"write_file\"\naction = \"deny\"\nwrites = [\"migrations/**\"]\nmessage = \"by hand\"\n");
    for (tool, args, code, decision, kind) in [
        ("read_file", r#"{"path":"a.txt"}"#, 0, "allow", None),
        (
            "write_file",
            r#"{"path":"a.txt","content":"x"}"#,
            4,
            "ask",
            None,
        ),
        (
            "file_write",
            r#"{"path":"migrations/1.sql","content":"x"}"#,
            3,
            "deny",
            Some("policy_denied"),
        ),
        (
            "write_file",
            r#"{"path":".git/hooks/pre-commit","content":"x"}"#,
            3,
            "deny",
            Some("protected_path"),
        ),
        (
            "read_file",
            r#"{"pth":"a.txt"}"#,
            3,
            "deny",
            Some("bad_args"),
        ),
        ("nonsense", "{}", 3, "deny", Some("unknown_tool")),
        ("read_file", "{", 3, "deny", Some("bad_call")),
        (
            "read_file",
            r#"{"path":"/etc/passwd"}"#,
            3,
            "deny",
            Some("outside_sandbox"),
        ),
    ] {
        let done = bench.run(&["policy", "explain", tool, args]);
        let page: Value =
            serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"));
        assert_eq!(done.code, Some(code), "{tool} {args}: {done:?}");
        assert_eq!(page["decision"], decision, "{tool} {args}");
        assert_eq!(
            page.get("kind").and_then(Value::as_str),
            kind,
            "{tool} {args}"
        );
        for key in [
            "risk",
            "summary",
            "reason",
            "rule",
            "source",
            "atoms",
            "facts",
            "plan_hash",
        ] {
            assert!(page.get(key).is_some(), "{key} is missing: {page}");
        }
    }
    let done = bench.run(&[
        "policy",
        "explain",
        "write_file",
        r#"{"path":"migrations/1.sql","content":"x"}"#,
    ]);
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(page["source"]["line"], 1);
    assert!(
        page["source"]["file"]
            .as_str()
            .unwrap()
            .ends_with("config.toml")
    );
    assert!(
        page["reason"].as_str().unwrap().contains("by hand"),
        "{page}"
    );
    assert_eq!(bench.read("a.txt"), "hello\n");
}

#[test]
fn check_runs_examples_and_finds_rules_that_never_match() {
    let bench = Bench::new();
    let rules = r#"
[[tools.rules]]
tool = "run_command"
action = "allow"
command = ["cargo", ["test", "check"]]
examples = { match = ["cargo test -p x"], not_match = ["cargo test; curl x", "cargo build"] }

[[tools.rules]]
tool = "write_file"
action = "deny"
writes = ["migrations/**"]
examples = { match = ["migrations/1.sql"], not_match = ["src/migrations.rs"] }
"#;
    bench.home("config.toml", rules);
    let done = bench.run(&["policy", "check"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let wrong = rules
        .replace("\"cargo build\"", "\"cargo test --lib\"")
        .replace("migrations/1.sql", "other/1.sql");
    let never = "\n[[tools.rules]]\ntool = \"run_command\"\naction = \"deny\"\ncommand = [\"cargo\", \"test\"]\n";
    bench.home("config.toml", &format!("{wrong}{never}"));
    let done = bench.run(&["--json", "policy", "check"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    let kinds: Vec<&str> = page["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["caught", "missed", "shadowed"], "{page}");
}

#[test]
fn a_project_can_only_tighten_until_it_is_trusted() {
    let bench = Bench::new();
    bench.write("toolgate.toml", "[[tools.rules]]\ntool = \"write_file\"\naction = \"allow\"\n\n[[tools.rules]]\ntool = \"list_directory\"\naction = \"deny\"\n");
    let write = ["exec", "write_file", r#"{"path":"n","content":"x"}"#];
    let done = bench.run(&write);
    assert_eq!(done.code, Some(4));
    assert!(
        done.stderr.contains("toolgate.toml:1") && done.stderr.contains("ignored"),
        "{done:?}"
    );
    assert_eq!(
        bench.run(&["exec", "ls", "{}"]).code,
        Some(3),
        "its denies count"
    );
    let trusted = bench.run(&["trust", "--yes"]);
    assert_eq!(trusted.code, Some(0));
    assert!(trusted.stderr.contains("line 1: "), "{trusted:?}");
    assert!(
        bench
            .run(&["trust", "list"])
            .stdout
            .contains("toolgate.toml")
    );
    let done = bench.run(&write);
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = bench.read("toolgate.toml");
    bench.write("toolgate.toml", &format!("{text}# changed\n"));
    assert_eq!(
        bench
            .run(&["exec", "write_file", r#"{"path":"m","content":"x"}"#])
            .code,
        Some(4),
        "trust is bound to the content"
    );
    let listed = bench.run(&["trust", "list"]);
    assert!(listed.stdout.contains("changed since"), "{listed:?}");
    bench.write("toolgate.toml", "not TOML");
    let refused = bench.run(&["trust", "--yes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    bench.write("toolgate.toml", &text);
    assert_eq!(
        bench
            .run(&["exec", "write_file", r#"{"path":"m","content":"x"}"#])
            .code,
        Some(0)
    );
    assert_eq!(bench.run(&["trust", "revoke"]).code, Some(0));
    assert_eq!(
        bench
            .run(&["exec", "write_file", r#"{"path":"o","content":"x"}"#])
            .code,
        Some(4)
    );
    assert_eq!(
        bench.run(&["trust", "revoke"]).code,
        Some(2),
        "there is nothing left to take back"
    );
}

#[test]
fn parse_gives_text_calls_and_damage_in_order() {
    let bench = Bench::new();
    let text = "Hello\n```tool\n{\"name\":\"ls\",\"args\":{}}\n```\nthen\n```tool\nnonsense\n```\n";
    let done = bench.feed(&["parse", "--format", "fenced"], text.as_bytes());
    let types: Vec<String> = done
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(types, ["text", "call", "text", "bad_call", "end"]);
    let last: Value = serde_json::from_str(done.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["stop"], "tool_use");
    assert_eq!(done.code, Some(1));
}

#[test]
fn tools_come_in_the_form_of_every_wire() {
    let bench = Bench::new();
    for (format, pointer) in [
        ("toolgate", "/input_schema/type"),
        ("anthropic", "/input_schema/type"),
        ("openai-chat", "/function/parameters/type"),
        ("openai-responses", "/parameters/type"),
        ("ollama", "/function/parameters/type"),
        ("mcp", "/inputSchema/type"),
    ] {
        let done = bench.run(&["tools", "--format", format]);
        let all: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
        assert!(all.len() >= 6, "{format}");
        assert!(
            all.iter()
                .all(|tool| tool.pointer(pointer).and_then(Value::as_str) == Some("object")),
            "{format}"
        );
        assert!(
            !done.stdout.contains("\"sanitize\""),
            "diagnostics are not offered"
        );
    }
    assert_eq!(bench.run(&["tools", "--format", "nonsense"]).code, Some(2));
}

#[test]
fn a_profile_offers_the_names_that_a_model_knows_and_a_wrong_one_is_said_everywhere() {
    for (profile, offers, instead) in [
        (
            "agent",
            &[
                "Bash",
                "BashOutput",
                "Edit",
                "Glob",
                "Grep",
                "KillShell",
                "LS",
                "Read",
                "TodoWrite",
                "WebFetch",
                "Write",
            ][..],
            &[
                "run_command",
                "command_output",
                "edit_file",
                "glob",
                "grep",
                "stop_command",
                "list_directory",
                "read_file",
                "write_todos",
                "web_fetch",
                "write_file",
            ][..],
        ),
        (
            "bash",
            &["bash", "file_read", "file_write", "search"][..],
            &["run_command", "read_file", "write_file", "grep"][..],
        ),
        (
            "classic",
            &["file_read", "file_write", "ls", "search"],
            &["read_file", "write_file", "list_directory", "grep"],
        ),
        (
            "shell",
            &["shell", "ls"],
            &["run_command", "list_directory"],
        ),
    ] {
        let bench = Bench::new();
        bench.home(
            "config.toml",
            &format!("[tools]\nprofile = \"{profile}\"\n"),
        );
        for done in [
            bench.run(&["tools"]),
            Bench::new().run(&["tools", "--profile", profile]),
        ] {
            let all: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
            let names: Vec<&str> = all
                .iter()
                .filter_map(|tool| tool["name"].as_str())
                .collect();
            assert!(
                offers.iter().all(|name| names.contains(name)),
                "{profile}: {names:?}"
            );
            assert!(
                !instead.iter().any(|name| names.contains(name)),
                "{profile}: {names:?}"
            );
        }
    }
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nprofile = \"shel\"\n");
    for args in [
        &["tools"][..],
        &["exec", "list_directory", "{}"],
        &["batch"],
        &["config", "show"],
        &["policy", "check"],
        &["policy", "explain", "glob", "{}"],
        &["models"],
        &["doctor"],
        &["journal", "list"],
        &["run", "hello"],
    ] {
        let done = bench.run(args);
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        for part in ["config.toml:2:11", "^^^^^^", "did you mean `shell`?"] {
            assert!(done.stderr.contains(part), "{args:?}: {}", done.stderr);
        }
    }
    for args in [
        &["tools"][..],
        &["exec", "list_directory", "{}"],
        &["doctor"],
    ] {
        let done = Bench::new().run(&[args, &["--profile", "clasic"]].concat());
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        let told = "did you mean \"classic\"?; known are agent, bash, classic, shell";
        assert!(done.stderr.contains(told), "{args:?}: {}", done.stderr);
    }
}

#[test]
fn the_demo_shows_every_stage_and_touches_nothing() {
    let bench = Bench::new();
    let done = bench.run(&["demo"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for part in [
        "assemble",
        "plan",
        "approve",
        "execute",
        "settle",
        "denied_pattern",
        "bad_call",
        "timeout",
        "the person is asked about call_3 (medium risk)",
        "+sum=0",
        "exit_status",
        "ok: the total is 60",
        "It starts at 0 now, and the test passes.",
        "exactly seven results",
        "its chain verifies",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    assert!(
        !done.stdout.contains('\x1b'),
        "no colours where nobody sees them"
    );
    let done = bench.run(&["--json", "demo"]);
    let types: Vec<String> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].to_string())
        .collect();
    assert_eq!(
        types
            .iter()
            .filter(|kind| *kind == "\"call_finished\"")
            .count(),
        7
    );
    assert_eq!(bench.listing(), Vec::<String>::new());
}

#[test]
fn completions_manual_and_help_are_there() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            bench
                .run(&["completions", shell])
                .stdout
                .contains("toolgate"),
            "{shell}"
        );
    }
    assert!(bench.run(&["man"]).stdout.contains(".TH toolgate"));
    assert_eq!(bench.run(&["man", "pages"]).code, Some(0));
    assert!(bench.listing().contains(&"pages".to_owned()));
    let help = bench.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for command in [
        "exec",
        "batch",
        "parse",
        "tools",
        "policy",
        "trust",
        "config",
        "demo",
        "completions",
        "man",
    ] {
        assert!(help.stdout.contains(command), "{command}");
    }
    assert!(bench.run(&["--version"]).stdout.starts_with("toolgate 0."));
}

#[test]
fn config_shows_values_with_their_origin_and_a_schema() {
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmax_concurrent = 3\n");
    let done = bench.run(&["config", "show"]);
    let line = done
        .stdout
        .lines()
        .find(|line| line.contains("max_concurrent"))
        .unwrap();
    assert!(
        line.contains('3') && line.contains("config.toml:2"),
        "{line}"
    );
    let rows: Vec<Value> =
        serde_json::from_str(&bench.run(&["--json", "config", "show"]).stdout).unwrap();
    assert!(
        rows.iter()
            .any(|row| row["key"] == "tools.max_concurrent" && row["value"] == 3)
    );
    let schema: Value = serde_json::from_str(&bench.run(&["config", "schema"]).stdout).unwrap();
    assert!(schema.pointer("/properties/tools").is_some());
}

#[test]
fn presets_are_listed_with_what_they_are_for() {
    let bench = Bench::new();
    bench.home(
        "config.toml",
        "[presets.zen]\nmodel = \"m\"\n[presets.review]\ndescription = \"Reads and comments\\u001b[2J\"\n",
    );
    let shown = bench.run(&["config", "presets"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let starts = [
        "coder  Works in your project",
        "review  Reads and comments",
        "zen  ",
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
    let listed = bench.run(&["config", "presets", "--json"]).stdout;
    let second: Value = serde_json::from_str(listed.lines().nth(2).unwrap()).unwrap();
    assert_eq!(
        second,
        serde_json::json!({ "name": "zen", "description": null })
    );
    let unknown = bench.run(&["run", "--preset", "revue", "x"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    for part in ["coder, review, zen", "toolgate config presets"] {
        assert!(unknown.stderr.contains(part), "{}", unknown.stderr);
    }
    // One's own takes the place of the built-in.
    bench.home("config.toml", "[presets.coder]\ndescription = \"Mine\"\n");
    assert_eq!(bench.run(&["config", "presets"]).stdout, "coder  Mine\n");
}

/// Each call goes well by default and is refused where the limit is lower.
#[test]
fn limits_of_the_configuration_reach_their_tools() {
    let ten = "123456789\n";
    for (section, tool, args, kind) in [
        (
            "[tools.read_file]\nmax_file_read_bytes = 9\n",
            "read_file",
            json!({"path": "ten.txt"}),
            "too_large",
        ),
        (
            "[tools.read_file]\nmax_scan_bytes = 10000\n",
            "read_file",
            json!({"path": "long.txt", "start_line": 2999}),
            "too_large",
        ),
        (
            "[tools.write_file]\nmax_file_bytes = 9\n",
            "write_file",
            json!({"path": "new.txt", "content": ten}),
            "too_large",
        ),
        (
            "[tools.apply_patch]\nmax_patch_bytes = 20\n",
            "apply_patch",
            json!({"patch": "LP1\nF new.txt\nT\n123456789\n.\nEND\n"}),
            "limit_exceeded",
        ),
        (
            "[tools.list_directory]\nmax_entries = 1\n",
            "list_directory",
            json!({"max_entries": 2}),
            "bad_args",
        ),
        (
            "[tools.list_directory]\nmax_depth = 1\n",
            "list_directory",
            json!({"max_depth": 2}),
            "bad_args",
        ),
        (
            "[tools.timeouts]\nshell_commands_seconds = 1\n",
            "run_command",
            json!({"command": "sleep 2"}),
            "timeout",
        ),
        (
            "[tools]\nmax_tool_args_bytes = 9\n",
            "read_file",
            json!({"path": "ten.txt"}),
            "limit_exceeded",
        ),
    ] {
        for (config, wanted) in [("", None), (section, Some(kind))] {
            let bench = Bench::new();
            bench.home("config.toml", config);
            bench.write("ten.txt", ten);
            bench.write("long.txt", &ten.repeat(3_000));
            let done = bench.run(&["--approve", "all", "exec", tool, &args.to_string()]);
            let result: Value = serde_json::from_str(&done.stdout).unwrap();
            let kind = result.pointer("/error/kind").and_then(Value::as_str);
            assert_eq!(kind, wanted, "{tool} under {config:?}: {result}");
        }
    }
}

#[test]
fn cfg_tools_02a_described_tools_take_the_place_of_the_others_only_where_a_person_answers() {
    let described = "[[tools.definitions]]\nname = \"weather\"\ndescription = \"The weather.\"\nparameters = { type = \"object\" }\n";
    let offered = |mode: &str| -> Vec<String> {
        let bench = Bench::new();
        let config = format!("[tools]\nmode = \"{mode}\"\n{described}");
        bench.home("config.toml", &config);
        let done = bench.run(&["tools", "--format", "toolgate"]);
        let all: Vec<Value> = serde_json::from_str(&done.stdout).unwrap();
        let names = all.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    assert_eq!(offered("parse_only"), ["weather"]);
    let enabled = offered("enabled");
    assert!(enabled.contains(&"read_file".to_owned()), "{enabled:?}");
    assert!(!enabled.contains(&"weather".to_owned()), "{enabled:?}");
}
