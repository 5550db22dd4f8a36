//! How a command ended, in words and kinds.

use std::path::Path;
use std::time::Duration;

use toolgate_model::characters::seen;
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::command::{
    Appeared, Cause, Finished, Hidden, Outcome, Settled, SetupFailure, Step,
};

/// The end of a command as a result tells it.
#[derive(Debug)]
pub(super) struct Ending {
    /// What went wrong, if anything did.
    pub(super) error: Option<ToolError>,
    /// What the model reads below the output.
    pub(super) last_word: String,
    /// The exit code, where there is one.
    pub(super) exit_code: Option<i32>,
    /// The signal, where one ended it.
    pub(super) signal: Option<i32>,
}

/// When a command in the foreground would have been ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) total: Option<Duration>,
    pub(super) idle: Option<Duration>,
}

impl Ending {
    pub(super) fn of(finished: &Finished, limits: Limits) -> Self {
        let mut ending = match finished.cause {
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
        ending
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
        }
    }

    fn by_itself(outcome: &Outcome) -> Self {
        let mut ending = Self {
            error: None,
            last_word: String::new(),
            exit_code: None,
            signal: None,
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

fn setup(failure: &SetupFailure) -> (ErrorKind, String) {
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
            format!("nothing was run: {failure}. `toolgate doctor` shows each wall"),
        ),
    }
}

/// So many names are listed one by one.
const MOST_LISTED: usize = 20;

/// What was hidden from the command, what appeared under guarded names, and what could not be
/// checked: a line each.
fn said_of(settled: &Settled) -> String {
    let hidden = settled.hidden.iter().map(said_of_hidden);
    let appeared = settled.appeared.iter().map(said_of_one);
    let missed = settled.missed.iter().map(|missed| {
        format!(
            "[the check for protected names after the command was not complete: {missed}. Look at what the command made before you use it]\n"
        )
    });
    bounded(hidden)
        .chain(bounded(appeared))
        .chain(missed)
        .collect()
}

/// The first lines, and how many there are beyond.
fn bounded(lines: impl ExactSizeIterator<Item = String>) -> impl Iterator<Item = String> {
    let more = lines.len().saturating_sub(MOST_LISTED);
    let rest = (more > 0).then(|| format!("[and {more} more of this kind]\n"));
    lines.take(MOST_LISTED).chain(rest)
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
        (Some(to), _) => {
            let link = if appeared.link_restored {
                "; the link that stood there was made again"
            } else {
                ""
            };
            let remedy = appeared.remedy.as_ref().map_or_else(String::new, |remedy| {
                format!(". A user can open it to commands, under [tools.sandbox]: {remedy}")
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
