//! From what a tool made to the one result: sanitized, redacted, bounded, nothing lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::future::ready;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use std::io::Read;

use toolgate_gate::BatchContext;
use toolgate_gate::output::Redactor;
use toolgate_gate::session::{KeepError, KeptInMemory, KeptText, OutputStore, Session, WholeText};
use toolgate_gate::tool::{Output, Text};
use toolgate_model::{
    ConversationId, ErrorKind, Event, EventKind, OutputHandle, Status, Stream, ToolError,
    ToolResult,
};
use toolgate_testkit::{Act, Bench, Collected, Rig, Scripted, call, paused};

const SECRET: &str = "correct horse battery";

fn rig(act: Act) -> Rig {
    static MADE: OnceLock<Redactor> = OnceLock::new();
    let redactor = MADE
        .get_or_init(|| Redactor::new([("DB_PASSWORD", SECRET)]).unwrap())
        .clone();
    Rig::new()
        .tool(Scripted::new("t").does(act))
        .redactor(redactor)
}

async fn settled(output: Output) -> ToolResult {
    rig(Act::Give(output)).build().one("t", json!({})).await
}

async fn failed(error: ToolError) -> ToolResult {
    rig(Act::Fail(error)).build().one("t", json!({})).await
}

/// What the conversation kept under the handle of a result.
fn kept(bench: &Bench, result: &ToolResult) -> String {
    let handle = result.output_handle.as_ref().expect("a handle");
    let mut text = String::new();
    let outputs = bench.session.outputs();
    let opened = outputs.open(bench.session.id(), handle);
    let mut kept = opened.now_or_never().flatten().expect("kept");
    kept.read_to_string(&mut text).unwrap();
    text
}

const EVIL: &str = "a\u{1b}[31mb\u{1b}]0;title\u{7}c\r\nd\u{202e}e\u{200b}f";
const CLEAN: &str = "abc\ndef";

#[test]
fn a_tool_that_failed_is_named_and_what_was_denied_or_cancelled_is_not() {
    paused(async {
        for &kind in ErrorKind::ALL {
            let result = failed(ToolError::new(kind, "why")).await;
            let named = kind.status() == Status::Error;
            let told = if named { "t failed: why" } else { "why" };
            assert_eq!(result.content, told, "{kind:?}");
            assert_eq!(result.display, "why", "{kind:?}");
        }
    });
}

#[test]
fn plain_text_is_sanitized_and_exact_text_is_not() {
    paused(async {
        let plain = settled(Output::plain(EVIL)).await;
        assert_eq!(
            (plain.content.as_str(), plain.display.as_str()),
            (CLEAN, CLEAN)
        );
        let exact = settled(Output::exact(EVIL)).await;
        assert_eq!(
            (exact.content.as_str(), exact.display.as_str()),
            (EVIL, CLEAN)
        );
        let own = settled(Output::self_bounded(EVIL)).await;
        assert_eq!((own.content.as_str(), own.display.as_str()), (EVIL, CLEAN));
    });
}

#[test]
fn display_errors_and_metadata_are_harmless_too() {
    paused(async {
        let output = Output::plain("x")
            .display(EVIL)
            .with("said", json!([EVIL, {"deep": EVIL, EVIL: 1}]))
            .with("n", 3);
        let result = settled(output).await;
        assert_eq!(result.display, CLEAN);
        assert_eq!(
            result.metadata["said"],
            json!([CLEAN, {"deep": CLEAN, CLEAN: 1}])
        );
        assert_eq!(result.metadata["n"], 3);
        let result = failed(ToolError::failed(EVIL)).await;
        assert_eq!(result.content, format!("t failed: {CLEAN}"));
        assert_eq!(
            (
                result.error.unwrap().message.as_str(),
                result.display.as_str()
            ),
            (CLEAN, CLEAN)
        );
    });
}

#[test]
fn secrets_show_nowhere_and_the_metadata_says_how_many() {
    paused(async {
        let said = format!("the password is {SECRET}, I repeat, {SECRET}");
        for output in [
            Output::plain(&said),
            Output::exact(&said),
            Output::self_bounded(&said),
        ] {
            let output = output.display(&said).with("said", said.as_str());
            let result = settled(output).await;
            let json = serde_json::to_string(&result).unwrap();
            assert!(!json.contains(SECRET), "{json}");
            assert_eq!(result.metadata["redacted"], 2);
        }
        let result = failed(ToolError::failed(&said)).await;
        assert!(!serde_json::to_string(&result).unwrap().contains(SECRET));
        let bench = rig(Act::Give(Output::exact("nothing secret"))).build();
        assert!(bench.one("t", json!({})).await.metadata.is_empty());
    });
}

#[test]
fn a_secret_with_an_escape_sequence_in_it_is_still_one() {
    paused(async {
        let result = settled(Output::plain("correct \u{1b}[1mhorse\u{1b}[0m battery")).await;
        assert_eq!(result.content, "[redacted:env]");
    });
}

