//! Every way a command can end, and that nothing of it is left.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

mod trial;

use std::io::{BufRead, BufReader, Write};
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::WaitOptions;
use toolgate_sandbox::command::{
    self, Cause, CommandSandbox, Deadlines, Level, Outcome, SandboxRules, Stream,
};
use toolgate_sandbox::{PathRules, PathSandbox};
use trial::{Place, Trial, run_spec, spec};

fn main() -> ExitCode {
    command::init();
    if std::env::args().nth(1).as_deref() == Some("--victim") {
        return victim();
    }
    if std::env::args().nth(1).as_deref() == Some("--limited") {
        return limited();
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("a poised command begins only after the go message", poised),
    (
        "the total timeout ends everything within a second",
        total_timeout,
    ),
    ("the idle timeout ends a silent command", idle_timeout),
    ("output keeps the idle timeout away", idle_is_reset),
    ("cancellation ends everything", cancellation),
    ("a dropped handle ends everything", dropped),
    ("a dropped sandbox ends everything", dropped_sandbox),
    (
        "a background child does not hold the call",
        background_child,
    ),
    ("daemons end with the shell", daemons),
    ("an output flood is bounded and ends in time", flood),
    (
        "many commands at once end each in its own way",
        many_at_once,
    ),
    (
        "commands that overlap all run where few descriptors are allowed",
        few_descriptors,
    ),
    ("a warden with no room says that it is busy", busy),
    (
        "a conversation without room for a place is told",
        few_places,
    ),
    (
        "a command cannot take the limits of the process that watches it",
        watcher_limits,
    ),
    (
        "a killed supervisor leaves nothing behind",
        killed_supervisor,
    ),
    (
        "SIGKILL of the parent at any moment leaves nothing",
        killed_parent,
    ),
];

const LEVELS: [Level; 2] = [Level::Namespaces, Level::Landlock];

fn rules(place: &Place, level: Level) -> SandboxRules {
    let mut rules = place.rules();
    rules.highest = level;
    rules.lowest = level;
    rules
}

/// An argument of `sleep` that no other process has.
fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("86400.{}{number:03}", std::process::id())
}

fn alive(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(marker) && !line.contains("--victim") {
            found.push(format!("{}: {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Nothing with this marker is left, now or within the second that the end may take.
fn none_left(marker: &str) {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let left = alive(marker);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "survivors: {left:#?}");
        std::thread::yield_now();
    }
}

/// A command that does everything to stay alive.
fn stubborn(marker: &str) -> String {
    format!(
        "trap '' TERM INT HUP QUIT; setsid nohup sleep {marker} >/dev/null 2>&1 & \
         (setsid bash -c 'trap \"\" TERM; (sleep {marker} &) ; sleep {marker}' &) ; \
         python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(86400)' {marker} ; \
         echo started; sleep {marker}"
    )
}

fn with_deadlines(total: Option<u64>, idle: Option<u64>) -> Deadlines {
    Deadlines {
        total: total.map(Duration::from_millis),
        idle: idle.map(Duration::from_millis),
    }
}

fn poised() {
    for level in LEVELS {
        let place = Place::new();
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let line = |line: &str| spec(line, &place.ws);
        let waits = sandbox.poise(line("echo begun > waits")).unwrap();
        let never = sandbox.poise(line("echo begun > never")).unwrap();
        // Another one does all of it meanwhile, one after the other.
        for _ in 0..3 {
            let ran = run_spec(&sandbox, line("echo begun > other"), Deadlines::default());
            assert!(ran.succeeded(), "{ran:?}");
        }
        assert!(place.exists("ws/other") && !place.exists("ws/waits") && !place.exists("ws/never"));
        drop(never);
        let finished = waits.go().drive(Deadlines::default(), None, |_, _| ());
        assert_eq!(finished.outcome, Outcome::Exited(0));
        assert!(place.exists("ws/waits") && !place.exists("ws/never"));
        // A missing directory is reported all the same.
        let lost = sandbox
            .poise(spec("true", &place.ws.join("nowhere")))
            .unwrap();
        let finished = lost.go().drive(Deadlines::default(), None, |_, _| ());
        assert!(
            matches!(finished.outcome, Outcome::Setup(_)),
            "{finished:?}"
        );
    }
}

fn total_timeout() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        // The first command waits until the system is searched, which is not what is timed here.
        assert!(trial::line(&sandbox, &place, "true").succeeded());
        let ran = run_spec(
            &sandbox,
            spec(&stubborn(&marker), &place.ws),
            with_deadlines(Some(1500), None),
        );
        assert_eq!(ran.finished.cause, Cause::Timeout);
        assert!(ran.took < Duration::from_millis(2500), "{:?}", ran.took);
        assert!(ran.stdout.contains("started"), "{ran:?}");
        none_left(&marker);
    }
}

