//! How a command ended, in words and kinds.

use std::path::Path;
use std::time::Duration;

use toolgate_model::characters::seen;
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::command::{
    Appeared, Cause, Finished, Hidden, Outcome, Settled, SetupError, Step,
};

/// The end of a command as a result tells it.
#[derive(Debug)]
pub(super) struct Ending {
    /// The error, if there is one.
    pub(super) error: Option<ToolError>,
    /// The note below the output, for the model.
    pub(super) last_word: String,
    /// The exit code, where there is one.
    pub(super) exit_code: Option<i32>,
    /// The signal, where one ended it.
    pub(super) signal: Option<i32>,
    /// Protected names that appeared and are still there.
    pub(super) still_there: Vec<String>,
}

/// When a command in the foreground would have been ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) total: Option<Duration>,
    pub(super) idle: Option<Duration>,
}

impl Ending {
    /// `flood` is how much it wrote, where that was too much.
    pub(super) fn of(finished: &Finished, limits: Limits, flood: Option<u64>) -> Self {
        let mut ending = match finished.cause {
            Cause::Cancelled if flood.is_some() => Self::stopped(
                ErrorKind::LimitExceeded,
                format!(
                    "wrote {} bytes, many times what is kept of an output,",
                    flood.unwrap_or_default()
                ),
            ),
            Cause::Timeout => Self::stopped(
                ErrorKind::Timeout,
                format!("timed out after {}", shown(limits.total)),
            ),
            Cause::IdleTimeout => Self::stopped(
                ErrorKind::IdleTimeout,
                format!("wrote nothing for {}", shown(limits.idle)),
            ),
            Cause::Cancelled => Self::stopped(ErrorKind::Cancelled, "was cancelled".to_owned()),
            Cause::Itself => Self::by_itself(&finished.outcome),
        };
        ending.last_word.push_str(&said_of(&finished.settled));
        if ending.error.is_none() {
            ending.error = incomplete(&finished.settled);
        }
        let appeared = finished.settled.appeared.iter();
        let stays = appeared.filter(|one| Weight::of(one) == Weight::Stays);
        let stays = stays.take(MOST_NAMED).map(|one| named(&one.path));
        ending.still_there = stays.collect();
        ending
    }

    /// The end of a command that nobody saw to its end.
    pub(super) fn lost() -> Self {
        Self::by_itself(&Outcome::Killed)
    }

    /// Adds what possibly caused the failure.
    pub(super) fn add(&mut self, hints: &[String]) {
        for hint in hints {
            let line = format!("[possibly the command sandbox: {hint}]\n");
            self.last_word.push_str(&line);
        }
    }

    fn stopped(kind: ErrorKind, what: String) -> Self {
        let message = format!(
            "the command {what}; it and everything it started was ended, what it had written is in the output"
        );
        Self {
            error: Some(ToolError::new(kind, message)),
            last_word: format!("[the command {what} and was ended]\n"),
            exit_code: None,
            signal: None,
            still_there: Vec::new(),
        }
    }

    fn by_itself(outcome: &Outcome) -> Self {
        let mut ending = Self {
            error: None,
            last_word: String::new(),
            exit_code: None,
            signal: None,
            still_there: Vec::new(),
        };
        let (kind, message) = match outcome {
            Outcome::Exited(0) => {
                ending.exit_code = Some(0);
                return ending;
            }
            Outcome::Exited(code) => {
                ending.exit_code = Some(*code);
                (ErrorKind::ExitStatus, format!("exit code {code}"))
            }
            Outcome::Signaled(signal) => {
                ending.signal = Some(*signal);
                let name = signal_name(*signal);
                (
                    ErrorKind::ExitStatus,
                    format!("ended by signal {signal}{name}"),
                )
            }
            Outcome::Setup(failure) => setup(failure),
            Outcome::Killed => (
                ErrorKind::Interrupted,
                "the command was ended from outside before it was done".to_owned(),
            ),
        };
        ending.last_word = format!("[{message}]\n");
        ending.error = Some(ToolError::new(kind, message));
        ending
    }
}

