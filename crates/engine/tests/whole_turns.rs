//! The law of the state machine once more, with everything around it: a model, a gate with
//! tools, a person who is asked, a record that fails, and a cancellation anywhere.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/accepted.rs"]
mod accepted;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accepted::{every_provider_accepts, one_result_per_call_in_order};
use futures::FutureExt;
use futures::future::BoxFuture;
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolgate_engine::{Finished, Prompt, Retry, Turn, TurnContext, TurnSettings, run_turn};
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Remember, Unanswered};
use toolgate_gate::execute::EventSink;
use toolgate_gate::journal::Record;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{Gate, OnError, Rules, Settings};
use toolgate_model::{BadCall, Call, CallId, ErrorKind, Event, EventKind, ToolError};
use toolgate_providers::request::{HistoryError, Tools};
use toolgate_providers::{
    Content, Message, Provider, Refused, StopReason, StreamError, StreamEvent,
};
use toolgate_testkit::{
    Act, Count, FakeClock, FaultyJournal, Scripted, Step, Workspace, paused, raw_call,
};

/// The tools of the table. Those that change something ask first.
const TOOLS: [&str; 8] = [
    "look", "change", "shown", "fails", "panics", "hangs", "slow", "unknown",
];
/// What a question about `shown` rests on.
const GROUND: &str = "ground.txt";

/// What a model says before it waits.
type Said = Vec<StreamEvent>;

/// What the person does with a question.
#[derive(Clone, Debug)]
enum Reply {
    Yes(Remember),
    No,
    /// The calls with these bits.
    Some(u8),
    Never,
    NobodyThere,
    Panics,
    /// Something changes meanwhile what is shown, and then they say yes.
    TooLate,
}

/// Everything that happens around one turn.
#[derive(Clone, Debug)]
struct World {
    answers: Vec<Result<Said, bool>>,
    replies: Vec<Reply>,
    /// Which commits of the record fail.
    failing: Vec<usize>,
    /// After how many events the turn is cancelled.
    cancelled_after: Option<usize>,
    max_concurrent: usize,
    stops_on_error: bool,
    max_iterations: u32,
}

fn call() -> impl Strategy<Value = StreamEvent> {
    let id = prop::sample::select(vec!["a", "b", "c", "a b", ""]);
    let name = prop::sample::select(TOOLS.to_vec());
    prop_oneof![
        8 => (id.clone(), name, "[a-c]?").prop_map(|(id, name, text)| {
            let call = raw_call(id, name, json!({"text": text}));
            StreamEvent::Call(Call::Whole(call))
        }),
        1 => id.prop_map(|id| {
            let error = ToolError::new(ErrorKind::BadCall, "cut");
            StreamEvent::Call(Call::Bad(BadCall { id: id.into(), name: None, error }))
        }),
    ]
}

fn answer() -> impl Strategy<Value = Result<Said, bool>> {
    let part = prop_oneof![
        2 => "[a-z ]{0,4}".prop_map(StreamEvent::Text),
        1 => "[a-z ]{0,4}".prop_map(StreamEvent::Thinking),
        6 => call(),
    ];
    let end = prop_oneof![
        6 => Just(Ok(StopReason::ToolUse)),
        1 => Just(Ok(StopReason::MaxTokens)),
        1 => Just(Err(StreamError::Cut)),
    ];
    prop_oneof![
        8 => (prop::collection::vec(part, 0..6), end).prop_map(|(mut parts, end)| {
            parts.push(StreamEvent::End(end));
            Ok(parts)
        }),
        1 => any::<bool>().prop_map(Err),
    ]
}

fn worlds() -> impl Strategy<Value = World> {
    let reply = prop_oneof![
        4 => Just(Reply::Yes(Remember::Once)),
        1 => Just(Reply::Yes(Remember::Conversation)),
        2 => Just(Reply::No),
        3 => any::<u8>().prop_map(Reply::Some),
        1 => Just(Reply::Never),
        1 => Just(Reply::NobodyThere),
        1 => Just(Reply::Panics),
        2 => Just(Reply::TooLate),
    ];
    (
        prop::collection::vec(answer(), 1..5),
        prop::collection::vec(reply, 0..6),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(1_usize..14, 1..3)],
        prop::option::of(0_usize..40),
        1_usize..4,
        any::<bool>(),
        0_u32..5,
    )
        .prop_map(
            |(
                answers,
                replies,
                failing,
                cancelled_after,
                max_concurrent,
                stops_on_error,
                max_iterations,
            )| World {
                answers,
                replies,
                failing,
                cancelled_after,
                max_concurrent,
                stops_on_error,
                max_iterations,
            },
        )
}

