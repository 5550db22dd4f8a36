//! The loop with a recorded model and a real gate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolgate_engine::{
    Context, Finished, History, Outcome, Prompt, ToolsFor, Turn, TurnContext, TurnSettings,
    run_turn,
};
use toolgate_gate::Gate;
use toolgate_gate::execute::EventSink;
use toolgate_gate::journal::{Journal, Record};
use toolgate_gate::plan::Mode;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_journal::MemoryJournal;
use toolgate_model::{ErrorKind, Event, Status, ToolResult};
use toolgate_providers::provider::Played;
use toolgate_providers::replay::Script;
use toolgate_providers::request::{Conversation, HistoryError, Tools};
use toolgate_providers::{Content, Message, Provider, Refused, StopReason, StreamEvent, Wire};
use toolgate_testkit::{Act, FakeClock, FaultyJournal, Scripted, Workspace, kinds, paused};

/// A provider that notes what it is told and asked.
struct Noting {
    inner: Played,
    said: Vec<Message>,
    asked: Vec<Tools>,
}

impl Provider for Noting {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.inner.push(message)?;
        self.said.push(message.clone());
        Ok(())
    }

    fn ask(&mut self, tools: Tools) -> futures::future::BoxFuture<'_, Result<(), Refused>> {
        self.asked.push(tools);
        self.inner.ask(tools)
    }

    fn hear(&mut self) -> futures::future::BoxFuture<'_, StreamEvent> {
        self.inner.hear()
    }
}

struct Table {
    provider: Noting,
    around: TurnContext,
    journal: MemoryJournal,
    events: mpsc::Receiver<Event>,
    _workspace: Workspace,
}

impl Table {
    fn new(script: &str, mode: Mode) -> Self {
        Self::recorded_in(script, mode, None)
    }

    fn recorded_in(script: &str, mode: Mode, instead: Option<Arc<dyn Journal>>) -> Self {
        let registry = Arc::new(Registry::new());
        registry
            .register(Arc::new(Scripted::new("look").gives("seen")))
            .unwrap();
        registry
            .register(Arc::new(Scripted::new("hang").does(Act::Sleep)))
            .unwrap();
        let workspace = Workspace::new();
        let journal = MemoryJournal::new();
        let recorded: Arc<dyn Journal> = match instead {
            Some(instead) => instead,
            None => Arc::new(journal.clone()),
        };
        let gate = Gate::builder(
            registry,
            toolgate_gate::Rules::default(),
            workspace.sandbox().clone(),
            recorded,
        )
        .settings(toolgate_gate::Settings {
            mode,
            ..Default::default()
        })
        .build()
        .unwrap();
        let (sink, events) = EventSink::channel(4096);
        let around = TurnContext {
            gate,
            session: Arc::new(Session::new("c")),
            clock: Arc::new(FakeClock::default()),
            approver: None,
            events: sink,
            cancel: CancellationToken::new(),
        };
        let script = Script::from_toml(script).unwrap();
        Self {
            provider: Noting {
                inner: Played::new(script, Default::default()),
                said: Vec::new(),
                asked: Vec::new(),
            },
            around,
            journal,
            events,
            _workspace: workspace,
        }
    }

    async fn turn(&mut self, settings: TurnSettings) -> Finished {
        let turn = Turn::new(1, settings);
        let prompt = Prompt::Message("go".into());
        run_turn(&mut self.provider, &self.around, turn, prompt).await
    }

