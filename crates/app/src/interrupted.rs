//! A conversation that was interrupted: what is known of its calls, what the user decides
//! about them, and their one result each. Nothing is run again.
//!
//! ```
//! use toolgate_app::interrupted::Choice;
//!
//! assert_eq!(Choice::Keep.as_str(), "keep");
//! assert_eq!(Choice::Discard.as_str(), "discard");
//! ```

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_engine::{DISCARDED, Outcome, Streamed};
use toolgate_gate::Clock;
use toolgate_gate::journal::{
    Body, Entry, Filter, FullJournal, JournalError, ReadJournal, Record as Noted,
};
use toolgate_model::{CallId, ConversationId, ErrorKind, ToolError, ToolResult};
use toolgate_providers::Content;
use toolgate_sandbox::paths::PathSandbox;

pub use toolgate_gate::journal::{Class, Recovery, Unfinished};

/// What becomes of calls that were interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The model is told what is known of them.
    Keep,
    /// The model is told that no result of the batch counts.
    Discard,
}

impl Choice {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Discard => "discard",
        }
    }
}

/// What a crash left of a conversation.
#[derive(Clone, Debug)]
pub struct Interrupted {
    id: ConversationId,
    calls: Vec<Unfinished>,
    turn: Turn,
}

/// The last turn of the conversation, where it has turns.
#[derive(Clone, Debug, Default)]
struct Turn {
    /// Its number, if it has not ended.
    open: Option<u64>,
    waits_for_results: bool,
    /// The calls of its last answer that have a result, with their tools.
    finished: Vec<(String, String)>,
    /// An answer that did not come to its end.
    streamed: Streamed,
}

impl Turn {
    fn take(&mut self, record: Noted) {
        match record {
            Noted::TurnStarted { turn, .. } => {
                *self = Self {
                    open: Some(turn),
                    ..Self::default()
                };
            }
            Noted::TurnFinished { outcome, .. } => {
                *self = Self {
                    // Its calls wait for the user: nothing was interrupted.
                    waits_for_results: outcome == Outcome::RESULTS_WANTED,
                    ..Self::default()
                };
            }
            Noted::AssistantMessage { .. } => {
                self.finished.clear();
                self.streamed = Streamed::default();
            }
            part @ Noted::Streamed { .. } => self.streamed.take(Some(part)),
            Noted::Finished { result } if self.open.is_some() => {
                let call = result.call_id.as_str().to_owned();
                self.finished.push((call, result.tool));
            }
            _ => {}
        }
    }
}

impl Interrupted {
    /// Looks at a conversation that this process has taken.
    pub(crate) async fn look(
        journal: &dyn FullJournal,
        id: &ConversationId,
        clock: &dyn Clock,
    ) -> Result<Self, JournalError> {
        let mut turn = Turn::default();
        let reader: &dyn ReadJournal = journal;
        let each = |line: toolgate_gate::journal::Line| {
            if let Body::Kept(record) = line.body {
                turn.take(*record);
            }
            true
        };
        reader.each(Filter::of(id), each).await?;
        let cut_short = std::mem::take(&mut turn.streamed).into_content();
        if !cut_short.is_empty() {
            turn.finished.clear();
            end_answer(journal, id, cut_short, clock).await?;
        }
        Ok(Self {
            id: id.clone(),
            calls: journal.unfinished(Some(id)).await?,
            turn,
        })
    }

    /// Whether there is nothing to decide and nothing to put on record.
    pub const fn is_nothing(&self) -> bool {
        self.calls.is_empty() && self.turn.open.is_none()
    }

    /// The turn that did not end.
    pub const fn turn(&self) -> Option<u64> {
        self.turn.open
    }

    /// Whether its calls wait for results of the user, so that nothing was cut off.
    pub fn waits_for_results(&self) -> bool {
        self.turn.waits_for_results && self.has_open_calls()
    }

    fn has_open_calls(&self) -> bool {
        let open = |call: &Unfinished| call.class() != Class::Finished;
        self.calls.iter().any(open)
    }

    /// Whether a call has no result, so that the user has to say what becomes of it.
    pub fn is_undecided(&self) -> bool {
        !self.turn.waits_for_results && self.has_open_calls()
    }

    /// The calls of the last answer that have a result, with their tools.
    pub fn finished(&self) -> &[(String, String)] {
        &self.turn.finished
    }

    /// The calls without a result, or with files that may be half changed.
    pub fn calls(&self) -> &[Unfinished] {
        &self.calls
    }

    /// How many results that are there a choice gives up.
    pub fn given_up(&self, choice: Option<Choice>) -> usize {
        match choice {
            Some(Choice::Discard) => self.turn.finished.len(),
            _ => 0,
        }
    }

