//! A question shows all of a call, and a long one is read to its end before it takes a yes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::Path;

use program::{Bench, Done, answer};
use serde_json::{Value, json};

/// Runs the program at a terminal of this size; without one the terminal does not say its size.
fn at_terminal(bench: &Bench, size: Option<(u16, u16)>, args: &[&str], keys: &[&str]) -> Done {
    let quoted = |arg: &&str| format!("'{}'", arg.replace('\'', r"'\''"));
    let args: Vec<String> = args.iter().map(quoted).collect();
    let stty = size.map_or(String::new(), |(rows, columns)| {
        format!("stty rows {rows} cols {columns}\n")
    });
    let program = env!("CARGO_BIN_EXE_toolgate");
    bench.home(
        "ask.sh",
        &format!("{stty}exec {program} {}\n", args.join(" ")),
    );
    let line = format!("bash {}", bench.home_directory().join("ask.sh").display());
    let mut command = bench.command(Path::new("script"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    answer(command, keys.iter().copied())
}

fn asked(bench: &Bench, size: Option<(u16, u16)>, tool: &str, args: &Value, keys: &[&str]) -> Done {
    at_terminal(bench, size, &["exec", tool, &args.to_string()], keys)
}

/// What was shown, with rows of one line put together again and colours and pages taken out.
fn joined(done: &Done) -> String {
    let plain = strip_ansi(&done.stdout).replace('\r', "");
    let mut text = String::new();
    for line in plain.lines() {
        match line.strip_prefix("     \u{21b3} ") {
            Some(rest) => text.push_str(rest),
            None if line.is_empty() || line.starts_with("Page ") => {}
            None => {
                text.push('\n');
                text.push_str(line);
            }
        }
    }
    text
}

fn strip_ansi(text: &str) -> String {
    let text = text.replace("\u{1b}[?7l", "").replace("\u{1b}[?7h", "");
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        // A sign of life is taken back by `K`.
        let (_, rest) = part.split_once(['m', 'K']).unwrap();
        text + rest
    })
}

fn pages(done: &Done) -> usize {
    done.stdout.matches("[Enter] next page").count()
}

/// A command whose middle does something, between words that do nothing.
fn long_command(middle: &str) -> String {
    let pad = |word: &str| format!(": {};", format!("{word} ").repeat(300));
    format!("{} {middle}; {}", pad("before"), pad("after"))
}

#[test]
fn the_middle_of_a_long_command_is_shown_and_a_yes_before_it_does_not_count() {
    let bench = Bench::new();
    let args = json!({"command": long_command("touch made")});
    let done = asked(
        &bench,
        Some((24, 80)),
        "run_command",
        &args,
        &["y\n", "y\n"],
    );
    assert!(done.stdout.contains("Not yet"), "{done:?}");
    assert!(bench.listing().is_empty(), "{done:?}");
    let keys = ["y\n", "\n", " \n", "\u{1b}[B\n", "\n", "y\n", "y\n", "y\n"];
    let done = asked(&bench, Some((24, 80)), "run_command", &args, &keys);
    assert!(joined(&done).contains("; touch made;"), "{done:?}");
    assert_eq!(bench.listing(), ["made"], "{done:?}");
}

#[test]
fn a_yes_that_is_typed_with_the_key_for_the_next_page_does_not_count() {
    let bench = Bench::new();
    let args = json!({"command": long_command("touch made")});
    let enter: Vec<&str> = std::iter::repeat_n("\n", 20).collect();
    let count = pages(&asked(&bench, None, "run_command", &args, &enter));
    let both: Vec<&str> = std::iter::repeat_n("\ny\n", count).collect();
    let done = asked(&bench, None, "run_command", &args, &both);
    assert_eq!(pages(&done), count, "{done:?}");
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(bench.listing().is_empty(), "{done:?}");
}

#[test]
fn a_no_needs_no_reading_and_words_with_it_reach_the_model() {
    for (keys, words) in [
        ("n\n", ""),
        ("q\n", ""),
        ("no use the other\n", "use the other"),
    ] {
        let bench = Bench::new();
        let args = json!({"command": long_command("touch made")});
        let done = asked(&bench, None, "run_command", &args, &[keys]);
        assert_eq!(done.code, Some(3), "{done:?}");
        assert_eq!(pages(&done), 1, "{done:?}");
        assert!(done.stdout.contains("user_denied"), "{done:?}");
        assert!(done.stdout.contains(words), "{done:?}");
        assert!(bench.listing().is_empty());
    }
}

