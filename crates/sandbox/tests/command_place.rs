//! Commands of one conversation share `/tmp`, the home directory and a network; conversations share
//! nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod trial;

use std::io::{BufRead, BufReader, Write};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use toolgate_sandbox::command::{
    self, CommandSandbox, Deadlines, Grant, Level, Limits, Network, Outcome, Place as Shared,
    Running,
};
use toolgate_sandbox::paths::RootAccess;

use trial::{Place, Ran, Trial, own_program, run_spec, sandbox, spec};

/// The argument of the program that is killed.
const HOLD: &str = "hold";

fn main() -> ExitCode {
    command::init();
    if std::env::args().nth(1).as_deref() == Some(HOLD) {
        hold();
        return ExitCode::SUCCESS;
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "a server in the background is reached by the next command",
        server,
    ),
    ("a server is not reached from elsewhere", server_elsewhere),
    ("with the network on a place shares files only", network_on),
    ("files are seen by the next command", files),
    ("files are not seen from elsewhere", files_elsewhere),
    ("a place outlives its templates", templates),
    ("the limit of memory is the place's", limit),
    ("the second command finds a sandbox prepared", prepared),
    ("what a command does to its place leads nowhere", exchanged),
    ("nothing is left of a place that ended", ended),
    ("a place stays while a command runs in it", still_running),
    ("a place of a killed warden begins anew", killed_warden),
    ("a killed program leaves nothing", killed),
    ("hundreds of conversations have a place", hundreds),
    ("on level 2 commands share nothing", level_two),
];

