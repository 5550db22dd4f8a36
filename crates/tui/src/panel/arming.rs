//! When keys may go to the panel.

use std::time::Duration;

/// How long the keyboard has to be quiet after the panel was painted. There is no upper limit:
/// somebody who goes on typing is never asked by accident.
pub const QUIET: Duration = Duration::from_millis(500);

/// Counts quiet time from the first frame that showed the panel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arming {
    /// When the panel was first painted, or the last key after that came.
    quiet_since: Option<Duration>,
}

impl Arming {
    /// A frame showed the panel.
    pub fn painted(&mut self, now: Duration) {
        self.quiet_since.get_or_insert(now);
    }

    /// A key or a paste came.
    pub fn key(&mut self, now: Duration) {
        if let Some(since) = &mut self.quiet_since {
            *since = now;
        }
    }

    /// Whether the focus key counts.
    pub fn is_armed(&self, now: Duration) -> bool {
        self.armed_at().is_some_and(|at| now >= at)
    }

    /// When it will, if no key comes.
    pub fn armed_at(&self) -> Option<Duration> {
        self.quiet_since.map(|since| since + QUIET)
    }
}
