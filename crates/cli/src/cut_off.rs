//! A conversation that was cut off: what is known of its calls, what the person wants to
//! become of them, and their one result each. Nothing is run again.

use serde_json::{Value, json};
use toolgate_engine::{DISCARDED, Outcome, Streamed};
use toolgate_gate::journal::{
    Body, Class, Entry, Filter, FullJournal, JournalError, ReadJournal, Record as Noted, Recovery,
    Unfinished,
};
use toolgate_gate::output::approval_text;
use toolgate_model::{CallId, ConversationId, ErrorKind, ToolError, ToolResult};
use toolgate_providers::Content;
use toolgate_sandbox::paths::PathSandbox;

use crate::clean::style::{BOLD, DIM, GREEN, YELLOW};
use crate::clean::{Clean, say};
use crate::{clock, question};

/// What becomes of calls that were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The model is told what is known of them.
    Keep,
    /// The model is told that no result of the batch counts.
    Discard,
}

impl Choice {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Discard => "discard",
        }
    }
}

/// What a crash left of a conversation.
pub(crate) struct CutOff {
    id: ConversationId,
    calls: Vec<Unfinished>,
    turn: Turn,
}

/// The last turn of the conversation, where it has turns.
#[derive(Default)]
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
                    // Its calls wait for the person: nothing was cut off.
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

impl CutOff {
    /// Looks at a conversation that this process has taken.
    pub(crate) async fn look(
        journal: &dyn FullJournal,
        id: &ConversationId,
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
            end_answer(journal, id, cut_short).await?;
        }
        Ok(Self {
            id: id.clone(),
            calls: journal.unfinished(Some(id)).await?,
            turn,
        })
    }

    /// Whether there is nothing to decide and nothing to put on record.
    pub(crate) const fn is_nothing(&self) -> bool {
        self.calls.is_empty() && self.turn.open.is_none()
    }

    /// The turn that did not end.
    pub(crate) const fn turn(&self) -> Option<u64> {
        self.turn.open
    }

    /// Whether its calls wait for results of the person, so that nothing was cut off.
    pub(crate) fn waits_for_results(&self) -> bool {
        self.turn.waits_for_results && self.has_open_calls()
    }

    fn has_open_calls(&self) -> bool {
        let open = |call: &Unfinished| call.class() != Class::Finished;
        self.calls.iter().any(open)
    }

    /// Whether a call has no result, so that the person has to say what becomes of it.
    pub(crate) fn is_undecided(&self) -> bool {
        !self.turn.waits_for_results && self.has_open_calls()
    }

    /// Each call of the batch that was cut off, and what is known of it.
    pub(crate) fn pictured(&self) -> Vec<Clean> {
        let finished = self.turn.finished.iter().map(|(call, tool)| {
            let (call, tool) = (approval_text(call), approval_text(tool));
            say!("{}  {}  {}", BOLD.on(call), tool, GREEN.on("finished"))
        });
        finished.chain(self.calls.iter().map(pictured)).collect()
    }

    /// Shows the calls and asks what becomes of them; nothing where nobody is there.
    pub(crate) async fn ask(&self) -> Option<Choice> {
        let calls = self.pictured();
        let calls = calls.iter().map(|line| say!("  {}\n", line.plain()));
        let question = say!(
            "The last turn was cut off:\n{}Nothing is run again. Resume with what there is (keep), or discard the results of all these calls?",
            Clean::join(calls, "")
        );
        match question::choose(question, &["keep", "discard"]).await? {
            "keep" => Some(Choice::Keep),
            _ => Some(Choice::Discard),
        }
    }

    /// What a person should know whose choice gives up results that are there.
    pub(crate) fn given_up(&self, choice: Option<Choice>) -> Option<String> {
        let count = self.turn.finished.len();
        let gives_up = choice == Some(Choice::Discard) && count > 0;
        gives_up.then(|| {
            format!(
                "The model is told that the results of all calls of the batch are discarded, also of the {count} that had finished; what those did is still there, and `toolgate undo {}` takes changes of files back.",
                self.id
            )
        })
    }

    /// Gives every call its one result and the turn its end. Where nothing had to be
    /// chosen, what there is is kept.
    pub(crate) async fn settle(
        &self,
        journal: &dyn FullJournal,
        sandbox: &PathSandbox,
        chosen: Option<Choice>,
    ) -> Result<Vec<Settled<'_>>, JournalError> {
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
            self.mark(journal, turn, outcome).await?;
        }
        Ok(settled)
    }

    /// Puts on record how the turn ended.
    async fn mark(
        &self,
        journal: &dyn FullJournal,
        turn: u64,
        outcome: &str,
    ) -> Result<(), JournalError> {
        let outcome = outcome.to_owned();
        let record = Noted::TurnFinished {
            turn,
            outcome,
            error: None,
        };
        let entries = vec![entry(&self.id, "".into(), record)];
        journal.commit(entries).await
    }
}

