//! Whatever can end a call from outside.

use tokio_util::sync::CancellationToken;

use crate::pipeline::BatchContext;
use crate::session::Session;

/// Two reasons to stop, looked at as one: the batch and the conversation.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    batch: &'a CancellationToken,
    session: &'a CancellationToken,
}

impl<'a> Stop<'a> {
    pub(crate) fn of(passage: &'a BatchContext, session: &'a Session) -> Self {
        Self {
            batch: &passage.cancel,
            session: session.cancel(),
        }
    }

    /// What ends a call that belongs to no passage.
    pub(crate) fn of_conversation(session: &'a Session) -> Self {
        Self {
            batch: session.cancel(),
            session: session.cancel(),
        }
    }

    pub(crate) fn is_set(self) -> bool {
        self.batch.is_cancelled() || self.session.is_cancelled()
    }

    pub(crate) async fn set(self) {
        tokio::select! {
            () = self.batch.cancelled() => {}
            () = self.session.cancelled() => {}
        }
    }
}
