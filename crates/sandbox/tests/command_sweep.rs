//! Files that a command makes under protected names do not stay there, whatever it tries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::{Command, ExitCode, Stdio};

use toolgate_sandbox::command::{self, Deadlines, SandboxRules};
use toolgate_sandbox::{PathRules, PathSandbox};
use trial::{
    Place, Ran, Trial, is_root, line, names, own_program, refused, run_spec, sandbox, spec,
};

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
    (
        "guarded names inside a moved directory are moved too",
        nested_plants,
    ),
    ("a name that cannot be moved is reported", stuck),
    ("a bare repository is disarmed", bare_repository),
    (
        "an existing bare repository is protected",
        standing_bare_repository,
    ),
    ("attributes that name a driver are moved aside", attributes),
    (
        "the target of a new link is not moved",
        new_link_to_the_users,
    ),
    (
        "a dangling link is not filled behind another one",
        dangling_link,
    ),
    (
        "a denied name that is executed is moved",
        denied_and_executed,
    ),
    (
        "judged files that cannot be read do not stay",
        unreadable_judged,
    ),
    (
        "a file that is changed through a map is read again",
        mapped_judged,
    ),
    ("a sweep that missed something is repeated", repeated_sweep),
    ("plants in plants are all moved", deep_plants),
    (
        "a placeholder that a command locks blocks no other command",
        locked_placeholder,
    ),
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
        "the last program that needs a placeholder removes it",
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
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "mkdir sub; cd sub; for i in {1..1100}; do : > set-aside-$i-.bashrc; done; echo x > .bashrc",
    );
    planted(&ran, &place, "sub/.bashrc");
}

fn read_only_directory() {
    for mode in ["555", "500", "111", "000"] {
        let place = Place::new();
        let sandbox = sandbox(&place.rules());
        let ran = line(
            &sandbox,
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
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "mkdir -p a/b/.git/hooks; echo x > a/b/.git/hooks/pre-commit; echo x > a/b/.git/config; chmod 311 a/b/.git a/b a",
    );
    place.setup("chmod 755 ws/a; chmod 755 ws/a/b; chmod 755 ws/a/b/.git");
    planted(&ran, &place, "a/b/.git/config");
    planted(&ran, &place, "a/b/.git/hooks");
}

fn closed_root() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "mkdir s; echo x > s/.bashrc; chmod 111 .");
    place.setup("chmod 755 ws");
    planted(&ran, &place, "s/.bashrc");
    assert_eq!(ran.finished.settled.missed, None);
}

