//! `grep`: lines that fit a pattern.
//!
//! ```text
//!  pattern ──▶ matcher (linear time, bounded)              ┌─▶ small: whole in memory, secrets of the whole file
//!  directory ──▶ sandbox.survey (all cores, nothing denied) ──▶ file ┤
//!                                                          └─▶ large: streamed, line by line
//!                              answer, sorted by path ◀── `path:line: text` ◀──┘
//! ```
//!
//! Files that are denied never appear, binary ones are passed over, long lines are
//! cut around what fits. What can go wrong: the pattern makes no sense, or there is
//! nothing to search. A file that cannot be read is counted and not an error.

mod file;
mod hits;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toolgate_gate::tool::{Output, RunCtx, Spelling, TypedTool, path_error, typed};
use toolgate_model::{Category, Facts, Risk, ToolError};
use toolgate_sandbox::paths::{Flow, PathError, Surveyor, WalkOptions};

use crate::blocking::{blocking, cancelled};
use crate::pattern::FilePattern;
use crate::place::{LEFT_OUT, LEFT_OUT_COUNT, TOO_DEEP, fact_path, unsearched, working_directory};
use crate::settings::SearchSettings;
use file::{Counts, Run, Search};

const DESCRIPTION: &str = "Searches the contents of files for a regular expression, or for literal \
    text with literal = true, and returns `path:line: text` for every line that fits, sorted by \
    path. Case is ignored unless case_sensitive is true. Binary files, hidden files and what \
    ignore files exclude are passed over.";

/// How much a compiled pattern may take.
const PATTERN_BYTES: usize = 10 * 1024 * 1024;
/// How many lines around a hit can be asked for.
const MOST_CONTEXT: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grep {
    /// A regular expression in the syntax of Rust and ripgrep, or literal text with literal = true.
    #[schemars(length(min = 1, max = 10_000))]
    pattern: String,
    /// The directory or file to search, relative to the working directory.
    #[serde(default = "working_directory")]
    #[schemars(length(min = 1))]
    directory: String,
    /// Search only files that fit this pattern: by name such as `*.rs`, or by path such as `src/**/*.rs`.
    #[serde(default)]
    file_pattern: Option<String>,
    /// Pass over files and directories that fit this pattern.
    #[serde(default)]
    exclude: Option<String>,
    /// Whether upper and lower case differ.
    #[serde(default)]
    case_sensitive: bool,
    /// Whether the pattern is plain text instead of a regular expression.
    #[serde(default)]
    literal: bool,
    /// How many lines to show before and after each hit.
    #[serde(default)]
    #[schemars(range(max = 50))]
    context: Option<usize>,
    /// How many lines to show before each hit, in place of context.
    #[serde(default)]
    #[schemars(range(max = 50))]
    before: Option<usize>,
    /// How many lines to show after each hit, in place of context.
    #[serde(default)]
    #[schemars(range(max = 50))]
    after: Option<usize>,
    /// What is returned: `lines` with their places, the paths of `files` with hits, or `counts` of hits by file.
    #[serde(default)]
    output: Shows,
    /// Whether a hit may span several lines.
    #[serde(default)]
    multiline: bool,
    /// The most hits to return: the first ones by path and line. With `files` and `counts`: the most files.
    #[serde(default)]
    max_results: Option<NonZeroUsize>,
    /// Whether files and directories whose names start with a dot are searched.
    #[serde(default)]
    include_hidden: bool,
    /// Whether what ignore files exclude is searched.
    #[serde(default)]
    include_ignored: bool,
}

/// What an answer is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shows {
    /// Lines that fit.
    #[default]
    Lines,
    /// Files with such lines.
    Files,
    /// Files, each with how many hits it has.
    Counts,
}

