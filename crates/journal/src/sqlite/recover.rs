//! After a crash: which calls have no result, and what to do about half-made changes.
//!
//! ```text
//! unfinished ──▶ not started │ outcome unknown
//!                              └─ with an intent: compare every file ──▶ forward, back, or left alone ──▶ on record
//!                                                    └─ one cannot be looked at or mended ──▶ still open
//! settle: the one result
//! ```
//!
//! Nothing is ever run again. Files are touched only if each of them is what it was
//! before the change or what the change wanted; one with a third content means that
//! somebody went on working, and nothing is touched at all. A file that merely could not
//! be looked at or mended decides nothing: the intent stays open, and whoever comes next
//! tries again, unless the person gives it up.

use std::path::Path;

use rusqlite::OptionalExtension;
use toolgate_gate::journal::{
    Entry, FileProblem, Files, IntendedFile, Record, Recovered, RecoveredFile,
};
use toolgate_gate::tool::hex;
use toolgate_model::{CallId, ConversationId, ErrorKind, ToolError, ToolResult};

use super::SqliteJournal;
use super::lease;
use super::prune::unhex;
use super::trouble::Trouble;
use super::verify::is_as_written;
use super::work::{About, Work};
use crate::chain::{Hash, sha256};
use crate::states::{Class, State};

/// A call without a result, or with files it may have half changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The conversation.
    pub conversation: ConversationId,
    /// The call.
    pub call: CallId,
    /// Which call of that id; the first is 1.
    pub nth: u64,
    /// How far it had come.
    pub state: State,
    /// Whether files may be half changed because of it.
    pub half_changed: bool,
    /// The tool, where it was planned.
    pub tool: Option<String>,
    /// When it was received, in milliseconds since 1970.
    pub received_ms: u64,
    /// The workspace its conversation is about, where that is known.
    pub workspace: Option<String>,
}

/// What became of a half-made change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What was done.
    pub outcome: Recovered,
    /// What was found of each file.
    pub files: Vec<RecoveredFile>,
    /// Why nothing is decided yet: a file could not be looked at or mended this time.
    pub hindered: Option<FileProblem>,
}

impl Recovery {
    /// The entry that says it.
    fn record(&self) -> Record {
        Record::Recovered {
            outcome: self.outcome,
            files: self.files.clone(),
        }
    }
}

impl Unfinished {
    /// What is known of it.
    pub fn class(&self) -> Class {
        self.state.class()
    }

    /// The result for a call that a crash cut off: what is known, in a model's words.
    pub fn result(&self, recovery: Option<&Recovery>) -> ToolResult {
        let hindered = recovery.is_some_and(|recovery| recovery.hindered.is_some());
        let message = match (self.class(), recovery.map(|recovery| recovery.outcome)) {
            (Class::NotStarted, _) => {
                "the program ended before this call was started; nothing was done"
            }
            (_, Some(Recovered::Forward)) => {
                "the program ended while this call ran; its changes of files were completed"
            }
            (_, Some(Recovered::Back)) => {
                "the program ended while this call ran; its changes of files were taken back"
            }
            (_, Some(Recovered::LeftAlone)) if hindered => {
                "the program ended while this call changed files, and a file could not be looked at or mended since; look at its files before going on"
            }
            (_, Some(Recovered::LeftAlone)) => {
                "the program ended while this call changed files, and a file has changed since; look at its files before going on"
            }
            (_, None) => {
                "the program ended while this call ran; whether it did anything is not known, look before trying it again"
            }
        };
        let tool = self.tool.clone().unwrap_or_default();
        let error = ToolError::new(ErrorKind::Interrupted, message);
        ToolResult::failed(self.call.clone(), tool, error)
    }
}

impl SqliteJournal {
    /// Calls that a crash left without a result or with half-changed files, of one
    /// conversation or of all that no other process works on. To be asked before anything
    /// of the conversation runs: a call that runs now has no result either.
    pub async fn unfinished(
        &self,
        conversation: Option<&ConversationId>,
    ) -> Result<Vec<Unfinished>, Trouble> {
        let only = conversation.map(|id| id.as_str().to_owned());
        self.ask(true, move |work| work.unfinished(only.as_deref()))
            .await
    }

