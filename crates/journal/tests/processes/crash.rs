//! Killed at every point of a commit and in between, with the end of the log torn: what was
//! acknowledged is there, whole, and every call has one result or is known to have none.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use futures::executor::block_on;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use toolgate_gate::journal::{Entry, RecoverJournal};
use toolgate_journal::{Class, Point, State};

use crate::child::Part;
use crate::fixture::Place;
use crate::parts::commits_of;

/// So many processes are killed; more for a soak.
fn kills() -> usize {
    let given = std::env::var("TOOLGATE_JOURNAL_KILLS");
    given.map_or(60, |text| {
        text.parse().expect("TOOLGATE_JOURNAL_KILLS is a number")
    })
}

/// After so many kills a new record is begun: all of it is looked at after each.
const AS_ONE: usize = 40;

/// A commit writes fewer bytes than this.
const MAY_HOLD: u64 = 100_000;

/// A record that is killed again and again, and what it has acknowledged.
struct Victim {
    place: Place,
    /// What is on record; it was checked after the last kill.
    known: Vec<Entry>,
    round: u64,
    rng: TestRng,
    kills: usize,
}

/// What a killed process had said.
#[derive(Default)]
struct Said {
    /// The last acknowledged commit: its round and its place in the round.
    last: Option<(u64, usize)>,
    /// How much of the log was written then.
    log: u64,
}

impl Said {
    fn hear(&mut self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        if let ["committed", round, part, log] = words[..] {
            self.last = Some((round.parse().unwrap(), part.parse().unwrap()));
            self.log = log.parse().unwrap();
        }
    }
}

impl Victim {
    fn new(seed: u8) -> Self {
        Self {
            place: Place::new(),
            known: Vec::new(),
            round: 1,
            rng: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
            kills: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }

    fn log(&self) -> PathBuf {
        PathBuf::from(format!("{}-wal", self.place.file().display()))
    }

    /// Starts a writer, kills it where `stop` says, and lets `tear` loose on the log.
    fn kill(&mut self, point: Option<Point>, tear: bool) {
        if self.kills.is_multiple_of(AS_ONE) {
            (self.place, self.known) = (Place::new(), Vec::new());
        }
        let times = 1 + self.below(6);
        let pause = if matches!(point, Some(Point::BeforeFold | Point::Folded)) {
            times
        } else {
            u64::MAX
        };
        let name = point.map_or("none".to_owned(), |point| format!("{point:?}"));
        // A fold happens once, when the writer pauses; room is made once in many commits.
        let once = pause != u64::MAX || point == Some(Point::Lengthened);
        let nth = if once { 1 } else { times };
        let words = format!("c {} {name} {nth} {pause}", self.round);
        let mut part = Part::start("commit", &self.place.file(), &words);
        let mut said = Said::default();
        let enough = self.below(25);
        let mut heard = 0;
        while point.is_some() || heard < enough {
            let line = part.next().expect("the part goes on until it is killed");
            heard += 1;
            said.hear(&line);
            if line == "reached" {
                break;
            }
        }
        for line in part.kill() {
            said.hear(&line);
        }
        self.kills += 1;
        if tear {
            self.tear(said.log);
        }
        self.check(&said, point);
    }

    /// Cuts, changes or lengthens what comes after the last acknowledged commit.
    fn tear(&mut self, acknowledged: u64) {
        let Ok(found) = std::fs::metadata(self.log()) else {
            return;
        };
        let mut log = OpenOptions::new().write(true).open(self.log()).unwrap();
        // Most of a log with room in it is zeros: what may hold frames is torn.
        let beyond = found.len().saturating_sub(acknowledged).min(MAY_HOLD);
        let at = acknowledged + self.below(beyond);
        match self.below(3) {
            0 if beyond > 0 => log.set_len(at).unwrap(),
            1 if beyond > 0 => {
                log.seek(SeekFrom::Start(at)).unwrap();
                let count = 1 + self.below(beyond);
                log.write_all(&self.garbage(count)).unwrap();
            }
            _ => {
                let count = 1 + self.below(10_000);
                log.seek(SeekFrom::End(0)).unwrap();
                log.write_all(&self.garbage(count)).unwrap();
            }
        }
    }

    fn garbage(&mut self, count: u64) -> Vec<u8> {
        (0..count)
            .map(|_| self.rng.next_u32().to_le_bytes()[0])
            .collect()
    }

    /// Everything acknowledged is there, at most one commit more, and then all of that.
    fn check(&mut self, said: &Said, point: Option<Point>) {
        let (acknowledged, next) = match said.last {
            Some((round, part)) => {
                let parts = commits_of("c", round).len();
                let mut all = Vec::new();
                for earlier in self.round..=round {
                    let take = if earlier == round {
                        part + 1
                    } else {
                        usize::MAX
                    };
                    all.extend(commits_of("c", earlier).into_iter().take(take).flatten());
                }
                let next = if part + 1 < parts {
                    commits_of("c", round).remove(part + 1)
                } else {
                    commits_of("c", round + 1).remove(0)
                };
                (all, next)
            }
            None => (Vec::new(), commits_of("c", self.round).remove(0)),
        };
        let context = format!("kill {} at {point:?}", self.kills);
        if !self.place.file().exists() {
            assert!(said.last.is_none() && self.known.is_empty(), "{context}");
            return;
        }
        // To be opened by a writer first: a process that died early leaves no tables behind.
        let journal = self.place.open();
        let verified = self.place.verify();
        assert_eq!(verified.problems, [], "{context}");
        let on_disk = self.place.entries();
        let whole = [self.known.clone(), acknowledged].concat();
        let one_more = [whole.clone(), next].concat();
        assert!(
            on_disk == whole || on_disk == one_more,
            "{context}: {} entries on disk, {} acknowledged",
            on_disk.len(),
            whole.len()
        );
        if matches!(point, Some(Point::Asked | Point::Begun | Point::Written)) {
            assert_eq!(on_disk.len(), whole.len(), "{context}");
        }
        // Every call has its result, or is known to have none and gets its one now.
        let unfinished = block_on(journal.unfinished(None)).unwrap();
        let finished = verified.calls.get(&State::Finished).copied().unwrap_or(0);
        let all: u64 = verified.calls.values().sum();
        assert_eq!(all - finished, unfinished.len() as u64, "{context}");
        for call in &unfinished {
            assert_eq!(call.class(), Class::OutcomeUnknown, "{context}");
            block_on(journal.settle(call, call.result(None))).unwrap();
        }
        drop(journal);
        let verified = self.place.verify();
        assert_eq!(verified.problems, [], "{context}");
        let states: Vec<State> = verified.calls.keys().copied().collect();
        assert!(
            states.iter().all(|state| *state == State::Finished),
            "{context}: {states:?}"
        );
        self.known = self.place.entries();
        self.round = said.last.map_or(self.round, |(round, _)| round) + 2;
    }
}

#[test]
fn nothing_acknowledged_is_lost_at_any_point_of_a_commit() {
    let mut victim = Victim::new(1);
    let each = (kills() / 2).div_ceil(Point::ALL.len());
    for point in Point::ALL {
        for _ in 0..each {
            victim.kill(Some(point), false);
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_at_any_moment() {
    let mut victim = Victim::new(2);
    for _ in 0..kills() / 4 {
        victim.kill(None, false);
    }
}

#[test]
fn nothing_acknowledged_is_lost_by_a_torn_log() {
    let mut victim = Victim::new(3);
    for n in 0..kills() / 4 {
        // A commit that nobody heard of is the longest piece that can be torn.
        let point = (n % 2 == 0).then_some(Point::Committed);
        victim.kill(point, true);
    }
}
