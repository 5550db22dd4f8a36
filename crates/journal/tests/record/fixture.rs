//! A directory with a journal in it, and entries to put there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::executor::block_on;
use toolgate_gate::Clock;
use toolgate_gate::journal::{Entry, Journal, JournalError, Record};
use toolgate_gate::store::{Edit, Space, Store};
use toolgate_journal::{Anchor, Body, Filter, Line, Options, Reader, SqliteJournal, Verified};
use toolgate_model::{Args, ErrorKind, Facts, PlanRecord, ToolCall, ToolError, ToolResult};

/// What the log of SQLite is made of, with pages of 4,096 bytes.
pub(crate) const LOG_HEADER: usize = 32;
pub(crate) const LOG_FRAME: usize = 24 + 4096;

pub(crate) struct Place {
    directory: tempfile::TempDir,
    pub(crate) clock: Ticking,
}

/// A clock that moves on by one with every look.
#[derive(Clone, Default)]
pub(crate) struct Ticking(Arc<AtomicU64>);

impl Ticking {
    pub(crate) fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }
}

impl Clock for Ticking {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            clock: Ticking::default(),
        }
    }

    /// In memory where there is such a directory: for tests that make many and do not end processes.
    pub(crate) fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self {
            directory: directory.unwrap(),
            clock: Ticking::default(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("state/journal.db")
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            clock: Arc::new(self.clock.clone()),
            ..Options::default()
        }
    }

    pub(crate) fn open(&self) -> SqliteJournal {
        SqliteJournal::open(self.file(), self.options()).unwrap()
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(self.file()).unwrap()
    }

    pub(crate) fn verify(&self) -> Verified {
        self.reader().verify(None).unwrap()
    }

    pub(crate) fn verify_against(&self, anchor: &Anchor) -> Verified {
        self.reader().verify(Some(anchor)).unwrap()
    }

    pub(crate) fn lines(&self, filter: &Filter) -> Vec<Line> {
        let mut lines = Vec::new();
        let each = |line| {
            lines.push(line);
            true
        };
        self.reader().show(filter, each).unwrap();
        lines
    }

    /// Everything on record, as it went in.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let lines = self.lines(&Filter::default()).into_iter();
        lines
            .map(|line| Entry {
                conversation: line.conversation,
                call: line.call,
                at_ms: line.at_ms,
                record: match line.body {
                    Body::Kept(record) => *record,
                    other => panic!("{other:?}"),
                },
            })
            .collect()
    }
}

pub(crate) fn entry(conversation: &str, call: &str, at_ms: u64, record: Record) -> Entry {
    Entry {
        conversation: conversation.into(),
        call: call.into(),
        at_ms,
        record,
    }
}

pub(crate) fn received(call: &str) -> Record {
    Record::Received {
        call: ToolCall::new(call, "read_file", Args::new()),
    }
}

pub(crate) fn planned(call: &str) -> Record {
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

pub(crate) fn finished(call: &str) -> Record {
    Record::Finished {
        result: Box::new(ToolResult::ok(call.into(), "read_file", "done")),
    }
}

pub(crate) fn failed(call: &str, kind: ErrorKind) -> Record {
    let error = ToolError::new(kind, "no");
    Record::Finished {
        result: Box::new(ToolResult::failed(call.into(), "read_file", error)),
    }
}

/// Received, planned, started: what is durable before an effect.
pub(crate) fn start(conversation: &str, call: &str, at_ms: u64) -> Vec<Entry> {
    [received(call), planned(call), Record::Started]
        .map(|record| entry(conversation, call, at_ms, record))
        .into()
}

/// A whole call, in two commits.
pub(crate) fn whole(journal: &dyn Journal, conversation: &str, call: &str, at_ms: u64) {
    commit(journal, start(conversation, call, at_ms)).unwrap();
    let end = entry(conversation, call, at_ms, finished(call));
    commit(journal, vec![end]).unwrap();
}

pub(crate) fn commit(journal: &dyn Journal, entries: Vec<Entry>) -> Result<(), JournalError> {
    block_on(journal.commit(entries))
}

/// Commits batches in one transaction: the writer is held up until all of them wait.
pub(crate) fn together(
    journal: &SqliteJournal,
    batches: Vec<Vec<Entry>>,
) -> Vec<Result<(), JournalError>> {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let hold = move |_: Option<&str>| {
        // Nobody sends: this ends when all were handed in.
        let _ = wait.lock().unwrap().recv();
        Ok(Edit::Keep)
    };
    let mut held = journal.update(&Space::new("/w", "hold"), "k", Box::new(hold));
    assert!((&mut held).now_or_never().is_none());
    let mut waiting: Vec<_> = batches
        .into_iter()
        .map(|entries| journal.commit(entries))
        .collect();
    let early: Vec<_> = waiting
        .iter_mut()
        .map(|commit| commit.now_or_never())
        .collect();
    drop(go);
    block_on(held).unwrap();
    let all = waiting.into_iter().zip(early);
    all.map(|(commit, early)| early.unwrap_or_else(|| block_on(commit)))
        .collect()
}
