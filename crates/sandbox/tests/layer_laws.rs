//! Random sequences of file operations by real programs: running in a layer and applying equals
//! running directly, and what is undone or discarded was never there.
//!
//! `TOOLGATE_LAYER_SEQUENCES` says how many sequences, `TOOLGATE_LAYER_SEED` where to begin.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod layered;
mod trial;

use std::fmt::Write;
use std::process::ExitCode;

use layered::sequences::{Dice, Flavor, Operation, PYTHON, initial, sequence};
use layered::{difference, left, rules, tree};
use toolgate_sandbox::command::CommandSandbox;
use trial::{Place, line, sandbox};

/// Sequences, if nothing else is said.
const SEQUENCES: u64 = 2_000;
/// As an ordinary user after all of them ran as root.
const AGAIN: u64 = 500;
/// Sequences in one command, each in a directory of its own.
const AT_ONCE: u64 = 250;

fn main() -> ExitCode {
    toolgate_sandbox::command::init();
    trial::run(&[(
        "applying_equals_running_directly",
        applying_equals_running_directly,
    )])
}

fn number(variable: &str, or: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(or, |value| value.parse().expect("a number"))
}

/// A sequence with the tree that it begins with.
struct Case {
    seed: u64,
    python: bool,
    initial: Vec<Operation>,
    operations: Vec<Operation>,
}

fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let flavors = [Flavor::Moving, Flavor::Linking, Flavor::Closing];
    let flavor = flavors[usize::try_from(seed % 3).expect("small")];
    Case {
        seed,
        python: !seed.is_multiple_of(8),
        initial: initial(&mut dice, flavor),
        operations: sequence(&mut dice, flavor),
    }
}

/// The script that makes all trees, and those that run all sequences and say which operations
/// succeeded.
fn scripts(cases: &[Case]) -> (String, String, String) {
    let mut setup = PYTHON.to_owned();
    let mut shell = String::from("umask 022\n");
    let mut python = PYTHON.to_owned();
    for case in cases {
        let seed = case.seed;
        let _ = writeln!(setup, "os.mkdir('s{seed}'); os.chdir('s{seed}')");
        for operation in &case.initial {
            let _ = writeln!(setup, "{}", in_python(operation, "0"));
        }
        let _ = writeln!(setup, "os.chdir('..')");
        if case.python {
            let _ = writeln!(python, "os.chdir('s{seed}')");
            for (number, operation) in case.operations.iter().enumerate() {
                let line = in_python(operation, &format!("{seed}.{number}"));
                let _ = writeln!(python, "{line}");
            }
            let _ = writeln!(python, "os.chdir('..')");
        } else {
            let _ = writeln!(shell, "cd s{seed}");
            for (number, operation) in case.operations.iter().enumerate() {
                let line = operation.shell();
                let _ = writeln!(
                    shell,
                    "if {{ {line}; }} 2>/dev/null; then echo {seed}.{number} yes; else echo {seed}.{number} no; fi"
                );
            }
            let _ = writeln!(shell, "cd ..");
        }
    }
    (setup, shell, python)
}

fn in_python(operation: &Operation, name: &str) -> String {
    let calls = operation.python().replace("; ", ", ");
    format!("op('{name}', lambda: ({calls},))")
}

/// A place where sequences run, with its sandbox.
struct Side {
    place: Place,
    sandbox: CommandSandbox,
}

impl Side {
    fn new() -> Self {
        let place = Place::new();
        let sandbox = sandbox(&rules(&place));
        Self { place, sandbox }
    }

    /// Makes the trees of all cases, in place of those that were there.
    fn set_up(&self, (setup, shell, python): &(String, String, String)) {
        self.place.setup("chmod -R u+rwx ws; rm -rf ws/s*");
        let path = self.place.directory.path().join("setup.py");
        std::fs::write(&path, setup).expect("setup");
        self.place
            .setup("cd ws && python3 -B ../setup.py >/dev/null");
        self.place.write("ws/run.sh", shell);
        self.place.write("ws/run.py", python);
    }
}

const RUN: &str = "bash run.sh; python3 -B run.py; true";

