//! One file per command.

mod batch;
mod chat;
mod config;
mod demo;
mod doctor;
pub(crate) mod exec;
mod journal;
mod man;
mod models;
mod parse;
mod policy;
mod resume;
mod run;
mod serve;
mod tools;
mod trust;
mod undo;

use crate::args::{Cli, Command};
use crate::complete;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) async fn run(cli: Cli, out: &Out) -> Result<u8, CliError> {
    let Cli { common, command } = cli;
    match command {
        Command::Exec {
            tool,
            args,
            conversation,
        } => {
            let tool = tool.to_string_lossy();
            exec::run(&common, out, &tool, &args.all(), conversation).await
        }
        Command::Batch {
            file,
            unlimited,
            conversation,
        } => batch::run(&common, out, file.as_deref(), unlimited, conversation).await,
        Command::Run(asked) => run::run(&common, out, &asked).await,
        Command::Chat(args) => chat::run(&common, out, &args).await,
        Command::Serve(served) => serve::run(&common, out, served).await,
        Command::Models(asked) => models::run(&common, out, &asked).await,
        Command::Parse { file, format } => parse::run(out, file.as_deref(), format),
        Command::Tools { format } => tools::run(&common, out, &format),
        Command::Policy(command) => policy::run(&common, out, command).await,
        Command::Trust { yes, command } => trust::run(&common, out, yes, command).await,
        Command::Journal(command) => journal::run(&common, out, command).await,
        Command::Resume(resumed) => resume::run(&common, out, &resumed).await,
        Command::Undo(undone) => undo::run(&common, out, undone).await,
        Command::Config(command) => config::run(&common, out, &command),
        Command::Demo => demo::run(out).await,
        Command::Doctor => doctor::run(&common, out),
        Command::Completions { shell } => out.raw(complete::script(shell)?).map(|()| 0),
        Command::Man { dir } => man::run(out, dir.as_deref()),
    }
}
