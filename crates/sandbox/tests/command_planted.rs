//! Guarded names that a command makes too deep, in parts, or by adding to existing files are moved.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::{Command, ExitCode};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use toolgate_sandbox::command::{self, CommandSandbox};
use trial::{Place, Ran, Trial, line, own_program, sandbox};

fn main() -> ExitCode {
    command::init();
    if std::env::args().nth(1).as_deref() == Some("--hold") {
        return hold();
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("plants deeper than a path is long are swept", deep),
    (
        "a deep harmless directory is only moved up",
        deep_and_harmless,
    ),
    ("a git directory of another name is one", git_directories),
    (
        "work in a git directory of another name goes on",
        work_in_git_directories,
    ),
    (
        "a new git directory of another name is disarmed",
        new_git_directories,
    ),
    (
        "a repository around the user's files is disarmed by its head",
        around_the_users,
    ),
    ("additions to a judged file are detected", added),
    (
        "additions of a killed command are detected",
        added_and_killed,
    ),
    (
        "more closed directories than descriptors are swept",
        many_closed,
    ),
    ("a state that git did not write does not stay", states),
    ("the states that git writes stay", own_states),
];

const SETUP: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; cd ws; ";

/// Whether something of this name is left anywhere in the workspace.
fn left(place: &Place, names: &[&str]) -> String {
    let _ = Command::new("chmod")
        .args(["-R", "u+rwx"])
        .arg(&place.ws)
        .output();
    let mut find = Command::new("find");
    find.arg(&place.ws).arg("-false");
    for name in names {
        find.args(["-o", "-name", name]);
    }
    String::from_utf8_lossy(&find.output().unwrap().stdout).into_owned()
}

fn moved(ran: &Ran) -> Vec<String> {
    let appeared = ran.finished.settled.appeared.iter();
    let moved = appeared.filter(|one| one.moved_to.is_some());
    moved.map(|one| one.path.display().to_string()).collect()
}

fn silent(sandbox: &CommandSandbox, place: &Place, text: &str) {
    let ran = line(sandbox, place, text);
    let settled = &ran.finished.settled;
    assert!(
        settled.appeared.is_empty() && settled.missed.is_none(),
        "{text}: {ran:?}"
    );
}

/// Runs a line and says that exactly this was moved aside.
fn disarmed(sandbox: &CommandSandbox, place: &Place, text: &str, paths: &[&str]) {
    let ran = line(sandbox, place, text);
    let mut expected: Vec<String> = paths
        .iter()
        .map(|path| place.ws.join(path).display().to_string())
        .collect();
    let mut moved = moved(&ran);
    moved.sort();
    expected.sort();
    assert_eq!(moved, expected, "{text}: {ran:?}");
    assert_eq!(ran.finished.settled.missed, None, "{text}");
    for path in paths {
        assert!(
            !place.exists(&format!("ws/{path}")),
            "{path} is still there"
        );
    }
}

/// A program that goes down `levels` of names of a length and plants something at the bottom.
fn diver(levels: usize, length: usize, then: &str) -> String {
    format!(
        "import os\ntop = os.getcwd()\ndef dive():\n    for i in range({levels}):\n        n = 'd' * {length}\n        if not os.path.isdir(n): os.mkdir(n)\n        os.chdir(n)\ndef plant():\n    os.makedirs('.git/objects'); os.mkdir('.git/refs')\n    open('.git/HEAD', 'w').write('ref: refs/heads/x\\n')\n    open('.git/config', 'w').write('[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch RAN; false\\n')\n    open('.envrc', 'w').write('x')\n{then}\n"
    )
}

const PLANTED: [&str; 3] = [".envrc", "config", "RAN"];

fn deep() {
    let link = "os.chdir(top); os.symlink('/'.join(['d' * 200] * 19), 'proj')";
    for (levels, length, then) in [
        (19, 200, format!("dive(); plant()\n{link}")),
        (2_500, 1, "dive(); plant()".to_owned()),
        (80, 250, "dive(); plant()".to_owned()),
        // Closed on the way up.
        (
            40,
            200,
            "dive(); plant()\nfor i in range(40):\n    os.chmod('.', [0o000, 0o111, 0o555, 0o311][i % 4] if i else 0o000)\n    os.chdir('/proc/self/cwd/..') if False else None\n    fd = os.open('..', os.O_PATH) if os.access('.', os.X_OK) else None\n    if fd is None: break\n    os.fchdir(fd)".to_owned(),
        ),
        // Made elsewhere and moved into place.
        (
            10,
            250,
            "dive(); plant(); os.chdir(top)\nos.mkdir('x')\nos.chdir('x')\nfor i in range(9):\n    os.mkdir('e' * 200); os.chdir('e' * 200)\nos.rename(top + '/' + 'd' * 250, 'in')".to_owned(),
        ),
        // Several beside each other.
        (
            18,
            210,
            "dive()\nhere = os.open('.', os.O_RDONLY)\nfor i in range(9):\n    os.fchdir(here); os.mkdir(str(i) * 220); os.chdir(str(i) * 220); plant()".to_owned(),
        ),
    ] {
        let place = Place::new();
        place.write("ws/x.py", &diver(levels, length, &then));
        let sandbox = sandbox(&place.rules());
        let ran = line(&sandbox, &place, "python3 x.py");
        assert!(ran.succeeded(), "{then}: {}", ran.text());
        assert_eq!(ran.finished.settled.missed, None, "{then}");
        let _ = Command::new("git")
            .args(["-C", "proj", "status"])
            .current_dir(&place.ws)
            .output();
        assert_eq!(left(&place, &PLANTED), "", "{levels} {length} {then}");
        let appeared = &ran.finished.settled.appeared;
        assert!(
            !appeared.is_empty() && appeared.iter().all(|one| one.error.is_none()),
            "{then}: {appeared:?}"
        );
        // The next command changes nothing more.
        silent(&sandbox, &place, "true");
    }
}

fn deep_and_harmless() {
    let place = Place::new();
    place.write(
        "ws/x.py",
        &diver(40, 200, "dive(); open('kept', 'w').write('mine')"),
    );
    // Files from before the command stay.
    place.setup("cd ws; mkdir old; cp x.py old; cd old; python3 x.py");
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "python3 x.py");
    let moved = moved(&ran);
    assert!(!moved.is_empty(), "{ran:?}");
    assert!(
        moved.iter().all(|path| !path.contains("/old/")),
        "{moved:?}"
    );
    let kept = left(&place, &["kept"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert_eq!(
        kept.lines().filter(|path| path.contains("/old/")).count(),
        1
    );
}

const BARE: &str = "git init -q --bare .bare; git -C .bare worktree add -q --orphan -b dev ../dev; git init -q --separate-git-dir gd sep; mkdir wt; cp .bare/worktrees/dev/HEAD wt; echo /nowhere > wt/commondir; ";

fn git_directories() {
    let place = Place::new();
    place.setup(&format!("{SETUP}{BARE}"));
    let sandbox = sandbox(&place.rules());
    for (text, path) in [
        ("echo x > F", ".bare/worktrees/dev/config.worktree"),
        ("echo x > F", ".bare/config.worktree"),
        ("echo x > F", "wt/config.worktree"),
        ("echo x > F", "gd/modules/a/b/config"),
        ("echo x > F", ".bare/info/attributes"),
        ("echo x > F", ".bare/worktrees/dev/hooks/pre-commit"),
        (
            "echo exec x > F",
            ".bare/worktrees/dev/rebase-merge/git-rebase-todo",
        ),
        ("echo exec x > F", "gd/rebase-merge/git-rebase-todo"),
        ("echo exec x > F", "wt/sequencer/todo"),
        ("echo x/../y > F", "gd/rebase-merge/strategy"),
        (
            "echo x > to; ln -s /etc/passwd F",
            ".bare/modules/x/rebase-merge",
        ),
    ] {
        let text = text.replace('F', path);
        let ran = line(
            &sandbox,
            &place,
            &format!("mkdir -p $(dirname {path}); {text}"),
        );
        let moved = moved(&ran);
        let [one] = moved.as_slice() else {
            panic!("{path}: {ran:?}");
        };
        let whole = place.ws.join(path).display().to_string();
        assert!(whole.starts_with(one.as_str()), "{path}: {one}");
        assert!(!place.exists(&format!("ws/{path}")), "{path}");
    }
    for text in [
        "echo x >> .bare/config",
        "echo x >> gd/config",
        "echo x > gd/hooks/pre-commit",
        "echo x > wt/commondir",
        "echo x >> .bare/worktrees/dev/commondir",
        "echo x >> .bare/worktrees/dev/gitdir",
    ] {
        assert!(!line(&sandbox, &place, text).succeeded(), "{text}");
    }
}

fn work_in_git_directories() {
    let place = Place::new();
    place.setup(&format!("{SETUP}{BARE}"));
    let sandbox = sandbox(&place.rules());
    let env = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e; ";
    for directory in ["dev", "sep"] {
        let text = format!(
            "{env} cd {directory}; for i in 1 2 3; do echo $i > f; git add f; git commit -qm $i; done; git tag t; git checkout -q -b side HEAD~1; echo y > f; git commit -qam y; ! git rebase -q t; git rebase --abort; ! git cherry-pick t; git cherry-pick --abort; git rebase -q --onto t HEAD~1 HEAD -X theirs; git gc -q"
        );
        let ran = line(&sandbox, &place, &text);
        assert!(ran.succeeded(), "{directory}: {ran:?}");
        assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    }
}

fn new_git_directories() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    disarmed(
        &sandbox,
        &place,
        "mkdir w; cd w; echo 'ref: refs/heads/x' > HEAD; echo ../c > commondir; echo x > config.worktree",
        &["w/commondir", "w/config.worktree"],
    );
    disarmed(
        &sandbox,
        &place,
        "mkdir b; cd b; mkdir objects refs rebase-merge; echo x > HEAD; echo exec x > rebase-merge/git-rebase-todo",
        &["b/rebase-merge"],
    );
    // The hooks hold something that was guarded before, and cannot be moved.
    silent(
        &sandbox,
        &place,
        "mkdir -p d/hooks; echo x > d/hooks/reference-transaction",
    );
    line(&sandbox, &place, "echo x > d/hooks/x.pem");
    disarmed(
        &sandbox,
        &place,
        "cd d; echo x > HEAD; mkdir objects refs; chmod 755 hooks/reference-transaction; for i in {1..25}; do echo x > z$i.key; done",
        &["d/HEAD"],
    );
    // In another order.
    silent(
        &sandbox,
        &place,
        "mkdir -p e/hooks e/refs; echo x > e/HEAD; echo x > e/config",
    );
    disarmed(
        &sandbox,
        &place,
        "mkdir e/objects; echo x > e/objects/x",
        &["e/objects"],
    );
    silent(&sandbox, &place, "rm -r w b");
}

fn around_the_users() {
    for (stands, text, moved) in [
        ("", "echo x > HEAD; mkdir objects refs", &["HEAD"][..]),
        (
            "echo x > HEAD",
            "mkdir objects refs; touch objects/f refs/f",
            &["objects"],
        ),
        (
            "echo x > HEAD; mkdir refs objects; rm HEAD",
            "echo x > HEAD",
            &["HEAD"],
        ),
        (
            "mkdir -p sequencer objects; echo 'exec mine' > sequencer/todo",
            "echo x > HEAD; mkdir refs; echo x > config.worktree",
            &["HEAD", "config.worktree"],
        ),
    ] {
        let place = Place::new();
        place.setup(&format!(
            "mkdir -p ws/p/config ws/p/hooks ws/p/src/config; cd ws/p; echo mine > config/app.toml; echo mine > hooks/use.ts; echo mine > src/config/x; echo mine > config.yaml; {stands}"
        ));
        let sandbox = sandbox(&place.rules());
        let moved: Vec<String> = moved.iter().map(|name| format!("p/{name}")).collect();
        let moved: Vec<&str> = moved.iter().map(String::as_str).collect();
        disarmed(&sandbox, &place, &format!("cd p; {text}"), &moved);
        for path in [
            "config/app.toml",
            "hooks/use.ts",
            "src/config/x",
            "config.yaml",
        ] {
            assert!(place.exists(&format!("ws/p/{path}")), "{path} was moved");
        }
        silent(
            &sandbox,
            &place,
            "echo more >> p/config/app.toml; echo more >> p/hooks/use.ts",
        );
    }
}

const JUDGED: &str = "git init -q .; mkdir -p .git/rebase-merge v/site-packages; printf 'pick a\\nexec make\\nbreak\\n' > .git/rebase-merge/git-rebase-todo; echo 'import mine' > v/site-packages/a.pth; echo '*.x filter=mine' > .gitattributes; mkdir -p sp w; ln -s ../sp w/site-packages; echo mine > .git/rebase-merge/strategy; head -c 2000000 /dev/zero | tr '\\0' '#' > v/site-packages/big.pth";

fn added() {
    let place = Place::new();
    place.setup(&format!("{SETUP}{JUDGED}"));
    let sandbox = sandbox(&place.rules());
    silent(
        &sandbox,
        &place,
        "printf 'exec make\\nbreak\\n' > .git/rebase-merge/git-rebase-todo; printf '../src\\nimport mine\\n' > v/site-packages/a.pth; echo '*.y filter=mine text' >> .gitattributes; touch w/site-packages/f",
    );
    for (text, path) in [
        (
            "echo 'exec touch X' >> F",
            ".git/rebase-merge/git-rebase-todo",
        ),
        ("echo 'import evil' >> F", "v/site-packages/a.pth"),
        ("echo '* filter=evil' >> F", ".gitattributes"),
        ("mkdir other; ln -sfn ../other F", "w/site-packages"),
        ("echo evil > F", ".git/rebase-merge/strategy"),
        ("echo 'import evil' >> F", "v/site-packages/big.pth"),
    ] {
        disarmed(&sandbox, &place, &text.replace('F', path), &[path]);
    }
}

/// Holds a command that has planted something, until it is killed.
fn hold() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, _, ws, records, text, ..] = arguments.as_slice() else {
        return ExitCode::FAILURE;
    };
    let paths = toolgate_sandbox::PathSandbox::open(&toolgate_sandbox::PathRules::new(ws)).unwrap();
    let mut rules = toolgate_sandbox::command::SandboxRules::new(paths);
    rules.records = Some(records.into());
    let sandbox = sandbox(&rules);
    let running = sandbox.run(trial::spec(text, ws.as_ref())).unwrap();
    running.drive(Default::default(), None, |_, bytes| {
        use std::io::Write;
        std::io::stdout().write_all(bytes).unwrap();
        std::io::stdout().flush().unwrap();
    });
    ExitCode::SUCCESS
}

