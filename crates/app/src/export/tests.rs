//! A conversation with everything in it, exported and compared with what was looked at once.
//!
//! `golden/talk.jsonl` is what `journal show --json` said of a real conversation: a model
//! that writes tags, marks and escape sequences wherever it can, a denial, an undo, and a
//! batch that was killed.

use serde_json::Value;
use toolgate_gate::journal::{Body, Conversation, Line, Record};
use toolgate_gate::output::Redactor;
use toolgate_model::{ContentBlock, base64};
use toolgate_testkit::PNG;

use super::*;

const TALK: &str = include_str!("golden/talk.jsonl");

fn lines() -> Vec<Line> {
    let line = |text: &str| {
        let entry: Value = serde_json::from_str(text).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        let number = |name: &str| entry[name].as_u64().unwrap();
        Line {
            conversation: text("conversation").into(),
            seq: number("seq"),
            kind: text("kind"),
            call: text("call").into(),
            nth: number("nth"),
            at_ms: number("at_ms"),
            hash: text("hash"),
            body: Body::Kept(serde_json::from_value(entry["body"].clone()).unwrap()),
        }
    };
    TALK.lines().map(line).collect()
}

fn transcript(lines: Vec<Line>) -> Transcript {
    let mut transcript = Transcript::of(&Conversation {
        id: lines[0].conversation.clone(),
        workspace: Some("/tmp/project".into()),
        started_ms: 0,
        last_ms: 0,
        entries: 0,
        calls: std::collections::BTreeMap::new(),
        bytes: 0,
        held_by: None,
    });
    lines.into_iter().for_each(|line| transcript.take(line));
    // Where there is no secret, nothing changes.
    transcript.redact(&Redactor::new(std::iter::empty::<(&str, &str)>()).unwrap());
    transcript
}

#[test]
fn pages_are_those_that_were_looked_at() {
    let transcript = transcript(lines());
    for (format, name, golden) in [
        (
            ExportFormat::Json,
            "talk.json",
            include_str!("golden/talk.json"),
        ),
        (ExportFormat::Md, "talk.md", include_str!("golden/talk.md")),
        (
            ExportFormat::Html,
            "talk.html",
            include_str!("golden/talk.html"),
        ),
    ] {
        let page = render(&transcript, format);
        if page != golden {
            let now = tempfile::tempdir().unwrap().keep().join(name);
            std::fs::write(&now, page).unwrap();
            panic!(
                "golden/{name} is no longer what is made; look at {}",
                now.display()
            );
        }
    }
}

#[test]
fn nothing_that_somebody_wrote_is_obeyed_by_a_browser() {
    let page = render(&transcript(lines()), ExportFormat::Html);
    let body = page.split_once("<body>").unwrap().1;
    for tag in [
        "<script",
        "<svg",
        "<img",
        "<b>bold",
        "<i>\"",
        "<textarea",
        "</textarea",
        "onerror=alert(3)>",
    ] {
        assert!(!body.contains(tag), "{tag}");
    }
    for escaped in [
        "&lt;script&gt;alert(0)",
        "&lt;svg onload=alert(2)&gt;",
        "alert(4)",
        "alert(5)",
        "alert(6)",
    ] {
        assert!(body.contains(escaped), "{escaped}");
    }
    // Every tag that is there is one of ours.
    let ours = [
        "main",
        "header",
        "p",
        "h1",
        "h2",
        "dl",
        "div",
        "dt",
        "dd",
        "nav",
        "a",
        "span",
        "b",
        "i",
        "ol",
        "ul",
        "li",
        "time",
        "details",
        "summary",
        "pre",
        "code",
        "em",
        "footer",
        "body",
        "html", // The rest is Markdown, rendered.
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "table",
        "tr",
        "th",
        "td",
        "strong",
        "del",
        "br",
        "hr",
    ];
    for part in body.split('<').skip(1) {
        let name: String = part
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        assert!(ours.contains(&name.as_str()), "<{name}");
    }
    for outside in [
        "http://",
        "https://",
        "src=",
        "url(",
        "@import",
        "<link",
        "javascript:",
    ] {
        let ours = page.replace("src=x onerror", "");
        assert!(!ours.contains(outside), "{outside}");
    }
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
}

#[test]
fn every_call_is_there_once_and_in_order_in_every_format() {
    let transcript = transcript(lines());
    let page: Value = serde_json::from_str(&render(&transcript, ExportFormat::Json)).unwrap();
    let ids: Vec<&str> = page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["id"].as_str().unwrap().split_once('_').unwrap().1)
        .collect();
    let svg = "c\"><svg onload=alert(2)>";
    assert_eq!(
        ids,
        ["c1", svg, "c3", "c4", "c5", "c6", "undo_1", "k1", "k2"]
    );
    let markdown = render(&transcript, ExportFormat::Md);
    let told = |line: &&str| line.starts_with("## Tool ");
    let told: Vec<&str> = markdown.lines().filter(told).collect();
    assert_eq!(told.len(), ids.len());
    for (line, id) in told.iter().zip(&ids) {
        assert!(line.contains(&format!("`{id}`")), "{line}");
    }
    let html = render(&transcript, ExportFormat::Html);
    for number in 1..=ids.len() {
        assert_eq!(html.matches(&format!("id=\"call-{number}\"")).count(), 1);
    }
}

