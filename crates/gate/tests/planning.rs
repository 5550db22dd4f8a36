//! From calls to plans: modes, limits, validation, panics, and that nothing is touched.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_gate::BatchContext;
use toolgate_gate::approve::Answer;
use toolgate_gate::plan::{Mode, Plan};
use toolgate_gate::registry::Alias;
use toolgate_model::call::Call;
use toolgate_model::json::JsonLimits;
use toolgate_model::{Access, BadCall, ErrorKind, Facts, Risk, Status, ToolError};
use toolgate_testkit::{
    Act, Bench, Rig, Scripted, ScriptedApprover, Step, Workspace, asking, call, call_because,
    paused, states_facts,
};

fn in_mode(mode: Mode, tool: Scripted) -> Bench {
    Rig::new()
        .tool(tool)
        .settings(|settings| settings.mode = mode)
        .build()
}

#[test]
fn t_mode_01_disabled_mode_rejects_tool_calls() {
    paused(async {
        let tool = Scripted::new("noop");
        let ran = tool.ran();
        let bench = in_mode(Mode::Disabled, tool);
        let bad = Call::from_wire("2", "noop", b"{", JsonLimits::default());
        let results = bench
            .run(vec![
                call("1", "noop", json!({})),
                bad,
                call("3", "nobody", json!({})),
            ])
            .await;
        for result in &results {
            assert_eq!(result.kind(), Some(ErrorKind::Disabled));
            assert_eq!(result.content, "Tool execution disabled by policy");
        }
        assert_eq!((results.len(), ran.get()), (3, 0));
    });
}

