//! One turn of a conversation, as decisions without I/O.
//!
//! ```text
//!            ┌────────────── Elapsed ◀── Wait ◀──┐ refused, or broken off before a call was whole
//!            ▼                                   │
//! begin ──▶ Ask ──▶ Listen … StreamEvent::End ───┼──▶ Finish: done, failed, cancelled
//!            ▲                                   │
//!            ├──── Results ◀── Run ◀── calls ────┤
//!            └── HandedOver ◀── HandOver ◀───────┘ where a person answers them
//! ```
//!
//! While it listens, what has come is noted from time to time ([`Next::Listen`]), so that a
//! crash in the middle of a long answer loses a moment of it.
//!
//! In: one [`Input`] at a time. Out: a [`Step`], which is what to do at once
//! ([`Effect`], in order) and what to wait for ([`Next`]).
//!
//! The law: whatever comes in, in whatever order, every call that was said has exactly one
//! result said after it, in call order, before anything else is said. So the history can
//! be sent to any provider, also after a cancellation or a failure in the middle.

mod answer;
mod kinds;

use std::fmt::Write as _;
use std::time::Duration;

use toolgate_gate::ByHand;
use toolgate_gate::journal::Record;
use toolgate_model::{Call, ErrorKind, ToolError, ToolResult};
use toolgate_providers::request::Tools;
use toolgate_providers::{Message, Refused, StopReason, StreamError, StreamEvent, Usage};

use answer::Answer;
pub use kinds::{
    Effect, Finished, Input, Next, Outcome, Part, Prompt, Retry, Step, ToolsFor, TurnSettings,
};

/// One turn.
#[derive(Debug)]
pub struct Turn {
    settings: TurnSettings,
    number: u64,
    state: State,
    tools: Tools,
    /// How many answers began; their ids count them.
    answers: u32,
    /// How many batches were run.
    iterations: u32,
    /// How often the current question was refused, or its answer broke off.
    refused: u32,
    /// How long that was waited for together.
    waited: Duration,
    /// Whether the user wants to stop while a batch runs.
    cancelled: bool,
    /// What the last answer cost, if the provider said so.
    used: Option<Usage>,
    /// What all answers cost together.
    spent: Option<Usage>,
    /// The words of the last answer.
    text: String,
}

#[derive(Debug)]
enum State {
    New,
    Asking,
    Listening(Box<Answer>),
    Waiting,
    Running(Vec<Call>),
    HandingOver(Vec<Call>),
    Over,
}

impl Turn {
    /// A turn of this number in its conversation.
    pub fn new(number: u64, settings: TurnSettings) -> Self {
        Self {
            settings,
            number,
            state: State::New,
            tools: Tools::Offered,
            answers: 0,
            iterations: 0,
            refused: 0,
            waited: Duration::ZERO,
            cancelled: false,
            used: None,
            spent: None,
            text: String::new(),
        }
    }

    /// Begins with what the user wants.
    pub fn begin(&mut self, prompt: Prompt) -> Step {
        let turn = self.number;
        let mut effects = vec![Effect::Record(Record::TurnStarted {
            turn,
            provider: self.settings.provider.clone(),
            model: self.settings.model.clone(),
            preset: self.settings.preset.clone(),
            instructions: self.settings.instructions.clone(),
        })];
        match prompt {
            Prompt::Message(text) => {
                effects.push(Effect::Record(Record::UserMessage { text: text.clone() }));
                effects.push(Effect::Say(Message::User { text }));
            }
            Prompt::After { history, message } => {
                effects.push(Effect::Record(Record::CarriedIn {
                    messages: serde_json::to_value(&history).unwrap_or_default(),
                }));
                effects.extend(history.into_iter().map(Effect::Say));
                effects.push(Effect::Record(Record::UserMessage {
                    text: message.clone(),
                }));
                effects.push(Effect::Say(Message::User { text: message }));
            }
            Prompt::Results(supplied) => {
                effects.push(Effect::Supply(supplied.by_person().cloned().collect()));
                let results = supplied.results().cloned().collect();
                effects.push(Effect::Say(Message::Tool { results }));
            }
            Prompt::GoOn => {}
        }
        effects.push(Effect::Keep);
        if self.settings.tools == ToolsFor::Nobody {
            self.tools = Tools::Withheld;
        }
        self.ask(effects)
    }

