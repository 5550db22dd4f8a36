//! Random commits, failures, offers made again and reopenings, against a simple model.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use toolgate_gate::journal::{Batch, Entry, FullJournal, JournalErrorKind, Record, State};

use super::Store;
use super::parts::{entries, entry, finished, is_sound, offer, planned, received, said};

const CONVERSATIONS: u8 = 3;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Act {
    /// A batch is offered by one of two holders.
    Offer {
        by: usize,
        conversation: u8,
        steps: Vec<(u8, u8)>,
    },
    /// An earlier batch is offered again.
    Again { by: usize, which: usize },
    /// A holder gives a conversation back.
    Release { by: usize, conversation: u8 },
    /// A holder goes and another one comes.
    Reopen { by: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let steps = prop::collection::vec(
        (0_u8..2, prop_oneof![Just(0_u8), 0_u8..5, Just(4_u8)]),
        1..5,
    );
    prop_oneof![
        6 => (0_usize..2, 0..CONVERSATIONS, steps).prop_map(|(by, conversation, steps)| {
            Act::Offer { by, conversation, steps }
        }),
        3 => (0_usize..2, 0_usize..32).prop_map(|(by, which)| Act::Again { by, which }),
        2 => (0_usize..2, 0..CONVERSATIONS)
            .prop_map(|(by, conversation)| Act::Release { by, conversation }),
        1 => (0_usize..2).prop_map(|by| Act::Reopen { by }),
    ]
}

/// What a journal has to hold, told in the simplest way.
#[derive(Default)]
struct Model {
    entries: BTreeMap<u8, Vec<Entry>>,
    calls: BTreeMap<(u8, u8), State>,
    holders: BTreeMap<u8, usize>,
    /// Every batch that was ever offered.
    offered: Vec<Offered>,
}

#[derive(Clone)]
struct Offered {
    conversation: u8,
    batch: Batch,
    /// What it does to which call.
    steps: Vec<(u8, u8)>,
    on_record: bool,
}

/// The way of a call, by listing it. The last step belongs to no call.
fn follows(from: Option<State>, step: u8) -> Option<State> {
    Some(match (from, step) {
        (_, 0) => State::Received,
        (Some(State::Received), 1) => State::Planned,
        (Some(State::Planned), 2) => State::Started,
        (Some(State::Received | State::Planned | State::Started), 3) => State::Finished,
        _ => return None,
    })
}

fn made(conversation: u8, at_ms: u64, (call, step): (u8, u8)) -> Entry {
    let (of, call) = (name(conversation), call.to_string());
    let record = match step {
        0 => received(&call),
        1 => planned(&call),
        2 => Record::Started,
        3 => finished(&call),
        _ => return said(&of, at_ms, &call),
    };
    entry(&of, &call, at_ms, record)
}

fn name(conversation: u8) -> String {
    format!("c{conversation}")
}

impl Model {
    /// What becomes of a batch: the error's kind, or nothing.
    fn offer(&mut self, by: usize, which: usize) -> Option<JournalErrorKind> {
        let Offered {
            conversation,
            batch,
            steps,
            on_record,
        } = self.offered[which].clone();
        if self.holders.get(&conversation).is_some_and(|of| *of != by) {
            return Some(JournalErrorKind::InUse);
        }
        if on_record {
            // Looking takes the conversation too.
            self.holders.insert(conversation, by);
            return None;
        }
        let mut calls = self.calls.clone();
        for (call, step) in steps {
            if step == 4 {
                continue;
            }
            let id = (conversation, call);
            match follows(calls.get(&id).copied(), step) {
                Some(state) => calls.insert(id, state),
                None => return Some(JournalErrorKind::Rejected),
            };
        }
        self.calls = calls;
        self.holders.insert(conversation, by);
        let kept = self.entries.entry(conversation).or_default();
        kept.extend_from_slice(batch.entries());
        self.offered[which].on_record = true;
        None
    }
}

fn receives_twice(steps: &[(u8, u8)]) -> bool {
    let received: Vec<u8> = steps.iter().filter(|s| s.1 == 0).map(|s| s.0).collect();
    received.len() == 2 && received[0] == received[1] || received.len() > 2
}

/// Any sequence of commits, failures, offers made again, releases and reopenings leaves what the
/// model says.
pub fn any_sequence_agrees_with_the_model<S: Store>(make: &dyn Fn() -> S) {
    let mut runner = TestRunner::new(crate::laws(256));
    let acts = prop::collection::vec(act(), 1..24);
    let ran = runner.run(&acts, |acts| {
        let store = make();
        let mut open: Vec<Option<Arc<dyn FullJournal>>> =
            vec![Some(store.open()), Some(store.open())];
        let mut model = Model::default();
        for (at, act) in acts.into_iter().enumerate() {
            let at_ms = at as u64;
            match act {
                Act::Offer {
                    by,
                    conversation,
                    steps,
                } => {
                    if receives_twice(&steps) {
                        continue;
                    }
                    let entries = steps.iter().map(|step| made(conversation, at_ms, *step));
                    let batch = Batch::new(entries.collect()).unwrap();
                    let which = model.offered.len();
                    model.offered.push(Offered {
                        conversation,
                        batch: batch.clone(),
                        steps,
                        on_record: false,
                    });
                    let journal = open[by].as_ref().unwrap();
                    let got = offer(&**journal, &batch).err().map(|error| error.kind);
                    prop_assert_eq!(got, model.offer(by, which));
                }
                Act::Again { by, which } => {
                    if model.offered.is_empty() {
                        continue;
                    }
                    let which = which % model.offered.len();
                    let batch = model.offered[which].batch.again();
                    let journal = open[by].as_ref().unwrap();
                    let got = offer(&**journal, &batch).err().map(|error| error.kind);
                    prop_assert_eq!(got, model.offer(by, which));
                }
                Act::Release { by, conversation } => {
                    let id = name(conversation).into();
                    block_on(open[by].as_ref().unwrap().release(&id)).unwrap();
                    let its = |of: &usize| *of == by;
                    if model.holders.get(&conversation).is_some_and(its) {
                        model.holders.remove(&conversation);
                    }
                }
                Act::Reopen { by } => {
                    drop(open[by].take());
                    model.holders.retain(|_, of| *of != by);
                    open[by] = Some(store.open());
                }
            }
        }
        let journal = store.open();
        for conversation in 0..CONVERSATIONS {
            let kept = model.entries.remove(&conversation).unwrap_or_default();
            prop_assert_eq!(entries(&*journal, &name(conversation)), kept);
        }
        is_sound(&*journal);
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
}
