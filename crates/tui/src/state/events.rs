//! Events of the conversation as lines and as calls under way.

use std::time::Duration;

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use serde_json::Value;
use toolgate_model::{CallId, Event, EventKind, ToolResult};

use super::calls::{self, CallView, Progress};
use super::{BOLD, DIM, Effect, State};
use crate::text::{self, short_time};

/// The most bytes of thinking that are held for the screen.
const THINKING: usize = 64 * 1024;

impl State {
    /// The columns for blocks that are laid out.
    fn wide(&self) -> usize {
        usize::from(self.columns).saturating_sub(1).max(10)
    }

    pub(crate) fn event(&mut self, event: &Event, now: Duration) -> Vec<Effect> {
        match &event.kind {
            EventKind::TurnStarted { model, .. } => {
                self.status.model = text::one_line(model);
                self.status.turn_tokens = 0;
                if !self.is_replaying() {
                    self.turn_since.get_or_insert(now);
                }
            }
            EventKind::UserMessage { text } => self.said_by_user(text),
            EventKind::TextDelta {
                message_id,
                offset,
                text,
            } => {
                self.begin_answer(message_id.as_str());
                if *offset == self.answer.bytes() {
                    self.end_thinking(now);
                    let lines = self.answer.push(text, self.wide());
                    self.print_apart(lines);
                }
            }
            EventKind::ThinkingDelta {
                message_id, text, ..
            } => {
                self.begin_answer(message_id.as_str());
                self.thinking_since.get_or_insert(now);
                if self.thinking.len() < THINKING {
                    self.thinking.push_str(text);
                }
            }
            EventKind::AssistantMessage {
                text,
                thinking,
                usage,
                ..
            } => {
                self.whole_answer(text, thinking, now);
                self.used(usage.as_ref());
            }
            EventKind::CallReceived { call_id, tool } => {
                self.call(call_id, tool);
            }
            EventKind::CallPlanned { plan } => {
                let id = plan.call.id.clone();
                self.call(&id, &plan.call.name).planned(plan);
            }
            EventKind::ApprovalRequested { question } => {
                for item in &question.items {
                    self.call(&item.call_id, &item.tool).progress = Progress::Waiting;
                }
            }
            EventKind::ApprovalAnswered { outcome } => self.answered(outcome),
            EventKind::CallStarted { call_id, tool, .. } => {
                self.call(call_id, tool).progress = Progress::Running(now);
            }
            EventKind::OutputChunk {
                call_id,
                offset,
                text,
                ..
            } => {
                self.call(call_id, "").tail.push(*offset, text);
            }
            EventKind::CallFinished { result } => self.call_finished(result),
            EventKind::TurnFinished {
                outcome,
                stop,
                error,
                usage,
                ..
            } => {
                self.turn_finished(outcome, stop.as_deref(), error.as_deref());
                let usage = usage.clone().filter(|_| !self.is_replaying());
                let mut effects: Vec<Effect> = usage.map(Effect::Price).into_iter().collect();
                effects.extend(self.turn_ended(now));
                return effects;
            }
            EventKind::EntryMissing { entry, reason } => {
                let line = format!(
                    "({} is not on record any more: {})",
                    text::one_line(entry),
                    text::one_line(reason)
                );
                self.print([Line::styled(line, DIM)]);
            }
            EventKind::Error { message } => self.wrong(message),
            _ => {}
        }
        Vec::new()
    }

    fn call(&mut self, id: &CallId, tool: &str) -> &mut CallView {
        let at = match self.calls.iter().position(|call| call.id == *id) {
            Some(at) => at,
            None => {
                self.calls.push(CallView::new(id.clone(), tool));
                self.calls.len() - 1
            }
        };
        // The call at this place was found or added just now.
        #[allow(clippy::indexing_slicing)]
        &mut self.calls[at]
    }

    fn said_by_user(&mut self, text: &str) {
        self.print([Line::default()]);
        let style = Style::new().fg(Color::Cyan);
        for (number, line) in text::lines(text).into_iter().enumerate() {
            let mark = if number == 0 { "> " } else { "  " };
            self.print([Line::from(vec![
                Span::styled(mark, style),
                Span::styled(line, BOLD),
            ])]);
        }
        self.print([Line::default()]);
    }

    fn begin_answer(&mut self, id: &str) {
        if self.answer_id.as_deref() != Some(id) {
            self.end_answer();
            self.answer_id = Some(id.to_owned());
        }
    }

    /// Prints what is open of an answer.
    pub(crate) fn end_answer(&mut self) {
        let lines = self.answer.finish(self.wide());
        self.print_apart(lines);
        self.answer_id = None;
        self.thinking.clear();
        self.thinking_since = None;
    }

