//! Commands that run while the conversation goes on.

use std::collections::BTreeMap;
use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};
use toolgate_gate::session::{Resource, Spool};
use toolgate_gate::tool::{Output, RunCtx};
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::command::{
    Appeared, CommandSandbox, CommandSpec, Deadlines, InForce, Stream,
};

use super::capture::Lane;
use super::ending::{Ending, Limits};
use super::foreground::no_pipe;
use super::{RunCommand, begin, layers};

/// More commands than this do not run at once in one conversation.
const MOST: usize = 16;

/// The background commands of a conversation. They end with it.
#[derive(Debug, Default)]
pub(super) struct Commands {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    started: u64,
    known: BTreeMap<String, Arc<Background>>,
}

/// One command, running or over.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) line: String,
    pub(super) in_force: InForce,
    log: Mutex<Log>,
    /// Reports the guarded names that it left if its end is never read.
    sandbox: CommandSandbox,
    /// Dropping it ends the command.
    stop: Mutex<Option<PipeWriter>>,
    /// Changes with every piece of output, and when the command is over.
    news: watch::Sender<()>,
}

/// Its output, both streams in order of arrival.
#[derive(Debug)]
struct Log {
    text: Spool,
    /// Up to where the model has read.
    read: u64,
    ending: Option<Arc<Ending>>,
    /// The guarded names that it left.
    appeared: Vec<Appeared>,
}

/// A piece of a log.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    /// Where the next piece begins.
    pub(super) next: u64,
    /// Whether there is more to read now.
    pub(super) more: bool,
    pub(super) ending: Option<Arc<Ending>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change behind these locks is whole between two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) async fn start(
    args: &RunCommand,
    spec: CommandSpec,
    sandbox: &CommandSandbox,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let commands = cx.session().resource::<Commands>();
    commands.has_room()?;
    let (stopped, stop) = std::io::pipe().map_err(|error| no_pipe(&error))?;
    let limits = Limits {
        total: args.timeout(),
        idle: args.idle(),
    };
    let text = cx.session().outputs().spool();
    let lanes = [Lane::new(cx.redactor()), Lane::new(cx.redactor())];
    let line = args.command.clone();
    let (tell, told) = oneshot::channel();
    let sandbox = sandbox.clone();
    let work = move || {
        let running = match begin(&sandbox, spec) {
            Ok(poised) => poised.go(),
            Err(error) => return drop(tell.send(Err(error))),
        };
        let background = Arc::new(Background {
            line,
            in_force: running.in_force(),
            log: Mutex::new(Log {
                text,
                read: 0,
                ending: None,
                appeared: Vec::new(),
            }),
            sandbox: sandbox.clone(),
            stop: Mutex::new(Some(stop)),
            news: watch::Sender::new(()),
        });
        if tell.send(Ok(Arc::clone(&background))).is_err() {
            // The call was given up; dropping the command ends it.
            return;
        }
        let [mut stdout, mut stderr] = lanes;
        let deadlines = Deadlines {
            total: limits.total,
            idle: limits.idle,
        };
        let finished = running.drive(deadlines, Some(stopped.as_fd()), |stream, bytes| {
            let lane = match stream {
                Stream::Stdout => &mut stdout,
                Stream::Stderr => &mut stderr,
            };
            background.wrote(&lane.push(bytes));
        });
        background.wrote(&stdout.finish());
        background.wrote(&stderr.finish());
        background.ended(Ending::of(&finished, limits), finished.settled.appeared);
    };
    // Not one of the runtime's threads: it may live for hours.
    std::thread::Builder::new()
        .name("background command".to_owned())
        .spawn(work)
        .map_err(|error| no_pipe(&error))?;
    let background = told.await.unwrap_or_else(|_| Err(lost()))?;
    let sandbox = layers(background.in_force);
    let handle = commands.add(background);
    Ok(Output::plain(format!(
        "Started in the background as {handle}. Read what it writes with command_output, end it with stop_command. At the latest it ends with the program that started it."
    ))
    .display(format!("Started {handle}: {}", args.command))
    .with("handle", handle)
    .with("sandbox", sandbox))
}