    /// Takes what happened. What does not fit where the turn is changes nothing.
    pub fn step(&mut self, input: Input) -> Step {
        match (std::mem::replace(&mut self.state, State::Over), input) {
            (State::Asking, Input::Asked) => {
                self.answers += 1;
                let id = format!("{}.{}", self.number, self.answers);
                self.listen(Box::new(Answer::new(id.into())), Vec::new())
            }
            (State::Asking, Input::Refused(refused)) => self.refuse(refused),
            (State::Listening(answer), Input::Heard(event)) => self.hear(answer, event),
            (State::Listening(mut answer), Input::Elapsed) => {
                let effects = answer.noted();
                self.listen(answer, effects)
            }
            (State::Waiting, Input::Elapsed) => self.ask(Vec::new()),
            (State::Running(calls), Input::Results(results)) => self.settle(&calls, results),
            (State::HandingOver(calls), Input::HandedOver(by_hand)) => {
                self.handed_over(&calls, by_hand)
            }
            (state @ (State::Running(_) | State::HandingOver(_)), Input::Cancel) => {
                self.cancelled = true;
                self.go(state, Next::Await)
            }
            (State::Listening(answer), Input::Cancel) => {
                let why = ToolError::new(ErrorKind::Cancelled, "Cancelled by user");
                self.break_off(*answer, "cancelled", &why, Outcome::Cancelled)
            }
            (State::Asking | State::Waiting, Input::Cancel) => {
                self.finish(Vec::new(), Outcome::Cancelled)
            }
            (State::Listening(answer), Input::Broken(fault)) => self.fail(*answer, fault),
            // The batch was to run and did not get there.
            (State::Running(calls) | State::HandingOver(calls), Input::Broken(fault)) => {
                let mut effects = Vec::new();
                give_up(&mut effects, calls, &not_run());
                effects.push(error(&fault));
                self.finish(effects, Outcome::Failed(fault))
            }
            (State::Asking | State::Waiting | State::New, Input::Broken(fault)) => {
                self.finish(vec![error(&fault)], Outcome::Failed(fault))
            }
            (state, _) => {
                let next = waiting_for(&state, self.tools);
                self.go(state, next)
            }
        }
    }

