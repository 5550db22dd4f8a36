//! `glob`: files whose paths fit a pattern, sorted by path.

use std::num::NonZeroUsize;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{Hidden, Output, RunCtx, Spelling, TypedTool, path_error, typed};
use toolgate_model::{Category, Facts, Risk, ToolError};
use toolgate_sandbox::paths::{FileKind, Flow, PathError, Surveyor, WalkEntry, WalkOptions};

use crate::blocking::{blocking, cancelled};
use crate::pattern::PathPattern;
use crate::place::{
    LEFT_OUT, LEFT_OUT_COUNT, TOO_DEEP, fact_path, is_hidden, is_too_deep, shown, working_directory,
};
use crate::settings::SearchSettings;

const DESCRIPTION: &str = "Finds files by a pattern such as `**/*.rs` or `src/*.{ts,tsx}` and \
    returns their paths, one per line, sorted. `*` stays inside one directory, `**` crosses directories. \
    Hidden files and what ignore files exclude are left out unless asked for.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Glob {
    /// The pattern, relative to the directory, such as `**/*.rs`.
    #[schemars(length(min = 1))]
    pattern: String,
    /// The directory to search, relative to the working directory.
    #[serde(default = "working_directory")]
    #[schemars(length(min = 1))]
    directory: String,
    /// The most paths to return: the first ones by path.
    #[serde(default)]
    max_results: Option<NonZeroUsize>,
    /// Whether files and directories whose names start with a dot are searched.
    #[serde(default)]
    include_hidden: bool,
    /// Whether what ignore files exclude is searched.
    #[serde(default)]
    include_ignored: bool,
}

/// The tool.
pub(crate) fn tool(settings: &SearchSettings) -> TypedTool<Glob> {
    let settings = settings.clone();
    typed("glob", DESCRIPTION, move |args: Glob, cx| {
        let settings = settings.clone();
        blocking(move || find(&args, &cx, &settings))
    })
    .check(|args| PathPattern::new("pattern", &args.pattern).map(drop))
    .summary(|args| format!("Find files that fit {} in {}", args.pattern, args.directory))
    .facts(|args| Facts::reading(fact_path(&args.directory)))
    .paths(["directory"])
    .category(Category::File)
    .risk(Risk::Low)
    .spellings(
        [
            ("path", "directory"),
            ("maxResults", "max_results"),
            ("includeHidden", "include_hidden"),
        ]
        .map(|(other, canonical)| Spelling::same(other, canonical)),
    )
}

/// A search under way.
struct Search<'a> {
    cx: &'a RunCtx,
    pattern: PathPattern,
    most: usize,
    /// What rules leave out.
    hidden: Option<Hidden<'a>>,
}

/// What a run of files came to.
#[derive(Default)]
struct Found {
    paths: Vec<String>,
    unread: usize,
    too_deep: bool,
    left_out: usize,
}

impl Surveyor for Search<'_> {
    type WorkerState = ();
    type Run = Found;

    fn state(&self) {}

    fn is_over(&self) -> bool {
        self.cx.cancel().is_cancelled()
    }

    fn enters(&self, directory: &WalkEntry<'_>) -> bool {
        self.pattern.may_hold(directory.name, directory.depth)
    }

    fn look(&self, (): &mut (), entry: &WalkEntry<'_>, run: &mut Found) {
        let is_file = matches!(entry.kind, FileKind::File | FileKind::Link);
        if !is_file || !self.pattern.fits(entry.beneath()) {
            return;
        }
        if is_hidden(self.hidden.as_ref(), entry.path) {
            run.left_out += 1;
        } else {
            run.paths.push(shown(entry.path));
        }
    }

    fn failed(&self, _: &Path, error: PathError, run: &mut Found) {
        run.unread += 1;
        run.too_deep |= is_too_deep(&error);
    }

    fn results(run: &Found) -> usize {
        run.paths.len()
    }

    fn look_ahead(&self) -> usize {
        self.most
    }
}

fn find(args: &Glob, cx: &RunCtx, settings: &SearchSettings) -> Result<Output, ToolError> {
    let pattern = PathPattern::new("pattern", &args.pattern)?;
    let most = settings.most(args.max_results);
    let options = WalkOptions {
        max_depth: pattern.deepest(),
        hidden: args.include_hidden,
        ignored: args.include_ignored,
        global_excludes: Some(settings.excludes.clone()),
    };
    let search = Search {
        cx,
        pattern,
        most,
        hidden: cx.hidden(),
    };
    let mut found: Vec<String> = Vec::new();
    let mut unread = 0_usize;
    let mut too_deep = false;
    let mut left_out = 0_usize;
    let walked = cx
        .sandbox()
        .survey(&args.directory, &options, &search, &mut |run| {
            unread += run.unread;
            too_deep |= run.too_deep;
            left_out += run.left_out;
            found.extend(run.paths);
            // One more than wanted tells that there are more.
            if found.len() > most {
                Flow::Stop
            } else {
                Flow::Continue
            }
        });
    if cx.cancel().is_cancelled() {
        return Err(cancelled());
    }
    walked.map_err(|error| path_error(&error))?;
    let truncated = found.len() > most;
    found.truncate(most);
    let mut content = found.join("\n");
    if found.is_empty() {
        content = nothing(args);
    } else if truncated && args.max_results.is_none_or(|asked| asked.get() > most) {
        content.push_str(&format!(
            "\n[only the first {most} by path; narrow the pattern or set max_results]"
        ));
    }
    if too_deep {
        content.push_str(TOO_DEEP);
    }
    if left_out > 0 {
        content.push_str(LEFT_OUT);
    }
    let noun = if found.len() == 1 { "file" } else { "files" };
    let first = if truncated {
        " (the first by path)"
    } else {
        ""
    };
    let output = Output::plain(content)
        .display(format!("Found {} {noun}{first}", found.len()))
        .with("matches", found.len())
        .with("truncated", truncated || too_deep)
        .with("unreadable_directories", unread);
    Ok(if left_out > 0 {
        output.with(LEFT_OUT_COUNT, left_out)
    } else {
        output
    })
}

/// What to say when nothing fits. It does not repeat the pattern: what was asked is no finding.
fn nothing(args: &Glob) -> String {
    let mut text = "No files found.".to_owned();
    if !args.pattern.contains('/') && !args.pattern.starts_with("**") {
        text.push_str(" The pattern has no directory in it and looks at this directory only; put `**/` in front to look in all directories.");
    }
    if !args.include_hidden || !args.include_ignored {
        text.push_str(
            " Hidden and ignored files are searched with include_hidden and include_ignored.",
        );
    }
    text
}