fn replaced_link() {
    let place = Place::new();
    place.write("out/bashrc", "mine");
    place.setup("ln -s ../out/bashrc ws/.bashrc; mkdir ws/sub; ln -s /nowhere ws/sub/.vscode");
    let sandbox = sandbox(&place.rules());
    // Inode numbers are used again by most file systems; whether this one does is not asked.
    let ran = line(
        &sandbox,
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
    let ran = line(&sandbox, &place, "ln -sfn /tmp/evil .bashrc");
    assert_eq!(ran.finished.settled.appeared.len(), 1, "{ran:?}");
    let link = std::fs::read_link(place.ws.join(".bashrc")).unwrap();
    assert_eq!(link.to_str(), Some("../out/bashrc"));
}

fn guarded_by_its_end() {
    let place = Place::new();
    let mut rules = PathRules::new(&place.ws);
    rules.protected_paths = vec!["*.evil".into(), "*aside*".into()];
    let mut sandbox_rules = SandboxRules::new(PathSandbox::open(&rules).unwrap());
    sandbox_rules.linger = std::time::Duration::ZERO;
    let sandbox = sandbox(&sandbox_rules);
    let ran = line(&sandbox, &place, "mkdir s; echo x > s/a.evil");
    let appeared = &ran.finished.settled.appeared;
    // No name is free of the second rule, so it stays and is reported.
    assert!(
        matches!(appeared.as_slice(), [one] if one.moved_to.is_none() && one.error.is_some()),
        "{appeared:?}"
    );
    rules.protected_paths = vec!["*.evil".into()];
    let sandbox = trial::sandbox(&SandboxRules::new(PathSandbox::open(&rules).unwrap()));
    let ran = line(&sandbox, &place, "mkdir t; echo x > t/a.evil");
    planted(&ran, &place, "t/a.evil");
}

fn nested_plants() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let bare = "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD; echo x > config";
    let ran = line(
        &sandbox,
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
    // Another user's directory, with something of the file system's own in it.
    let place = Place::new();
    place.write("ws/sub/f", "");
    place.setup("mount -t tmpfs none ws/sub && mkdir ws/sub/m ws/sub/.vscode && mount -t tmpfs none ws/sub/.vscode");
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "true");
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
    let sandbox = sandbox(&place.rules());
    // In one command, and in two.
    let ran = line(&sandbox, &place, &format!("mkdir docs; cd docs; {BARE}"));
    planted(&ran, &place, "docs/config");
    planted(&ran, &place, "docs/hooks");
    let ran = line(
        &sandbox,
        &place,
        "mkdir two; cd two; mkdir objects refs; echo x > config; echo x > config.worktree",
    );
    assert!(
        ran.finished.settled.appeared.is_empty(),
        "nothing yet: {ran:?}"
    );
    let ran = line(&sandbox, &place, "echo 'ref: refs/heads/main' > two/HEAD");
    // Files from before are not the command's: the new name is moved instead.
    planted(&ran, &place, "two/HEAD");
    assert!(place.exists("ws/two/config") && place.exists("ws/two/config.worktree"));
    // By renaming, and at the top of the tree.
    let ran = line(
        &sandbox,
        &place,
        &format!("mkdir x; cd x; {BARE}; mv HEAD h; cd ..; mv x three; mv three/h three/HEAD"),
    );
    planted(&ran, &place, "three/config");
    let ran = line(&sandbox, &place, BARE);
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
    let sandbox = sandbox(&place.rules());
    refused(
        &sandbox,
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
            &sandbox,
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
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "echo '*.rs text' >> .gitattributes; mkdir a; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > a/.gitattributes; touch old/.gitattributes; echo '*.y text' >> old/.gitattributes",
    );
    assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    let ran = line(&sandbox, &place, "echo '* filter=evil' >> .gitattributes");
    planted(&ran, &place, ".gitattributes");
    let ran = line(
        &sandbox,
        &place,
        "mkdir b; echo '* diff=evil' > b/.gitattributes",
    );
    planted(&ran, &place, "b/.gitattributes");
}

fn new_link_to_the_users() {
    let place = Place::new();
    place.write("ws/.docker/config.json", "CANARY");
    place.write("ws/real/vs/f", "mine");
    place.setup("git init -q ws");
    let sandbox = sandbox(&place.rules());
    for text in [
        "mkdir x; ln -s ../.docker x/.zshrc",
        "mkdir y; ln -s ../.git y/.zshrc; ln -s ../.git/hooks y/.vscode",
        "mkdir z; ln -s ../real z/.idea",
        "mkdir q; touch q/w.key",
    ] {
        let ran = line(&sandbox, &place, text);
        let moved = ran.finished.settled.appeared.iter();
        let mut moved = moved.filter(|one| one.moved_to.is_some());
        assert!(
            moved.all(|one| one.path.parent().is_some_and(|parent| parent != place.ws)),
            "{ran:?}"
        );
    }
    assert!(place.exists("ws/.docker/config.json") && place.exists("ws/.git/HEAD"));
    assert!(place.exists("ws/real/vs/f"));
    let ran = line(
        &sandbox,
        &place,
        "cat */config.json .docker/config.json x/* 2>&1",
    );
    assert!(!ran.text().contains("CANARY"), "{ran:?}");
}

fn dangling_link() {
    let place = Place::new();
    place.setup("mkdir -p ws/d ws/mine/vs; echo mine > ws/mine/vs/f; ln -s cfg/vs ws/d/.vscode; ln -s later ws/d/.idea; ln -s ../way/vs ws/d/.zed");
    let sandbox = sandbox(&place.rules());
    line(
        &sandbox,
        &place,
        "mkdir -p d/real/vs d/later; echo x > d/real/vs/tasks.json; ln -s real d/cfg; echo x > d/later/f; ln -s mine way",
    );
    assert!(!place.exists("ws/d/.vscode/tasks.json"));
    assert!(!place.ws.join("d/.vscode/tasks.json").exists());
    assert!(!place.ws.join("d/.idea/f").exists());
    assert!(place.exists("ws/mine/vs/f"), "the user's is not moved");
}

