//! Tickets for sockets: a browser cannot send a header with its handshake, and a token has no
//! place in an address. A ticket is good once, for half a minute.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::principal::Principal;
use super::secret::{self, Hashed};

/// How long a ticket is good.
pub(crate) const LIFE: Duration = Duration::from_secs(30);

/// How many tickets wait; the oldest goes first.
const MOST: usize = 1024;

struct Ticket {
    hashed: Hashed,
    until: Instant,
    principal: Principal,
}

/// The tickets that nobody used yet.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<VecDeque<Ticket>>);

impl Tickets {
    /// A ticket for this principal; nothing if the system has no randomness.
    pub(crate) fn issue(&self, principal: Principal, now: Instant) -> Option<String> {
        let text = secret::fresh()?;
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|ticket| now < ticket.until);
        if waiting.len() >= MOST {
            waiting.pop_front();
        }
        waiting.push_back(Ticket {
            hashed: secret::hashed(&text),
            until: now + LIFE,
            principal,
        });
        Some(text)
    }

    /// Takes a ticket; whose it was.
    pub(crate) fn take(&self, text: &str, now: Instant) -> Option<Principal> {
        let hashed = secret::hashed(text);
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|ticket| now < ticket.until);
        let mut found = None;
        for (at, ticket) in waiting.iter().enumerate() {
            if secret::is_same(&ticket.hashed, &hashed) {
                found = Some(at);
            }
        }
        Some(waiting.remove(found?)?.principal)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_for_half_a_minute() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let issue = || tickets.issue(Principal::Operator, now).unwrap();
        let (one, late) = (issue(), issue());
        assert_eq!(tickets.take(&one, now), Some(Principal::Operator));
        assert_eq!(tickets.take(&one, now), None);
        assert_eq!(tickets.take("", now), None);
        assert_eq!(tickets.take(&late, now + LIFE), None);
    }

    #[test]
    fn tickets_that_nobody_takes_are_bounded() {
        let (tickets, now) = (Tickets::default(), Instant::now());
        let first = tickets.issue(Principal::Operator, now).unwrap();
        for _ in 0..MOST {
            tickets.issue(Principal::Operator, now).unwrap();
        }
        assert_eq!(tickets.take(&first, now), None);
    }
}
