//! Prepared sandboxes: they have the directories of the last command,
//! and protect the next command as well as a new sandbox would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use toolgate_sandbox::command::{
    self, CommandSandbox, Deadlines, Grant, Limits, Network, Outcome, SandboxRules,
};
use toolgate_sandbox::paths::RootAccess;
use trial::{Place, Trial, line, refused, run_spec, sandbox, spec};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "a command may use every processor that its program may",
        processors,
    ),
    (
        "the next command runs in the sandbox that was furnished ahead",
        is_used,
    ),
    ("a secret that appears meanwhile is hidden", new_secret),
    (
        "a secret that is replaced meanwhile is hidden",
        replaced_secret,
    ),
    (
        "a secret that is gone meanwhile leaves nothing behind",
        gone_secret,
    ),
    (
        "a repository that is replaced meanwhile is protected",
        replaced_repository,
    ),
    (
        "a directory on the way that is replaced meanwhile is pinned again",
        replaced_parent,
    ),
    (
        "a name that was taken meanwhile is not kept vacant",
        taken_name,
    ),
    (
        "a placeholder that was removed meanwhile is made again",
        placeholders_again,
    ),
    ("a grant is not handed on to the next command", other_grant),
    ("limits are those of the command", other_limits),
    ("the network is that of the command", other_network),
    ("a killed sandbox is replaced", killed_sandbox),
    ("a killed template is replaced", killed_template),
    (
        "a network is reused when it is empty, and never shared",
        networks,
    ),
    (
        "many commands at once each get a sandbox of their own",
        many_at_once,
    ),
    ("private files are gone for the next command", private),
];

/// A sandbox that has run a command and has populated a sandbox after it.
struct Ahead {
    place: Place,
    sandbox: CommandSandbox,
}

fn processors() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let all = own.lines().find(|line| line.starts_with("Cpus_allowed:"));
    for _ in 0..5 {
        let ran = line(&sandbox, &place, "grep Cpus_allowed: /proc/self/status");
        assert_eq!(ran.stdout.lines().next(), all, "{ran:?}");
    }
}

fn ahead(setup: &str) -> Ahead {
    ahead_with(setup, |_| {})
}

fn ahead_with(setup: &str, change: impl Fn(&mut SandboxRules)) -> Ahead {
    let place = Place::new();
    place.setup(setup);
    let mut rules = place.rules();
    // Longer than any trial.
    rules.linger = Duration::from_secs(3600);
    change(&mut rules);
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, "true").succeeded());
    populated(&[]);
    Ahead { place, sandbox }
}

/// Parents of all processes.
fn parents() -> BTreeMap<u32, u32> {
    let mut parents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    parents
}

fn children(of: u32) -> Vec<u32> {
    let parents = parents();
    let all = parents.iter().filter(|(_, parent)| **parent == of);
    all.map(|(pid, _)| *pid).collect()
}

/// Waits for a sandbox that is none of these and has the process that will be a shell,
/// which is the last thing it gets.
fn populated(old: &[u32]) -> u32 {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        for warden in children(std::process::id()) {
            let templates = children(warden).into_iter();
            let inits = templates.flat_map(children);
            let mut ready = inits.filter(|init| !old.contains(init) && !children(*init).is_empty());
            if let Some(init) = ready.next() {
                return init;
            }
        }
        std::thread::yield_now();
    }
    panic!("no sandbox was furnished");
}

fn is_used() {
    let Ahead { place, sandbox } = ahead("");
    let init = populated(&[]);
    let running = sandbox
        .run(spec("echo started; sleep 60", &place.ws))
        .unwrap();
    let mut buffer = [0; 64];
    while !rustix::io::read(running.stdout(), &mut buffer).is_ok_and(|read| read > 0) {
        std::thread::yield_now();
    }
    let shells = children(init);
    let [shell] = shells.as_slice() else {
        panic!("{shells:?}");
    };
    let command = std::fs::read_to_string(format!("/proc/{shell}/cmdline")).unwrap();
    assert!(command.contains("sleep"), "{command}");
}

