//! The whole line around a tool that does nothing, and around `read_file`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Runtime;
use toolgate_benches::{Figure, in_turn, report};
use toolgate_gate::approve::{Grant, GrantScope, GrantStore, GrantsInMemory};
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Output, typed};
use toolgate_gate::{BatchContext, Gate, Rules};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Action, Args, Call, Facts, ToolCall};
use toolgate_policy::{Condition, LayerSpec, LayerTrust, Operator, RuleSpec};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::ToolSettings;

/// How many calls one measurement takes.
const CALLS: u32 = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {
    /// What it says it reads, so that rules have something to look at.
    path: String,
}

/// The tool that is measured.
const NOOP: &str = "noop_3";

/// A rule that has to be looked at for a call of the measured tool and does not fit it: half
/// of them are for every tool, half for this one; half are about a path, half have a
/// condition, of every operator in turn.
fn looked_at(index: usize) -> RuleSpec {
    let tool = if index.is_multiple_of(2) { "*" } else { NOOP };
    let mut rule = RuleSpec::new(tool, Action::Deny);
    let operators = [
        (Operator::Equals, format!("private/{index}")),
        (Operator::StartsWith, format!("private/{index}/")),
        (Operator::Contains, format!("private/{index}")),
        (Operator::Matches, format!("^private/{index}/[a-z]+$")),
    ];
    if (index / 2).is_multiple_of(2) {
        let pattern = if (index / 4).is_multiple_of(2) {
            format!("private/{index}/**")
        } else {
            format!("**/cache-{index}/*")
        };
        rule.reads = Some(vec![pattern]);
    } else if let Some((operator, value)) = operators.get(index / 4 % 4) {
        rule.when.push(Condition {
            param: "path".into(),
            operator: *operator,
            value: value.as_str().into(),
        });
    }
    rule
}

struct Line {
    gate: Gate,
    session: Arc<Session>,
    passage: BatchContext,
}

impl Line {
    fn new(directory: &std::path::Path, tools: usize, rules: usize) -> Self {
        Self::with_grants(directory, tools, rules, &[])
    }

    fn with_grants(directory: &std::path::Path, tools: usize, rules: usize, yes: &[Grant]) -> Self {
        let grants = Arc::new(GrantsInMemory::default());
        let added = grants.add(yes);
        futures::FutureExt::now_or_never(added).unwrap().unwrap();
        let registry = Arc::new(Registry::new());
        toolgate_tools::register_all(&registry, &ToolSettings::default()).unwrap();
        for index in 0..tools {
            let name = format!("noop_{index}");
            let tool = typed(&name, "Does nothing.", |_: Nothing, _| async {
                Ok(Output::plain("done"))
            })
            .facts(|args| Facts::reading(args.path.as_str()));
            registry.register(Arc::new(tool)).unwrap();
        }
        let rules = (0..rules).map(looked_at).collect();
        let rules = Rules {
            layers: vec![LayerSpec::new("user", LayerTrust::Trusted, rules)],
            ..Rules::default()
        };
        let sandbox = PathSandbox::open(&PathRules::new(directory)).unwrap();
        let journal = Arc::new(MemoryJournal::holding(usize::MAX));
        let gate = Gate::builder(registry, rules, sandbox, journal)
            .grants(grants)
            .build()
            .unwrap();
        Self {
            gate,
            session: Arc::new(Session::new("bench")),
            passage: BatchContext::default(),
        }
    }

