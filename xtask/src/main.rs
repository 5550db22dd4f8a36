//! One command for everything: `cargo xtask test`, `bench`, `soak`, `coverage`, `fuzz`, `mutants`.

mod bench;
mod coverage;
mod fuzz;
mod mutants;
mod needs;
mod package;
mod soak;
mod step;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test        everything that has to hold: format, lints, tests, documentation, packages
  bench       the figures, as ratios in one run
  soak        what takes long: a million races, fuzzing, mutants
  coverage    region coverage of model, policy and gate (needs LLVM's tools)
  fuzz [TARGET] [SECONDS]
              one fuzz target, or all of them (needs a nightly toolchain)
  mutants     mutants of the decisions in policy, path sandbox and planning
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(),
        ["bench"] => bench::run(),
        ["soak"] => soak::run(),
        ["coverage"] => coverage::run(),
        ["fuzz"] => fuzz::all(600),
        ["fuzz", target] => fuzz::one(target, 600),
        ["fuzz", target, seconds] => match seconds.parse() {
            Ok(seconds) => fuzz::one(target, seconds),
            Err(error) => Err(format!("{seconds:?} is no number of seconds: {error}")),
        },
        ["mutants"] => mutants::run(),
        ["help" | "--help" | "-h"] => {
            step::say(HELP);
            Ok(())
        }
        _ => Err(format!("what is wanted?\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            step::say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}
