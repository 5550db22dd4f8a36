//! The program `toolgate`: options in, one job done, an exit code out.
//!
//! ```text
//! args ──▶ Cli (as typed) ──▶ App (crates/app) ──▶ one command ──▶ Out ──▶ exit code
//! ```
//!
//! This is one of the few places that look at the environment, print and exit. A mistake
//! in usage or configuration ends with 2, a call that did not go well with the code of its
//! kind, and nothing ever with a backtrace.

mod answering;
mod args;
mod assembly;
mod clean;
mod clock;
mod commands;
mod complete;
mod counted;
mod difference;
mod failure;
mod input;
mod interrupted;
mod log;
mod out;
mod pages;
mod panics;
mod question;
mod signals;
mod status;
mod terminal;
mod tty;
mod watcher;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Runtime;

use args::Cli;
use clean::Clean;
use failure::CliError;
use log::Log;
use out::Out;

/// Runs the program with these arguments.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if watcher::serve(args.first()) {
        return ExitCode::SUCCESS;
    }
    panics::keep_quiet();
    if let Some(code) = complete::answer(&args) {
        return code;
    }
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return misread(error, &args),
    };
    let out = Out::new(&cli.common);
    match run(cli, &out) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Help, the version, or what is wrong with the arguments. They are repeated in it, so it is
/// made again from arguments that can be printed.
fn misread(error: clap::Error, args: &[OsString]) -> ExitCode {
    let clean = args.iter().map(|arg| Clean::line(arg.to_string_lossy()));
    let clean: Vec<String> = clean.map(|arg| arg.as_str().to_owned()).collect();
    let again = Cli::try_parse_from(clean).err();
    let error = again
        .filter(|again| again.kind() == error.kind())
        .unwrap_or(error);
    let told = Clean::painted(&error.render().ansi().to_string());
    // Help and version go to standard output and are no mistake.
    if error.use_stderr() {
        out::told_in_pieces(told);
        return ExitCode::from(2);
    }
    match out::shown(told) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(cli: Cli, out: &Out) -> Result<u8, CliError> {
    let log = cli.common.log.as_deref().map(Log::start).transpose()?;
    let (counted, metrics) = (cli.common.counted.clone(), cli.common.metrics.clone());
    let runtime =
        runtime().map_err(|error| CliError::internal(format!("cannot start: {error}")))?;
    let done = runtime.block_on(commands::run(cli, out));
    // A thread that waits for a key is not waited for.
    runtime.shutdown_background();
    if log.is_some_and(|log| log.is_broken()) {
        out.remark("the log could not be written");
    }
    let written = metrics.map_or(Ok(()), |path| counted.write(&path));
    done.and_then(|code| written.map(|()| code))
}

/// Two workers: a tool of somebody else's may block one of them, and there is one left for the
/// clock and for whoever has something to say.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .enable_io()
        .build()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};
    use tokio::signal::unix::{SignalKind, signal};
    use toolgate_gate::journal::{Entry, Journal, Record};
    use toolgate_journal::{Options, Point, SqliteJournal};
    use toolgate_model::{Args, ToolCall};

    #[test]
    fn a_tool_that_blocks_and_a_slow_disk_hold_neither_the_clock_nor_who_listens() {
        let long = Duration::from_secs(20);
        let directory = tempfile::tempdir().unwrap();
        let end = Arc::new(Mutex::new(()));
        let until = Arc::clone(&end);
        let (to, blocked) = channel();
        let block = move |who: &str| {
            to.send(who.to_owned()).unwrap();
            drop(until.lock());
        };
        let disk = block.clone();
        let hook = move |point| {
            if point == Point::Written {
                disk("disk");
            }
        };
        let options = Options {
            hook: Some(Arc::new(hook)),
            ..Options::default()
        };
        let journal = SqliteJournal::open(directory.path().join("journal.db"), options).unwrap();
        let runtime = super::runtime().unwrap();
        // Let go before the runtime, which waits for its workers, however this ends.
        let held = end.lock().unwrap();
        let (to, told) = channel();
        let listens = to.clone();
        runtime.spawn(async move {
            let mut calls = signal(SignalKind::user_defined1()).unwrap();
            listens.send("ready").unwrap();
            calls.recv().await;
            listens.send("called").unwrap();
        });
        assert_eq!(told.recv_timeout(long), Ok("ready"));
        runtime.spawn(async move { block("tool") });
        assert_eq!(blocked.recv_timeout(long).unwrap(), "tool");
        let received = Entry {
            conversation: "c".into(),
            call: "1".into(),
            at_ms: 1,
            record: Record::Received {
                call: ToolCall::new("1", "noop", Args::new()),
            },
        };
        let commit = runtime.spawn(async move { journal.commit(vec![received]).await });
        assert_eq!(blocked.recv_timeout(long).unwrap(), "disk");
        runtime.spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            to.send("late").unwrap();
        });
        assert_eq!(told.recv_timeout(long), Ok("late"));
        kill_process(getpid(), Signal::USR1).unwrap();
        assert_eq!(told.recv_timeout(long), Ok("called"));
        drop(held);
        runtime.block_on(commit).unwrap().unwrap();
    }
}
