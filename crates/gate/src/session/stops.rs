//! Calls that run and can be stopped alone.

use tokio_util::sync::CancellationToken;
use toolgate_model::CallId;

use crate::sync::{Mutex, lock};

/// The calls of a conversation that run now.
#[derive(Default)]
pub(super) struct Stops(Mutex<Vec<(CallId, CancellationToken)>>);

/// A call that runs. It can be stopped as long as this lives.
pub(crate) struct Stoppable<'a> {
    stops: &'a Stops,
    call: CallId,
    token: CancellationToken,
}

impl Stops {
    pub(super) fn begin(&self, call: &CallId) -> Stoppable<'_> {
        let token = CancellationToken::new();
        lock(&self.0).push((call.clone(), token.clone()));
        Stoppable {
            stops: self,
            call: call.clone(),
            token,
        }
    }

    /// Stops a call. Whether it ran.
    pub(super) fn stop(&self, call: &CallId) -> bool {
        let running = lock(&self.0);
        let mut found = false;
        for (_, token) in running.iter().filter(|(id, _)| id == call) {
            token.cancel();
            found = true;
        }
        found
    }
}

impl Stoppable<'_> {
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

impl Drop for Stoppable<'_> {
    fn drop(&mut self) {
        let mut running = lock(&self.stops.0);
        if let Some(at) = running.iter().position(|(id, _)| *id == self.call) {
            running.swap_remove(at);
        }
    }
}
