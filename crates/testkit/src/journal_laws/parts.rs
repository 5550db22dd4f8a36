//! Entries to offer, and what a journal says of itself.

use std::sync::Arc;

use futures::executor::block_on;
use toolgate_gate::journal::{
    Batch, Body, Entry, Filter, FullJournal, JournalError, Line, Record, VerifyJournal,
};
use toolgate_model::{Args, Facts, PlanRecord, ToolCall, ToolResult};

pub(super) fn entry(conversation: &str, call: &str, at_ms: u64, record: Record) -> Entry {
    Entry {
        conversation: conversation.into(),
        call: call.into(),
        at_ms,
        record,
    }
}

pub(super) fn said(conversation: &str, at_ms: u64, text: &str) -> Entry {
    let record = Record::UserMessage { text: text.into() };
    entry(conversation, "", at_ms, record)
}

pub(super) fn received(call: &str) -> Record {
    Record::Received {
        call: ToolCall::new(call, "read_file", Args::new()),
    }
}

pub(super) fn planned(call: &str) -> Record {
    let plan = serde_json::json!({
        "conversation": "c",
        "call": {"id": call, "name": "read_file", "args": {}},
        "tool": "read_file",
        "summary": "reads",
        "risk": "low",
        "locations": [],
        "facts": Facts::reading("a"),
        "decision": {
            "action": "allow",
            "reason": "it only reads",
            "rule": "default",
            "source": {"layer": "built-in"},
            "atoms": [],
        },
        "plan_hash": "h",
    });
    let plan: PlanRecord = serde_json::from_value(plan).unwrap();
    Record::Planned {
        plan: Arc::new(plan),
    }
}

pub(super) fn finished(call: &str) -> Record {
    let result = Box::new(ToolResult::ok(call.into(), "read_file", "done"));
    Record::Finished { result }
}

/// Everything that is durable before an effect.
pub(super) fn start(conversation: &str, call: &str, at_ms: u64) -> Vec<Entry> {
    [received(call), planned(call), Record::Started]
        .map(|record| entry(conversation, call, at_ms, record))
        .into()
}

pub(super) fn offer(journal: &dyn FullJournal, batch: &Batch) -> Result<u64, JournalError> {
    block_on(journal.append(batch.clone()))
}

pub(super) fn commit(journal: &dyn FullJournal, entries: Vec<Entry>) -> Result<(), JournalError> {
    block_on(journal.commit(entries))
}

/// A whole call, in two commits.
pub(super) fn whole(journal: &dyn FullJournal, conversation: &str, call: &str, at_ms: u64) {
    commit(journal, start(conversation, call, at_ms)).unwrap();
    let end = entry(conversation, call, at_ms, finished(call));
    commit(journal, vec![end]).unwrap();
}

pub(super) fn lines(journal: &dyn FullJournal, filter: Filter) -> Vec<Line> {
    block_on(journal.entries(filter)).unwrap()
}

/// A conversation as it went in; numbers are checked on the way.
pub(super) fn entries(journal: &dyn FullJournal, conversation: &str) -> Vec<Entry> {
    let lines = lines(journal, Filter::of(&conversation.into()));
    let each = (1_u64..).zip(lines).map(|(seq, line)| {
        assert_eq!(line.seq, seq, "numbers have no gap");
        Entry {
            conversation: line.conversation,
            call: line.call,
            at_ms: line.at_ms,
            record: match line.body {
                Body::Kept(record) => *record,
                other => panic!("{other:?}"),
            },
        }
    });
    each.collect()
}

pub(super) fn is_sound(journal: &dyn FullJournal) {
    let journal: &dyn VerifyJournal = journal;
    let verified = block_on(journal.verify(None)).unwrap();
    assert_eq!(verified.problems, []);
}
