//! The tool behind undo: files get back what they held.
//!
//! ```text
//! Back, Back, … ──▶ still as planned? ──▶ stage all, sync ──▶ intend ──▶ rename all ──▶ sync directories
//!                                                             journal    one fails: take all back
//! ```
//!
//! It goes the way of every tool, through the gate: policy, approval, sandboxes and journal
//! hold for a user's undo too, and what it did can be taken back like anything else. It
//! is made for one call, with the contents in it, and never offered to a model.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use sha2::{Digest, Sha256};
use toolgate_gate::journal::{Image, Intended};
use toolgate_gate::output::Limits;
use toolgate_gate::tool::{
    Invocation, Output, Preview, RunCtx, Tool, ToolSpec, View, hex, path_error,
};
use toolgate_journal::undo::Found;
use toolgate_model::{Args, Category, ErrorKind, Facts, FileDigest, Risk, ToolError};
use toolgate_sandbox::paths::{
    FileKind, FileStat, PathError, PathSandbox, StageOptions, Staged, StagedDelete,
};

use super::difference;

/// The tool's name, and what its calls' ids begin with.
pub(crate) const UNDO: &str = toolgate_journal::undo::TOOL;

/// Tools change no larger files.
const LARGEST: u64 = 64 * 1024 * 1024;

/// How much of a difference goes on record.
const PREVIEW: Limits = Limits {
    max_bytes: 24 * 1024,
    max_lines: Some(400),
    capacity: Some(24 * 1024),
};

/// A file and what it is to hold again.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    /// Its name for the sandbox.
    pub(crate) name: PathBuf,
    /// Where that is: absolute, links resolved.
    pub(crate) place: PathBuf,
    /// What it was when the undo was planned.
    pub(crate) found: Found,
    /// What it held; nothing if there was no file.
    pub(crate) content: Option<Vec<u8>>,
    /// The rights it had.
    pub(crate) mode: Option<u32>,
    /// Directories that were made for it, by their names for the sandbox, the innermost first.
    /// Those that are empty without it go with it.
    pub(crate) directories: Vec<PathBuf>,
}

impl Back {
    fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

/// A file as it is now.
pub(crate) struct Current {
    pub(crate) bytes: Vec<u8>,
    stat: FileStat,
}

impl Current {
    /// Reads a file; nothing if there is none.
    pub(crate) fn look(
        sandbox: &PathSandbox,
        name: &std::path::Path,
    ) -> Result<Option<Self>, PathError> {
        match sandbox.open_read(name) {
            Ok(mut handle) => Ok(Some(Self {
                bytes: handle.read_all(LARGEST)?,
                stat: handle.stat,
            })),
            Err(PathError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn found(current: Option<&Self>) -> Found {
        Found {
            sha256: current.map(|current| hex(&Sha256::digest(&current.bytes))),
            mode: current.map(|current| current.stat.mode),
        }
    }
}

/// The tool, for one call.
pub(crate) struct UndoTool {
    spec: ToolSpec,
    files: Arc<Vec<Back>>,
}

impl UndoTool {
    pub(crate) fn new(files: Arc<Vec<Back>>) -> Self {
        let text = json!({"type": "string"});
        let schema = json!({
            "type": "object",
            "properties": {"conversation": text, "call": text, "turn": {"type": "integer"}},
            "required": ["conversation"],
            "additionalProperties": false,
        });
        let spec = ToolSpec::new(
            UNDO,
            "Gives files back what they held before calls.",
            schema,
        );
        Self {
            spec: ToolSpec {
                category: Category::File,
                side_effects: true,
                requires_approval: true,
                risk: Risk::Medium,
                advertised: false,
                ..spec
            },
            files,
        }
    }
}

impl Tool for UndoTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        let mut facts = Facts::none();
        for file in self.files.iter() {
            let list = match file.content {
                Some(_) => &mut facts.writes,
                None => &mut facts.deletes,
            };
            list.push(file.shown());
        }
        let files = Arc::clone(&self.files);
        Ok(Box::new(Undoing { files, facts }))
    }
}

struct Undoing {
    files: Arc<Vec<Back>>,
    facts: Facts,
}

impl Invocation for Undoing {
    fn summary(&self) -> String {
        let names: Vec<String> = self.files.iter().map(Back::shown).collect();
        format!("Take back changes of {}", names.join(", "))
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        let files = Arc::clone(&self.files);
        Box::pin(view.look(move |view| {
            let (mut text, mut rests_on) = (String::new(), Vec::new());
            for file in files.iter() {
                let seen = view.read(&file.shown(), LARGEST)?;
                let (now, then) = (seen.content.as_deref(), file.content.as_deref());
                text.push_str(&difference::shown(&file.shown(), now, then));
                rests_on.push(FileDigest {
                    path: file.shown(),
                    sha256: seen.digest.sha256,
                });
            }
            Ok(Preview::bounded(&text, PREVIEW, &[], rests_on))
        }))
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            let cx = Arc::new(cx);
            let (files, with) = (Arc::clone(&self.files), Arc::clone(&cx));
            let prepared = blocking(move || Prepared::new(&files, &with)).await?;
            cx.intend(prepared.intended()).await?;
            let removed = blocking(move || prepared.carry_out(&cx)).await?;
            let names: Vec<String> = self.files.iter().map(Back::shown).collect();
            let mut said = format!("Taken back: {}", names.join(", "));
            if !removed.is_empty() {
                said.push_str("\nRemoved, because it was made for these and is empty: ");
                said.push_str(&removed.join(", "));
            }
            let output = Output::plain(said.clone()).display(said);
            let output = output.with("files", names);
            Ok(match removed.is_empty() {
                true => output,
                false => output.with("removed_directories", removed),
            })
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => Err(ToolError::new(
                ErrorKind::Cancelled,
                "Cancelled before it was done.",
            )),
        },
    }
}

enum Step {
    Write(Staged),
    Delete(StagedDelete),
}

struct Prepared {
    files: Vec<(Back, Option<Current>)>,
    steps: Vec<Step>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Directories made for the first can only go when the others have left them.
        while self.steps.pop().is_some() {}
    }
}

