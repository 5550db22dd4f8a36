//! The program `toolgate`: options in, one job done, an exit code out.
//!
//! ```text
//! args ──▶ Cli (as typed) ──▶ App (configuration, gate, session) ──▶ one command ──▶ Out ──▶ exit code
//! ```
//!
//! This is one of the few places that look at the environment, print and exit. A mistake
//! in usage or configuration ends with 2, a call that did not go well with the code of its
//! kind, and nothing ever with a backtrace.

mod app;
mod args;
mod asked;
mod clock;
mod commands;
mod configured;
mod counted;
mod cut_off;
mod difference;
mod export;
mod failure;
mod home;
mod input;
mod kept;
mod log;
mod orphans;
mod out;
mod panics;
mod presets;
mod question;
mod record;
mod secrets;
mod signals;
mod terminal;
mod undo;
mod walls;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::Cli;
use failure::Failure;
use log::Log;
use out::Out;

/// Runs the program with these arguments.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    panics::keep_quiet();
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no mistake.
            let code = if error.use_stderr() { 2 } else { 0 };
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(code.max(1)),
            };
        }
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

fn run(cli: Cli, out: &Out) -> Result<u8, Failure> {
    let log = cli.common.log.as_deref().map(Log::start).transpose()?;
    let (counted, metrics) = (cli.common.counted.clone(), cli.common.metrics.clone());
    // Two workers: a tool that blocks one of them cannot hold the clock.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .enable_io()
        .build()
        .map_err(|error| Failure::internal(format!("cannot start: {error}")))?;
    let done = runtime.block_on(commands::run(cli, out));
    // A thread that waits for a key is not waited for.
    runtime.shutdown_background();
    if log.is_some_and(|log| log.is_broken()) {
        out.remark("the log could not be written");
    }
    let written = metrics.map_or(Ok(()), |path| counted.write(&path));
    done.and_then(|code| written.map(|()| code))
}