/// Prints that it listens, and then serves the directory it was started in.
const SERVE: &str = "exec python3 -u -c 'import http.server as h
s = h.ThreadingHTTPServer((\"127.0.0.1\", 8000), h.SimpleHTTPRequestHandler)
print(\"listening\")
s.serve_forever()'";
const FETCH: &str = "python3 -c 'import urllib.request as u
print(u.urlopen(\"http://127.0.0.1:8000/page\", timeout=10).read().decode(), end=\"\")'";

/// More than fit where descriptors are scarce. Each keeps what its first command left.
fn hundreds() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let all: Vec<Shared> = (0..300).map(|_| Shared::default()).collect();
    for (number, shared) in all.iter().enumerate() {
        works(
            &sandbox,
            &place,
            shared,
            &format!("echo {number} > /tmp/mine"),
        );
    }
    for (number, shared) in all.iter().enumerate().step_by(50) {
        let mine = works(&sandbox, &place, shared, "cat /tmp/mine");
        assert_eq!(mine, format!("{number}\n"));
    }
}

fn deadlines() -> Deadlines {
    Deadlines {
        total: Some(Duration::from_secs(60)),
        idle: None,
    }
}

fn run(sandbox: &CommandSandbox, place: &Place, shared: Option<&Shared>, line: &str) -> Ran {
    let mut spec = spec(line, &place.ws);
    spec.place = shared.cloned();
    run_spec(sandbox, spec, deadlines())
}

fn works(sandbox: &CommandSandbox, place: &Place, shared: &Shared, line: &str) -> String {
    let ran = run(sandbox, place, Some(shared), line);
    assert!(ran.succeeded(), "{line}: {ran:?}");
    ran.stdout
}

fn fails(sandbox: &CommandSandbox, place: &Place, shared: Option<&Shared>, line: &str) {
    let ran = run(sandbox, place, shared, line);
    let failed = matches!(ran.finished.outcome, Outcome::Exited(code) if code != 0);
    assert!(failed, "{line}: {ran:?}");
}

/// Starts a command and waits until it has written something.
fn start(sandbox: &CommandSandbox, place: &Place, shared: &Shared, line: &str) -> Running {
    let mut spec = spec(line, &place.ws);
    spec.place = Some(shared.clone());
    let running = sandbox.run(spec).unwrap();
    let mut buffer = [0; 64];
    wait_until("the command writes", || {
        rustix::io::read(running.stdout(), &mut buffer).is_ok_and(|read| read > 0)
    });
    running
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

fn children(of: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parent == Some(of)
    };
    pids.filter(is_child).collect()
}

fn descendants(of: u32) -> Vec<u32> {
    let mut found = children(of);
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children(*parent));
        next += 1;
    }
    found
}

fn warden() -> u32 {
    let wardens = children(std::process::id());
    assert_eq!(wardens.len(), 1, "{wardens:?}");
    wardens[0]
}

/// How many descriptors a process has.
fn descriptors(of: u32) -> usize {
    std::fs::read_dir(format!("/proc/{of}/fd")).unwrap().count()
}

fn server() {
    let place = Place::new();
    place.write("ws/page", "served");
    for network in [Network::Off, Network::Loopback] {
        let mut rules = place.rules();
        rules.network = network;
        let sandbox = sandbox(&rules);
        let shared = Shared::default();
        let server = start(&sandbox, &place, &shared, SERVE);
        for _ in 0..3 {
            assert_eq!(works(&sandbox, &place, &shared, FETCH), "served");
        }
        drop(server);
        wait_until("the server is gone", || {
            !run(&sandbox, &place, Some(&shared), FETCH).succeeded()
        });
        // Its port is free again.
        drop(start(&sandbox, &place, &shared, SERVE));
    }
}

fn server_elsewhere() {
    let place = Place::new();
    place.write("ws/page", "served");
    let sandbox = sandbox(&place.rules());
    let (one, other) = (Shared::default(), Shared::default());
    let _server = start(&sandbox, &place, &one, SERVE);
    assert_eq!(works(&sandbox, &place, &one, FETCH), "served");
    fails(&sandbox, &place, Some(&other), FETCH);
    fails(&sandbox, &place, None, FETCH);
    // Nor does the machine reach it, or the place the machine.
    assert!(std::net::TcpStream::connect("127.0.0.1:8000").is_err());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    fails(&sandbox, &place, Some(&one), &connect);
    for line in [
        "exec 3<>/dev/tcp/192.0.2.1/80",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"192.0.2.1\", 53))'",
        "ip link add dummy0 type dummy || python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
    ] {
        fails(&sandbox, &place, Some(&one), line);
    }
    // Both can have the same port.
    let _second = start(&sandbox, &place, &other, SERVE);
    assert_eq!(works(&sandbox, &place, &other, FETCH), "served");
}

fn network_on() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.network = Network::On;
    let sandbox = sandbox(&rules);
    let shared = Shared::default();
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let seen = works(
        &sandbox,
        &place,
        &shared,
        "echo a > /tmp/a; readlink /proc/self/ns/net",
    );
    assert_eq!(seen.trim(), own.to_str().unwrap());
    assert_eq!(works(&sandbox, &place, &shared, "cat /tmp/a"), "a\n");
    let mut off = spec("cat /tmp/a; readlink /proc/self/ns/net", &place.ws);
    (off.place, off.network) = (Some(shared), Some(Network::Off));
    let ran = run_spec(&sandbox, off, deadlines());
    assert!(ran.stdout.starts_with("a\n"), "{ran:?}");
    assert!(!ran.stdout.contains(own.to_str().unwrap()), "{ran:?}");
}

const WRITE: &str = "echo t > /tmp/t; echo h > ~/h; echo s > /dev/shm/s; echo v > /var/tmp/v";
const READ: &str = "cat /tmp/t ~/h /dev/shm/s /var/tmp/v";

fn files() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let shared = Shared::default();
    works(&sandbox, &place, &shared, WRITE);
    for _ in 0..3 {
        assert_eq!(works(&sandbox, &place, &shared, READ), "t\nh\ns\nv\n");
    }
    // Also while a command runs, in both directions.
    let running = start(
        &sandbox,
        &place,
        &shared,
        "echo up; until [ -e /tmp/go ]; do :; done; echo went > /tmp/went",
    );
    works(&sandbox, &place, &shared, "touch /tmp/go");
    assert_eq!(
        running.drive(deadlines(), None, |_, _| {}).outcome,
        Outcome::Exited(0)
    );
    assert_eq!(works(&sandbox, &place, &shared, "cat /tmp/went"), "went\n");
}