impl Prepared {
    /// Stages everything. Nothing of it can be seen.
    fn new(files: &[Back], cx: &RunCtx) -> Result<Self, ToolError> {
        let mut prepared = Self {
            files: Vec::with_capacity(files.len()),
            steps: Vec::with_capacity(files.len()),
        };
        for file in files {
            let failed = |error: PathError| path_error(&error);
            let current = Current::look(cx.sandbox(), &file.name).map_err(failed)?;
            if Current::found(current.as_ref()).sha256 != file.found.sha256 {
                return Err(ToolError::new(
                    ErrorKind::StaleFile,
                    format!(
                        "{}: the file changed just now. Nothing was taken back; look at it and try again.",
                        file.shown()
                    ),
                ));
            }
            prepared.steps.push(stage(file, current.as_ref(), cx)?);
            prepared.files.push((file.clone(), current));
        }
        let mut writes: Vec<&mut Staged> = prepared.steps.iter_mut().filter_map(write).collect();
        Staged::sync_all(&mut writes).map_err(|error| path_error(&error))?;
        if cx.cancel().is_cancelled() {
            let message = "Cancelled before anything was taken back.";
            return Err(ToolError::new(ErrorKind::Cancelled, message));
        }
        Ok(prepared)
    }

    fn intended(&self) -> Vec<Intended> {
        let steps = self.steps.iter().zip(&self.files);
        let intended = steps.map(|(step, (file, current))| Intended {
            path: file.shown(),
            place: file.place.clone(),
            before: current
                .as_ref()
                .map(|current| Image::of(current.bytes.clone())),
            after: file
                .content
                .clone()
                .map(|content| Image::of(content).sha256),
            mode: file.found.mode.or(file.mode),
            staged: match step {
                Step::Write(staged) => Some(file.place.with_file_name(staged.temporary())),
                Step::Delete(_) => None,
            },
        });
        intended.collect()
    }

