//! What a run tells to tracing. Alone in its process: whether a span is wanted is decided
//! once per process, and a test beside it without a listener might decide first.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolgate_model::ToolError;
use toolgate_testkit::{Act, Rig, Scripted, paused};

/// Keeps the names and fields of spans; nothing else.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Span>>>);

type Span = (String, BTreeMap<String, String>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl tracing::field::Visit for Fields<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl tracing::Subscriber for Spans {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut fields = BTreeMap::new();
        span.record(&mut Fields(&mut fields));
        let mut all = self.0.lock().unwrap();
        all.push((span.metadata().name().to_owned(), fields));
        tracing::span::Id::from_u64(all.len() as u64)
    }

    fn record(&self, span: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        let mut all = self.0.lock().unwrap();
        let at = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Fields(&mut all[at].1));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn every_run_is_a_span_without_arguments_or_content() {
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.clone(), || {
        paused(async {
            let bench = Rig::new()
                .tool(Scripted::new("echo").does(Act::Echo))
                .tool(Scripted::new("fails").does(Act::Fail(ToolError::failed("broken"))))
                .tool(Scripted::new("write").side_effects())
                .build();
            bench.one("echo", json!({"text": "private words"})).await;
            bench.one("fails", json!({})).await;
            bench.one("write", json!({})).await;
        });
    });
    let spans = spans.0.lock().unwrap().clone();
    let own: Vec<_> = spans
        .iter()
        .filter(|(name, _)| name == "execute_tool")
        .collect();
    assert_eq!(own.len(), 2, "what does not run has no span");
    let (_, fields) = own[0];
    for (field, value) in [
        ("otel.name", "execute_tool echo"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "echo"),
        ("gen_ai.tool.type", "function"),
        ("gen_ai.tool.call.id", "one"),
        ("gen_ai.conversation.id", "test"),
    ] {
        assert_eq!(
            fields.get(field).map(String::as_str),
            Some(value),
            "{field} of {fields:?}"
        );
    }
    assert!(!fields.contains_key("error.type"));
    assert!(!format!("{fields:?}").contains("private"), "{fields:?}");
    assert_eq!(
        own[1].1.get("error.type").map(String::as_str),
        Some("failed")
    );
}