fn new_secret() {
    let Ahead { place, sandbox } = ahead("");
    place.write("ws/.env", "K=1");
    place.write("ws/a/id_rsa", "K=1");
    refused(&sandbox, &place, &["cat .env", "cat a/id_rsa", "mv .env x"]);
}

fn replaced_secret() {
    for again in ["", "mkdir ws/.env", "echo other > ws/x; mv ws/x ws/.env"] {
        let Ahead { place, sandbox } = ahead("echo K=1 > ws/.env; mkdir ws/a; echo K > ws/a/.env");
        place.setup("rm ws/.env; echo K=2 > ws/.env; mv ws/a ws/b; mv ws/b ws/a");
        if !again.is_empty() {
            place.setup(&format!("rm -f ws/.env; {again}"));
        }
        refused(
            &sandbox,
            &place,
            &["cat .env a/.env", "ls .env/", "cat a/.env"],
        );
    }
}

fn gone_secret() {
    let Ahead { place, sandbox } = ahead("echo K=1 > ws/.env; mkdir ws/a; echo K=1 > ws/a/.env");
    place.setup("rm -r ws/.env ws/a; mkdir ws/a; echo x > ws/a/env");
    let ran = line(&sandbox, &place, "cat a/env; ls -A a; rm -r a; test ! -e a");
    assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("x\nenv\n", true));
}

const REPOSITORY: &str = "git init -q ws; touch ws/.git/hooks/x";

fn replaced_repository() {
    let Ahead { place, sandbox } = ahead(REPOSITORY);
    place.setup(&format!("mv ws/.git old; {REPOSITORY}"));
    refused(
        &sandbox,
        &place,
        &[
            "echo x > .git/hooks/pre-commit",
            "mv .git x && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
            "echo x >> .git/config",
            "rm .git/hooks/x",
        ],
    );
    assert!(line(&sandbox, &place, "git status").succeeded());
}

fn replaced_parent() {
    let Ahead { place, sandbox } = ahead("mkdir -p ws/a/b; git init -q ws/a/b");
    place.setup("mv ws/a ws/c; mkdir ws/a; mv ws/c/b ws/a/b; rmdir ws/c");
    refused(
        &sandbox,
        &place,
        &["mv a x && mkdir -p a/b/.git/hooks && echo x > a/b/.git/hooks/pre-commit"],
    );
}

fn taken_name() {
    let Ahead { place, sandbox } = ahead("");
    place.setup("rmdir ws/.vscode; mkdir ws/.vscode; echo 1 > ws/.vscode/tasks.json");
    let ran = line(
        &sandbox,
        &place,
        "cat .vscode/tasks.json; echo 2 > .vscode/x",
    );
    assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("1\n", false));
}

fn placeholders_again() {
    let Ahead { place, sandbox } = ahead("");
    place.setup("rmdir ws/.bashrc ws/.git ws/.mcp.json");
    refused(
        &sandbox,
        &place,
        &[
            "echo x > .bashrc",
            "rmdir .bashrc",
            "mkdir .git/hooks",
            "mv .mcp.json x",
        ],
    );
}

fn other_grant() {
    let Ahead { place, sandbox } = ahead("echo x > out/f");
    let look = format!("cat {}/f", place.out.display());
    let mut granted = spec(&look, &place.ws);
    granted.grants = vec![Grant {
        path: place.out.clone(),
        access: RootAccess::ReadOnly,
    }];
    assert!(run_spec(&sandbox, granted, Deadlines::default()).succeeded());
    populated(&[]);
    refused(&sandbox, &place, &[&look]);
}

fn other_limits() {
    let Ahead { place, sandbox } = ahead("");
    let mut small = spec("ulimit -n; head -c 100000 /dev/zero > f", &place.ws);
    small.limits = Some(Limits {
        open_files: 33,
        file_size: 1000,
        ..Limits::default()
    });
    let ran = run_spec(&sandbox, small, Deadlines::default());
    assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("33\n", false));
    populated(&[]);
    let ran = line(&sandbox, &place, "ulimit -n; head -c 100000 /dev/zero > f");
    assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("4096\n", true));
}

