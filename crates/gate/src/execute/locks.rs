//! Which calls may touch what at the same time.
//!
//! A call locks the paths of its facts: reading is shared, writing is alone. A call
//! whose facts are not complete, or that runs programs, is alone with everything.
//! A lock is let go when the tool really ended, not when its result was written.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::channel::oneshot;
use toolgate_model::{Access, Facts};

use crate::sync::{Mutex, lock};

/// What a call needs for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    alone: bool,
    reads: Vec<String>,
    changes: Vec<String>,
}

impl Claim {
    pub(crate) fn of(facts: &Facts) -> Self {
        let mut claim = Self {
            alone: !facts.complete || !facts.runs.is_empty(),
            reads: Vec::new(),
            changes: Vec::new(),
        };
        for (access, path) in facts.paths() {
            match access {
                Access::Read => claim.reads.push(fold(path)),
                Access::Write | Access::Delete => claim.changes.push(fold(path)),
            }
        }
        claim
    }

    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let meet = |left: &[String], right: &[String]| {
            left.iter()
                .any(|left| right.iter().any(|right| overlap(left, right)))
        };
        self.alone
            || other.alone
            || meet(&self.changes, &other.changes)
            || meet(&self.changes, &other.reads)
            || meet(&self.reads, &other.changes)
    }
}

/// One spelling per place. What climbs is taken for everything.
fn fold(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    if parts.clone().any(|part| part == "..") {
        return String::new();
    }
    parts.collect::<Vec<_>>().join("/")
}

/// Whether one path is the other or lies in it.
fn overlap(left: &str, right: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        outer.is_empty()
            || inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(left, right) || within(right, left)
}

#[derive(Default)]
struct Table {
    next: u64,
    held: Vec<(u64, Claim)>,
    waiting: VecDeque<(u64, Claim, oneshot::Sender<()>)>,
}

impl Table {
    /// Lets everybody in who can go, in order; nobody overtakes one they conflict with.
    fn admit(&mut self) {
        let mut index = 0;
        while let Some((id, claim, _)) = self.waiting.get(index) {
            let blocked = self.held.iter().any(|(_, held)| held.conflicts(claim))
                || self
                    .waiting
                    .iter()
                    .take(index)
                    .any(|(_, earlier, _)| earlier.conflicts(claim));
            if blocked {
                index += 1;
                continue;
            }
            let id = *id;
            if let Some((_, claim, go)) = self.waiting.remove(index) {
                self.held.push((id, claim));
                if go.send(()).is_err() {
                    // It stopped waiting in this very moment.
                    self.held.retain(|(held, _)| *held != id);
                }
            }
        }
    }
}

/// The locks of a gate. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Locks {
    table: Arc<Mutex<Table>>,
}

impl std::fmt::Debug for Locks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = lock(&self.table);
        f.debug_struct("Locks")
            .field("held", &table.held.len())
            .field("waiting", &table.waiting.len())
            .finish()
    }
}

/// Holds a claim until it is dropped.
#[derive(Debug)]
pub struct PathGuard {
    locks: Locks,
    id: u64,
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut table = lock(&self.locks.table);
        table.held.retain(|(id, _)| *id != self.id);
        table.waiting.retain(|(id, _, _)| *id != self.id);
        table.admit();
    }
}

impl Locks {
    /// No locks held.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many calls hold locks.
    pub fn held(&self) -> usize {
        lock(&self.table).held.len()
    }

    /// Waits until nothing conflicts with these facts, then holds them. Dropping the future gives up.
    pub fn acquire<'a>(&'a self, facts: &Facts) -> impl Future<Output = PathGuard> + use<'a> {
        self.claim(Claim::of(facts))
    }

    async fn claim(&self, claim: Claim) -> PathGuard {
        let (go, admitted) = oneshot::channel();
        let guard = {
            let mut table = lock(&self.table);
            table.next += 1;
            let id = table.next;
            table.waiting.push_back((id, claim, go));
            table.admit();
            PathGuard {
                locks: self.clone(),
                id,
            }
        };
        // The sender lives in the table for as long as the guard does.
        let _ = admitted.await;
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use toolgate_model::Run;

    fn facts(reads: &[&str], writes: &[&str]) -> Facts {
        let own = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        Facts {
            reads: own(reads),
            writes: own(writes),
            ..Facts::none()
        }
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let run = Facts {
            runs: vec![Run::default()],
            ..Facts::none()
        };
        let delete = Facts {
            deletes: vec!["a".into()],
            ..Facts::none()
        };
        for (left, right, conflict) in [
            (facts(&["a"], &[]), facts(&["a"], &[]), false),
            (facts(&["a"], &[]), facts(&[], &["a"]), true),
            (facts(&[], &["a"]), facts(&[], &["a"]), true),
            (facts(&[], &["a"]), facts(&[], &["b"]), false),
            (facts(&[], &["a"]), facts(&[], &["ab"]), false),
            (facts(&["src"], &[]), facts(&[], &["src/x/y"]), true),
            (facts(&["."], &[]), facts(&[], &["src/x"]), true),
            (facts(&[""], &[]), facts(&[], &["src/x"]), true),
            (facts(&["src/"], &[]), facts(&[], &["/src"]), true),
            (facts(&["a//b/./c"], &[]), facts(&[], &["./a/b/c"]), true),
            (facts(&["x/../a"], &[]), facts(&[], &["b"]), true),
            (facts(&["a"], &[]), delete, true),
            (facts(&[], &[]), facts(&[], &[]), false),
            (facts(&[], &[]), Facts::opaque(), true),
            (facts(&[], &[]), run, true),
        ] {
            assert_eq!(
                Claim::of(&left).conflicts(&Claim::of(&right)),
                conflict,
                "{left:?} {right:?}"
            );
            assert_eq!(
                Claim::of(&right).conflicts(&Claim::of(&left)),
                conflict,
                "{right:?} {left:?}"
            );
        }
    }

    #[test]
    fn who_waits_is_let_in_in_order_and_who_gives_up_is_forgotten() {
        let locks = Locks::new();
        let first = locks.acquire(&facts(&[], &["a"])).now_or_never().unwrap();
        let mut second = Box::pin(locks.acquire(&facts(&["a"], &[])));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(locks.acquire(&facts(&[], &["a"])));
        assert!(third.as_mut().now_or_never().is_none());
        // A reader would fit beside the second, but must not overtake the third.
        let mut fourth = Box::pin(locks.acquire(&facts(&["a"], &[])));
        assert!(fourth.as_mut().now_or_never().is_none());
        assert!(locks.acquire(&facts(&["b"], &[])).now_or_never().is_some());
        drop(first);
        let second = second.now_or_never().unwrap();
        assert!(third.as_mut().now_or_never().is_none());
        drop(third);
        assert!(fourth.now_or_never().is_some());
        drop(second);
        assert_eq!(locks.held(), 0);
    }
}
