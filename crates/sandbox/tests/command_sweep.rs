//! What a command makes under protected names does not stay there, whatever it tries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::{Command, ExitCode, Stdio};

use toolgate_sandbox::command::{self, Deadlines, WallRules};
use toolgate_sandbox::{PathRules, PathWall};
use trial::{Place, Ran, Trial, is_root, line, names, own_program, refused, run_spec, spec, wall};

fn main() -> ExitCode {
    command::init();
    if std::env::args().nth(1).as_deref() == Some("--hold") {
        return hold();
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "names that are taken beforehand do not stop the sweep",
        taken_names,
    ),
    (
        "a directory without the right to write is swept",
        read_only_directory,
    ),
    (
        "a directory that the command closed is swept",
        closed_directory,
    ),
    ("a root that the command closed is swept", closed_root),
    (
        "a link that was replaced is noticed and made again",
        replaced_link,
    ),
    (
        "a name that is guarded by its end gets another one",
        guarded_by_its_end,
    ),
    ("what lies in what was moved is moved too", nested_plants),
    ("what cannot be moved is reported as such", stuck),
    ("a bare repository is disarmed", bare_repository),
    (
        "a bare repository that stands there is protected",
        standing_bare_repository,
    ),
    ("attributes that name a driver are moved aside", attributes),
    (
        "a killed program's commands are swept by the next start",
        killed,
    ),
    (
        "another workspace's start leaves the record alone",
        killed_elsewhere,
    ),
    (
        "two programs in one workspace keep each other's guards",
        two_programs,
    ),
    (
        "a placeholder is removed by the last who needs it",
        last_one_removes,
    ),
];

fn planted(ran: &Ran, place: &Place, path: &str) {
    let appeared = &ran.finished.settled.appeared;
    let one = appeared.iter().find(|one| one.path == place.ws.join(path));
    let one = one.unwrap_or_else(|| panic!("{path} is not reported: {ran:?}"));
    let to = one.moved_to.as_ref();
    assert!(
        to.is_some_and(|to| to.symlink_metadata().is_ok()),
        "{one:?}"
    );
    assert!(
        !place.exists(&format!("ws/{path}")),
        "{path} is still there"
    );
}

fn taken_names() {
    let place = Place::new();
    let wall = wall(&place.rules());
    let ran = line(
        &wall,
        &place,
        "mkdir sub; cd sub; for i in {1..1100}; do : > set-aside-$i-.bashrc; done; echo x > .bashrc",
    );
    planted(&ran, &place, "sub/.bashrc");
}

fn read_only_directory() {
    for mode in ["555", "500", "111", "000"] {
        let place = Place::new();
        let wall = wall(&place.rules());
        let ran = line(
            &wall,
            &place,
            &format!(
                "mkdir -p sub/deep; echo x > sub/deep/.bashrc; mkdir sub/deep/.vscode; echo x > sub/deep/.vscode/f; chmod {mode} sub/deep sub"
            ),
        );
        assert!(ran.succeeded(), "{ran:?}");
        let mode_now = place.ws.join("sub").metadata().unwrap();
        use std::os::unix::fs::PermissionsExt;
        let mode_now = format!("{:03o}", mode_now.permissions().mode() & 0o777);
        assert_eq!(mode_now, mode, "the mode is the command's work");
        place.setup("chmod 755 ws/sub; chmod 755 ws/sub/deep");
        planted(&ran, &place, "sub/deep/.bashrc");
        planted(&ran, &place, "sub/deep/.vscode");
    }
}

fn closed_directory() {
    let place = Place::new();
    let wall = wall(&place.rules());
    let ran = line(
        &wall,
        &place,
        "mkdir -p a/b/.git/hooks; echo x > a/b/.git/hooks/pre-commit; echo x > a/b/.git/config; chmod 311 a/b/.git a/b a",
    );
    place.setup("chmod 755 ws/a; chmod 755 ws/a/b; chmod 755 ws/a/b/.git");
    planted(&ran, &place, "a/b/.git/config");
    planted(&ran, &place, "a/b/.git/hooks");
}

