//! `read_file`: what it returns, what it refuses, what it remembers.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;
use sha2::{Digest, Sha256};
use toolgate_gate::tool::hex;
use toolgate_gate::{Settings, place};
use toolgate_model::{ContentBlock, ErrorKind, base64};
use toolgate_testkit::PNG;
use toolgate_tools::{ReadSettings, ToolSettings};

use crate::fixture::Workspace;

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

#[test]
fn t_read_01_line_ranges_return_their_lines_and_wrong_ones_are_bad_args() {
    let ws = Workspace::new();
    ws.put("five.txt", "1\n2\n3\n4\n5\n");
    for (args, expected) in [
        (json!({}), "1\n2\n3\n4\n5\n"),
        (json!({"start_line": 4}), "4\n5\n"),
        (json!({"end_line": 2}), "1\n2"),
        (json!({"start_line": 2, "end_line": 3}), "2\n3"),
        (json!({"startLine": 2, "endLine": 2}), "2"),
        (json!({"start_line": 4, "end_line": 99}), "4\n5\n"),
        (json!({"offset": 3, "limit": 2}), "3\n4"),
        (json!({"offset": 5}), "5\n"),
        (json!({"limit": 1}), "1"),
        (json!({"start_line": 5, "limit": 10}), "5\n"),
        (json!({"lines": 3}), "1\n2\n3"),
        (
            json!({"start_line": null, "end_line": null}),
            "1\n2\n3\n4\n5\n",
        ),
        (
            json!({"start_line": 4, "line_numbers": true}),
            "     4\t4\n     5\t5\n",
        ),
    ] {
        let mut call = args.clone();
        call["path"] = "five.txt".into();
        assert_eq!(ws.ok("read_file", call), expected, "{args}");
    }
    for (args, part) in [
        (json!({"start_line": 0}), "at least 1"),
        (json!({"end_line": 0}), "at least 1"),
        (json!({"limit": 0}), "at least 1"),
        (json!({"limit": -1}), "at least 1"),
        (json!({"start_line": 3, "end_line": 2}), "swap"),
        (
            json!({"start_line": 2, "limit": 2, "end_line": 3}),
            "one of them",
        ),
        (json!({"lines": 2, "start_line": 2}), "stands alone"),
        (json!({"offset": 2, "start_line": 2}), "same argument"),
        (json!({"start_line": 6}), "has 5 lines"),
        (json!({"start_line": "2"}), "whole number"),
        (json!({"startline": 2}), "did you mean"),
        (json!({"approved": true}), "unknown argument"),
    ] {
        let mut call = args.clone();
        call["path"] = "five.txt".into();
        let (kind, message) = ws.fails("read_file", call);
        assert_eq!(kind, ErrorKind::BadArgs, "{args}: {message}");
        assert!(message.contains(part), "{args}: {message}");
    }
}

