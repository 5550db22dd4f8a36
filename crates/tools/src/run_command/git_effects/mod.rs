//! Whether git commands of a line would change what the command sandbox keeps as it is.
//!
//! Git reports a file that it may not write and goes on: it switches to a branch with half of its
//! files, and the next commit takes their absence for the user's wish. So before a line runs, each of
//! its git commands that writes files is looked at:
//!
//! ```text
//!  facts ──▶ GitCall ──┬─ made: what a new repository needs (`init`, `clone`, `worktree add`)
//!                      └─ names.sh in the sandbox: which files it would write ──▶ Reach::forbids
//! ```
//!
//! What cannot be found out to the end refuses the line too, except in a directory that is not there
//! before the line runs. This is for the user's sake: the sandbox
//! holds whatever this finds, and git in a script is not found.

mod made;

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolgate_model::{Access, ErrorKind, Facts, ToolError};
use toolgate_sandbox::command::{
    Barrier, Cause, CommandSandbox, CommandSpec, Deadlines, Outcome, Program, Reach, Remedy, Step,
    Stream,
};

use super::not_started;
use super::place::Place;

/// Prints what a git command would write.
const NAMES: &str = include_str!("names.sh");

/// The subcommands that it knows.
const KNOWN: [&str; 19] = [
    "am",
    "apply",
    "bisect",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stash",
    "switch",
    "worktree",
];

/// How long git may take to name the files, and how much of its answer is read.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 16 << 20;

/// How many names a message holds.
const MOST_NAMED: usize = 5;

/// A git command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitCall {
    /// The directory it runs in.
    directory: PathBuf,
    /// The subcommand and its arguments.
    words: Vec<String>,
}

/// What a git command would change although commands cannot.
#[derive(Debug, Default)]
struct Refused {
    names: Vec<String>,
    /// The paths to open.
    remedies: Vec<PathBuf>,
}

/// The git commands of a line that may write files.
pub(super) fn calls(facts: &Facts, place: &Place) -> Vec<GitCall> {
    let mut directory = place.absolute.clone();
    let mut calls = Vec::new();
    for run in &facts.runs {
        let Some((program, words)) = run.words.split_first() else {
            continue;
        };
        match (program.as_str(), words) {
            ("cd", [to]) => directory = lexical(&directory.join(to)),
            ("git" | "/usr/bin/git" | "/bin/git", words) => {
                calls.extend(GitCall::of(&directory, words));
            }
            _ => {}
        }
    }
    calls
}

impl GitCall {
    fn of(directory: &Path, words: &[String]) -> Option<Self> {
        let mut directory = directory.to_path_buf();
        let mut words = words.iter();
        let subcommand = loop {
            match words.next()?.as_str() {
                "-C" => directory = lexical(&directory.join(words.next()?)),
                "-c" => drop(words.next()?),
                word if word.starts_with("--git-dir") || word.starts_with("--work-tree") => {
                    return None;
                }
                word if word.starts_with('-') => {}
                word => break word,
            }
        };
        let is_known = KNOWN.contains(&subcommand) || made::MAKES.contains(&subcommand);
        is_known.then(|| Self {
            directory,
            words: std::iter::once(subcommand.to_owned())
                .chain(words.cloned())
                .collect(),
        })
    }

    /// Whether some of its words are known only when it runs.
    fn is_unknown(&self) -> bool {
        self.words
            .iter()
            .any(|word| word.contains(['$', '`', '*', '?']))
    }