fn closed_root() {
    let place = Place::new();
    let wall = wall(&place.rules());
    let ran = line(&wall, &place, "mkdir s; echo x > s/.bashrc; chmod 111 .");
    place.setup("chmod 755 ws");
    planted(&ran, &place, "s/.bashrc");
    assert_eq!(ran.finished.settled.missed, None);
}

fn replaced_link() {
    let place = Place::new();
    place.write("out/bashrc", "mine");
    place.setup("ln -s ../out/bashrc ws/.bashrc; mkdir ws/sub; ln -s /nowhere ws/sub/.vscode");
    let wall = wall(&place.rules());
    // Inode numbers are used again by most file systems; whether this one does is not asked.
    let ran = line(
        &wall,
        &place,
        "for i in {1..20}; do rm -rf .bashrc; echo evil > .bashrc; done; rm sub/.vscode; mkdir sub/.vscode; echo x > sub/.vscode/tasks.json",
    );
    assert!(ran.succeeded(), "{ran:?}");
    let appeared = &ran.finished.settled.appeared;
    assert_eq!(appeared.len(), 2, "{appeared:?}");
    assert!(
        appeared
            .iter()
            .all(|one| one.moved_to.is_some() && one.link_restored)
    );
    let link = std::fs::read_link(place.ws.join(".bashrc")).unwrap();
    assert_eq!(link.to_str(), Some("../out/bashrc"));
    assert_eq!(place.read("out/bashrc"), "mine");
    // A link to somewhere else is another link.
    let ran = line(&wall, &place, "ln -sfn /tmp/evil .bashrc");
    assert_eq!(ran.finished.settled.appeared.len(), 1, "{ran:?}");
    let link = std::fs::read_link(place.ws.join(".bashrc")).unwrap();
    assert_eq!(link.to_str(), Some("../out/bashrc"));
}

fn guarded_by_its_end() {
    let place = Place::new();
    let mut rules = PathRules::new(&place.ws);
    rules.protected_paths = vec!["*.evil".into(), "*aside*".into()];
    let mut wall_rules = WallRules::new(PathWall::open(&rules).unwrap());
    wall_rules.linger = std::time::Duration::ZERO;
    let wall = wall(&wall_rules);
    let ran = line(&wall, &place, "mkdir s; echo x > s/a.evil");
    let appeared = &ran.finished.settled.appeared;
    // No name is free of the second rule, so it stays and is said to.
    assert!(
        matches!(appeared.as_slice(), [one] if one.moved_to.is_none() && one.error.is_some()),
        "{appeared:?}"
    );
    rules.protected_paths = vec!["*.evil".into()];
    let wall = trial::wall(&WallRules::new(PathWall::open(&rules).unwrap()));
    let ran = line(&wall, &place, "mkdir t; echo x > t/a.evil");
    planted(&ran, &place, "t/a.evil");
}