    fn events(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            all.push(event);
        }
        kinds(&all)
    }

    /// The conversation as it would be read back.
    fn history(&self) -> History {
        let entries = self.journal.entries();
        let entries = entries.iter().map(|entry| &entry.record);
        let mut history = History::default();
        for record in entries {
            history.take(record.kind(), Some(record.clone()));
        }
        history
    }

    /// What was said is what is on record.
    fn assert_on_record(&self) {
        let mut history = self.history();
        history.close();
        assert!(history.messages == self.provider.said);
    }

    fn kinds_on_record(&self) -> Vec<String> {
        let entries = self.journal.entries();
        entries
            .iter()
            .map(|entry| {
                format!("{} {}", entry.record.kind(), entry.call)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }
}

const LOOK: &str = r#"
[[steps]]
text = "I look."
usage = { input_tokens = 5, output_tokens = 1 }
[[steps.calls]]
id = "c1"
name = "look"
args = {}

[[steps]]
text = "Done."
[[steps.expect]]
call_id = "c1"
status = "ok"
contains = ["seen"]
"#;

#[test]
fn it_e2e_01_a_call_is_run_recorded_and_the_model_goes_on_with_its_result() {
    paused(async {
        let mut table = Table::new(LOOK, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.outcome, Outcome::Done(StopReason::EndTurn));
        assert_eq!(finished.text, "Done.");
        assert_eq!(
            table.kinds_on_record(),
            [
                "turn_started",
                "user_message",
                "assistant_message",
                "received c1",
                "planned c1",
                "started c1",
                "finished c1",
                "assistant_message",
                "turn_finished",
            ]
        );
    });
}

#[test]
fn a_turn_that_is_stopped_ends_although_nobody_reads_its_events() {
    paused(async {
        let script = "[[steps]]\ntext = \"Hello you and everybody\"\nchunk_bytes = 2\n";
        let mut table = Table::new(script, Mode::Enabled);
        let (sink, _unread) = EventSink::channel(1);
        table.around.events = sink;
        let cancel = table.around.cancel.clone();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            cancel.cancel();
            tokio::time::Instant::now()
        };
        let turn = table.turn(TurnSettings::default());
        let ((finished, ended), stopped) =
            futures::join!(async { (turn.await, tokio::time::Instant::now()) }, stop);
        assert_eq!(finished.outcome, Outcome::Cancelled);
        assert!(ended >= stopped, "until then it waits for its listener");
        assert!(ended - stopped < Duration::from_secs(1));
    });
}

#[test]
fn a_record_that_cannot_be_written_is_told_once_and_parts_of_the_answer_wait() {
    paused(async {
        let script =
            "[[steps]]\ntext = \"Hello you and everybody\"\nchunk_bytes = 2\ndelay_ms = 300\n";
        for (journal, parts) in [
            (FaultyJournal::failing_from(1), 0),
            (FaultyJournal::failing_at([2]), 1),
        ] {
            let instead: Arc<dyn Journal> = Arc::new(journal.clone());
            let mut table = Table::recorded_in(script, Mode::Enabled, Some(instead));
            table.turn(TurnSettings::default()).await;
            let told = table.events();
            let errors = told.iter().filter(|kind| *kind == "error");
            assert_eq!(errors.count(), 1, "{told:?}");
            let entries = journal.entries();
            let kept = entries.iter().map(|entry| entry.record.kind());
            assert_eq!(kept.filter(|kind| *kind == "streamed").count(), parts);
        }
    });
}

#[test]
fn ac_29_text_alone_is_streamed_and_ends_the_turn() {
    paused(async {
        let script = "[[steps]]\ntext = \"Hello you\"\nchunk_bytes = 6\ndelay_ms = 5\n";
        let mut table = Table::new(script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.text, "Hello you");
        assert_eq!(
            table.events(),
            [
                "turn_started",
                "user_message",
                "text_delta",
                "text_delta",
                "assistant_message",
                "turn_finished"
            ]
        );
    });
}

#[test]
fn ac_30_calls_are_told_run_and_answered_before_the_model_is_asked_again() {
    paused(async {
        let mut table = Table::new(LOOK, Mode::Enabled);
        table.turn(TurnSettings::default()).await;
        assert_eq!(
            table.events(),
            [
                "turn_started",
                "user_message",
                "text_delta",
                "assistant_message",
                "call_received c1",
                "call_planned c1",
                "call_started c1",
                "call_finished c1",
                "text_delta",
                "assistant_message",
                "turn_finished",
            ]
        );
        assert_eq!(table.provider.asked.len(), 2);
        let [
            Message::User { .. },
            Message::Assistant { .. },
            Message::Tool { results },
            Message::Assistant { .. },
        ] = table.provider.said.as_slice()
        else {
            panic!("{:?}", table.provider.said)
        };
        assert_eq!(results[0].content, "seen");
    });
}

