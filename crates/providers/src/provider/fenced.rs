//! Calls as fenced blocks over a provider without native tool calls.

use std::collections::VecDeque;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use toolgate_model::json::JsonLimits;

use super::{Provider, Refused, calls_in};
use crate::event::{StopReason, StreamEvent};
use crate::fenced::{Definition, Language, Parser, Piece, render_results, system_prompt};
use crate::message::{Content, Message};
use crate::request::{HistoryError, Tools};

/// The system prompt of a fenced conversation: what the user wants, then how to call tools.
pub fn fenced_system(
    wanted: Option<&str>,
    definitions: &[Definition],
    language: Language,
) -> String {
    let taught = system_prompt(definitions, language);
    match wanted {
        Some(wanted) => format!("{wanted}\n\n{taught}"),
        None => taught,
    }
}

/// Reads calls out of a provider's text, and writes calls and results as text for it.
///
/// The provider is one that offers no tools itself; its system prompt is [`fenced_system`].
#[derive(Debug)]
pub struct Fenced<P> {
    provider: P,
    limits: JsonLimits,
    parser: Parser,
    calls: u64,
    ready: VecDeque<StreamEvent>,
    called: bool,
}

impl<P: Provider> Fenced<P> {
    /// The same provider, with calls in its text.
    pub fn new(provider: P, limits: JsonLimits) -> Self {
        Self {
            provider,
            limits,
            parser: Parser::new(limits),
            calls: 0,
            ready: VecDeque::new(),
            called: false,
        }
    }

    fn pieces(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            self.ready.push_back(match piece {
                Piece::Text(text) => StreamEvent::Text(text),
                Piece::Call(call) => {
                    self.called = true;
                    StreamEvent::Call(call)
                }
            });
        }
    }

    fn take(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text(text) => {
                let pieces = self.parser.push(&text);
                self.pieces(pieces);
            }
            // The text is over when the cost is told: an open block is known to be cut off.
            StreamEvent::Usage(_) | StreamEvent::End(_) => {
                let pieces = self.parser.finish();
                self.pieces(pieces);
                self.ready.push_back(match event {
                    StreamEvent::End(Ok(StopReason::EndTurn)) if self.called => {
                        StreamEvent::End(Ok(StopReason::ToolUse))
                    }
                    other => other,
                });
            }
            other => self.ready.push_back(other),
        }
    }
}

impl<P: Provider> Provider for Fenced<P> {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        match message {
            Message::User { .. } => self.provider.push(message)?,
            Message::Assistant { content } => {
                let content = content.iter().map(as_text).collect();
                self.provider.push(&Message::Assistant { content })?;
            }
            Message::Tool { results } => {
                self.provider
                    .push(&Message::user(render_results(results)))?;
            }
        }
        self.calls = self.calls.saturating_add(calls_in(message));
        Ok(())
    }

    fn ask(&mut self, tools: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        self.ready.clear();
        self.called = false;
        self.parser = Parser::counting_from(self.limits, self.calls.saturating_add(1));
        self.provider.ask(tools)
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        async move {
            loop {
                if let Some(event) = self.ready.pop_front() {
                    return event;
                }
                let event = self.provider.hear().await;
                self.take(event);
            }
        }
        .boxed()
    }
}

/// A part of an answer as the model wrote it.
fn as_text(part: &Content) -> Content {
    match part {
        Content::Call { call } => {
            let mut block = json!({"id": call.id, "name": call.name, "args": call.args});
            if let (Some(fields), Some(reason)) = (block.as_object_mut(), &call.reason) {
                fields.insert("reason".into(), reason.clone().into());
            }
            let block = block.to_string();
            let longest = block.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.saturating_add(1).max(3));
            Content::text(format!("\n{fence}tool\n{block}\n{fence}\n"))
        }
        Content::BadCall { call } => Content::text(format!(
            "\n(tool block {}, which could not be read)\n",
            call.id
        )),
        other => other.clone(),
    }
}