fn added_and_killed() {
    use std::io::Read;
    let place = Place::new();
    place.setup(&format!(
        "{SETUP}{JUDGED}; mkdir -p p/config p/refs; echo mine > p/config/f"
    ));
    let records = place.directory.path().join("records");
    let text = "echo 'exec evil' >> .git/rebase-merge/git-rebase-todo; mkdir p/objects; touch p/HEAD; echo x; sleep 600";
    let mut child = own_program(&["--hold"])
        .arg(&place.ws)
        .arg(&records)
        .arg(text)
        .stdout(std::process::Stdio::piped())
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut said = [0; 1];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rules = place.rules();
    rules.records = Some(records);
    let sandbox = sandbox(&rules);
    let earlier = sandbox.earlier();
    let mut paths: Vec<_> = earlier.iter().map(|one| one.path.clone()).collect();
    paths.sort();
    let expected = [".git/rebase-merge/git-rebase-todo", "p/HEAD"].map(|path| place.ws.join(path));
    assert_eq!(paths, expected, "{earlier:?}");
    assert!(
        earlier.iter().all(|one| one.moved_to.is_some()),
        "{earlier:?}"
    );
    assert!(place.exists("ws/p/config/f") && place.exists("ws/v/site-packages/a.pth"));
}

fn many_closed() {
    let before = getrlimit(Resource::Nofile);
    let plant =
        "mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit; echo x > sub/.envrc; ";
    for text in [
        "mkdir c; for i in {1..400}; do mkdir -m 000 c/$i; done",
        "mkdir c; for i in {1..400}; do mkdir c/$i; echo x > c/$i/.envrc; chmod 555 c/$i; done",
        "d=c; for i in {1..300}; do d=$d/c; done; mkdir -p $d; echo x > $d/.envrc; for i in {1..299}; do chmod 000 $d; d=${d%/c}; done; chmod 000 c/c c",
    ] {
        let place = Place::new();
        let sandbox = sandbox(&place.rules());
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(150),
                ..before
            },
        )
        .unwrap();
        let ran = line(&sandbox, &place, &format!("{plant}{text}"));
        setrlimit(Resource::Nofile, before).unwrap();
        assert_eq!(ran.finished.settled.missed, None, "{text}");
        use std::os::unix::fs::PermissionsExt;
        for name in ["c/1", "c"] {
            if let Ok(data) = place.ws.join(name).metadata() {
                let mode = data.permissions().mode() & 0o777;
                assert!(matches!(mode, 0 | 0o555 | 0o755), "{name} {mode:o}");
            }
        }
        assert_eq!(left(&place, &[".envrc", "hooks"]), "", "{text}");
    }
}