    /// Brings a half-made change of files to an end and puts that on record; one that was
    /// hindered stays open. Files are looked at and changed on the calling thread.
    pub async fn recover(&self, call: &Unfinished, files: &dyn Files) -> Result<Recovery, Trouble> {
        let asked = call.clone();
        let intent = self.ask(true, move |work| work.intent(&asked)).await?;
        let looks: Vec<Look> = intent.iter().map(|file| look(file, files)).collect();
        let mut images = Vec::with_capacity(looks.len());
        for look in &looks {
            let hash = look
                .file
                .before
                .clone()
                .filter(|_| look.side == Side::After);
            let image = match hash {
                Some(hash) => self.ask(true, move |work| work.image(&hash)).await?,
                None => None,
            };
            images.push(image);
        }
        let random = || self.inner.entropy.bits().unwrap_or_default();
        let recovery = bring_to_an_end(&looks, &images, files, &random);
        if recovery.hindered.is_none() {
            self.put(call, recovery.record()).await?;
        }
        Ok(recovery)
    }

    /// Puts on record that a person gave up on a change that could not be brought to an end.
    pub async fn give_up(&self, call: &Unfinished, recovery: &Recovery) -> Result<(), Trouble> {
        self.put(call, recovery.record()).await
    }

    /// Gives a call that a crash cut off its one result. A call that has one, and is only
    /// known for files it may have half changed, is refused.
    pub async fn settle(&self, call: &Unfinished, result: ToolResult) -> Result<(), Trouble> {
        let result = Box::new(result);
        self.put(call, Record::Finished { result }).await
    }

    /// What a file held before a change, by the hash that the change's entry names; nothing
    /// if that was pruned. It cannot be redacted: it goes back to files and nowhere else.
    pub async fn image(&self, sha256: &str) -> Result<Option<Vec<u8>>, Trouble> {
        let sha256 = sha256.to_owned();
        self.ask(true, move |work| work.image(&sha256)).await
    }

    async fn put(&self, call: &Unfinished, record: Record) -> Result<(), Trouble> {
        let nth = About::Nth(call.nth);
        let entry = Entry {
            conversation: call.conversation.clone(),
            call: call.call.clone(),
            at_ms: self.inner.clock.now_ms(),
            record,
        };
        self.ask(true, move |work| work.append(&[entry], nth)).await
    }
}

