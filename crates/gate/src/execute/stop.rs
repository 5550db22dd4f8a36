//! Cancellation of a call from outside.

use tokio_util::sync::CancellationToken;

use crate::pipeline::BatchContext;
use crate::session::Session;

/// Reasons to stop, looked at as one: the batch, the conversation, and the call alone.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    batch: &'a CancellationToken,
    session: &'a CancellationToken,
    call: Option<&'a CancellationToken>,
}

impl<'a> Stop<'a> {
    pub(crate) fn of(passage: &'a BatchContext, session: &'a Session) -> Self {
        Self {
            batch: &passage.cancel,
            session: session.cancel(),
            call: None,
        }
    }

    /// The same for a call that can be stopped alone.
    pub(crate) fn or_alone(self, call: &'a CancellationToken) -> Self {
        Self {
            call: Some(call),
            ..self
        }
    }

    /// What ends a call that belongs to no passage.
    pub(crate) fn of_conversation(session: &'a Session) -> Self {
        Self {
            batch: session.cancel(),
            session: session.cancel(),
            call: None,
        }
    }

    pub(crate) fn is_set(self) -> bool {
        let alone = self.call.is_some_and(CancellationToken::is_cancelled);
        self.batch.is_cancelled() || self.session.is_cancelled() || alone
    }

    pub(crate) async fn set(self) {
        let alone = async {
            match self.call {
                Some(call) => call.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.batch.cancelled() => {}
            () = self.session.cancelled() => {}
            () = alone => {}
        }
    }
}