fn idle_timeout() {
    let (place, marker) = (Place::new(), marker());
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    let ran = run_spec(
        &sandbox,
        spec(&format!("echo a; sleep {marker}"), &place.ws),
        with_deadlines(Some(60_000), Some(700)),
    );
    assert_eq!(ran.finished.cause, Cause::IdleTimeout);
    assert_eq!(ran.stdout, "a\n");
    assert!(ran.took < Duration::from_secs(5), "{:?}", ran.took);
    none_left(&marker);
}

fn idle_is_reset() {
    let place = Place::new();
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    let line = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done";
    let ran = run_spec(
        &sandbox,
        spec(line, &place.ws),
        with_deadlines(None, Some(2000)),
    );
    assert_eq!(ran.finished.outcome, Outcome::Exited(0), "{ran:?}");
}

fn cancellation() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let running = sandbox.run(spec(&stubborn(&marker), &place.ws)).unwrap();
        let (cancel, mut tell) = std::io::pipe().unwrap();
        let begun = std::cell::Cell::new(Instant::now());
        let finished = running.drive(
            Deadlines::default(),
            Some(std::os::fd::AsFd::as_fd(&cancel)),
            |stream, _| {
                if stream == Stream::Stdout {
                    tell.write_all(b"x").unwrap();
                    begun.set(Instant::now());
                }
            },
        );
        assert_eq!(finished.cause, Cause::Cancelled);
        assert!(begun.get().elapsed() < Duration::from_secs(1));
        none_left(&marker);
    }
}

/// Runs until the command says that it has started.
fn until_started(running: &command::Running) {
    let mut buffer = [0; 64];
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if rustix::io::read(running.stdout(), &mut buffer).is_ok_and(|read| read > 0) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("the command did not start");
}

fn dropped() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let running = sandbox.run(spec(&stubborn(&marker), &place.ws)).unwrap();
        until_started(&running);
        assert!(!alive(&marker).is_empty());
        drop(running);
        none_left(&marker);
    }
}

fn dropped_sandbox() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let running = sandbox.run(spec(&stubborn(&marker), &place.ws)).unwrap();
        until_started(&running);
        drop(sandbox);
        drop(running);
        none_left(&marker);
    }
}

fn background_child() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let line = format!("sleep {marker} & echo done");
        let ran = run_spec(
            &sandbox,
            spec(&line, &place.ws),
            with_deadlines(Some(30_000), None),
        );
        assert_eq!(ran.finished.outcome, Outcome::Exited(0));
        assert_eq!(ran.stdout, "done\n");
        assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
        none_left(&marker);
    }
}

fn daemons() {
    for level in LEVELS {
        let (place, marker) = (Place::new(), marker());
        let sandbox = CommandSandbox::start(&rules(&place, level)).unwrap();
        let line =
            stubborn(&marker).replace(&format!("echo started; sleep {marker}"), "echo started");
        let ran = run_spec(
            &sandbox,
            spec(&line, &place.ws),
            with_deadlines(Some(30_000), None),
        );
        assert_eq!(ran.finished.outcome, Outcome::Exited(0), "{ran:?}");
        none_left(&marker);
    }
}

fn flood() {
    let place = Place::new();
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    let running = sandbox.run(spec("yes", &place.ws)).unwrap();
    let begun = Instant::now();
    let mut bytes = 0;
    let finished = running.drive(with_deadlines(Some(1000), None), None, |_, chunk| {
        assert!(chunk.len() <= 64 << 10);
        bytes += chunk.len();
    });
    assert_eq!(finished.cause, Cause::Timeout);
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(bytes > 1 << 20, "{bytes}");
}

