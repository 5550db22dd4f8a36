//! The machine's own mounts change while a sandbox stands, and the next command sees it.
//!
//! Every trial has a mount namespace to itself, in which it may mount what it likes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use toolgate_sandbox::command::{self, CommandSandbox};
use toolgate_sandbox::paths::RootAccess;
use trial::{Place, Trial, is_root, line, refused, sandbox, with_roots};

/// Tells the program that it is in a namespace of its own.
const INSIDE: &str = "TOOLGATE_TRIAL_INSIDE";
const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    command::init();
    if std::env::var_os(INSIDE).is_some() || std::env::args().any(|one| one == "--list") {
        return trial::run(TRIALS);
    }
    let users = if is_root() { vec![0, NOBODY] } else { vec![0] };
    let passed = users.iter().all(|user| {
        let mut inside = Command::new("unshare");
        inside
            .args(["--user", "--map-root-user", "--mount"])
            .arg(std::env::current_exe().unwrap())
            // Only the mapped user exists in there.
            .arg("--as-user")
            .args(std::env::args().skip(1))
            .current_dir("/")
            .env(INSIDE, "1");
        if *user != 0 {
            inside.uid(*user).gid(*user);
        }
        inside.status().expect("unshare").success()
    });
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

const TRIALS: &[Trial] = &[
    (
        "a file system that is mounted in a root meanwhile is seen",
        mounted,
    ),
    (
        "one that is unmounted meanwhile is not seen any more",
        unmounted,
    ),
    ("a secret in a new file system is hidden", secret_in_it),
    (
        "roots outside of private places are shown with their guards",
        elsewhere,
    ),
    (
        "one root in another, both in a private place, behave as elsewhere",
        one_in_another,
    ),
    (
        "a root that holds /var/tmp shows the machine's, and grants in it",
        around_var_tmp,
    ),
    (
        "a file of the system that is replaced meanwhile stays hidden",
        replaced_in_system,
    ),
];

fn mount(arguments: &[&str]) {
    let status = Command::new("mount").args(arguments).status();
    assert!(status.expect("mount").success(), "{arguments:?}");
}

fn mount_memory(at: &Path) {
    std::fs::create_dir_all(at).unwrap();
    mount(&["-t", "tmpfs", "trial", at.to_str().unwrap()]);
}

/// A sandbox that has run a command.
fn used(place: &Place) -> CommandSandbox {
    let mut rules = place.rules();
    rules.linger = Duration::from_secs(3600);
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, place, "true").succeeded());
    sandbox
}

fn says(sandbox: &CommandSandbox, place: &Place, text: &str, answer: &str) {
    let ran = line(sandbox, place, text);
    assert_eq!(
        (ran.stdout.as_str(), ran.succeeded()),
        (answer, true),
        "{ran:?}"
    );
}

fn mounted() {
    let place = Place::new();
    place.setup("mkdir ws/disk");
    let sandbox = used(&place);
    says(&sandbox, &place, "ls disk", "");
    mount_memory(&place.ws.join("disk"));
    place.write("ws/disk/f", "new");
    says(
        &sandbox,
        &place,
        "cat disk/f; echo x > disk/g; cat disk/g",
        "newx\n",
    );
    assert_eq!(place.read("ws/disk/g"), "x\n");
    place.setup("umount ws/disk");
}

fn unmounted() {
    let place = Place::new();
    mount_memory(&place.ws.join("disk"));
    place.write("ws/disk/f", "old");
    let sandbox = used(&place);
    says(&sandbox, &place, "cat disk/f", "old");
    place.setup("umount ws/disk");
    says(&sandbox, &place, "ls disk; echo x > disk/g", "");
    assert_eq!(place.read("ws/disk/g"), "x\n");
}

fn secret_in_it() {
    let place = Place::new();
    let sandbox = used(&place);
    mount_memory(&place.ws.join("disk"));
    place.write("ws/disk/.env", "K=1");
    refused(&sandbox, &place, &["cat disk/.env", "mv disk/.env x"]);
    place.setup("umount ws/disk");
}

fn elsewhere() {
    mount_memory(Path::new("/mnt"));
    let place = Place::in_directory("/mnt");
    place.setup("echo K > ws/.env; echo x > out/f; git init -q ws; echo y > ws/g");
    let sandbox = used(&place);
    for _ in 0..3 {
        says(&sandbox, &place, "cat g; echo z > h; rm h", "y\n");
        refused(
            &sandbox,
            &place,
            &["cat .env", "cat ../out/f", "echo x > .git/hooks/a"],
        );
    }
    drop((sandbox, place));
    // Lazily: the warden has it open until it has ended, and the test does not wait for that.
    let status = Command::new("umount").args(["-l", "/mnt"]).status();
    assert!(status.unwrap().success());
}

fn one_in_another() {
    let place = Place::new();
    place.setup("mkdir -p ws/inner; echo x > ws/inner/f; echo K > ws/inner/.env");
    let inner = place.ws.join("inner");
    let sandbox = sandbox(&with_roots(&[
        (&place.ws, RootAccess::ReadWrite),
        (&inner, RootAccess::ReadOnly),
    ]));
    for _ in 0..3 {
        says(&sandbox, &place, "echo y > g; cat inner/f", "x\n");
        refused(
            &sandbox,
            &place,
            &["echo z > inner/f", "cat inner/.env", "mv inner other"],
        );
    }
}

fn around_var_tmp() {
    mount_memory(Path::new("/var"));
    let place = Place::new();
    place.setup("mkdir -p /var/tmp/inner; echo kept > /var/tmp/kept");
    let (var, inner) = (Path::new("/var"), Path::new("/var/tmp/inner"));
    let own = (place.ws.as_path(), RootAccess::ReadWrite);
    let all = sandbox(&with_roots(&[own, (var, RootAccess::ReadWrite)]));
    // Each time what was made for the one before is used again.
    for nth in ["1", "2", "3"] {
        let write = format!("cat /var/tmp/kept; echo {nth} > /var/tmp/made");
        says(&all, &place, &write, "kept\n");
        let made = std::fs::read_to_string("/var/tmp/made").unwrap();
        assert_eq!(made.trim(), nth);
    }
    let (var, inner) = ((var, RootAccess::ReadOnly), (inner, RootAccess::ReadWrite));
    for roots in [[own, var, inner], [own, inner, var]] {
        let some = sandbox(&with_roots(&roots));
        for nth in ["1", "2", "3"] {
            let write = format!("cat /var/tmp/kept; echo {nth} > /var/tmp/inner/made");
            says(&some, &place, &write, "kept\n");
            let made = std::fs::read_to_string("/var/tmp/inner/made").unwrap();
            assert_eq!(made.trim(), nth);
            refused(&some, &place, &["echo x > /var/tmp/made"]);
        }
    }
    place.setup("umount -l /var");
}

fn replaced_in_system() {
    let place = Place::new();
    // A copy of the system's configuration that may be changed.
    mount_memory(&place.out);
    place.setup("cp /etc/ld.so.cache /etc/passwd /etc/group out/; echo open > out/open");
    place.setup("echo K=1 > out/secret; chmod 600 out/secret");
    mount(&["--bind", place.out.to_str().unwrap(), "/etc"]);
    let sandbox = used(&place);
    says(&sandbox, &place, "cat /etc/open", "open\n");
    refused(&sandbox, &place, &["cat /etc/secret"]);
    place.setup("echo K=2 > out/new; chmod 600 out/new; mv out/new out/secret");
    for _ in 0..3 {
        refused(&sandbox, &place, &["cat /etc/secret"]);
    }
    place.setup("umount /etc out");
}