#[test]
fn a_short_question_has_one_page_and_a_long_line_as_many_as_its_rows() {
    let rows = |count: usize| "touch ".to_owned() + &"x".repeat(count);
    for (size, command, expected) in [
        (Some((24, 80)), "make".to_owned(), 0..=0),
        (Some((24, 80)), rows(700), 0..=1),
        (Some((24, 80)), rows(10_000), 6..=9),
        (None, rows(10_000), 6..=9),
        (Some((50, 200)), rows(10_000), 1..=2),
        (Some((6, 20)), "make".to_owned(), 1..=30),
    ] {
        let bench = Bench::new();
        let keys: Vec<&str> = std::iter::repeat_n("\n", 40).collect();
        let args = json!({ "command": command });
        let done = asked(&bench, size, "run_command", &args, &keys);
        assert!(
            expected.contains(&pages(&done)),
            "{size:?}: {}",
            pages(&done)
        );
        assert!(joined(&done).contains(&command), "{done:?}");
    }
}

#[test]
fn every_tool_shows_its_arguments_whole() {
    let pad = "padding/".repeat(60);
    let text = "padding ".repeat(60);
    for (tool, args, parts) in [
        (
            "web_fetch",
            json!({"url": format!("https://example.com/a?{}&to=evil.example&{0}#end", "q=1&".repeat(100))}),
            vec!["&to=evil.example&", "#end"],
        ),
        (
            "web_search",
            json!({"query": format!("{text}find this{text}")}),
            vec!["find this"],
        ),
        (
            "write_file",
            json!({"path": format!("a/{pad}middle/{pad}b.txt"), "content": "one\ntwo\n"}),
            vec!["middle/", "two"],
        ),
        (
            "edit_file",
            json!({"path": "missing.txt", "edits": [{"target": "x", "replacement": format!("{text}hidden{text}")}]}),
            vec!["hidden"],
        ),
        (
            "apply_patch",
            json!({"patch": format!("*** Begin Patch\n*** Update File: none.txt\n@@\n-old\n+{text}hidden{text}\n*** End Patch\n")}),
            vec!["hidden"],
        ),
        (
            "run_command",
            json!({"command": "ls\n\u{202e}\u{3164}sl", "cwd": "sub", "timeout_seconds": 5, "background": true}),
            vec![
                "| ls",
                r"| \u{202e}\u{3164}sl",
                "cwd: sub",
                "timeout_seconds: 5",
                "background: true",
            ],
        ),
        (
            "memory",
            json!({"action": "set", "key": "k", "value": format!("{text}hidden{text}")}),
            vec!["hidden"],
        ),
    ] {
        let bench = Bench::new();
        std::fs::create_dir(bench.workspace().join("sub")).unwrap();
        let keys: Vec<&str> = std::iter::repeat_n("\n", 20).collect();
        bench.home(
            "config.toml",
            "search.searxng.url = \"http://127.0.0.1:9\"\n[[tools.rules]]\ntool = \"*\"\naction = \"ask\"\n",
        );
        let done = asked(&bench, None, tool, &args, &keys);
        let shown = joined(&done);
        assert!(shown.contains("Toolgate asks"), "{tool}: {done:?}");
        for part in parts {
            assert!(shown.contains(part), "{tool}: {part:?} in {shown}");
        }
    }
}

#[test]
fn padding_is_counted_and_the_end_stays_in_sight() {
    for (pad, count) in [
        ("\n", r"[\n x500]"),
        (" ", r"[\u{20} x500]"),
        ("\t", r"[\t x500]"),
        ("\u{200b}", r"[\u{200b} x500]"),
    ] {
        let bench = Bench::new();
        let args = json!({"command": format!("ls{};rm x", pad.repeat(500))});
        let done = asked(&bench, None, "run_command", &args, &["n\n"]);
        let shown = joined(&done);
        assert_eq!(pages(&done), 0, "{pad:?}: {done:?}");
        assert!(shown.contains(count), "{pad:?}: {shown}");
        assert!(shown.contains(";rm x"), "{pad:?}: {shown}");
    }
}

