//! The traits of a tool, and their context while it runs.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::approve::Answer;
use toolgate_gate::session::{Session, Staleness};
use toolgate_gate::tool::{
    Facts, Invocation, Output, Preview, RunCtx, Spelling, Tool, ToolSpec, typed,
};
use toolgate_model::{Args, Category, Risk, ToolError};
use toolgate_testkit::{Rig, Scripted, ScriptedApprover, asking, call, paused};

use crate::fixture::Nothing;

#[test]
fn a_running_tool_reaches_what_it_needs() {
    paused(async {
        let tool = typed(
            "looks",
            "Looks around.",
            |_: Nothing, cx: toolgate_gate::tool::RunCtx| async move {
                let limits = cx.limits();
                assert_eq!(
                    limits.effective(),
                    limits.max_bytes.min(limits.available_capacity)
                );
                assert!(
                    cx.redactor()
                        .holds_secret("ghp_0123456789abcdefghijABCDEFGHIJ012345")
                );
                assert!(cx.sandbox().open_read("missing").is_err());
                assert!(cx.entropy().bits().is_some());
                Ok(Output::plain(format!(
                    "{} {} {cx:?}",
                    cx.call_id(),
                    cx.clock().now_ms()
                )))
            },
        );
        let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
        let content = bench.one("looks", json!({})).await.content;
        assert!(content.starts_with("one 1700000000000 RunCtx"), "{content}");
    });
}

/// The least that is a tool.
struct Least(ToolSpec);

impl Tool for Least {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(Understood(Facts::none())))
    }
}

struct Understood(Facts);

impl Invocation for Understood {
    fn summary(&self) -> String {
        "does the least".into()
    }

    fn facts(&self) -> &Facts {
        &self.0
    }

    fn run(self: Box<Self>, _: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async { Ok(Output::plain("least")) })
    }
}

#[test]
fn a_tool_has_to_say_little_about_itself() {
    paused(async {
        let mut spec = ToolSpec::new("least", "Does the least.", json!({"type": "object"}));
        spec.requires_approval = true;
        let bench = Rig::new()
            .tool(Arc::new(Least(spec)) as Arc<dyn Tool>)
            .build();
        let calls = vec![call("1", "least", json!({}))];
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].content, "least");
        let asked = approver.asked();
        assert_eq!(asked.len(), 1, "the tool requires approval");
        assert_eq!(asked[0].items[0].summary, "does the least");
    });
}

/// Counts how often its arguments are read and says which call it runs in.
struct Counting(ToolSpec, Arc<std::sync::atomic::AtomicUsize>);

impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let word = args["word"].as_str().unwrap().to_owned();
        Ok(Box::new(Counted(Facts::none(), word)))
    }
}

struct Counted(Facts, String);

impl Invocation for Counted {
    fn summary(&self) -> String {
        self.1.clone()
    }

    fn facts(&self) -> &Facts {
        &self.0
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        let said = format!("{} {}", cx.call_id(), self.1);
        Box::pin(async { Ok(Output::plain(said)) })
    }
}

#[test]
fn fr_reg_02_arguments_are_read_once_and_each_call_runs_in_a_context_of_its_own() {
    paused(async {
        for asked in [false, true] {
            let parsed = Arc::default();
            let schema = json!({"type": "object", "required": ["word"],
                "properties": {"word": {"type": "string"}}});
            let mut spec = ToolSpec::new("say", "Says a word.", schema);
            spec.requires_approval = asked;
            let tool = Counting(spec, Arc::clone(&parsed));
            let bench = Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build();
            let calls =
                ["a", "b", "c"].map(|id| call(id, "say", json!({"word": format!("{id}!")})));
            let results = bench.run_asked(calls.to_vec(), Answer::yes()).await;
            let said: Vec<&str> = results.iter().map(|one| one.content.as_str()).collect();
            assert_eq!(said, ["a a!", "b b!", "c c!"]);
            let parsed = parsed.load(std::sync::atomic::Ordering::SeqCst);
            assert_eq!(parsed, 3, "once for each call, asked: {asked}");
        }
    });
}

/// The arguments of a typed tool that uses every option.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Full {
    path: String,
    #[serde(default)]
    seconds: Option<u64>,
}

#[test]
fn a_typed_tool_can_say_everything() {
    paused(async {
        let full = typed("full", "Says everything.", |args: Full, cx| async move {
            cx.cancel().cancelled().await;
            Err(ToolError::failed(format!("gave up on {}", args.path)))
        })
        .check(|args| match args.path.as_str() {
            "" => Err(ToolError::bad_args("path is empty")),
            _ => Ok(()),
        })
        .summary(|args| format!("Change {}", args.path))
        .facts(|args| Facts::writing(args.path.as_str()))
        .preview(|args, view| {
            assert_eq!(
                (view.session().id().as_str(), format!("{view:?}")),
                ("test", "View".into())
            );
            let seen = view.read(&args.path, 100)?;
            Ok(Preview {
                text: Some(format!(
                    "{} bytes",
                    seen.content.map_or(0, |content| content.len())
                )),
                rests_on: vec![seen.digest],
                ..Preview::default()
            })
        })
        .call_timeout(|args| args.seconds.map(Duration::from_secs))
        .timeout(Duration::from_secs(9))
        .side_effects()
        .risk(Risk::High)
        .category(Category::File)
        .spellings([Spelling::same("file", "path")])
        .unadvertised()
        .repeatable();
        assert!(full.spec().repeatable && !full.spec().advertised);
        let workspace = toolgate_testkit::Workspace::new().file("a.txt", "four");
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Arc::new(full) as Arc<dyn Tool>)
            .build();
        let empty = bench.one("full", json!({"file": ""})).await;
        assert_eq!(empty.content, "full failed: path is empty");
        for (args, limit) in [
            (json!({"file": "a.txt"}), "9 s"),
            (json!({"path": "a.txt", "seconds": 2}), "2 s"),
        ] {
            let approver = ScriptedApprover::new([Answer::yes()]);
            let results = bench
                .run_through(vec![call("1", "full", args)], &asking(approver.clone()))
                .await;
            assert!(results[0].content.contains(limit), "{}", results[0].content);
            let item = approver.asked()[0].items[0].clone();
            assert_eq!(
                (item.summary.as_str(), item.preview.as_deref(), item.risk),
                ("Change a.txt", Some("4 bytes"), Risk::High)
            );
        }
    });
}

#[test]
fn parts_of_the_pipeline_can_be_printed() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("noop"))
            .tool(Scripted::new("ask").side_effects())
            .build();
        let calls = ["noop", "ask", "nobody"].map(|name| call(name, name, json!({})));
        let planned = bench.gate.plan(&bench.session, calls.to_vec()).await;
        let printed: Vec<String> = planned.plans().map(|plan| format!("{plan:?}")).collect();
        for (printed, start) in printed.iter().zip(["Go(", "Ask(", "Settled("]) {
            assert!(printed.starts_with(start), "{printed}");
        }
        let ready = bench
            .gate
            .approve(&bench.session, planned, &BatchContext::default())
            .await;
        assert!(format!("{ready:?}").contains("Authorized(PlanRecord"));
        assert_eq!(
            bench
                .gate
                .execute(&bench.session, ready, &BatchContext::default())
                .await
                .len(),
            3
        );
        assert!(format!("{:?}", bench.session).starts_with("Session"));
        assert_eq!(bench.session.staleness(), Staleness::Checked);
        assert_eq!(
            Session::new("x").without_staleness().staleness(),
            Staleness::NotChecked
        );
    });
}
