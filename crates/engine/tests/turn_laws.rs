//! The laws of the state machine: whatever happens, in whatever order, every call has one
//! result, in call order, and the history is one that every provider accepts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/accepted.rs"]
mod accepted;

use std::time::Duration;

use accepted::{every_provider_accepts, one_result_per_call_in_order};
use proptest::prelude::*;
use toolgate_engine::{
    Context, Effect, History, Input, Next, Outcome, Prompt, Retry, Step, Streamed, ToolsFor, Turn,
    TurnSettings,
};
use toolgate_gate::ByHand;
use toolgate_gate::journal::Record;
use toolgate_model::{BadCall, Call, ErrorKind, ToolCall, ToolError, ToolResult};
use toolgate_providers::request::Tools;
use toolgate_providers::{
    Content, Message, ProviderError, ProviderErrorKind, Refused, Seal, StopReason, StreamError,
    StreamEvent, Usage,
};

/// What the world does next, whatever the machine waits for.
#[derive(Clone, Debug)]
enum Move {
    Says(StreamEvent),
    Refuses(bool, Option<u64>),
    /// Results come: shuffled, short of one, or with a stranger.
    Settles(u8),
    /// The batch is checked for the person; the bits say which calls are theirs to answer.
    HandsOver(u8),
    /// Time passes.
    Elapses,
    Cancels,
    Breaks,
}

fn fault(retryable: bool) -> StreamError {
    StreamError::Provider(ProviderError {
        kind: if retryable {
            ProviderErrorKind::Overloaded
        } else {
            ProviderErrorKind::Authentication
        },
        message: "no".into(),
        code: String::new(),
    })
}

fn moves() -> impl Strategy<Value = Move> {
    let id = prop::sample::select(vec!["a", "b", "c", "a b", ""]);
    let name = prop::sample::select(vec!["read_file", "x", "läuft"]);
    prop_oneof![
        3 => "[a-z ]{0,4}".prop_map(|text| Move::Says(StreamEvent::Text(text))),
        1 => "[a-z ]{0,4}".prop_map(|text| Move::Says(StreamEvent::Thinking(text))),
        1 => Just(Move::Says(StreamEvent::Sealed(Seal::Signature("s".into())))),
        1 => "[a-z]{0,4}".prop_map(|text| Move::Says(StreamEvent::Refusal(text))),
        4 => (id.clone(), name).prop_map(|(id, name)| {
            let call = ToolCall::new(id, name, Default::default());
            Move::Says(StreamEvent::Call(Call::Whole(call)))
        }),
        2 => (id.clone(), 1_u64..4).prop_map(|(id, number)| {
            let (id, name) = (id.into(), "x".to_owned());
            Move::Says(StreamEvent::CallStarted { number, id, name })
        }),
        1 => id.prop_map(|id| {
            let error = ToolError::new(ErrorKind::BadCall, "cut");
            let call = BadCall { id: id.into(), name: None, error };
            Move::Says(StreamEvent::Call(Call::Bad(call)))
        }),
        1 => Just(Move::Says(StreamEvent::Usage(Usage { input_tokens: 9, ..Usage::default() }))),
        4 => Just(Move::Says(StreamEvent::End(Ok(StopReason::EndTurn)))),
        1 => Just(Move::Says(StreamEvent::End(Ok(StopReason::MaxTokens)))),
        1 => any::<bool>().prop_map(|cut| {
            let fault = if cut { StreamError::Cut } else { fault(true) };
            Move::Says(StreamEvent::End(Err(fault)))
        }),
        1 => (any::<bool>(), prop::option::of(0_u64..100)).prop_map(|(r, s)| Move::Refuses(r, s)),
        3 => any::<u8>().prop_map(Move::Settles),
        3 => any::<u8>().prop_map(Move::HandsOver),
        2 => Just(Move::Elapses),
        1 => Just(Move::Cancels),
        1 => Just(Move::Breaks),
    ]
}

/// Everything that came out of a turn.
#[derive(Default)]
struct Seen {
    said: Vec<Message>,
    /// The begin and the end of the turn, as they are recorded.
    turns: Vec<Record>,
    asked: Vec<Tools>,
    batches: Vec<Vec<Call>>,
    settled_aside: usize,
    /// What was noted of the answer that comes in.
    streamed: Streamed,
    outcome: Option<Outcome>,
}

