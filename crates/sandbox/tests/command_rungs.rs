//! The lower rung: what it does, and what it cannot do, beside the upper one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::ExitCode;

use toolgate_sandbox::command::{self, CommandWall, Network, Omit, Rung, WallError, probe};
use trial::{ALL, Place, Trial, line, only, refused, spec};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("the lower rung runs legitimate work", lower_rung_works),
    (
        "the lower rung cannot hide a secret inside a root",
        lower_rung_hole,
    ),
    (
        "the lower rung cannot protect a name inside a root",
        lower_rung_writes,
    ),
    (
        "the lower rung shows the names of other processes",
        lower_rung_names,
    ),
    (
        "landlock knows TCP only, and seccomp closes the rest",
        lower_rung_udp,
    ),
    (
        "the lower rung has no loopback of its own",
        lower_rung_loopback,
    ),
    (
        "a rung that is not accepted refuses",
        refuses_below_the_lowest,
    ),
];

fn lower_rung_works() {
    let place = Place::new();
    let wall = only(&place, Rung::Landlock, Omit::default());
    let ran = line(
        &wall,
        &place,
        "echo 1 > f && t=$(mktemp) && echo x > $t && echo \"$HOME\" && git init -q g && seq 3 | sort | wc -l && python3 -c 'print(7)'",
    );
    assert!(ran.succeeded(), "{ran:?}");
    let home = ran.stdout.lines().next().unwrap().to_owned();
    assert!(home.starts_with("/tmp/toolgate-"), "{home}");
    assert!(
        !std::path::Path::new(&home).exists(),
        "the private folder is left"
    );
}

fn lower_rung_hole() {
    let place = Place::new();
    place.write("ws/.env", "K=1");
    let wall = only(&place, Rung::Landlock, Omit::default());
    // This is why every command asks on this rung.
    assert!(line(&wall, &place, "cat .env").succeeded());
    let wall = only(&place, Rung::Namespaces, Omit::default());
    assert!(!line(&wall, &place, "cat .env").succeeded());
}

fn lower_rung_writes() {
    let place = Place::new();
    let wall = only(&place, Rung::Landlock, Omit::default());
    // At least it is seen afterwards: what would be run later is moved aside.
    let ran = line(&wall, &place, "echo evil > .bashrc");
    assert!(ran.succeeded());
    let appeared = &ran.finished.settled.appeared;
    assert!(
        matches!(appeared.as_slice(), [one] if one.moved_to.is_some()),
        "{appeared:?}"
    );
    assert!(!place.exists("ws/.bashrc"));
    let wall = only(&place, Rung::Namespaces, Omit::default());
    assert!(!line(&wall, &place, "echo evil > .bashrc").succeeded());
}

fn lower_rung_names() {
    let place = Place::new();
    let look = format!("ls /proc | grep -x {}", std::process::id());
    let wall = only(&place, Rung::Landlock, Omit::default());
    assert!(line(&wall, &place, &look).succeeded());
    let wall = only(&place, Rung::Namespaces, Omit::default());
    assert!(!line(&wall, &place, &look).succeeded());
}

fn lower_rung_udp() {
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
    let wall = only(&place, Rung::Landlock, omit);
    assert!(line(&wall, &place, &send).succeeded(), "the hole is gone");
    for rung in [Rung::Landlock, Rung::Namespaces] {
        refused(&only(&place, rung, Omit::default()), &place, &[&send]);
    }
    // Namespaces need no help with it.
    refused(&only(&place, Rung::Namespaces, ALL), &place, &[&send]);
}

fn lower_rung_loopback() {
    let place = Place::new();
    let wall = only(&place, Rung::Landlock, Omit::default());
    let mut command = spec("true", &place.ws);
    command.network = Some(Network::Loopback);
    assert!(matches!(wall.run(command), Err(WallError::NoLoopback)));
}

fn refuses_below_the_lowest() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.highest = Rung::Landlock;
    rules.lowest = Rung::Namespaces;
    let refused = CommandWall::start(&rules);
    assert!(
        matches!(refused, Err(WallError::Unavailable { .. })),
        "{refused:?}"
    );
    assert!(probe(&rules).refuses());
}
