//! The view of a command on its directories: roots, grants, masks, placeholders, the sweep.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Duration;

use toolgate_sandbox::command::{
    self, Deadlines, Grant, Missed, Omit, Outcome, SandboxRules, Step,
};
use toolgate_sandbox::paths::RootAccess;
use toolgate_sandbox::{PathRules, PathSandbox};
use trial::{
    ALL, Place, Trial, line, names, own_program, refused, run_spec, sandbox, spec, with_roots,
};

fn main() -> ExitCode {
    command::init();
    if std::env::args().nth(1).as_deref() == Some("--crash") {
        return crash();
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("a read-only root cannot be written", read_only_root),
    ("a root inside a root has its own access", nested_roots),
    (
        "a grant inside a known directory keeps its secrets",
        grant_inside,
    ),
    (
        "a root inside a known directory is protected by its rules",
        root_inside,
    ),
    (
        "commands are refused where they would see Toolgate's own files in the system",
        own_in_system,
    ),
    ("a grant can be read and, if it says so, written", grants),
    ("secrets in a grant are hidden", grant_secrets),
    ("a root follows its directory, not its name", moved_root),
    (
        "placeholders are there during a command and gone after",
        placeholders_go,
    ),
    (
        "placeholders that linger go with the sandbox",
        placeholders_linger,
    ),
    (
        "placeholders of a killed process are removed by the next start",
        placeholders_recover,
    ),
    ("an opened path can be made and kept", opened_path),
    (
        "a new protected name is moved aside and reported",
        sweep_moves,
    ),
    (
        "a new denied name is reported and masked next time",
        sweep_reports,
    ),
    (
        "a search that did not see everything refuses, and says so after",
        bounded_search,
    ),
    (
        "a worktree's main repository is not granted by its .git file",
        worktree,
    ),
    ("the system cannot be a root", system_is_no_root),
    ("nothing of the sandbox is left mounted", nothing_mounted),
];

fn read_only_root() {
    let place = Place::new();
    place.write("ws/f", "x");
    let rules = with_roots(&[(&place.ws, RootAccess::ReadOnly)]);
    for omit in [Omit::default(), ALL] {
        let mut rules = rules.clone();
        rules.omit = omit;
        let sandbox = sandbox(&rules);
        assert!(line(&sandbox, &place, "cat f").succeeded());
        refused(
            &sandbox,
            &place,
            &["touch g", "echo y > f", "rm f", "chmod 777 f"],
        );
    }
}

fn nested_roots() {
    let place = Place::new();
    place.write("ws/inner/f", "x");
    let inner = place.ws.join("inner");
    let rules = with_roots(&[
        (&place.ws, RootAccess::ReadOnly),
        (&inner, RootAccess::ReadWrite),
    ]);
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, "echo y > inner/f").succeeded());
    refused(&sandbox, &place, &["touch g"]);
}

fn grants() {
    let place = Place::new();
    place.write("out/f", "x");
    let out = place.out.display().to_string();
    let grant = |access| Grant {
        path: place.out.clone(),
        access,
    };
    let mut rules = place.rules();
    assert!(!line(&sandbox(&rules), &place, &format!("cat {out}/f")).succeeded());
    rules.grants = vec![grant(RootAccess::ReadOnly)];
    let reading = sandbox(&rules);
    assert!(line(&reading, &place, &format!("cat {out}/f")).succeeded());
    refused(&reading, &place, &[&format!("touch {out}/g")]);
    let mut command = spec(&format!("touch {out}/g"), &place.ws);
    command.grants = vec![grant(RootAccess::ReadWrite)];
    let writing = sandbox(&place.rules());
    assert!(run_spec(&writing, command, Deadlines::default()).succeeded());
    assert!(
        !line(&writing, &place, &format!("cat {out}/g")).succeeded(),
        "it was for one command"
    );
}

fn grant_secrets() {
    let place = Place::new();
    place.write("out/credentials.toml", "x");
    place.write("out/f", "x");
    let mut rules = place.rules();
    rules.grants = vec![Grant {
        path: place.out.clone(),
        access: RootAccess::ReadOnly,
    }];
    let out = place.out.display();
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, &format!("cat {out}/f")).succeeded());
    refused(&sandbox, &place, &[&format!("cat {out}/credentials.toml")]);
}