/// The error of a command that ended well, and not all that it made is where it made it.
fn incomplete(settled: &Settled) -> Option<ToolError> {
    let own = settled.appeared.iter().filter(|one| !one.earlier);
    let names: Vec<String> = own
        .filter(|one| Weight::of(one) != Weight::Unseen)
        .take(MOST_SHOWN)
        .map(|one| named(&one.path))
        .collect();
    (!names.is_empty()).then(|| {
        ToolError::new(
            ErrorKind::ProtectedPath,
            format!(
                "the command ended with exit code 0 and made protected names, which do not stay: {}. The note in the output says where they are",
                names.join(", ")
            ),
        )
    })
}

/// How many names an error holds.
const MOST_SHOWN: usize = 5;

fn setup(failure: &SetupError) -> (ErrorKind, String) {
    match failure.step {
        Step::Cwd => (
            match std::io::Error::from_raw_os_error(failure.errno).kind() {
                std::io::ErrorKind::NotADirectory => ErrorKind::NotADirectory,
                _ => ErrorKind::NotFound,
            },
            format!("cwd cannot be entered, nothing was run: {failure}"),
        ),
        Step::Busy => (
            ErrorKind::Quota,
            format!(
                "nothing was run: the command sandbox is busy ({}). Wait for a command to end, then try again",
                failure.about
            ),
        ),
        Step::Exec => (ErrorKind::Failed, format!("nothing was run: {failure}")),
        _ => (
            ErrorKind::SandboxUnavailable,
            format!(
                "nothing was run: {failure}. `toolgate doctor` shows each layer of the sandbox"
            ),
        ),
    }
}

/// How many names of a kind are listed one by one, unless they are still there.
const MOST_LISTED: usize = 20;

/// How many names that are still there the metadata lists.
const MOST_NAMED: usize = 1_000;

/// The hidden directories, the guarded names that appeared, and those that could not be
/// checked: a line each.
///
/// The lines that a user has to act on come last and are all there: an output that is too long
/// loses its middle, and a command can add as many of the others as it likes.
fn said_of(settled: &Settled) -> String {
    let hidden = settled.hidden.iter().map(said_of_hidden).collect();
    let missed = settled.missed.iter().map(|missed| {
        format!(
            "[the check for protected names after the command was not complete: {missed}. Look at what the command made before you use it]\n"
        )
    });
    let of = |weight| {
        let all = settled.appeared.iter();
        let all = all.filter(move |appeared| Weight::of(appeared) == weight);
        all.map(said_of_one).collect::<Vec<String>>()
    };
    let mut lines = bounded(hidden);
    lines.extend(bounded(of(Weight::Unseen)));
    lines.extend(bounded(of(Weight::Moved)));
    lines.extend(missed);
    let stays = of(Weight::Stays);
    let count = stays.len();
    lines.extend(stays);
    if count > 1 {
        lines.push(format!(
            "[{count} protected names are still there, see above: remove them before you use the directory]\n"
        ));
    }
    lines.concat()
}

/// The note on a name that appeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It is denied to tools and later commands.
    Unseen,
    /// It was moved aside.
    Moved,
    /// It may be executed.
    Stays,
}

impl Weight {
    fn of(appeared: &Appeared) -> Self {
        match (&appeared.moved_to, appeared.error) {
            (None, Some(_)) => Self::Stays,
            (Some(_), _) => Self::Moved,
            (None, None) => Self::Unseen,
        }
    }
}

/// The first lines, and how many there are beyond.
fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        lines.truncate(MOST_LISTED);
        lines.push(format!("[and {more} more of this kind]\n"));
    }
    lines
}

/// A path in a note: a name in it cannot end the note or act on a terminal.
fn named(path: &Path) -> String {
    path.display().to_string().chars().flat_map(seen).collect()
}

fn said_of_hidden(hidden: &Hidden) -> String {
    match hidden {
        Hidden::Unsearchable { path } => format!(
            "[{} was hidden from the command: it cannot be listed or entered, so secrets in it cannot be found. `chmod u+rx` on it shows it to the next command]\n",
            named(path)
        ),
        Hidden::TooManyDenied { path, names } => format!(
            "[{} was hidden from the command: it holds {names} denied names, more than can be hidden one by one]\n",
            named(path)
        ),
    }
}