#[test]
fn t_mode_02_parse_only_mode_surfaces_pending_calls_without_execution() {
    paused(async {
        let tool = Scripted::new("look").does(Act::Echo).side_effects();
        let ran = tool.ran();
        let bench = in_mode(Mode::ParseOnly, tool);
        let calls = || {
            vec![
                call("1", "look", json!({"text": "x"})),
                call("2", "look", json!({"text": 1})),
            ]
        };
        let planned = bench.gate.plan(&bench.session, calls()).await;
        let plans: Vec<&Plan> = planned.plans().collect();
        assert!(matches!(plans[0], Plan::Manual(_)), "{:?}", plans[0]);
        assert!(plans[0].record().is_none());
        assert!(
            matches!(plans[1], Plan::Settled(_)),
            "what does not fit is refused here too"
        );
        let context = BatchContext::default();
        let by_hand = bench
            .gate
            .hand_over(&bench.session, calls(), &context)
            .await;
        let wanted: Vec<_> = by_hand
            .wanted
            .iter()
            .map(|call| (call.id.as_str(), call.args["text"].as_str()))
            .collect();
        assert_eq!(wanted, [("1", Some("x"))]);
        assert_eq!(by_hand.refused.len(), 1);
        let results = bench.run(calls()).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Disabled));
        assert!(
            results[0]
                .content
                .contains("a person has to supply its result")
        );
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn t_lim_01_exceeding_max_tool_calls_per_batch_settles_the_extras() {
    paused(async {
        let tool = Scripted::new("noop");
        let ran = tool.ran();
        let bench = Rig::new()
            .tool(tool)
            .settings(|settings| settings.limits.max_calls = 2)
            .build();
        let calls = (1..=4)
            .map(|n| call(&n.to_string(), "noop", json!({})))
            .collect();
        let results = bench.run(calls).await;
        let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
        let over = Some(ErrorKind::LimitExceeded);
        assert_eq!(kinds, [None, None, over, over]);
        assert!(
            results[2]
                .content
                .contains("call 3 of the batch and at most 2"),
            "{}",
            results[2].content
        );
        assert_eq!(ran.get(), 2);
    });
}

#[test]
fn t_val_01_an_unknown_tool_is_settled_without_a_question() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let calls = vec![call("1", "wirte", json!({}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UnknownTool));
        assert_eq!(results[0].tool, "wirte");
        assert!(
            results[0].content.contains("did you mean \"write\""),
            "{}",
            results[0].content
        );
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn t_val_02_arguments_that_do_not_fit_the_schema_are_settled_without_execution() {
    paused(async {
        let tool = Scripted::new("echo").does(Act::Echo).side_effects();
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let calls = vec![
            call("1", "echo", json!({"text": 7})),
            call("2", "echo", json!({"txet": "x"})),
        ];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert!(
            results[0]
                .content
                .contains("text: expected a string, got 7"),
            "{}",
            results[0].content
        );
        assert!(
            results[1].content.contains("did you mean \"text\""),
            "{}",
            results[1].content
        );
        for result in results {
            assert_eq!(result.kind(), Some(ErrorKind::BadArgs));
        }
        assert!(approver.asked().is_empty());
        assert_eq!(ran.get(), 0);
    });
}

/// Each row breaks a keyword that older drafts do not know or read differently.
#[test]
fn fr_val_01a_every_schema_is_read_as_draft_2020_12() {
    paused(async {
        for (schema, fits, breaks) in [
            (
                json!({"properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}]}}}),
                json!({"pair": ["a", 1]}),
                json!({"pair": [1]}),
            ),
            (
                json!({"dependentRequired": {"user": ["key"]}}),
                json!({"user": "ann", "key": "k"}),
                json!({"user": "ann"}),
            ),
            (
                json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (
                json!({"$defs": {"word": {"type": "string"}},
                    "properties": {"a": {"$ref": "#/$defs/word", "maxLength": 2}}}),
                json!({"a": "ab"}),
                json!({"a": "abc"}),
            ),
        ] {
            let mut whole = schema.clone();
            whole["type"] = json!("object");
            let tool = Scripted::new("t").spec(|spec| spec.schema = whole);
            let ran = tool.ran();
            let bench = Rig::new().tool(tool).build();
            let wrong = bench.one("t", breaks).await;
            assert_eq!(wrong.kind(), Some(ErrorKind::BadArgs), "{schema}");
            assert_eq!(ran.get(), 0, "{schema}");
            assert_eq!(bench.one("t", fits).await.kind(), None, "{schema}");
        }
    });
}

#[test]
fn limits_on_arguments_and_ids_settle_their_own_call_only() {
    paused(async {
        let bench = Rig::new()
            .tool(
                Scripted::new("echo")
                    .does(Act::Echo)
                    .spec(|spec| spec.schema = json!({"type": "object"})),
            )
            .settings(|settings| {
                settings.limits.max_args_bytes = 40;
                settings.limits.max_depth = 3;
            })
            .build();
        let bad = BadCall {
            id: "5".into(),
            name: None,
            error: ToolError::new(ErrorKind::BadCall, "cut off"),
        };
        let results = bench
            .run(vec![
                call("1", "echo", json!({"text": "fits"})),
                call("2", "echo", json!({"text": "x".repeat(40)})),
                call("3", "echo", json!({"deep": [[[1]]]})),
                call("1", "echo", json!({"text": "again"})),
                Call::Bad(bad),
                call("6", "echo", json!({"deep": [[1]]})),
                // Forty bytes as JSON, and one more.
                call("7", "echo", json!({"text": "x".repeat(29)})),
                call("8", "echo", json!({"text": "x".repeat(30)})),
            ])
            .await;
        let expected = [
            (None, "fits"),
            (Some(ErrorKind::LimitExceeded), "at most 40"),
            (
                Some(ErrorKind::LimitExceeded),
                "4 levels deep and at most 3",
            ),
            (Some(ErrorKind::DuplicateCallId), "has the id \"1\""),
            (Some(ErrorKind::BadCall), "cut off"),
            (None, ""),
            (None, "xxx"),
            (Some(ErrorKind::LimitExceeded), "have 41 bytes"),
        ];
        for (result, (kind, part)) in results.iter().zip(expected) {
            assert_eq!(result.kind(), kind, "{}", result.content);
            assert!(result.content.contains(part), "{}", result.content);
        }
        assert_eq!(
            results
                .iter()
                .map(|r| r.call_id.as_str())
                .collect::<Vec<_>>(),
            ["1", "2", "3", "1", "5", "6", "7", "8"]
        );
    });
}

#[test]
fn a_tool_that_panics_while_it_is_planned_settles_its_own_call() {
    paused(async {
        for step in [
            Step::Parse,
            Step::Summary,
            Step::Facts,
            Step::Timeout,
            Step::Preview,
            Step::PreviewLater,
        ] {
            let tool = Scripted::new("bomb").panics_in(step).side_effects();
            let ran = tool.ran();
            let bench = Rig::new().tool(tool).tool(Scripted::new("fine")).build();
            let calls = vec![call("1", "bomb", json!({})), call("2", "fine", json!({}))];
            let results = bench.run_asked(calls, Answer::yes()).await;
            assert_eq!(results[0].kind(), Some(ErrorKind::Panicked), "{step:?}");
            let said = &results[0].content;
            assert!(
                said.contains("boom in") && said.contains("\\nsecond line"),
                "{step:?}: {said}"
            );
            assert!(!said.contains('\u{1b}') && !said.contains('\n'), "{said}");
            assert_eq!(results[1].kind(), None);
            assert_eq!(ran.get(), 0);
        }
    });
}

#[test]
fn a_preview_shows_what_is_invisible_and_events_show_the_same() {
    paused(async {
        let text =
            "if (a\u{202e}\u{2066}// ok\u{2069} \u{2066}) {\u{200b}}\u{ad}\r\n\u{1b}[8mhidden\n";
        let shown = "if (a\\u{202e}\\u{2066}// ok\\u{2069} \\u{2066}) {\\u{200b}}\\u{ad}\\r\n\\u{1b}[8mhidden\n";
        let bench = Rig::new()
            .workspace(Workspace::new().file("a.txt", text))
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .build();
        let calls = vec![call("1", "edit", json!({}))];
        let planned = bench.gate.plan(&bench.session, calls).await;
        let record = planned.plans().next().unwrap().record().unwrap();
        assert_eq!(record.preview.as_deref(), Some(shown));
        let told = bench.gate.redactor().shown_plan(record);
        assert_eq!(told.preview.as_deref(), Some(shown));
    });
}

#[test]
fn a_preview_that_fails_settles_the_call_without_a_question() {
    paused(async {
        let workspace = Workspace::new().file("big", &"x".repeat(2 << 20));
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Scripted::new("edit").side_effects().shows("big"))
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through(
                vec![call("1", "edit", json!({}))],
                &asking(approver.clone()),
            )
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::TooLarge));
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn a_plan_carries_the_canonical_name_and_arguments_and_a_hash_of_everything() {
    paused(async {
        let workspace = Workspace::new().file("a.txt", "old");
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Scripted::new("edit").side_effects().shows("a.txt"))
            .build();
        bench
            .registry
            .alias(Alias::new("change", "edit").preset("text", "preset"))
            .unwrap();
        let planned = bench
            .gate
            .plan(
                &bench.session,
                vec![call_because("1", "change", json!({}), "why not")],
            )
            .await;
        let plan = planned.plans().next().unwrap();
        assert!(format!("{plan:?}").starts_with("Ask("), "{plan:?}");
        let record = plan.record().unwrap().clone();
        assert_eq!(
            (record.tool.as_str(), record.call.name.as_str()),
            ("edit", "edit")
        );
        assert_eq!(record.call.args["text"], "preset");
        assert_eq!(record.preview.as_deref(), Some("old"));
        assert_eq!(record.rests_on.len(), 1);
        let hash = |args: Value| {
            let bench = &bench;
            async move {
                let planned = bench
                    .gate
                    .plan(&bench.session, vec![call("2", "edit", args)])
                    .await;
                planned
                    .plans()
                    .next()
                    .unwrap()
                    .record()
                    .unwrap()
                    .plan_hash
                    .clone()
            }
        };
        assert_eq!(
            hash(json!({"text": "preset"})).await,
            record.plan_hash,
            "the same call, the same ground"
        );
        assert_ne!(hash(json!({"text": "other"})).await, record.plan_hash);
        bench.workspace.write("a.txt", "new");
        assert_ne!(hash(json!({"text": "preset"})).await, record.plan_hash);
    });
}

/// Everything at once: allowed, asked, denied, damaged, panicking.
fn everything() -> (Bench, Vec<Call>) {
    let workspace = Workspace::new()
        .file("a.txt", "old")
        .file("deep/b.txt", "b")
        .file(".env", "KEY=1");
    let bench = Rig::new()
        .workspace(workspace)
        .tool(Scripted::new("noop"))
        .tool(
            Scripted::new("edit")
                .side_effects()
                .shows("a.txt")
                .facts(Facts::writing("a.txt")),
        )
        .tool(
            Scripted::new("bomb")
                .panics_in(Step::Preview)
                .side_effects(),
        )
        .tool(Scripted::new("make").side_effects().does(Act::Write {
            path: "new/c.txt".into(),
            content: "c".into(),
        }))
        .tool(states_facts("touch").side_effects())
        .settings(|settings| {
            settings.limits.max_calls = 20;
            settings.command_sandbox = true;
        })
        .build();
    let calls = vec![
        call("1", "noop", json!({})),
        call("2", "edit", json!({})),
        call("3", "bomb", json!({})),
        call("4", "make", json!({})),
        call(
            "5",
            "touch",
            json!({"reads": ["deep"], "writes": ["new/x"], "deletes": ["deep/b.txt"]}),
        ),
        call(
            "6",
            "touch",
            json!({"connects": ["example.com:443"], "commands": [["curl", "http://example.com"]]}),
        ),
        call("7", "touch", json!({"reads": [".env"]})),
        call("8", "touch", json!({"writes": ["../out"]})),
        call("9", "nobody", json!({})),
        Call::from_wire("10", "noop", b"{\"a\":1,\"a\":2}", JsonLimits::default()),
    ];
    (bench, calls)
}

#[test]
fn planning_leaves_the_workspace_as_it_is() {
    paused(async {
        let (bench, calls) = everything();
        let before = bench.workspace.snapshot();
        let planned = bench.gate.plan(&bench.session, calls).await;
        assert_eq!(planned.plans().count(), 10);
        assert!(
            planned
                .plans()
                .filter(|plan| matches!(plan, Plan::Ask(_)))
                .count()
                >= 4
        );
        assert_eq!(bench.workspace.snapshot(), before);
        assert!(
            bench.journal.entries().is_empty(),
            "the record is written by the next stage"
        );
        assert_eq!(bench.entropy.given(), 0);
    });
}

/// Set in the child process of the next test.
const CHILD: &str = "TOOLGATE_TEST_PLANS_ONLY";

/// A process that may not write a byte to any file: the kernel ends it at the first.
#[test]
fn planning_writes_to_no_file_and_opens_no_socket() {
    if std::env::var_os(CHILD).is_some() {
        return plan_under_the_limit();
    }
    let binary = std::env::current_exe().unwrap();
    let test = "planning_writes_to_no_file_and_opens_no_socket";
    // What a process that is ended leaves lies in here.
    let directory = tempfile::tempdir().unwrap();
    let status = |mode: &str| {
        std::process::Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" --exact \"$1\" --nocapture --test-threads=1",
            ])
            .args([binary.as_os_str(), test.as_ref()])
            .env(CHILD, mode)
            .env("TMPDIR", directory.path())
            // A build that counts its own coverage would write that down at the end.
            .env("LLVM_PROFILE_FILE", "/dev/null")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap()
    };
    let plans = status("plans");
    assert!(
        plans.status.success(),
        "{}",
        String::from_utf8_lossy(&plans.stderr)
    );
    let writes = status("writes");
    assert!(!writes.status.success(), "the limit itself is in force");
}

fn plan_under_the_limit() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let (bench, calls) = everything();
    let sockets = || {
        let names = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = names.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        links
            .filter(|link| link.to_string_lossy().starts_with("socket:"))
            .count()
    };
    let before = (bench.workspace.snapshot(), sockets());
    let nothing = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Fsize, nothing).unwrap();
    if std::env::var(CHILD).as_deref() == Ok("writes") {
        // The kernel's signal ends the process; were it ignored, the write fails.
        std::fs::write(bench.workspace.path().join("x"), "x").unwrap();
    }
    paused(async {
        let planned = bench.gate.plan(&bench.session, calls).await;
        assert_eq!(planned.plans().count(), 10);
    });
    assert_eq!((bench.workspace.snapshot(), sockets()), before);
}