    fn subcommand(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Refuses the command if it would change what commands cannot. It waits for another command, whose
    /// form is that of the one to run.
    pub(super) fn check(
        &self,
        sandbox: &CommandSandbox,
        reach: &Reach,
        spec: CommandSpec,
    ) -> Result<(), ToolError> {
        let made = made::by(self);
        let written = if KNOWN.contains(&self.subcommand()) {
            self.names(sandbox, spec)?
        } else {
            Vec::new()
        };
        let mut refused = Refused::default();
        for path in made.iter().chain(&written) {
            refused.judge(path, &self.directory, reach);
        }
        if let Some(tree) = made::tree(self) {
            refused.open_whole(&tree);
        }
        if let Some(bare) = made::bare(self) {
            refused.judge_bare(&bare, &self.directory, reach);
        }
        refused.into_error(&self.words)
    }

    /// The files that git would write, all of them.
    fn names(
        &self,
        sandbox: &CommandSandbox,
        mut spec: CommandSpec,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let shell = ["/bin/sh", "-c", NAMES, "git"];
        let argv = shell.into_iter().map(Into::into);
        let words = self.words.iter().map(Into::into);
        spec.program = Program::Exact(argv.chain(words).collect());
        spec.cwd.clone_from(&self.directory);
        let running = sandbox.run(spec).map_err(|error| not_started(&error))?;
        let deadlines = Deadlines {
            total: Some(PATIENCE),
            idle: None,
        };
        let mut answer = Vec::new();
        let mut is_whole = true;
        let finished = running.drive(deadlines, None, |stream, bytes| {
            if stream == Stream::Stdout {
                is_whole &= answer.len() + bytes.len() <= MOST_BYTES;
                if is_whole {
                    answer.extend_from_slice(bytes);
                }
            }
        });
        if matches!(&finished.outcome, Outcome::Setup(failure) if failure.step == Step::Cwd) {
            // The line makes the directory itself, or its name is known only then.
            return Ok(Vec::new());
        }
        if !is_whole || finished.cause != Cause::Itself || finished.outcome != Outcome::Exited(0) {
            return Err(self.unknown(&finished.outcome, finished.cause, is_whole));
        }
        let mut names = answer.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        // Outside of a repository git itself says so.
        let Some(top) = names.next().filter(|top| top.starts_with('/')) else {
            return Ok(Vec::new());
        };
        let top = Path::new(top.as_ref());
        // Counts of lines stand before the names in a patch.
        let name = |name: &str| name.rsplit('\t').next().unwrap_or_default().to_owned();
        let names = names.map(|text| name(&text));
        let mut names: Vec<PathBuf> = names
            .filter(|n| !n.is_empty())
            .map(|n| top.join(n))
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Why it is not known what git would write.
    fn unknown(&self, outcome: &Outcome, cause: Cause, is_whole: bool) -> ToolError {
        let line = self.words.join(" ");
        let why = match (is_whole, cause) {
            (false, _) => format!("their names take more than {} MiB", MOST_BYTES >> 20),
            (true, Cause::Itself) => format!("looking ended early ({outcome:?})"),
            (true, _) => format!("looking took more than {} s", PATIENCE.as_secs()),
        };
        ToolError::new(
            ErrorKind::LimitExceeded,
            format!(
                "nothing was run: it could not be found out which files `git {line}` would write, because {why}. Without that, git could leave out files that commands cannot change, and a later commit would take that for a change. Try it for fewer files, or ask the user to run it in a terminal."
            ),
        )
    }
}

impl Refused {
    fn judge(&mut self, path: &Path, directory: &Path, reach: &Reach) {
        let Some(denial) = reach.forbids(path, Access::Write) else {
            return;
        };
        // What is denied and not there yet is made, and hidden from then on.
        if matches!(denial.why, Barrier::Hidden { .. }) && !path.is_file() {
            return;
        }
        let name = path.strip_prefix(directory).unwrap_or(path);
        let name = name.to_string_lossy().into_owned();
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        if let Some(Remedy::Grant { path, .. }) = denial.remedy
            && !self.remedies.contains(&path)
        {
            self.remedies.push(path);
        }
    }

    /// Opens a new working tree as a whole: what else is protected in it is not known yet.
    fn open_whole(&mut self, tree: &Path) {
        for path in &mut self.remedies {
            if path.file_name() == Some(".git".as_ref())
                && let Some(above) = path.parent().filter(|above| tree.ends_with(above))
            {
                *path = above.to_path_buf();
            }
        }
    }

    /// A repository without a working tree is opened as a whole.
    fn judge_bare(&mut self, path: &Path, directory: &Path, reach: &Reach) {
        let mut inner = Self::default();
        inner.judge(&path.join(".git"), directory, reach);
        let above = |path: &Path| path.parent().unwrap_or(path).to_path_buf();
        let names = inner.names.iter().map(|name| above(Path::new(name)));
        self.names
            .extend(names.map(|name| name.to_string_lossy().into_owned()));
        self.remedies
            .extend(inner.remedies.iter().map(|path| above(path)));
    }

    fn into_error(self, words: &[String]) -> Result<(), ToolError> {
        if self.names.is_empty() {
            return Ok(());
        }
        let shown: Vec<&str> = self
            .names
            .iter()
            .take(MOST_NAMED)
            .map(String::as_str)
            .collect();
        let more = self.names.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let line = words.join(" ");
        let mut told = format!(
            "nothing was run: `git {line}` would change {}{more}, which commands cannot. Git would leave them out, and a later commit would take that for a change.",
            shown.join(", ")
        );
        if !self.remedies.is_empty() {
            let remedy = Remedy::opening(&self.remedies);
            told.push_str(&format!(
                " The user can run it in a terminal, or open them to commands: {remedy} under [tools.sandbox] in the user's configuration."
            ));
        }
        Err(ToolError::new(ErrorKind::ProtectedPath, told))
    }
}

/// A path without `.` and `..`, by its words.
fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(out.pop()),
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use toolgate_model::Run;

    use super::*;

    fn of(lines: &[&str]) -> Vec<GitCall> {
        let mut facts = Facts::none();
        facts.runs = lines
            .iter()
            .map(|line| Run {
                words: line.split(' ').map(str::to_owned).collect(),
                opaque: false,
            })
            .collect();
        let place = Place::of(None, &["/ws".into()]).unwrap();
        calls(&facts, &place)
    }

    #[test]
    fn a_call_has_its_directory_and_its_words() {
        let found = of(&[
            "cd sub",
            "git -c x.y=z -C ../other --no-pager switch next",
            "git status",
            "make",
            "git commit -m x",
            "git reset --hard",
            "git --git-dir=x checkout y",
        ]);
        let shown: Vec<String> = found
            .iter()
            .map(|call| format!("{} {}", call.directory.display(), call.words.join(" ")))
            .collect();
        assert_eq!(shown, ["/ws/other switch next", "/ws/sub reset --hard"]);
    }

    #[test]
    fn a_new_repository_is_made_where_the_words_say() {
        for (line, made) in [
            ("git init", "/ws/.git"),
            ("git init -b main sub/deep", "/ws/sub/deep/.git"),
            ("git clone ../x/lib.git", "/ws/lib/.git"),
            (
                "git clone --depth 1 -b next file:///x/lib/ here",
                "/ws/here/.git",
            ),
            ("git clone host:lib.git", "/ws/lib/.git"),
            ("git worktree add -b next ../tree main", "/tree/.git"),
            ("git worktree add tree", "/ws/.git/worktrees/tree/gitdir"),
            ("git worktree remove tree", "/ws/tree/.git"),
            ("git submodule add ../x lib", "/ws/.gitmodules"),
        ] {
            let call = of(&[line]).remove(0);
            let found = made::by(&call);
            assert!(found.contains(&PathBuf::from(made)), "{line}: {found:?}");
        }
        assert_eq!(
            made::bare(&of(&["git init --bare store.git"])[0]),
            Some("/ws/store.git".into())
        );
        for line in [
            "git worktree list",
            "git submodule status",
            "git clone",
            "git init $d",
        ] {
            let calls = of(&[line]);
            assert!(calls.iter().all(|call| made::by(call).is_empty()), "{line}");
        }
    }
}
