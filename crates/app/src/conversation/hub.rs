//! Live events of a conversation on their way to subscribers.
//!
//! Subscribers read what is journaled from the journal: the hub only says that there may be more.
//! Pieces of answers and output are in no journal; they travel here, each with the place it
//! belongs to, so that a subscriber that knows the journal better drops them.

use std::sync::Mutex;

use tokio::sync::broadcast;
use toolgate_model::Event;

use crate::app::locked;

/// How many signals wait for a subscriber before it loses the oldest. Only pieces are lost by
/// that: the journal has everything else.
const WAITING: usize = 1024;

/// Which answer of the conversation a piece belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) turn: u64,
    /// How many answers of the turn came before.
    pub(super) answer: u32,
}

/// Something for subscribers.
#[derive(Clone, Debug)]
pub(super) enum Signal {
    /// The journal may have more.
    Journaled,
    /// An event that is not journaled.
    Passing {
        event: Event,
        place: Place,
        /// Whether it is the first piece of its answer.
        first: bool,
    },
    /// The conversation ended in this process.
    Ended,
}

/// The hub of a conversation.
pub(super) struct Hub {
    sender: broadcast::Sender<Signal>,
    at: Mutex<At>,
}

#[derive(Debug, Default)]
struct At {
    place: Place,
    /// Whether a piece of the present answer came.
    in_answer: bool,
    /// Whether the calls of the present answer came.
    in_batch: bool,
}

impl Hub {
    pub(super) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(WAITING),
            at: Mutex::default(),
        }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.sender.subscribe()
    }

    /// Passes an event on.
    pub(super) fn publish(&self, event: &Event) {
        let mut at = locked(&self.at);
        let (passes, first) = at.take(event);
        let place = at.place;
        drop(at);
        if self.sender.receiver_count() == 0 {
            return;
        }
        // An error means that there is no subscriber.
        let _ = self.sender.send(match passes {
            true => Signal::Passing {
                event: event.clone(),
                place,
                first,
            },
            false => Signal::Journaled,
        });
    }

    /// Says that the journal may have more.
    pub(super) fn journaled(&self) {
        let _ = self.sender.send(Signal::Journaled);
    }

    /// Says that nothing more comes.
    pub(super) fn end(&self) {
        let _ = self.sender.send(Signal::Ended);
    }
}

impl At {
    /// Whether an event is in no journal, and whether it begins an answer.
    fn take(&mut self, event: &Event) -> (bool, bool) {
        match event {
            Event::TextDelta { .. } | Event::ThinkingDelta { .. } => {
                if std::mem::take(&mut self.in_batch) {
                    self.place.answer += 1;
                    self.in_answer = false;
                }
                let first = !std::mem::replace(&mut self.in_answer, true);
                (true, first)
            }
            Event::TurnStarted { turn, .. } => {
                *self = Self {
                    place: Place {
                        turn: *turn,
                        answer: 0,
                    },
                    ..Self::default()
                };
                (false, false)
            }
            Event::CallFinished { .. } => {
                self.in_batch = true;
                (false, false)
            }
            Event::CallReceived { .. } if self.in_batch => {
                // The answer before this batch had no words.
                self.in_batch = false;
                self.in_answer = false;
                self.place.answer += 1;
                (false, false)
            }
            Event::OutputChunk { .. } | Event::Error { .. } => (true, false),
            _ => (false, false),
        }
    }
}