/// What planning runs through cannot even name a socket.
#[test]
fn nothing_on_the_way_of_a_plan_knows_the_network() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap();
    let mut directories: Vec<_> = [
        "gate/src",
        "policy/src",
        "shell/src",
        "model/src",
        "sandbox/src/paths",
        "tools/src",
    ]
    .iter()
    .map(|f| root.join(f))
    .collect();
    // Of the tools these three are the way to the web, which only a running call goes.
    let web = root.join("tools/src/web");
    let connects = ["exchange.rs", "mod.rs", "network.rs"].map(|name| web.join(name));
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            if connects.contains(&path) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for word in [
                "tokio::net",
                "TcpStream",
                "UdpSocket",
                "UnixStream",
                "rustix::net",
                "ToSocketAddrs",
                "hyper::",
                "reqwest::",
            ] {
                assert!(!code.contains(word), "{} names {word}", path.display());
            }
            files += 1;
        }
    }
    assert!(files > 120, "{files} files looked at");
}

fn json_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,5}".prop_map(Value::from),
        prop::collection::vec(any::<u8>().prop_map(Value::from), 0..3).prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_44_tool_invocation_parameter_validation(
        args in prop::collection::btree_map(prop::sample::select(vec!["text", "txt", "count"]), json_value(), 0..3)
    ) {
        let args = json!(args);
        let fits = args.as_object().unwrap().iter().all(|(key, value)| key == "text" && value.is_string());
        paused(async {
            let tool = Scripted::new("echo").does(Act::Echo);
            let ran = tool.ran();
            let bench = Rig::new().tool(tool).build();
            let result = bench.one("echo", args.clone()).await;
            if fits {
                assert_eq!(result.kind(), None);
            } else {
                assert_eq!(result.kind(), Some(ErrorKind::BadArgs), "{args}");
                let error = result.error.unwrap();
                assert!(["text", "txt", "count"].iter().any(|name| error.message.contains(name)), "{}", error.message);
            }
            assert_eq!(ran.get(), usize::from(fits));
        });
    }

    #[test]
    fn property_45_tool_invocation_description(
        text in prop_oneof![any::<String>(), "[a-z]{0,20}"],
        name in "[a-z][a-z0-9_]{0,20}",
        risk in prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High]),
        side_effects in any::<bool>(),
    ) {
        paused(async {
            let tool = Scripted::new(&name).spec(|spec| {
                spec.risk = risk;
                spec.side_effects = side_effects;
            });
            let bench = Rig::new().tool(tool).build();
            let planned = bench.gate.plan(&bench.session, vec![call("1", &name, json!({"text": text}))]).await;
            let record = planned.plans().next().unwrap().record().unwrap();
            assert_eq!((&record.tool, record.risk), (&name, risk));
            let summary = &record.summary;
            assert!(summary.starts_with(&name) && !summary.trim().is_empty(), "{summary:?}");
            if text.bytes().all(|byte| byte.is_ascii_lowercase()) && text.len() <= 20 {
                assert_eq!(summary.trim_end(), format!("{name} {text}").trim_end());
            }
            assert!(summary.chars().count() <= 200, "{}", summary.chars().count());
            assert!(!summary.chars().any(char::is_control), "{summary:?}");
        });
    }

    #[test]
    fn property_46_tool_invocation_locations(
        reads in prop::collection::vec("[a-z]{1,5}/[a-z]{1,5}", 0..3),
        writes in prop::collection::vec("[a-z]{1,5}", 0..3),
        deletes in prop::collection::vec("[a-z]{1,5}", 0..2),
        connects in prop::collection::vec("[a-z]{1,5}\\.example", 0..2),
    ) {
        paused(async {
            let bench = Rig::new().tool(states_facts("touch").side_effects()).build();
            let args = json!({"reads": reads, "writes": writes, "deletes": deletes, "connects": connects});
            let planned = bench.gate.plan(&bench.session, vec![call("1", "touch", args)]).await;
            let record = planned.plans().next().unwrap().record().unwrap();
            for place in reads.iter().chain(&writes).chain(&deletes).chain(&connects) {
                assert!(record.locations.contains(place), "{place} of {:?}", record.locations);
            }
            let touched = reads.len() + writes.len() + deletes.len() + connects.len();
            assert!(record.locations.len() <= touched);
            let written: Vec<_> = record.facts.paths().filter(|(access, _)| *access == Access::Write).collect();
            assert_eq!(written.len(), writes.len());
        });
    }
}

