//! Bodies and images: each is named by an entry, and is there exactly as long as it should be.

use std::collections::HashMap;

use rusqlite::Connection;
use toolgate_gate::journal::Record;
use toolgate_gate::tool::hex;

use super::each_row;
use super::told::{Pruning, Told};
use crate::sqlite::prune::unhex;
use toolgate_gate::journal::chain::{Hash, sha256};
use toolgate_gate::journal::{Problem, Verified};

/// The contents that entries name.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Names of conversations, for the places below.
    pub(super) names: Vec<String>,
    bodies: HashMap<Hash, Named>,
    images: HashMap<Hash, Named>,
    /// Whether an intent could not be understood, so that not every image is known.
    intents_unread: bool,
}

/// A content that entries name.
#[derive(Debug)]
struct Named {
    /// The latest time it was mentioned, in the first period and in further ones.
    first: (usize, u64),
    further: Vec<(usize, u64)>,
    /// An entry that names it.
    place: (usize, u64),
    /// How many entries do.
    entries: u64,
    /// The time of its row; nothing if there is no row.
    last_ms: Option<u64>,
}

/// Where an entry stands: its conversation's name, its number, its time, and how many prunes
/// came before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) name: usize,
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    pub(super) period: usize,
}

impl Contents {
    /// An entry names a body; `last_ms` is of its row, if there is one.
    pub(super) fn body(&mut self, hash: Hash, place: Place, last_ms: Option<u64>) {
        let named = name(&mut self.bodies, hash, place);
        named.last_ms = last_ms;
    }

    /// An entry names the images that its change replaces.
    pub(super) fn intent(&mut self, body: &[u8], place: Place) {
        let Ok(Record::Intended { files }) = serde_json::from_slice(body) else {
            self.intents_unread = true;
            return;
        };
        let hashes = files.iter().filter_map(|file| unhex(file.before.as_ref()?));
        for hash in hashes {
            name(&mut self.images, hash, place);
        }
    }

    /// Compares the tables.
    pub(super) fn check(
        mut self,
        db: &Connection,
        told: &Told,
        verified: &mut Verified,
    ) -> rusqlite::Result<()> {
        // Read from the index: bodies can be long.
        let query = "SELECT hash FROM bodies";
        each_row(db, "bodies", 1, query, verified, |row, verified| {
            let hash: Hash = row.get(0)?;
            if !self.bodies.contains_key(&hash) {
                let (table, hash) = ("bodies", hex(&hash));
                verified.found(Problem::Unnamed { table, hash });
            }
            Ok(())
        })?;
        let query = "SELECT hash, bytes, last_ms FROM images";
        each_row(db, "images", 1, query, verified, |row, verified| {
            let hash: Hash = row.get(0)?;
            if sha256(row.get_ref(1)?.as_blob()?) != hash {
                verified.found(Problem::ImageChanged { hash: hex(&hash) });
            }
            match self.images.get_mut(&hash) {
                Some(named) => named.last_ms = Some(row.get(2)?),
                None if self.intents_unread => {}
                None => {
                    let (table, hash) = ("images", hex(&hash));
                    verified.found(Problem::Unnamed { table, hash });
                }
            }
            Ok(())
        })?;
        let place = |(name, seq): (usize, u64)| {
            let name = self.names.get(name).cloned();
            (name.unwrap_or_default(), seq)
        };
        for (hash, named) in &self.bodies {
            let (conversation, seq) = place(named.place);
            match named.verdict(hash, &told.prunes) {
                Verdict::Fine if named.last_ms.is_none() => verified.pruned += named.entries,
                Verdict::Fine => {}
                Verdict::Gone => verified.found(Problem::BodyMissing { conversation, seq }),
                Verdict::Time { listed, entries } => {
                    verified.found(wrong_time("bodies", hash, listed, entries));
                }
            }
        }
        let by_first = told.prunes.iter().filter(|prune| prune.spared.is_none());
        let pruned_before_ms = by_first.map(|prune| prune.before_ms).max();
        for (hash, named) in &self.images {
            let (conversation, seq) = place(named.place);
            match named.verdict(hash, &told.prunes) {
                Verdict::Fine => {}
                // An intent that version 1 pruned may have named it later.
                Verdict::Time { listed, entries }
                    if listed > entries && Some(listed) < pruned_before_ms => {}
                Verdict::Time { listed, entries } => {
                    verified.found(wrong_time("images", hash, listed, entries));
                }
                Verdict::Gone => verified.found(Problem::ImageMissing {
                    conversation,
                    seq,
                    hash: hex(hash),
                }),
            }
        }
        Ok(())
    }
}

fn wrong_time(table: &'static str, hash: &Hash, listed: u64, entries: u64) -> Problem {
    let hash = hex(hash);
    Problem::WrongTime {
        table,
        hash,
        listed,
        entries,
    }
}

/// Notes that an entry names a content.
fn name(contents: &mut HashMap<Hash, Named>, hash: Hash, place: Place) -> &mut Named {
    let period = place.period;
    let named = contents.entry(hash).or_insert(Named {
        first: (period, 0),
        further: Vec::new(),
        place: (place.name, place.seq),
        entries: 0,
        last_ms: None,
    });
    named.place = (place.name, place.seq);
    named.entries += 1;
    let mut periods = std::iter::once(&mut named.first).chain(&mut named.further);
    match periods.find(|known| known.0 == period) {
        Some((_, last_ms)) => *last_ms = place.at_ms.max(*last_ms),
        None => named.further.push((period, place.at_ms)),
    }
    named
}

enum Verdict {
    Fine,
    /// It should be there.
    Gone,
    Time {
        listed: u64,
        entries: u64,
    },
}

impl Named {
    fn verdict(&self, hash: &Hash, prunes: &[Pruning]) -> Verdict {
        let mut expected = None;
        // A prune of version 1 spared a content or not: either can have been.
        for spares in [false, true] {
            let would_be = self.replayed(hash, prunes, spares);
            if would_be == self.last_ms {
                return Verdict::Fine;
            }
            expected = expected.or(would_be);
        }
        match (self.last_ms, expected) {
            (Some(listed), entries) => Verdict::Time {
                listed,
                entries: entries.unwrap_or(0),
            },
            (None, _) => Verdict::Gone,
        }
    }

    /// The time of the row after all entries and prunes; nothing if it was pruned.
    fn replayed(&self, hash: &Hash, prunes: &[Pruning], spares: bool) -> Option<u64> {
        let in_period = |period| {
            let mut all = std::iter::once(&self.first).chain(&self.further);
            all.find(|known| known.0 == period).map(|known| known.1)
        };
        let mut last_ms: Option<u64> = None;
        for (at, prune) in prunes.iter().enumerate() {
            // `None` is less than any time.
            last_ms = last_ms.max(in_period(at));
            last_ms = match &prune.spared {
                // It says the time, also of mentions that were pruned themselves.
                Some(spared) if spared.contains_key(hash) => spared.get(hash).copied(),
                None if spares => last_ms,
                _ => last_ms.filter(|last| *last >= prune.before_ms),
            };
        }
        last_ms.max(in_period(prunes.len()))
    }
}
