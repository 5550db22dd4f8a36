//! The one way by which tools change files.
//!
//! ```text
//!  changes of a call ──▶ stage all ──▶ sync ──▶ still the same? ──▶ intend ──▶ rename all ──▶ sync directories ──▶ note
//!                        out of sight   once      read again        journal    one fails:      once each      what is
//!                                                                              take all back                  known now
//! ```
//!
//! In come the files a call wants to write, make or delete, each with what it was
//! when the call looked. Out comes what was done. All of it happens or nothing:
//! up to the first rename nothing can be seen of it, and a rename that fails takes
//! back those before it. Between the two the journal knows what was there, so that
//! a crash can be mended too.
//!
//! What can go wrong: somebody else changed a file meanwhile, two names of the
//! call are one file, the sandbox or the disk says no, or the journal cannot be
//! written. The error says whether anything was changed.

mod current;
mod difference;
mod elision;
mod hints;
mod sheet;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolgate_gate::journal::{Image, Intended};
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{RunCtx, hex, path_error};
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::paths::{Committed, FileStat, PathError, StageOptions, Staged, StagedDelete};

use crate::blocking::{blocking, go_on};

pub(crate) use current::{Current, LARGEST};
pub(crate) use difference::{Difference, Region, Touch};
pub(crate) use elision::check as check_elision;
pub(crate) use hints::{closest, numbered};
pub(crate) use sheet::{Ending, LineEndingError, Row, Sheet};

/// What a file is to become.
#[derive(Clone, Debug)]
pub(crate) struct After {
    pub(crate) bytes: Vec<u8>,
    /// Mode and owner to take over, where it is not a replaced file's.
    pub(crate) like: Option<FileStat>,
    /// Whether it can be run, if that is to change.
    pub(crate) executable: Option<bool>,
    /// The lines that the conversation knows then; all, if not given.
    pub(crate) known: Option<LineRanges>,
}

impl After {
    /// This content, and the rest as it comes.
    pub(crate) const fn content(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            like: None,
            executable: None,
            known: None,
        }
    }
}

/// One file of a call.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// As it was asked for.
    pub(crate) path: String,
    /// What was there when the call looked.
    pub(crate) before: Option<Current>,
    /// What is to be there; nothing if it is to go.
    pub(crate) after: Option<After>,
}

/// One file that was changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// Whether there was no file before.
    pub(crate) created: bool,
    /// Directories that were made for it, outermost first.
    pub(crate) made_directories: Vec<PathBuf>,
    /// SHA-256 of what it holds now; nothing if it is gone.
    pub(crate) sha256: Option<String>,
}

/// Makes all of the changes, or none. The answers come in the order of the changes.
pub(crate) async fn make(
    changes: Vec<Change>,
    cx: &Arc<RunCtx>,
) -> Result<Vec<Changed>, ToolError> {
    let with = Arc::clone(cx);
    let (prepared, intended) = blocking(move || {
        let prepared = Prepared::new(changes, &with)?;
        let intended = prepared.intended();
        Ok((prepared, intended))
    })
    .await?;
    cx.intend(intended).await?;
    let with = Arc::clone(cx);
    blocking(move || prepared.carry_out(&with)).await
}

/// A change that only has to be made.
enum Step {
    Write(Staged),
    Delete(StagedDelete),
}

impl Step {
    /// The name under which a conversation remembers the file, as [`toolgate_gate::place`] makes it.
    fn known_as(&self) -> String {
        let (root, path) = self.place();
        format!("{root}:{}", path.to_string_lossy())
    }

    fn place(&self) -> (usize, PathBuf) {
        match self {
            Self::Write(staged) => (staged.root(), staged.path().to_path_buf()),
            Self::Delete(staged) => {
                let resolved = staged.resolved();
                (resolved.root, resolved.path)
            }
        }
    }
}

/// Everything is staged and synced, and nothing of it can be seen.
struct Prepared {
    changes: Vec<Change>,
    steps: Vec<Step>,
    /// SHA-256 of what each file is to hold.
    hashes: Vec<Option<String>>,
    /// The roots' own paths, for the journal.
    roots: Vec<PathBuf>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Directories made for the first can only go when the others have left them.
        while self.steps.pop().is_some() {}
    }
}