fn said_of_one(appeared: &Appeared) -> String {
    let Appeared { path, rule, .. } = appeared;
    let path = named(path);
    let who = if appeared.earlier {
        "a command of an interrupted run"
    } else {
        "the command"
    };
    match (&appeared.moved_to, appeared.error) {
        (Some(to), _) if appeared.unsearched => format!(
            "[{path} ({rule}): what {who} made there was moved to {}. Look at it before you use it]\n",
            named(to)
        ),
        (None, Some(error)) if appeared.unsearched => format!(
            "[{path} ({rule}): what {who} made there is still there, because it could not be moved ({error}). Remove it before you use it or a link to it: something in it may be executed]\n"
        ),
        (Some(to), _) => {
            let link = if appeared.link_restored {
                "; the link that stood there was made again"
            } else {
                ""
            };
            let remedy = appeared.remedy.as_ref().map_or_else(String::new, |remedy| {
                format!(". The user can open it to commands: {remedy} under [tools.sandbox] in the user's configuration")
            });
            format!(
                "[{path} is a protected name ({rule}): what {who} made there was moved to {}{link}{remedy}]\n",
                named(to)
            )
        }
        (None, Some(error)) => format!(
            "[{path} is a protected name ({rule}): what {who} made there is still there, because it could not be moved ({error}). Remove it before you use it: it may be executed]\n"
        ),
        (None, None) => format!(
            "[{path} is a denied name ({rule}): tools and later commands do not see what {who} made there]\n"
        ),
    }
}

fn shown(limit: Option<Duration>) -> String {
    match limit {
        Some(limit) if limit.subsec_nanos() == 0 => format!("{} s", limit.as_secs()),
        Some(limit) => format!("{} ms", limit.as_millis()),
        None => "its time".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let known = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (6, "ABRT"),
        (7, "BUS"),
        (8, "FPE"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
        (24, "XCPU"),
        (25, "XFSZ"),
        (31, "SYS"),
    ];
    let found = known.iter().find(|(number, _)| *number == signal);
    found.map_or_else(String::new, |(_, name)| format!(" (SIG{name})"))
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use toolgate_sandbox::command::Missed;

    use super::*;

    fn appeared(path: &str, moved: bool, error: Option<Errno>) -> Appeared {
        Appeared {
            path: path.into(),
            rule: "a rule".to_owned(),
            moved_to: moved.then(|| "aside".into()),
            error,
            link_restored: false,
            earlier: false,
            remedy: None,
            unsearched: false,
        }
    }

    #[test]
    fn what_is_still_there_is_never_pushed_out() {
        let denied = || (0..60).map(|n| appeared(&format!("z{n}.pem"), false, None));
        let moved = || (0..60).map(|n| appeared(&format!("m{n}"), true, None));
        let stays = || (0..45).map(|n| appeared(&format!("stays{n}"), false, Some(Errno::BUSY)));
        let orders: [Vec<Appeared>; 4] = [
            denied().chain(moved()).chain(stays()).collect(),
            stays().chain(denied()).chain(moved()).collect(),
            moved().chain(stays()).chain(denied()).collect(),
            moved().chain(stays()).collect(),
        ];
        for appeared in orders {
            let settled = Settled {
                appeared,
                missed: Some(Missed::Ending),
                ..Settled::default()
            };
            let said = said_of(&settled);
            for n in 0..45 {
                assert!(said.contains(&format!("[stays{n} ")), "{n}: {said}");
            }
            // In an output that is cut the end stays.
            let last: Vec<&str> = said.lines().rev().take(46).collect();
            assert!(
                last.first().is_some_and(|line| line.starts_with("[45 ")),
                "{said}"
            );
            assert!(
                last.iter().skip(1).all(|line| line.starts_with("[stays")),
                "{said}"
            );
            assert!(said.contains("was not complete"), "{said}");
            assert_eq!(said.matches("was moved to").count(), 20, "{said}");
        }
    }

    #[test]
    fn a_directory_that_was_not_searched_is_no_denied_name() {
        for (moved, error, words) in [
            (true, None, "was moved to aside. Look at it"),
            (false, Some(Errno::XDEV), "is still there"),
        ] {
            let one = Appeared {
                unsearched: true,
                ..appeared("deep", moved, error)
            };
            let said = said_of_one(&one);
            assert!(said.contains(words) && !said.contains("denied"), "{said}");
        }
    }
}