fn denied_and_executed() {
    let place = Place::new();
    place.setup("git init -q ws; git -C ws config extensions.worktreeConfig true");
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "echo x > .git/config.worktree; echo x > my-secret.code-workspace",
    );
    planted(&ran, &place, ".git/config.worktree");
    planted(&ran, &place, "my-secret.code-workspace");
    line(
        &sandbox,
        &place,
        "mkdir -p secret-app/.git/hooks secret-app/.vscode; cd secret-app; echo x > .git/config; echo x > .git/hooks/pre-commit; echo x > .vscode/tasks.json; echo x > .envrc; mkdir objects refs; echo x > HEAD; echo x > config",
    );
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".vscode/tasks.json",
        ".envrc",
        "config",
    ] {
        assert!(!place.exists(&format!("ws/secret-app/{path}")), "{path}");
    }
}

fn unreadable_judged() {
    let place = Place::new();
    place.setup("git init -q ws; mkdir -p ws/venv/lib/python3.11/site-packages ws/old/site-packages; ln -s lib ws/venv/lib64");
    let sandbox = sandbox(&place.rules());
    for text in [
        "echo 'import os' > notes.txt; ln -s ../../../../notes.txt venv/lib/python3.11/site-packages/evil.pth",
        "mkdir rm; echo 'exec x' > rm/git-rebase-todo; ln -s ../rm .git/rebase-merge",
        "mkdir .git/sequencer; echo 'exec x' > todo; ln -s ../../todo .git/sequencer/todo",
        "mkdir sp2; echo 'import os' > sp2/e.pth; mkdir -p v2/lib/python3.12; ln -s ../../../sp2 v2/lib/python3.12/site-packages",
        "echo 'import os' > venv/lib/python3.11/site-packages/a.pth; chmod 000 venv/lib/python3.11/site-packages/a.pth",
        "mkfifo venv/lib/python3.11/site-packages/b.pth",
    ] {
        let ran = line(&sandbox, &place, text);
        let appeared = &ran.finished.settled.appeared;
        assert!(
            matches!(appeared.as_slice(), [one] if one.moved_to.is_some()),
            "{text}: {appeared:?}"
        );
    }
    let ran = line(
        &sandbox,
        &place,
        "python3 -m venv --without-pip fine 2>/dev/null; echo ../src > venv/lib/python3.11/site-packages/fine.pth",
    );
    assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    let ran = line(
        &sandbox,
        &place,
        "mkdir -p .git/rebase-merge; echo x/../payload > .git/rebase-merge/strategy",
    );
    planted(&ran, &place, ".git/rebase-merge/strategy");
}

fn mapped_judged() {
    let place = Place::new();
    std::fs::create_dir_all(place.ws.join("v/site-packages")).unwrap();
    let sandbox = sandbox(&place.rules());
    let script = "import mmap,time,os,sys\nf=open('v/site-packages/m.pth','w+b'); f.write(b'x'*64); f.flush()\nm=mmap.mmap(f.fileno(),64); m[0:2]=b'yy'\nopen('ready','w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nm[0:10]=b'import os;'\n";
    place.write("ws/script.py", script);
    let background = sandbox.run(spec("python3 script.py", &place.ws)).unwrap();
    while !place.exists("ws/ready") {
        std::thread::yield_now();
    }
    assert!(line(&sandbox, &place, "true").succeeded());
    place.write("ws/go", "");
    let finished = background.drive(Deadlines::default(), None, |_, _| {});
    let appeared = &finished.settled.appeared;
    assert!(
        appeared
            .iter()
            .any(|one| one.path.ends_with("m.pth") && one.moved_to.is_some()),
        "{appeared:?}"
    );
}

fn repeated_sweep() {
    let place = Place::new();
    let mut rules = place.rules();
    rules.scan_entries = 200;
    let sandbox = sandbox(&rules);
    let planting = sandbox
        .run(spec("mkdir -p n/.vscode; echo x > n/.vscode/f; touch ready; until [ -e go ]; do sleep 0.01; done", &place.ws))
        .unwrap();
    while !place.exists("ws/ready") {
        std::thread::yield_now();
    }
    let hiding = sandbox
        .run(spec(
            "mkdir a; touch a/{1..300}; touch go; until [ -e clean ]; do sleep 0.01; done; rm -r a",
            &place.ws,
        ))
        .unwrap();
    let first = planting.drive(Deadlines::default(), None, |_, _| {});
    assert!(
        first.settled.missed.is_some() || !place.exists("ws/n/.vscode"),
        "{first:?}"
    );
    place.write("ws/clean", "");
    let last = hiding.drive(Deadlines::default(), None, |_, _| {});
    assert_eq!(last.settled.missed, None, "{last:?}");
    assert!(!place.exists("ws/n/.vscode"), "{last:?}");
}

