//! What has to be done to which file so that changes are taken back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolgate_gate::journal::FileError;
use toolgate_model::CallId;

use super::changes::{Change, Changes, Made};

/// What is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything the conversation did to files.
    All,
    /// What one call did. Of several with that id the last is meant of which something is left.
    Call(CallId),
    /// What the calls of one turn did.
    Turn(u64),
}

/// A file as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// SHA-256 of what it holds, in hexadecimal; nothing if there is no file.
    pub sha256: Option<String>,
    /// Its rights.
    pub mode: Option<u32>,
}

/// A file that has to change so that everything is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The path as it was shown.
    pub path: String,
    /// Where that is: absolute, links resolved.
    pub place: PathBuf,
    /// What is there now.
    pub found: Found,
    /// SHA-256 of what it is to hold again; nothing if it is to go.
    pub back: Option<String>,
    /// The rights it is to have: its own, or those it had if it is to come back.
    pub mode: Option<u32>,
}

/// A file that holds something else than Toolgate wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The path as it was shown.
    pub path: String,
    /// The call after which it was changed.
    pub call: CallId,
    /// A later call of the conversation that changed it, if one did.
    pub by: Option<CallId>,
}

/// Why nothing is taken back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such call.
    #[error("the conversation has no call {0}; `toolgate journal show` lists its calls")]
    NoSuchCall(CallId),
    /// There is no such turn.
    #[error("the conversation has no turn {wanted}; {there}")]
    NoSuchTurn {
        /// What was asked for.
        wanted: u64,
        /// Which there are, in words.
        there: String,
    },
    /// Another program changed files.
    #[error("nothing was taken back: {}", listed(.0))]
    ChangedSince(Vec<Differs>),
    /// It is no longer known what was changed.
    #[error(
        "nothing was taken back: what call {0} changed was pruned from the journal and is no longer known"
    )]
    Pruned(CallId),
    /// A file cannot be looked at.
    #[error("nothing was taken back: {0}")]
    CannotLook(FileError),
}

fn listed(files: &[Differs]) -> String {
    let file = |file: &Differs| match &file.by {
        Some(by) => format!(
            "{} was changed by call {by} after call {}; take that back first, or all of it at once",
            file.path, file.call
        ),
        None => format!(
            "{} has changed since call {} wrote it; save what is there elsewhere, or put back what the call wrote",
            file.path, file.call
        ),
    };
    files.iter().map(file).collect::<Vec<_>>().join("; ")
}

/// A file while the changes are followed backwards.
struct Trail<'a> {
    path: &'a str,
    found: Found,
    now: Option<String>,
    mode: Option<u32>,
}

impl Changes {
    /// What has to be done to which file, from what `look` finds in each.
    pub fn plan(
        &self,
        scope: &Scope,
        look: &mut dyn FnMut(&Path) -> Result<Found, FileError>,
    ) -> Result<Vec<Restore>, Refusal> {
        let mut within = self.within(scope)?;
        loop {
            let rest = match (scope, within.last()) {
                // A provider may use an id again: the last call of it comes first, and the
                // others when there is nothing left of that one.
                (Scope::Call(_), Some(last)) => {
                    let last = last.nth;
                    within.partition_point(|change| change.nth < last)
                }
                _ => 0,
            };
            let planned = self.back(within.get(rest..).unwrap_or_default(), look)?;
            if !planned.is_empty() || rest == 0 {
                return Ok(planned);
            }
            within.truncate(rest);
        }
    }

    /// Follows changes backwards. A file on which that ends where it began needs nothing.
    fn back(
        &self,
        changes: &[&Change],
        look: &mut dyn FnMut(&Path) -> Result<Found, FileError>,
    ) -> Result<Vec<Restore>, Refusal> {
        let mut trails: BTreeMap<&Path, Trail<'_>> = BTreeMap::new();
        let mut differ: Vec<Differs> = Vec::new();
        for &change in changes.iter().rev() {
            let files = change.files.as_ref();
            let files = files.ok_or_else(|| Refusal::Pruned(change.call.clone()))?;
            for file in files.iter().rev() {
                let trail = match trails.entry(&file.place) {
                    std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                    std::collections::btree_map::Entry::Vacant(free) => {
                        let found = look(&file.place).map_err(Refusal::CannotLook)?;
                        free.insert(Trail {
                            path: &file.path,
                            now: found.sha256.clone(),
                            mode: found.mode,
                            found,
                        })
                    }
                };
                if trail.now == file.after {
                    trail.now.clone_from(&file.before);
                    // Who changed only what a file holds has left its rights to others.
                    if file.before.is_none() || file.after.is_none() {
                        trail.mode = file.mode.filter(|_| file.before.is_some());
                    }
                } else if trail.now == file.before {
                    // It is as it was already: somebody was faster, or the change did not
                    // happen. Nothing is lost by going on from there.
                } else if !differ.iter().any(|known| known.path == file.path) {
                    differ.push(Differs {
                        path: file.path.clone(),
                        call: change.call.clone(),
                        by: self.writer(&file.place, &trail.now, change),
                    });
                }
            }
        }
        if !differ.is_empty() {
            return Err(Refusal::ChangedSince(differ));
        }
        let restore = |(place, trail): (&Path, Trail<'_>)| Restore {
            path: trail.path.to_owned(),
            place: place.to_path_buf(),
            back: trail.now,
            mode: trail.mode,
            found: trail.found,
        };
        let needed = trails.into_iter().map(restore);
        Ok(needed.filter(Restore::is_needed).collect())
    }

    /// The changes a scope means.
    pub(super) fn within(&self, scope: &Scope) -> Result<Vec<&Change>, Refusal> {
        let made = self.all.iter().filter(|change| change.made != Made::No);
        match scope {
            Scope::All => Ok(made.collect()),
            Scope::Call(call) if !self.calls.contains(call) => {
                Err(Refusal::NoSuchCall(call.clone()))
            }
            Scope::Call(call) => Ok(made.filter(|change| change.call == *call).collect()),
            Scope::Turn(turn) if !self.turns.contains(turn) => Err(Refusal::NoSuchTurn {
                wanted: *turn,
                there: match (self.turns.first(), self.turns.last()) {
                    (Some(first), Some(last)) => format!("its turns are {first} to {last}"),
                    _ => "it was made call by call and has no turns".to_owned(),
                },
            }),
            Scope::Turn(turn) => Ok(made.filter(|change| change.turn == Some(*turn)).collect()),
        }
    }

    /// The call after this change that gave the file the content it has now.
    fn writer(&self, place: &Path, now: &Option<String>, after: &Change) -> Option<CallId> {
        let later = self.all.iter().rev().take_while(|change| *change != after);
        let mut wrote = later.filter(|change| {
            let files = change.files.iter().flatten();
            let mut files = files.filter(|file| file.place == place);
            change.made != Made::No && files.any(|file| file.after == *now)
        });
        wrote.next().map(|change| change.call.clone())
    }
}

impl Restore {
    fn is_needed(&self) -> bool {
        self.back != self.found.sha256
    }
}
