//! What a user sees of a turn while it goes on.

mod output;
mod rendered;
mod waiting;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use toolgate_app::Usage;
use toolgate_app::markdown::Blocks;
use toolgate_app::text::{approval_text, sanitize};
use toolgate_model::{
    Action, CallId, ConversationId, Event, EventKind, PlanRecord, Status, ToolResult,
};

use crate::clean::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::out::Out;
use output::Outputs;
use rendered::rendered;
use waiting::Waiting;

/// Of a command or a path so much is shown beside its result.
const MOST_CHARS: usize = 60;

/// Progress for the user. On a terminal the answer is shown block by block as it comes in;
/// elsewhere standard output gets the last answer alone, when it is known to be the last.
pub(super) struct Progress {
    conversation: ConversationId,
    live: Live,
    /// Words of the answer that may turn out to be the last, where they are not shown yet.
    words: String,
    /// Words that are shown when their block is whole.
    blocks: Blocks,
    /// Whether a block of this answer was shown: the next one keeps its distance.
    is_apart: bool,
    /// A line of thinking that has not ended.
    thinking: String,
    outputs: Outputs,
    /// Calls in the order in which they came, with their results as far as they are there.
    calls: VecDeque<(CallId, Option<Box<ToolResult>>)>,
    /// What each call is about.
    subjects: HashMap<CallId, String>,
    waiting: Waiting,
    usage: Option<Usage>,
}

/// Where a user sees words as they come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Live {
    /// On the terminal that standard output is.
    Output,
    /// On the terminal that standard error is, while standard output goes elsewhere.
    Error,
    Nowhere,
}

impl Progress {
    pub(super) fn new(conversation: &ConversationId, out: &Out) -> Self {
        let live = if out.quiet || out.json {
            Live::Nowhere
        } else if Out::stdout_is_seen() {
            Live::Output
        } else if Out::stderr_is_seen() {
            Live::Error
        } else {
            Live::Nowhere
        };
        Self {
            conversation: conversation.clone(),
            live,
            words: String::new(),
            blocks: Blocks::default(),
            is_apart: false,
            thinking: String::new(),
            outputs: Outputs::new(live != Live::Nowhere),
            calls: VecDeque::new(),
            subjects: HashMap::new(),
            waiting: Waiting::default(),
            usage: None,
        }
    }

    /// Says what is waited for, if nothing else has been written for a moment.
    pub(super) fn tick(&mut self, out: &Out) {
        if self.outputs.is_open() {
            return;
        }
        if let Some(line) = self.waiting.line(self.blocks.rest(), &self.thinking) {
            out.status.show(&line);
        }
    }

