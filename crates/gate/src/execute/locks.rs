//! Which calls may run at the same time.
//!
//! A call whose facts are complete locks the paths of its facts against the calls of all
//! conversations: reading is shared, writing is exclusive. A call whose facts are not complete,
//! or that runs programs, excludes every other call of its own conversation and no call of
//! another one: its paths are not known, and two conversations in one workspace disturb each
//! other no more than two terminals do. A tool that changes a file compares it with what was
//! approved right before the change.
//!
//! Paths are absolute, so that all gates of a process can share one table. A lock is released
//! when the tool really ended, not when its result was written.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use futures::channel::oneshot;
use tokio::sync::OwnedSemaphorePermit;
use toolgate_model::{Access, Facts, Lead};
use toolgate_sandbox::paths::PathSandbox;

use crate::sync::{Mutex, lock};

/// The locks of this process.
static OF_PROCESS: LazyLock<Locks> = LazyLock::new(Locks::new);

/// What a call needs for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The number of the conversation's session in this process.
    session: u64,
    alone: bool,
    reads: Vec<String>,
    changes: Vec<String>,
}

impl Claim {
    /// The claim of a call of a session with these facts. Its paths are taken as they are written.
    pub fn of(session: u64, facts: &Facts) -> Self {
        Self::named(session, facts, |path| vec![fold(path)])
    }

    /// The same with the absolute names of paths, and with the names that links lead to.
    pub(crate) fn within(
        sandbox: &PathSandbox,
        session: u64,
        facts: &Facts,
        leads_to: &[Lead],
    ) -> Self {
        let absolute = |path: &str| {
            let roots = sandbox.roots();
            let asked = sandbox.asked_name(path).ok();
            let first = roots.get(0).map(|root| root.path().to_path_buf());
            match asked.zip(first) {
                Some((name, first)) => vec![fold(&first.join(name).to_string_lossy())],
                // It names no place in any root: taken for all of them.
                None => roots
                    .iter()
                    .map(|root| fold(&root.path().to_string_lossy()))
                    .collect(),
            }
        };
        let mut claim = Self::named(session, facts, absolute);
        if !claim.alone {
            for lead in leads_to {
                claim.add(lead.access, absolute(&lead.to));
            }
        }
        claim
    }

    fn named(session: u64, facts: &Facts, names: impl Fn(&str) -> Vec<String>) -> Self {
        let mut claim = Self {
            session,
            alone: !facts.complete || !facts.runs.is_empty(),
            reads: Vec::new(),
            changes: Vec::new(),
        };
        // A call that is alone in its conversation locks no paths.
        if !claim.alone {
            for (access, path) in facts.paths() {
                claim.add(access, names(path));
            }
        }
        claim
    }

    fn add(&mut self, access: Access, names: Vec<String>) {
        match access {
            Access::Read => self.reads.extend(names),
            Access::Write | Access::Delete => self.changes.extend(names),
        }
    }

    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        if self.alone || other.alone {
            return self.session == other.session;
        }
        let meet = |left: &[String], right: &[String]| {
            left.iter()
                .any(|left| right.iter().any(|right| overlap(left, right)))
        };
        meet(&self.changes, &other.changes)
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

struct Held {
    id: u64,
    claim: Claim,
    /// The tool was given up on and still runs.
    stuck: bool,
}

#[derive(Default)]
struct Table {
    next: u64,
    held: Vec<Held>,
    waiting: VecDeque<(u64, Claim, oneshot::Sender<()>)>,
}

impl Table {
    /// Grants every claim that can be granted, in order; none overtakes one that it conflicts with.
    fn admit(&mut self) {
        let mut index = 0;
        while let Some((id, claim, _)) = self.waiting.get(index) {
            let blocked = self.held.iter().any(|held| held.claim.conflicts(claim))
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
                self.held.push(Held {
                    id,
                    claim,
                    stuck: false,
                });
                if go.send(()).is_err() {
                    // It stopped waiting in this very moment.
                    self.held.retain(|held| held.id != id);
                }
            }
        }
    }
}

/// A table of locks. Cheap to clone; all clones are one.
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
    /// The turn of a command.
    pub(super) turn: Option<OwnedSemaphorePermit>,
}

impl PathGuard {
    /// Notes that the end of its tool is not known.
    pub(crate) fn give_up(&self) {
        let mut table = lock(&self.locks.table);
        let own = table.held.iter_mut().find(|held| held.id == self.id);
        if let Some(own) = own {
            own.stuck = true;
        }
    }
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut table = lock(&self.locks.table);
        table.held.retain(|held| held.id != self.id);
        table.waiting.retain(|(id, _, _)| *id != self.id);
        table.admit();
    }
}

impl Locks {
    /// No locks held.
    pub fn new() -> Self {
        Self::default()
    }

    /// The table that every gate of this process uses.
    pub(crate) fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// How many calls hold locks.
    pub fn held(&self) -> usize {
        lock(&self.table).held.len()
    }

    /// Whether a tool that was given up on holds something of a claim.
    pub(crate) fn is_stuck(&self, claim: &Claim) -> bool {
        let table = lock(&self.table);
        let mut held = table.held.iter();
        held.any(|held| held.stuck && held.claim.conflicts(claim))
    }

    /// Waits until nothing conflicts with a claim, then holds it. Dropping the future gives up.
    pub async fn acquire(&self, claim: Claim) -> PathGuard {
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
                turn: None,
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

    fn claim(session: u64, facts: &Facts) -> Claim {
        Claim::of(session, facts)
    }

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
                claim(1, &left).conflicts(&claim(1, &right)),
                conflict,
                "{left:?} {right:?}"
            );
            assert_eq!(
                claim(1, &right).conflicts(&claim(1, &left)),
                conflict,
                "{right:?} {left:?}"
            );
            // Across conversations only known paths count.
            let known = |facts: &Facts| facts.complete && facts.runs.is_empty();
            assert_eq!(
                claim(1, &left).conflicts(&claim(2, &right)),
                conflict && known(&left) && known(&right),
                "{left:?} {right:?}"
            );
        }
    }

    #[test]
    fn who_waits_is_let_in_in_order_and_who_gives_up_is_forgotten() {
        let locks = Locks::new();
        let of = |reads: &[&str], writes: &[&str]| claim(1, &facts(reads, writes));
        let first = locks.acquire(of(&[], &["a"])).now_or_never().unwrap();
        let mut second = Box::pin(locks.acquire(of(&["a"], &[])));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(locks.acquire(of(&[], &["a"])));
        assert!(third.as_mut().now_or_never().is_none());
        // A reader would fit beside the second, but must not overtake the third.
        let mut fourth = Box::pin(locks.acquire(of(&["a"], &[])));
        assert!(fourth.as_mut().now_or_never().is_none());
        assert!(locks.acquire(of(&["b"], &[])).now_or_never().is_some());
        drop(first);
        let second = second.now_or_never().unwrap();
        assert!(third.as_mut().now_or_never().is_none());
        drop(third);
        assert!(fourth.now_or_never().is_some());
        drop(second);
        assert_eq!(locks.held(), 0);
    }
}
