//! Long runs: the same as in `test`, with larger counts.

use crate::package::Verify;
use crate::step::{Done, cargo, step};
use crate::{fuzz, mutants, package};

/// Rounds of every file operation against the swapper.
const RACES: &str = "1000000";
/// Commands that start while another one moves a secret.
const MOVES: &str = "100000";
/// Kills of a program while its commands run.
const KILLS: &str = "1000";
/// Sequences of file operations through a layer.
const LAYER_SEQUENCES: &str = "100000";
/// Kills of a journal while it is written.
const JOURNAL_KILLS: &str = "10000";
/// Kills of a conversation while its calls run.
const RUN_KILLS: &str = "1000";
/// Calls of eight programs on one memory and one list of tasks.
const NOTES: &str = "10000";
/// Conversations at once with the server.
const LOAD: &str = "1000";
/// Cases per property test.
const CASES: &str = "20000";
/// Seconds per fuzz target.
const FUZZING: u32 = 600;

pub(crate) fn run() -> Done {
    for (package, test, variable, count) in [
        ("toolgate-sandbox", "races", "TOOLGATE_RACES", RACES),
        (
            "toolgate-sandbox",
            "command_hidden",
            "TOOLGATE_MOVES",
            MOVES,
        ),
        ("toolgate-sandbox", "command_ends", "TOOLGATE_KILLS", KILLS),
        (
            "toolgate-sandbox",
            "layer_laws",
            "TOOLGATE_LAYER_SEQUENCES",
            LAYER_SEQUENCES,
        ),
        (
            "toolgate-journal",
            "processes",
            "TOOLGATE_JOURNAL_KILLS",
            JOURNAL_KILLS,
        ),
        ("toolgate-cli", "kills", "TOOLGATE_RUN_KILLS", RUN_KILLS),
        ("toolgate-cli", "notes", "TOOLGATE_NOTES", NOTES),
        ("toolgate-server", "load", "TOOLGATE_LOAD", LOAD),
    ] {
        step(
            &format!("{package} {test}, {count} times"),
            cargo(&["test", "--release", "--package", package, "--test", test])
                .env(variable, count),
        )?;
    }
    step(
        "properties",
        cargo(&["test", "--release", "--workspace"]).env("PROPTEST_CASES", CASES),
    )?;
    package::run(Verify::Yes)?;
    fuzz::all(FUZZING)?;
    mutants::run()
}
