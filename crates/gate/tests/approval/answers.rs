//! Answers decide which calls of a batch run; without an answer none does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolgate_gate::approve::{Answer, Remember, Unanswered};
use toolgate_gate::journal::Record;
use toolgate_model::{ErrorKind, Event, EventKind, Risk, Status};
use toolgate_testkit::{
    Act, Collected, DryEntropy, FaultyJournal, Reply, Rig, Scripted, ScriptedApprover, asking,
    call, kinds, paused, states_facts,
};

use crate::fixture::{write, writes};

#[test]
fn t_apr_01_a_mixed_batch_prompts_before_any_execution() {
    paused(async {
        let reads = Scripted::new("read");
        let ran = reads.ran();
        let bench = Rig::new()
            .tool(reads)
            .tool(Scripted::new("write").side_effects())
            .build();
        let seen = ran.clone();
        let approver = ScriptedApprover::new([Answer::yes()])
            .before(move |_| assert_eq!(seen.get(), 0, "nothing of the batch has run"));
        let calls = vec![
            call("1", "read", json!({})),
            write("2"),
            call("3", "read", json!({})),
            write("4"),
        ];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert!(results.iter().all(|result| result.status() == Status::Ok));
        let asked = approver.asked();
        assert_eq!(asked.len(), 1, "one question for the batch");
        let about: Vec<&str> = asked[0]
            .items
            .iter()
            .map(|item| item.call_id.as_str())
            .collect();
        assert_eq!(about, ["2", "4"]);
        assert_eq!(ran.get(), 2);
    });
}

#[test]
fn t_apr_02_approve_selected_executes_only_selected() {
    paused(async {
        let bench = writes();
        let calls = || (1..=3).map(|n| write(&n.to_string())).collect::<Vec<_>>();
        let denied = Some(ErrorKind::UserDenied);
        for (answer, expected) in [
            (Answer::only(["2", "nobody"]), [denied, None, denied]),
            (Answer::only(["nobody"]), [denied; 3]),
            (Answer::yes(), [None; 3]),
            (Answer::no(), [denied; 3]),
        ] {
            let results = bench.run_asked(calls(), answer.clone()).await;
            let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
            assert_eq!(kinds, expected, "{answer:?}");
        }
    });
}