fn applying_equals_running_directly() {
    let again = std::env::args().any(|argument| argument == trial::AS_USER);
    let usual = if again { AGAIN } else { SEQUENCES };
    let all = number("TOOLGATE_LAYER_SEQUENCES", usual);
    let first = number("TOOLGATE_LAYER_SEED", 1);
    let (layered, direct) = (Side::new(), Side::new());
    let mut changed = 0;
    let mut from = first;
    while from < first + all {
        let to = (from + AT_ONCE).min(first + all);
        let cases: Vec<Case> = (from..to).map(case).collect();
        changed += batch(&cases, &layered, &direct);
        from = to;
    }
    // Sequences that change nothing would prove nothing.
    assert!(changed > all, "{changed} changes in {all} sequences");
}

/// Tests the laws for some cases at once; gives how many changes were applied.
fn batch(cases: &[Case], layered: &Side, direct: &Side) -> u64 {
    let scripts = scripts(cases);
    layered.set_up(&scripts);
    direct.set_up(&scripts);
    let (here, there, sandbox) = (&layered.place, &direct.place, &layered.sandbox);
    let before = tree(&here.ws);
    assert_eq!(difference(&before, &tree(&there.ws)), [] as [String; 0]);
    let direct = line(&direct.sandbox, there, RUN);
    let (ran, layer) = layered::run(sandbox, here, RUN);
    assert!(direct.succeeded() && ran.succeeded(), "{direct:?}\n{ran:?}");
    let differ = lines_that_differ(&direct.stdout, &ran.stdout);
    assert_eq!(differ, [] as [String; 0], "{}", told(cases, &differ));
    let changes = layer.changes().expect("changes");
    let staged = layer.stage(&changes, |_| true);
    let staged =
        staged.unwrap_or_else(|error| panic!("{error}\n{}", told(cases, &[error.to_string()])));
    assert_eq!(staged.left_out(), [] as [usize; 0]);
    let applied = staged
        .apply()
        .unwrap_or_else(|error| panic!("{error}\n{}", told(cases, &[error.to_string()])));
    let differ = difference(&tree(&there.ws), &tree(&here.ws));
    assert_eq!(
        differ,
        [] as [String; 0],
        "direct / layer\n{}",
        told(cases, &differ)
    );
    applied
        .undo()
        .unwrap_or_else(|error| panic!("{error}\n{}", told(cases, &[error.to_string()])));
    let differ = difference(&before, &tree(&here.ws));
    assert_eq!(
        differ,
        [] as [String; 0],
        "before / undone\n{}",
        told(cases, &differ)
    );
    discarding(sandbox, here, cases);
    changes.len() as u64
}

fn discarding(sandbox: &CommandSandbox, here: &Place, cases: &[Case]) {
    let before = tree(&here.ws);
    let (_, layer) = layered::run(sandbox, here, RUN);
    layer.discard().expect("discarded");
    let differ = difference(&before, &tree(&here.ws));
    assert_eq!(
        differ,
        [] as [String; 0],
        "before / discarded\n{}",
        told(cases, &differ)
    );
    assert_eq!(left(here), [] as [String; 0]);
}

fn lines_that_differ(one: &str, other: &str) -> Vec<String> {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    if one.len() != other.len() {
        return vec![format!("{} lines, and {}", one.len(), other.len())];
    }
    let both = one.iter().zip(&other).filter(|(one, other)| one != other);
    both.map(|(one, other)| format!("s{one} / {other}"))
        .collect()
}

/// The first sequence that a message names.
fn told(cases: &[Case], differ: &[String]) -> String {
    let names = |case: &&Case| {
        let name = format!("s{}", case.seed);
        let named = |text: &String| {
            let mut words = text.split(|one: char| !one.is_ascii_alphanumeric());
            words.any(|word| word == name)
        };
        differ.iter().any(named)
    };
    let Some(case) = cases.iter().find(names) else {
        return String::new();
    };
    let mut out = format!("seed {}\n", case.seed);
    for operation in &case.initial {
        let _ = writeln!(out, "  {}", operation.shell());
    }
    out.push_str("--\n");
    for (number, operation) in case.operations.iter().enumerate() {
        let text = if case.python {
            operation.python()
        } else {
            operation.shell()
        };
        let _ = writeln!(out, "  {number}: {text}");
    }
    out
}
