//! Each wall, with the others and without them; each trap.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::ExitCode;

use toolgate_sandbox::command::{self, CommandWall, Rung};
use trial::{Place, Trial, line};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[("a line runs and says what it has to say", a_line_runs)];

fn a_line_runs() {
    let place = Place::new();
    let wall = CommandWall::start(&place.rules()).unwrap();
    assert_eq!(wall.rung(), Rung::Namespaces, "{:?}", wall.stepped_down());
    let ran = line(
        &wall,
        &place,
        "echo hello; pwd; id -u; ls -la / /dev /tmp ; env; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp'; echo oops >&2; exit 3",
    );
    println!("{ran:#?}");
    println!("{}", ran.stdout);
}