fn grant_inside() {
    for (granted, denied, free) in [
        (".m2", "settings.xml", "repository/f"),
        (".docker", "config.json", "contexts/f"),
        (".config", "gcloud/f", "htop/f"),
    ] {
        let place = Place::new();
        place.write(&format!("out/{granted}/{denied}"), "SECRET");
        place.write(&format!("out/{granted}/{free}"), "x");
        let path = place.out.join(granted);
        for access in [RootAccess::ReadOnly, RootAccess::ReadWrite] {
            let mut rules = place.rules();
            rules.grants = vec![Grant {
                path: path.clone(),
                access,
            }];
            let sandbox = sandbox(&rules);
            let read = |name: &str| format!("cat {}/{name}", path.display());
            assert!(line(&sandbox, &place, &read(free)).succeeded(), "{granted}");
            refused(&sandbox, &place, &[&read(denied)]);
        }
    }
}

fn root_inside() {
    let place = Place::new();
    place.write("ws/.config/f", "x");
    let directory = place.ws.join(".config");
    let paths = PathSandbox::open(&PathRules::new(&directory)).unwrap();
    let sandbox = sandbox(&SandboxRules::new(paths));
    for made in ["nvim/init.lua", "fish/config.fish", "autostart/e.desktop"] {
        let (above, _) = made.split_once('/').unwrap();
        let text = format!("mkdir -p {above}; echo x > {made}");
        let ran = run_spec(&sandbox, spec(&text, &directory), Deadlines::default());
        assert!(!directory.join(made).exists(), "{made}: {ran:?}");
    }
}

fn own_in_system() {
    let place = Place::new();
    for (own, refused) in [
        ("/opt/toolgate", true),
        ("/usr/local/share/toolgate/journal.db", true),
        ("/etc/toolgate", true),
        ("/srv/toolgate", false),
        ("/optional/toolgate", false),
    ] {
        let mut rules = PathRules::new(&place.ws);
        rules.own.closed = vec![own.into()];
        let paths = PathSandbox::open(&rules).unwrap();
        let started = command::CommandSandbox::start(&SandboxRules::new(paths)).map(drop);
        let in_system = matches!(started, Err(command::SandboxError::OwnInSystem { .. }));
        assert_eq!(in_system, refused, "{own}: {started:?}");
        assert_eq!(started.is_err(), refused, "{own}: {started:?}");
    }
}

fn moved_root() {
    let place = Place::new();
    place.write("ws/f", "mine");
    let sandbox = sandbox(&place.rules());
    let moved = place.directory.path().join("moved");
    std::fs::rename(&place.ws, &moved).unwrap();
    place.write("ws/f", "another process's");
    let ran = run_spec(&sandbox, spec("cat f", &moved), Deadlines::default());
    assert_eq!(ran.stdout, "mine");
    let ran = run_spec(&sandbox, spec("cat f", &place.ws), Deadlines::default());
    assert!(matches!(ran.finished.outcome, Outcome::Setup(_)), "{ran:?}");
}

fn placeholders_go() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "ls -A");
    for name in [".bashrc", ".git", ".vscode", "toolgate.toml"] {
        assert!(
            ran.stdout.lines().any(|line| line == name),
            "{name}: {ran:?}"
        );
    }
    assert!(names(&place).is_empty(), "{:?}", names(&place));
    // Two at once: the first to end must not take the other's away.
    let long = sandbox
        .run(spec("read x; echo x > .bashrc && echo through", &place.ws))
        .unwrap();
    assert!(line(&sandbox, &place, "true").succeeded());
    assert!(place.exists("ws/.bashrc"));
    drop(long);
    assert!(names(&place).is_empty(), "{:?}", names(&place));
}

fn placeholders_linger() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.linger = Duration::from_secs(3600);
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, "true").succeeded());
    assert!(place.exists("ws/.bashrc"));
    // A file that the user puts in its place is protected as such.
    std::fs::remove_dir(place.ws.join(".bashrc")).unwrap();
    place.write("ws/.bashrc", "mine");
    let ran = line(&sandbox, &place, "cat .bashrc; echo x >> .bashrc");
    assert_eq!(ran.stdout, "mine");
    assert!(
        !ran.succeeded() && ran.finished.settled.appeared.is_empty(),
        "{ran:?}"
    );
    drop(sandbox);
    assert_eq!(names(&place), [".bashrc"]);
}

fn crash() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let ws = arguments.get(2).unwrap();
    let mut rules = SandboxRules::new(PathSandbox::open(&PathRules::new(ws)).unwrap());
    rules.records = arguments.get(3).map(Into::into);
    let sandbox = sandbox(&rules);
    let running = sandbox.run(spec("sleep 600", ws.as_ref())).unwrap();
    std::mem::forget(running);
    std::mem::forget(sandbox);
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
    ExitCode::FAILURE
}

