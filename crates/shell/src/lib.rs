//! A shell line becomes commands, words, redirections and facts.
//!
//! ```text
//! line ──▶ parse ──▶ tree ──▶ walk ───────────────▶ findings ──▶ Analysis
//!                              │  expand: words       │
//!                              │  programs: effects   ├ facts (reads, writes, runs, …)
//!                              └─ cd, variables,      ├ commands
//!                                 functions, pipes    └ why it is opaque
//! ```
//!
//! In comes a line and the place it would run in; out comes an [`Analysis`].
//! Nothing is run, read or contacted. What can go wrong is not an error here:
//! what cannot be read, or is only known at run time, makes the facts
//! incomplete, and what must never run is named in `facts.catastrophic`. The
//! order of doubt is always the same: *catastrophic* before *incomplete*
//! before *known*, and no limit ever turns one into something weaker.
//!
//! ```
//! use toolgate_shell::{LineContext, analyse};
//!
//! let context = LineContext { cwd: "", home: Some("/home/ann"), roots: &["/home/ann/work"] };
//! let analysis = analyse("cd src && sort -o all.txt names.txt", &context);
//! assert_eq!(analysis.facts.reads, ["src/names.txt"]);
//! assert_eq!(analysis.facts.writes, ["src/all.txt"]);
//! assert!(analysis.facts.complete);
//!
//! let analysis = analyse("sudo env -i rm -r --forc ~", &context);
//! assert!(!analysis.facts.catastrophic.is_empty());
//! ```
#![forbid(unsafe_code)]

mod characters;
mod container;
mod expand;
mod findings;
mod grant;
mod observe;
mod parse;
mod place;
mod process;
mod programs;
mod reasons;
mod secrets;
mod syntax;
mod unknown_places;
mod variables;
mod walk;

use toolgate_model::Facts;

pub use grant::{leading_words, plain_leading_words};
pub use observe::only_reads;
pub use reasons::Opacity;

/// Where a line would run.
#[derive(Clone, Copy, Debug)]
pub struct LineContext<'c> {
    /// The working directory, relative to the first root; empty for the root itself.
    pub cwd: &'c str,
    /// What `~` and `$HOME` mean, if that is known.
    pub home: Option<&'c str>,
    /// The workspace's roots as absolute paths; the first is the one `cwd` lies in.
    pub roots: &'c [&'c str],
}

/// What a line would do.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Analysis {
    /// What it touches, as far as that is known. Always `claimed`: a command's facts are its word.
    pub facts: Facts,
    /// Every command that was found, in the order in which they were met.
    pub commands: Vec<Command>,
    /// Why the facts are not complete; empty if they are.
    pub opaque: Vec<Opacity>,
}

/// One command of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The words, the program first, after wrappers are taken off.
    pub words: Vec<String>,
    /// Variables set for this command alone, with their values as far as they are known.
    pub assignments: Vec<(String, Option<String>)>,
    /// Files and descriptors it is connected to.
    pub redirections: Vec<Redirection>,
    /// The wrappers that were taken off, outermost first.
    pub wrappers: Vec<String>,
    /// Why something about it is only known when it runs.
    pub opaque: Option<Opacity>,
}

impl Command {
    /// The program as the line names it.
    pub fn program(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }
}

/// One redirection of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirection {
    /// How the target is opened.
    pub mode: RedirectionMode,
    /// The target as far as it is known, or as it is written.
    pub target: String,
}

/// How a redirection opens its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionMode {
    /// The target is read.
    Read,
    /// The target is written or appended to.
    Write,
    /// The target is both.
    ReadWrite,
    /// A descriptor is copied or closed.
    Duplicate,
    /// The text stands in the line itself.
    Inline,
}

/// Letters in the names of a line's programs that look like others, with their code points
/// (`ɡ (U+0261)`); nothing if there are none.
pub fn lookalikes(line: &str) -> Option<String> {
    if line.is_ascii() && !line.contains('\\') {
        return None;
    }
    let context = LineContext {
        cwd: "",
        home: None,
        roots: &[],
    };
    let words = analyse(line, &context).opaque.into_iter();
    let names: String = words
        .filter_map(|reason| match reason {
            Opacity::Lookalike { word } => Some(word),
            _ => None,
        })
        .collect();
    toolgate_model::characters::code_points(&names)
}

/// States what a line would do, without doing any of it.
pub fn analyse(line: &str, context: &LineContext<'_>) -> Analysis {
    walk::walk_line(line, context)
}
