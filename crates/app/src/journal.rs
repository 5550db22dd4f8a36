//! The journal for faces: list, show, verify and prune.
//!
//! Entries are exact in the journal; what is handed out here has no secrets of the environment.
//!
//! ```
//! use toolgate_app::{Input, ScriptText, StartOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! # let script = ScriptText { path: "s".into(), text: b"[[steps]]\ntext = \"Nothing.\"\n".to_vec() };
//! # let options = StartOptions { script: Some(script), ..StartOptions::default() };
//! let conversation = app.start(options)?;
//! conversation.send(Input::message("Look around.")).await?.outcome().await?;
//! let verified = app.verify_journal(None).await?;
//! assert!(verified.is_sound());
//! assert_eq!(verified.conversations, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use serde_json::{Value, json};
use toolgate_gate::journal::{Body, PruneJournal, ReadJournal};
use toolgate_gate::output::Redactor;
use toolgate_journal::{Options, SqliteJournal};

pub use toolgate_gate::journal::{
    Anchor, Conversation, Coverage, Filter, JournalError, Lasting, Line, Prune, Pruned, State,
    Verified,
};

use crate::app::App;
use crate::error::AppError;
use crate::secrets;

/// An entry of the journal, without secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownEntry {
    /// The entry. Its body is exact: show [`Self::body`] instead.
    pub line: Line,
    /// What it says.
    pub body: Value,
}

impl App {
    pub(crate) fn journal_redactor(&self) -> Result<Redactor, AppError> {
        let known = secrets::of_environment(&self.options().environment, self.config());
        Redactor::new(known).map_err(AppError::internal)
    }

    /// Hands out entries in their order until `each` returns false, and says how many.
    pub async fn show_journal(
        &self,
        filter: Filter,
        mut each: impl FnMut(ShownEntry) -> bool,
    ) -> Result<u64, AppError> {
        let redactor = self.journal_redactor()?;
        let reader = self.reader()?;
        let reader: &dyn ReadJournal = &*reader;
        let mut count = 0;
        let shown = |line: Line| {
            count += 1;
            let body = said(&line.body, &redactor);
            each(ShownEntry { line, body })
        };
        reader.each(filter, shown).await?;
        Ok(count)
    }

    /// Checks that the journal is as it was written, and contains an anchor from before.
    pub async fn verify_journal(&self, against: Option<Anchor>) -> Result<Verified, AppError> {
        Ok(self.reader()?.verify(against).await?)
    }

    /// Removes old contents. Entries, their order and their hashes stay.
    pub async fn prune_journal(&self, what: Prune) -> Result<Pruned, AppError> {
        let journal = SqliteJournal::open(self.journal_file(), Options::default())?;
        let journal: &dyn PruneJournal = &journal;
        Ok(journal.prune(what).await?)
    }
}

fn said(body: &Body, redactor: &Redactor) -> Value {
    match body {
        Body::Kept(record) => {
            let mut record = serde_json::to_value(record).unwrap_or_default();
            redactor.redact_value(&mut record);
            record
        }
        Body::Pruned => json!({"pruned": true}),
        Body::Unreadable(why) => json!({"unreadable": why}),
    }
}
