//! `glob` and `grep`.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;
use toolgate_gate::Settings;
use toolgate_model::ErrorKind;
use toolgate_tools::{SearchSettings, ToolSettings};

use crate::fixture::Workspace;

fn example() -> Workspace {
    let ws = Workspace::new();
    ws.put("src/main.rs", "fn main() {\n    println!(\"Hello\");\n}\n");
    ws.put("src/lib/mod.rs", "pub fn hello() {}\r\n// the end\r\n");
    ws.put("src/lib/data.json", "{\"hello\": 1}\n");
    ws.put("README.md", "hello hello\nx\ny\nz\nHELLO\n");
    ws.put("target/out.rs", "hello\n");
    ws.put(".gitignore", "target/\n");
    ws.put(".hidden/a.rs", "hello\n");
    ws.put(".git/a.rs", "hello\n");
    ws.put("node_modules/m/i.rs", "hello\n");
    ws.put(".env", "hello=1\n");
    ws.put("bin.dat", b"hello\0hello\n");
    symlink("/etc/hostname", ws.path("src/link.rs")).unwrap();
    ws
}

#[test]
fn globs_find_files_by_path() {
    let ws = example();
    for (args, expected) in [
        (
            json!({"pattern": "**/*.rs"}),
            "src/lib/mod.rs src/link.rs src/main.rs",
        ),
        (
            json!({"pattern": "./**/*.rs"}),
            "src/lib/mod.rs src/link.rs src/main.rs",
        ),
        (json!({"pattern": "*.md"}), "README.md"),
        (json!({"pattern": "src/*.rs"}), "src/link.rs src/main.rs"),
        (
            json!({"pattern": "*.rs", "directory": "src"}),
            "src/link.rs src/main.rs",
        ),
        (
            json!({"pattern": "**/*.{json,md}", "path": "."}),
            "README.md src/lib/data.json",
        ),
        (
            json!({"pattern": "**/*.rs", "maxResults": 1}),
            "src/lib/mod.rs",
        ),
        (
            json!({"pattern": "**/*.rs", "includeHidden": true}),
            ".hidden/a.rs src/lib/mod.rs src/link.rs src/main.rs",
        ),
        (
            json!({"pattern": "**/*.rs", "include_ignored": true}),
            "node_modules/m/i.rs src/lib/mod.rs src/link.rs src/main.rs target/out.rs",
        ),
        (
            json!({"pattern": "**", "directory": "src/lib"}),
            "src/lib/data.json src/lib/mod.rs",
        ),
        (
            json!({"pattern": "**/.env*", "include_hidden": true, "include_ignored": true}),
            "No files found.",
        ),
    ] {
        let shown = args.to_string();
        assert_eq!(ws.ok("glob", args).replace('\n', " "), expected, "{shown}");
    }
    let none = ws.ok("glob", json!({"pattern": "*.rs"}));
    assert!(
        none.starts_with("No files found.") && none.contains("**/"),
        "{none}"
    );
}

#[test]
fn globs_that_make_no_sense_are_refused() {
    let ws = example();
    for args in [
        json!({"pattern": "../*"}),
        json!({"pattern": "/etc/*"}),
        json!({"pattern": "[a"}),
        json!({"pattern": ""}),
        json!({"pattern": "*", "max_results": 0}),
    ] {
        assert_eq!(ws.fails("glob", args).0, ErrorKind::BadArgs);
    }
    assert_eq!(
        ws.fails("glob", json!({"pattern": "*", "directory": "srv"}))
            .0,
        ErrorKind::NotFound
    );
    assert_eq!(
        ws.fails("glob", json!({"pattern": "*", "directory": "README.md"}))
            .0,
        ErrorKind::NotADirectory
    );
    assert_eq!(
        ws.fails("glob", json!({"pattern": "*", "directory": ".."}))
            .0,
        ErrorKind::OutsideSandbox
    );
}