impl Grep {
    /// How many lines are shown before and after a hit.
    fn context(&self) -> (usize, usize) {
        let around = |own: Option<usize>| own.or(self.context).unwrap_or(0).min(MOST_CONTEXT);
        match self.output {
            Shows::Lines => (around(self.before), around(self.after)),
            Shows::Files | Shows::Counts => (0, 0),
        }
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(!self.case_sensitive)
            .fixed_strings(self.literal)
            .multi_line(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .nest_limit(100);
        // `$` fits in front of either line end; a hit leaves its line only if that is wanted.
        builder.crlf(true);
        if self.multiline {
            builder.line_terminator(None);
        }
        builder.build(&self.pattern).map_err(|error| {
            let hint = if !self.multiline && self.pattern.contains("\\n") {
                "set multiline to true to look for hits that span lines"
            } else if self.literal {
                "a line break in literal text needs multiline = true"
            } else {
                "escape special characters with a backslash, or set literal to true"
            };
            ToolError::bad_args(format!("pattern: {error}; {hint}"))
        })
    }

    fn filters(&self) -> Result<Filters, ToolError> {
        let compile = |name, pattern: &Option<String>| {
            let pattern = pattern.as_deref();
            pattern.map(|text| FilePattern::new(name, text)).transpose()
        };
        Ok(Filters {
            wanted: compile("file_pattern", &self.file_pattern)?,
            unwanted: compile("exclude", &self.exclude)?,
        })
    }

    fn check(&self) -> Result<(), ToolError> {
        self.matcher()?;
        self.filters().map(drop)
    }
}

/// Which files are searched.
struct Filters {
    wanted: Option<FilePattern>,
    unwanted: Option<FilePattern>,
}

impl Filters {
    /// Whether a file with this path beneath the searched directory is searched.
    fn pick(&self, path: &Path) -> bool {
        !self.unwanted.as_ref().is_some_and(|f| f.fits(path))
            && self.wanted.as_ref().is_none_or(|f| f.fits(path))
    }
}

/// The tool.
pub(crate) fn tool(settings: &SearchSettings) -> TypedTool<Grep> {
    let settings = settings.clone();
    typed("grep", DESCRIPTION, move |args: Grep, cx| {
        let settings = settings.clone();
        blocking(move || grep(&args, &cx, &settings))
    })
    .check(Grep::check)
    .summary(|args| format!("Search for {:?} in {}", args.pattern, args.directory))
    .facts(|args| Facts::reading(fact_path(&args.directory)))
    .paths(["directory"])
    .category(Category::File)
    .risk(Risk::Low)
    .spellings(
        [
            ("path", "directory"),
            ("filePattern", "file_pattern"),
            ("include", "file_pattern"),
            ("caseSensitive", "case_sensitive"),
            ("maxResults", "max_results"),
        ]
        .map(|(other, canonical)| Spelling::same(other, canonical))
        .into_iter()
        .chain([Spelling {
            other: "type".into(),
            canonical: "literal".into(),
            convert: Some(literal),
            offered: true,
        }]),
    )
}

fn literal(kind: Value) -> Result<Value, String> {
    match kind.as_str() {
        Some("literal") => Ok(true.into()),
        Some("regex") => Ok(false.into()),
        _ => Err(format!("expected \"regex\" or \"literal\", got {kind}")),
    }
}

fn grep(args: &Grep, cx: &RunCtx, settings: &SearchSettings) -> Result<Output, ToolError> {
    let most = settings.most(args.max_results);
    let search = Search {
        cx,
        matcher: args.matcher()?,
        filters: args.filters()?,
        multiline: args.multiline,
        context: args.context(),
        shows: args.output,
        most,
        hidden: cx.hidden(),
        certain: AtomicUsize::new(0),
    };
    let options = WalkOptions {
        max_depth: None,
        hidden: args.include_hidden,
        ignored: args.include_ignored,
        global_excludes: Some(settings.excludes.clone()),
    };
    let mut answer = Answer::default();
    let walked = cx
        .sandbox()
        .survey(&args.directory, &options, &search, &mut |run| {
            answer.take(&search, run)
        });
    match walked {
        Ok(()) => {}
        // The path of a file is as good as a directory's.
        Err(PathError::NotADirectory { .. }) => {
            let opened = cx.sandbox().open_read(&args.directory);
            let handle = opened.map_err(|error| path_error(&error))?;
            let mut run = Run::default();
            let name = fact_path(&args.directory);
            search.file(&mut search.state(), Path::new(&name), handle, &mut run);
            answer.take(&search, run);
        }
        Err(error) => return Err(path_error(&error)),
    }
    if cx.cancel().is_cancelled() {
        return Err(cancelled());
    }
    Ok(answer.report(args, most))
}

/// What is found, in the order of paths.
#[derive(Default)]
struct Answer {
    /// Lines, each with its line end.
    text: String,
    counts: Counts,
    hits: usize,
    files_with_hits: usize,
    /// There were more hits than wanted.
    more: bool,
}

impl Answer {
    /// Takes what comes next by path, as far as there is room.
    fn take(&mut self, search: &Search<'_>, run: Run) -> Flow {
        for (mut found, counts) in run.found {
            found.cut(search.most.saturating_sub(self.hits));
            if found.hits > 0 {
                if search.context != (0, 0) && !self.text.is_empty() {
                    self.text.push_str("--\n");
                }
                self.text.push_str(found.text());
                self.hits += found.hits;
                self.files_with_hits += 1;
            }
            if found.more {
                self.more = true;
                self.counts.add(counts);
                return Flow::Stop;
            }
        }
        self.counts.add(run.counts);
        search.certain.store(self.hits, Ordering::Relaxed);
        Flow::Continue
    }