fn placeholders_recover() {
    let place = Place::new();
    let records = place.directory.path().join("records");
    let status = own_program(&["--crash"])
        .arg(&place.ws)
        .arg(&records)
        .status()
        .unwrap();
    assert!(!status.success());
    assert!(place.exists("ws/.bashrc"), "nothing was left to recover");
    place.write("ws/.vscode/mine.json", "{}");
    let mut rules = place.rules();
    rules.records = Some(records.clone());
    let sandbox = sandbox(&rules);
    assert_eq!(
        names(&place),
        [".vscode"],
        "a directory that the user filled stays"
    );
    assert!(line(&sandbox, &place, "true").succeeded());
    drop(sandbox);
    let left: Vec<_> = std::fs::read_dir(&records).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
}

fn opened_path() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.opened = vec![".git".into()];
    let sandbox = sandbox(&rules);
    let line_text =
        "git init -q . && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m x";
    let ran = line(&sandbox, &place, line_text);
    assert!(ran.succeeded(), "{ran:?}");
    assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    assert!(place.exists("ws/.git/config"));
}

fn sweep_moves() {
    let place = Place::new();
    place.write("ws/sub/x", "");
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "mkdir -p sub/.vscode && echo 1 > sub/.vscode/tasks.json && echo 2 > sub/.bashrc",
    );
    assert!(ran.succeeded(), "{ran:?}");
    assert!(!place.exists("ws/sub/.vscode") && !place.exists("ws/sub/.bashrc"));
    let appeared = &ran.finished.settled.appeared;
    assert_eq!(appeared.len(), 2, "{appeared:?}");
    for one in appeared {
        assert!(
            one.moved_to.as_ref().is_some_and(|to| to.exists()),
            "{one:?}"
        );
    }
}

fn sweep_reports() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "echo K=1 > .env");
    let appeared = &ran.finished.settled.appeared;
    assert!(matches!(appeared.as_slice(), [one] if one.rule == ".env" && one.moved_to.is_none()));
    assert!(place.exists("ws/.env"));
    refused(&sandbox, &place, &["cat .env"]);
}

fn bounded_search() {
    let place = Place::new();
    for number in 0..40 {
        place.write(&format!("ws/f{number}"), "");
    }
    let mut rules = place.rules();
    let ran = line(&sandbox(&rules), &place, "true");
    assert_eq!(ran.finished.settled.missed, None);
    // Placeholders count as well.
    rules.scan_entries = 50;
    let refused = sandbox(&rules).run(spec("true", &place.ws));
    let text = refused.expect_err("no command").to_string();
    assert!(
        text.contains("not complete") && text.contains("50 names"),
        "{text}"
    );
    rules.scan_entries = 100;
    let ran = line(&sandbox(&rules), &place, "touch {1..100}; exit 0");
    assert!(ran.succeeded(), "{ran:?}");
    assert!(
        matches!(ran.finished.settled.missed, Some(Missed::TooMany { .. })),
        "{ran:?}"
    );
}

fn worktree() {
    let place = Place::new();
    place.setup("git init -q out/main && cd out/main && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m x && git worktree add -q ../../ws/tree");
    let tree = place.ws.join("tree");
    let commit = "git -c user.email=a@b -c user.name=a commit -q --allow-empty -m y";
    let ran = run_spec(
        &sandbox(&place.rules()),
        spec(commit, &tree),
        Deadlines::default(),
    );
    assert!(!ran.succeeded(), "{ran:?}");
    let mut rules = place.rules();
    rules.grants = vec![Grant {
        path: place.out.join("main/.git"),
        access: RootAccess::ReadWrite,
    }];
    let ran = run_spec(&sandbox(&rules), spec(commit, &tree), Deadlines::default());
    assert!(ran.succeeded(), "{ran:?}");
}

fn system_is_no_root() {
    let place = Place::new();
    for path in ["/", "/proc", "/dev", "/sys"] {
        let sandbox = sandbox(&with_roots(&[(path.as_ref(), RootAccess::ReadOnly)]));
        let ran = run_spec(&sandbox, spec("true", "/".as_ref()), Deadlines::default());
        let Outcome::Setup(failure) = &ran.finished.outcome else {
            panic!("{path}: {ran:?}");
        };
        assert_eq!(failure.step, Step::Directory, "{path}");
    }
    drop(place);
}

fn nothing_mounted() {
    let place = Place::new();
    std::fs::set_permissions(&place.ws, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox(&place.rules());
    assert!(line(&sandbox, &place, "true").succeeded());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(place.directory.path().to_str().unwrap()));
}