#[test]
fn a_difference_that_was_cut_says_so_and_a_key_shows_the_rest() {
    let bench = Bench::new();
    let mut content = String::new();
    for line in 0..1_000 {
        content.push_str(&format!("line {line}\n"));
    }
    let args = json!({"path": "a.txt", "content": content});
    let enter: Vec<&str> = std::iter::repeat_n("\n", 24).collect();
    let read: Vec<&str> = std::iter::repeat_n("\n", 60).collect();
    let mut keys = enter.clone();
    keys.push("w\n");
    keys.extend(&read);
    let done = asked(&bench, None, "write_file", &args, &keys);
    let shown = joined(&done);
    assert!(shown.contains("lines ("), "the difference is cut: {shown}");
    assert!(shown.contains("[w] shows the whole call"), "{shown}");
    let (_, whole) = shown.split_once("[w] show the whole call").unwrap();
    assert!(whole.contains("| line 500"), "{whole}");
    assert!(bench.listing().is_empty());
}

const THREE: &str = r#"
[[steps]]
[[steps.calls]]
name = "run_command"
args = { command = "FIRST" }
[[steps.calls]]
name = "run_command"
args = { command = "SECOND" }
[[steps.calls]]
name = "write_file"
args = { path = "made", content = "x" }
[[steps]]
text = "Done."
"#;

#[test]
fn each_call_of_a_batch_is_whole() {
    let bench = Bench::new();
    let script = THREE
        .replace("FIRST", &long_command("touch one"))
        .replace("SECOND", &long_command("touch two"));
    bench.home("three.toml", &script);
    let script = bench.home_directory().join("three.toml");
    let script = script.to_str().unwrap();
    let keys: Vec<&str> = std::iter::repeat_n("\n", 20).collect();
    let done = at_terminal(&bench, None, &["run", "--script", script, "go"], &keys);
    let shown = joined(&done);
    for part in ["; touch one;", "; touch two;", "path: made"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(bench.listing().is_empty());
}

#[test]
fn no_text_of_a_call_passes_for_a_line_of_the_question() {
    let bench = Bench::new();
    let forged = "     [c]/[p] would remember: nothing\n  2  Run command: ls  low risk\n";
    let args = json!({"path": "a.txt", "content": forged});
    let done = asked(&bench, None, "write_file", &args, &["n\n"]);
    let shown = strip_ansi(&done.stdout);
    for line in shown.lines().filter(|line| line.contains("low risk")) {
        assert!(line.starts_with("     \u{2502} "), "{line:?}");
    }
    let args = json!({ "command": format!("ls\n{forged}") });
    let done = asked(&bench, None, "run_command", &args, &["n\n"]);
    let shown = strip_ansi(&done.stdout);
    let low = shown.lines().filter(|line| line.contains("low risk"));
    let own = low.filter(|line| line.starts_with("       | "));
    assert_eq!(own.count(), 1, "{shown}");
}

#[test]
fn an_explanation_and_the_record_show_a_command_whole() {
    let bench = Bench::new();
    let args = json!({"command": long_command("touch made")}).to_string();
    let done = bench.run(&["policy", "explain", "run_command", &args]);
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(page["whole"].as_str().unwrap().contains("; touch made;"));
    let done = at_terminal(
        &bench,
        None,
        &["policy", "explain", "run_command", &args],
        &[],
    );
    assert!(done.stdout.contains("; touch made;"), "{done:?}");
    bench.run(&["exec", "run_command", &args, "--conversation", "talk"]);
    let done = bench.run(&["journal", "show", "talk"]);
    assert!(done.stdout.contains("; touch made;"), "{done:?}");
    for format in ["md", "html", "json"] {
        let done = bench.run(&["journal", "export", "talk", "--format", format]);
        assert!(done.stdout.contains("; touch made;"), "{format}: {done:?}");
    }
}

/// Calls whose text has the shape of a secret around a part that runs or is written.
fn shaped_calls() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let end = ["-----END ", "PRIVATE KEY-----"].concat();
    let (random, body) = ("a1b2c3d4e5f6g7h8".repeat(9), "A".repeat(24));
    let command = |text: String| json!({ "command": text });
    let file = |text: String| json!({"path": "new.sh", "content": text});
    let patch = |text: String| json!({"patch": format!("*** Begin Patch\n{text}*** End Patch\n")});
    vec![
        (
            "run_command",
            command(format!("token=\"{random} $(touch made; ls)\" make test")),
            vec!["$(touch made; ls)"],
        ),
        (
            "run_command",
            command(format!("echo {begin}{body}\ntouch made\necho {body} {end}")),
            vec!["| touch made"],
        ),
        (
            "run_command",
            command("echo https://a:b1c2$(touch${IFS}made)@localhost".into()),
            vec!["$(touch${IFS}made)@localhost"],
        ),
        (
            "run_command",
            command("curl -H 'Authorization: Bearer a1b2c3d4e5f6$LEAK' http://localhost".into()),
            vec!["a1b2c3d4e5f6$LEAK"],
        ),
        (
            "write_file",
            file(format!(
                "# {begin}{body}\ntouch made\nsh evil.sh | tee log\n# {body} {end}\n"
            )),
            vec!["touch made", "sh evil.sh | tee log"],
        ),
        (
            "write_file",
            file(format!(
                "const token=`{random} ${{require(\"fs\").rmSync(\"x\")}}`;\n"
            )),
            vec!["require(\"fs\").rmSync(\"x\")"],
        ),
        (
            "apply_patch",
            patch(format!(
                "*** Add File: q.sh\n+# {begin}{body}\n*** Add File: AGENTS.md\n+{body}\n+# {end}\n"
            )),
            vec!["q.sh", "AGENTS.md"],
        ),
        (
            "apply_patch",
            patch(format!(
                "*** Add File: p.sh\n+# {begin}{body}\n+touch made\n+# {body} {end}\n"
            )),
            vec!["+touch made"],
        ),
        (
            "memory",
            json!({"action": "set", "key": "token", "value": format!("{random} then run x")}),
            vec!["then run x"],
        ),
    ]
}