#[test]
fn ac_31_two_hundred_rounds_are_the_most_then_the_model_has_to_answer() {
    paused(async {
        let step = "[[steps]]\n[[steps.calls]]\nid = \"c\"\nname = \"look\"\nargs = {}\n";
        let script = format!("{}[[steps]]\ntext = \"I give up.\"\n", step.repeat(201));
        let mut table = Table::new(&script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.iterations, 200);
        assert_eq!(finished.outcome, Outcome::Done(StopReason::EndTurn));
        assert_eq!(finished.text, "I give up.");
        assert_eq!(table.provider.asked.len(), 202);
        assert_eq!(table.provider.asked[200], Tools::Offered);
        assert_eq!(table.provider.asked[201], Tools::Withheld);
        let events = table.events();
        assert_eq!(events.last().unwrap(), "turn_finished");
        let entries = table.journal.entries();
        let limits: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Finished { result } if result.kind() == Some(ErrorKind::MaxIterations) => {
                    Some(result.content.as_str())
                }
                _ => None,
            })
            .collect();
        let [told] = limits.as_slice() else {
            panic!("{limits:?}")
        };
        assert!(told.contains("Max tool iterations reached"), "{told}");
    });
}

#[test]
fn ac_32_a_cancellation_while_a_tool_runs_ends_the_turn_with_every_call_answered() {
    paused(async {
        let script = "[[steps]]\ntext = \"I wait.\"\n[[steps.calls]]\nid = \"h\"\nname = \"hang\"\nargs = {}\n[[steps.calls]]\nid = \"l\"\nname = \"look\"\nargs = {}\n";
        let mut table = Table::new(script, Mode::Enabled);
        let cancel = table.around.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            cancel.cancel();
        });
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.outcome, Outcome::Cancelled);
        assert_eq!(table.events().last().unwrap(), "turn_finished");
        let Some(Message::Tool { results }) = table.provider.said.last() else {
            panic!("{:?}", table.provider.said)
        };
        let ends: Vec<_> = results
            .iter()
            .map(|result| (result.call_id.as_str(), result.status()))
            .collect();
        assert_eq!(ends, [("h", Status::Cancelled), ("l", Status::Cancelled)]);
        assert_eq!(
            table.provider.asked.len(),
            1,
            "nobody asks after a cancellation"
        );
    });
}

#[test]
fn a_cancellation_in_the_middle_of_an_answer_keeps_what_was_said_and_answers_its_calls() {
    paused(async {
        let script = "[[steps]]\nchunk_bytes = 3\ndelay_ms = 100\ntext = \"ab\"\n[[steps.calls]]\nid = \"l\"\nname = \"look\"\nargs = {}\n[[steps.calls]]\nid = \"m\"\nname = \"look\"\nargs = { path = \"a long one that never ends\" }\n";
        let mut table = Table::new(script, Mode::Enabled);
        let cancel = table.around.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(650)).await;
            cancel.cancel();
        });
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.outcome, Outcome::Cancelled);
        assert_eq!(finished.text, "ab");
        assert!(table.events().contains(&"call_finished l".to_owned()));
        assert!(!table.kinds_on_record().contains(&"started l".to_owned()));
        for wire in Wire::ALL {
            let mut history = Conversation::new(wire);
            for message in &table.provider.said {
                history.push(message).unwrap();
            }
            assert!(history.unanswered().is_empty());
        }
    });
}

#[test]
fn without_tools_every_call_is_refused_and_none_is_offered() {
    paused(async {
        let script = LOOK
            .replace("status = \"ok\"", "kind = \"disabled\"")
            .replace("contains = [\"seen\"]", "");
        let mut table = Table::new(&script, Mode::Disabled);
        let settings = TurnSettings {
            tools: ToolsFor::Nobody,
            ..TurnSettings::default()
        };
        let finished = table.turn(settings).await;
        assert_eq!(finished.text, "Done.");
        assert_eq!(table.provider.asked, [Tools::Withheld, Tools::Withheld]);
    });
}

