//! What takes long: the same as in `test`, with the counts that convince.

use crate::step::{Done, cargo, step};
use crate::{fuzz, mutants};

/// Rounds of every file operation against the swapper.
const RACES: &str = "1000000";
/// Cases per property test.
const CASES: &str = "20000";
/// Seconds per fuzz target.
const FUZZING: u32 = 600;

pub(crate) fn run() -> Done {
    step(
        "races",
        cargo(&[
            "test",
            "--release",
            "--package",
            "toolgate-sandbox",
            "--test",
            "races",
        ])
        .env("TOOLGATE_RACES", RACES),
    )?;
    step(
        "properties",
        cargo(&["test", "--release", "--workspace"]).env("PROPTEST_CASES", CASES),
    )?;
    fuzz::all(FUZZING)?;
    mutants::run()
}
