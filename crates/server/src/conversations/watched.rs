//! Questions expire while nobody watches who could answer, and never while somebody does.

use std::future::pending;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use toolgate_app::App;
use toolgate_app::approvals::{Answer, ApprovalRequest, Approver, Unanswered};

/// Counts approvers that watch.
#[derive(Clone, Debug)]
pub(crate) struct Watchers(watch::Sender<usize>);

impl Default for Watchers {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// An approver watches until this is dropped.
#[derive(Debug)]
pub(crate) struct Watching(watch::Sender<usize>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Watchers {
    /// One more watches.
    pub(crate) fn watch(&self) -> Watching {
        self.0.send_modify(|count| *count += 1);
        Watching(self.0.clone())
    }

    /// Whether anybody does.
    pub(crate) fn is_any(&self) -> bool {
        *self.0.borrow() > 0
    }
}

/// Puts questions on the app's list, until they are answered or were unwatched for too long.
pub(crate) struct Watched {
    pub(crate) app: App,
    /// Who watches the conversation.
    pub(crate) here: Watchers,
    /// Who watches every conversation.
    pub(crate) everywhere: Watchers,
    /// How long a question waits while nobody watches.
    pub(crate) patience: Option<Duration>,
}

impl Watched {
    /// Ends when nobody watched for so long.
    async fn unwatched(&self) {
        let Some(patience) = self.patience else {
            return pending().await;
        };
        let (mut here, mut everywhere) = (self.here.0.subscribe(), self.everywhere.0.subscribe());
        loop {
            let is_watched = *here.borrow_and_update() + *everywhere.borrow_and_update() > 0;
            tokio::select! {
                () = tokio::time::sleep(patience), if !is_watched => return,
                // The senders live as long as this.
                _ = here.changed() => {}
                _ = everywhere.changed() => {}
            }
        }
    }
}

impl Approver for Watched {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = self.app.approvals().ask(request) => answer,
                () = self.unwatched() => Err(Unanswered::Expired),
            }
        })
    }
}
