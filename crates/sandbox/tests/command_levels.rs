//! The lower level: what it does, and what it cannot do, beside the upper one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::ExitCode;

use toolgate_sandbox::command::{self, CommandSandbox, Level, Network, Omit, SandboxError, probe};
use trial::{ALL, Place, Trial, line, only, refused, spec};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("the lower level runs legitimate work", lower_level_works),
    (
        "the lower level cannot hide a secret inside a root",
        lower_level_hole,
    ),
    (
        "the lower level cannot protect a name inside a root",
        lower_level_writes,
    ),
    (
        "the lower level shows the names of other processes",
        lower_level_names,
    ),
    (
        "landlock knows TCP only, and seccomp closes the rest",
        lower_level_udp,
    ),
    (
        "the lower level has no loopback of its own",
        lower_level_loopback,
    ),
    (
        "a level that is not accepted refuses",
        refuses_below_the_lowest,
    ),
];

fn lower_level_works() {
    let place = Place::new();
    let sandbox = only(&place, Level::Landlock, Omit::default());
    let ran = line(
        &sandbox,
        &place,
        "echo 1 > f && t=$(mktemp) && echo x > $t && echo \"$HOME\" && git init -q g && seq 3 | sort | wc -l && python3 -c 'print(7)'",
    );
    assert!(ran.succeeded(), "{ran:?}");
    let home = ran.stdout.lines().next().unwrap().to_owned();
    assert!(home.starts_with("/tmp/toolgate-"), "{home}");
    assert!(
        !std::path::Path::new(&home).exists(),
        "the private directory is left"
    );
}

fn lower_level_hole() {
    let place = Place::new();
    place.write("ws/.env", "K=1");
    let sandbox = only(&place, Level::Landlock, Omit::default());
    // This is why every command needs approval on this level.
    assert!(line(&sandbox, &place, "cat .env").succeeded());
    let sandbox = only(&place, Level::Namespaces, Omit::default());
    assert!(!line(&sandbox, &place, "cat .env").succeeded());
}

fn lower_level_writes() {
    let place = Place::new();
    let sandbox = only(&place, Level::Landlock, Omit::default());
    // At least it is seen afterwards: what would be run later is moved aside.
    let ran = line(&sandbox, &place, "echo evil > .bashrc");
    assert!(ran.succeeded());
    let appeared = &ran.finished.settled.appeared;
    assert!(
        matches!(appeared.as_slice(), [one] if one.moved_to.is_some()),
        "{appeared:?}"
    );
    assert!(!place.exists("ws/.bashrc"));
    let sandbox = only(&place, Level::Namespaces, Omit::default());
    assert!(!line(&sandbox, &place, "echo evil > .bashrc").succeeded());
}

fn lower_level_names() {
    let place = Place::new();
    let look = format!("ls /proc | grep -x {}", std::process::id());
    let sandbox = only(&place, Level::Landlock, Omit::default());
    assert!(line(&sandbox, &place, &look).succeeded());
    let sandbox = only(&place, Level::Namespaces, Omit::default());
    assert!(!line(&sandbox, &place, &look).succeeded());
}

fn lower_level_udp() {
    let place = Place::new();
    let listener = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let send = format!(
        "python3 -c 'import socket;socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(b\"x\",(\"127.0.0.1\",{port}))'"
    );
    let omit = Omit {
        seccomp: true,
        landlock: false,
    };
    let sandbox = only(&place, Level::Landlock, omit);
    assert!(
        line(&sandbox, &place, &send).succeeded(),
        "the hole is gone"
    );
    for level in [Level::Landlock, Level::Namespaces] {
        refused(&only(&place, level, Omit::default()), &place, &[&send]);
    }
    // Namespaces need no help with it.
    refused(&only(&place, Level::Namespaces, ALL), &place, &[&send]);
}

fn lower_level_loopback() {
    let place = Place::new();
    let sandbox = only(&place, Level::Landlock, Omit::default());
    let mut command = spec("true", &place.ws);
    command.network = Some(Network::Loopback);
    assert!(matches!(
        sandbox.run(command),
        Err(SandboxError::NoLoopback)
    ));
}

fn refuses_below_the_lowest() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.highest = Level::Landlock;
    rules.lowest = Level::Namespaces;
    let refused = CommandSandbox::start(&rules);
    assert!(
        matches!(refused, Err(SandboxError::Unavailable { .. })),
        "{refused:?}"
    );
    assert!(probe(&rules).refuses());
}