    /// Whether the turn is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn go(&mut self, state: State, next: Next) -> Step {
        self.state = state;
        Step {
            effects: Vec::new(),
            next,
        }
    }

    fn listen(&mut self, answer: Box<Answer>, effects: Vec<Effect>) -> Step {
        let unkept = answer.is_unkept();
        self.state = State::Listening(answer);
        Step {
            effects,
            next: Next::Listen { unkept },
        }
    }

    fn ask(&mut self, effects: Vec<Effect>) -> Step {
        self.state = State::Asking;
        Step {
            effects,
            next: Next::Ask(self.tools),
        }
    }

    /// No byte of an answer came: it is tried again, or shown.
    fn refuse(&mut self, refused: Refused) -> Step {
        let Refused { fault, retry_after } = refused;
        match self.delay(&fault, retry_after) {
            Some(delay) => self.wait(Vec::new(), &fault, delay),
            None => {
                let mut message = fault.to_string();
                // It asks for more patience than there is.
                if let Some(asked) = retry_after.filter(|_| fault.is_retryable()) {
                    let _ = write!(message, "; it wants to be asked again in {}", shown(asked));
                }
                self.finish(vec![Effect::Report(message)], Outcome::Failed(fault))
            }
        }
    }

    /// How long to wait before the question is asked again, if it is.
    fn delay(&self, fault: &StreamError, asked: Option<Duration>) -> Option<Duration> {
        let before = (self.refused, self.waited);
        self.settings.retry.delay(fault, before, asked)
    }

    fn wait(&mut self, mut effects: Vec<Effect>, fault: &StreamError, delay: Duration) -> Step {
        self.refused += 1;
        self.waited = self.waited.saturating_add(delay);
        self.state = State::Waiting;
        effects.push(Effect::Report(format!(
            "{fault}; trying again in {} ({} of {})",
            shown(delay),
            self.refused,
            self.settings.retry.most(fault)
        )));
        Step {
            effects,
            next: Next::Wait(delay),
        }
    }

    /// The answer broke off. Calls run when it is whole, so nothing of it had an effect: as long
    /// as none of its calls came, it is withdrawn and asked for again. What was no answer at all
    /// will hardly be one the next time.
    fn broke(&mut self, answer: Answer, fault: StreamError) -> Step {
        let was_one = fault != StreamError::Nothing;
        let delay = self.delay(&fault, None);
        let delay = delay.filter(|_| was_one && !answer.has_call());
        let Some(delay) = delay else {
            return self.fail(answer, fault);
        };
        self.spend(answer.usage());
        let effects = answer.withdrawn();
        self.wait(effects, &fault, delay)
    }

    fn hear(&mut self, mut answer: Box<Answer>, event: StreamEvent) -> Step {
        let end = match event {
            StreamEvent::End(end) => end,
            other => {
                let effects = answer.take(other);
                return self.listen(answer, effects);
            }
        };
        match end {
            Ok(stop) => self.answered(*answer, stop),
            Err(fault) => self.broke(*answer, fault),
        }
    }

    /// The answer is whole: its calls are run, or it was the last word.
    fn answered(&mut self, answer: Answer, stop: StopReason) -> Step {
        (self.refused, self.waited) = (0, Duration::ZERO);
        let said = self.said(answer, stop.as_str());
        let (mut effects, calls) = said;
        if calls.is_empty() {
            return self.finish(effects, Outcome::Done(stop));
        }
        if self.iterations >= self.settings.max_iterations {
            let most = self.settings.max_iterations;
            let message = format!(
                "Max tool iterations reached: {most} rounds of calls in one turn; nothing was run, answer with what you have"
            );
            let why = ToolError::new(ErrorKind::MaxIterations, message);
            give_up(&mut effects, calls, &why);
            // A model that calls without being offered anything is not asked once more.
            if self.tools == Tools::Withheld {
                return self.finish(effects, Outcome::MaxIterations);
            }
            self.tools = Tools::Withheld;
            return self.ask(effects);
        }
        self.iterations += 1;
        if self.settings.tools == ToolsFor::Person {
            self.state = State::HandingOver(calls.clone());
            return Step {
                effects,
                next: Next::HandOver(calls),
            };
        }
        if let Some(context) = self.settings.context {
            let capacity = self.used.map(|used| context.capacity(used, calls.len()));
            effects.push(Effect::Capacity(capacity));
        }
        self.state = State::Running(calls.clone());
        Step {
            effects,
            next: Next::Run(calls),
        }
    }

    fn settle(&mut self, calls: &[Call], results: Vec<ToolResult>) -> Step {
        let results = one_each(calls, results);
        let effects = vec![Effect::Say(Message::Tool { results })];
        if self.cancelled {
            return self.finish(effects, Outcome::Cancelled);
        }
        self.ask(effects)
    }

    /// What the user cannot answer has its result already; the rest ends the turn.
    fn handed_over(&mut self, calls: &[Call], by_hand: ByHand) -> Step {
        let ByHand {
            wanted,
            mut refused,
        } = by_hand;
        if wanted.is_empty() || self.cancelled {
            let why = ToolError::new(ErrorKind::Cancelled, "Cancelled by user");
            let given_up: Vec<ToolResult> = wanted
                .into_iter()
                .map(|call| ToolResult::failed(call.id, call.name, why.clone()))
                .collect();
            refused.extend(given_up.iter().cloned());
            let results = one_each(calls, refused);
            let effects = vec![
                Effect::Supply(given_up),
                Effect::Say(Message::Tool { results }),
            ];
            if self.cancelled {
                return self.finish(effects, Outcome::Cancelled);
            }
            return self.ask(effects);
        }
        self.finish(Vec::new(), Outcome::ResultsWanted(wanted))
    }

    fn fail(&mut self, mut answer: Answer, fault: StreamError) -> Step {
        if matches!(fault, StreamError::TooLarge { .. }) {
            answer.shorten();
        }
        self.break_off(answer, "error", &not_run(), Outcome::Failed(fault))
    }

    /// The answer ends here: what was said stays said, its calls are not run.
    fn break_off(
        &mut self,
        mut answer: Answer,
        stop: &str,
        why: &ToolError,
        outcome: Outcome,
    ) -> Step {
        answer.break_off();
        let (mut effects, calls) = self.said(answer, stop);
        give_up(&mut effects, calls, why);
        if let Outcome::Failed(fault) = &outcome {
            effects.push(error(fault));
        }
        self.finish(effects, outcome)
    }

    fn said(&mut self, answer: Answer, stop: &str) -> (Vec<Effect>, Vec<Call>) {
        self.spend(answer.usage());
        let (effects, calls, text) = answer.said(stop);
        self.text = text;
        (effects, calls)
    }

    fn spend(&mut self, used: Option<Usage>) {
        self.used = used;
        self.spent = match (self.spent, used) {
            (Some(before), Some(now)) => Some(before.and(now)),
            (before, now) => before.or(now),
        };
    }

    fn finish(&mut self, mut effects: Vec<Effect>, outcome: Outcome) -> Step {
        let turn = self.number;
        self.state = State::Over;
        effects.push(Effect::Record(Record::TurnFinished {
            turn,
            outcome: outcome.as_str().to_owned(),
            error: match &outcome {
                Outcome::Failed(fault) => Some(fault.to_string()),
                _ => None,
            },
            stop: match &outcome {
                Outcome::Done(stop) => Some(stop.as_str().to_owned()),
                _ => None,
            },
            usage: self
                .spent
                .and_then(|spent| serde_json::to_value(spent).ok()),
        }));
        effects.push(Effect::Keep);
        Step {
            effects,
            next: Next::Finish(Finished {
                outcome,
                text: std::mem::take(&mut self.text),
                iterations: self.iterations,
            }),
        }
    }
}

