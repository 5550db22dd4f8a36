//! Stopping: the calls that run first, then the turn, then the program. Nothing that was written is lost by it.

use std::time::Duration;

use toolgate_model::CallId;

/// A second key within this time leaves the program.
const AGAIN: Duration = Duration::from_secs(3);

/// How far stopping has gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ladder {
    /// The calls that were told to stop, each alone.
    pub(crate) stopped: Vec<CallId>,
    /// Whether the turn was told to stop.
    pub(crate) is_stopping: bool,
    /// Until when another key leaves.
    leave_until: Option<Duration>,
}

impl Ladder {
    /// Whether this key leaves; else the next one will for a while.
    pub(crate) fn leaves(&mut self, now: Duration) -> bool {
        let leaves = self.leave_until.is_some_and(|until| now <= until);
        self.leave_until = Some(now + AGAIN);
        leaves
    }
}