fn files_elsewhere() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let (one, other) = (Shared::default(), Shared::default());
    works(&sandbox, &place, &one, WRITE);
    for shared in [Some(&other), None] {
        let seen = run(
            &sandbox,
            &place,
            shared,
            "ls -A ~ /dev/shm /var/tmp; ls /tmp/t",
        );
        assert!(!seen.succeeded());
        for name in ["h", "s", "v"] {
            let found = seen.stdout.lines().any(|line| line == name);
            assert!(!found, "{name}: {seen:?}");
        }
    }
    for path in ["/tmp/t", "/dev/shm/s", "/var/tmp/v", "/run/home/h"] {
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
    // Processes, semaphores and what other commands have open are not shared.
    let _running = start(
        &sandbox,
        &place,
        &one,
        "echo up; exec sleep 1000 # hidden-from-others",
    );
    let lines = works(
        &sandbox,
        &place,
        &one,
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
    );
    assert!(!lines.contains("hidden-from-others"), "{lines}");
}

fn templates() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let shared = Shared::default();
    works(&sandbox, &place, &shared, "echo kept > /tmp/kept");
    place.write("ws/.env", "secret");
    assert_eq!(
        works(&sandbox, &place, &shared, "cat /tmp/kept; ! cat .env"),
        "kept\n"
    );
    place.write("out/file", "beyond");
    let mut granted = spec(
        &format!("cat /tmp/kept {}/file", place.out.display()),
        &place.ws,
    );
    granted.place = Some(shared.clone());
    granted.grants = vec![Grant {
        path: place.out.clone(),
        access: RootAccess::ReadOnly,
    }];
    let ran = run_spec(&sandbox, granted, deadlines());
    assert_eq!(ran.stdout, "kept\nbeyond", "{ran:?}");
    fails(
        &sandbox,
        &place,
        Some(&shared),
        &format!("cat {}/file", place.out.display()),
    );
    assert_eq!(works(&sandbox, &place, &shared, "cat /tmp/kept"), "kept\n");
}

fn limit() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.limits = Limits {
        scratch_bytes: 8 << 20,
        ..Limits::default()
    };
    let sandbox = sandbox(&rules);
    let shared = Shared::default();
    works(
        &sandbox,
        &place,
        &shared,
        "head -c 6291456 /dev/zero > /tmp/a",
    );
    fails(
        &sandbox,
        &place,
        Some(&shared),
        "head -c 6291456 /dev/zero > ~/b",
    );
    works(
        &sandbox,
        &place,
        &shared,
        "rm ~/b /tmp/a; head -c 6291456 /dev/zero > ~/b",
    );
}

fn prepared() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.linger = Duration::from_secs(3600);
    let sandbox = sandbox(&rules);
    let shared = Shared::default();
    works(&sandbox, &place, &shared, "true");
    let warden = warden();
    // The first process of a sandbox has the shell that waits for a command.
    let waiting = || -> Vec<u32> {
        let inits = children(warden).into_iter().flat_map(children);
        inits.filter(|init| !children(*init).is_empty()).collect()
    };
    wait_until("one is prepared", || waiting().len() == 1);
    let ready = waiting();
    let running = start(&sandbox, &place, &shared, "echo up; exec sleep 1000");
    let shells = children(ready[0]);
    let line = std::fs::read(format!("/proc/{}/cmdline", shells[0])).unwrap();
    assert!(String::from_utf8_lossy(&line).contains("sleep"), "{line:?}");
    drop(running);
}

