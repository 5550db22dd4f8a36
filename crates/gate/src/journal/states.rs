//! What may happen to a call after what, and which call an entry is about.
//!
//! ```text
//!  received ──▶ planned ──▶ asked ──▶ answered ──▶ started ──▶ finished
//!     │            ├──────────────────────────────────▲           ▲
//!     │            ◀─── the ground changed ──┘        │           │
//!     └────────────┴─────────── refused ──────────────┴───────────┘
//! ```
//!
//! Ids come from models and clients and repeat: within a batch (the second is refused)
//! and from batch to batch. So a call is its id and how many times it was received.
//!
//! Every journal refuses an entry that cannot follow, by the rules of this module.
//!
//! ```
//! use toolgate_gate::journal::states::{Standing, State, Step};
//!
//! let call = Standing::received(1);
//! let planned = call.after(Step::Go(State::Planned)).unwrap();
//! assert_eq!(planned.state, State::Planned);
//! assert_eq!(call.after(Step::Go(State::Answered)), None);
//! ```

use toolgate_model::ErrorKind;

use super::{Record, Recovered};

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// It arrived.
    Received,
    /// Policy decided.
    Planned,
    /// The user was asked.
    Asked,
    /// The user answered.
    Answered,
    /// It began to run.
    Started,
    /// It has its result.
    Finished,
}

/// What is known of a call after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// It had no effect: it never began.
    NotStarted,
    /// It has its result.
    Finished,
    /// It began, and how far it came is not known.
    OutcomeUnknown,
}

impl State {
    /// Every state, in order.
    pub const ALL: [State; 6] = [
        State::Received,
        State::Planned,
        State::Asked,
        State::Answered,
        State::Started,
        State::Finished,
    ];

    /// Its name, as it stands in the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Planned => "planned",
            Self::Asked => "asked",
            Self::Answered => "answered",
            Self::Started => "started",
            Self::Finished => "finished",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    /// What is known of a call that a crash left in this state.
    pub const fn class(self) -> Class {
        match self {
            Self::Received | Self::Planned | Self::Asked | Self::Answered => Class::NotStarted,
            Self::Started => Class::OutcomeUnknown,
            Self::Finished => Class::Finished,
        }
    }

    /// Whether a call may go from this state to the next.
    pub const fn may_become(self, next: State) -> bool {
        use State::{Answered, Asked, Finished, Planned, Received, Started};
        match (self, next) {
            // Whatever has no result yet can get one: refused, given up, or done.
            (Received | Planned | Asked | Answered | Started, Finished) => true,
            // A plan whose ground changed after the answer is made and asked anew.
            (Received | Answered, Planned) => true,
            (Planned, Asked) | (Asked, Answered) => true,
            (Planned | Answered, Started) => true,
            _ => false,
        }
    }
}

/// What an entry does to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it belongs to no call.
    Note,
    /// A new call.
    Receive,
    /// On to this state.
    Go(State),
    /// A result for a second call of the same id.
    RefuseSecond,
    /// It has its result, and a tool that was given up on may still change files.
    FinishRunning,
    /// Files are about to change.
    Intend,
    /// A cut-short change was brought to an end; the flag says whether for good.
    Recover(bool),
}

impl Step {
    /// What a record does to its call.
    pub fn of(record: &Record) -> Self {
        match record {
            Record::Received { .. } | Record::ReceivedBad { .. } => Self::Receive,
            Record::Planned { .. } => Self::Go(State::Planned),
            Record::Asked { .. } => Self::Go(State::Asked),
            Record::Answered { .. } => Self::Go(State::Answered),
            Record::Started => Self::Go(State::Started),
            Record::Intended { .. } => Self::Intend,
            Record::Recovered { outcome, .. } => Self::Recover(*outcome != Recovered::LeftAlone),
            Record::Revoked { .. }
            | Record::TurnStarted { .. }
            | Record::UserMessage { .. }
            | Record::CarriedIn { .. }
            | Record::Streamed { .. }
            | Record::AssistantMessage { .. }
            | Record::TurnFinished { .. } => Self::Note,
            Record::Finished { result } => {
                let kind = result.error.as_ref().map(|error| error.kind);
                let still_running = result.metadata.get("still_running");
                if kind == Some(ErrorKind::DuplicateCallId) {
                    Self::RefuseSecond
                } else if still_running.is_some_and(|flag| *flag == true) {
                    Self::FinishRunning
                } else {
                    Self::Go(State::Finished)
                }
            }
        }
    }
}

/// A call as far as it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which call of this id in its conversation; the first is 1.
    pub nth: u64,
    /// How far it has come.
    pub state: State,
    /// Whether files may be half changed because of it.
    pub open_intent: bool,
}