fn lost() -> ToolError {
    ToolError::new(ErrorKind::Failed, "the command's thread ended early")
}

impl Commands {
    fn has_room(&self) -> Result<(), ToolError> {
        let state = locked(&self.state);
        let running = state.known.values().filter(|one| one.ending().is_none());
        if running.count() < MOST {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::LimitExceeded,
            format!("{MOST} commands run in the background already; stop one with stop_command"),
        ))
    }

    fn add(&self, background: Arc<Background>) -> String {
        let mut state = locked(&self.state);
        state.started += 1;
        let handle = format!("cmd_{}", state.started);
        state.known.insert(handle.clone(), background);
        handle
    }

    /// The command of a handle.
    pub(super) fn get(&self, handle: &str) -> Result<Arc<Background>, ToolError> {
        let state = locked(&self.state);
        state.known.get(handle).cloned().ok_or_else(|| {
            let known: Vec<&str> = state.known.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "none runs here, and those of earlier runs ended with them".to_owned(),
                known => format!("known are {}", known.join(", ")),
            };
            ToolError::new(
                ErrorKind::NotFound,
                format!("no background command of this conversation is called {handle:?}; {known}"),
            )
        })
    }
}

impl Resource for Commands {
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let all: Vec<_> = locked(&self.state).known.values().cloned().collect();
            for one in &all {
                one.stop();
            }
            for one in &all {
                one.over().await;
                one.report_unread();
            }
        })
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        for one in locked(&self.state).known.values() {
            one.stop();
        }
    }
}

impl Background {
    fn wrote(&self, text: &str) {
        if !text.is_empty() {
            locked(&self.log).text.push(text);
            self.news.send_replace(());
        }
    }

    fn ended(&self, ending: Ending, appeared: Vec<Appeared>) {
        let mut log = locked(&self.log);
        log.appeared = appeared;
        if !ending.last_word.is_empty() {
            if !log.text.ends_line() {
                log.text.push("\n");
            }
            log.text.push(&ending.last_word);
        }
        log.ending = Some(Arc::new(ending));
        drop(log);
        self.news.send_replace(());
    }

    /// Reports what it left to the user where the model never read its end.
    fn report_unread(&self) {
        let mut log = locked(&self.log);
        if log.read < log.text.total() {
            self.sandbox
                .keep_unreported(std::mem::take(&mut log.appeared));
        }
    }

    /// How it ended, if it has.
    pub(super) fn ending(&self) -> Option<Arc<Ending>> {
        locked(&self.log).ending.clone()
    }

    /// Orders its end.
    pub(super) fn stop(&self) {
        drop(locked(&self.stop).take());
    }

    /// Waits for its end.
    pub(super) async fn over(&self) {
        let mut news = self.news.subscribe();
        while self.ending().is_none() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until there is something to read behind `from`, or it is over.
    pub(super) async fn news_behind(&self, from: Option<u64>) {
        let mut news = self.news.subscribe();
        loop {
            {
                let log = locked(&self.log);
                if log.ending.is_some() || log.text.total() > from.unwrap_or(log.read) {
                    return;
                }
            }
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// The output after `from`, or after the last read, as far as there is room.
    pub(super) fn read(&self, from: Option<u64>, room: usize) -> Result<Piece, ToolError> {
        let mut log = locked(&self.log);
        let from = from.unwrap_or(log.read);
        let total = log.text.total();
        if from > total {
            return Err(ToolError::bad_args(format!(
                "from {from} is past the end: {total} bytes were written so far"
            )));
        }
        let (text, next) = log.text.read_from(from, room).map_err(|error| {
            ToolError::new(
                ErrorKind::Failed,
                format!("the output cannot be read back: {error}"),
            )
        })?;
        log.read = next;
        Ok(Piece {
            text,
            next,
            more: next < total,
            ending: log.ending.clone(),
        })
    }
}