/// A model that says what it was told to, and remembers what it heard.
struct Model {
    answers: VecDeque<Result<Said, bool>>,
    rest: VecDeque<StreamEvent>,
    heard: Vec<Message>,
}

impl Provider for Model {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.heard.push(message.clone());
        Ok(())
    }

    fn ask(&mut self, _: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        let answer = self.answers.pop_front();
        let asked = match answer {
            Some(Ok(said)) => {
                self.rest = said.into();
                Ok(())
            }
            Some(Err(again)) => Err(Refused {
                fault: if again {
                    StreamError::Nothing
                } else {
                    StreamError::Cut
                },
                retry_after: None,
            }),
            None => Ok(()),
        };
        // A model takes its time, in which others get their turn.
        tokio::task::yield_now().map(move |()| asked).boxed()
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        let next = self.rest.pop_front();
        let next = next.unwrap_or(StreamEvent::End(Ok(StopReason::EndTurn)));
        tokio::task::yield_now().map(move |()| next).boxed()
    }
}

/// A person, and what they have said yes to.
struct Person {
    replies: Mutex<VecDeque<Reply>>,
    allowed: Mutex<Vec<String>>,
    /// Set once they have said yes for the rest of the conversation.
    remembers: Mutex<bool>,
    workspace: Arc<Workspace>,
}

impl Person {
    /// Says this, which is no yes to the tool that rests on what has changed.
    fn says(&self, request: &ApprovalRequest, answer: Answer, changed: Option<&str>) -> Answer {
        let allowed = request
            .items
            .iter()
            .filter(|item| answer.allows(&item.call_id) && Some(item.tool.as_str()) != changed);
        let tools = allowed.map(|item| item.tool.clone());
        self.allowed.lock().unwrap().extend(tools);
        answer
    }
}

impl Approver for Person {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        let reply = self.replies.lock().unwrap().pop_front();
        async move {
            tokio::task::yield_now().await;
            let mut changed = None;
            let answer = match reply {
                Some(Reply::Yes(remember)) => {
                    *self.remembers.lock().unwrap() |= remember != Remember::Once;
                    Answer::yes().remember(remember)
                }
                Some(Reply::No) => Answer::no().because("not now"),
                Some(Reply::Some(bits)) => {
                    let chosen = request.items.iter().enumerate();
                    let chosen = chosen.filter(|(at, _)| bits >> (at % 8) & 1 == 1);
                    Answer::only(
                        chosen
                            .map(|(_, item)| item.call_id.clone())
                            .collect::<Vec<CallId>>(),
                    )
                }
                Some(Reply::Never) => return std::future::pending().await,
                Some(Reply::Panics) => panic!("the person panics, says the test"),
                Some(Reply::TooLate) => {
                    let before = self.workspace.read(GROUND).unwrap_or_default();
                    self.workspace.write(GROUND, &format!("{before}more\n"));
                    changed = Some("shown");
                    Answer::yes()
                }
                Some(Reply::NobodyThere) | None => return Err(Unanswered::NobodyThere),
            };
            Ok(self.says(request, answer, changed))
        }
        .boxed()
    }
}

