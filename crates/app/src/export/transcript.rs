//! A conversation read from its entries: messages in order, each call with its story.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use toolgate_engine::{Outcome, Streamed, discarded};
use toolgate_gate::journal::{Body, Conversation, Line};
use toolgate_gate::journal::{IntendedFile, Record, Recovered};
use toolgate_gate::output::Redactor;
use toolgate_model::{Args, CallId, PlanRecord, ToolCall, ToolResult};
use toolgate_providers::{Content, Message as Carried, Usage};

/// What stands for words that are no longer on record.
pub(super) const PRUNED: &str = "(no longer on record)";

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(super) conversation: String,
    pub(super) workspace: Option<String>,
    pub(super) model: Option<String>,
    pub(super) messages: Vec<Message>,
    pub(super) usage: Option<Usage>,
    /// The message of each call on record, by id and number.
    known: BTreeMap<(CallId, u64), usize>,
    /// Calls of the last answer that have not been received yet.
    expected: VecDeque<(CallId, usize)>,
    /// The messages of the calls of the last answer.
    last: Vec<usize>,
    /// Where calls are collected that no answer on record names: those of a batch that no model
    /// asked for, or of an answer that was pruned.
    batch: Option<usize>,
    /// An answer that is not known to have come to its end, since this entry.
    streamed: Option<(u64, u64, Streamed)>,
    /// Whether parts of that answer were pruned.
    streamed_gone: bool,
}

/// Something that was said or done.
#[derive(Debug)]
pub(super) struct Message {
    /// The number of its entry.
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    pub(super) said: Said,
}

#[derive(Debug)]
pub(super) enum Said {
    User {
        text: String,
    },
    /// What a model answered, or the calls of a batch that came without any words.
    Assistant {
        text: String,
        thinking: Option<String>,
        calls: Vec<ToolCall>,
        by_model: bool,
    },
    Tool(Box<Story>),
    /// A turn that did not end as it should.
    Ended {
        outcome: String,
        error: Option<String>,
    },
}

/// What became of a call.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) call: ToolCall,
    pub(super) by_model: bool,
    pub(super) plan: Option<Arc<PlanRecord>>,
    pub(super) asked_ms: Option<u64>,
    pub(super) approval: Option<Approval>,
    pub(super) started_ms: Option<u64>,
    pub(super) finished_ms: Option<u64>,
    pub(super) files: Vec<IntendedFile>,
    pub(super) recovered: Option<Recovered>,
    pub(super) result: Option<ToolResult>,
    /// It had changed files before its result was discarded.
    changed: bool,
    pub(super) gone: Gone,
}

/// What happened with a call and is told no more: its entry is there, and not what it said.
#[derive(Debug, Default)]
pub(super) struct Gone {
    pub(super) call: bool,
    pub(super) plan: bool,
    pub(super) answer: bool,
    pub(super) files: bool,
}

/// The answer of an approver.
#[derive(Debug)]
pub(super) struct Approval {
    pub(super) by: String,
    pub(super) approved: bool,
    pub(super) scope: String,
    pub(super) at_ms: u64,
    pub(super) reason: Option<String>,
}

impl Story {
    fn of(call: ToolCall, by_model: bool) -> Self {
        Self {
            call,
            by_model,
            plan: None,
            asked_ms: None,
            approval: None,
            started_ms: None,
            finished_ms: None,
            files: Vec::new(),
            recovered: None,
            result: None,
            changed: false,
            gone: Gone::default(),
        }
    }

    /// The tool under its one name, where that is known.
    pub(super) fn tool(&self) -> &str {
        let planned = self.plan.as_ref().map(|plan| plan.tool.as_str());
        let settled = self.result.as_ref().map(|result| result.tool.as_str());
        let known = planned.or(settled.filter(|tool| !tool.is_empty()));
        known.unwrap_or(&self.call.name)
    }