    fn end_thinking(&mut self, now: Duration) {
        let Some(since) = self.thinking_since.take() else {
            return;
        };
        let thinking = std::mem::take(&mut self.thinking);
        self.thought(&thinking, Some(now.saturating_sub(since)));
    }

    fn thought(&mut self, thinking: &str, time: Option<Duration>) {
        if thinking.trim().is_empty() {
            return;
        }
        let time = time
            .map(|time| format!(" for {}", short_time(time)))
            .unwrap_or_default();
        self.print([Line::styled(format!("· thought{time}"), DIM)]);
        if self.shows_thinking {
            let lines = text::lines(thinking).into_iter();
            self.print(lines.map(|line| Line::styled(format!("  {line}"), DIM)));
        }
        self.keep("thinking".into(), thinking);
    }

    /// The answer is whole: what deltas did not say is printed now.
    fn whole_answer(&mut self, text: &str, thinking: &str, now: Duration) {
        match self.thinking_since {
            Some(_) => self.end_thinking(now),
            None if self.answer_id.is_none() => self.thought(thinking, None),
            None => {}
        }
        if !text.trim().is_empty() {
            text.clone_into(&mut self.last_answer);
        }
        let held = usize::try_from(self.answer.bytes()).unwrap_or(usize::MAX);
        if let Some(rest) = text.get(held..)
            && !rest.is_empty()
        {
            let lines = self.answer.push(rest, self.wide());
            self.print_apart(lines);
        }
        self.end_answer();
    }

    fn used(&mut self, usage: Option<&Value>) {
        let number = |key: &str| {
            usage
                .and_then(|usage| usage.get(key))
                .and_then(Value::as_u64)
        };
        if let Some(input) = number("input_tokens") {
            let output = number("output_tokens").unwrap_or(0);
            self.status.context_tokens = Some(input + output);
            self.status.turn_tokens += input + output;
        }
    }

    fn answered(&mut self, outcome: &toolgate_model::ApprovalOutcome) {
        for call in &mut self.calls {
            if outcome.approved.contains(&call.id) || outcome.denied.contains(&call.id) {
                call.progress = Progress::Pending;
            }
        }
        // Denied calls say so themselves when they settle.
        if outcome.scope != "once" && !outcome.approved.is_empty() {
            let line = match outcome.scope.as_str() {
                "edits" => "approved, with all edits until this conversation ends".to_owned(),
                "commands" => {
                    "approved, with all sandboxed commands until this conversation ends".to_owned()
                }
                scope => format!(
                    "approved, and remembered for this {}",
                    text::one_line(scope)
                ),
            };
            self.print([Line::styled(line, DIM)]);
        }
    }

    fn call_finished(&mut self, result: &ToolResult) {
        let at = self.calls.iter().position(|call| call.id == result.call_id);
        let view = at.map(|at| self.calls.remove(at));
        let lines = calls::finished(view.as_ref(), result);
        let title = view.map_or_else(|| result.tool.clone(), |view| view.name());
        let shown = if result.display.is_empty() {
            &result.content
        } else {
            &result.display
        };
        self.keep(title, shown);
        self.print(lines);
        self.wanted.retain(|(id, _)| *id != result.call_id);
    }

    fn turn_finished(&mut self, outcome: &str, stop: Option<&str>, error: Option<&str>) {
        self.end_answer();
        match outcome {
            "done" => {
                if let Some(stop) = stop.filter(|stop| !["end_turn", "tool_use"].contains(stop))
                    && stop == "max_tokens"
                {
                    self.print([Line::styled(
                        format!("(the answer breaks off: {stop})"),
                        DIM,
                    )]);
                }
            }
            "results_wanted" => self.results_wanted(),
            "max_iterations" => self.print([Line::styled(
                "(the model went on calling tools after the last round it was allowed)",
                DIM,
            )]),
            "cancelled" => self.print([Line::styled("(stopped)", DIM)]),
            "failed" => self.wrong(error.unwrap_or("The turn failed.")),
            other => {
                let line = format!("(the turn ended: {})", text::one_line(other));
                self.print([Line::styled(line, DIM)]);
            }
        }
        if !self.is_replaying() && outcome != "results_wanted" {
            self.calls.clear();
        }
    }

    /// The calls are left to the user (`parse_only`): they are listed with what to type.
    fn results_wanted(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        self.wanted = calls
            .iter()
            .map(|call| (call.id.clone(), call.tool.clone()))
            .collect();
        self.supplied.clear();
        self.print([Line::styled(
            "The model waits for your results of these calls:",
            BOLD,
        )]);
        for call in &calls {
            let id = text::one_line(call.id.as_str());
            let line = format!("  {}  {id}  {}", text::one_line(&call.tool), call.name());
            self.print([Line::raw(line)]);
        }
        self.print([Line::styled("Type /tool ID RESULT for each.", DIM)]);
    }
}
