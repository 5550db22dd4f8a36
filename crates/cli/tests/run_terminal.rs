//! What a user sees of a turn on a terminal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "support/program.rs"]
mod program;

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use program::Bench;

/// Everything that a terminal of 80 columns was sent by `run` with these options. Each file is
/// made once its text was seen.
fn sent(bench: &Bench, variables: &[(&str, &str)], more: &str, steps: &[(&str, &str)]) -> String {
    let line = format!(
        "stty cols 80; {} run --script s.toml --approve all {more} go < /dev/null",
        env!("CARGO_BIN_EXE_toolgate")
    );
    let mut command = bench.command(Path::new("script"));
    command
        .args(["-qec", &line, "/dev/null"])
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut steps = steps.iter().peekable();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = stdout.read(&mut piece).unwrap();
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..count]);
        let seen = String::from_utf8_lossy(&bytes);
        if let Some((_, file)) = steps.next_if(|(part, _)| seen.contains(part)) {
            bench.write(file, "");
        }
    }
    let seen = String::from_utf8(bytes).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
    seen
}

/// What stays on the screen: rows without colours and without what was erased.
fn stays(sent: &str) -> Vec<String> {
    let rows = sent.split('\n').map(|row| {
        let row = row.rsplit("\r\u{1b}[K").next().unwrap_or_default();
        let mut plain = String::new();
        let mut rest = row;
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            let end = rest[at..].find('m').map_or(rest.len(), |end| at + end + 1);
            rest = &rest[end..];
        }
        plain.push_str(rest);
        plain.trim_end().to_owned()
    });
    rows.collect()
}

fn script(bench: &Bench, command: &str) {
    bench.write(
        "s.toml",
        &format!("[[steps]]\nthinking = \"I have to look.\\nThen I say it.\"\n[[steps.calls]]\nid = \"c\"\nname = \"run_command\"\nargs = {{ command = {command:?} }}\n[[steps]]\ntext = \"# Result\\n\\nIt is **{}**, see `a.txt`:\\n\\n- one\\n- two\\n\\n```sh\\nls\\n```\\nThe end.\"\n", "word ".repeat(30).trim()),
    );
}

#[test]
fn markdown_is_rendered_and_wrapped_and_thinking_stands_apart() {
    let bench = Bench::new();
    script(&bench, "echo hi");
    let sent = sent(&bench, &[], "", &[]);
    let rows = stays(&sent);
    let place = |row: &str| {
        let found = rows.iter().position(|there| there == row);
        found.unwrap_or_else(|| panic!("{row:?}: {rows:#?}"))
    };
    assert!(place("│ I have to look.") < place("│ Then I say it."));
    assert!(place("│ Then I say it.") < place("hi"));
    assert!(place("hi") < place("# Result"));
    assert!(place("• one") < place("• two"));
    assert!(place("  ls") < place("The end."));
    let words: Vec<&String> = rows
        .iter()
        .filter(|row| row.contains("word word"))
        .collect();
    assert!(words.len() >= 2, "{rows:#?}");
    assert!(
        words.iter().all(|row| row.chars().count() < 80),
        "{words:#?}"
    );
    assert!(!sent.contains("**"), "{sent:?}");
    assert!(sent.contains("\u{1b}[1mword"), "{sent:?}");
    assert!(sent.contains("\u{1b}[2m│ I have to look."), "{sent:?}");
    let result = rows.iter().find(|row| row.starts_with("  ok run_command"));
    assert!(result.unwrap().contains("echo hi"), "{rows:#?}");
}

#[test]
fn a_line_says_what_is_waited_for_and_leaves_nothing_behind() {
    let bench = Bench::new();
    script(&bench, "until [ -e go ]; do :; done; echo done");
    let seen = sent(&bench, &[], "", &[("running run_command · 1 s", "go")]);
    assert!(seen.contains("running run_command · 0 s"), "{seen:?}");
    let rows = stays(&seen);
    assert!(!rows.iter().any(|row| row.contains("running")), "{rows:#?}");
    assert!(rows.contains(&"done".to_owned()), "{rows:#?}");
}

#[test]
fn without_a_terminal_for_it_there_is_no_line_and_no_colour() {
    let bench = Bench::new();
    script(&bench, "sleep 0.5");
    for (variables, more) in [
        (&[("TERM", "dumb")][..], ""),
        (&[], "2> errors"),
        (&[], "--quiet"),
        (&[], "--json"),
    ] {
        let seen = sent(&bench, variables, more, &[]);
        assert!(!seen.contains("running"), "{more}: {seen:?}");
        assert!(!seen.contains("\r\u{1b}[K"), "{more}: {seen:?}");
    }
    let seen = sent(&bench, &[("NO_COLOR", "1")], "", &[]);
    assert!(
        seen.contains("# Result") && !seen.contains("\u{1b}[1m"),
        "{seen:?}"
    );
    assert!(!seen.contains("\u{1b}[2m"), "{seen:?}");
}

#[test]
fn a_long_output_is_folded_with_the_way_to_see_it() {
    let bench = Bench::new();
    script(&bench, "for i in $(seq 1 200); do echo \"line $i\"; done");
    let rows = stays(&sent(&bench, &[], "", &[]));
    let lines = rows.iter().filter(|row| row.starts_with("line "));
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    assert_eq!(lines.len(), 25, "{rows:#?}");
    assert_eq!(
        (lines[0], lines[19], lines[24]),
        ("line 1", "line 20", "line 200")
    );
    let told = rows
        .iter()
        .find(|row| row.contains("175 lines are not shown"));
    let told = told.unwrap_or_else(|| panic!("{rows:#?}"));
    // The command that it names shows the rest.
    let command = told.split('`').nth(1).unwrap().replace("toolgate ", "");
    let words: Vec<&str> = command.split(' ').collect();
    let shown = bench.run(&words);
    assert!(shown.stdout.contains("line 100"), "{shown:?}");
}