    fn redact(&mut self, redactor: &Redactor, clean: &dyn Fn(&mut String)) {
        redactor.redact_call(&mut self.call);
        if let Some(plan) = &mut self.plan {
            *plan = Arc::new(redactor.shown_plan(plan));
        }
        if let Some(approval) = &mut self.approval {
            approval.reason.iter_mut().for_each(clean);
        }
        for file in &mut self.files {
            clean(&mut file.path);
        }
        // A result has no secrets of its time; what is one today was perhaps none then.
        if let Some(result) = &mut self.result {
            clean(&mut result.content);
            clean(&mut result.display);
            let blocks = result.blocks.iter_mut();
            blocks.for_each(|block| redactor.redact_block(block));
            if let Some(error) = &mut result.error {
                clean(&mut error.message);
            }
            for value in result.metadata.values_mut() {
                redactor.redact_value(value);
            }
        }
    }

    /// Whether its changes of files are known to have been made.
    pub(super) fn has_changed(&self) -> bool {
        match (self.recovered, &self.result) {
            _ if self.changed => true,
            (Some(outcome), _) => outcome == Recovered::Forward,
            (None, Some(result)) => result.error.is_none(),
            (None, None) => false,
        }
    }
}

impl Transcript {
    /// A conversation without anything in it yet.
    pub(crate) fn of(conversation: &Conversation) -> Self {
        Self {
            conversation: conversation.id.to_string(),
            workspace: conversation.workspace.clone(),
            ..Self::default()
        }
    }

    /// Takes the next entry.
    pub(crate) fn take(&mut self, line: Line) {
        let (seq, at_ms) = (line.seq, line.at_ms);
        let record = match line.body {
            Body::Kept(record) => Some(*record),
            Body::Pruned | Body::Unreadable(_) => None,
        };
        match line.kind.as_str() {
            "streamed" => {
                let (.., streamed) = self
                    .streamed
                    .get_or_insert((seq, at_ms, Streamed::default()));
                self.streamed_gone |= record.is_none();
                return streamed.take(record);
            }
            // It says again what was streamed.
            "assistant_message" => {
                self.streamed = None;
                self.streamed_gone = false;
            }
            _ => self.close(),
        }
        // What comes between turns is no model's.
        if matches!(line.kind.as_str(), "turn_started" | "turn_finished") {
            self.batch = None;
        }
        match (line.kind.as_str(), record) {
            ("turn_finished", Some(Record::TurnFinished { outcome, error, .. })) => {
                if outcome == Outcome::DISCARDED {
                    self.discard();
                }
                if !matches!(outcome.as_str(), "done" | Outcome::RESULTS_WANTED) {
                    self.push(seq, at_ms, Said::Ended { outcome, error });
                }
            }
            ("carried_in", record) => self.carried_in(seq, at_ms, record),
            ("turn_started", Some(Record::TurnStarted { model, .. })) => self.model = Some(model),
            ("user_message", record) => {
                let text = match record {
                    Some(Record::UserMessage { text }) => text,
                    _ => PRUNED.to_owned(),
                };
                self.push(seq, at_ms, Said::User { text });
                self.batch = None;
                self.last.clear();
            }
            ("assistant_message", record) => self.answered(seq, at_ms, record),
            ("received" | "received_bad", record) => {
                self.received(seq, at_ms, (line.call, line.nth), record);
            }
            (_, record) => {
                let known = self.known.get(&(line.call, line.nth));
                let message = known.and_then(|at| self.messages.get_mut(*at));
                if let Some(Message {
                    at_ms: shown,
                    said: Said::Tool(story),
                    ..
                }) = message
                {
                    if line.kind == "finished" {
                        *shown = at_ms;
                    }
                    // A batch has arrived as a whole before anything of it is begun.
                    if matches!(line.kind.as_str(), "asked" | "started" | "finished") {
                        self.batch = None;
                    }
                    story.take(at_ms, &line.kind, record);
                }
            }
        }
    }