fn nested_plants() {
    let place = Place::new();
    let wall = wall(&place.rules());
    let bare = "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; echo x > config";
    let ran = line(
        &wall,
        &place,
        &format!(
            "mkdir -p s/.vscode/.idea/in s/.vscode/in/.git/hooks; echo x > s/.vscode/.idea/in/.bashrc; echo x > s/.vscode/in/.git/hooks/pre-commit; cd s/.vscode; {bare}"
        ),
    );
    assert!(ran.succeeded(), "{ran:?}");
    assert_eq!(ran.finished.settled.missed, None, "{ran:?}");
    let left = Command::new("find")
        .arg(&place.ws)
        .args([
            "-name", ".vscode", "-o", "-name", ".idea", "-o", "-name", ".bashrc", "-o", "-name",
            "config", "-o", "-name", "hooks",
        ])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

fn stuck() {
    if !is_root() {
        return;
    }
    // Somebody else's directory, with something of the file system's own in it.
    let place = Place::new();
    place.write("ws/sub/f", "");
    place.setup("mount -t tmpfs none ws/sub && mkdir ws/sub/m ws/sub/.vscode && mount -t tmpfs none ws/sub/.vscode");
    let wall = wall(&place.rules());
    let ran = line(&wall, &place, "true");
    place.setup("umount ws/sub/.vscode; umount ws/sub");
    assert!(ran.succeeded(), "{ran:?}");
    assert!(
        ran.finished.settled.appeared.is_empty(),
        "it stood there before: {ran:?}"
    );
}

const BARE: &str = "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch ../ran; false\\n' > config; mkdir hooks; echo x > hooks/pre-commit";

fn bare_repository() {
    let place = Place::new();
    let wall = wall(&place.rules());
    // In one command, and in two.
    let ran = line(&wall, &place, &format!("mkdir docs; cd docs; {BARE}"));
    planted(&ran, &place, "docs/config");
    planted(&ran, &place, "docs/hooks");
    let ran = line(
        &wall,
        &place,
        "mkdir two; cd two; mkdir objects refs; echo x > config; echo x > config.worktree",
    );
    assert!(
        ran.finished.settled.appeared.is_empty(),
        "nothing yet: {ran:?}"
    );
    let ran = line(&wall, &place, "echo 'ref: refs/heads/main' > two/HEAD");
    planted(&ran, &place, "two/config");
    planted(&ran, &place, "two/config.worktree");
    // By renaming, and at the top of the tree.
    let ran = line(
        &wall,
        &place,
        &format!("mkdir x; cd x; {BARE}; mv HEAD h; cd ..; mv x three; mv three/h three/HEAD"),
    );
    planted(&ran, &place, "three/config");
    let ran = line(&wall, &place, BARE);
    planted(&ran, &place, "config");
    place.setup("for d in ws ws/docs ws/two ws/three; do (cd $d && git status >/dev/null 2>&1) || true; done");
    assert!(
        !place.exists("ws/ran") && !place.exists("ran"),
        "the host's git ran it"
    );
}

fn standing_bare_repository() {
    let place = Place::new();
    place.setup("git init -q --bare ws/repo.git && git init -q --bare ws/sub/other");
    let wall = wall(&place.rules());
    refused(
        &wall,
        &place,
        &[
            "echo '[core] fsmonitor = x' >> repo.git/config",
            "echo x > repo.git/hooks/post-update",
            "echo x >> sub/other/config",
            "mv sub s; echo x >> s/other/config",
            "git -C repo.git config core.fsmonitor x",
        ],
    );
    assert!(
        line(
            &wall,
            &place,
            "git -C repo.git rev-parse --is-bare-repository"
        )
        .succeeded()
    );
}

fn attributes() {
    let place = Place::new();
    place.write("ws/.gitattributes", "*.png binary\n");
    place.write("ws/old/.gitattributes", "*.x filter=crypt\n");
    let wall = wall(&place.rules());
    let ran = line(
        &wall,
        &place,
        "echo '*.rs text' >> .gitattributes; mkdir a; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > a/.gitattributes; touch old/.gitattributes; echo '*.y text' >> old/.gitattributes",
    );
    assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    let ran = line(&wall, &place, "echo '* filter=evil' >> .gitattributes");
    planted(&ran, &place, ".gitattributes");
    let ran = line(
        &wall,
        &place,
        "mkdir b; echo '* diff=evil' > b/.gitattributes",
    );
    planted(&ran, &place, "b/.gitattributes");
}

/// Holds a command that has planted something, until it is killed.
fn hold() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, ws, records, text, ..] = arguments.as_slice() else {
        return ExitCode::FAILURE;
    };
    let mut rules = WallRules::new(PathWall::open(&PathRules::new(ws)).unwrap());
    rules.records = Some(records.into());
    rules.linger = std::time::Duration::ZERO;
    let wall = wall(&rules);
    let running = wall.run(spec(text, ws.as_ref())).unwrap();
    running.drive(Deadlines::default(), None, |_, bytes| {
        use std::io::Write;
        std::io::stdout().write_all(bytes).unwrap();
        std::io::stdout().flush().unwrap();
    });
    ExitCode::SUCCESS
}

