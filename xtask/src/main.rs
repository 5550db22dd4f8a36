//! One command for everything: `cargo xtask test`, `bench`, `soak`, `coverage` and so on.

mod bench;
mod coverage;
mod fuzz;
mod mutants;
mod needs;
mod package;
mod soak;
mod step;
mod test;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test        everything that has to hold: format, spelling, dependencies, lints, tests,
              documentation, packages
  needs       installs what the tests run: programs, and packages of the page's tests
  typos       spelling alone (typos.toml)
  deny        licences, versions and sources of dependencies alone (deny.toml)
  screenshots the screens of `toolgate chat`, as text and as pictures, and pictures of the page
  bench       the figures, as ratios in one run
  soak        long runs: a million races, fuzzing, mutants
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
        ["needs"] => needs::for_tests(),
        ["typos"] => tools::typos(),
        ["deny"] => tools::deny(),
        ["screenshots"] => screenshots(),
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
        _ => Err(format!("unknown command\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            step::say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes the screens that tests compare and the README shows.
fn screenshots() -> step::Done {
    needs::for_tests()?;
    for (package, test) in [("toolgate-tui", "screens"), ("toolgate-server", "page")] {
        let mut command = step::cargo(&["test", "--package", package, "--test", test]);
        step::step(
            &format!("screenshots of {package}"),
            command.env("TOOLGATE_SCREENS", "write"),
        )?;
    }
    Ok(())
}