fn deep_plants() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "d=s; for i in {1..12}; do d=$d/.vscode; done; mkdir -p $d; echo x > $d/tasks.json",
    );
    assert_eq!(ran.finished.settled.missed, None, "{ran:?}");
    let left = Command::new("find")
        .arg(&place.ws)
        .args(["-name", ".vscode"])
        .output();
    assert_eq!(String::from_utf8_lossy(&left.unwrap().stdout), "");
}

fn locked_placeholder() {
    let place = Place::new();
    std::fs::create_dir(place.ws.join("sub")).unwrap();
    let outer = sandbox(&place.rules());
    let holding = outer
        .run(spec(
            "mkdir -m 1755 sub/.vscode; exec 9< sub/.vscode; flock -x 9; touch ready; sleep 60",
            &place.ws,
        ))
        .unwrap();
    while !place.exists("ws/ready") {
        std::thread::yield_now();
    }
    let mut rules =
        SandboxRules::new(PathSandbox::open(&PathRules::new(place.ws.join("sub"))).unwrap());
    rules.linger = std::time::Duration::ZERO;
    let inner = sandbox(&rules);
    let ran = run_spec(
        &inner,
        spec("echo on", &place.ws.join("sub")),
        Deadlines::default(),
    );
    assert_eq!(ran.stdout, "on\n");
    drop(holding);
}

/// Holds a command that has planted something, until it is killed.
fn hold() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, ws, records, text, ..] = arguments.as_slice() else {
        return ExitCode::FAILURE;
    };
    let mut rules = SandboxRules::new(PathSandbox::open(&PathRules::new(ws)).unwrap());
    rules.records = Some(records.into());
    rules.linger = std::time::Duration::ZERO;
    let sandbox = sandbox(&rules);
    let running = sandbox.run(spec(text, ws.as_ref())).unwrap();
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
    let records = place.directory.path().join("records");
    let plant = "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo x; sleep 600";
    let mut child = another(&place, &records, plant);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(place.exists("ws/sub/.vscode/tasks.json"));
    let mut rules = place.rules();
    rules.records = Some(records.clone());
    let sandbox = sandbox(&rules);
    assert!(!place.exists("ws/sub/.vscode"));
    assert!(place.exists("ws/old/.vscode/f"), "what stood there stays");
    let earlier = sandbox.earlier();
    assert!(matches!(earlier.as_slice(), [one] if one.earlier && one.moved_to.is_some()));
    // The next result says so, once.
    let ran = line(&sandbox, &place, "true");
    assert_eq!(ran.finished.settled.appeared, earlier);
    let ran = line(&sandbox, &place, "true");
    assert!(ran.finished.settled.appeared.is_empty());
    drop(sandbox);
    let left: Vec<_> = std::fs::read_dir(&records).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
    // A program that ended in order leaves nothing to look at.
    place.write("ws/new/.vscode/f", "the user's");
    let again = trial::sandbox(&rules);
    assert!(again.earlier().is_empty());
    assert!(place.exists("ws/new/.vscode/f"));
}

fn killed_elsewhere() {
    let (place, other) = (Place::new(), Place::new());
    let records = place.directory.path().join("records");
    let plant = "mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo x; sleep 600";
    let mut child = another(&place, &records, plant);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rules = other.rules();
    rules.records = Some(records.clone());
    drop(sandbox(&rules));
    assert!(place.exists("ws/sub/.vscode/tasks.json"));
    let mut rules = place.rules();
    rules.records = Some(records);
    assert_eq!(sandbox(&rules).earlier().len(), 1);
    assert!(!place.exists("ws/sub/.vscode"));
}

fn two_programs() {
    let place = Place::new();
    for shared in [true, false] {
        let records = |name: &str| {
            let name = if shared { "records" } else { name };
            place.directory.path().join(name)
        };
        let text = "echo x; until [ -e go ]; do sleep 0.01; done; mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > .bashrc; rm go";
        let mut child = another(&place, &records("one"), text);
        let mut rules = place.rules();
        rules.records = Some(records("two"));
        for _ in 0..5 {
            let sandbox = sandbox(&rules);
            assert!(line(&sandbox, &place, "true").succeeded());
            let ran = line(&sandbox, &place, "echo x > .vscode/tasks.json");
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
    let one = sandbox(&place.rules());
    let two = sandbox(&place.rules());
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
    let three = sandbox(&place.rules());
    let ran = run_spec(
        &three,
        spec("echo x > .vscode/f", &place.ws),
        Deadlines::default(),
    );
    assert!(!ran.succeeded());
    drop(three);
    assert_eq!(names(&place), [".vscode"]);
}
