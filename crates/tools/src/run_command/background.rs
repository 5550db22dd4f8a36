//! Commands that run while the conversation goes on.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolgate_gate::session::{Resource, Spool};
use toolgate_gate::tool::{Output, RunCtx};
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::command::{
    Appeared, Cause, CommandSandbox, CommandSpec, Finished, Grant, InForce, Stream,
};

use super::capture::Lane;
use super::driver::{Job, Sink, drive_unseen};
use super::ending::{Ending, Limits};
use super::foreground::{HintContext, MOST_COMPLAINTS};
use super::settings::CommandSettings;
use super::{RunCommand, begin, layers, opened};
use crate::blocking::{Begun, blocking, cancelled};

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
    /// Locked on threads that may wait alone: what it writes can go to a disk.
    text: Mutex<Spool>,
    log: Mutex<Log>,
    /// Reports the guarded names that it left if its end is never read.
    sandbox: CommandSandbox,
    /// Ends the command.
    stop: CancellationToken,
    /// Changes with every piece of output, and when the command is over.
    news: watch::Sender<()>,
}

/// What is known of its output, both streams in order of arrival.
#[derive(Debug, Default)]
struct Log {
    /// How many bytes it wrote.
    total: u64,
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
    settings: &Arc<CommandSettings>,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let commands = cx.session().resource::<Commands>();
    commands.has_room()?;
    let sandbox = settings.sandbox()?;
    let around = HintContext {
        cwd: spec.cwd.clone(),
        settings: Arc::clone(settings),
        sandbox: sandbox.clone(),
    };
    let limits = Limits {
        total: args.timeout(),
        idle: args.idle(),
    };
    let poised = Begun::with({
        let sandbox = sandbox.clone();
        move || begin(&sandbox, spec)
    });
    let poised = tokio::select! {
        biased;
        poised = poised.ended() => poised?,
        () = cx.cancel().cancelled() => return Err(cancelled()),
    };
    let background = Arc::new(Background {
        line: args.command.clone(),
        in_force: poised.in_force(),
        text: Mutex::new(cx.session().outputs().spool()),
        log: Mutex::default(),
        sandbox: sandbox.clone(),
        stop: CancellationToken::new(),
        news: watch::Sender::new(()),
    });
    let writer = Writer {
        lanes: [Lane::new(cx.redactor()), Lane::new(cx.redactor())],
        limits,
        around,
        more: cx.opened().directories.iter().map(opened).collect(),
        background: Arc::clone(&background),
    };
    let (job, stop) = (Job::start(poised, limits, writer), background.stop.clone());
    // Not a task of the call: the command goes on when that is over.
    tokio::spawn(async move { drive_unseen(job, &stop).await.map(drop) });
    let sandbox = layers(background.in_force);
    let handle = commands.add(background);
    Ok(Output::plain(format!(
        "Started in the background as {handle}. Read what it writes with command_output, end it with stop_command. At the latest it ends with the program that started it."
    ))
    .display(format!("Started {handle}: {}", args.command))
    .with("handle", handle)
    .with("sandbox", sandbox))
}

/// Writes down what a command in the background writes, and how it ended.
struct Writer {
    lanes: [Lane; 2],
    limits: Limits,
    around: HintContext,
    /// The directories that an approver opened to it.
    more: Vec<Grant>,
    background: Arc<Background>,
}

impl Sink for Writer {
    type End = ();

    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let [stdout, stderr] = &mut self.lanes;
        let lane = match stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
        };
        self.background.wrote(&lane.push(bytes));
    }

    fn is_flooded(&self) -> bool {
        self.background.flood().is_some()
    }

    fn end(mut self, finished: Finished, _: InForce) {
        for lane in &mut self.lanes {
            self.background.wrote(&lane.finish());
        }
        let mut ending = Ending::of(&finished, self.limits, self.background.flood());
        ending.last_word = self.around.settings.merged(&ending.last_word);
        if ending.error.is_some() && finished.cause != Cause::Cancelled {
            let Background { line, in_force, .. } = &*self.background;
            let said = self.background.start();
            let (network, refused) = (in_force.network, &finished.refused);
            let hints = self.around.hints(&said, line, network, &self.more, refused);
            ending.add(&hints);
        }
        self.background.ended(ending, finished.settled.appeared);
    }
}

impl Drop for Writer {
    /// Nobody waits for ever for a command that could not be driven to its end.
    fn drop(&mut self) {
        if self.background.ending().is_none() {
            self.background.ended(Ending::lost(), Vec::new());
        }
    }
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
            let mut kept = locked(&self.text);
            kept.push(text);
            locked(&self.log).total = kept.total();
            drop(kept);
            self.news.send_replace(());
        }
    }

    /// How much it wrote, if that is too much.
    fn flood(&self) -> Option<u64> {
        let kept = locked(&self.text);
        kept.is_flooded().then(|| kept.total())
    }

    /// The beginning of what it wrote, for what it says about a denial.
    fn start(&self) -> String {
        let mut bytes = Vec::new();
        let mut kept = locked(&self.text);
        // Unreadable output gives no hints.
        let _ = kept.reader().take(MOST_COMPLAINTS).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn ended(&self, ending: Ending, appeared: Vec<Appeared>) {
        // Whoever reads the last word learns of the end too.
        let mut kept = locked(&self.text);
        if !ending.last_word.is_empty() {
            if !kept.ends_line() {
                kept.push("\n");
            }
            kept.push(&ending.last_word);
        }
        let mut log = locked(&self.log);
        log.total = kept.total();
        log.appeared = appeared;
        log.ending = Some(Arc::new(ending));
        drop((log, kept));
        self.news.send_replace(());
    }

    /// Reports what it left to the user where the model never read its end.
    fn report_unread(&self) {
        let mut log = locked(&self.log);
        if log.read < log.total {
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
        self.stop.cancel();
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
                if log.ending.is_some() || log.total > from.unwrap_or(log.read) {
                    return;
                }
            }
            if news.changed().await.is_err() {
                return;
            }
        }
    }

    /// The output after `from`, or after the last read, as far as there is room.
    pub(super) async fn read(
        self: &Arc<Self>,
        from: Option<u64>,
        room: usize,
    ) -> Result<Piece, ToolError> {
        let background = Arc::clone(self);
        blocking(move || background.read_now(from, room)).await
    }

    fn read_now(&self, from: Option<u64>, room: usize) -> Result<Piece, ToolError> {
        let mut kept = locked(&self.text);
        let (ending, read) = {
            let log = locked(&self.log);
            (log.ending.clone(), log.read)
        };
        let (from, total) = (from.unwrap_or(read), kept.total());
        if from > total {
            return Err(ToolError::bad_args(format!(
                "from {from} is past the end: {total} bytes were written so far"
            )));
        }
        let (text, next) = kept.read_from(from, room).map_err(|error| {
            ToolError::new(
                ErrorKind::Failed,
                format!("the output cannot be read back: {error}"),
            )
        })?;
        locked(&self.log).read = next;
        Ok(Piece {
            text,
            next,
            more: next < total,
            ending,
        })
    }
}