fn exchanged() {
    let place = Place::new();
    place.write("ws/file", "content");
    let sandbox = sandbox(&place.rules());
    let parent = place.directory.path().display();
    let shared = Shared::default();
    // The workspace lies in `/tmp`, so the directory above it is the place's own.
    works(
        &sandbox,
        &place,
        &shared,
        &format!("mv {parent} /tmp/moved"),
    );
    assert_eq!(works(&sandbox, &place, &shared, "cat file"), "content");
    assert_eq!(place.read("ws/file"), "content");
    for line in [
        format!("mv {parent} /tmp/moved-{{0}} && ln -s /etc {parent}"),
        format!("mv {parent} /tmp/moved-{{0}} && touch {parent}"),
        "mv /run/home /run/moved-{0} && ln -s /etc /run/home".to_owned(),
        "rm -rf /run/home /tmp/* /var/tmp/* /dev/shm/* 2>/dev/null; true".to_owned(),
        "chmod 0 /run /tmp /dev/shm".to_owned(),
    ] {
        let shared = Shared::default();
        place.write("ws/file", "content");
        works(&sandbox, &place, &shared, &line.replace("{0}", "x"));
        place.write("ws/file", "content");
        // It runs in the workspace, or not at all.
        let ran = run(
            &sandbox,
            &place,
            Some(&shared),
            "pwd; cat file; ls /etc/ssl >&2",
        );
        let whole = format!("{}\ncontent", place.ws.display());
        let refused = matches!(ran.finished.outcome, Outcome::Setup(_));
        assert!(refused || ran.stdout == whole, "{line}: {ran:?}");
        assert_eq!(place.read("ws/file"), "content", "{line}");
        // Another conversation is not concerned.
        assert_eq!(
            works(&sandbox, &place, &Shared::default(), "cat file"),
            "content"
        );
    }
}

fn ended() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    assert!(run(&sandbox, &place, None, "true").succeeded());
    let warden = warden();
    let quiet = || children(warden).len() <= 1;
    wait_until("the first commands are taken down", quiet);
    let network = || {
        let first = Shared::default();
        works(
            &sandbox,
            &place,
            &first,
            "echo x > /tmp/x; readlink /proc/self/ns/net",
        )
    };
    let before = descriptors(warden);
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.push(network());
    }
    wait_until("the warden holds what it held", || {
        descriptors(warden) <= before && children(warden).len() <= 1
    });
    seen.sort();
    for process in descendants(warden).into_iter().chain([warden]) {
        let held = std::fs::read_dir(format!("/proc/{process}/fd"));
        let held = held.into_iter().flatten().flatten();
        for link in held.filter_map(|entry| std::fs::read_link(entry.path()).ok()) {
            let link = format!("{}\n", link.display());
            assert!(seen.binary_search(&link).is_err(), "{process}: {link}");
        }
    }
}

fn still_running() {
    let place = Place::new();
    place.write("ws/page", "served");
    let sandbox = sandbox(&place.rules());
    let shared = Shared::default();
    let running = start(
        &sandbox,
        &place,
        &shared,
        "echo up; echo x > /tmp/x; until [ -e end ]; do :; done; cat /tmp/x > seen",
    );
    drop(shared);
    place.write("ws/end", "");
    assert_eq!(
        running.drive(deadlines(), None, |_, _| {}).outcome,
        Outcome::Exited(0)
    );
    assert_eq!(place.read("ws/seen"), "x\n");
}

fn killed_warden() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let shared = Shared::default();
    works(&sandbox, &place, &shared, "touch /tmp/x");
    let pid = rustix::process::Pid::from_raw(i32::try_from(warden()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_until("the warden is gone", || {
        children(std::process::id()).iter().all(|child| {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.is_ok_and(|stat| stat.contains(") Z "))
        })
    });
    works(&sandbox, &place, &shared, "! ls /tmp/x && touch /tmp/y");
    works(&sandbox, &place, &shared, "ls /tmp/y");
}

/// What [`killed`] kills: a program whose conversation has a server.
fn hold() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let shared = Shared::default();
    let _server = start(&sandbox, &place, &shared, SERVE);
    println!("{}", place.directory.path().display());
    std::io::stdout().flush().unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn killed() {
    let mut program = own_program(&[HOLD])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(program.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let all = descendants(program.id());
    assert!(all.len() >= 4, "{all:?}");
    program.kill().unwrap();
    program.wait().unwrap();
    let alive = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    wait_until("everything is gone", || !all.iter().any(alive));
    std::fs::remove_dir_all(line.trim()).unwrap();
}

fn level_two() {
    let place = Place::new();
    let mut rules = place.rules();
    (rules.highest, rules.lowest) = (Level::Landlock, Level::Landlock);
    let sandbox = sandbox(&rules);
    let shared = Shared::default();
    works(&sandbox, &place, &shared, "echo x > ~/x");
    fails(&sandbox, &place, Some(&shared), "cat ~/x");
}