fn many_at_once() {
    let place = Place::new();
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (sandbox, place) = (&sandbox, &place);
            scope.spawn(move || {
                let line = format!("echo {number}; exit {number}");
                let ran = run_spec(sandbox, spec(&line, &place.ws), Deadlines::default());
                assert_eq!(ran.finished.outcome, Outcome::Exited(number));
                assert_eq!(ran.stdout, format!("{number}\n"));
            });
        }
    });
    assert_eq!(
        std::fs::read_dir(&place.ws).unwrap().count(),
        0,
        "placeholders stayed"
    );
}

/// Conversations side by side, and how many commands each of them runs.
const OVERLAPPING: usize = 8;
const EACH: usize = 60;

/// Runs this program again, where it limits its descriptors before it starts a warden.
fn with_descriptors(most: &str, role: &str) {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let out = child.args(["--limited", most, role]).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (said(&out.stdout), said(&out.stderr));
    assert!(out.status.success(), "{stdout}{stderr}");
}

/// The child of [`with_descriptors`].
fn limited() -> ExitCode {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = std::env::args().nth(2).unwrap().parse().unwrap();
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let place = Place::new();
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    match std::env::args().nth(3).as_deref() {
        Some("overlap") => overlap(&place, &sandbox),
        Some("places") => too_many_places(&place, &sandbox),
        _ => too_many(&place, &sandbox),
    }
    ExitCode::SUCCESS
}

fn few_descriptors() {
    with_descriptors("256", "overlap");
}

fn overlap(place: &Place, sandbox: &CommandSandbox) {
    std::thread::scope(|scope| {
        for _ in 0..OVERLAPPING {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let ran = run_spec(sandbox, spec("true", &place.ws), Deadlines::default());
                    assert_eq!(ran.finished.outcome, Outcome::Exited(0));
                }
            });
        }
    });
}

fn busy() {
    with_descriptors("112", "busy");
}

fn few_places() {
    with_descriptors("1024", "places");
}

fn too_many_places(place: &Place, sandbox: &CommandSandbox) {
    let run = |shared: &command::Place| {
        let mut spec = spec("true", &place.ws);
        spec.place = Some(shared.clone());
        run_spec(sandbox, spec, Deadlines::default())
            .finished
            .outcome
    };
    let mut all: Vec<command::Place> = Vec::new();
    for _ in 0..256 {
        all.push(command::Place::default());
        assert_eq!(all.last().map(run), Some(Outcome::Exited(0)));
    }
    let more = command::Place::default();
    match run(&more) {
        Outcome::Setup(failure) => {
            assert_eq!(failure.step, command::Step::Busy);
            assert!(
                failure.to_string().contains("256 conversations"),
                "{failure}"
            );
        }
        other => panic!("{other:?}"),
    }
    all.pop();
    assert_eq!(run(&more), Outcome::Exited(0), "there is room again");
}

fn too_many(place: &Place, sandbox: &CommandSandbox) {
    let start = || sandbox.run(spec("sleep 600", &place.ws)).unwrap();
    let mut running: Vec<_> = (0..4).map(|_| start()).collect();
    let outcome = running
        .last_mut()
        .and_then(|last| last.wait(Duration::from_secs(20)));
    let step = match outcome {
        Some(Outcome::Setup(failure)) => failure.step,
        other => panic!("{other:?}"),
    };
    assert_eq!(step, command::Step::Busy);
    running.truncate(1);
    let ran = run_spec(sandbox, spec("true", &place.ws), Deadlines::default());
    assert_eq!(
        ran.finished.outcome,
        Outcome::Exited(0),
        "there is room again"
    );
}

fn watcher_limits() {
    let place = Place::new();
    let sandbox = CommandSandbox::start(&rules(&place, Level::Namespaces)).unwrap();
    for limit in ["RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_NPROC"] {
        let text = format!(
            "python3 -c 'import resource\ntry:\n resource.prlimit(1, resource.{limit}, (0, 0))\nexcept PermissionError: print(\"refused\")'; exit 7"
        );
        let ran = run_spec(&sandbox, spec(&text, &place.ws), Deadlines::default());
        assert_eq!(ran.finished.outcome, Outcome::Exited(7), "{limit}: {ran:?}");
        assert_eq!(ran.stdout, "refused\n", "{limit}");
    }
    let own = "python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))'";
    let ran = run_spec(&sandbox, spec(own, &place.ws), Deadlines::default());
    assert_eq!(ran.finished.outcome, Outcome::Exited(0), "{ran:?}");
}

