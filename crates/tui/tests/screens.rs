//! Screens at three widths, as text and as pictures: what the writer writes, read by a terminal.
//!
//! `cargo xtask screenshots` writes the files anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crossterm::event::KeyCode;
use support::{Driven, item, ms, request};
use toolgate_model::{ErrorKind, EventKind, Risk, Stream, ToolError, ToolResult};
use toolgate_tui::state::{Message, State};
use toolgate_tui::terminal::{Colours, Frame, Inline};

/// What was written since the last look.
#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The look of a cell as attributes.
fn look(cell: &vt100::Cell) -> String {
    let fill = match cell.fgcolor() {
        vt100::Color::Idx(1) => "#fb4934",
        vt100::Color::Idx(2) => "#b8bb26",
        vt100::Color::Idx(3) => "#fabd2f",
        vt100::Color::Idx(6) => "#8ec07c",
        _ if cell.dim() => "#928374",
        _ => "#ebdbb2",
    };
    let weight = if cell.bold() {
        " font-weight=\"bold\""
    } else {
        ""
    };
    format!(" fill=\"{fill}\"{weight}")
}

/// A state whose frames a terminal shows.
struct Screen {
    driven: Driven,
    inline: Inline<Bytes>,
    bytes: Bytes,
    parser: vt100::Parser,
}