fn not_run() -> ToolError {
    ToolError::new(
        ErrorKind::Interrupted,
        "the answer that holds this call broke off; nothing of it was run",
    )
}

/// Calls that do not reach the gate get their results here.
fn give_up(effects: &mut Vec<Effect>, calls: Vec<Call>, why: &ToolError) {
    if calls.is_empty() {
        return;
    }
    let failed = |call: &Call| {
        let tool = call.name().unwrap_or_default();
        let error = match call {
            // What was wrong with the call itself tells the model more.
            Call::Bad(bad) if why.kind != ErrorKind::Cancelled => bad.error.clone(),
            _ => why.clone(),
        };
        ToolResult::failed(call.id().clone(), tool, error)
    };
    let results = calls.iter().map(failed).collect();
    effects.push(Effect::Settle { calls, results });
}

/// Exactly one result per call, in call order.
fn one_each(calls: &[Call], results: Vec<ToolResult>) -> Vec<ToolResult> {
    let mut given: Vec<Option<ToolResult>> = results.into_iter().map(Some).collect();
    calls
        .iter()
        .map(|call| {
            let mut places = given.iter_mut();
            let place = places.find(|place| {
                place
                    .as_ref()
                    .is_some_and(|result| result.call_id == *call.id())
            });
            place.and_then(Option::take).unwrap_or_else(|| {
                let error =
                    ToolError::new(ErrorKind::Interrupted, "the line ended without a result");
                ToolResult::failed(call.id().clone(), call.name().unwrap_or_default(), error)
            })
        })
        .collect()
}

fn waiting_for(state: &State, tools: Tools) -> Next {
    match state {
        State::New | State::Over | State::Waiting | State::Running(_) | State::HandingOver(_) => {
            Next::Await
        }
        State::Asking => Next::Ask(tools),
        State::Listening(answer) => Next::Listen {
            unkept: answer.is_unkept(),
        },
    }
}

fn error(fault: &StreamError) -> Effect {
    Effect::Report(fault.to_string())
}

fn shown(delay: Duration) -> String {
    format!("{:.1} s", delay.as_secs_f64())
}
