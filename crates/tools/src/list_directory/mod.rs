//! `list_directory`: what is in a directory, as JSON or as a tree.
//!
//! ```text
//!  path, bounds ──▶ sandbox.walk (sorted, ignore files, nothing denied) ──▶ entries ──▶ JSON within the limit | tree
//! ```
//!
//! Links are listed and never followed. An entry that cannot be looked at is
//! listed with its error; only a directory that cannot be opened fails the call.

mod listing;

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{Output, RunCtx, Spelling, TypedTool, path_error, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};
use toolgate_sandbox::paths::{FileKind, Flow, PathError, Visit, WalkOptions};

use crate::blocking::{blocking, cancelled};
use crate::place::{LEFT_OUT_COUNT, fact_path, is_hidden, working_directory};
use crate::settings::ListSettings;
use listing::{Entry, Listing};

const DESCRIPTION: &str = "Lists a directory of the working directory: names, kinds, sizes and times, \
    sorted by path. With recursive = true also what is in its directories. Files that ignore files \
    exclude are left out unless include_ignored is true. Links are listed and not followed.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDirectory {
    /// The directory, relative to the working directory; `.` is the working directory itself.
    #[serde(default = "working_directory")]
    #[schemars(length(min = 1))]
    path: String,
    /// Whether directories in it are listed too.
    #[serde(default)]
    recursive: Option<bool>,
    /// How deep: 1 is the directory's own entries.
    #[serde(default)]
    max_depth: Option<NonZeroUsize>,
    /// The most entries to return.
    #[serde(default)]
    max_entries: Option<NonZeroUsize>,
    /// Whether names that start with a dot are listed.
    #[serde(default)]
    include_hidden: bool,
    /// Whether files are listed.
    #[serde(default = "yes")]
    include_files: bool,
    /// Whether directories are listed.
    #[serde(default = "yes")]
    include_dirs: bool,
    /// Whether symbolic links are listed.
    #[serde(default = "yes")]
    include_symlinks: bool,
    /// Whether pipes, devices and sockets are listed.
    #[serde(default)]
    include_other: bool,
    /// Whether what ignore files exclude is listed.
    #[serde(default)]
    include_ignored: bool,
    /// `json` for an object with all details, `tree` for indented names.
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Json,
    Tree,
}

const fn yes() -> bool {
    true
}

impl ListDirectory {
    fn check(&self, caps: ListSettings) -> Result<(), ToolError> {
        for (name, value, cap) in [
            ("max_entries", self.max_entries, caps.max_entries),
            ("max_depth", self.max_depth, caps.max_depth),
        ] {
            if let Some(value) = value
                && value.get() > cap
            {
                return Err(ToolError::bad_args(format!(
                    "{name} can be at most {cap}, got {value}; list a directory further down instead"
                )));
            }
        }
        let anything =
            self.include_files || self.include_dirs || self.include_symlinks || self.include_other;
        if anything {
            Ok(())
        } else {
            Err(ToolError::bad_args(
                "nothing is included: set one of include_files, include_dirs, include_symlinks, include_other to true",
            ))
        }
    }

    /// A depth alone means that it is to be recursive; `recursive = false` means that it is not.
    fn depth(&self, caps: ListSettings) -> usize {
        match (self.recursive, self.max_depth) {
            (Some(false), _) | (None, None) => 1,
            (_, Some(depth)) => depth.get(),
            (Some(true), None) => caps.max_depth,
        }
    }

    fn includes(&self, kind: FileKind) -> bool {
        match kind {
            FileKind::File => self.include_files,
            FileKind::Directory => self.include_dirs,
            FileKind::Link => self.include_symlinks,
            FileKind::Other => self.include_other,
            // What it is nobody knows, and leaving it out would hide an error.
            FileKind::Unknown => true,
        }
    }
}

/// The tool.
pub(crate) fn tool(caps: ListSettings) -> TypedTool<ListDirectory> {
    typed(
        "list_directory",
        DESCRIPTION,
        move |args: ListDirectory, cx| blocking(move || list(&args, &cx, caps)),
    )
    .check(move |args| args.check(caps))
    .summary(move |args| match args.depth(caps) {
        1 => format!("List {}", args.path),
        depth => format!("List {} depth {depth}", args.path),
    })
    .facts(|args| Facts::reading(fact_path(&args.path)))
    .paths(["path"])
    .category(Category::File)
    .risk(Risk::Low)
    // What a model that knows `ls` from elsewhere writes.
    .spellings(
        [
            ("maxDepth", "max_depth"),
            ("includeHidden", "include_hidden"),
        ]
        .map(|(other, canonical)| Spelling::same(other, canonical).not_offered()),
    )
}

fn list(args: &ListDirectory, cx: &RunCtx, caps: ListSettings) -> Result<Output, ToolError> {
    let most = args.max_entries.map_or(caps.max_entries, NonZeroUsize::get);
    let options = WalkOptions {
        max_depth: Some(args.depth(caps)),
        hidden: args.include_hidden,
        ignored: args.include_ignored,
        global_excludes: None,
    };
    let mut listing = Listing::new(fact_path(&args.path), most);
    let hidden = cx.hidden();
    let mut left_out = 0_usize;
    let walked = cx.sandbox().walk(&args.path, &options, &mut |visit| {
        if cx.cancel().is_cancelled() {
            return Flow::Stop;
        }
        match visit {
            Visit::Entry(entry) => {
                if is_hidden(hidden.as_ref(), entry.path) {
                    left_out += 1;
                    return Flow::SkipDirectory;
                }
                if args.includes(entry.kind) && !listing.add(Entry::of(entry)) {
                    return Flow::Stop;
                }
                // What git keeps for itself is listed by name, like anything hidden.
                if entry.name == ".git" && !args.include_ignored {
                    return Flow::SkipDirectory;
                }
                Flow::Continue
            }
            Visit::Failed { path, depth, error } => {
                listing.failed(path, depth, &error);
                Flow::Continue
            }
        }
    });
    if cx.cancel().is_cancelled() {
        return Err(cancelled());
    }
    walked.map_err(|error| match &error {
        PathError::NotADirectory { path, part } if path == part => ToolError::new(
            ErrorKind::NotADirectory,
            format!("{error} Read it with read_file, or list the directory it is in."),
        ),
        _ => path_error(&error),
    })?;
    let path = listing.path.clone();
    let output = match args.format {
        Format::Json => Output::self_bounded(listing.json(cx.limits().effective())),
        Format::Tree => Output::plain(listing.tree()),
    };
    let returned = listing.entries.len();
    let more = if listing.truncated { " and more" } else { "" };
    let noun = if returned == 1 { "entry" } else { "entries" };
    let output = output
        .display(format!("Listed {path} ({returned} {noun}{more})"))
        .with("path", path)
        .with("returned", returned)
        .with("truncated", listing.truncated);
    Ok(if left_out > 0 {
        output.with(LEFT_OUT_COUNT, left_out)
    } else {
        output
    })
}
