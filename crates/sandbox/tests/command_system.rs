//! Private files of the system: a command sees only world-readable files, whoever runs it.
//!
//! The trials have mount namespaces to themselves, in which parts of the system are replaced:
//! once as root of the machine, once with a file system that cannot be mounted without
//! owners, once as root of a user namespace and once as an ordinary user.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::path::Path;
use std::process::{Command, ExitCode};

use toolgate_sandbox::command::{self, CommandSandbox, Level, Omit};
use toolgate_sandbox::paths::RootAccess;
use trial::{Place, Trial, is_root, line, only, refused, sandbox, with_roots};

/// Tells the program how the system was prepared.
const INSIDE: &str = "TOOLGATE_TRIAL_INSIDE";

fn main() -> ExitCode {
    command::init();
    let list = std::env::args().any(|one| one == "--list");
    match std::env::var(INSIDE).ok().as_deref() {
        Some("ordinary") => return trial::run(ORDINARY),
        Some("root") => return trial::run(&[TRIALS, LATER].concat()),
        Some(_) => return trial::run(TRIALS),
        None if list => return trial::run(&[TRIALS, LATER, ORDINARY].concat()),
        None => {}
    }
    let mapped = "unshare --user --map-root-user --mount";
    let ways: &[(&str, &str, &str)] = if is_root() {
        &[
            ("root", "unshare --mount", "exec"),
            ("overlay", "unshare --mount", "exec"),
            ("mapped", mapped, "exec"),
            (
                "ordinary",
                "unshare --mount",
                "exec setpriv --reuid 65534 --regid 65534 --clear-groups",
            ),
        ]
    } else {
        &[("mapped", mapped, "exec")]
    };
    let mut failed = 0;
    for (name, unshare, exec) in ways {
        let prepare = match *name {
            "overlay" => OVERLAY,
            _ => MEMORY,
        };
        let script = format!("set -e\n{prepare}\n{FILL}\n{exec} \"$@\"");
        let mut words = unshare.split(' ');
        let status = Command::new(words.next().unwrap())
            .args(words)
            .args(["bash", "-c", &script, "bash"])
            .arg(std::env::current_exe().unwrap())
            .arg("--as-user")
            .args(std::env::args().skip(1))
            .current_dir("/")
            .env(INSIDE, name)
            .status()
            .expect("unshare");
        failed += usize::from(!status.success());
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Own file systems in place of parts of the system that no command needs.
const MEMORY: &str = "
mount -t tmpfs trial /opt
mount -t tmpfs trial /usr/share/doc
mount -t tmpfs trial /mnt
cp -a /etc/ld.so.cache /etc/passwd /etc/group /mnt; mount --bind /mnt /etc";

/// The same, as overlays: the kernel maps no owners there.
const OVERLAY: &str = "
mount -t tmpfs trial /mnt
for at in /opt /usr/share/doc /etc; do
  mkdir -p /mnt$at/lower /mnt$at/upper /mnt$at/work
done
cp -a /etc/ld.so.cache /etc/passwd /etc/group /mnt/etc/lower
for at in /opt /usr/share/doc /etc; do
  mount -t overlay -o lowerdir=/mnt$at/lower,upperdir=/mnt$at/upper,workdir=/mnt$at/work trial $at
done";

/// Private and open files in three places of the system.
const FILL: &str = r#"
umask 022
for at in /opt /usr/share/doc /etc; do
  mkdir -p $at/app/deep/deeper $at/private/inner $at/own $at/crossed
  for open in $at/open $at/app/deep/open; do echo open > $open; done
  for file in $at/secret $at/app/deep/deeper/secret $at/private/inner/key $at/private/ws-secret \
    $at/app/'with blank' $at/app/$'with\nline' $at/own/$'\xff' $at/app/run $at/crossed/key; do
    echo K > "$file"
  done
  chmod 600 $at/secret $at/own/*; chmod 640 $at/app/deep/deeper/secret; chmod 400 $at/app/with*
  chmod 4711 $at/app/run; chmod 700 $at/private; chmod 711 $at/crossed
  chmod 600 $at/crossed/key
  ln $at/secret $at/app/linked; ln -s $at/secret $at/symbolic
  mkdir $at/private/ws $at/private/other; echo mine > $at/private/ws/f; echo yours > $at/private/other/f
done
# For the ordinary user: what only its group can read.
echo K > /etc/of-group; chmod 640 /etc/of-group; mkdir /etc/group-private
echo K > /etc/group-private/key; chmod 750 /etc/group-private; chmod 640 /etc/group-private/key
echo K > /etc/of-user; chmod 600 /etc/of-user
chown 0:65534 /etc/of-group /etc/group-private /etc/group-private/key 2>/dev/null || true
chown 65534:0 /etc/of-user 2>/dev/null || true
"#;

const TRIALS: &[Trial] = &[
    ("private files of the system cannot be read", private),
    ("open files of the system can be read and run", open),
    ("without mounts private files cannot be read either", alone),
    (
        "a root in a private directory is shown, and nothing beside it",
        root_inside,
    ),
];
const LATER: &[Trial] = &[(
    "a file that becomes private later cannot be read either",
    made_later,
)];
const ORDINARY: &[Trial] = &[(
    "files in /etc for the user's group only cannot be read",
    ordinary,
)];

const PARTS: [&str; 3] = ["/opt", "/usr/share/doc", "/etc"];

/// Where they are in each part; only commands of the shell read these.
const PRIVATE: [&str; 11] = [
    "secret",
    "app/deep/deeper/secret",
    "private/inner/key",
    "private/ws-secret",
    "app/with*blank",
    "app/with*line",
    "own/*",
    "app/run",
    "app/linked",
    "symbolic",
    "crossed/key",
];

fn sandboxes(place: &Place) -> Vec<CommandSandbox> {
    let mut sandboxes = vec![
        sandbox(&place.rules()),
        only(place, Level::Namespaces, trial::ALL),
    ];
    // The second command gets a sandbox that was made ahead.
    for sandbox in &mut sandboxes {
        assert!(line(sandbox, place, "true").succeeded());
    }
    sandboxes
}

fn private() {
    let place = Place::new();
    for sandbox in sandboxes(&place) {
        for at in PARTS {
            let lines = PRIVATE.map(|file| format!("cat {at}/{file}"));
            let mut lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let more = [
                format!("ls {at}/private"),
                format!("chmod 644 {at}/secret"),
                format!("cp {at}/secret ."),
                format!("ln {at}/secret stolen"),
                format!("cat /proc/self/root{at}/secret"),
                format!("mount --bind {at} /tmp"),
            ];
            lines.extend(more.iter().map(String::as_str));
            refused(&sandbox, &place, &lines);
        }
        refused(
            &sandbox,
            &place,
            &["cat /etc/of-group", "cat /etc/group-private/key"],
        );
    }
}

fn open() {
    let place = Place::new();
    for sandbox in sandboxes(&place) {
        for at in PARTS {
            let look = format!("cat {at}/open {at}/app/deep/open && ls {at} {at}/app > /dev/null");
            let ran = line(&sandbox, &place, &look);
            assert_eq!(
                (ran.stdout.as_str(), ran.succeeded()),
                ("open\nopen\n", true),
                "{ran:?}"
            );
        }
        let own = "echo x > f && test -O f && cat f && /usr/bin/env true";
        assert_eq!(line(&sandbox, &place, own).stdout, "x\n");
    }
}

fn alone() {
    let place = Place::new();
    let sandbox = only(&place, Level::Landlock, Omit::default());
    for _ in 0..2 {
        for at in PARTS {
            let lines = PRIVATE.map(|file| format!("cat {at}/{file}"));
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            refused(&sandbox, &place, &lines);
            let look = format!("cat {at}/open {at}/app/deep/open");
            let ran = line(&sandbox, &place, &look);
            assert_eq!(ran.stdout, "open\nopen\n", "{ran:?}");
        }
        let work =
            "ls /usr/bin /bin /etc > /dev/null && git --version > f && python3 -c 'import json'";
        let ran = line(&sandbox, &place, work);
        assert!(ran.succeeded(), "{ran:?}");
    }
}

fn root_inside() {
    let place = Place::new();
    let rules = |roots: &[&str]| {
        let mut all = vec![(place.ws.as_path(), RootAccess::ReadWrite)];
        all.extend(
            roots
                .iter()
                .map(|root| (Path::new(*root), RootAccess::ReadWrite)),
        );
        sandbox(&with_roots(&all))
    };
    for at in ["/opt/private", "/usr/share/doc/private"] {
        let (ws, other) = (format!("{at}/ws"), format!("{at}/other"));
        let look = format!("cat {ws}/f && echo made > {ws}/g && cat {ws}/g");
        let one = rules(&[&ws]);
        let both = rules(&[&ws, &other]);
        for _ in 0..2 {
            assert_eq!(line(&one, &place, &look).stdout, "mine\nmade\n");
            let beside = [
                format!("cat {other}/f"),
                format!("cat {at}/ws-secret"),
                format!("echo x > {at}/new"),
                format!("mkdir {at}/inner"),
            ];
            let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
            refused(&one, &place, &beside);
            let ran = line(
                &both,
                &place,
                &format!("{look} && cat {other}/f && ls {at}"),
            );
            assert_eq!(ran.stdout, "mine\nmade\nyours\nother\nws\n", "{ran:?}");
        }
    }
}

fn made_later() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    assert!(line(&sandbox, &place, "cat /opt/open").succeeded());
    place
        .setup("echo K > /opt/later; chmod 600 /opt/later /usr/share/doc/open; chmod 700 /opt/app");
    refused(
        &sandbox,
        &place,
        &[
            "cat /opt/later",
            "cat /usr/share/doc/open",
            "cat /opt/app/deep/open",
        ],
    );
    place.setup("rm /opt/later; chmod 644 /usr/share/doc/open; chmod 755 /opt/app");
}

fn ordinary() {
    let place = Place::new();
    for file in ["/etc/of-group", "/etc/group-private/key", "/etc/of-user"] {
        assert!(
            std::fs::read(file).is_ok(),
            "{file} is not readable outside"
        );
    }
    for sandbox in [
        sandbox(&place.rules()),
        only(&place, Level::Namespaces, trial::ALL),
        only(&place, Level::Landlock, Omit::default()),
    ] {
        refused(
            &sandbox,
            &place,
            &[
                "cat /etc/of-group",
                "cat /etc/group-private/key",
                "cat /etc/of-user",
                "cat /etc/secret",
            ],
        );
        assert!(line(&sandbox, &place, "cat /etc/open /etc/passwd").succeeded());
    }
}