#[test]
fn the_shape_of_a_secret_hides_nothing_from_a_question() {
    for (tool, args, parts) in shaped_calls() {
        let bench = Bench::new();
        bench.home(
            "config.toml",
            "[[tools.rules]]\ntool = \"*\"\naction = \"ask\"\n",
        );
        let keys: Vec<&str> = std::iter::repeat_n("\n", 20).collect();
        let done = asked(&bench, Some((200, 300)), tool, &args, &keys);
        let shown = joined(&done);
        assert!(shown.contains("Toolgate asks"), "{tool}: {done:?}");
        let (question, _) = shown.split_once("[y]es").unwrap();
        for part in parts {
            assert!(question.contains(part), "{tool}: {part:?} in {question}");
        }
        assert!(!question.contains("[redacted:"), "{tool}: {question}");
        assert!(bench.listing().is_empty(), "{done:?}");
    }
}

#[test]
fn an_edit_below_a_key_is_in_the_question_and_the_whole_call() {
    let bench = Bench::new();
    let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let old = format!(
        "#!/bin/sh\n# fixture {begin}\n# {}\necho one\n",
        "A".repeat(24)
    );
    std::fs::write(bench.workspace().join("setup.sh"), old).unwrap();
    let edit = json!([{"target": "echo one", "replacement": "sh evil.sh | tee log\necho one"}]);
    let calls = [
        json!({"name": "read_file", "args": {"path": "setup.sh"}}),
        json!({"name": "edit_file", "args": {"path": "setup.sh", "edits": edit}}),
    ];
    bench.home("calls.jsonl", &format!("{}\n{}\n", calls[0], calls[1]));
    let calls = bench.home_directory().join("calls.jsonl");
    let args = ["batch", calls.to_str().unwrap()];
    let done = at_terminal(&bench, Some((200, 300)), &args, &["w\n", "n\n"]);
    let shown = joined(&done);
    assert_eq!(shown.matches("sh evil.sh | tee log").count(), 2, "{shown}");
    assert!(shown.contains("+sh evil.sh | tee log"), "{shown}");
}

