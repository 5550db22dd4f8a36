//! Time and ids that a test can predict.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolgate_gate::{Clock, Entropy};

/// A clock that moves only when it is told to. Clones show the same time.
#[derive(Clone, Debug)]
pub struct FakeClock(Arc<AtomicU64>);

impl FakeClock {
    /// A clock that shows so many milliseconds since 1970.
    pub fn at(ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(ms)))
    }

    /// Moves the clock on.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::at(1_700_000_000_000)
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Gives 1, 2, 3 and so on. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct CountingEntropy(Arc<AtomicU64>);

impl CountingEntropy {
    /// How many were given.
    pub fn given(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Entropy for CountingEntropy {
    fn bits(&self) -> Option<u128> {
        Some(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }
}

/// A source of randomness that has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct DryEntropy;

impl Entropy for DryEntropy {
    fn bits(&self) -> Option<u128> {
        None
    }
}

/// Runs a future to its end on this thread, in a time that passes only while everybody waits.
pub fn paused<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(future)
}