    /// To be called after the last entry: an answer that was cut off is part of it.
    pub(crate) fn close(&mut self) {
        if let Some((seq, at_ms, streamed)) = self.streamed.take() {
            let gone = std::mem::take(&mut self.streamed_gone);
            self.said(seq, at_ms, streamed.into_content(), gone);
        }
    }

    fn carried_in(&mut self, seq: u64, at_ms: u64, record: Option<Record>) {
        let messages = match record {
            Some(Record::CarriedIn { messages }) => serde_json::from_value(messages).ok(),
            _ => None,
        };
        let gone = || vec![Carried::user(PRUNED)];
        for message in messages.unwrap_or_else(gone) {
            match message {
                Carried::User { text } => {
                    self.push(seq, at_ms, Said::User { text });
                }
                Carried::Assistant { content } => self.said(seq, at_ms, content, false),
                Carried::Tool { results } => {
                    for result in results {
                        let expected = self.expected.iter();
                        let mut expected = expected.filter(|(call, _)| *call == result.call_id);
                        let at = expected.next().map(|(_, at)| *at);
                        let message = at.and_then(|at| self.messages.get_mut(at));
                        if let Some(Said::Tool(story)) = message.map(|message| &mut message.said) {
                            story.result = Some(result);
                        }
                    }
                }
            }
        }
        self.expected.clear();
    }

    /// Takes the secrets out of everything that was said and done.
    pub(crate) fn redact(&mut self, redactor: &Redactor) {
        let clean = |text: &mut String| {
            if let (Cow::Owned(clean), _) = redactor.redact(text) {
                *text = clean;
            }
        };
        for message in &mut self.messages {
            match &mut message.said {
                Said::User { text } => clean(text),
                Said::Assistant {
                    text,
                    thinking,
                    calls,
                    ..
                } => {
                    clean(text);
                    thinking.iter_mut().for_each(clean);
                    calls.iter_mut().for_each(|call| redactor.redact_call(call));
                }
                Said::Tool(story) => story.redact(redactor, &clean),
                Said::Ended { error, .. } => error.iter_mut().for_each(clean),
            }
        }
    }

    fn push(&mut self, seq: u64, at_ms: u64, said: Said) -> usize {
        self.messages.push(Message { seq, at_ms, said });
        self.messages.len() - 1
    }

    fn answered(&mut self, seq: u64, at_ms: u64, record: Option<Record>) {
        let mut parts = None;
        let mut withdrawn = false;
        if let Some(Record::AssistantMessage {
            content,
            usage,
            stop,
            ..
        }) = record
        {
            withdrawn = stop == Outcome::WITHDRAWN;
            let usage = usage.and_then(|usage| serde_json::from_value(usage).ok());
            self.spent(usage);
            parts = serde_json::from_value(content).ok();
        }
        let gone = parts.is_none();
        let parts = parts.unwrap_or_else(|| vec![Content::text(PRUNED)]);
        self.said(seq, at_ms, parts, gone);
        if withdrawn {
            let outcome = "the answer broke off and was asked for again".to_owned();
            let error = None;
            self.push(seq, at_ms, Said::Ended { outcome, error });
        }
    }

    /// An answer. Where parts of it are gone, it also asked for the calls that follow.
    fn said(&mut self, seq: u64, at_ms: u64, parts: Vec<Content>, gone: bool) {
        let (mut text, mut thinking, mut calls) = (String::new(), None::<String>, Vec::new());
        for part in parts {
            match part {
                Content::Text { text: words, .. } => text.push_str(&words),
                Content::Thinking { text: words, .. } => {
                    thinking.get_or_insert_default().push_str(&words);
                }
                Content::Call { call } => calls.push(call),
                Content::BadCall { call } => {
                    let name = call.name.unwrap_or_default();
                    calls.push(ToolCall::new(call.id, name, Args::new()));
                }
            }
        }
        let said = Said::Assistant {
            text,
            thinking: thinking.filter(|words| !words.is_empty()),
            calls: calls.clone(),
            by_model: true,
        };
        let answer = self.push(seq, at_ms, said);
        self.batch = gone.then_some(answer);
        self.expected.clear();
        self.last.clear();
        for call in calls {
            let id = call.id.clone();
            let at = self.push(seq, at_ms, Said::Tool(Box::new(Story::of(call, true))));
            self.expected.push_back((id, at));
            self.last.push(at);
        }
    }

