//! A recording that answers.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use toolgate_model::ToolResult;
use toolgate_model::json::JsonLimits;

use super::{Provider, Refused, calls_in, nothing_asked};
use crate::event::StreamEvent;
use crate::fault::StreamError;
use crate::message::Message;
use crate::replay::{Beat, Script};
use crate::request::{Conversation, HistoryError, Tools};
use crate::wire::Wire;

/// Plays the steps of a script, one for every question.
#[derive(Debug)]
pub struct Played {
    script: Script,
    at: usize,
    limits: JsonLimits,
    /// Holds the history to the same laws as a real provider.
    history: Conversation,
    results: Vec<ToolResult>,
    calls: u64,
    beats: VecDeque<Beat>,
    now: VecDeque<StreamEvent>,
}

impl Played {
    /// A provider that answers as the script says.
    pub fn new(script: Script, limits: JsonLimits) -> Self {
        Self {
            script,
            at: 0,
            limits,
            history: Conversation::new(Wire::Anthropic),
            results: Vec::new(),
            calls: 0,
            beats: VecDeque::new(),
            now: VecDeque::new(),
        }
    }

    fn next_step(&mut self) -> Result<(), StreamError> {
        let unfit = |message: String| StreamError::Recording { message };
        let Some(step) = self.script.steps.get(self.at) else {
            let steps = self.script.steps.len();
            return Err(unfit(format!(
                "it has {steps} answers, and one more is asked for"
            )));
        };
        let number = self.at + 1;
        step.check(&self.results)
            .map_err(|other| unfit(format!("answer {number}: {other}")))?;
        self.at = number;
        if let Some(fault) = step.refusal() {
            return Err(fault);
        }
        self.now.clear();
        self.beats = step
            .play(self.limits, self.calls.saturating_add(1))
            .beats
            .into();
        Ok(())
    }
}

impl Provider for Played {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.history.push(message)?;
        self.calls = self.calls.saturating_add(calls_in(message));
        if let Message::Tool { results } = message {
            self.results.clone_from(results);
        }
        Ok(())
    }

    fn ask(&mut self, _: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        let asked = self.next_step().map_err(Refused::from);
        Box::pin(std::future::ready(asked))
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        if self.now.is_empty() && self.beats.is_empty() {
            return nothing_asked();
        }
        Box::pin(async {
            loop {
                if let Some(event) = self.now.pop_front() {
                    return event;
                }
                let Some(beat) = self.beats.front() else {
                    return StreamEvent::End(Err(StreamError::Cut));
                };
                if !beat.delay.is_zero() {
                    tokio::time::sleep(beat.delay).await;
                }
                if let Some(beat) = self.beats.pop_front() {
                    self.now.extend(beat.events);
                }
            }
        })
    }
}