fn states() {
    let place = Place::new();
    place.setup("git init -q ws; mkdir -p ws/.git/sequencer ws/.git/rebase-merge ws/.git/rebase-apply ws/.git/worktrees/w/rebase-merge");
    let sandbox = sandbox(&place.rules());
    for (path, content) in [
        ("sequencer/opts", "[options] strategy = x/../payload\\n"),
        ("sequencer/opts", "[options]\\n\\tstrategy = ours ; x\\n"),
        ("rebase-merge/strategy", "x=/../payload"),
        ("rebase-merge/strategy", "[x]\\n"),
        ("worktrees/w/rebase-merge/strategy", "ort\\nx"),
        ("rebase-apply/strategy", "x/../payload"),
        ("rebase-merge/strategy_opts", "--index-output=../x\\n"),
        ("rebase-merge/author-script", "GIT_SSH_COMMAND=x\\n"),
        ("rebase-apply/author-script", "touch x\\n"),
        (
            "rebase-apply/apply-opt",
            " \\047--build-fake-ancestor=x\\047\\n",
        ),
        ("BISECT_NAMES", "; touch x\\n"),
        ("BISECT_TERMS", "$(touch x)\\n"),
    ] {
        let path = format!(".git/{path}");
        disarmed(
            &sandbox,
            &place,
            &format!("printf -- '{content}' > {path}"),
            &[&path],
        );
    }
}

