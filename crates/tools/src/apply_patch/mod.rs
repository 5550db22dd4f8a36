//! `apply_patch`: several files changed by one patch, all of them or none.
//!
//! ```text
//!  patch ──▶ formats (parsed once) ──▶ facts ──▶ policy, person
//!                 └──▶ files on a desk, in memory ──▶ every step fits? ──▶ lines known? ──▶ change
//!                      read through the sandbox          exactly, or said     as shown to      all in
//!                                                                          the model        one step
//! ```
//!
//! What can go wrong: the patch cannot be read, a file was not read or has changed
//! since, a step fits nowhere or in several places, a new line stands for code it
//! leaves out. The error names the step, its line of the patch, and shows what is
//! there; no file is touched then.
//!
//! A line patch (LP1) makes a file that does not exist with `T` and `B`; every other
//! operation needs the file.

mod apply;
pub mod formats;
mod outcome;
mod patch_files;
mod told;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{
    Invocation, Output, Preview, RunCtx, Tool, ToolSpec, View, read_args, typed,
};
use toolgate_model::{Args, Category, ErrorKind, Facts, Risk, ToolError};

use crate::blocking::blocking;
use crate::change::{self, Current, LARGEST};
use crate::place::{fact_path, names_a_file};
use crate::placeholders;
use crate::settings::{PatchSettings, WriteSettings};
use crate::write_file::PREVIEW;
use apply::{Failure, Fit, Remark};
use formats::{Patch, PatchError, PatchProblem};
use outcome::{Outcome, outcomes};
use patch_files::PatchFiles;

const DESCRIPTION: &str = "Changes one or more files of the working directory by a patch: all of them, \
    or none. Three formats are understood, told by the first line. LP1: `LP1`, then `F path` and \
    operations `R` replace, `I` insert after, `P` insert before, `E` erase (each with a block of \
    whole lines to find, ended by a line with a single `.`; R, I and P with a second block), `T` \
    append, `B` prepend, `N +` or `N -` final newline, then `END`; a content line that starts with \
    a dot gets one more in front. Envelope: `*** Begin Patch`, then `*** Add File: p`, `*** Delete \
    File: p` or `*** Update File: p` with hunks under `@@`, then `*** End Patch`. Unified diff: \
    `--- a/p`, `+++ b/p`, `@@ -1,3 +1,3 @@`, also as git writes it. Files have to be read first.";

/// Names of files that a summary lists.
const NAMED: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The patch: LP1, `*** Begin Patch` envelope, or unified diff.
    #[schemars(length(min = 1))]
    patch: String,
    /// Whether a comment such as "rest unchanged" is meant as it stands, although lines go there.
    #[serde(default)]
    allow_elision: bool,
}

/// The tool.
pub(crate) struct ApplyPatch {
    spec: ToolSpec,
    settings: PatchSettings,
    files: WriteSettings,
}