impl Prepared {
    fn new(changes: Vec<Change>, cx: &RunCtx) -> Result<Self, ToolError> {
        let sandbox = cx.sandbox();
        let roots = (0..).map_while(|root| sandbox.roots().get(root));
        let roots = roots.map(|root| root.path().to_path_buf()).collect();
        let mut prepared = Self {
            steps: Vec::with_capacity(changes.len()),
            changes: Vec::new(),
            hashes: Vec::new(),
            roots,
        };
        for change in &changes {
            prepared.steps.push(stage(change, cx)?);
        }
        prepared.changes = changes;
        prepared.one_name_each()?;
        let Self { steps, changes, .. } = &mut prepared;
        let mut writes: Vec<&mut Staged> = steps.iter_mut().filter_map(write).collect();
        // The disk takes its time: what is written is hashed meanwhile.
        let (synced, hashes) = std::thread::scope(|scope| {
            let hashes = scope.spawn(|| hashes(changes));
            let synced = Staged::sync_all(&mut writes);
            (synced, hashes.join())
        });
        synced.map_err(|error| failed(&error))?;
        prepared.hashes = hashes.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        for change in &prepared.changes {
            still_the_same(change, cx)?;
        }
        // The last moment at which nothing has happened yet.
        go_on(cx.cancel())?;
        Ok(prepared)
    }

    /// Refuses two changes of one file, and a file where another change needs a directory.
    fn one_name_each(&self) -> Result<(), ToolError> {
        let mut names: BTreeMap<(usize, PathBuf), &str> = BTreeMap::new();
        for (step, change) in self.steps.iter().zip(&self.changes) {
            if let Some(other) = names.insert(step.place(), &change.path) {
                return Err(ToolError::bad_args(format!(
                    "`{other}` and `{}` are the same file. Change it under one name only.",
                    change.path
                )));
            }
        }
        for ((root, path), asked) in &names {
            let above = path.ancestors().skip(1);
            for directory in above.filter(|directory| *directory != Path::new("")) {
                if let Some(file) = names.get(&(*root, directory.to_path_buf())) {
                    return Err(ToolError::bad_args(format!(
                        "`{file}` cannot be a file and the directory of `{asked}` in one call."
                    )));
                }
            }
        }
        Ok(())
    }

    /// What the journal is told before anything happens.
    fn intended(&self) -> Vec<Intended> {
        let steps = self.steps.iter().zip(&self.changes).zip(&self.hashes);
        steps
            .map(|((step, change), after)| {
                let (root, path) = step.place();
                let place = match self.roots.get(root) {
                    Some(root) => root.join(path),
                    None => path,
                };
                let staged = match step {
                    Step::Write(staged) => Some(place.with_file_name(staged.temporary())),
                    Step::Delete(_) => None,
                };
                let like = change.after.as_ref().and_then(|after| after.like);
                let stat = change.before.as_ref().map(|before| before.stat).or(like);
                Intended {
                    path: change.path.clone(),
                    place,
                    before: change.before.as_ref().map(|before| Image {
                        sha256: before.sha256.clone(),
                        bytes: Arc::clone(&before.bytes),
                    }),
                    after: after.clone(),
                    mode: stat.map(|stat| stat.mode),
                    staged,
                }
            })
            .collect()
    }