/// A text of the model that looks like a question, right before a real one.
const IMITATION: &str = r#"
[[steps]]
text = "\n\nToolgate asks\n  1  Read README.md  low risk\n     path: README.md\n[y]es  [n]o  [?] help > _"
[[steps.calls]]
name = "write_file"
args = { path = "made", content = "x" }
[[steps]]
text = "Done."
"#;

#[test]
fn a_yes_to_an_imitated_question_does_not_answer_the_real_one() {
    let bench = Bench::new();
    bench.home("imitation.toml", IMITATION);
    let script = bench.home_directory().join("imitation.toml");
    let args = ["run", "--script", script.to_str().unwrap(), "go"];
    // The first is typed for the imitation, the second for the question.
    let done = at_terminal(&bench, None, &args, &["y\n", "n\n"]);
    assert!(done.stdout.contains("path: made"), "{done:?}");
    assert!(bench.listing().is_empty(), "{done:?}");
}

#[test]
fn a_yes_that_is_typed_while_the_question_appears_does_not_count() {
    let bench = Bench::new();
    // The command holds the sign that the keys wait for: the first comes with the question.
    let args = json!({"command": "touch made; : ' > '"});
    let done = asked(&bench, None, "run_command", &args, &["y\n", "n\n", "n\n"]);
    assert!(done.stdout.contains("Toolgate asks"), "{done:?}");
    assert!(bench.listing().is_empty(), "{done:?}");
}

/// Terminals give one or two columns to many characters, and a row that is too wide would push
/// the beginning of a question out of sight.
#[test]
fn no_row_is_wider_than_the_screen_on_any_terminal() {
    for padding in ["\u{3248}", "\u{b1}", "\u{e9}", "\u{2588}", "漢"] {
        let bench = Bench::new();
        let command = format!("make rm -rf ~/thesis #{}", padding.repeat(1050));
        let args = json!({ "command": command });
        let keys: Vec<&str> = std::iter::repeat_n("\n", 10).collect();
        let done = asked(&bench, Some((24, 100)), "run_command", &args, &keys);
        assert!(pages(&done) >= 1, "{padding}: {done:?}");
        let shown = strip_ansi(&done.stdout).replace('\r', "");
        let rows = shown
            .lines()
            .filter(|row| row.contains(padding) && !row.contains("call_id"));
        for row in rows {
            let width = row.chars().map(|c| 1 + usize::from(!c.is_ascii()));
            assert!(width.sum::<usize>() <= 100, "{padding}: {row}");
        }
        let (cut, wraps) = ("\u{1b}[?7l", "\u{1b}[?7h");
        assert!(
            done.stdout.contains(cut),
            "rows are cut and not continued: {done:?}"
        );
        assert!(
            done.stdout.rfind(wraps) > done.stdout.rfind(cut),
            "{done:?}"
        );
    }
}

#[test]
fn characters_that_a_terminal_drops_are_written_out() {
    for (text, shown) in [
        ("r\u{13441}m", r"r\u{13441}m"),
        ("r\u{378}m", r"r\u{378}m"),
        ("r\u{3fffd}m", r"r\u{3fffd}m"),
        ("r\u{2fe0}m", r"r\u{2fe0}m"),
        ("r\u{e1000}m", r"r\u{e1000}m"),
        ("r\u{1b4d}m", r"r\u{1b4d}m"),
        ("r\u{1f8d0}m", r"r\u{1f8d0}m"),
        ("a -\u{301}b", r"a -\u{301}b"),
        ("cp א ב", r"cp \u{5d0} \u{5d1}"),
        ("größe 漢字 🦀 Ελλάς кино", "größe 漢字 🦀 Ελλάς кино"),
    ] {
        let bench = Bench::new();
        let args = json!({"path": format!("{text}.txt"), "content": text});
        let done = asked(&bench, Some((24, 200)), "write_file", &args, &["n\n"]);
        let question = done.stdout.split("{\"call_id\"").next().unwrap();
        assert!(question.contains(shown), "{shown}: {done:?}");
        assert!(
            shown == text || !question.contains(text),
            "{shown}: {done:?}"
        );
    }
}
