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

/// Appends to a file, and knows how many entries each conversation has. Clones share it.
#[derive(Clone)]
struct JsonLines(Arc<Mutex<(File, HashMap<ConversationId, u64>)>>);

impl JsonLines {
    /// Returns the number of the first entry in its conversation.
    fn put(&self, batch: &[JournalEntry]) -> io::Result<u64> {
        let lines: Result<Vec<_>, _> = batch.iter().map(serde_json::to_string).collect();
        let lines = lines?.join("\n") + "\n";
        let first = batch.first().ok_or(io::ErrorKind::InvalidInput)?;
        let (file, counts) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(lines.as_bytes())?;
        file.sync_data()?;
        let count = counts.entry(first.conversation.clone()).or_default();
        *count += batch.len() as u64;
        Ok(*count - batch.len() as u64 + 1)
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
        Box::pin(async move { self.write(vec![entry]).await.map(drop) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (directory, record) = (tempfile::tempdir()?, tempfile::NamedTempFile::new()?);
    let journal = JsonLines(Arc::new(Mutex::new((record.reopen()?, HashMap::new()))));
    let workspace = Workspace::builder(directory.path(), Rules::default())
        .journal(Arc::new(journal))
        .open()?;
    let args = json!({"path": "a.txt", "content": "hello"});
    let calls = vec![Call::new("1", "write_file", args)];
    let (session, context) = (workspace.session("first"), BatchContext::asking(ApproveAll));
    for result in workspace.gate().run(&session, calls, &context).await {
        println!("{:?}", result.status());
    }
    for line in io::read_to_string(record)?.lines() {
        let entry: JournalEntry = serde_json::from_str(line)?;
        println!("{} {}", entry.call, entry.record.kind());
    }
    Ok(())
}