#[test]
fn calls_that_a_person_answers_end_the_turn_and_their_results_begin_the_next() {
    paused(async {
        let mut table = Table::new(LOOK, Mode::ParseOnly);
        let settings = TurnSettings {
            tools: ToolsFor::Person,
            ..TurnSettings::default()
        };
        let finished = table.turn(settings.clone()).await;
        let Outcome::ResultsWanted(calls) = finished.outcome else {
            panic!("{finished:?}")
        };
        let id = calls[0].id.clone();
        let given = vec![ToolResult::ok(id, "look", "seen by me")];
        let results = table.history().supplied(given).unwrap();
        let turn = Turn::new(2, settings);
        let finished = run_turn(
            &mut table.provider,
            &table.around,
            turn,
            Prompt::Results(results),
        )
        .await;
        assert_eq!(finished.text, "Done.");
        let record = table.kinds_on_record();
        assert!(
            record.contains(&"received c1".to_owned())
                && record.contains(&"finished c1".to_owned())
        );
    });
}

/// A person is asked for results of calls that a tool would take, and for no others.
#[test]
fn calls_that_no_person_can_answer_have_their_results_at_once() {
    paused(async {
        let script = r#"
            [[steps]]
            [[steps.calls]]
            id = "cut"
            name = "look"
            args_json = '{"text": '
            [[steps.calls]]
            id = "typo"
            name = "lok"
            args = {}
            [[steps.calls]]
            id = "fits"
            name = "look"
            args = {}
            [[steps.calls]]
            id = "fits"
            name = "look"
            args = {}
            [[steps]]
            text = "Done."
        "#;
        let mut table = Table::new(script, Mode::ParseOnly);
        let settings = TurnSettings {
            tools: ToolsFor::Person,
            ..TurnSettings::default()
        };
        let finished = table.turn(settings.clone()).await;
        let Outcome::ResultsWanted(calls) = &finished.outcome else {
            panic!("{finished:?}")
        };
        let wanted: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(wanted, ["fits"]);
        let events = table.events();
        for told in [
            "call_received cut",
            "call_finished cut",
            "call_finished typo",
            "call_planned fits",
        ] {
            assert!(events.contains(&told.to_owned()), "{told}: {events:?}");
        }
        // What is on record is what the next turn goes on with.
        let mut history = table.history();
        let given = |id: &str| ToolResult::ok(id.into(), "look", "seen by me");
        let results = history.supplied(vec![given("fits")]).unwrap();
        let kinds: Vec<_> = results.results().map(ToolResult::kind).collect();
        let none_wanted = [
            Some(ErrorKind::BadCall),
            Some(ErrorKind::UnknownTool),
            None,
            Some(ErrorKind::DuplicateCallId),
        ];
        assert_eq!(kinds, none_wanted);
        assert_eq!(results.by_person().count(), 1);
        let turn = Turn::new(2, settings);
        let prompt = Prompt::Results(results);
        let finished = run_turn(&mut table.provider, &table.around, turn, prompt).await;
        assert_eq!(finished.text, "Done.");
        assert_eq!(table.history().messages, table.provider.said);
    });
}

/// A text with everything in it that no result may show.
fn unclean() -> String {
    let token = format!("ghp_{}", "Ab3dEf6hIj".repeat(4));
    format!("\u{1b}[31mred\u{1b}[0m \u{202e}{token}\n") + &"line\n".repeat(40_000)
}

fn assert_clean(result: &ToolResult) {
    let text = serde_json::to_string(result).unwrap();
    for never in ["\\u001b", "\u{202e}", "ghp_"] {
        assert!(!text.contains(never), "{never}: {:?}", text.get(..200));
    }
    assert!(result.content.starts_with("red "), "{:?}", text.get(..200));
}

#[test]
fn what_a_person_supplies_is_cleaned_and_bounded_like_what_a_tool_makes() {
    paused(async {
        let mut table = Table::new(LOOK, Mode::ParseOnly);
        let settings = TurnSettings {
            tools: ToolsFor::Person,
            ..TurnSettings::default()
        };
        table.turn(settings.clone()).await;
        let mut history = table.history();
        let given = ToolResult::ok("c1".into(), "look", unclean());
        let results = history.supplied(vec![given]).unwrap();
        let (turn, prompt) = (Turn::new(2, settings), Prompt::Results(results));
        run_turn(&mut table.provider, &table.around, turn, prompt).await;
        let Some(Message::Tool { results }) = table.provider.said.last() else {
            panic!("{:?}", table.provider.said.last())
        };
        assert_clean(&results[0]);
        let handle = results[0].output_handle.as_ref();
        assert!(results[0].truncated && handle.is_some());
        assert!(results[0].content.len() <= 100 * 1024);
        table.assert_on_record();
    });
}

