//! How much a token may ask for in a while.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many callers are remembered; those that asked for nothing lately are forgotten first.
const MOST: usize = 1024;

/// A bucket of requests that fills with time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn full(per_second: u32, now: Instant) -> Self {
        Self {
            left: f64::from(per_second) * 2.0,
            at: now,
        }
    }

    /// Takes one; whether there was one.
    pub(crate) fn take(&mut self, per_second: u32, now: Instant) -> bool {
        let rate = f64::from(per_second);
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * rate).min(rate * 2.0);
        self.at = now;
        let is_there = self.left >= 1.0;
        if is_there {
            self.left -= 1.0;
        }
        is_there
    }
}

/// The buckets of every caller.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<HashMap<String, Bucket>>);

impl Rates {
    /// Whether a caller may ask once more.
    pub(crate) fn take(&self, who: &str, per_second: u32, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = all.get_mut(who) {
            return bucket.take(per_second, now);
        }
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, bucket)| bucket.at)
        {
            let oldest = oldest.0.clone();
            all.remove(&oldest);
        }
        let mut bucket = Bucket::full(per_second, now);
        let is_there = bucket.take(per_second, now);
        all.insert(who.to_owned(), bucket);
        is_there
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_caller_gets_twice_its_rate_at_once_and_then_its_rate() {
        let (rates, now) = (Rates::default(), Instant::now());
        let taken = |at: Instant| (0..100).filter(|_| rates.take("a", 10, at)).count();
        assert_eq!(taken(now), 20);
        assert_eq!(taken(now), 0);
        assert_eq!(taken(now + Duration::from_secs(1)), 10);
        assert_eq!(taken(now + Duration::from_secs(100)), 20);
        assert!(rates.take("b", 10, now));
    }
}