    fn report(mut self, args: &Grep, most: usize) -> Output {
        let files = self.counts.files;
        if self.hits == 0 {
            self.text = nothing(args, files);
        } else if self.more && args.max_results.is_none_or(|asked| asked.get() > most) {
            self.text.push_str(&format!(
                "[only the first {most} {}; narrow the pattern or the directory, or set max_results]",
                match args.output {
                    Shows::Lines => "hits",
                    Shows::Files | Shows::Counts => "files",
                }
            ));
        } else {
            // The last line needs no end.
            self.text.pop();
        }
        if self.counts.too_deep {
            self.text.push_str(TOO_DEEP);
        }
        if self.counts.unreadable > 0 {
            self.text.push_str(&unsearched(self.counts.unreadable));
        }
        let left_out = self.counts.left_out;
        if left_out > 0 {
            self.text.push_str(LEFT_OUT);
        }
        let noun = if self.hits == 1 { "match" } else { "matches" };
        let first = if self.more { " (the first)" } else { "" };
        let matches = match args.output {
            Shows::Lines => format!("{} {noun} in ", self.hits),
            Shows::Files | Shows::Counts => "matches in ".to_owned(),
        };
        let output = Output::plain(self.text).display(format!(
            "Found {matches}{} of {files} files{first}",
            self.files_with_hits
        ));
        let output = match args.output {
            Shows::Lines => output.with("matches", self.hits),
            Shows::Files | Shows::Counts => output,
        };
        let output = output
            .with("files_with_matches", self.files_with_hits)
            .with("files_searched", files)
            .with("binary_files", self.counts.binary)
            .with("unreadable", self.counts.unreadable)
            .with("truncated", self.more || self.counts.too_deep);
        if left_out > 0 {
            output.with(LEFT_OUT_COUNT, left_out)
        } else {
            output
        }
    }
}

/// What to say when nothing fits. It does not repeat the pattern: what was asked is no finding.
fn nothing(args: &Grep, files: usize) -> String {
    let mut text = format!("No matches found in {files} files.");
    if !args.include_hidden || !args.include_ignored {
        text.push_str(
            " Hidden and ignored files are searched with include_hidden and include_ignored.",
        );
    }
    text
}
