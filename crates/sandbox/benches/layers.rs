//! The cost of a layer: `true` in the sandbox with and without one; 5,000 files made in it and
//! applied, against made directly; and what collecting, applying and undoing 10,000 changes takes.
//!
//! One line of JSON per figure. Times are medians of interleaved runs, so that other load on the
//! machine affects both sides.
#![allow(missing_docs, clippy::expect_used, clippy::print_stdout)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolgate_sandbox::command::{
    self, CommandSandbox, CommandSpec, Deadlines, Finished, Outcome, SandboxRules,
};
use toolgate_sandbox::layer::{Layer, Layering};
use toolgate_sandbox::{PathRules, PathSandbox};

/// Enough time to prepare a sandbox, also on a machine that has other things to do.
const PAUSE: Duration = Duration::from_millis(50);

fn main() {
    command::init();
    let quick = std::env::args().any(|argument| argument == "--test");
    let (rounds, few, files, changes) = if quick {
        (3, 2, 50, 100)
    } else {
        (200, 9, 5_000, 10_000)
    };
    let workspace = Workspace::new();
    let layered = || drop(workspace.run("true", Layering::Required));
    let direct = || drop(workspace.run("true", Layering::Never));
    let (ours, theirs) = interleaved(rounds, &mut || time(&layered), &mut || time(&direct));
    report("layer_true_vs_without", ours, theirs);

    // One program makes all files: what is measured is the file system, not the start of programs.
    let make = format!(
        "mkdir made && cd made && python3 -c 'for n in range({files}): open(f\"f{{n}}\", \"w\").write(\"x\" * 100)'"
    );
    let clear = || {
        let made = workspace.path.join("made");
        if made.exists() {
            std::fs::remove_dir_all(made).expect("removed");
        }
    };
    let (ours, theirs) = interleaved(
        few,
        &mut || {
            clear();
            time(&|| {
                let layer = workspace.layer(&make);
                let changes = layer.changes().expect("changes");
                let staged = layer.stage(&changes, |_| true).expect("staged");
                staged
                    .apply()
                    .expect("applied")
                    .forget()
                    .expect("forgotten");
            })
        },
        &mut || {
            clear();
            // An applied change is durable; for this to be the same, so is this one.
            time(&|| {
                drop(workspace.run(&make, Layering::Never));
                let root = std::fs::File::open(&workspace.path).expect("root");
                rustix::fs::syncfs(&root).expect("synced");
            })
        },
    );
    report(
        &format!("layer_{files}_files_applied_vs_direct"),
        ours,
        theirs,
    );
    clear();

    let make = make.replace(&files.to_string(), &changes.to_string());
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..few {
        let layer = workspace.layer(&make);
        let begun = Instant::now();
        let found = layer.changes().expect("changes");
        let collected = begun.elapsed();
        assert_eq!(found.len(), changes + 1);
        let staged = layer.stage(&found, |_| true).expect("staged");
        let staging = begun.elapsed();
        let applied = staged.apply().expect("applied");
        let applying = begun.elapsed();
        applied.undo().expect("undone");
        let all = [
            collected,
            staging - collected,
            applying - staging,
            begun.elapsed() - applying,
        ];
        for (times, took) in times.iter_mut().zip(all) {
            times.push(took);
        }
    }
    let names = ["collect", "stage", "apply", "undo"];
    for (name, times) in names.iter().zip(times) {
        let ns = median(times).as_nanos();
        println!(r#"{{"name":"layer_{name}_{changes}_changes","ours_ns":{ns}}}"#);
    }
}

/// A root and its sandbox, with a directory for layers beside it.
struct Workspace {
    path: PathBuf,
    sandbox: CommandSandbox,
    _directory: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ws");
        std::fs::create_dir(&path).expect("a workspace");
        let paths = PathSandbox::open(&PathRules::new(&path)).expect("paths");
        let mut rules = SandboxRules::new(paths);
        rules.layers = vec![directory.path().join("layers")];
        Self {
            path,
            sandbox: CommandSandbox::start(&rules).expect("a sandbox"),
            _directory: directory,
        }
    }

    fn run(&self, line: &str, layering: Layering) -> Finished {
        let mut spec = CommandSpec::line(line, &self.path);
        spec.env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        spec.layering = layering;
        let running = self.sandbox.run(spec).expect("started");
        let finished = running.drive(Deadlines::default(), None, |_, _| {});
        assert_eq!(finished.outcome, Outcome::Exited(0));
        finished
    }

    fn layer(&self, line: &str) -> Layer {
        let finished = self.run(line, Layering::Required);
        finished.layer.expect("a layer")
    }
}

fn interleaved(
    rounds: usize,
    ours: &mut dyn FnMut() -> Duration,
    theirs: &mut dyn FnMut() -> Duration,
) -> (Duration, Duration) {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        std::thread::sleep(PAUSE);
        times.0.push(ours());
        std::thread::sleep(PAUSE);
        times.1.push(theirs());
    }
    (median(times.0), median(times.1))
}

fn report(name: &str, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let (ours, theirs) = (ours.as_nanos(), theirs.as_nanos());
    println!(r#"{{"name":"{name}","ours_ns":{ours},"theirs_ns":{theirs},"ratio":{ratio:.3}}}"#);
}

fn time(work: &dyn Fn()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