#[test]
fn what_is_said_of_a_call_that_never_reached_the_gate_is_cleaned() {
    paused(async {
        let name = "\\u001b[31mlook\\u202e";
        let script = format!(
            "[[steps]]\ncut = true\n[[steps.calls]]\nid = \"c1\"\nname = \"{name}\"\nargs = {{ }}\n"
        );
        let mut table = Table::new(&script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert!(
            matches!(finished.outcome, Outcome::Failed(_)),
            "{finished:?}"
        );
        let Some(Message::Tool { results }) = table.provider.said.last() else {
            panic!("{:?}", table.provider.said.last())
        };
        assert_eq!(results[0].kind(), Some(ErrorKind::Interrupted));
        assert_eq!(results[0].tool, "\\u{1b}[31mlook\\u{202e}");
        table.assert_on_record();
    });
}

/// The turn goes on by itself where there is nothing for the person to do.
#[test]
fn a_batch_without_a_call_for_the_person_goes_back_to_the_model() {
    paused(async {
        let script = LOOK
            .replace("name = \"look\"", "name = \"lok\"")
            .replace("status = \"ok\"", "kind = \"unknown_tool\"")
            .replace("contains = [\"seen\"]", "");
        let mut table = Table::new(&script, Mode::ParseOnly);
        let settings = TurnSettings {
            tools: ToolsFor::Person,
            ..TurnSettings::default()
        };
        let finished = table.turn(settings).await;
        assert_eq!(finished.text, "Done.", "{finished:?}");
        assert_eq!(table.history().messages, table.provider.said);
    });
}

#[test]
fn a_batch_of_refusals_alone_runs_nothing_and_goes_back_to_the_model() {
    paused(async {
        let script = LOOK
            .replace("name = \"look\"", "name = \"lok\"")
            .replace("status = \"ok\"", "kind = \"unknown_tool\"")
            .replace("contains = [\"seen\"]", "");
        let mut table = Table::new(&script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.text, "Done.", "{finished:?}");
        let record = table.kinds_on_record();
        assert!(record.contains(&"finished c1".to_owned()), "{record:?}");
        assert!(!record.contains(&"started c1".to_owned()), "{record:?}");
    });
}

/// A crash in the middle of a long answer loses a moment of it, and its calls are known.
#[test]
fn a_long_answer_is_on_record_while_it_comes_in() {
    paused(async {
        let script = r#"
            [[steps]]
            text = "abcdefgh"
            chunk_bytes = [1]
            delay_ms = [100]
            [[steps.calls]]
            id = "l"
            name = "look"
            args = {}
            [[steps]]
            text = "Done."
        "#;
        let mut table = Table::new(script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.text, "Done.");
        let entries = table.journal.entries();
        let parts: Vec<Record> = entries
            .iter()
            .map(|entry| entry.record.clone())
            .filter(|record| matches!(record, Record::Streamed { .. }))
            .collect();
        assert!(parts.len() >= 3, "{parts:?}");
        // As if the program had been killed after any of them.
        let mut before = String::new();
        for killed in 1..=parts.len() {
            let start = Record::UserMessage { text: "go".into() };
            let left = std::iter::once(start).chain(parts.iter().take(killed).cloned());
            let left: Vec<Record> = left.collect();
            let history = History::read(left.iter().map(|one| (one.kind(), Some(one.clone()))));
            let Message::Assistant { content } = &history.messages[1] else {
                panic!("{history:?}")
            };
            let Content::Text { text, .. } = &content[0] else {
                panic!("{content:?}")
            };
            assert!(
                text.len() > before.len() || content.len() > 1,
                "{killed}: {content:?}"
            );
            assert!("abcdefgh".starts_with(text.as_str()));
            before.clone_from(text);
            let calls = content.iter().filter_map(Content::call_id).count();
            assert_eq!(history.messages.len(), 2 + calls.min(1));
        }
        // The whole answer says it again, and counts alone.
        assert_eq!(table.history().messages, table.provider.said);
    });
}

/// An answer that comes at once costs no commit of its own.
#[test]
fn a_quick_answer_is_on_record_with_its_calls_and_not_before() {
    paused(async {
        let mut table = Table::new(LOOK, Mode::Enabled);
        table.turn(TurnSettings::default()).await;
        let entries = table.journal.entries();
        let streamed = entries.iter().filter(|one| one.record.kind() == "streamed");
        assert_eq!(streamed.count(), 0);
    });
}

#[test]
fn a_conversation_that_was_held_elsewhere_is_gone_on_with_and_on_record() {
    paused(async {
        let call = |id: &str| Content::Call {
            call: toolgate_model::ToolCall::new(id, "look", Default::default()),
        };
        let carried = History::carried_in(vec![
            Message::user("hello"),
            Message::Assistant {
                content: vec![Content::text("I look"), call("1"), call("2"), call("3")],
            },
            Message::Tool {
                results: vec![
                    ToolResult::ok("3".into(), "look", "c"),
                    ToolResult::ok("1".into(), "look", "a"),
                ],
            },
        ])
        .unwrap();
        let Message::Tool { results } = &carried[2] else {
            panic!("{carried:?}")
        };
        let kinds: Vec<_> = results
            .iter()
            .map(|result| (result.call_id.as_str(), result.kind()))
            .collect();
        let lost = Some(ErrorKind::Interrupted);
        assert_eq!(kinds, [("1", None), ("2", lost), ("3", None)]);
        let mut table = Table::new(LOOK, Mode::Enabled);
        let prompt = Prompt::After {
            history: carried.clone(),
            message: "go".into(),
        };
        let turn = Turn::new(1, TurnSettings::default());
        let finished = run_turn(&mut table.provider, &table.around, turn, prompt).await;
        assert_eq!(finished.text, "Done.");
        assert_eq!(table.provider.said[..3], carried[..]);
        assert_eq!(table.history().messages, table.provider.said);
        // A result of a call that nobody made is no history.
        let stranger = Message::Tool {
            results: vec![ToolResult::ok("9".into(), "look", "x")],
        };
        let fault = History::carried_in(vec![Message::user("hello"), stranger]).unwrap_err();
        assert!(matches!(fault, HistoryError::UnknownResult { .. }));
    });
}

/// What a result may have is what the context leaves, as far as the provider says what was used.
#[test]
fn the_room_for_results_is_computed_from_the_context_and_unknown_without_usage() {
    paused(async {
        for (usage, expected) in [
            (
                "usage = { input_tokens = 30000, output_tokens = 0 }",
                180_000,
            ),
            ("", 64 * 1024),
        ] {
            let script = LOOK.replacen("usage = { input_tokens = 5, output_tokens = 1 }", usage, 1);
            let mut table = Table::new(&script, Mode::Enabled);
            // As an earlier answer left it.
            table.around.session.set_available_capacity(5);
            let settings = TurnSettings {
                context: Some(Context::new(100_000, Some(10_000))),
                ..TurnSettings::default()
            };
            let finished = table.turn(settings).await;
            assert_eq!(finished.text, "Done.");
            assert_eq!(table.around.session.available_capacity(), expected);
        }
    });
}

#[test]
fn a_provider_that_breaks_off_is_told_and_the_conversation_goes_on() {
    paused(async {
        let script = "[[steps]]\ntext = \"I\"\ncut = true\n[[steps.calls]]\nid = \"l\"\nname = \"look\"\nargs = {}\n[[steps]]\ntext = \"Back.\"\n";
        let mut table = Table::new(script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert!(
            matches!(finished.outcome, Outcome::Failed(_)),
            "{finished:?}"
        );
        assert!(table.events().contains(&"error".to_owned()));
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.text, "Back.");
        assert_eq!(table.history().messages, table.provider.said);
    });
}

#[test]
fn an_overloaded_provider_is_asked_again_after_a_while() {
    paused(async {
        let script = "[[steps]]\nerror = { kind = \"overloaded\", message = \"busy\" }\n[[steps]]\ntext = \"Now.\"\n";
        let mut table = Table::new(script, Mode::Enabled);
        let finished = table.turn(TurnSettings::default()).await;
        assert_eq!(finished.text, "Now.");
        assert_eq!(
            table.events(),
            [
                "turn_started",
                "user_message",
                "error",
                "text_delta",
                "assistant_message",
                "turn_finished"
            ]
        );
    });
}