impl Work<'_> {
    fn unfinished(&self, only: Option<&str>) -> Result<Vec<Unfinished>, Trouble> {
        let found = || -> rusqlite::Result<Vec<Unfinished>> {
            let mut find = self.db.prepare_cached(
                "SELECT c.conversation, c.call, c.nth, c.state, c.open_intent,
                   (SELECT min(at_ms) FROM entries e WHERE e.conversation = c.conversation
                     AND e.call = c.call AND e.nth = c.nth),
                   (SELECT b.bytes FROM entries e JOIN bodies b ON b.hash = e.body_hash
                     WHERE e.conversation = c.conversation AND e.call = c.call AND e.nth = c.nth
                       AND e.kind = 'planned' ORDER BY e.seq DESC LIMIT 1),
                   (SELECT workspace FROM conversations WHERE id = c.conversation)
                 FROM call_states c
                 WHERE (c.state <> 'finished' OR c.open_intent <> 0)
                   AND (?1 IS NULL OR c.conversation = ?1)
                 ORDER BY c.conversation, c.batch, c.call, c.nth",
            )?;
            let mut rows = find.query([only])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(state) = State::named(row.get_ref(3)?.as_str()?) else {
                    continue;
                };
                let plan = row.get_ref(6)?.as_blob_or_null()?;
                let tool = plan.and_then(|bytes| match serde_json::from_slice(bytes) {
                    Ok(Record::Planned { plan }) => Some(plan.tool.clone()),
                    _ => None,
                });
                found.push(Unfinished {
                    conversation: row.get::<_, String>(0)?.into(),
                    call: row.get::<_, String>(1)?.into(),
                    nth: row.get(2)?,
                    state,
                    half_changed: row.get(4)?,
                    tool,
                    received_ms: row.get::<_, Option<u64>>(5)?.unwrap_or(0),
                    workspace: row.get(7)?,
                });
            }
            Ok(found)
        };
        let mut found = found().map_err(|error| self.fail(&error))?;
        let mut elsewhere = Vec::new();
        for call in &found {
            let conversation = call.conversation.as_str();
            if lease::held_elsewhere(self.db, self.me, conversation, self.now_ms)
                .map_err(|error| self.fail(&error))?
            {
                elsewhere.push(call.conversation.clone());
            }
        }
        found.retain(|call| !elsewhere.contains(&call.conversation));
        Ok(found)
    }

    /// What a call was about to do to files; its conversation is taken for that.
    fn intent(&mut self, call: &Unfinished) -> Result<Vec<IntendedFile>, Trouble> {
        self.hold(call.conversation.as_str())?;
        is_as_written(self.db, self.path, call.conversation.as_str())?;
        let body: Option<(Option<Vec<u8>>, Hash)> = self
            .db
            .prepare_cached(
                "SELECT b.bytes, e.body_hash FROM call_states c
                 JOIN entries e ON e.conversation = c.conversation AND e.call = c.call AND e.nth = c.nth
                 LEFT JOIN bodies b ON b.hash = e.body_hash
                 WHERE c.conversation = ?1 AND c.call = ?2 AND c.nth = ?3
                   AND c.open_intent <> 0 AND e.kind = 'intended'
                 ORDER BY e.seq DESC LIMIT 1",
            )
            .and_then(|mut find| {
                let id = (call.conversation.as_str(), call.call.as_str(), call.nth);
                find.query_row(id, |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|error| self.fail(&error))?;
        let bytes = match body {
            Some((Some(bytes), hash)) => Some(self.written(bytes, &hash)?),
            _ => None,
        };
        let read = bytes.map(|bytes| serde_json::from_slice(&bytes));
        match read {
            Some(Ok(Record::Intended { files })) => Ok(files),
            _ => Err(Trouble::OutOfOrder {
                conversation: call.conversation.to_string(),
                call: call.call.to_string(),
                standing: "without a change of files that is open".to_owned(),
                kind: "recovered",
            }),
        }
    }

    fn image(&self, hash: &str) -> Result<Option<Vec<u8>>, Trouble> {
        let Some(hash) = unhex(hash) else {
            return Ok(None);
        };
        let found = self
            .db
            .prepare_cached("SELECT bytes FROM images WHERE hash = ?1")
            .and_then(|mut find| find.query_row([hash], |row| row.get(0)).optional())
            .map_err(|error| self.fail(&error))?;
        found.map(|bytes| self.written(bytes, &hash)).transpose()
    }

    /// Bytes that decide what files become, if they are those that were written.
    fn written(&self, bytes: Vec<u8>, hash: &Hash) -> Result<Vec<u8>, Trouble> {
        if sha256(&bytes) == *hash {
            return Ok(bytes);
        }
        Err(Trouble::Damaged {
            path: self.path.to_owned(),
            why: format!("the content {} is not what was written", hex(hash)),
        })
    }
}

/// Which side of the change a file is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    /// The change leaves this file as it is.
    Either,
    /// Neither: somebody went on working.
    Third,
    /// It could not be looked at.
    Unknown,
}

struct Look {
    file: IntendedFile,
    side: Side,
    found: Option<String>,
    /// The temporary file is there and holds what the change wanted.
    staged: bool,
    /// Why the file, or the temporary file it waits for, could not be looked at.
    problem: Option<FileProblem>,
}

fn look(file: &IntendedFile, files: &dyn Files) -> Look {
    let (found, mut problem) = match files.sha256(&file.place) {
        Ok(found) => (found, None),
        Err(problem) => (None, Some(problem)),
    };
    let side = match (found == file.before, found == file.after) {
        _ if problem.as_ref().is_some_and(|why| why.something_else) => Side::Third,
        _ if problem.is_some() => Side::Unknown,
        (true, true) => Side::Either,
        (true, false) => Side::Before,
        (false, true) => Side::After,
        (false, false) => Side::Third,
    };
    let staged = match file.staged_beside().map(|staged| files.sha256(&staged)) {
        Some(Ok(staged)) => staged,
        Some(Err(why)) if side == Side::Before && !why.something_else => {
            problem = Some(why);
            None
        }
        Some(Err(_)) | None => None,
    };
    Look {
        side,
        found,
        staged: staged.is_some() && staged == file.after,
        problem,
        file: file.clone(),
    }
}

