//! The whole loop.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolgate_gate::approve::Approver;
use toolgate_gate::execute::EventSink;
use toolgate_gate::journal::Record;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, ByHand, Clock, Gate};
use toolgate_model::{Call, CallId, EventKind, ToolResult};
use toolgate_providers::request::HistoryError;
use toolgate_providers::{Message, Provider, StreamError};

use crate::shown::Shown;
use crate::turn::{Effect, Finished, Input, Next, Prompt, Turn};

/// Longest time an answer may be unjournaled.
const NOTED: Duration = Duration::from_millis(250);

/// The context of a turn.
#[derive(Clone)]
pub struct TurnContext {
    /// Runs calls and puts everything on record.
    pub gate: Gate,
    /// The conversation.
    pub session: Arc<Session>,
    /// Tells the time of entries.
    pub clock: Arc<dyn Clock>,
    /// Answers questions; without one, calls that need approval are refused.
    pub approver: Option<Arc<dyn Approver>>,
    /// Gets the events; the turn waits for a slow listener until it is stopped.
    pub events: EventSink,
    /// Stops the turn wherever it is.
    pub cancel: CancellationToken,
}

impl TurnContext {
    /// The same with somebody who answers questions.
    #[must_use]
    pub fn asking(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }
}

/// One turn: asks the model, runs its calls, asks again with their results, until it is done.
///
/// Every decision is [`Turn`]'s; this carries them out.
pub async fn run_turn(
    provider: &mut dyn Provider,
    around: &TurnContext,
    mut turn: Turn,
    prompt: Prompt,
) -> Finished {
    let mut step = turn.begin(around.cleaned(prompt).await);
    let mut unkept = Unkept::default();
    let mut shown = Shown::new(around.gate.redactor());
    loop {
        let effects = step.effects;
        let done = around.carry_out(effects, provider, &mut shown).await;
        unkept.watch(&step.next, around);
        let input = match (done, step.next) {
            (_, Next::Finish(mut finished)) => {
                // It is shown like the pieces it came in.
                finished.text = around.gate.redactor().shown(&finished.text);
                return finished;
            }
            (Err(fault), _) => Input::Broken(StreamError::History(fault)),
            (Ok(()), Next::Run(calls)) => {
                let results = around.run_batch(calls).await;
                if around.cancel.is_cancelled() {
                    turn.step(Input::Cancel);
                }
                Input::Results(results)
            }
            (Ok(()), Next::HandOver(calls)) => {
                let by_hand = around.hand_over(calls).await;
                if around.cancel.is_cancelled() {
                    turn.step(Input::Cancel);
                }
                Input::HandedOver(by_hand)
            }
            (Ok(()), _) if unkept.is_due() => Input::Elapsed,
            (Ok(()), next) => tokio::select! {
                biased;
                () = around.cancel.cancelled() => Input::Cancel,
                input = wait_for(next, provider) => input,
                () = unkept.due() => Input::Elapsed,
            },
        };
        step = turn.step(input);
    }
}

async fn wait_for(next: Next, provider: &mut dyn Provider) -> Input {
    match next {
        Next::Ask(tools) => match provider.ask(tools).await {
            Ok(()) => Input::Asked,
            Err(refused) => Input::Refused(refused),
        },
        Next::Listen { .. } => Input::Heard(provider.hear().await),
        Next::Wait(delay) => {
            tokio::time::sleep(delay).await;
            Input::Elapsed
        }
        // These are not waited for here.
        Next::Run(_) | Next::HandOver(_) | Next::Await | Next::Finish(_) => {
            std::future::pending().await
        }
    }
}

/// Since when something of an answer is not noted.
#[derive(Default)]
struct Unkept(Option<Instant>);

impl Unkept {
    fn watch(&mut self, next: &Next, around: &TurnContext) {
        self.0 = match next {
            // What a journal refuses is not offered again until the answer is whole.
            Next::Listen { unkept: true } if !around.gate.is_refused(&around.session) => {
                self.0.or_else(|| Instant::now().checked_add(NOTED))
            }
            _ => None,
        };
    }

    /// Whether it is time, however fast more of it comes.
    fn is_due(&self) -> bool {
        self.0.is_some_and(|due| Instant::now() >= due)
    }