#[test]
fn chunks_are_as_harmless_as_results() {
    paused(async {
        let pieces = [EVIL, " and correct ", "horse bat", "tery\n"]
            .map(|text| (Stream::Stdout, text.as_bytes().to_vec()));
        let bench = rig(Act::Show(pieces.to_vec())).build();
        let collected = Collected::listen(16);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        bench
            .run_through(vec![call("1", "t", json!({}))], &passage)
            .await;
        drop(passage);
        let text: String = collected
            .all()
            .await
            .into_iter()
            .filter_map(|event| match event {
                Event {
                    kind: EventKind::OutputChunk { text, .. },
                    ..
                } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(text, format!("{CLEAN} and [redacted:env]\n"));
    });
}

#[test]
fn test_output_truncation() {
    paused(async {
        let whole: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let bench = rig(Act::Give(Output::plain(&whole))).build();
        bench.session.set_available_capacity(1 << 20);
        let result = bench.one("t", json!({})).await;
        assert_eq!(
            result.status(),
            Status::Ok,
            "truncated output is still output"
        );
        assert!(
            result.truncated && result.content.len() <= 100 * 1024,
            "{}",
            result.content.len()
        );
        assert!(result.content.starts_with("line 0\n") && result.content.ends_with("line 19999\n"));
        let handle = result.output_handle.clone().unwrap();
        assert!(
            result.content.contains(handle.as_str()),
            "the marker names the handle"
        );
        assert_eq!(kept(&bench, &result), whole, "nothing is lost");
        let other = ConversationId::from("other");
        let outputs = bench.session.outputs();
        assert!(
            outputs.open(&other, &handle).await.is_none(),
            "it belongs to the conversation"
        );
    });
}

#[test]
fn results_never_exceed_the_rest_of_the_context() {
    paused(async {
        for (capacity, limit) in [
            (64 * 1024, 64 * 1024),
            (500, 500),
            (0, 0),
            (1 << 30, 100 * 1024),
        ] {
            let bench = rig(Act::Give(Output::plain("word ".repeat(60_000)))).build();
            assert_eq!(
                bench.session.available_capacity(),
                64 * 1024,
                "where it is not known"
            );
            bench.session.set_available_capacity(capacity);
            let result = bench.one("t", json!({})).await;
            assert!(
                result.content.len() <= limit,
                "{capacity}: {}",
                result.content.len()
            );
            assert!(result.truncated);
        }
    });
}

#[test]
fn lines_are_bounded_where_that_is_configured() {
    paused(async {
        let whole = "line\n".repeat(1_000);
        let bench = rig(Act::Give(Output::plain(&whole)))
            .settings(|settings| settings.max_output_lines = Some(20))
            .build();
        let result = bench.one("t", json!({})).await;
        assert!(result.content.lines().count() <= 20 && result.truncated);
        assert_eq!(kept(&bench, &result), whole);
    });
}

#[test]
fn a_tool_that_bounds_its_output_keeps_its_form_within_the_limit() {
    paused(async {
        let json = serde_json::to_string_pretty(&json!({"list": vec!["item"; 40]})).unwrap();
        let bench = rig(Act::Give(Output::self_bounded(&json)))
            .settings(|settings| settings.max_output_lines = Some(5))
            .build();
        let result = bench.one("t", json!({})).await;
        assert_eq!(
            (result.content.as_str(), result.truncated),
            (json.as_str(), false),
            "lines do not count for it"
        );
        let bench = rig(Act::Give(Output::self_bounded("x".repeat(200_000)))).build();
        let result = bench.one("t", json!({})).await;
        assert!(
            result.truncated && result.content.len() <= 64 * 1024,
            "a broken word is bounded all the same"
        );
        assert_eq!(kept(&bench, &result).len(), 200_000);
    });
}

#[test]
fn an_error_that_is_a_json_object_passes_through_unchanged() {
    paused(async {
        let message = "{\n  \"code\": 7,\n  \"why\": \"\\u001b[31m no\\u200b\"\n}";
        let bench = rig(Act::Fail(ToolError::failed(message)))
            .settings(|settings| settings.max_output_lines = Some(2))
            .build();
        let result = bench.one("t", json!({})).await;
        assert_eq!(
            result.content, message,
            "byte for byte, no prefix, no marker"
        );
        assert_eq!(
            (result.kind(), result.truncated),
            (Some(ErrorKind::Failed), false)
        );

        for (message, part) in [
            (
                format!("{{\"why\": \"{}\"}}", "x".repeat(100_000)),
                "has 100011 bytes, more than the limit of 65536",
            ),
            (format!("{{\"why\": \"{SECRET}\"}}"), "holds a secret"),
            ("{\"not\": json".to_owned(), "t failed: {\"not\": json"),
            ("[1, 2]".to_owned(), "t failed: [1, 2]"),
        ] {
            let result = failed(ToolError::failed(message)).await;
            assert!(
                result.content.starts_with("t failed: ") && result.content.contains(part),
                "{}",
                result.content
            );
            assert!(!serde_json::to_string(&result).unwrap().contains(SECRET));
        }
    });
}

#[test]
fn a_long_error_is_bounded_and_kept_like_any_output() {
    paused(async {
        let message: String = (0..30_000).map(|n| format!("cause {n}\n")).collect();
        let bench = rig(Act::Fail(ToolError::failed(&message))).build();
        let result = bench.one("t", json!({})).await;
        assert!(result.truncated && result.content.len() <= 64 * 1024);
        assert_eq!(kept(&bench, &result), format!("t failed: {message}"));
        let error = result.error.unwrap();
        assert!(error.message.len() <= 64 * 1024, "{}", error.message.len());
        assert!(result.display.len() <= 2_000, "{}", result.display.len());
    });
}

#[test]
fn what_the_person_sees_is_short() {
    paused(async {
        let result = settled(Output::plain("line\n".repeat(5_000))).await;
        assert!(result.display.len() <= 2_000 && result.display.lines().count() <= 20);
        let own = settled(Output::plain("x").display("diff\n".repeat(50_000))).await;
        assert!(own.display.len() <= 64 * 1024, "{}", own.display.len());
        let refused = rig(Act::Echo)
            .build()
            .one(&"n".repeat(5_000), json!({}))
            .await;
        assert!(refused.tool.chars().count() <= 200 && refused.display.len() <= 2_000);
    });
}

#[test]
fn metadata_is_bounded_as_a_whole() {
    paused(async {
        let result = settled(
            Output::plain("x")
                .with("huge", "y".repeat(100_000))
                .with("small", 1),
        )
        .await;
        assert_eq!(result.metadata.len(), 1);
        assert!(
            result.metadata["metadata_left_out"]
                .as_str()
                .unwrap()
                .contains("more than 65536")
        );
    });
}

#[test]
fn a_tool_may_have_output_and_fail_all_the_same() {
    paused(async {
        let error = ToolError::new(ErrorKind::ExitStatus, "exit code 3");
        let output = Output {
            error: Some(error.clone()),
            ..Output::plain("stdout\n[stderr]\nstderr")
        };
        let result = settled(output.with("exit_code", 3)).await;
        assert_eq!(result.content, "stdout\n[stderr]\nstderr");
        assert_eq!(
            (result.error.as_ref(), result.display.as_str()),
            (Some(&error), "exit code 3")
        );
        let silent = settled(Output {
            error: Some(error),
            ..Output::default()
        })
        .await;
        assert_eq!(silent.content, "t failed: exit code 3");
    });
}

struct Full;

impl OutputStore for Full {
    fn keep<'a>(
        &'a self,
        _: &'a ConversationId,
        _: WholeText,
    ) -> BoxFuture<'a, Result<OutputHandle, KeepError>> {
        let full = KeepError {
            message: "no room".into(),
        };
        Box::pin(ready(Err(full)))
    }

    fn open<'a>(
        &'a self,
        _: &'a ConversationId,
        _: &'a OutputHandle,
    ) -> BoxFuture<'a, Option<KeptText>> {
        Box::pin(ready(None))
    }
}