#[test]
fn t_read_02_large_files_are_refused_whole_and_searched_only_so_far() {
    let tools = ToolSettings {
        read: ReadSettings {
            max_file_read_bytes: 10_000,
            max_scan_bytes: 40_000,
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default());
    let lines =
        |count: usize| -> String { (1..=count).map(|n| format!("line {n:04}\n")).collect() };
    ws.put("middle.txt", lines(2_000));
    ws.put("large.txt", lines(8_000));

    let (kind, message) = ws.fails("read_file", json!({"path": "middle.txt"}));
    assert_eq!(kind, ErrorKind::TooLarge);
    for part in [
        "20000 bytes",
        "2000 lines",
        "10000",
        "start_line 1 and end_line 750",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let asked = ws.ok(
        "read_file",
        json!({"path": "middle.txt", "start_line": 1, "end_line": 750}),
    );
    assert!(asked.ends_with("line 0750"));

    let (kind, message) = ws.fails("read_file", json!({"path": "large.txt"}));
    assert_eq!(kind, ErrorKind::TooLarge);
    assert!(
        message.contains("80000 bytes and more than 4000 lines"),
        "{message}"
    );
    let near = ws.call(
        "read_file",
        json!({"path": "large.txt", "start_line": 3999, "end_line": 4000}),
    );
    assert_eq!(near.content, "line 3999\nline 4000");
    assert_eq!(near.metadata["sha256"], hex(&Sha256::digest(lines(8_000))));
    for args in [
        json!({"path": "large.txt", "start_line": 4000, "end_line": 4001}),
        json!({"path": "large.txt", "start_line": 10}),
        json!({"path": "large.txt", "start_line": 7000, "end_line": 7001}),
    ] {
        let (kind, message) = ws.fails("read_file", args);
        assert_eq!(kind, ErrorKind::TooLarge);
        assert!(message.contains("at most 4000"), "{message}");
    }
}

#[test]
fn ac_12_file_read_returns_the_content() {
    let ws = Workspace::new();
    ws.put("test.txt", "hello");
    let result = ws.call("file_read", json!({"path": "test.txt"}));
    assert_eq!((result.content.as_str(), result.error), ("hello", None));
    assert_eq!(result.tool, "read_file");
    assert_eq!(result.display, "Read test.txt (1 line)");
}

#[test]
fn ac_13_a_missing_file_says_so_and_names_what_is_near() {
    let ws = Workspace::new();
    ws.put("src/main.rs", "");
    let (kind, message) = ws.fails("file_read", json!({"path": "src/mian.rs"}));
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(
        message.to_lowercase().contains("file not found"),
        "{message}"
    );
    assert!(message.contains("`main.rs`"), "{message}");
}

#[test]
fn a_directory_read_as_a_file_shows_what_is_in_it() {
    let ws = Workspace::new();
    for n in 0..25 {
        ws.put(&format!("d/f{n:02}.txt"), "");
    }
    ws.put("d/sub/x", "");
    ws.put("d/.env", "SECRET");
    std::fs::create_dir(ws.path("empty")).unwrap();
    let (kind, message) = ws.fails("read_file", json!({"path": "d"}));
    assert_eq!(kind, ErrorKind::NotAFile);
    assert!(
        message.contains("`f00.txt`") && message.contains("and 6 more"),
        "{message}"
    );
    assert!(
        !message.contains(".env") && message.contains("list_directory"),
        "{message}"
    );
    assert!(
        ws.fails("read_file", json!({"path": "empty"}))
            .1
            .contains("empty")
    );
}

#[test]
fn binary_content_comes_as_base64_within_the_limit() {
    let ws = Workspace::new();
    ws.put("b.dat", b"\0\x01\xfe\xff");
    let result = ws.call("read_file", json!({"path": "b.dat"}));
    assert_eq!(result.content, "[binary:base64]\nAAH+/w==");
    assert_eq!(result.metadata["truncated"], false);
    let (kind, message) = ws.fails("read_file", json!({"path": "b.dat", "start_line": 1}));
    assert_eq!(kind, ErrorKind::BadArgs);
    assert!(message.contains("binary"), "{message}");

    ws.put("big.dat", vec![0_u8; 1_000_000]);
    for capacity in [10, 26, 27, 28, 64, 1000, 70_000] {
        ws.session.set_available_capacity(capacity);
        let result = ws.call("read_file", json!({"path": "big.dat"}));
        assert!(
            result.content.len() <= capacity,
            "{capacity}: {}",
            result.content.len()
        );
        assert!(result.content.starts_with("[binary:b"), "{capacity}");
        assert!(result.truncated && result.output_handle.is_none());
        if capacity > 30 {
            let (header, body) = result.content.split_once('\n').unwrap();
            assert_eq!(header, "[binary:base64][truncated]");
            let (body, note) = body.split_once('\n').unwrap_or((body, ""));
            assert_eq!(note.is_empty(), capacity < 600, "{capacity}: {note}");
            let least = if note.is_empty() { 32 } else { 32 + 128 };
            assert!(capacity - body.len() < least && body.len() % 4 == 0);
        }
    }
}

#[test]
fn a_cut_binary_file_is_read_on_to_its_end() {
    let ws = Workspace::new();
    let bytes: Vec<u8> = (0..40_000_u32).flat_map(|n| n.to_be_bytes()).collect();
    ws.put("big.dat", &bytes);
    let mut read = Vec::new();
    let mut from = None;
    for _ in 0..100 {
        let mut args = json!({"path": "big.dat"});
        if let Some(from) = from {
            args["from_byte"] = json!(from);
        }
        let result = ws.call("read_file", args);
        assert_eq!(result.error, None);
        let (header, body) = result.content.split_once('\n').unwrap();
        let (body, note) = body.split_once('\n').unwrap_or((body, ""));
        read.extend(base64::decode(body).unwrap());
        let next = result.metadata.get("next_byte").cloned();
        assert_eq!(result.truncated, next.is_some());
        assert_eq!(header.contains("[truncated]"), next.is_some());
        let Some(next) = next else { break };
        assert!(
            note.ends_with(&format!("go on with from_byte = {next}]")),
            "{note}"
        );
        from = next.as_u64();
    }
    assert!(read == bytes, "{} of {}", read.len(), bytes.len());
    ws.put("a.txt", "text\n");
    for (args, says) in [
        (json!({"path": "a.txt", "from_byte": 1}), "is text"),
        (
            json!({"path": "big.dat", "from_byte": 160_000}),
            "past the end",
        ),
        (
            json!({"path": "big.dat", "from_byte": 1, "start_line": 1}),
            "give one of them",
        ),
    ] {
        let (kind, message) = ws.fails("read_file", args);
        assert!(
            kind == ErrorKind::BadArgs && message.contains(says),
            "{message}"
        );
    }
}

#[test]
fn lines_of_a_file_above_the_scan_limit_count_as_read_and_can_be_edited() {
    let tools = ToolSettings {
        read: ReadSettings {
            max_file_read_bytes: 10_000,
            max_scan_bytes: 40_000,
        },
        ..ToolSettings::default()
    };
    let ws = Workspace::with(tools, Settings::default());
    let text: String = (1..=300_000).map(|n| format!("line {n:06}\n")).collect();
    ws.put("large.txt", &text);
    let edit = |from: &str, to: &str| json!({"path": "large.txt", "edits": [{"target": from, "replacement": to}]});
    let (kind, _) = ws.fails("edit_file", edit("line 000020", "changed"));
    assert_eq!(kind, ErrorKind::StaleFile, "it was not read");
    let part = json!({"path": "large.txt", "start_line": 10, "end_line": 30});
    let read = ws.call("read_file", part.clone());
    assert_eq!(read.metadata["sha256"], hex(&Sha256::digest(&text)));
    let (_, message) = ws.fails("edit_file", edit("line 200000", "changed"));
    assert!(message.contains("has not been shown"), "{message}");
    ws.ok("edit_file", edit("line 000020", "changed"));
    assert!(ws.get("large.txt") == text.replace("line 000020", "changed").into_bytes());
    // What somebody else changes far down makes it stale.
    ws.ok("read_file", part);
    let mut other = ws.get("large.txt");
    *other.last_mut().unwrap() = b' ';
    ws.put("large.txt", other);
    let (kind, _) = ws.fails("edit_file", edit("line 000021", "changed"));
    assert_eq!(kind, ErrorKind::StaleFile);
}

#[test]
fn an_image_is_a_block_beside_its_base64() {
    let ws = Workspace::new();
    ws.put("a.png", PNG);
    let result = ws.call("read_file", json!({"path": "a.png"}));
    let text = format!("[binary:base64]\n{}", base64::encode(PNG));
    assert_eq!(result.content, text);
    assert_eq!(result.blocks, [ContentBlock::image("image/png", PNG)]);
    assert_eq!(result.metadata["mime_type"], "image/png");
    assert_eq!(result.metadata["truncated"], false);
    assert_eq!(
        result.display,
        format!("Read a.png (image/png, {} bytes)", PNG.len())
    );

    // The name says nothing, the bytes do; the text is short, the block is whole.
    let large = [PNG, &[7; 500_000]].concat();
    ws.put("large.txt", &large);
    let result = ws.call("read_file", json!({"path": "large.txt"}));
    assert!(
        result
            .content
            .starts_with("[binary:base64][truncated]\niVBORw0KGgo")
    );
    assert!(result.content.len() <= 4096 && !result.truncated);
    assert_eq!(result.blocks, [ContentBlock::image("image/png", &large)]);
    let put = json!({"path": "large.txt", "content": "x", "overwrite": true});
    assert_eq!(ws.call("write_file", put).error, None, "it was seen whole");

    let huge = [PNG, &[7; 4 << 20]].concat();
    ws.put("huge.png", &huge);
    let result = ws.call("read_file", json!({"path": "huge.png"}));
    let bytes = huge.len();
    let note = format!(
        "[image image/png, {bytes} bytes, left out: images of at most 3932160 bytes are shown]"
    );
    assert!(result.content.ends_with(&note), "{}", result.content);
    assert_eq!(result.blocks, [ContentBlock::text(&note)]);
    let put = json!({"path": "huge.png", "content": "x", "overwrite": true});
    assert_eq!(
        ws.call("write_file", put).kind(),
        Some(ErrorKind::StaleFile)
    );

    for (name, bytes) in [
        ("a.svg", &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..]),
        ("not.png", b"\x89PNX\0\0"),
    ] {
        ws.put(name, bytes);
        assert_eq!(ws.call("read_file", json!({"path": name})).blocks, []);
    }
}

#[test]
fn text_that_turns_out_to_be_binary_is_base64_too() {
    let ws = Workspace::new();
    let mut bytes = vec![b'x'; 9_000];
    bytes.extend(b"\xff\xff");
    ws.put("late.txt", &bytes);
    assert!(ws.read("late.txt").starts_with("[binary:base64]\neHh4"));
    let (kind, _) = ws.fails("read_file", json!({"path": "late.txt", "end_line": 1}));
    assert_eq!(kind, ErrorKind::BadArgs);
}

#[test]
fn marks_and_encodings_are_understood_and_said() {
    let ws = Workspace::new();
    let utf16 = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter()
            .chain("grün\nx\n".encode_utf16().flat_map(unit))
            .collect()
    };
    for (name, bytes, encoding) in [
        ("plain", "grün\nx\n".as_bytes().to_vec(), "utf-8"),
        (
            "marked",
            "\u{feff}grün\nx\n".as_bytes().to_vec(),
            "utf-8-bom",
        ),
        ("little", utf16([0xff, 0xfe], u16::to_le_bytes), "utf-16le"),
        ("big", utf16([0xfe, 0xff], u16::to_be_bytes), "utf-16be"),
    ] {
        ws.put(name, bytes);
        let result = ws.call("read_file", json!({"path": name}));
        assert_eq!(result.content, "grün\nx\n", "{name}");
        assert_eq!(result.metadata["encoding"], encoding);
        assert_eq!(result.metadata["total_lines"], 2);
        assert_eq!(
            ws.ok(
                "read_file",
                json!({"path": name, "start_line": 2, "end_line": 2})
            ),
            "x"
        );
    }
}