    async fn due(&self) {
        match self.0 {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

impl TurnContext {
    /// Does what a step says, in order. All of it is done, also after a message that does not fit.
    async fn carry_out(
        &self,
        effects: Vec<Effect>,
        provider: &mut dyn Provider,
        shown: &mut Shown,
    ) -> Result<(), HistoryError> {
        let mut done = Ok(());
        for effect in effects {
            match effect {
                Effect::Say(message) => done = done.and(provider.push(&message)),
                Effect::Record(record) => {
                    if let Record::AssistantMessage { .. } = &record {
                        for kind in shown.end() {
                            self.send(kind).await;
                        }
                    }
                    self.note("".into(), record);
                }
                Effect::Settle { calls, results } => {
                    let results = self.clean(results).await;
                    self.settle(calls, &results).await;
                    done = done.and(provider.push(&Message::Tool { results }));
                }
                Effect::Supply(results) => results
                    .into_iter()
                    .for_each(|result| self.note_result(result)),
                Effect::Keep => self.keep().await,
                Effect::Capacity(Some(bytes)) => self.session.set_available_capacity(bytes),
                Effect::Capacity(None) => self.session.forget_available_capacity(),
                Effect::Show {
                    message_id,
                    part,
                    text,
                } => {
                    if let Some(kind) = shown.push(message_id, part, &text) {
                        self.send(kind).await;
                    }
                }
                // A provider may quote a secret.
                Effect::Report(message) => {
                    let message = self.gate.redactor().shown(&message);
                    self.send(EventKind::Error { message }).await;
                }
            }
        }
        done
    }

    /// The pipeline for one batch.
    async fn run_batch(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        self.gate.run(&self.session, calls, &self.passage()).await
    }

    /// The same as far as the user takes over.
    async fn hand_over(&self, calls: Vec<Call>) -> ByHand {
        let passage = self.passage();
        self.gate.hand_over(&self.session, calls, &passage).await
    }

    fn passage(&self) -> BatchContext {
        BatchContext {
            approver: self.approver.clone(),
            events: self.events.clone(),
            cancel: self.cancel.clone(),
        }
    }

    /// What the user says goes on without the secrets that are known, and the results they
    /// supply are cleaned like those of tools.
    async fn cleaned(&self, prompt: Prompt) -> Prompt {
        let hide = |text: &str| self.gate.redactor().hide_known(text).into_owned();
        match prompt {
            Prompt::Message(text) => Prompt::Message(hide(&text)),
            Prompt::After { history, message } => Prompt::After {
                history: history
                    .into_iter()
                    .map(|said| said.in_other_words(&hide))
                    .collect(),
                message: hide(&message),
            },
            Prompt::Results(supplied) => {
                Prompt::Results(supplied.cleaned(&self.gate, &self.session).await)
            }
            Prompt::GoOn => Prompt::GoOn,
        }
    }

    async fn clean(&self, results: Vec<ToolResult>) -> Vec<ToolResult> {
        let mut cleaned = Vec::with_capacity(results.len());
        for result in results {
            cleaned.push(self.gate.clean(&self.session, result).await);
        }
        cleaned
    }

    async fn settle(&self, calls: Vec<Call>, results: &[ToolResult]) {
        calls.into_iter().for_each(|call| self.receive(call));
        let results = results.iter().cloned();
        results.for_each(|result| self.note_result(result));
        self.keep().await;
    }

    fn receive(&self, call: Call) {
        let id = call.id().clone();
        let record = match call {
            Call::Whole(call) => Record::Received { call },
            Call::Bad(call) => Record::ReceivedBad { call },
        };
        self.note(id, record);
    }

    fn note_result(&self, result: ToolResult) {
        let id = result.call_id.clone();
        let result = Box::new(result);
        self.note(id, Record::Finished { result });
    }

    fn note(&self, call: CallId, record: Record) {
        let now_ms = self.clock.now_ms();
        self.gate.note(&self.session, now_ms, call, record);
    }

    /// A record that cannot be written stops tools, which the gate sees to, and not the conversation.
    async fn keep(&self) {
        self.gate.keep(&self.session, &self.events).await;
        self.events.caught_up(self.over()).await;
    }

    /// Ends when the turn or the conversation is cancelled.
    async fn over(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.session.cancel().cancelled() => {}
        }
    }

    async fn send(&self, kind: EventKind) {
        self.gate
            .send(&self.session, &self.events, self.over(), kind)
            .await;
    }
}
