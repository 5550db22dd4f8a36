//! Calls, latency, denials and bytes, in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use toolgate_model::{Status, ToolResult};

use super::{Ended, Middleware};
use crate::sync::{Mutex, lock};

/// Upper bounds of the latency buckets, in milliseconds.
const BOUNDS_MS: [u64; 10] = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 30_000, 300_000];

/// Names of unknown tools come from the model; counting each would let it fill memory.
const UNKNOWN: &str = "unknown";

#[derive(Default)]
struct Counted {
    by_kind: BTreeMap<&'static str, u64>,
    denied: u64,
    bytes: u64,
    buckets: [u64; BOUNDS_MS.len()],
    total_ms: u64,
    calls: u64,
}

/// Counts every call that settles. Clones share their counts.
#[derive(Clone, Default)]
pub struct Metrics {
    tools: Arc<Mutex<BTreeMap<String, Counted>>>,
}

impl Metrics {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts as Prometheus text.
    pub fn render(&self) -> String {
        let tools = lock(&self.tools);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let mut line = |line: std::fmt::Arguments<'_>| {
            let _ = text.write_fmt(line);
            text.push('\n');
        };
        line(format_args!(
            "# HELP toolgate_calls_total Calls that settled, by tool and kind.\n# TYPE toolgate_calls_total counter"
        ));
        for (tool, counted) in tools.iter() {
            for (kind, count) in &counted.by_kind {
                line(format_args!(
                    "toolgate_calls_total{{tool=\"{tool}\",kind=\"{kind}\"}} {count}"
                ));
            }
        }
        line(format_args!(
            "# HELP toolgate_denied_total Calls that a rule, a person or a sandbox denied.\n# TYPE toolgate_denied_total counter"
        ));
        for (tool, counted) in tools.iter() {
            line(format_args!(
                "toolgate_denied_total{{tool=\"{tool}\"}} {}",
                counted.denied
            ));
        }
        line(format_args!(
            "# HELP toolgate_result_bytes_total Bytes of content handed back.\n# TYPE toolgate_result_bytes_total counter"
        ));
        for (tool, counted) in tools.iter() {
            line(format_args!(
                "toolgate_result_bytes_total{{tool=\"{tool}\"}} {}",
                counted.bytes
            ));
        }
        line(format_args!(
            "# HELP toolgate_call_duration_ms How long calls ran.\n# TYPE toolgate_call_duration_ms histogram"
        ));
        for (tool, counted) in tools.iter() {
            for (bound, count) in BOUNDS_MS.iter().zip(&counted.buckets) {
                line(format_args!(
                    "toolgate_call_duration_ms_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {count}"
                ));
            }
            line(format_args!(
                "toolgate_call_duration_ms_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {}",
                counted.calls
            ));
            line(format_args!(
                "toolgate_call_duration_ms_sum{{tool=\"{tool}\"}} {}",
                counted.total_ms
            ));
            line(format_args!(
                "toolgate_call_duration_ms_count{{tool=\"{tool}\"}} {}",
                counted.calls
            ));
        }
        text
    }
}

impl Middleware for Metrics {
    fn name(&self) -> &str {
        "metrics"
    }

    fn after(&self, ended: &Ended<'_>, result: ToolResult) -> ToolResult {
        let plan = ended.plan;
        let name = plan.map_or(UNKNOWN, |plan| plan.tool.as_str());
        let mut tools = lock(&self.tools);
        if !tools.contains_key(name) {
            tools.insert(name.to_owned(), Counted::default());
        }
        if let Some(counted) = tools.get_mut(name) {
            *counted
                .by_kind
                .entry(result.kind().map_or("ok", |kind| kind.as_str()))
                .or_default() += 1;
            counted.denied += u64::from(result.status() == Status::Denied);
            counted.bytes += result.content.len() as u64;
            counted.total_ms += result.duration_ms;
            counted.calls += 1;
            for (bound, count) in BOUNDS_MS.iter().zip(&mut counted.buckets) {
                *count += u64::from(result.duration_ms <= *bound);
            }
        }
        drop(tools);
        result
    }
}
