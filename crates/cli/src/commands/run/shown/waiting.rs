//! What a turn waits for.

use std::time::Instant;

use toolgate_model::{CallId, EventKind};

use crate::clean::Clean;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Of what is being written so much is shown.
const MOST_CHARS: usize = 40;

/// What is waited for, and since when.
#[derive(Debug)]
pub(super) struct Waiting {
    what: What,
    since: Instant,
    model: String,
    frame: usize,
    /// Calls that run, with what each is.
    running: Vec<(CallId, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Nothing,
    Model,
    Thinking,
    Writing,
    Calls,
    /// The user, who has a question before them.
    Answer,
    /// The provider, which wants to be left alone for a while.
    Patience,
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            what: What::Nothing,
            since: Instant::now(),
            model: String::new(),
            frame: 0,
            running: Vec::new(),
        }
    }
}

impl Waiting {
    pub(super) fn take(&mut self, kind: &EventKind) {
        let what = match kind {
            EventKind::TurnStarted { model, .. } => {
                self.model.clone_from(model);
                What::Model
            }
            EventKind::ThinkingDelta { .. } => What::Thinking,
            EventKind::TextDelta { .. } => What::Writing,
            EventKind::CallReceived { .. } | EventKind::CallPlanned { .. } => What::Calls,
            EventKind::ApprovalRequested { .. } => What::Answer,
            EventKind::ApprovalAnswered { .. } => What::Calls,
            EventKind::CallStarted { call_id, tool, .. } => {
                self.running.push((call_id.clone(), tool.clone()));
                self.since = Instant::now();
                What::Calls
            }
            EventKind::CallFinished { result } => {
                self.running.retain(|(call, _)| *call != result.call_id);
                match self.running.is_empty() {
                    true => What::Model,
                    false => What::Calls,
                }
            }
            EventKind::Error { message } if message.contains("trying again in") => What::Patience,
            EventKind::TurnFinished { .. } => What::Nothing,
            _ => return,
        };
        if what != self.what {
            self.what = what;
            self.since = Instant::now();
        }
    }

    /// The line that says it; nothing where nothing is waited for, or the user is.
    pub(super) fn line(&mut self, written: &str, thought: &str) -> Option<String> {
        let what = match self.what {
            What::Nothing | What::Answer => return None,
            What::Model => format!("waiting for {}", self.model),
            What::Patience => format!("waiting to ask {} again", self.model),
            What::Thinking => "thinking".to_owned(),
            What::Writing => "writing".to_owned(),
            What::Calls => match self.running.as_slice() {
                [] => "checking calls".to_owned(),
                [(_, tool)] => format!("running {tool}"),
                several => format!("running {} calls", several.len()),
            },
        };
        self.frame = (self.frame + 1) % FRAMES.len();
        let frame = FRAMES.get(self.frame).copied().unwrap_or("·");
        let seconds = self.since.elapsed().as_secs();
        let tail = match self.what {
            What::Writing => end(written),
            What::Thinking => end(thought),
            _ => String::new(),
        };
        let gap = if tail.is_empty() { "" } else { "  " };
        Some(format!("{frame} {what} · {seconds} s{gap}{tail}"))
    }
}

/// The last letters of the last line.
fn end(text: &str) -> String {
    let line = text.trim_end().lines().next_back().unwrap_or_default();
    let line = Clean::output(line);
    let count = line.as_str().chars().count();
    let letters = line.as_str().chars();
    letters.skip(count.saturating_sub(MOST_CHARS)).collect()
}