    /// Gives every call its one result and the turn its end. Where nothing had to be
    /// chosen, what there is is kept.
    pub(crate) async fn settle(
        &self,
        journal: &dyn FullJournal,
        sandbox: &PathSandbox,
        chosen: Option<Choice>,
        clock: &dyn Clock,
    ) -> Result<Vec<SettledCall>, JournalError> {
        let choice = chosen.unwrap_or(Choice::Keep);
        let given_up = self.waits_for_results();
        let waiting = given_up && choice == Choice::Keep;
        let mut settled = Vec::new();
        for call in &self.calls {
            if !waiting || call.half_changed {
                settled.push(settle(journal, sandbox, call, chosen, given_up).await?);
            }
        }
        if let Some(turn) = self.turn.open {
            let outcome = match choice {
                Choice::Keep => "interrupted",
                Choice::Discard => Outcome::DISCARDED,
            };
            self.mark(journal, turn, outcome, clock).await?;
        }
        Ok(settled)
    }

    /// Puts on record how the turn ended.
    async fn mark(
        &self,
        journal: &dyn FullJournal,
        turn: u64,
        outcome: &str,
        clock: &dyn Clock,
    ) -> Result<(), JournalError> {
        let outcome = outcome.to_owned();
        let record = Noted::TurnFinished {
            turn,
            outcome,
            error: None,
            stop: None,
            usage: None,
        };
        let entries = vec![entry(&self.id, "".into(), record, clock)];
        journal.commit(entries).await
    }
}

/// Puts on record what there is of an answer that was cut off while it came in, and that
/// its calls were received: from here on they are calls that were not started.
async fn end_answer(
    journal: &dyn FullJournal,
    id: &ConversationId,
    content: Vec<Content>,
    clock: &dyn Clock,
) -> Result<(), JournalError> {
    let said = Noted::AssistantMessage {
        message_id: None,
        content: serde_json::to_value(&content).unwrap_or_default(),
        stop: "interrupted".to_owned(),
        usage: None,
    };
    let mut entries = vec![entry(id, "".into(), said, clock)];
    for part in content {
        let (call, record) = match part {
            Content::Call { call } => (call.id.clone(), Noted::Received { call }),
            Content::BadCall { call } => (call.id.clone(), Noted::ReceivedBad { call }),
            Content::Text { .. } | Content::Thinking { .. } => continue,
        };
        entries.push(entry(id, call, record, clock));
    }
    journal.commit(entries).await
}

fn entry(id: &ConversationId, call: CallId, record: Noted, clock: &dyn Clock) -> Entry {
    Entry {
        conversation: id.clone(),
        call,
        at_ms: clock.now_ms(),
        record,
    }
}

const fn named(class: Class) -> &'static str {
    match class {
        Class::NotStarted => "not_started",
        Class::Finished => "finished",
        Class::OutcomeUnknown => "outcome_unknown",
    }
}

/// A call that was interrupted and what became of it.
#[derive(Clone, Debug)]
pub struct SettledCall {
    /// The call.
    pub call: Unfinished,
    /// What became of the files that it was changing.
    pub recovery: Option<Recovery>,
    /// Its result; nothing if it had one.
    pub result: Option<ToolResult>,
}

async fn settle(
    journal: &dyn FullJournal,
    sandbox: &PathSandbox,
    call: &Unfinished,
    chosen: Option<Choice>,
    given_up: bool,
) -> Result<SettledCall, JournalError> {
    let recovery = if call.half_changed {
        let recovery = journal.recover(call, Arc::new(sandbox.clone())).await?;
        // The user has chosen: a change that cannot be mended does not wait any longer.
        if recovery.hindered.is_some() && chosen.is_some() {
            journal.give_up(call, &recovery).await?;
        }
        Some(recovery)
    } else {
        None
    };
    let mut settled = SettledCall {
        call: call.clone(),
        recovery,
        result: None,
    };
    if call.class() != Class::Finished {
        let result = settled.outcome(chosen.unwrap_or(Choice::Keep), given_up);
        journal.settle(call, result.clone()).await?;
        settled.result = Some(result);
    }
    Ok(settled)
}

impl SettledCall {
    /// The one result: what is known, and what the user decided. A call that waited for
    /// the user's own result was not interrupted by anything.
    fn outcome(&self, choice: Choice, given_up: bool) -> ToolResult {
        let known = self.call.result(self.recovery.as_ref());
        let mut result = match choice {
            Choice::Keep => known,
            Choice::Discard => {
                let message = if given_up {
                    format!("{DISCARDED} instead of answering it; this call was not run")
                } else {
                    format!("{DISCARDED}; {}", known.content)
                };
                let error = ToolError::new(ErrorKind::Interrupted, message);
                ToolResult::failed(self.call.call.clone(), known.tool, error)
            }
        };
        let told = [
            ("resumed", choice.as_str()),
            ("class", named(self.call.class())),
        ];
        for (key, value) in told {
            result.metadata.insert(key.to_owned(), json!(value));
        }
        result
    }

    /// Whether it had begun, and how far it came is not known.
    pub fn is_unknown(&self) -> bool {
        self.call.class() == Class::OutcomeUnknown
    }

    /// For a program.
    pub fn to_json(&self) -> Value {
        let files = self.recovery.iter().flat_map(|recovery| &recovery.files);
        let files: Vec<Value> = files
            .map(|file| json!({"path": file.path, "note": file.note}))
            .collect();
        json!({
            "call_id": self.call.call,
            "nth": self.call.nth,
            "tool": self.call.tool,
            "class": named(self.call.class()),
            "files": files,
            "result": self.result,
        })
    }
}
