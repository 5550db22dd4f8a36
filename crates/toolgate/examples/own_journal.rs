//! A journal of one's own: one JSON line per entry, synced before anything happens.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use toolgate::approve::ApproveAll;
use toolgate::call::ConversationId;
use toolgate::journal::{Batch, Image, Journal, JournalEntry, JournalError};
use toolgate::{BatchContext, BoxFuture, Call, Rules, Workspace};

/// Appends to a file. Clones share it.
#[derive(Clone)]
struct JsonLines(Arc<Mutex<Lines>>);

struct Lines {
    file: File,
    /// How many entries each conversation has.
    entries: HashMap<ConversationId, u64>,
}

impl JsonLines {
    /// Returns the number of the first entry in its conversation.
    fn put(&self, entries: &[JournalEntry]) -> io::Result<u64> {
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        record.file.write_all(&lines)?;
        record.file.sync_data()?;
        let Some(first) = entries.first() else {
            return Err(io::Error::other("no entries"));
        };
        let written = record
            .entries
            .entry(first.conversation.clone())
            .or_default();
        let number = *written + 1;
        *written += entries.len() as u64;
        Ok(number)
    }

    /// Disks are slow: a thread that may wait writes.
    fn write(&self, entries: Vec<JournalEntry>) -> BoxFuture<'static, Result<u64, JournalError>> {
        let journal = self.clone();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || journal.put(&entries)).await;
            let written = written.map_err(io::Error::other).flatten();
            written.map_err(|error| JournalError::unknown(error.to_string()))
        })
    }
}

impl Journal for JsonLines {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.write(batch.entries().to_vec())
    }

    /// Without the files as they were, a change that a crash cut short cannot be undone.
    fn intend(
        &self,
        entry: JournalEntry,
        before: Vec<Image>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        drop(before);
        let written = self.write(vec![entry]);
        Box::pin(async move { written.await.map(drop) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (directory, record) = (tempfile::tempdir()?, tempfile::NamedTempFile::new()?);
    let lines = Lines {
        file: record.reopen()?,
        entries: HashMap::new(),
    };
    let journal = JsonLines(Arc::new(Mutex::new(lines)));
    let workspace = Workspace::builder(directory.path(), Rules::default())
        .journal(Arc::new(journal))
        .open()?;
    let args = json!({"path": "a.txt", "content": "hello"});
    let calls = vec![Call::new("1", "write_file", args)];
    let (session, passage) = (workspace.session("first"), BatchContext::asking(ApproveAll));
    for result in workspace.gate().run(&session, calls, &passage).await {
        println!("{:?}", result.status());
    }
    for line in std::fs::read_to_string(record.path())?.lines() {
        let entry: JournalEntry = serde_json::from_str(line)?;
        println!("{} {}", entry.call, entry.record.kind());
    }
    Ok(())
}