    /// Makes the changes, deletions last: they are the hardest to take back. Then directories
    /// that are left empty go; the names of these.
    fn carry_out(mut self, cx: &RunCtx) -> Result<Vec<String>, ToolError> {
        for staged in self.steps.iter_mut().filter_map(write) {
            staged.stand_by().map_err(|error| path_error(&error))?;
        }
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        order.sort_by_key(|at| matches!(self.steps.get(*at), Some(Step::Delete(_))));
        let mut done = Vec::with_capacity(order.len());
        for at in order {
            let made = match self.steps.get_mut(at) {
                Some(Step::Write(staged)) => staged.place(),
                Some(Step::Delete(staged)) => staged.remove(),
                None => Ok(()),
            };
            if let Err(error) = made {
                return Err(self.take_back(&done, &error, cx));
            }
            done.push(at);
        }
        let mut writes = Vec::new();
        for step in self.steps.drain(..) {
            match step {
                Step::Write(staged) => writes.push(staged),
                Step::Delete(staged) => drop(staged.finish()),
            }
        }
        Staged::finish_all(writes).map_err(|error| path_error(&error))?;
        Ok(self.remove_directories(cx))
    }

    /// Removes what was made for the files that are gone, where nothing else is in it. A
    /// directory that stays does no harm.
    fn remove_directories(&self, cx: &RunCtx) -> Vec<String> {
        let gone = self.files.iter().filter(|(file, _)| file.content.is_none());
        let mut directories: Vec<&PathBuf> = gone.flat_map(|(file, _)| &file.directories).collect();
        let depth = |directory: &PathBuf| std::cmp::Reverse(directory.components().count());
        directories.sort_by_key(|directory| (depth(directory), *directory));
        directories.dedup();
        let removed = directories.into_iter().filter(|directory| {
            let removed = cx.sandbox().remove_empty_directory(directory);
            removed.is_ok()
        });
        removed
            .map(|directory| directory.to_string_lossy().into_owned())
            .collect()
    }

    /// Undoes the steps that are done, the last first, and says what came of it.
    fn take_back(mut self, done: &[usize], error: &PathError, cx: &RunCtx) -> ToolError {
        let mut steps: Vec<Option<Step>> = self.steps.drain(..).map(Some).collect();
        let mut stuck = Vec::new();
        for at in done.iter().rev() {
            let (Some(slot), Some((file, current))) = (steps.get_mut(*at), self.files.get(*at))
            else {
                continue;
            };
            let before = current.as_ref();
            let before = before.map_or(&[][..], |current| current.bytes.as_slice());
            let nonce = cx.entropy().bits().unwrap_or_default();
            let undone = match slot.take() {
                Some(Step::Write(staged)) => staged.take_back(before, nonce),
                Some(Step::Delete(staged)) => staged.take_back(before, nonce),
                None => Ok(()),
            };
            if let Err(undo) = undone {
                stuck.push(format!("{} ({undo})", file.shown()));
            }
        }
        while steps.pop().is_some() {}
        let why = path_error(error);
        let what = if stuck.is_empty() {
            "All files are as they were before the undo.".to_owned()
        } else {
            format!("Left in between: {}.", stuck.join(", "))
        };
        ToolError {
            message: format!("{} {what}", why.message),
            ..why
        }
    }
}

fn write(step: &mut Step) -> Option<&mut Staged> {
    match step {
        Step::Write(staged) => Some(staged),
        Step::Delete(_) => None,
    }
}

fn stage(file: &Back, current: Option<&Current>, cx: &RunCtx) -> Result<Step, ToolError> {
    let failed = |error: PathError| path_error(&error);
    let Some(content) = &file.content else {
        let staged = cx.sandbox().stage_delete(&file.name);
        return staged.map(Step::Delete).map_err(failed);
    };
    let random = cx.entropy().bits();
    let options = StageOptions {
        overwrite: current.is_some(),
        create_parents: true,
        nonce: random.ok_or_else(|| ToolError::failed("the system has no randomness"))?,
    };
    let mut staged = cx.sandbox().stage(&file.name, options).map_err(failed)?;
    if let Some(mode) = file.mode {
        staged.takes_after(&rights(mode, current));
    }
    staged.restores();
    staged.write_all(content).map_err(failed)?;
    Ok(Step::Write(staged))
}

/// These rights, with the owner of the file that is there, else of the user who runs this.
fn rights(mode: u32, current: Option<&Current>) -> FileStat {
    let ours = || FileStat {
        kind: FileKind::File,
        len: 0,
        mode,
        modified_ns: 0,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        identity: (0, 0),
    };
    current.map_or_else(ours, |current| FileStat {
        mode,
        ..current.stat
    })
}