fn own_states() {
    let place = Place::new();
    place.setup("git init -q ws");
    let sandbox = sandbox(&place.rules());
    let env = "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=\"O'Hara! x\" GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_EDITOR=true; set -e; ";
    for text in [
        "for i in 1 2 3 4; do echo $i > f; git add f; git commit -qm $i; done; git tag t; git checkout -q -b side HEAD~2; for i in 7 8; do echo $i > f; git commit -qam $i; done",
        "! git rebase t",
        "git rebase --abort; ! git rebase -s recursive -X patience -X find-renames=40 t",
        "git rebase --abort; ! git rebase --apply --whitespace=nowarn t",
        "git rebase --abort; ! git cherry-pick -x -X ignore-all-space -s t~1 t",
        "git cherry-pick --abort; ! git revert --no-edit HEAD~1 HEAD~2",
        "git revert --abort; git format-patch -q -2 t -o p; ! git am --directory=sub --exclude=x p/*",
        "git am --abort; git bisect start t t~3 -- f 'a b' && git bisect good",
        "git bisect reset; ! git merge t",
        "git merge --abort; ! git rebase t; echo z > f; git add f; ! git rebase --continue; git rebase --skip",
    ] {
        let ran = line(&sandbox, &place, &format!("{env}{text}"));
        assert!(ran.succeeded(), "{text}: {ran:?}");
        let settled = &ran.finished.settled;
        assert!(settled.appeared.is_empty(), "{text}: {settled:?}");
    }
}
