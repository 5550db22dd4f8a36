//! Time and randomness, handed in so that tests are exact.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells what time it is.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970 in UTC.
    fn now_ms(&self) -> u64;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|elapsed| u64::try_from(elapsed.as_millis()).ok())
            .unwrap_or(0)
    }
}

/// Gives bits that cannot be guessed.
pub trait Entropy: Send + Sync {
    /// 128 fresh bits, or nothing if the source is dry. Nothing means nothing is asked and nothing written.
    fn bits(&self) -> Option<u128>;
}

/// The kernel's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn bits(&self) -> Option<u128> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).ok()?;
        Some(u128::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_time_and_does_not_repeat_itself() {
        assert!(SystemClock.now_ms() > 1_700_000_000_000);
        assert_ne!(SystemEntropy.bits().unwrap(), SystemEntropy.bits().unwrap());
    }
}