/// Decides for all files at once, and does it.
fn bring_to_an_end(
    looks: &[Look],
    images: &[Option<Vec<u8>>],
    files: &dyn Files,
    random: &dyn Fn() -> u128,
) -> Recovery {
    let has = |side| looks.iter().any(|look| look.side == side);
    let mut forward = looks.iter().filter(|look| look.side == Side::Before);
    let mut back = looks.iter().zip(images);
    let can_go_on = forward.all(|look| look.file.after.is_none() || look.staged);
    let can_go_back = back.all(|(look, image)| {
        look.side != Side::After || look.file.before.is_none() || image.is_some()
    });
    let third = has(Side::Third);
    // Without a look at every file nothing is decided.
    let mut unseen = looks.iter().filter_map(|look| look.problem.clone());
    let hindered = unseen.next().filter(|_| !third);
    let outcome = if third || hindered.is_some() {
        Recovered::LeftAlone
    } else if !has(Side::After) {
        // Nothing was renamed: the change has not happened.
        Recovered::Back
    } else if can_go_on {
        Recovered::Forward
    } else if can_go_back {
        Recovered::Back
    } else {
        Recovered::LeftAlone
    };
    let mut recovery = Recovery {
        outcome,
        files: Vec::with_capacity(looks.len()),
        hindered,
    };
    for (look, image) in looks.iter().zip(images) {
        let done = match outcome {
            Recovered::LeftAlone => Ok(left_alone(look)),
            Recovered::Forward => go_on(look, files),
            Recovered::Back => go_back(look, image.as_deref(), files, random()),
        };
        let note = done.unwrap_or_else(|problem| {
            // What was done stays done; the next recovery finds it so and goes on from there.
            recovery.outcome = Recovered::LeftAlone;
            let note = format!("could not be mended: {problem}");
            recovery.hindered.get_or_insert(problem);
            note
        });
        recovery.files.push(RecoveredFile {
            path: look.file.path.clone(),
            found: look.found.clone(),
            note,
        });
    }
    recovery
}

fn left_alone(look: &Look) -> String {
    match (&look.problem, look.side) {
        (Some(problem), _) => format!("cannot be looked at: {problem}; not touched"),
        (None, Side::Third | Side::Unknown) => "holds something else since; not touched".to_owned(),
        (None, Side::Before) => "is as it was before; not touched".to_owned(),
        (None, Side::After | Side::Either) => "is as it was wanted; not touched".to_owned(),
    }
}

fn go_on(look: &Look, files: &dyn Files) -> Result<String, FileProblem> {
    if look.side != Side::Before {
        clear(look, files);
        return Ok("was changed already".to_owned());
    }
    still(look, files)?;
    match (&look.file.after, look.file.staged_beside()) {
        (None, _) => files.remove(&look.file.place)?,
        (Some(_), Some(staged)) => files.put_in_place(&staged, &look.file.place)?,
        (Some(_), None) => return Err(FileProblem::new("its new content is gone")),
    }
    Ok("the change was completed".to_owned())
}

fn go_back(
    look: &Look,
    image: Option<&[u8]>,
    files: &dyn Files,
    nonce: u128,
) -> Result<String, FileProblem> {
    let note = if look.side == Side::After {
        still(look, files)?;
        match (&look.file.before, image) {
            (None, _) => files.remove(&look.file.place)?,
            (Some(_), Some(bytes)) => {
                files.restore(&look.file.place, bytes, look.file.mode, nonce)?;
            }
            (Some(_), None) => return Err(FileProblem::new("its old content is gone")),
        }
        "was put back"
    } else {
        "had not been changed"
    };
    clear(look, files);
    Ok(note.to_owned())
}

/// The file is what it was a moment ago.
fn still(look: &Look, files: &dyn Files) -> Result<(), FileProblem> {
    let now = files.sha256(&look.file.place)?;
    if now == look.found {
        return Ok(());
    }
    let place: &Path = &look.file.place;
    Err(FileProblem::new(format!(
        "{} changed just now",
        place.display()
    )))
}

/// Removes a temporary file that is known to be ours by what it holds.
fn clear(look: &Look, files: &dyn Files) {
    if let Some(staged) = look.file.staged_beside().filter(|_| look.staged) {
        // One that cannot be removed does no harm.
        let _ = files.remove(&staged);
    }
}
