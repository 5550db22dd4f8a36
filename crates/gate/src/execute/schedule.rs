//! Which call of a batch may start next.

use super::Claim;

/// What the next call of a batch has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Nothing: it may start.
    Now,
    /// Some running call has to end first.
    AfterOne,
}

/// Keeps the order of a batch: a call starts when no running call conflicts with it.
pub(crate) struct Schedule {
    most: usize,
    running: Vec<(usize, Claim)>,
}

impl Schedule {
    pub(crate) fn new(max_concurrent: usize) -> Self {
        Self {
            most: max_concurrent.max(1),
            running: Vec::new(),
        }
    }

    pub(crate) fn ready(&self, claim: &Claim) -> Readiness {
        let full = self.running.len() >= self.most;
        if full || self.running.iter().any(|(_, other)| other.conflicts(claim)) {
            Readiness::AfterOne
        } else {
            Readiness::Now
        }
    }

    pub(crate) fn started(&mut self, index: usize, claim: Claim) {
        self.running.push((index, claim));
    }

    pub(crate) fn ended(&mut self, index: usize) {
        self.running.retain(|(running, _)| *running != index);
    }
}

#[cfg(test)]
mod tests {
    use toolgate_model::Facts;

    use super::*;

    fn claim(facts: &Facts) -> Claim {
        Claim::of(1, facts)
    }

    #[test]
    fn calls_run_side_by_side_only_if_they_cannot_disturb_each_other() {
        let mut schedule = Schedule::new(2);
        assert_eq!(schedule.ready(&claim(&Facts::opaque())), Readiness::Now);
        schedule.started(0, claim(&Facts::reading("a")));
        assert_eq!(schedule.ready(&claim(&Facts::reading("a"))), Readiness::Now);
        assert_eq!(
            schedule.ready(&claim(&Facts::writing("a"))),
            Readiness::AfterOne
        );
        assert_eq!(
            schedule.ready(&claim(&Facts::opaque())),
            Readiness::AfterOne
        );
        schedule.started(1, claim(&Facts::writing("b")));
        assert_eq!(
            schedule.ready(&claim(&Facts::reading("c"))),
            Readiness::AfterOne
        );
        schedule.ended(0);
        assert_eq!(schedule.ready(&claim(&Facts::reading("c"))), Readiness::Now);
        schedule.ended(1);
        assert_eq!(
            Schedule::new(0).ready(&claim(&Facts::none())),
            Readiness::Now
        );
    }
}