/// Another program in a workspace, whose command has said something and goes on.
fn another(place: &Place, records: &std::path::Path, text: &str) -> std::process::Child {
    use std::io::Read;
    let mut child = own_program(&["--hold"])
        .arg(&place.ws)
        .arg(records)
        .arg(text)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = [0; 1];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    child
}

fn killed() {
    let place = Place::new();
    place.write("ws/old/.vscode/f", "mine");
    let records = place.folder.path().join("records");
    let plant = "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo x; sleep 600";
    let mut child = another(&place, &records, plant);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(place.exists("ws/sub/.vscode/tasks.json"));
    let mut rules = place.rules();
    rules.records = Some(records.clone());
    let wall = wall(&rules);
    assert!(!place.exists("ws/sub/.vscode"));
    assert!(place.exists("ws/old/.vscode/f"), "what stood there stays");
    let earlier = wall.earlier();
    assert!(matches!(earlier.as_slice(), [one] if one.earlier && one.moved_to.is_some()));
    // The next result says so, once.
    let ran = line(&wall, &place, "true");
    assert_eq!(ran.finished.settled.appeared, earlier);
    let ran = line(&wall, &place, "true");
    assert!(ran.finished.settled.appeared.is_empty());
    drop(wall);
    let left: Vec<_> = std::fs::read_dir(&records).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
    // A program that ended in order leaves nothing to look at.
    place.write("ws/new/.vscode/f", "the user's");
    let again = trial::wall(&rules);
    assert!(again.earlier().is_empty());
    assert!(place.exists("ws/new/.vscode/f"));
}

fn killed_elsewhere() {
    let (place, other) = (Place::new(), Place::new());
    let records = place.folder.path().join("records");
    let plant = "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo x; sleep 600";
    let mut child = another(&place, &records, plant);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rules = other.rules();
    rules.records = Some(records.clone());
    drop(wall(&rules));
    assert!(place.exists("ws/sub/.vscode/tasks.json"));
    let mut rules = place.rules();
    rules.records = Some(records);
    assert_eq!(wall(&rules).earlier().len(), 1);
    assert!(!place.exists("ws/sub/.vscode"));
}

fn two_programs() {
    let place = Place::new();
    for shared in [true, false] {
        let records = |name: &str| {
            let name = if shared { "records" } else { name };
            place.folder.path().join(name)
        };
        let text = "echo x; until [ -e go ]; do sleep 0.01; done; mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > .bashrc; rm go";
        let mut child = another(&place, &records("one"), text);
        let mut rules = place.rules();
        rules.records = Some(records("two"));
        for _ in 0..5 {
            let wall = wall(&rules);
            assert!(line(&wall, &place, "true").succeeded());
            let ran = line(&wall, &place, "echo x > .vscode/tasks.json");
            assert!(
                !ran.succeeded() && ran.finished.settled.appeared.is_empty(),
                "{ran:?}"
            );
        }
        assert!(place.exists("ws/.vscode"), "the other one still needs it");
        place.write("ws/go", "");
        assert!(child.wait().unwrap().success());
        assert_eq!(names(&place), Vec::<String>::new());
    }
}

fn last_one_removes() {
    let place = Place::new();
    let one = wall(&place.rules());
    let two = wall(&place.rules());
    let long = one.run(spec("read x", &place.ws)).unwrap();
    let longer = two.run(spec("read x", &place.ws)).unwrap();
    drop(long);
    drop(one);
    assert!(place.exists("ws/.vscode"));
    refused(
        &two,
        &place,
        &["echo x > .vscode/f", "rmdir .vscode", "chmod 777 .vscode"],
    );
    drop(longer);
    drop(two);
    assert_eq!(names(&place), Vec::<String>::new());
    // An empty directory of the user's is theirs.
    std::fs::create_dir(place.ws.join(".vscode")).unwrap();
    let three = wall(&place.rules());
    let ran = run_spec(
        &three,
        spec("echo x > .vscode/f", &place.ws),
        Deadlines::default(),
    );
    assert!(!ran.succeeded());
    drop(three);
    assert_eq!(names(&place), [".vscode"]);
}