#[test]
fn a_name_nobody_registered_is_harmless_wherever_it_shows() {
    paused(async {
        let bench = Rig::new().tool(Scripted::new("noop")).build();
        let evil = "x\u{1b}]0;evil\u{7}\nok";
        let collected = toolgate_testkit::Collected::listen(8);
        let passage = toolgate_gate::BatchContext {
            events: collected.sink(),
            ..Default::default()
        };
        let results = bench
            .run_through(vec![call("1", evil, json!({}))], &passage)
            .await;
        drop(passage);
        assert_eq!(results[0].status(), Status::Error);
        let shown = format!(
            "{} {} {}",
            results[0].tool, results[0].content, results[0].display
        );
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\n'),
            "{shown:?}"
        );
        let events = serde_json::to_string(&collected.all().await).unwrap();
        assert!(!events.contains("u001b"), "{events}");
    });
}

/// The text of a path is looked at before policy, whatever tool names it.
#[test]
fn what_cannot_be_a_path_ends_before_policy() {
    paused(async {
        let bench = Rig::new().tool(states_facts("act")).build();
        let long = "n".repeat(300);
        for key in ["reads", "writes", "deletes"] {
            for path in ["a\0b", long.as_str()] {
                let args = json!({ key: ["fine.txt", path] });
                let planned = bench
                    .gate
                    .plan(&bench.session, vec![call("c", "act", args)])
                    .await;
                let plan = planned.plans().next().unwrap();
                let Plan::Settled(refusal) = plan else {
                    panic!("{key} {path:?}: {plan:?}")
                };
                assert_eq!(refusal.error.kind, ErrorKind::BadArgs, "{key} {path:?}");
                assert!(refusal.record.is_none(), "{key} {path:?}");
            }
        }
        // What a command claims is no path yet.
        let claims = Facts {
            reads: vec!["a\0b".into()],
            claimed: true,
            ..Facts::none()
        };
        let bench = Rig::new()
            .tool(Scripted::new("claims").facts(claims))
            .build();
        let result = bench.one("claims", json!({})).await;
        assert_ne!(result.kind(), Some(ErrorKind::BadArgs), "{result:?}");
    });
}