impl Seen {
    fn take(&mut self, step: &Step) {
        for effect in &step.effects {
            match effect {
                Effect::Say(message) => self.said.push(message.clone()),
                Effect::Record(
                    record @ (Record::TurnStarted { .. } | Record::TurnFinished { .. }),
                ) => {
                    self.turns.push(record.clone());
                }
                Effect::Settle { calls, results } => {
                    assert_eq!(calls.len(), results.len());
                    self.settled_aside += calls.len();
                    let results = results.clone();
                    self.said.push(Message::Tool { results });
                }
                Effect::Record(part @ Record::Streamed { .. }) => {
                    self.streamed.take(Some(part.clone()));
                }
                Effect::Record(Record::AssistantMessage { content, .. }) => {
                    let parts = std::mem::take(&mut self.streamed).into_content();
                    self.noted_is_a_beginning(&parts, content);
                }
                _ => {}
            }
        }
        match &step.next {
            Next::Ask(tools) => self.asked.push(*tools),
            Next::Run(calls) | Next::HandOver(calls) => self.batches.push(calls.clone()),
            Next::Finish(finished) => self.outcome = Some(finished.outcome.clone()),
            Next::Listen { .. } | Next::Wait(_) | Next::Await => {}
        }
    }

    /// What was noted on the way is how the whole answer begins.
    fn noted_is_a_beginning(&self, parts: &[Content], whole: &serde_json::Value) {
        let whole: Vec<Content> = serde_json::from_value(whole.clone()).unwrap();
        assert!(parts.len() <= whole.len(), "{parts:?} {whole:?}");
        for (at, (part, full)) in parts.iter().zip(&whole).enumerate() {
            match (part, full) {
                (a, b) if a == b => {}
                (
                    Content::Text {
                        text: a,
                        refusal: c,
                    },
                    Content::Text {
                        text: b,
                        refusal: d,
                    },
                ) => {
                    assert!(at + 1 == parts.len() && c == d && b.starts_with(a.as_str()));
                }
                (Content::Thinking { text: a, seal }, Content::Thinking { text: b, .. }) => {
                    assert!(at + 1 == parts.len() && seal.is_none() && b.starts_with(a.as_str()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn by_hand(calls: &[Call], which: u8) -> ByHand {
    let mut by_hand = ByHand::default();
    for (at, call) in calls.iter().enumerate() {
        match call {
            Call::Whole(call) if which >> (at % 8) & 1 == 1 => by_hand.wanted.push(call.clone()),
            call => {
                let error = ToolError::new(ErrorKind::BadArgs, "no");
                let result = ToolResult::failed(call.id().clone(), "t", error);
                by_hand.refused.push(result);
            }
        }
    }
    by_hand
}

fn results(calls: &[Call], how: u8) -> Vec<ToolResult> {
    let result = |call: &Call| ToolResult::ok(call.id().clone(), "t", format!("for {}", call.id()));
    let mut results: Vec<ToolResult> = calls.iter().map(result).collect();
    match how % 4 {
        1 => results.reverse(),
        2 => drop(results.pop()),
        3 => results.push(ToolResult::ok("stranger".into(), "t", "")),
        _ => {}
    }
    results
}

/// Plays moves against a turn, each where it fits or does not; then lets the turn end.
fn play(settings: TurnSettings, moves: Vec<Move>) -> Seen {
    let mut turn = Turn::new(1, settings);
    let mut seen = Seen::default();
    let mut step = turn.begin(Prompt::Message("hi".into()));
    seen.take(&step);
    let end = [Move::Cancels, Move::Settles(0), Move::HandsOver(0)];
    for one in moves.into_iter().chain(end) {
        let before = step.next.clone();
        let input = match (&step.next, one) {
            (Next::Finish(_), _) => break,
            (_, Move::Cancels) => Input::Cancel,
            (_, Move::Breaks) => Input::Broken(StreamError::Cut),
            (Next::Ask(_), Move::Refuses(again, seconds)) => Input::Refused(Refused {
                fault: fault(again),
                retry_after: seconds.map(Duration::from_secs),
            }),
            (Next::Ask(_), _) => Input::Asked,
            (Next::Listen { .. }, Move::Says(event)) => Input::Heard(event),
            (Next::HandOver(_) | Next::Await, Move::HandsOver(which)) => {
                let calls = seen.batches.last().cloned().unwrap_or_default();
                Input::HandedOver(by_hand(&calls, which))
            }
            (Next::Run(_) | Next::Await, Move::Settles(how)) => {
                let calls = seen.batches.last().cloned().unwrap_or_default();
                Input::Results(results(&calls, how))
            }
            (Next::Wait(_), _) => Input::Elapsed,
            // What does not fit now is thrown in all the same: it must change nothing.
            (_, Move::Says(event)) => Input::Heard(event),
            (_, Move::Refuses(..)) => Input::Refused(fault(true).into()),
            (_, Move::Settles(_)) => Input::Results(Vec::new()),
            (_, Move::HandsOver(_)) => Input::HandedOver(ByHand::default()),
            (_, Move::Elapses) => Input::Elapsed,
        };
        let out_of_place = matches!(
            (&before, &input),
            (
                Next::Run(_) | Next::HandOver(_),
                Input::Heard(_) | Input::Refused(_) | Input::Elapsed
            ) | (Next::Run(_), Input::HandedOver(_))
                | (Next::HandOver(_), Input::Results(_))
                | (
                    Next::Await,
                    Input::Heard(_) | Input::Refused(_) | Input::Elapsed
                )
        );
        step = turn.step(input);
        if out_of_place {
            assert!(step.effects.is_empty(), "{step:?}");
            step.next = before;
            continue;
        }
        seen.take(&step);
    }
    assert!(turn.is_over(), "{turn:?}");
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn every_interleaving_ends_with_one_result_per_call_and_a_history_each_provider_accepts(
        moves in prop::collection::vec(moves(), 0..60),
        max_iterations in 0_u32..4,
        person in any::<bool>(),
        nobody in any::<bool>(),
    ) {
        let settings = TurnSettings {
            max_iterations,
            tools: match (person, nobody) {
                (true, _) => ToolsFor::Person,
                (false, true) => ToolsFor::Nobody,
                (false, false) => ToolsFor::Gate,
            },
            retry: Retry { most: 1, ..Retry::default() },
            context: Some(Context::new(1_000, None)),
            ..TurnSettings::default()
        };
        let seen = play(settings, moves);
        let outcome = seen.outcome.clone().expect("an outcome");
        let left = matches!(outcome, Outcome::ResultsWanted(_));
        one_result_per_call_in_order(&seen.said, left);
        every_provider_accepts(&seen.said, left);
        prop_assert!(seen.batches.len() <= usize::try_from(max_iterations).unwrap());
        let started = matches!(seen.turns.first(), Some(Record::TurnStarted { turn: 1, .. }));
        prop_assert!(started);
        let last = seen.turns.last();
        let Some(Record::TurnFinished { turn: 1, outcome: told, .. }) = last else {
            panic!("{last:?}")
        };
        prop_assert_eq!(told.as_str(), outcome.as_str());
    }
}

fn call(id: &str) -> StreamEvent {
    StreamEvent::Call(Call::Whole(ToolCall::new(id, "t", Default::default())))
}

/// At the limit the calls settle once, the next request carries no tools, and then it is over.
#[test]
fn at_the_limit_calls_settle_as_errors_once_and_the_next_request_carries_no_tools() {
    let says = |event| Move::Says(event);
    let end = || says(StreamEvent::End(Ok(StopReason::ToolUse)));
    let asked = || says(StreamEvent::Text(String::new()));
    let moves = vec![
        asked(),
        says(call("1")),
        end(),
        Move::Settles(0),
        asked(),
        says(call("2")),
        end(),
        asked(),
        says(call("3")),
        end(),
    ];
    let settings = TurnSettings {
        max_iterations: 1,
        ..TurnSettings::default()
    };
    let seen = play(settings, moves);
    assert_eq!(
        seen.asked,
        [Tools::Offered, Tools::Offered, Tools::Withheld]
    );
    assert_eq!(seen.batches.len(), 1);
    assert_eq!(seen.settled_aside, 2);
    assert_eq!(seen.outcome, Some(Outcome::MaxIterations));
    let kinds: Vec<_> = seen
        .said
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].kind()),
            _ => None,
        })
        .collect();
    let limit = Some(ErrorKind::MaxIterations);
    assert_eq!(kinds, [None, limit, limit]);
}

#[test]
fn a_call_that_had_only_begun_when_the_person_cancelled_is_answered() {
    let begun = |number, id: &str| {
        let (id, name) = (id.into(), "read_file".to_owned());
        Move::Says(StreamEvent::CallStarted { number, id, name })
    };
    let whole = ToolCall::new("1", "read_file", Default::default());
    let moves = vec![
        Move::Settles(0),
        begun(1, "1"),
        Move::Says(StreamEvent::Call(Call::Whole(whole))),
        begun(2, "2"),
        begun(3, "3"),
        Move::Cancels,
    ];
    let seen = play(TurnSettings::default(), moves);
    assert_eq!(seen.outcome, Some(Outcome::Cancelled));
    let [
        ..,
        Message::Assistant { content },
        Message::Tool { results },
    ] = seen.said.as_slice()
    else {
        panic!("{:?}", seen.said)
    };
    let damaged = |part: &Content| matches!(part, Content::BadCall { .. });
    let damaged: Vec<bool> = content.iter().map(damaged).collect();
    assert_eq!(damaged, [false, true, true]);
    let answered: Vec<_> = results
        .iter()
        .map(|result| (result.call_id.as_str(), result.kind()))
        .collect();
    let cancelled = Some(ErrorKind::Cancelled);
    assert_eq!(
        answered,
        [("1", cancelled), ("2", cancelled), ("3", cancelled)]
    );
}

/// Only what had no effect is asked again, and no more often than said.
#[test]
fn a_question_is_asked_again_until_a_call_of_its_answer_is_whole() {
    let refused = |retryable, retry_after| Move::Refuses(retryable, retry_after);
    let waits = || Move::Settles(0);
    let retry = Retry {
        most: 2,
        most_broken: 2,
        ..Retry::default()
    };
    let settings = || TurnSettings {
        retry,
        ..TurnSettings::default()
    };
    for (moves, asked) in [
        (vec![refused(false, None)], 1),
        (
            vec![
                refused(true, None),
                waits(),
                refused(true, Some(60)),
                waits(),
                refused(true, None),
            ],
            3,
        ),
        (vec![refused(true, Some(61))], 1),
        (
            vec![
                waits(),
                Move::Says(StreamEvent::Text("x".into())),
                Move::Says(call("a")),
                Move::Says(StreamEvent::End(Err(StreamError::Cut))),
            ],
            1,
        ),
        (
            [(); 4]
                .iter()
                .flat_map(|()| {
                    [
                        waits(),
                        Move::Says(StreamEvent::Text("x".into())),
                        Move::Says(StreamEvent::End(Err(StreamError::Cut))),
                        waits(),
                    ]
                })
                .collect(),
            3,
        ),
        (
            vec![
                waits(),
                Move::Says(StreamEvent::End(Err(StreamError::Nothing))),
                waits(),
                refused(false, None),
            ],
            1,
        ),
    ] {
        let seen = play(settings(), moves.clone());
        assert_eq!(seen.asked.len(), asked, "{moves:?}");
        assert!(
            matches!(seen.outcome, Some(Outcome::Failed(_))),
            "{moves:?}"
        );
    }
}

#[test]
fn an_answer_that_broke_off_is_on_record_as_withdrawn_and_is_not_said() {
    let says = |event| Move::Says(event);
    let moves = vec![
        Move::Settles(0),
        says(StreamEvent::Thinking("hm".into())),
        says(StreamEvent::Text("Half".into())),
        Move::Elapses,
        says(StreamEvent::End(Err(fault(true)))),
        Move::Elapses,
        Move::Settles(0),
        says(StreamEvent::Text("Whole".into())),
        says(StreamEvent::End(Ok(StopReason::EndTurn))),
    ];
    let seen = play(TurnSettings::default(), moves);
    assert_eq!(seen.outcome, Some(Outcome::Done(StopReason::EndTurn)));
    assert_eq!(seen.asked.len(), 2);
    let answers = seen.said.iter().filter_map(|message| match message {
        Message::Assistant { content } => Some(content.clone()),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [[Content::text("Whole")]]);
    let mut turn = Turn::new(1, TurnSettings::default());
    turn.begin(Prompt::Message("hi".into()));
    turn.step(Input::Asked);
    turn.step(Input::Heard(StreamEvent::Text("Half".into())));
    let step = turn.step(Input::Heard(StreamEvent::End(Err(fault(true)))));
    let records = step.effects.iter().filter_map(|effect| match effect {
        Effect::Record(record) => Some(record.clone()),
        _ => None,
    });
    let records: Vec<Record> = records.collect();
    let [Record::AssistantMessage { stop, content, .. }] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(stop, Outcome::WITHDRAWN);
    assert!(content.to_string().contains("Half"));
    assert!(matches!(step.next, Next::Wait(_)), "{step:?}");
    let history = History::read([
        (
            "user_message",
            Some(Record::UserMessage { text: "hi".into() }),
        ),
        ("assistant_message", Some(records[0].clone())),
    ]);
    assert_eq!(history.messages, [Message::user("hi")]);
}