impl Standing {
    /// A call that has just arrived.
    pub const fn received(nth: u64) -> Self {
        Self {
            nth,
            state: State::Received,
            open_intent: false,
        }
    }

    /// The call after this step, if the step may follow.
    pub fn after(self, step: Step) -> Option<Self> {
        let go = |state| {
            self.state
                .may_become(state)
                .then_some(Self { state, ..self })
        };
        match step {
            Step::Note | Step::Receive => None,
            Step::Go(State::Finished) => go(State::Finished).map(|next| Self {
                open_intent: false,
                ..next
            }),
            Step::Go(state) => go(state),
            Step::RefuseSecond => (self.state == State::Received)
                .then_some(State::Finished)
                .and_then(go),
            Step::FinishRunning => go(State::Finished),
            Step::Intend => (self.state == State::Started).then_some(Self {
                open_intent: true,
                ..self
            }),
            // What was left alone is looked at again, until the call has its result.
            Step::Recover(for_good) => self.open_intent.then_some(Self {
                open_intent: !for_good && self.state != State::Finished,
                ..self
            }),
        }
    }
}

/// Which of the calls with one id, received in one batch, a step is about: the one that
/// has come farthest, and for the refusal of a second one the last that only arrived.
pub fn meant(batch: &[Standing], step: Step) -> Option<(Standing, Standing)> {
    let fits = |from: &Standing| from.after(step).map(|to| (*from, to));
    if step == Step::RefuseSecond {
        return batch.iter().rev().find_map(fits);
    }
    // Of equals the first: they arrived in this order and get their results in it.
    let farthest = |best: Option<(Standing, Standing)>, this: (Standing, Standing)| match best {
        Some(best) if best.0.state >= this.0.state => Some(best),
        _ => Some(this),
    };
    batch.iter().filter_map(fits).fold(None, farthest)
}

/// The state of a call after an entry of this kind, told from the entries alone.
pub fn replayed(from: Option<State>, kind: &str) -> Option<State> {
    match (from, kind) {
        (None, "received" | "received_bad") => Some(State::Received),
        (Some(State::Started), "intended") => Some(State::Started),
        (Some(state @ (State::Started | State::Finished)), "recovered") => Some(state),
        (Some(from), kind) => State::named(kind).filter(|next| from.may_become(*next)),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_classes_are_those_of_the_record() {
        for state in State::ALL {
            assert_eq!(State::named(state.as_str()), Some(state));
            assert!(!State::Finished.may_become(state), "{state:?}");
            assert!(!state.may_become(State::Received), "{state:?}");
            assert_eq!(state.may_become(State::Finished), state != State::Finished);
        }
        assert_eq!(State::named("done"), None);
        assert_eq!(State::Answered.class(), Class::NotStarted);
        assert_eq!(State::Started.class(), Class::OutcomeUnknown);
        assert_eq!(State::Finished.class(), Class::Finished);
    }

    #[test]
    fn the_second_of_two_equal_ids_is_refused_without_touching_the_first() {
        let first = Standing {
            state: State::Started,
            ..Standing::received(1)
        };
        let batch = [first, Standing::received(2), Standing::received(3)];
        let refused = meant(&batch, Step::RefuseSecond).unwrap();
        assert_eq!((refused.0.nth, refused.1.state), (3, State::Finished));
        let finished = meant(&batch, Step::Go(State::Finished)).unwrap();
        assert_eq!(finished.0.nth, 1);
        assert_eq!(meant(&[first], Step::RefuseSecond), None);
        let equals = [Standing::received(1), Standing::received(2)];
        let finished = meant(&equals, Step::Go(State::Finished)).unwrap();
        assert_eq!(finished.0.nth, 1);
    }

    #[test]
    fn an_intent_is_open_until_the_call_is_done_or_recovered() {
        let started = Standing {
            state: State::Started,
            ..Standing::received(1)
        };
        assert_eq!(Standing::received(1).after(Step::Intend), None);
        assert_eq!(started.after(Step::Recover(true)), None);
        let open = started.after(Step::Intend).unwrap();
        assert!(open.open_intent);
        assert!(!open.after(Step::Go(State::Finished)).unwrap().open_intent);
        assert!(!open.after(Step::Recover(true)).unwrap().open_intent);
        assert!(open.after(Step::Recover(false)).unwrap().open_intent);
        let given_up = open.after(Step::FinishRunning).unwrap();
        assert!(given_up.open_intent && given_up.state == State::Finished);
        assert!(!given_up.after(Step::Recover(false)).unwrap().open_intent);
    }
}