/// Puts on record what there is of an answer that was cut off while it came in, and that
/// its calls were received: from here on they are calls that were not started.
async fn end_answer(
    journal: &dyn FullJournal,
    id: &ConversationId,
    content: Vec<Content>,
) -> Result<(), JournalError> {
    let said = Noted::AssistantMessage {
        content: serde_json::to_value(&content).unwrap_or_default(),
        stop: "interrupted".to_owned(),
        usage: None,
    };
    let mut entries = vec![entry(id, "".into(), said)];
    for part in content {
        let (call, record) = match part {
            Content::Call { call } => (call.id.clone(), Noted::Received { call }),
            Content::BadCall { call } => (call.id.clone(), Noted::ReceivedBad { call }),
            Content::Text { .. } | Content::Thinking { .. } => continue,
        };
        entries.push(entry(id, call, record));
    }
    journal.commit(entries).await
}

fn entry(id: &ConversationId, call: CallId, record: Noted) -> Entry {
    Entry {
        conversation: id.clone(),
        call,
        at_ms: clock::now_ms(),
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

fn pictured(call: &Unfinished) -> Clean {
    let class = match call.class() {
        Class::NotStarted => GREEN.on("not started"),
        Class::Finished => GREEN.on("finished"),
        Class::OutcomeUnknown => YELLOW.on("outcome unknown"),
    };
    let half = if call.half_changed {
        ", in the middle of changing files"
    } else {
        ""
    };
    // What a model called a call is not obeyed by a terminal.
    say!(
        "{}  {}  {}{}  {}",
        BOLD.on(approval_text(call.call.as_str())),
        approval_text(call.tool.as_deref().unwrap_or("not planned")),
        class,
        half,
        DIM.on(clock::shown(call.received_ms))
    )
}

/// A call that was cut off and what became of it.
pub(crate) struct Settled<'a> {
    call: &'a Unfinished,
    recovery: Option<Recovery>,
    /// Nothing if it had one.
    result: Option<ToolResult>,
}

async fn settle<'a>(
    journal: &dyn FullJournal,
    sandbox: &PathSandbox,
    call: &'a Unfinished,
    chosen: Option<Choice>,
    given_up: bool,
) -> Result<Settled<'a>, JournalError> {
    let recovery = if call.half_changed {
        let recovery = journal.recover(call, sandbox).await?;
        // The person has chosen: a change that cannot be mended does not wait any longer.
        if recovery.hindered.is_some() && chosen.is_some() {
            journal.give_up(call, &recovery).await?;
        }
        Some(recovery)
    } else {
        None
    };
    let mut settled = Settled {
        call,
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

impl Settled<'_> {
    /// The one result: what is known, and what the person decided. A call that waited for
    /// the person's own result was not cut off by anything.
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

    /// Whether it had begun, and nobody knows how far it came.
    pub(crate) fn is_unknown(&self) -> bool {
        self.call.class() == Class::OutcomeUnknown
    }

    /// For a person.
    pub(crate) fn lines(&self) -> Vec<Clean> {
        let files = self.recovery.iter().flat_map(|recovery| &recovery.files);
        let files = files.map(|file| {
            let (path, note) = (approval_text(&file.path), approval_text(&file.note));
            say!("    {}: {}", path, note)
        });
        let result = self.result.iter().map(|result| {
            let content = approval_text(&result.content);
            say!("    {}", DIM.on(content))
        });
        let first = std::iter::once(pictured(self.call));
        first.chain(files).chain(result).collect()
    }

    /// For a program.
    pub(crate) fn told(&self) -> Value {
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
