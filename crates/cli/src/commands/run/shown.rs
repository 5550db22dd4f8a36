//! What a person sees of a turn while it goes on.

use toolgate_gate::output::{approval_text, sanitize};
use toolgate_model::{Action, Event, Status};

use crate::out::Out;
use crate::out::style::{BOLD, CYAN, DIM, GREEN, RED, RESET, YELLOW};

/// Progress on standard error; the last answer is not part of it.
#[derive(Default)]
pub(super) struct Progress {
    /// Words of the answer that may turn out to be the last.
    words: String,
}

impl Progress {
    pub(super) fn take(&mut self, event: &Event, out: &Out) {
        match event {
            Event::TextDelta { text } => self.words.push_str(text),
            Event::CallReceived { .. } => {
                let words = std::mem::take(&mut self.words);
                if !words.trim().is_empty() {
                    out.remark(words.trim());
                }
            }
            _ => {
                if let Some(line) = told(event) {
                    out.remark(&line);
                }
            }
        }
    }
}

fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::CallPlanned { plan } if plan.decision.action != Action::Deny => {
            format!("{CYAN}·{RESET} {BOLD}{}{RESET}", plan.summary)
        }
        Event::OutputChunk { text, .. } => format!("{DIM}{}{RESET}", sanitize(text).trim_end()),
        Event::CallFinished { result } => {
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
            format!(
                "  {colour}{word}{RESET} {DIM}{} {} ms{RESET}{}",
                approval_text(&result.tool),
                result.duration_ms,
                why.map(|why| format!("  {why}")).unwrap_or_default()
            )
        }
        Event::Error { message } => format!("{RED}!{RESET} {}", sanitize(message)),
        _ => return None,
    })
}