#[test]
fn what_was_pruned_is_said_and_nothing_else_is_lost() {
    let mut lines = lines();
    for line in &mut lines {
        line.body = Body::Pruned;
    }
    let transcript = transcript(lines);
    for format in [ExportFormat::Json, ExportFormat::Md, ExportFormat::Html] {
        let page = render(&transcript, format);
        assert!(page.contains("(no longer on record)"), "{page}");
        assert!(page.contains("undo_1"), "{page}");
    }
}

#[test]
fn who_asked_and_what_happened_is_not_made_up_where_it_was_pruned() {
    let whole = render(&transcript(lines()), ExportFormat::Md);
    let mut pruned = lines();
    for line in &mut pruned {
        line.body = Body::Pruned;
    }
    let pruned = transcript(pruned);
    let page = render(&pruned, ExportFormat::Md);
    let those = |page: &str, start: &str| -> Vec<String> {
        let lines = page.lines().filter(|line| line.starts_with(start));
        lines.map(str::to_owned).collect()
    };
    // Whether a model asked is known from the order of what is left.
    assert_eq!(those(&page, "- asked by"), those(&whole, "- asked by"));
    let unplanned = "nobody: it was not planned";
    assert_eq!(
        page.matches(unplanned).count(),
        whole.matches(unplanned).count()
    );
    assert!(page.contains("- let through by: no longer on record"));
    assert!(page.contains("- took: no longer on record"));
    assert!(page.contains("- arguments: no longer on record") && !page.contains("{}"));
    let calls = those(&page, "- Calls: 9 calls: ").join("");
    assert!(calls.contains(" no longer on record"), "{calls}");
    let html = render(&pruned, ExportFormat::Html);
    assert!(html.contains("<dt>Let through by</dt><dd>no longer on record</dd>"));
    assert!(html.contains("<dt>Arguments</dt><dd>no longer on record</dd>"));
    let json: Value = serde_json::from_str(&render(&pruned, ExportFormat::Json)).unwrap();
    let result = json["messages"].as_array().unwrap().iter();
    let mut result = result.filter(|message| message["role"] == "tool");
    assert_eq!(result.next().unwrap()["content"], "(no longer on record)");
}

/// The same conversation, with these blocks in each result.
fn with_blocks(blocks: &[ContentBlock]) -> Transcript {
    let mut lines = lines();
    for line in &mut lines {
        if let Body::Kept(record) = &mut line.body
            && let Record::Finished { result } = &mut **record
        {
            result.blocks = blocks.to_vec();
        }
    }
    transcript(lines)
}

#[test]
fn images_are_shown_where_their_bytes_are_images_and_named_elsewhere() {
    let png = ContentBlock::image("image/png", PNG);
    let transcript = with_blocks(&[
        png.clone(),
        ContentBlock::image("image/svg+xml", b"<svg onload='x()'/>"),
        ContentBlock::audio("audio/wav", b"RIFF"),
        ContentBlock::text("text"),
        ContentBlock::Image {
            mime_type: "\"><script>".into(),
            data: format!("{}\"><script>", base64::encode(PNG)).into(),
        },
    ]);
    let page = render(&transcript, ExportFormat::Html);
    let address = format!("src=\"data:image/png;base64,{}\"", base64::encode(PNG));
    assert!(page.contains(&address) && page.contains("; img-src data:\">"));
    assert!(page.contains("<p class=\"none\">image image/svg+xml, 19 bytes</p>"));
    assert!(page.contains("<p class=\"none\">audio audio/wav, 4 bytes</p>"));
    assert!(!page.contains("<script") && !page.contains("svg;base64"));
    assert!(!render(&self::transcript(lines()), ExportFormat::Html).contains("img-src"));
    let page = render(&transcript, ExportFormat::Md);
    let note = format!("\nBeside it: image image/png, {} bytes\n", PNG.len());
    assert!(page.contains(&note) && !page.contains(&base64::encode(PNG)));
    let page: Value = serde_json::from_str(&render(&transcript, ExportFormat::Json)).unwrap();
    let messages = page["messages"].as_array().unwrap().iter();
    let mut results = messages.filter_map(|message| message.get("tool_result"));
    let expected = serde_json::to_value(&png).unwrap();
    assert_eq!(results.next().unwrap()["blocks"][0], expected);
}

#[test]
fn blocks_with_what_is_a_secret_today_are_not_exported() {
    let secret = "Zq7vTokenValueXk29LmPp48";
    let bytes = [PNG, secret.as_bytes()].concat();
    let mut transcript = with_blocks(&[
        ContentBlock::image("image/png", &bytes),
        ContentBlock::structured(serde_json::json!({"a": secret})),
    ]);
    transcript.redact(&Redactor::new([("MY_TOKEN", secret)]).unwrap());
    for format in [ExportFormat::Html, ExportFormat::Md, ExportFormat::Json] {
        let page = render(&transcript, format);
        assert!(!page.contains(secret) && !page.contains("<img style"));
        assert!(!page.contains(&base64::encode(&bytes)));
    }
}