#[test]
fn what_the_model_reads_is_exact_and_what_the_person_sees_is_not() {
    let ws = Workspace::new();
    let text = "a\u{1b}[31mred\u{202e}\r\nb\rc\n";
    ws.put("evil\u{1b}[2J.txt", text);
    let result = ws.call("read_file", json!({"path": "evil\u{1b}[2J.txt"}));
    assert_eq!(result.content, text);
    assert_eq!(result.display, "Read evil.txt (2 lines)");
}

#[test]
fn files_without_end_cost_nothing() {
    let ws = Workspace::new();
    let file = std::fs::File::create(ws.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    ws.put("line.txt", vec![b'x'; 32 << 20]);
    let began = Instant::now();
    let sparse = ws.call("read_file", json!({"path": "sparse"}));
    assert!(
        sparse
            .content
            .starts_with("[binary:base64][truncated]\nAAAA")
    );
    assert!(sparse.content.len() < 1 << 20);
    let line = ws.call("read_file", json!({"path": "line.txt"}));
    assert_eq!(line.kind(), Some(ErrorKind::TooLarge));
    assert!(
        line.content.contains("33554432 bytes") && line.content.contains("too long"),
        "{}",
        line.content
    );
    let first = ws.call("read_file", json!({"path": "line.txt", "lines": 1}));
    assert_eq!(first.kind(), Some(ErrorKind::TooLarge));
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[test]
fn what_was_shown_is_remembered_line_by_line() {
    let ws = Workspace::new();
    ws.put("a.txt", "1\n2\n3\n4\n");
    symlink("a.txt", ws.path("link.txt")).unwrap();
    let seen = || {
        let known = place(&ws.gate.sandbox().open_read("a.txt").unwrap());
        ws.session.reads(|log| log.seen(&known).cloned())
    };
    assert_eq!(seen(), None);
    let result = ws.call("read_file", json!({"path": "link.txt", "end_line": 2}));
    let known = seen().unwrap();
    assert_eq!(known.lines.as_slice(), [(1, 2)]);
    assert_eq!(known.sha256, result.metadata["sha256"]);
    ws.ok("read_file", json!({"path": "./a.txt", "start_line": 4}));
    assert_eq!(seen().unwrap().lines.as_slice(), [(1, 2), (4, 4)]);
    ws.put("a.txt", "other\n");
    ws.read("a.txt");
    assert_eq!(seen().unwrap().lines.as_slice(), [(1, 1)]);
}

#[test]
fn lines_with_secrets_are_masked_said_and_not_counted_as_read() {
    let ws = Workspace::new();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----";
    ws.put("conf.txt", format!("a\ntoken {TOKEN}\nb\n{key}\nc\n"));
    let result = ws.call("read_file", json!({"path": "conf.txt"}));
    assert!(
        !result.content.contains(TOKEN) && !result.content.contains("MIIE"),
        "{}",
        result.content
    );
    assert_eq!(result.metadata["redacted"], 2);
    assert_eq!(result.content.lines().count(), 8);
    // The middle of a key alone is not recognizable any more, but its file is known.
    let middle = ws.call(
        "read_file",
        json!({"path": "conf.txt", "start_line": 5, "end_line": 6}),
    );
    assert!(
        !middle.content.contains("MIIE") && !middle.content.contains("BKcw"),
        "{}",
        middle.content
    );
    let known = place(&ws.gate.sandbox().open_read("conf.txt").unwrap());
    let lines = ws
        .session
        .reads(|log| log.seen(&known).unwrap().lines.clone());
    assert_eq!(lines.as_slice(), [(1, 1), (3, 3), (8, 8)]);
}

#[test]
fn what_did_not_fit_into_the_result_was_not_read() {
    let ws = Workspace::new();
    let text: String = (1..=400).map(|n| format!("line {n:04}\n")).collect();
    ws.put("a.txt", text);
    ws.session.set_available_capacity(2_000);
    let result = ws.call("read_file", json!({"path": "a.txt", "start_line": 1}));
    assert!(result.truncated && result.content.len() <= 2_000);
    let known = place(&ws.gate.sandbox().open_read("a.txt").unwrap());
    let lines = ws
        .session
        .reads(|log| log.seen(&known).unwrap().lines.clone());
    for line in 1..=400_u64 {
        let shown = result.content.contains(&format!("line {line:04}\n"));
        assert!(shown || !lines.covers(line, line), "{line}");
    }
    assert!(lines.covers(1, 50) && lines.covers(350, 400), "{lines:?}");
    // The rest is there under the handle.
    let handle = result.output_handle.unwrap();
    let rest = ws.ok(
        "read_output",
        json!({"handle": handle.as_str(), "start_line": 200, "end_line": 201}),
    );
    assert_eq!(rest, "line 0200\nline 0201");
}