#[test]
fn an_output_that_could_not_be_kept_is_said() {
    paused(async {
        let bench = rig(Act::Give(Output::plain("x".repeat(100_000))))
            .session(Session::new("s").keeping_in(Arc::new(Full)))
            .build();
        let result = bench.one("t", json!({})).await;
        assert!(result.truncated && result.output_handle.is_none());
        assert!(
            result.metadata["output_not_kept"]
                .as_str()
                .unwrap()
                .contains("no room")
        );
        let small = Session::new("s").keeping_in(Arc::new(KeptInMemory::with_quota(10)));
        let result = rig(Act::Give(Output::plain("x".repeat(100_000))))
            .session(small)
            .build()
            .one("t", json!({}))
            .await;
        assert!(result.output_handle.is_none());
    });
}

fn text_kind() -> impl Strategy<Value = Text> {
    prop::sample::select(vec![Text::Plain, Text::Exact, Text::SelfBounded])
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn whatever_a_tool_hands_back_is_bounded_and_free_of_secrets(
        words in prop::collection::vec(prop_oneof![any::<String>(), Just(SECRET.to_owned()), Just("long text\n".repeat(40))], 0..12),
        text in text_kind(),
        capacity in 0_usize..3_000,
        fails in any::<bool>(),
    ) {
        paused(async {
            let content = words.join(" ");
            let output = Output { text, ..Output::plain(content.clone()) };
            let act = if fails { Act::Fail(ToolError::failed(content)) } else { Act::Give(output) };
            let bench = rig(act).build();
            bench.session.set_available_capacity(capacity);
            let result = bench.one("t", json!({})).await;
            assert!(result.content.len() <= capacity, "{} of {capacity}", result.content.len());
            assert_eq!(result.truncated, result.output_handle.is_some());
            let json = serde_json::to_string(&result).unwrap();
            assert!(!json.contains(SECRET), "{json}");
            assert!(!result.display.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "{:?}", result.display);
        });
    }
}