    pub(super) fn take(&mut self, event: &Event, out: &Out) -> Result<(), CliError> {
        self.waiting.take(&event.kind);
        if !matches!(event.kind, EventKind::ThinkingDelta { .. }) {
            self.end_thinking(out);
        }
        match &event.kind {
            EventKind::TextDelta { text, .. } => match self.live {
                Live::Nowhere => self.words.push_str(text),
                Live::Output | Live::Error => {
                    self.outputs.end_line(out);
                    if let Some(block) = self.blocks.push(text) {
                        self.block(&block, out)?;
                    }
                }
            },
            EventKind::ThinkingDelta { text, .. } if self.live != Live::Nowhere => {
                self.outputs.end_line(out);
                self.think(text, out);
            }
            EventKind::AssistantMessage { stop, .. } if stop == "withdrawn" => {
                self.told_aside(out)?;
                out.remark(DIM.on("(this answer broke off and does not count)"));
            }
            // What was said before a call, before an error, or before the end of a turn that
            // failed is not the last word.
            EventKind::CallReceived { call_id, .. } => {
                self.told_aside(out)?;
                self.calls.push_back((call_id.clone(), None));
            }
            EventKind::CallPlanned { plan } => {
                self.subjects.insert(plan.call.id.clone(), subject(plan));
                if plan.decision.action != Action::Deny {
                    self.outputs.end_line(out);
                    out.remark(say!("{} {}", CYAN.on("·"), BOLD.on(&plan.summary)));
                }
            }
            EventKind::CallFinished { result } => self.settled(result, out),
            EventKind::TurnFinished { outcome, usage, .. } => {
                self.usage = usage
                    .clone()
                    .and_then(|one| serde_json::from_value(one).ok());
                if matches!(outcome.as_str(), "failed" | "cancelled") {
                    self.told_aside(out)?;
                }
                self.end_words(out)?;
                self.outputs.end_line(out);
            }
            EventKind::OutputChunk {
                call_id,
                stream,
                text,
                ..
            } => self.outputs.take((call_id, *stream), &sanitize(text), out),
            EventKind::Error { message } => {
                self.told_aside(out)?;
                out.remark(say!("{} {}", RED.on("!"), Clean::output(message)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the user has seen the words on standard output already.
    pub(super) fn has_shown_the_answer(&self) -> bool {
        self.live == Live::Output
    }

    /// What the turn cost, in tokens.
    pub(super) const fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn block(&mut self, text: &str, out: &Out) -> Result<(), CliError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let mut shown = Clean::default();
        if std::mem::replace(&mut self.is_apart, true) {
            shown.push("\n");
        }
        shown.push(rendered(text));
        match self.live {
            Live::Output => out.painted(shown),
            _ => {
                out.piece(shown);
                Ok(())
            }
        }
    }

    /// Shows what is left of an answer.
    fn end_words(&mut self, out: &Out) -> Result<(), CliError> {
        let rest = self.blocks.finish();
        self.block(&rest, out)?;
        self.is_apart = false;
        Ok(())
    }

    /// Thinking stands apart: dim, behind a bar.
    fn think(&mut self, text: &str, out: &Out) {
        self.thinking.push_str(text);
        while let Some(end) = self.thinking.find('\n') {
            let rest = self.thinking.split_off(end + 1);
            let line = std::mem::replace(&mut self.thinking, rest);
            thought(&line, out);
        }
    }

    fn end_thinking(&mut self, out: &Out) {
        let line = std::mem::take(&mut self.thinking);
        if !line.trim().is_empty() {
            thought(&line, out);
        }
    }

    fn told_aside(&mut self, out: &Out) -> Result<(), CliError> {
        self.end_words(out)?;
        self.outputs.end_line(out);
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            out.remark(Clean::lines(words.trim()));
        }
        Ok(())
    }

    /// A call has its result. Results are shown in the order of their calls.
    fn settled(&mut self, result: &ToolResult, out: &Out) {
        let mut calls = self.calls.iter_mut();
        let place = calls.find(|(call, there)| *call == result.call_id && there.is_none());
        match place {
            Some((_, there)) => *there = Some(Box::new(result.clone())),
            None => self.finished(result, out),
        }
        while let Some((_, Some(_))) = self.calls.front() {
            if let Some((_, Some(result))) = self.calls.pop_front() {
                self.finished(&result, out);
            }
        }
    }

    fn finished(&mut self, result: &ToolResult, out: &Out) {
        let hidden = self.outputs.finish(&result.call_id, out);
        if hidden > 0 {
            out.remark(DIM.on(say!(
                "  … {} lines are not shown; `toolgate journal show {} --call {} --full` has the result",
                hidden,
                &self.conversation,
                &result.call_id
            )));
        }
        let (colour, word) = match result.status() {
            Status::Ok => (GREEN, "ok"),
            Status::Error => (RED, "error"),
            Status::Denied => (YELLOW, "denied"),
            Status::Cancelled => (YELLOW, "cancelled"),
        };
        let why = result
            .error
            .as_ref()
            .map(|error| approval_text(&error.message));
        let subject = self.subjects.remove(&result.call_id);
        let subject = subject.filter(|subject| !subject.is_empty());
        out.remark(say!(
            "  {} {}{}  {}{}",
            colour.on(word),
            approval_text(&result.tool),
            subject.map(|subject| say!(" {}", approval_text(&subject))),
            DIM.on(say!("{} ms", result.duration_ms)),
            why.map(|why| say!("  {}", why))
        ));
    }
}

fn thought(line: &str, out: &Out) {
    out.remark(DIM.on(say!("│ {}", Clean::output(line.trim_end()))));
}

/// What a call is about: its command, or its paths.
fn subject(plan: &PlanRecord) -> String {
    let command = plan.call.args.get("command").and_then(Value::as_str);
    let text = match command {
        Some(command) => command.to_owned(),
        None => plan.locations.join(", "),
    };
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let cut: String = first.chars().take(MOST_CHARS).collect();
    match cut.len() < first.len() || lines.next().is_some() {
        true => format!("{cut}…"),
        false => cut,
    }
}