fn killed_supervisor() {
    let (place, marker) = (Place::new(), marker());
    let sandbox = CommandSandbox::start(&rules(&place, Level::Landlock)).unwrap();
    let running = sandbox.run(spec(&stubborn(&marker), &place.ws)).unwrap();
    until_started(&running);
    // Only a process outside can do this: the command cannot signal it.
    rustix::process::pidfd_send_signal(running.end(), rustix::process::Signal::KILL).unwrap();
    none_left(&marker);
}

/// A command that forks 2⁶ − 1 processes, half of which start another program.
fn wild(marker: &str) -> String {
    format!(
        "f() {{ trap '' TERM HUP; if [ $1 = 0 ]; then exec sleep {marker}; fi; \
         f $(($1 - 1)) & f $(($1 - 1)) & wait; }}; echo started; f 5"
    )
}

/// Runs commands that do not want to end, one in the background, and waits to be killed.
fn victim() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, ws, records, marker, level, kind] = arguments.as_slice() else {
        return ExitCode::FAILURE;
    };
    let mut rules = SandboxRules::new(PathSandbox::open(&PathRules::new(ws)).unwrap());
    rules.records = Some(records.into());
    if level == "landlock" {
        rules.highest = Level::Landlock;
    }
    println!("begin");
    let sandbox = CommandSandbox::start(&rules).unwrap();
    let start = |line: &str| sandbox.run(spec(line, ws.as_ref())).unwrap();
    let _background = start(&stubborn(marker));
    let line = match kind.as_str() {
        "wild" => wild(marker),
        "short" => format!("setsid sleep {marker} & echo started"),
        _ => stubborn(marker),
    };
    loop {
        let finished = start(&line).drive(Deadlines::default(), None, |_, _| println!("output"));
        println!("{finished:?}");
    }
}

fn killed_parent() {
    let kills: u32 = std::env::var("TOOLGATE_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    // Orphans become children of this process, and are found as such.
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).unwrap();
    let mut seed = u64::from(std::process::id());
    for number in 0..kills {
        let (place, marker) = (Place::new(), marker());
        let level = ["namespaces", "namespaces", "namespaces", "landlock"];
        let level = level.into_iter().cycle().nth(number as usize).unwrap();
        let kind = ["stubborn", "wild", "short"];
        let kind = kind.into_iter().cycle().nth(number as usize).unwrap();
        let records = place.directory.path().join("records");
        let mut victim = trial::own_program(&["--victim"])
            .args([&place.ws, &records])
            .args([&marker, level, kind])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "begin");
        // From the start of the warden to long after the last daemon.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let moment = Instant::now() + Duration::from_micros((seed >> 33) % 250_000);
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        none_left(&marker);
        no_children_left();
        no_mount_left(&place);
        // The next start removes what was left in the workspace.
        let mut rules = place.rules();
        rules.records = Some(records);
        drop(CommandSandbox::start(&rules).unwrap());
        assert!(
            trial::names(&place).is_empty(),
            "{:?}",
            trial::names(&place)
        );
        no_children_left();
    }
    rustix::process::set_child_subreaper(None).unwrap();
}

/// No descendant is left: neither of the commands nor of the sandbox.
fn no_children_left() {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return,
            Ok(Some(_)) => {}
            other => assert!(Instant::now() < until, "a process is left: {other:?}"),
        }
        std::thread::yield_now();
    }
}

/// No namespace that can be looked into has a mount of this place.
fn no_mount_left(place: &Place) {
    let name = place.directory.path().to_str().unwrap();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let mounts = std::fs::read_to_string(entry.path().join("mountinfo"));
        let left = mounts.is_ok_and(|mounts| mounts.contains(name));
        assert!(!left, "{} has {name} mounted", entry.path().display());
    }
}
