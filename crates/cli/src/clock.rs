//! The machine's time.

use toolgate_app::{Clock, SystemClock};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemClock.now_ms()
}