struct Seen {
    finished: Finished,
    heard: Vec<Message>,
    events: Vec<Event>,
    journal: FaultyJournal,
    /// How often each tool that asks ran, and how often the person let it.
    asking: Vec<(&'static str, usize, usize)>,
    remembers: bool,
}

fn tools() -> (Arc<Registry>, Vec<(&'static str, Count)>) {
    let registry = Registry::new();
    let change = Scripted::new("change").side_effects();
    let shown = Scripted::new("shown").side_effects().shows(GROUND);
    let counts = vec![("change", change.ran()), ("shown", shown.ran())];
    let failure = ToolError::new(ErrorKind::Failed, "no");
    let second = Duration::from_secs(1);
    for tool in [
        Scripted::new("look").gives("seen"),
        change,
        shown,
        Scripted::new("fails").does(Act::Fail(failure)),
        Scripted::new("panics").panics_in(Step::Run),
        Scripted::new("hangs").does(Act::Sleep).call_timeout(second),
        Scripted::new("slow").does(Act::Take(second)),
    ] {
        registry.register(Arc::new(tool)).unwrap();
    }
    (Arc::new(registry), counts)
}

async fn play(world: World) -> Seen {
    let workspace = Arc::new(Workspace::new().file(GROUND, "first\n"));
    let (registry, counts) = tools();
    let journal = FaultyJournal::failing_at(world.failing);
    let settings = Settings {
        max_concurrent: world.max_concurrent,
        on_error: if world.stops_on_error {
            OnError::Stop
        } else {
            OnError::Continue
        },
        ..Settings::default()
    };
    let gate = Gate::builder(
        registry,
        Rules::default(),
        workspace.sandbox().clone(),
        Arc::new(journal.clone()),
    )
    .settings(settings)
    .build()
    .unwrap();
    let person = Arc::new(Person {
        replies: Mutex::new(world.replies.into()),
        allowed: Mutex::default(),
        remembers: Mutex::default(),
        workspace: Arc::clone(&workspace),
    });
    let cancel = CancellationToken::new();
    let (sink, mut receiver) = EventSink::channel(4);
    let (stop, after) = (cancel.clone(), world.cancelled_after);
    let listener = tokio::spawn(async move {
        let mut events = Vec::new();
        loop {
            if after.is_some_and(|after| events.len() >= after) {
                stop.cancel();
            }
            match receiver.recv().await {
                Some(event) => events.push(event),
                None => return events,
            }
        }
    });
    let around = TurnContext {
        gate,
        session: Arc::new(Session::new("c")),
        clock: Arc::new(FakeClock::default()),
        approver: Some(Arc::clone(&person) as Arc<dyn Approver>),
        events: sink,
        cancel,
    };
    let mut model = Model {
        answers: world.answers.into(),
        rest: VecDeque::new(),
        heard: Vec::new(),
    };
    let turn = Turn::new(
        1,
        TurnSettings {
            max_iterations: world.max_iterations,
            retry: Retry {
                most: 1,
                ..Retry::default()
            },
            ..TurnSettings::default()
        },
    );
    let prompt = Prompt::Message("go".into());
    let finished = run_turn(&mut model, &around, turn, prompt).await;
    drop(around);
    let events = listener.await.unwrap();
    let allowed = person.allowed.lock().unwrap();
    let asking = counts.iter().map(|(name, count)| {
        let allowed = allowed.iter().filter(|tool| tool == name).count();
        (*name, count.get(), allowed)
    });
    Seen {
        finished,
        heard: model.heard,
        events,
        journal,
        asking: asking.collect(),
        remembers: *person.remembers.lock().unwrap(),
    }
}

fn calls_in(heard: &[Message]) -> usize {
    let contents = heard.iter().filter_map(|message| match message {
        Message::Assistant { content } => Some(content),
        _ => None,
    });
    contents.flatten().filter_map(Content::call_id).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_model_person_record_and_cancellation_do_every_call_has_one_result(world in worlds()) {
        let sound = world.failing.is_empty();
        // A turn that waits for something that never comes would be such a case as well.
        let seen = paused(async {
            tokio::time::timeout(Duration::from_secs(24 * 3_600), play(world)).await
        });
        let seen = seen.expect("a turn ends");
        one_result_per_call_in_order(&seen.heard, false);
        every_provider_accepts(&seen.heard, false);
        let calls = calls_in(&seen.heard);
        let told = |wanted: fn(&Event) -> bool| seen.events.iter().filter(|&event| wanted(event)).count();
        prop_assert_eq!(told(|event| matches!(event, Event { kind: EventKind::CallFinished { .. }, .. })), calls);
        let last = seen.events.last();
        prop_assert!(matches!(last, Some(Event { kind: EventKind::TurnFinished { .. }, .. })), "{:?}", last);
        for (tool, ran, allowed) in &seen.asking {
            prop_assert!(
                seen.remembers || ran <= allowed,
                "{tool} ran {ran} times and was allowed {allowed} times"
            );
        }
        let entries = seen.journal.entries();
        let on_record = |wanted: fn(&Record) -> bool| entries.iter().filter(|entry| wanted(&entry.record)).count();
        let finished = on_record(|record| matches!(record, Record::Finished { .. }));
        prop_assert!(finished <= calls);
        if sound {
            prop_assert_eq!(finished, calls, "{:?}", seen.finished);
            prop_assert_eq!(on_record(|record| matches!(record, Record::TurnFinished { .. })), 1);
        }
    }
}
