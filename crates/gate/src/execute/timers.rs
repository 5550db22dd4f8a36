//! Deadlines that cost no wake-up.
//!
//! Arming a timer that is due before all others wakes the thread that waits for
//! timers, and a thread on an idle core takes longer to wake than most calls take to run.
//! A deadline is armed for every call and almost never reached. So one timer is kept that is
//! due sooner than they are: it is armed at most once in [`APART`], by a call, and the
//! deadlines after it are only written down.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use crate::sync::{Mutex, lock};

/// How far ahead the timer is that the others hide behind.
const APART: Duration = Duration::from_secs(1);

/// The timer that is due first.
#[derive(Default)]
pub(crate) struct Timers(Mutex<Option<Pin<Box<Sleep>>>>);

impl Timers {
    /// Arms it if it is not. Nothing waits for it; a gate that moved to another runtime
    /// merely has no cheap deadlines until the old timer has passed.
    pub(crate) fn wind(&self) {
        let mut timer = lock(&self.0);
        if timer.as_ref().is_none_or(|timer| timer.is_elapsed()) {
            let mut next = Box::pin(sleep(APART));
            // A timer is armed when it is first polled.
            let _pending = next
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending();
            *timer = Some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_armed_once_and_anew_when_it_has_passed() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let timers = Timers::default();
            let due = || lock(&timers.0).as_ref().map(|timer| timer.deadline());
            assert_eq!(due(), None);
            timers.wind();
            let first = due();
            tokio::time::advance(APART / 2).await;
            timers.wind();
            assert_eq!(due(), first);
            tokio::time::advance(APART).await;
            timers.wind();
            assert!(due() > first);
        });
    }
}