impl ApplyPatch {
    pub(crate) fn new(settings: PatchSettings, files: WriteSettings) -> Self {
        // Only what it says about itself is taken: it parses more than arguments.
        let described = typed("apply_patch", DESCRIPTION, |_: Arguments, _| async {
            Err(ToolError::failed("a patch is run from its parsed form"))
        })
        .category(Category::File)
        .side_effects()
        .risk(Risk::Medium);
        Self {
            spec: Tool::spec(&described).clone(),
            settings,
            files,
        }
    }
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        let Arguments {
            patch,
            allow_elision,
        } = read_args(args)?;
        let (bytes, most) = (patch.len() as u64, self.settings.max_patch_bytes);
        if bytes > most {
            return Err(ToolError::new(
                ErrorKind::LimitExceeded,
                format!(
                    "the patch has {bytes} bytes and at most {most} are taken; send it in several calls"
                ),
            ));
        }
        let holds_placeholders = placeholders::are_in(&patch);
        let patch = Patch::parse(&patch).map_err(|error| told::unreadable(&error))?;
        let touched = patch.touched();
        touched
            .writes
            .iter()
            .chain(&touched.deletes)
            .try_for_each(|path| names_a_file(path))?;
        let names = |paths: &[String]| {
            let mut names: Vec<String> = Vec::new();
            for name in paths.iter().map(|path| fact_path(path)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        let facts = Facts {
            reads: names(&touched.reads),
            writes: names(&touched.writes),
            deletes: names(&touched.deletes),
            ..Facts::none()
        };
        Ok(Box::new(Patching {
            patch: Arc::new(patch),
            facts,
            files: self.files,
            allow_elision,
            holds_placeholders,
        }))
    }
}

impl Patch {
    /// Applies the patch to files in memory: all that differ then, with nothing for those that
    /// are gone. Nothing on disk is looked at.
    pub fn apply(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<BTreeMap<String, Option<Vec<u8>>>, PatchError> {
        let mut files = PatchFiles::new(|path| Ok(files.get(&fact_path(path)).cloned()));
        match apply::apply(self, &mut files) {
            Err(Failure::Patch(error)) => return Err(error),
            // Files in memory give no trouble of their own.
            Err(Failure::Tool(_)) | Ok(_) => {}
        }
        let mut changed = BTreeMap::new();
        for item in files.into_items() {
            let path = fact_path(&item.path);
            let after = item.after().map_err(|error| PatchError {
                line: 1,
                step: String::new(),
                path: Some(path.clone()),
                problem: Box::new(PatchProblem::Unencodable(error.to_string())),
            })?;
            if after != item.before {
                changed.insert(path, after);
            }
        }
        Ok(changed)
    }
}

/// A patch that was understood.
struct Patching {
    patch: Arc<Patch>,
    facts: Facts,
    files: WriteSettings,
    allow_elision: bool,
    /// Whether a line of the patch holds the placeholder of a secret.
    holds_placeholders: bool,
}

impl Invocation for Patching {
    fn summary(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (_, path) in self.facts.paths() {
            if !names.contains(&path) {
                names.push(path);
            }
        }
        let count = names.len();
        let dots = if count > NAMED { ", …" } else { "" };
        names.truncate(NAMED);
        let mut summary = format!("Apply patch to {count} file(s): {}{dots}", names.join(", "));
        if !self.facts.deletes.is_empty() {
            summary.push_str(&format!("; deletes {}", self.facts.deletes.join(", ")));
        }
        summary
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn risk(&self) -> Option<Risk> {
        (!self.facts.deletes.is_empty()).then_some(Risk::High)
    }

    // What is deleted is gone, so a list that lets the tool change files does not cover it.
    fn requires_approval(&self) -> bool {
        !self.facts.deletes.is_empty()
    }

    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        let (patch, holds_placeholders) = (Arc::clone(&self.patch), self.holds_placeholders);
        Box::pin(view.look(move |view| patch.shown(holds_placeholders, view)))
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        patch(*self, Arc::new(cx)).boxed()
    }
}

impl Patch {
    /// What an approver is shown.
    fn shown(&self, holds_placeholders: bool, view: &View) -> Result<Preview, ToolError> {
        let mut rests_on = Vec::new();
        let mut files = PatchFiles::new(|path| {
            let seen = view.read(path, LARGEST)?;
            rests_on.push(seen.digest);
            Ok(seen.content)
        })
        .with_placeholders(view.redactor(), holds_placeholders);
        let applied = apply::apply(self, &mut files);
        if applied.is_ok() {
            files.put_back()?;
        }
        let items = files.into_items();
        let (text, shows): (String, &'static [&'static str]) = match applied {
            Ok(_) => {
                let outcomes = outcomes(items)?;
                let texts: Vec<String> = outcomes.iter().map(Outcome::shown).collect();
                // Of a binary file only that it is one is shown.
                let is_shown = |outcome: &Outcome| outcome.difference().is_some();
                match (texts.is_empty(), outcomes.iter().all(is_shown)) {
                    (true, _) => ("No changes.\n".to_owned(), &[]),
                    (false, true) => (texts.concat(), &["patch"]),
                    (false, false) => (texts.concat(), &[]),
                }
            }
            // An earlier call of the batch may still make the files what this one needs: then
            // the patch itself is shown.
            Err(Failure::Patch(error)) => {
                let originals = items.iter().filter_map(|item| item.before.as_deref());
                let secrets = told::secrets(&error, view.redactor(), originals);
                let why = told::failed(&error, self.format(), &secrets).message;
                let text = format!("as the files are now, this call will fail: {why}\n");
                (text, &[])
            }
            Err(Failure::Tool(error)) => return Err(error),
        };
        Ok(Preview::bounded(&text, PREVIEW, shows, rests_on))
    }
}

/// Files as they were found, by the name that the patch gives them.
type Found = HashMap<String, Current>;

async fn patch(patching: Patching, cx: Arc<RunCtx>) -> Result<Output, ToolError> {
    let format = patching.patch.format();
    let with = Arc::clone(&cx);
    let (outcomes, remarks, changes) = blocking(move || look(&patching, &with)).await?;
    if changes.is_empty() {
        return Ok(Output::plain("No changes applied.")
            .display("No changes applied.")
            .with("changed", false)
            .with("format", format));
    }
    let changed = change::make(changes, &cx).await?;
    let made: Vec<String> = changed
        .iter()
        .flat_map(|file| &file.made_directories)
        .map(|directory| crate::place::shown(directory))
        .collect();
    let mut output = told::done(&outcomes, &remarks)
        .with("changed", true)
        .with("format", format);
    let worst = remarks.iter().map(|remark| remark.fit).max();
    output = output.with("strategy", worst.unwrap_or(Fit::Exact).name());
    if !made.is_empty() {
        output = output.with("made_directories", made);
    }
    Ok(output)
}

type Look = (Vec<Outcome>, Vec<Remark>, Vec<change::Change>);

/// Whether the patch applies, and what comes of it.
fn look(patching: &Patching, cx: &RunCtx) -> Result<Look, ToolError> {
    let mut found = Found::new();
    let copied = |path: &str| patching.facts.reads.contains(&fact_path(path));
    let changed = |path: &str| {
        let name = fact_path(path);
        patching.facts.writes.contains(&name) || patching.facts.deletes.contains(&name)
    };
    let mut files = PatchFiles::new(|path| {
        let current = Current::look(cx.sandbox(), path)?;
        let Some(current) = current else {
            return Ok(None);
        };
        // What is only copied from stays as it is, known or not.
        if changed(path) || !copied(path) {
            current.check_read(&fact_path(path), cx)?;
        }
        let bytes = current.bytes.to_vec();
        found.insert(path.to_owned(), current);
        Ok(Some(bytes))
    })
    .with_placeholders(cx.redactor(), patching.holds_placeholders);
    let applied = apply::apply(&patching.patch, &mut files);
    if applied.is_ok() {
        files.put_back()?;
    }
    let items = files.into_items();
    let remarks = applied.map_err(|failure| match failure {
        Failure::Tool(error) => error,
        Failure::Patch(error) => {
            let originals = found.values().map(|current| current.bytes.as_slice());
            let secrets = told::secrets(&error, cx.redactor(), originals);
            told::nearest(
                told::failed(&error, patching.patch.format(), &secrets),
                &error,
                cx,
            )
        }
    })?;
    let outcomes = outcomes(items)?;
    let mut changes = Vec::with_capacity(outcomes.len());
    for outcome in &outcomes {
        changes.push(outcome.change(&found, cx, patching.files, patching.allow_elision)?);
    }
    Ok((outcomes, remarks, changes))
}
