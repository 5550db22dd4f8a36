//! The changes of files that a conversation made, told from its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate_gate::journal::{
    Body, Filter, IntendedFile, JournalError, Line, ReadJournal, Record, Recovered, VerifyJournal,
};
use toolgate_model::{CallId, ConversationId, ErrorKind, ToolResult};

use super::plan::Scope;

/// The tool that takes changes back. Only the user has it.
pub const TOOL: &str = "undo";

/// Whether a change that was intended has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// All of it.
    Yes,
    /// The files say.
    Perhaps,
    /// Nothing of it, or it was taken back at once.
    No,
}

/// A change of files on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The call that made it.
    pub call: CallId,
    /// Which call of that id; the first is 1.
    pub nth: u64,
    /// The turn it belongs to, where it belongs to one.
    pub turn: Option<u64>,
    /// Every file of it; nothing if that was pruned.
    pub files: Option<Vec<IntendedFile>>,
    /// Whether it has happened.
    pub made: Made,
    /// Directories that were made for it, by their names in the file's root.
    pub directories: Vec<PathBuf>,
}

/// Everything a conversation did to files.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// In the order in which they were made.
    pub(super) all: Vec<Change>,
    pub(super) calls: BTreeSet<CallId>,
    pub(super) turns: BTreeSet<u64>,
    /// Calls that did more than the record can tell, with their turn.
    opaque: BTreeMap<(CallId, u64), Option<u64>>,
    planned_opaque: BTreeSet<(CallId, u64)>,
    /// Calls by which the user took something back. An id says nothing: models choose theirs.
    takings_back: BTreeSet<(CallId, u64)>,
    turn: Option<u64>,
}

impl Changes {
    /// Reads a conversation; refuses one that is not as it was written.
    pub async fn read(
        journal: &dyn VerifyJournal,
        conversation: &ConversationId,
    ) -> Result<Self, JournalError> {
        journal.verify_conversation(conversation).await?;
        let mut changes = Self::default();
        let reader: &dyn ReadJournal = journal;
        let each = |line| {
            changes.take(line);
            true
        };
        reader.each(Filter::of(conversation), each).await?;
        Ok(changes)
    }

    /// The calls of this conversation that there are, by id.
    pub fn calls(&self) -> &BTreeSet<CallId> {
        &self.calls
    }

    /// How many calls within the scope ran programs or did other things that the record
    /// cannot take back.
    pub fn beyond(&self, scope: &Scope) -> usize {
        let within = |((call, _), turn): &(&(CallId, u64), &Option<u64>)| match scope {
            Scope::All => true,
            Scope::Call(only) => call == only,
            Scope::Turn(only) => *turn == &Some(*only),
        };
        self.opaque.iter().filter(within).count()
    }

    /// The directories that changes within the scope made for this file, the innermost first.
    /// Results name them within a root, so that `is_root` has to know the roots.
    pub fn directories(
        &self,
        scope: &Scope,
        place: &Path,
        is_root: &dyn Fn(&Path) -> bool,
    ) -> Vec<PathBuf> {
        let changes = self.within(scope).unwrap_or_default();
        let of_file = changes.into_iter().filter(|change| {
            let files = change.files.iter().flatten();
            files.into_iter().any(|file| file.place == place)
        });
        let made: BTreeSet<&Path> = of_file
            .flat_map(|change| change.directories.iter().map(PathBuf::as_path))
            .collect();
        let beneath = |directory: &Path| {
            let mut roots = directory.ancestors().skip(1);
            let root = roots.find(|root| is_root(root))?;
            directory.strip_prefix(root).ok().map(Path::to_path_buf)
        };
        let above = place.ancestors().skip(1);
        above
            .take_while(|directory| !is_root(directory))
            .filter(|directory| beneath(directory).is_some_and(|name| made.contains(&*name)))
            .map(Path::to_path_buf)
            .collect()
    }

    pub(super) fn take(&mut self, line: Line) {
        let Line {
            kind,
            call,
            nth,
            body,
            ..
        } = line;
        let record = match body {
            Body::Kept(record) => Some(*record),
            Body::Pruned | Body::Unreadable(_) => None,
        };
        if !Record::is_of_no_call(&kind) {
            self.calls.insert(call.clone());
        }
        match (kind.as_str(), record) {
            ("turn_started", Some(Record::TurnStarted { turn, .. })) => {
                self.turns.insert(turn);
                self.turn = Some(turn);
            }
            ("turn_started" | "turn_finished", _) => self.turn = None,
            ("planned", Some(Record::Planned { plan })) => {
                if plan.tool == TOOL {
                    self.takings_back.insert((call.clone(), nth));
                }
                let told = plan.facts.runs.is_empty() && plan.facts.complete;
                if !told {
                    self.planned_opaque.insert((call, nth));
                }
            }
            ("started", _) => {
                let id = (call, nth);
                if self.planned_opaque.contains(&id) {
                    self.opaque.insert(id, self.turn);
                }
            }
            ("intended", record) => {
                let files = match record {
                    Some(Record::Intended { files }) => Some(files),
                    _ => None,
                };
                // The user who takes something back after a turn that was cut off is not
                // part of that turn.
                let by_person = self.takings_back.contains(&(call.clone(), nth));
                let turn = self.turn.filter(|_| !by_person);
                self.all.push(Change {
                    call,
                    nth,
                    turn,
                    files,
                    made: Made::Perhaps,
                    directories: Vec::new(),
                });
            }
            ("recovered", Some(Record::Recovered { outcome, .. })) => {
                let made = match outcome {
                    Recovered::Forward => Made::Yes,
                    Recovered::Back => Made::No,
                    Recovered::LeftAlone => Made::Perhaps,
                };
                self.became(&call, nth, made, true);
            }
            ("finished", Some(Record::Finished { result })) => {
                self.became(&call, nth, outcome(&result), false);
                let mut of_call = self.all.iter_mut().rev();
                let last = of_call.find(|change| change.call == call && change.nth == nth);
                if let Some(change) = last {
                    change.directories = directories(&result);
                }
            }
            _ => {}
        }
    }

    /// Notes what became of the changes of a call. A recovery looked at the files and
    /// knows better than any result.
    fn became(&mut self, call: &CallId, nth: u64, made: Made, recovered: bool) {
        let of_call = self.all.iter_mut().rev();
        for change in of_call.filter(|change| change.call == *call && change.nth == nth) {
            if recovered || change.made == Made::Perhaps {
                change.made = made;
            }
        }
    }
}

/// What a result says about the changes of its call. A tool takes its changes back before
/// it says that it failed; one that was given up on may have gone on.
fn outcome(result: &ToolResult) -> Made {
    match result.kind() {
        None => Made::Yes,
        Some(
            ErrorKind::Timeout
            | ErrorKind::Cancelled
            | ErrorKind::Panicked
            | ErrorKind::Interrupted
            | ErrorKind::Journal,
        ) => Made::Perhaps,
        Some(_) => Made::No,
    }
}

/// The directories that a result says were made.
fn directories(result: &ToolResult) -> Vec<PathBuf> {
    let made = result.metadata.get("made_directories");
    let made = made.and_then(Value::as_array).into_iter().flatten();
    made.filter_map(Value::as_str).map(PathBuf::from).collect()
}