    async fn call(&self, name: &str, args: Args) {
        let call = Call::Whole(ToolCall::new("call_1", name, args));
        let results = self
            .gate
            .run(&self.session, vec![call], &self.passage)
            .await;
        assert!(results[0].error.is_none(), "{:?}", results[0]);
    }
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("two.txt"),
        "0123456789abcdef0123456789abcde\n".repeat(64),
    )
    .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let alone = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let small = Line::new(directory.path(), 10, 10);
    let tools = Line::new(directory.path(), 10_000, 10);
    let rules = Line::new(directory.path(), 10, 1_000);
    let yes = Grant {
        id: "g".into(),
        at_ms: 0,
        tool: "write_file".into(),
        scope: GrantScope::Tool,
    };
    let (some, granted) = (
        Arc::new(Line::new(directory.path(), 10, 200)),
        Arc::new(Line::with_grants(directory.path(), 10, 200, &[yes])),
    );
    let path: Args = [("path".to_owned(), "two.txt".into())]
        .into_iter()
        .collect();
    let file = directory.path().join("two.txt");
    // Whoever calls a tool is a task of the runtime, as a conversation is; coming in from
    // another thread for every call would measure the wake-up of a sleeping thread.
    let (small, tools, rules) = (Arc::new(small), Arc::new(tools), Arc::new(rules));
    let calls = |runtime: &Runtime, line: &Arc<Line>, name: &'static str, args: &Args| {
        let (line, args) = (Arc::clone(line), args.clone());
        let task = runtime.spawn(async move {
            for _ in 0..CALLS {
                line.call(name, args.clone()).await;
            }
        });
        runtime.block_on(task).unwrap();
    };
    let empty = |runtime: &Runtime, work: Duration| {
        let task = runtime.spawn(async move {
            for _ in 0..CALLS {
                let began = Instant::now();
                while began.elapsed() < work {
                    std::hint::spin_loop();
                }
                tokio::spawn(async {}).await.unwrap();
            }
        });
        runtime.block_on(task).unwrap();
    };
    // What the line itself takes, to measure what two threads make of a task that does
    // nothing else for so long.
    let line_itself = in_turn(5, 1, &mut [&mut || calls(&alone, &small, NOOP, &path)]);
    let work = Duration::from_secs_f64(line_itself[0].each(CALLS).ns * 1e-9);
    let figures = in_turn(
        41,
        1,
        &mut [
            &mut || calls(&runtime, &small, NOOP, &path),
            &mut || calls(&alone, &tools, NOOP, &path),
            &mut || calls(&alone, &rules, NOOP, &path),
            &mut || calls(&runtime, &small, "read_file", &path),
            &mut || (0..CALLS).for_each(|_| drop(std::fs::read(&file).unwrap())),
            &mut || empty(&runtime, work),
            &mut || calls(&alone, &small, NOOP, &path),
            &mut || empty(&alone, Duration::ZERO),
            &mut || calls(&alone, &some, "read_file", &path),
            &mut || calls(&alone, &granted, "read_file", &path),
        ],
    );
    let figures: Vec<Figure> = figures
        .into_iter()
        .map(|figure| figure.each(CALLS))
        .collect();
    let named = |line: &Line| format!("{} tools", line.gate.registry().list().len());
    // One thread has nobody to wake: this is the line itself.
    report(
        &format!("line, tool that does nothing, {}, 10 rules", named(&small)),
        figures[6],
        Some(("spawn and join of an empty task", figures[7])),
        Some("at most 25 µs"),
    );
    // Of two threads the one that has nothing to do is woken again and again, which takes
    // longer than the line where the machine lets its core sleep.
    report(
        "line, the same on two threads",
        figures[0],
        Some(("as much work around an empty task", figures[5])),
        Some("at most 25 µs"),
    );
    report(
        &format!("line, {}, 10 rules", named(&tools)),
        figures[1],
        Some((&named(&small), figures[6])),
        Some("equal within 20 %"),
    );
    report(
        &format!("line, {}, 1,000 rules that are looked at", named(&rules)),
        figures[2],
        Some(("10 rules", figures[6])),
        Some("equal within 20 %"),
    );
    report(
        "line, read_file of 2 KiB",
        figures[3],
        Some(("std::fs::read", figures[4])),
        Some("at most 150 µs"),
    );
    report(
        "line, read_file with 200 rules and a remembered yes",
        figures[9],
        Some(("200 rules", figures[8])),
        Some("equal within 20 %"),
    );
}