#[test]
fn p_132_pathological_globs_end_soon() {
    let ws = Workspace::new();
    let deep: String = ('a'..='z').map(|c| format!("{c}/")).collect();
    ws.put(&format!("{deep}x"), "");
    let began = Instant::now();
    let found = ws.ok(
        "glob",
        json!({"pattern": format!("{}x", "**/".repeat(200))}),
    );
    assert_eq!(found, format!("{deep}x"));
    for pattern in [
        format!("{}b", "*a".repeat(400)),
        format!("{}x", "**/*/".repeat(150)),
        format!("{}x", "{a,b,c,d}".repeat(100)),
    ] {
        ws.ok("glob", json!({"pattern": pattern}));
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn grep_finds_lines_with_their_places() {
    let ws = example();
    for (args, expected) in [
        (
            json!({"pattern": "hello"}),
            "README.md:1: hello hello\nREADME.md:5: HELLO\nsrc/lib/data.json:1: {\"hello\": 1}\n\
             src/lib/mod.rs:1: pub fn hello() {}\nsrc/main.rs:2:     println!(\"Hello\");",
        ),
        (
            json!({"pattern": "hello", "caseSensitive": true, "path": "src"}),
            "src/lib/data.json:1: {\"hello\": 1}\nsrc/lib/mod.rs:1: pub fn hello() {}",
        ),
        (
            json!({"pattern": "hello", "filePattern": "*.json"}),
            "src/lib/data.json:1: {\"hello\": 1}",
        ),
        (
            json!({"pattern": "hello", "include": "src/**/*.json"}),
            "src/lib/data.json:1: {\"hello\": 1}",
        ),
        (
            json!({"pattern": "fn", "exclude": "lib"}),
            "src/main.rs:1: fn main() {",
        ),
        (
            json!({"pattern": "fn", "exclude": "src/lib/**"}),
            "src/main.rs:1: fn main() {",
        ),
        (
            json!({"pattern": "hello() {}", "literal": true}),
            "src/lib/mod.rs:1: pub fn hello() {}",
        ),
        (
            json!({"pattern": "hello() {}", "type": "literal"}),
            "src/lib/mod.rs:1: pub fn hello() {}",
        ),
        (
            json!({"pattern": "^the|end$", "type": "regex"}),
            "src/lib/mod.rs:2: // the end",
        ),
        (
            json!({"pattern": "hello", "max_results": 1}),
            "README.md:1: hello hello",
        ),
        (
            json!({"pattern": "hello", "path": "README.md", "maxResults": 2}),
            "README.md:1: hello hello\nREADME.md:5: HELLO",
        ),
        (
            json!({"pattern": "y|HELLO", "path": "README.md", "context": 1, "case_sensitive": true}),
            "README.md-2- x\nREADME.md:3: y\nREADME.md-4- z\nREADME.md:5: HELLO",
        ),
        (
            json!({"pattern": "hello", "path": "README.md", "context": 1}),
            "README.md:1: hello hello\nREADME.md-2- x\n--\nREADME.md-4- z\nREADME.md:5: HELLO",
        ),
        (
            json!({"pattern": "main\\(\\) \\{\\n.*println", "multiline": true}),
            "src/main.rs:1: fn main() {\nsrc/main.rs:2:     println!(\"Hello\");",
        ),
        (
            json!({"pattern": "hello", "path": ".hidden"}),
            ".hidden/a.rs:1: hello",
        ),
    ] {
        let shown = args.to_string();
        assert_eq!(ws.ok("search", args), expected, "{shown}");
    }
    let result = ws.call(
        "grep",
        json!({"pattern": "hello", "include_hidden": true, "include_ignored": true}),
    );
    for (path, found) in [
        (".hidden/a.rs:1:", true),
        ("target/out.rs:1:", true),
        (".env", false),
        ("bin.dat", false),
    ] {
        assert_eq!(
            result.content.contains(path),
            found,
            "{path}: {}",
            result.content
        );
    }
    assert_eq!(result.metadata["binary_files"], 1);
}

#[test]
fn nothing_found_says_so_without_repeating_the_question() {
    let ws = example();
    let result = ws.call("grep", json!({"pattern": "CANARY-7f3a"}));
    assert!(
        result.content.starts_with("No matches found in"),
        "{}",
        result.content
    );
    assert!(!result.content.contains("CANARY"));
    assert!(
        result.display.starts_with("Found 0 matches"),
        "{}",
        result.display
    );
}

#[test]
fn patterns_that_make_no_sense_explain_themselves() {
    let ws = example();
    for (args, part) in [
        (json!({"pattern": "a("}), "unclosed group"),
        (json!({"pattern": "a\\nb"}), "multiline"),
        (json!({"pattern": ""}), "at least 1"),
        (json!({"pattern": "a", "type": "exact"}), "\"literal\""),
        (
            json!({"pattern": "a", "file_pattern": "[a"}),
            "file_pattern",
        ),
        (json!({"pattern": "(a{1000}){1000}"}), "size limit"),
        (json!({"pattern": "a", "context": 51}), "at most 50"),
    ] {
        let (kind, message) = ws.fails("grep", args);
        assert_eq!(kind, ErrorKind::BadArgs, "{message}");
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(
        ws.fails("grep", json!({"pattern": "a", "path": "nowhere"}))
            .0,
        ErrorKind::NotFound
    );
    assert_eq!(
        ws.fails("grep", json!({"pattern": "a", "path": ".env"})).0,
        ErrorKind::DeniedPattern
    );
}

#[test]
fn p_137_denied_files_never_appear() {
    let ws = Workspace::new();
    ws.put(".env", "CANARY-7f3a");
    ws.put(".ssh/id_rsa", "CANARY-7f3a");
    ws.put("a.txt", "CANARY-ok");
    symlink(".env", ws.path("notes.txt")).unwrap();
    let args =
        json!({"pattern": "CANARY", "path": ".", "include_hidden": true, "include_ignored": true});
    assert_eq!(ws.ok("grep", args), "a.txt:1: CANARY-ok");
}

#[test]
fn long_lines_are_cut_around_the_hit() {
    let ws = Workspace::new();
    let long = format!("{}needle{}\n", "ä".repeat(300_000), "ö".repeat(300_000));
    ws.put("min.js", &long);
    ws.put("big.js", format!("x\n{}", long.repeat(4)));
    let found = ws.ok("grep", json!({"pattern": "needle"}));
    assert_eq!(found.lines().count(), 5);
    for line in found.lines() {
        assert!(
            line.len() < 600 && line.contains("ääneedleöö") && line.ends_with('…'),
            "{line}"
        );
    }
}

#[test]
fn secrets_in_hits_are_masked_even_where_a_line_alone_would_not_show_them() {
    let ws = Workspace::new();
    ws.put(
        "a.txt",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n",
    );
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    ws.put(
        "b.txt",
        format!("{}{token}{}", "x ".repeat(260), " y".repeat(300)),
    );
    let found = ws.ok("grep", json!({"pattern": "MIIE|ghp_"}));
    assert!(
        !found.contains("MIIE") && !found.contains("ghp_ab") && !found.contains("456789"),
        "{found}"
    );
}

#[test]
fn results_have_a_default_bound_that_is_said() {
    let tools = ToolSettings {
        search: SearchSettings {
            max_results: 3,
            ..SearchSettings::default()
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default());
    for n in 0..5 {
        ws.put(&format!("f{n}.txt"), "hit\n");
    }
    let found = ws.call("grep", json!({"pattern": "hit"}));
    assert_eq!(found.content.lines().count(), 4);
    assert!(found.content.ends_with("or set max_results]") && found.metadata["truncated"] == true);
    let found = ws.ok("glob", json!({"pattern": "*"}));
    assert!(
        found.starts_with("f0.txt\nf1.txt\nf2.txt\n[only the first 3"),
        "{found}"
    );
    assert_eq!(
        ws.ok("grep", json!({"pattern": "hit", "max_results": 5}))
            .lines()
            .count(),
        5
    );
}

#[test]
fn other_encodings_are_searched() {
    let ws = Workspace::new();
    ws.put(
        "wide.txt",
        "\u{feff}x\nnädel\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    ws.put("marked.txt", "\u{feff}nädel\n");
    ws.put("latin.txt", b"n\xe4del x\nnadel\n");
    let found = ws.ok("grep", json!({"pattern": "^n.*del"}));
    assert_eq!(
        found,
        "latin.txt:1: nädel x\nlatin.txt:2: nadel\nmarked.txt:1: nädel\nwide.txt:2: nädel"
    );
    // An encoding that is not clear is searched byte by byte.
    ws.put("unclear.txt", b"n\xe4\xe4\xe4del y\n");
    assert!(
        ws.ok("grep", json!({"pattern": "del y"}))
            .starts_with("unclear.txt:1: n\u{fffd}")
    );
}

#[test]
fn a_search_says_which_files_it_could_not_look_through() {
    let ws = Workspace::new();
    let mut text = b"needle\n".to_vec();
    text.resize(33 << 20, b'x');
    ws.put("long.txt", String::from_utf8(text).unwrap());
    for (pattern, begins) in [("needle", "long.txt:1: needle"), ("nowhere", "No matches")] {
        let content = ws.ok("grep", json!({"pattern": pattern}));
        assert!(content.starts_with(begins), "{content}");
        let said = "[1 file could not be searched to the end";
        assert!(content.contains(said), "{content}");
    }
}

#[test]
fn grep_shows_files_and_counts_and_as_much_around_a_hit_as_is_asked() {
    let ws = example();
    for (tool, args, expected) in [
        (
            "grep",
            json!({"pattern": "hello", "output": "files"}),
            "README.md\nsrc/lib/data.json\nsrc/lib/mod.rs\nsrc/main.rs",
        ),
        (
            "grep",
            json!({"pattern": "hello", "output": "counts", "context": 3}),
            "README.md: 2\nsrc/lib/data.json: 1\nsrc/lib/mod.rs: 1\nsrc/main.rs: 1",
        ),
        (
            "grep",
            json!({"pattern": "Hello", "case_sensitive": true, "before": 1}),
            "src/main.rs-1- fn main() {\nsrc/main.rs:2:     println!(\"Hello\");",
        ),
        (
            "grep",
            json!({"pattern": "Hello", "case_sensitive": true, "context": 1, "before": 0}),
            "src/main.rs:2:     println!(\"Hello\");\nsrc/main.rs-3- }",
        ),
        (
            "Grep",
            json!({"pattern": "hello", "-i": true, "output_mode": "files_with_matches"}),
            "README.md\nsrc/lib/data.json\nsrc/lib/mod.rs\nsrc/main.rs",
        ),
        (
            "Grep",
            json!({"pattern": "Hello", "output_mode": "content", "-n": true, "-B": 1, "-A": 0}),
            "src/main.rs-1- fn main() {\nsrc/main.rs:2:     println!(\"Hello\");",
        ),
        (
            "Grep",
            json!({"pattern": "hello", "-i": true, "output_mode": "count", "path": "src/main.rs"}),
            "src/main.rs: 1",
        ),
    ] {
        assert_eq!(ws.ok(tool, args.clone()), expected, "{args}");
    }
    // The most that is asked for are files there, not lines.
    for (output, first) in [("files", "README.md"), ("counts", "README.md: 2")] {
        let args = json!({"pattern": "hello", "output": output, "max_results": 1});
        let result = ws.call("grep", args);
        assert!(result.content.starts_with(first), "{result:?}");
        assert!(!result.content.contains("data.json"), "{result:?}");
        assert_eq!(result.metadata["truncated"], true);
        assert_eq!(result.metadata["files_with_matches"], 1);
        let all = json!({"pattern": "hello", "output": output, "max_results": 4});
        assert_eq!(ws.call("grep", all).metadata["truncated"], false);
    }
}