fn other_network() {
    let Ahead { place, sandbox } = ahead("");
    let listen = "python3 -c 'import socket;s=socket.socket();s.bind((\"127.0.0.1\",0));s.listen();socket.create_connection(s.getsockname(),2)'";
    let mut own = spec(listen, &place.ws);
    own.network = Some(Network::Loopback);
    assert!(run_spec(&sandbox, own, Deadlines::default()).succeeded());
    populated(&[]);
    refused(&sandbox, &place, &[listen]);
}

fn killed_sandbox() {
    let Ahead { place, sandbox } = ahead("");
    let init = populated(&[]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(init).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ran = line(&sandbox, &place, "echo here");
    assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("here\n", true));
}

fn killed_template() {
    let Ahead { place, sandbox } = ahead("");
    let init = populated(&[]);
    let template = parents().get(&init).copied().unwrap();
    let template = rustix::process::Pid::from_raw(i32::try_from(template).unwrap()).unwrap();
    rustix::process::kill_process(template, rustix::process::Signal::KILL).unwrap();
    // Everything that came out of it ends with it.
    while parents().contains_key(&init) {
        std::thread::yield_now();
    }
    for _ in 0..3 {
        let ran = line(&sandbox, &place, "echo here");
        assert_eq!((ran.stdout.as_str(), ran.succeeded()), ("here\n", true));
    }
}

fn networks() {
    let Ahead { place, sandbox } = ahead("");
    const OWN: &str = "readlink /proc/self/ns/net";
    let own = || line(&sandbox, &place, OWN).stdout;
    let machine = std::fs::read_link("/proc/self/ns/net").unwrap();
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..6 {
        seen.push(own());
        populated(&[]);
    }
    assert!(!seen.contains(&format!("{}\n", machine.display())));
    assert!(
        seen.iter().all(|network| network.starts_with("net:[")),
        "{seen:?}"
    );
    seen.sort();
    seen.dedup();
    assert!(seen.len() < 6, "{seen:?}");
    // Of those that run at the same time none has another's.
    let waiting = format!("{OWN}; read -r line");
    let mut held = Vec::new();
    for _ in 0..4 {
        let (stdin, keep) = rustix::pipe::pipe().unwrap();
        let mut spec = spec(&waiting, &place.ws);
        spec.stdin = Some(stdin);
        let running = sandbox.run(spec).unwrap();
        let mut text = Vec::new();
        while text.last() != Some(&b'\n') {
            let mut buffer = [0; 64];
            if let Ok(read) = rustix::io::read(running.stdout(), &mut buffer) {
                text.extend(buffer.iter().take(read));
            }
        }
        held.push((text, running, keep));
    }
    let mut networks: Vec<&Vec<u8>> = held.iter().map(|(text, ..)| text).collect();
    networks.sort();
    networks.dedup();
    assert_eq!(networks.len(), 4);
}

fn many_at_once() {
    let Ahead { place, sandbox } = ahead("");
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (sandbox, place) = (&sandbox, &place);
            scope.spawn(move || {
                for _ in 0..4 {
                    let text = format!("echo {number} > /tmp/f; cat /tmp/f; exit {number}");
                    let ran = line(sandbox, place, &text);
                    assert_eq!(ran.stdout, format!("{number}\n"));
                    assert_eq!(ran.finished.outcome, Outcome::Exited(number));
                }
            });
        }
    });
}

fn private() {
    let Ahead { place, sandbox } = ahead("");
    let leave = "for d in /tmp /run/home /dev/shm /var/tmp; do echo x > $d/left || exit 1; done";
    assert!(line(&sandbox, &place, leave).succeeded());
    populated(&[]);
    let look = "ls /tmp/left /run/home/left /dev/shm/left /var/tmp/left 2>/dev/null | grep .";
    refused(&sandbox, &place, &[look]);
}