    /// Makes the changes. Deletions come last: they are the hardest to take back.
    fn carry_out(mut self, cx: &RunCtx) -> Result<Vec<Changed>, ToolError> {
        for staged in self.steps.iter_mut().filter_map(write) {
            staged.stand_by().map_err(|error| failed(&error))?;
        }
        let deletes = |step: &Step| matches!(step, Step::Delete(_));
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|at| self.steps.get(*at).is_some_and(deletes));
        let mut done = Vec::with_capacity(order.len());
        for at in order {
            let step = self.steps.get_mut(at);
            let made = step.map_or(Ok(()), |step| match step {
                Step::Write(staged) => staged.place(),
                Step::Delete(staged) => staged.remove(),
            });
            if let Err(error) = made {
                return Err(self.take_back(&done, &error, cx));
            }
            done.push(at);
        }
        let places: Vec<String> = self.steps.iter().map(Step::known_as).collect();
        let finished = self.finish();
        note(&places, &self.changes, &self.hashes, cx);
        finished
    }

    /// Undoes the steps that are done, the last first, and says what came of it.
    fn take_back(mut self, done: &[usize], error: &PathError, cx: &RunCtx) -> ToolError {
        let mut steps: Vec<Option<Step>> = self.steps.drain(..).map(Some).collect();
        let mut stuck = Vec::new();
        for at in done.iter().rev() {
            let (Some(slot), Some(change)) = (steps.get_mut(*at), self.changes.get(*at)) else {
                continue;
            };
            let before = change.before.as_ref();
            let before = before.map_or(&[][..], |before| before.bytes.as_slice());
            let nonce = cx.entropy().bits().unwrap_or_default();
            let undone = match slot.take() {
                Some(Step::Write(staged)) => staged.take_back(before, nonce),
                Some(Step::Delete(staged)) => staged.take_back(before, nonce),
                None => Ok(()),
            };
            if let Err(undo) = undone {
                stuck.push(format!("`{}` ({undo})", change.path));
            }
        }
        while steps.pop().is_some() {}
        let why = failed(error);
        let what = if stuck.is_empty() {
            "All files are as they were.".to_owned()
        } else {
            format!(
                "What was changed before that was taken back, except {}; the journal holds what was there.",
                stuck.join(", ")
            )
        };
        ToolError {
            message: format!("{} {what}", why.message),
            ..why
        }
    }

    fn finish(&mut self) -> Result<Vec<Changed>, ToolError> {
        let (mut writes, mut deletes) = (Vec::new(), Vec::new());
        for step in self.steps.drain(..) {
            match step {
                Step::Write(staged) => writes.push(staged),
                Step::Delete(staged) => deletes.push(staged),
            }
        }
        for staged in &deletes {
            staged.finish();
        }
        let committed = Staged::finish_all(writes).map_err(|error| failed(&error))?;
        let mut committed = committed.into_iter();
        let files = self.changes.iter().zip(&self.hashes);
        let changed = files.map(|(change, sha256)| {
            let placed = change.after.as_ref().and_then(|_| committed.next());
            Changed {
                created: change.before.is_none() && change.after.is_some(),
                made_directories: placed
                    .map_or_else(Vec::new, |file: Committed| file.made_directories),
                sha256: sha256.clone(),
            }
        });
        Ok(changed.collect())
    }
}

fn hashes(changes: &[Change]) -> Vec<Option<String>> {
    let after = changes.iter().map(|change| change.after.as_ref());
    after
        .map(|after| after.map(|after| hex(&Sha256::digest(&after.bytes))))
        .collect()
}

/// The conversation knows what it wrote, and no longer what is gone.
fn note(places: &[String], changes: &[Change], hashes: &[Option<String>], cx: &RunCtx) {
    let now = cx.clock().now_ms();
    cx.session().reads(|log| {
        for ((place, change), sha256) in places.iter().zip(changes).zip(hashes) {
            match (&change.after, sha256) {
                (Some(after), Some(sha256)) => {
                    let known = after.known.clone().unwrap_or_else(LineRanges::all);
                    log.edited(place, sha256, known, now);
                }
                _ => log.forget(place),
            }
        }
    });
}

fn write(step: &mut Step) -> Option<&mut Staged> {
    match step {
        Step::Write(staged) => Some(staged),
        Step::Delete(_) => None,
    }
}

fn stage(change: &Change, cx: &RunCtx) -> Result<Step, ToolError> {
    let sandbox = cx.sandbox();
    let Some(after) = &change.after else {
        let staged = sandbox.stage_delete(&change.path);
        return staged.map(Step::Delete).map_err(|error| failed(&error));
    };
    let nonce = cx
        .entropy()
        .bits()
        .ok_or_else(|| ToolError::failed("no random name for the new file; nothing was written"))?;
    let options = StageOptions {
        overwrite: change.before.is_some(),
        create_parents: true,
        nonce,
    };
    let staged = sandbox.stage(&change.path, options);
    let mut staged = staged.map_err(|error| failed(&error))?;
    if let Some(like) = &after.like {
        staged.takes_after(like);
    }
    if let Some(executable) = after.executable {
        staged.executable(executable);
    }
    let written = staged.write_all(&after.bytes);
    written.map_err(|error| failed(&error))?;
    Ok(Step::Write(staged))
}

/// Reads a file again: what is staged rests on what it was.
fn still_the_same(change: &Change, cx: &RunCtx) -> Result<(), ToolError> {
    let now = match cx.sandbox().open_read(&change.path) {
        Ok(mut handle) => {
            let bytes = handle.read_all(LARGEST);
            Some(bytes.map_err(|error| failed(&error))?)
        }
        Err(PathError::NotFound { .. }) => None,
        Err(error) => return Err(failed(&error)),
    };
    let before = change.before.as_ref().map(|before| &*before.bytes);
    if now.as_ref() == before {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::StaleFile,
        format!(
            "{}: somebody else changed the file while it was written. Nothing was changed; read it and try again.",
            change.path
        ),
    ))
}

fn failed(error: &PathError) -> ToolError {
    ToolError {
        retryable: error.is_retryable(),
        ..path_error(error)
    }
}