    /// The user discarded the calls of the last answer: they are shown as the model is told.
    fn discard(&mut self) {
        for at in std::mem::take(&mut self.last) {
            let message = self.messages.get_mut(at);
            if let Some(Said::Tool(story)) = message.map(|message| &mut message.said) {
                story.changed = story.has_changed();
                let (id, tool) = (story.call.id.clone(), story.tool().to_owned());
                story.result = Some(discarded(id, tool, story.result.take()));
            }
        }
    }

    fn spent(&mut self, usage: Option<Usage>) {
        let Some(more) = usage else { return };
        self.usage = Some(self.usage.unwrap_or_default().and(more));
    }

    fn received(&mut self, seq: u64, at_ms: u64, id: (CallId, u64), record: Option<Record>) {
        let expected = self.expected.iter().position(|(call, _)| *call == id.0);
        if let Some((_, at)) = expected.and_then(|at| self.expected.remove(at)) {
            if let Some(message) = self.messages.get_mut(at) {
                (message.seq, message.at_ms) = (seq, at_ms);
            }
            self.known.insert(id, at);
            return;
        }
        let gone = record.is_none();
        let call = match record {
            Some(Record::Received { call }) => call,
            Some(Record::ReceivedBad { call }) => {
                ToolCall::new(call.id, call.name.unwrap_or_default(), Args::new())
            }
            _ => ToolCall::new(id.0.clone(), PRUNED, Args::new()),
        };
        let batch = match self.batch {
            Some(at) => at,
            None => self.push(
                seq,
                at_ms,
                Said::Assistant {
                    text: String::new(),
                    thinking: None,
                    calls: Vec::new(),
                    by_model: false,
                },
            ),
        };
        self.batch = Some(batch);
        let message = self.messages.get_mut(batch);
        let mut asked_by_model = false;
        if let Some(Said::Assistant {
            calls, by_model, ..
        }) = message.map(|message| &mut message.said)
        {
            calls.push(call.clone());
            asked_by_model = *by_model;
        }
        let mut story = Story::of(call, asked_by_model);
        story.gone.call = gone;
        let at = self.push(seq, at_ms, Said::Tool(Box::new(story)));
        self.known.insert(id, at);
    }
}

impl Story {
    fn take(&mut self, at_ms: u64, kind: &str, record: Option<Record>) {
        match (kind, record) {
            ("planned", Some(Record::Planned { plan })) => self.plan = Some(plan),
            ("planned", _) => self.gone.plan = true,
            ("asked", _) => self.asked_ms = Some(at_ms),
            (
                "answered",
                Some(Record::Answered {
                    approved,
                    scope,
                    by,
                    reason,
                    ..
                }),
            ) => {
                self.approval = Some(Approval {
                    by,
                    approved,
                    scope,
                    at_ms,
                    reason,
                });
            }
            ("answered", _) => self.gone.answer = true,
            ("started", _) => self.started_ms = Some(at_ms),
            ("intended", Some(Record::Intended { files })) => self.files.extend(files),
            ("intended", _) => self.gone.files = true,
            ("recovered", Some(Record::Recovered { outcome, .. })) => {
                self.recovered = Some(outcome);
            }
            ("finished", record) => {
                self.finished_ms = Some(at_ms);
                if let Some(Record::Finished { result }) = record {
                    self.result = Some(*result);
                }
            }
            _ => {}
        }
    }
}
