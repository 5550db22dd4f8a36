//! Whatever can end a call from outside.

use tokio_util::sync::CancellationToken;

/// Three reasons to stop, looked at as one: the batch, the conversation, the gate.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'a> {
    pub(crate) batch: &'a CancellationToken,
    pub(crate) session: &'a CancellationToken,
    pub(crate) gate: &'a CancellationToken,
}

impl Stop<'_> {
    pub(crate) fn is_set(self) -> bool {
        self.batch.is_cancelled() || self.session.is_cancelled() || self.gate.is_cancelled()
    }

    pub(crate) async fn set(self) {
        tokio::select! {
            () = self.batch.cancelled() => {}
            () = self.session.cancelled() => {}
            () = self.gate.cancelled() => {}
        }
    }
}