impl Screen {
    fn new(columns: u16, rows: u16) -> Self {
        let mut driven = Driven::new(columns, rows);
        let status = driven.state.status_mut();
        status.workspace = "project".into();
        status.trust = "guided".into();
        status.sandbox = "sandboxed".into();
        let bytes = Bytes::default();
        Self {
            inline: Inline::new(bytes.clone(), driven.size, Colours::Sixteen, true),
            driven,
            bytes,
            parser: vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 1000),
        }
    }

    /// Draws a frame; how many bytes it took.
    fn frame(&mut self, now: u64) -> usize {
        let size = self.driven.size;
        self.driven.tell(Message::Columns(size.columns), ms(now));
        let drawn = self.driven.paint(ms(now));
        let frame = Frame {
            finished: self.driven.state.take_finished(),
            live: drawn.rows,
            caret: drawn.caret,
        };
        self.inline.draw(&frame, size).unwrap();
        let written = std::mem::take(&mut *self.bytes.0.lock().unwrap());
        self.parser.process(&written);
        written.len()
    }

    fn text(&self) -> String {
        let rows = self.parser.screen().rows(0, self.driven.size.columns);
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        format!("{}\n", rows.join("\n").trim_end())
    }

    /// The screen as a picture.
    fn svg(&self) -> String {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let (wide, high) = (
            f64::from(columns) * 8.4 + 24.0,
            f64::from(rows) * 18.0 + 24.0,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2021\"/>\n"
        );
        for row in 0..rows {
            // Cells of one look that are next to each other are one text.
            let mut run: Option<(u16, String, String)> = None;
            for column in 0..=columns {
                let cell = screen.cell(row, column).filter(|cell| cell.has_contents());
                let look = cell.filter(|cell| cell.contents() != " ").map(look);
                let joins = run
                    .as_ref()
                    .is_some_and(|(_, held, _)| Some(held) == look.as_ref());
                if !joins && let Some((begin, look, words)) = run.take() {
                    let (x, y) = (f64::from(begin) * 8.4 + 12.0, f64::from(row) * 18.0 + 26.0);
                    let wide = f64::from(column - begin) * 8.4;
                    svg.push_str(&format!("<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{wide:.1}\"{look}>{words}</text>\n"));
                }
                if let (Some(cell), Some(look)) = (cell, look) {
                    let words = cell
                        .contents()
                        .replace('&', "&amp;")
                        .replace('<', "&lt;")
                        .replace('>', "&gt;");
                    run.get_or_insert((column, look, String::new()))
                        .2
                        .push_str(&words);
                }
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Compares the screen with its files.
    fn compare(&self, name: &str) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
        let name = format!("{name}-{}", self.driven.size.columns);
        for (ending, shown) in [("txt", self.text()), ("svg", self.svg())] {
            let file = directory.join(format!("{name}.{ending}"));
            if std::env::var_os("TOOLGATE_SCREENS").is_some() {
                std::fs::create_dir_all(&directory).unwrap();
                std::fs::write(&file, &shown).unwrap();
            }
            let expected = std::fs::read_to_string(&file).unwrap();
            assert!(
                expected == shown,
                "{} differs: cargo xtask screenshots\n{}",
                file.display(),
                self.text()
            );
        }
    }
}

fn talk(driven: &mut Driven) {
    driven.event(EventKind::TurnStarted {
        turn: 1,
        provider: "p".into(),
        model: "model-1".into(),
    });
    driven.event(EventKind::UserMessage {
        text: "Find out why the sum is wrong.".into(),
    });
    let answer = "The test adds **three** prices:\n\n- `total.sh` begins with 1\n- it should begin with 0\n\n| file | lines |\n|---|---|\n| total.sh | 12 |\n| prices.txt | 3 |\n\n```sh\nsum=0\n```\n";
    driven.event(EventKind::TextDelta {
        message_id: "m".into(),
        offset: 0,
        text: answer.into(),
    });
    driven.event(EventKind::AssistantMessage {
        message_id: Some("m".into()),
        text: answer.into(),
        thinking: String::new(),
        stop: "tool_use".into(),
        usage: Some(serde_json::json!({"input_tokens": 12_400, "output_tokens": 300})),
    });
}

fn received(driven: &mut Driven, id: &str, tool: &str) {
    driven.event(EventKind::CallReceived {
        call_id: id.into(),
        tool: tool.into(),
    });
}

fn finished(driven: &mut Driven, result: ToolResult) {
    driven.event(EventKind::CallFinished {
        result: Box::new(result),
    });
}

const WIDTHS: [u16; 3] = [40, 80, 140];

#[test]
fn the_conversation_looks_as_recorded() {
    for columns in WIDTHS {
        let mut screen = Screen::new(columns, 30);
        talk(&mut screen.driven);
        received(&mut screen.driven, "1", "read_file");
        finished(
            &mut screen.driven,
            ToolResult::ok(
                "1".into(),
                "read_file",
                "sum=1\nfor price in $(cat prices.txt)",
            ),
        );
        received(&mut screen.driven, "2", "run_command");
        let error = ToolError::new(ErrorKind::ExitStatus, "exit status 1");
        finished(
            &mut screen.driven,
            ToolResult::failed("2".into(), "run_command", error),
        );
        received(&mut screen.driven, "3", "read_file");
        let denied = ToolError::new(ErrorKind::PolicyDenied, ".env is denied by a rule");
        finished(
            &mut screen.driven,
            ToolResult::failed("3".into(), "read_file", denied),
        );
        received(&mut screen.driven, "4", "run_command");
        screen.driven.event(EventKind::CallStarted {
            call_id: "4".into(),
            tool: "run_command".into(),
            input: serde_json::Map::new(),
        });
        let text = "collecting\nrunning 3 tests\n".to_owned();
        screen.driven.event(EventKind::OutputChunk {
            call_id: "4".into(),
            stream: Stream::Stdout,
            offset: 0,
            text,
        });
        screen.driven.word("and then", ms(0), ms(1));
        screen.frame(3_000);
        screen.compare("conversation");
    }
}

#[test]
fn the_question_looks_as_recorded() {
    for columns in WIDTHS {
        let mut screen = Screen::new(columns, 30);
        let mut edit = item("Edit total.sh", "path: total.sh");
        edit.tool = "edit_file".into();
        edit.risk = Risk::Medium;
        edit.preview = Some("--- total.sh\n+++ total.sh\n@@ -1,2 +1,2 @@\n-sum=1\n+sum=0\n for price in $(cat prices.txt)".into());
        edit.facts.writes = vec!["total.sh".into()];
        let mut run = item("Run the test", "command: sh test.sh");
        run.facts.runs = vec![toolgate_model::Run {
            words: vec!["sh".into(), "test.sh".into()],
            opaque: false,
        }];
        run.model_reason = Some("to see whether the sum is right".into());
        screen
            .driven
            .tell(Message::Questions(vec![request(vec![edit, run])]), ms(0));
        screen.frame(0);
        screen.frame(600);
        screen.compare("question-waits");
        screen.driven.key(KeyCode::Tab, ms(700));
        screen.frame(701);
        screen.compare("question");
        screen.driven.key(KeyCode::Char('p'), ms(2_000));
        screen.frame(2_001);
        screen.compare("question-remember");
    }
}

#[test]
fn nothing_in_a_conversation_acts_on_the_screen() {
    let hostile =
        "x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}5;5H\u{202e}rtl\u{2066}\u{200b}\r\u{8}漢字 👩\u{200d}🚀";
    let long = "w".repeat(10_000);
    let mut screen = Screen::new(60, 20);
    talk(&mut screen.driven);
    for text in [hostile, &long] {
        screen
            .driven
            .event(EventKind::UserMessage { text: text.into() });
        screen.driven.event(EventKind::Error {
            message: text.into(),
        });
        received(&mut screen.driven, text, text);
        finished(
            &mut screen.driven,
            ToolResult::failed(
                text.into(),
                text,
                ToolError::new(ErrorKind::ExitStatus, text),
            ),
        );
        received(&mut screen.driven, &format!("{text}2"), text);
        screen.driven.event(EventKind::OutputChunk {
            call_id: format!("{text}2").into(),
            stream: Stream::Stdout,
            offset: 0,
            text: text.into(),
        });
        screen.driven.event(EventKind::CallStarted {
            call_id: format!("{text}2").into(),
            tool: text.into(),
            input: serde_json::Map::new(),
        });
    }
    screen.driven.tell(
        Message::Questions(vec![request(vec![item(hostile, hostile)])]),
        ms(0),
    );
    screen.driven.tell(Message::Paste(hostile.into()), ms(1));
    screen.frame(2);
    let drawn = screen.driven.paint(ms(3));
    let shown = screen.text();
    // The live region is where it was drawn: its last row is the last of the screen.
    let last = drawn.rows.last().unwrap().to_string();
    assert_eq!(
        shown.trim_end().lines().last().unwrap(),
        last.trim_end(),
        "{shown}"
    );
    assert!(
        shown.contains("Approval needed") && shown.contains(r"\u{202e}"),
        "{shown}"
    );
}

#[test]
fn a_frame_costs_the_same_after_10_000_messages() {
    let mut screen = Screen::new(80, 24);
    talk(&mut screen.driven);
    screen.frame(0);
    screen.driven.key(KeyCode::Char('a'), ms(1));
    let first = screen.frame(2);
    for number in 0..10_000_u64 {
        screen.driven.event(EventKind::UserMessage {
            text: format!("message {number}"),
        });
        if number % 100 == 0 {
            screen.frame(3);
        }
    }
    screen.frame(4);
    screen.driven.key(KeyCode::Char('b'), ms(5));
    assert_eq!(screen.frame(6), first);
    assert_eq!(screen.frame(7), 0, "nothing changed");
}

#[test]
fn a_flood_of_output_is_held_in_fifty_lines() {
    let mut screen = Screen::new(80, 24);
    received(&mut screen.driven, "1", "run_command");
    screen.driven.event(EventKind::CallStarted {
        call_id: "1".into(),
        tool: "run_command".into(),
        input: serde_json::Map::new(),
    });
    let text = "0123456789abcde\n".repeat(4096);
    for number in 0..1_600_u64 {
        let offset = number * text.len() as u64;
        screen.driven.event(EventKind::OutputChunk {
            call_id: "1".into(),
            stream: Stream::Stdout,
            offset,
            text: text.clone(),
        });
    }
    screen.frame(1);
    assert!(screen.text().contains("lines before"), "{}", screen.text());
    assert!(screen.text().matches("0123456789abcde").count() <= 50);
}

#[test]
fn fr_tui_04_calls_that_are_left_to_the_user_are_listed_with_what_to_type() {
    let mut driven = Driven::new(80, 24);
    driven.tell(Message::Paste("go".into()), ms(0));
    driven.key(KeyCode::Enter, ms(1));
    received(&mut driven, "call_1", "read_file");
    received(&mut driven, "call_2", "grep");
    driven.event(EventKind::TurnFinished {
        turn: 1,
        outcome: "results_wanted".into(),
        stop: None,
        error: None,
        usage: None,
    });
    driven.tell(Message::TurnOver(None), ms(2));
    let lines = driven.finished().join("\n");
    for part in ["read_file  call_1", "grep  call_2", "/tool ID RESULT"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    for line in [
        "/tool call_9 x",
        "/tool call_2 no hits",
        "/tool call_1 the text",
    ] {
        driven.tell(Message::Paste(line.into()), ms(3));
        driven.key(KeyCode::Enter, ms(4));
    }
    let supplied = vec![
        ("call_2".into(), "no hits".to_owned()),
        ("call_1".into(), "the text".to_owned()),
    ];
    assert_eq!(
        driven.effects.last(),
        Some(&toolgate_tui::state::Effect::Supply(supplied.clone()))
    );
    assert_eq!(State::as_supplied(&supplied).len(), 2);
}