#[test]
fn test_executor_user_denied() {
    paused(async {
        let tool = Scripted::new("write").side_effects();
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let results = bench.run_asked(vec![write("1")], Answer::no()).await;
        assert_eq!(
            (results[0].kind(), results[0].exit_code()),
            (Some(ErrorKind::UserDenied), 3)
        );
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn test_confirmation_integration() {
    paused(async {
        let bench = writes();
        let collected = Collected::listen(16);
        let mut passage = asking(ScriptedApprover::new([Answer::only(["2"])]));
        passage.events = collected.sink();
        bench
            .run_through(vec![write("1"), write("2")], &passage)
            .await;
        drop(passage);
        let events = collected.all().await;
        let Some(Event {
            kind: EventKind::ApprovalRequested { question },
            seq: Some(_),
            ..
        }) = events
            .iter()
            .find(|event| matches!(event.kind, EventKind::ApprovalRequested { .. }))
        else {
            panic!("{events:?}")
        };
        assert_eq!((question.items.len(), question.risk), (2, Risk::Medium));
        let answered = events.iter().find_map(|event| match &event.kind {
            EventKind::ApprovalAnswered { outcome } => Some(outcome),
            _ => None,
        });
        let answered = answered.expect("an answer");
        assert_eq!(answered.approval_id, question.approval_id);
        assert_eq!(answered.approved, ["2".into()]);
        assert_eq!(answered.denied, ["1".into()]);
        assert_eq!(
            kinds(&events),
            [
                "call_received 1",
                "call_planned 1",
                "call_received 2",
                "call_planned 2",
                "approval_requested",
                "approval_answered",
                "call_finished 1",
                "call_started 2",
                "call_finished 2"
            ]
        );
    });
}

#[test]
fn test_nil_confirmation_handler_settles_as_no_approver() {
    paused(async {
        let tool = Scripted::new("write").side_effects();
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let result = bench.one("write", json!({})).await;
        assert_eq!(
            (result.kind(), result.exit_code()),
            (Some(ErrorKind::NoApprover), 4)
        );
        assert!(
            result.content.contains("nobody is there to ask"),
            "{}",
            result.content
        );
        assert_eq!(ran.get(), 0, "a forgotten option does not skip approval");
    });
}

#[test]
fn flow_confirmation() {
    paused(async {
        let tool = Scripted::new("write")
            .spec(|spec| spec.requires_approval = true)
            .gives("written");
        let bench = Rig::new().tool(tool).build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        assert_eq!(approver.asked().len(), 1);
        assert_eq!(results[0].content, "written");
    });
}

#[test]
fn flow_confirmation_denial() {
    paused(async {
        let tool = Scripted::new("write").spec(|spec| spec.requires_approval = true);
        let ran = tool.ran();
        let bench = Rig::new().tool(tool).build();
        let results = bench.run_asked(vec![write("1")], Answer::no()).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!(ran.get(), 0);
    });
}

#[test]
fn test_example_tool() {
    paused(async {
        let example = Scripted::new("greet")
            .does(Act::Echo)
            .spec(|spec| spec.requires_approval = true);
        let ran = example.ran();
        let bench = Rig::new().tool(example).build();
        let calls = || vec![call("1", "greet", json!({"text": "hello"}))];
        let approver = ScriptedApprover::new([Answer::yes(), Answer::no()]);
        let passage = asking(approver.clone());
        let results = bench.run_through(calls(), &passage).await;
        assert_eq!(results[0].content, "hello");
        let asked = approver.asked();
        assert_eq!((asked.len(), ran.get()), (1, 1), "asked, then run");
        assert_eq!(
            (asked[0].items[0].tool.as_str(), asked[0].items.len()),
            ("greet", 1)
        );
        let refused = bench.run_through(calls(), &passage).await;
        assert_eq!(refused[0].kind(), Some(ErrorKind::UserDenied));
        assert_eq!((approver.asked().len(), ran.get()), (2, 1));
    });
}

#[test]
fn the_reason_of_a_no_reaches_the_model_on_one_line() {
    paused(async {
        let bench = writes();
        let no = Answer::no().because("use the other file\n\u{1b}[31mplease");
        let results = bench.run_asked(vec![write("1")], no).await;
        assert!(
            results[0]
                .content
                .contains("the person said no: use the other file\\n"),
            "{}",
            results[0].content
        );
        assert!(!results[0].content.contains('\u{1b}'));
        let results = bench
            .run_asked(vec![write("1")], Answer::no().because("  "))
            .await;
        assert!(
            results[0].content.contains("do not try the same again"),
            "{}",
            results[0].content
        );
    });
}

#[test]
fn no_approver_expiry_cancellation_and_panic_have_results_of_their_own() {
    paused(async {
        let bench = writes();
        let nobody = (ErrorKind::NoApprover, "nobody is there to ask");
        let failed = (ErrorKind::NoApprover, "asking for it failed");
        let late = (ErrorKind::ApprovalExpired, "Confirmation request timed out");
        let cancelled = (ErrorKind::Cancelled, "Confirmation request cancelled");
        for (reply, (kind, words)) in [
            (Reply::None(Unanswered::NobodyThere), nobody),
            (Reply::None(Unanswered::Expired), late),
            (Reply::None(Unanswered::Cancelled), cancelled),
            (Reply::Never, late),
            (Reply::None(Unanswered::Failed), failed),
            (Reply::Panic, failed),
        ] {
            let approver = ScriptedApprover::new([reply.clone()]);
            let calls = vec![write("1"), call("2", "read", json!({}))];
            let results = bench.run_through(calls, &asking(approver)).await;
            assert_eq!(results[0].kind(), Some(kind), "{reply:?}");
            assert!(results[0].content.contains(words), "{:?}", results[0]);
            assert!(
                results[0].content.contains("it was not run"),
                "{:?}",
                results[0]
            );
            assert_eq!(results[1].kind(), None, "what needs no yes runs");
        }
        let answered: Vec<String> = bench
            .journal
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.record {
                Record::Answered {
                    approved,
                    by,
                    reason,
                    ..
                } => {
                    assert!(!approved && by == "nobody");
                    reason
                }
                _ => None,
            })
            .collect();
        assert_eq!(answered.len(), 6);
    });
}

#[test]
fn without_a_time_limit_a_question_waits() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .settings(|settings| settings.approval_timeout = None)
            .build();
        let passage = asking(ScriptedApprover::new([Reply::Never]));
        let line = bench.run_through(vec![write("1")], &passage);
        let waited = tokio::time::timeout(Duration::from_secs(365 * 24 * 3600), line).await;
        assert!(waited.is_err(), "a year is not too long");
    });
}

#[test]
fn without_randomness_there_is_no_question() {
    paused(async {
        let bench = Rig::new()
            .tool(states_facts("touch").side_effects())
            .entropy(Arc::new(DryEntropy))
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let calls = vec![call("1", "touch", json!({"writes": ["a"]}))];
        let results = bench.run_through(calls, &asking(approver.clone())).await;
        assert_eq!(results[0].kind(), Some(ErrorKind::NoApprover));
        assert!(results[0].content.contains("no randomness"));
        assert!(approver.asked().is_empty());
    });
}

#[test]
fn a_journal_that_fails_before_the_question_prevents_it() {
    paused(async {
        let bench = Rig::new()
            .tool(Scripted::new("write").side_effects())
            .journal(FaultyJournal::failing_at([1]))
            .build();
        let approver = ScriptedApprover::new([Answer::yes()]);
        let results = bench
            .run_through(vec![write("1")], &asking(approver.clone()))
            .await;
        assert_eq!(results[0].kind(), Some(ErrorKind::Journal));
        assert!(approver.asked().is_empty());
        assert_eq!(
            bench.journal.of("1"),
            ["received", "planned", "finished"],
            "written when it works again"
        );
    });
}

#[test]
fn the_journal_stores_who_answered_and_for_how_long() {
    paused(async {
        let bench = writes();
        let answer = Answer::only(["1"])
            .remember(Remember::Conversation)
            .because("careful")
            .by("ann");
        bench.run_asked(vec![write("1"), write("2")], answer).await;
        let answered: Vec<_> = bench
            .journal
            .entries()
            .into_iter()
            .filter_map(|entry| match entry.record {
                Record::Answered {
                    approved,
                    scope,
                    by,
                    reason,
                    ..
                } => Some((entry.call.to_string(), approved, scope, by, reason)),
                _ => None,
            })
            .collect();
        let line = |call: &str, approved| {
            (
                call.to_owned(),
                approved,
                "conversation".to_owned(),
                "ann".to_owned(),
                Some("careful".to_owned()),
            )
        };
        assert_eq!(answered, [line("1", true), line("2", false)]);
    });
}
