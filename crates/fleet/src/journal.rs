//! One worker's view of the journal.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::runtime::Runtime;
use tokio::sync::Mutex as AsyncMutex;
use tokio_postgres::Config;
use toolgate_gate::journal::calls::About;
use toolgate_gate::journal::{Batch, Entry, Image, Journal, JournalError, LeaseJournal};
use toolgate_gate::{Entropy, SystemEntropy};
use toolgate_model::ConversationId;

use crate::append::{self, Offer};
use crate::database::Database;
use crate::error::FleetError;
use crate::hand::Slot;
use crate::lease::{self, Worker};
use crate::options::FleetOptions;

/// So long a worker that ends waits for the database to take its conversations back.
const TO_LEAVE: Duration = Duration::from_secs(2);

/// The journal of a fleet, as one worker of it. When it is dropped, its conversations are free.
pub struct PostgresJournal {
    pub(crate) inner: Arc<Inner>,
    /// Statements go on when whoever asked is gone, on threads of the journal's own.
    runtime: Option<Runtime>,
}

/// What its tasks share.
pub(crate) struct Inner {
    pub(crate) database: Database,
    pub(crate) options: FleetOptions,
    pub(crate) worker: Worker,
    slots: Mutex<HashMap<ConversationId, Arc<AsyncMutex<Slot>>>>,
}

impl std::fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresJournal")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl PostgresJournal {
    /// Connects, makes the tables where there are none, and enters this worker. Waits for the
    /// database on the calling thread.
    pub fn connect(address: &str, options: FleetOptions) -> Result<Self, FleetError> {
        let unusable = |why: String| FleetError::Unwritable { why };
        if !is_tenant(&options.tenant) {
            return Err(unusable(format!(
                "{:?} is no name of a tenant; 1 to 64 letters, digits, `.`, `_` and `-` are",
                options.tenant
            )));
        }
        let config: Config = address
            .parse()
            .map_err(|error: tokio_postgres::Error| unusable(error.to_string()))?;
        let bits = SystemEntropy.bits();
        let bits = bits.ok_or_else(|| unusable("the system has no randomness".to_owned()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("toolgate-fleet")
            .enable_all()
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let inner = Arc::new(Inner {
            database: Database::new(
                config,
                options.tenant.clone(),
                options.statement_timeout,
                options.connections,
            ),
            worker: Worker::new(bits, &options.node),
            options,
            slots: Mutex::default(),
        });
        let journal = Self {
            inner: Arc::clone(&inner),
            runtime: Some(runtime),
        };
        let entered = journal.ask(move |inner| async move {
            inner.database.migrate().await?;
            lease::enter(&inner).await?;
            tokio::spawn(lease::stay(Arc::downgrade(&inner)));
            Ok(())
        });
        futures::executor::block_on(entered)?;
        Ok(journal)
    }

    /// Runs work to its end, also if whoever asked does not wait for it.
    pub(crate) fn ask<T, F>(
        &self,
        work: impl FnOnce(Arc<Inner>) -> F,
    ) -> BoxFuture<'static, Result<T, FleetError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, FleetError>> + Send + 'static,
    {
        let Some(runtime) = &self.runtime else {
            let why = "this worker has ended".to_owned();
            return Box::pin(std::future::ready(Err(FleetError::Unreachable { why })));
        };
        let task = runtime.spawn(work(Arc::clone(&self.inner)));
        Box::pin(async move {
            let done = task.await;
            done.map_err(|error| FleetError::Lost {
                why: error.to_string(),
            })?
        })
    }

    /// As [`Self::ask`], for what is to be written.
    pub(crate) fn write<T, F>(
        &self,
        work: impl FnOnce(Arc<Inner>) -> F,
    ) -> BoxFuture<'static, Result<T, JournalError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, FleetError>> + Send + 'static,
    {
        let asked = self.ask(work);
        Box::pin(async move { asked.await.map_err(FleetError::into_journal) })
    }

    /// As [`Self::ask`], for what is to be read.
    pub(crate) fn look<T, F>(
        &self,
        work: impl FnOnce(Arc<Inner>) -> F,
    ) -> BoxFuture<'static, Result<T, JournalError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, FleetError>> + Send + 'static,
    {
        let asked = self.ask(work);
        Box::pin(async move { asked.await.map_err(FleetError::into_reading) })
    }
}

impl Drop for PostgresJournal {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        let inner = Arc::clone(&self.inner);
        let (done, left) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            // Where this fails, the lease runs out.
            let _ = lease::leave(&inner).await;
            let _ = done.send(());
        });
        let _ = left.recv_timeout(TO_LEAVE);
        runtime.shutdown_background();
    }
}

impl Inner {
    /// The place of a conversation, held by one task at a time.
    pub(crate) fn slot(&self, conversation: &ConversationId) -> Arc<AsyncMutex<Slot>> {
        let mut slots = self.slots();
        Arc::clone(slots.entry(conversation.clone()).or_default())
    }

    /// Forgets a conversation that is given back.
    pub(crate) fn forget(&self, conversation: &ConversationId) {
        self.slots().remove(conversation);
    }

    /// Every conversation this worker knows of.
    pub(crate) fn known(&self) -> Vec<Arc<AsyncMutex<Slot>>> {
        self.slots().values().map(Arc::clone).collect()
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<AsyncMutex<Slot>>>> {
        // A map of places is whole whoever panicked.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// It stands in statements, so it is a plain name.
fn is_tenant(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

impl Journal for PostgresJournal {
    fn append(&self, batch: Batch) -> BoxFuture<'_, Result<u64, JournalError>> {
        self.write(|inner| async move { append::batch(&inner, &batch).await })
    }

    fn intend(&self, entry: Entry, images: Vec<Image>) -> BoxFuture<'_, Result<(), JournalError>> {
        self.write(|inner| async move {
            let offer = Offer {
                entries: &[entry],
                about: About::Meant,
                key: None,
                images: &images,
            };
            append::write(&inner, &offer).await.map(drop)
        })
    }

    fn release(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.clone();
        self.write(|inner| async move { lease::release(&inner, &conversation).await })
    }
}

impl LeaseJournal for PostgresJournal {
    fn begin(
        &self,
        conversation: &ConversationId,
        workspace: Option<&Path>,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let conversation = conversation.clone();
        let workspace = workspace.map(|path| path.to_string_lossy().into_owned());
        self.write(|inner| async move {
            lease::begin(&inner, &conversation, workspace.as_deref()).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tenants_are_plain() {
        for good in ["a", "default", "acme-1.eu_west"] {
            assert!(is_tenant(good), "{good}");
        }
        for bad in ["", "a'b", "a b", "\u{e4}", &"a".repeat(65), "a\\"] {
            assert!(!is_tenant(bad), "{bad}");
        }
    }
}
