//! Nothing that is denied becomes visible: not by closing a directory, not by moving it, not by
//! its depth or number, and not under another name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::process::ExitCode;

use toolgate_sandbox::PathRules;
use toolgate_sandbox::PathSandbox;
use toolgate_sandbox::command::{
    self, CommandSandbox, Grant, Hidden, Missed, SandboxError, SandboxRules,
};
use toolgate_sandbox::paths::RootAccess;
use trial::{Place, Trial, is_root, line, refused, sandbox, spec, with_roots};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "a closed directory is hidden as a whole",
        closed_directories,
    ),
    (
        "a closed directory inside a closed one is hidden",
        closed_twice,
    ),
    (
        "a repository behind a closed door gets no hook",
        closed_repository,
    ),
    (
        "own places behind a closed door stay hidden",
        closed_own_places,
    ),
    ("a root that cannot be listed refuses commands", closed_root),
    ("a directory above a denied name cannot be renamed", pinned),
    (
        "a secret that is moved back and forth is never read",
        moving_secret,
    ),
    (
        "a guarded name that keeps moving refuses the command",
        restless,
    ),
    ("a secret deeper than a path is long is hidden", deep),
    ("a secret behind many names is hidden", behind_many),
    (
        "thousands of denied names do not block commands",
        many_denied,
    ),
    (
        "more denied names than can be masked do not stay",
        many_denied_made,
    ),
    ("another name of a denied file is denied", hard_links),
    (
        "other names of files in a closed directory are hidden",
        hard_link_of_closed,
    ),
    (
        "another name of a file denied in a grant is denied",
        hard_link_of_grant,
    ),
    (
        "another name of a protected file cannot be written",
        hard_link_of_protected,
    ),
    (
        "a name that left a read-only grant does not block commands",
        moved_grant_name,
    ),
    ("a new name of a denied file is found", hard_link_made_later),
    (
        "a nested root cannot be replaced by renaming its parent",
        nested_root,
    ),
    (
        "protected names in a writable grant cannot be changed",
        grant_is_protected,
    ),
    (
        "the target of a protected link cannot be changed",
        link_target,
    ),
];

const SECRET: &str = "CANARY-1f7c";

/// Runs lines that try to read a secret; none may.
fn never_reads(sandbox: &CommandSandbox, place: &Place, lines: &[&str]) {
    for text in lines {
        let ran = line(sandbox, place, text);
        assert!(!ran.text().contains(SECRET), "{text}: {ran:?}");
    }
}

fn closed_directories() {
    for mode in [
        "311", "111", "000", "333", "466", "644", "100", "200", "400",
    ] {
        let place = Place::new();
        place.write("ws/app/.env", SECRET);
        place.write("ws/app/sub/.env", SECRET);
        let sandbox = sandbox(&place.rules());
        assert!(line(&sandbox, &place, "ls app").succeeded());
        let ran = line(&sandbox, &place, &format!("chmod {mode} app"));
        // The directory is pinned, and still its mode can be changed.
        assert!(ran.succeeded(), "{mode}: {ran:?}");
        let ran = line(&sandbox, &place, "true");
        let hidden = &ran.finished.settled.hidden;
        if is_root() {
            assert!(hidden.is_empty(), "root lists everything: {hidden:?}");
        } else {
            let app = place.ws.join("app");
            assert_eq!(*hidden, [Hidden::Unsearchable { path: app }], "{mode}");
        }
        never_reads(
            &sandbox,
            &place,
            &[
                "cat app/.env",
                "chmod 700 app; cat app/.env",
                "chmod 755 app; cat app/sub/.env app/.env",
                "mv app b; chmod 755 b; cat b/.env b/sub/.env",
                "cp -r app b; cat b/.env",
                "ln app/.env x; cat x",
                "cd app && cat .env",
                "exec 3< app; cat /proc/self/fd/3/.env",
            ],
        );
        place.setup("chmod 755 ws/app");
    }
}

fn closed_twice() {
    let place = Place::new();
    place.write("ws/a/b/c/.env", SECRET);
    place.write("ws/a/b/f", "");
    let sandbox = sandbox(&place.rules());
    assert!(line(&sandbox, &place, "chmod 311 a/b/c a/b a").succeeded());
    never_reads(
        &sandbox,
        &place,
        &[
            "cat a/b/c/.env",
            "chmod 755 a; cat a/b/c/.env",
            "chmod 755 a; chmod 755 a/b; chmod 755 a/b/c; cat a/b/c/.env",
        ],
    );
    place.setup("chmod 755 ws/a; chmod 755 ws/a/b; chmod 755 ws/a/b/c");
}

fn closed_repository() {
    let place = Place::new();
    place.setup("git init -q ws && git -C ws config user.name me");
    let sandbox = sandbox(&place.rules());
    for text in [
        "chmod 311 .git",
        "echo x > .git/hooks/post-checkout; echo '[core] fsmonitor = ./x' >> .git/config",
        "chmod 755 .git; echo x > .git/hooks/post-checkout; echo '[core] fsmonitor = ./x' >> .git/config",
        "mkdir sub; chmod 311 sub",
        "mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit; echo x > sub/.git/config",
    ] {
        line(&sandbox, &place, text);
    }
    place.setup("chmod 755 ws/.git; chmod 755 ws/sub; chmod -f 755 ws/sub/.git || true");
    assert!(!place.exists("ws/.git/hooks/post-checkout"));
    assert!(!place.read("ws/.git/config").contains("fsmonitor"));
    assert!(
        !place.exists("ws/sub/.git/config"),
        "planted behind a closed door"
    );
    assert!(!place.exists("ws/sub/.git/hooks/pre-commit"));
}

fn closed_own_places() {
    let place = Place::new();
    place.write("ws/home/toolgate/journal", SECRET);
    place.write("ws/home/config/config.toml", "x = 1");
    let mut rules = PathRules::new(&place.ws);
    rules.own.closed = vec![place.ws.join("home/toolgate")];
    rules.own.kept = vec![place.ws.join("home/config")];
    let sandbox = sandbox(&SandboxRules::new(PathSandbox::open(&rules).unwrap()));
    line(&sandbox, &place, "chmod 311 home");
    never_reads(
        &sandbox,
        &place,
        &[
            "cat home/toolgate/journal",
            "chmod 755 home; cat home/toolgate/journal",
        ],
    );
    line(
        &sandbox,
        &place,
        "chmod 755 home; echo 'x = 2' > home/config/config.toml",
    );
    place.setup("chmod 755 ws/home");
    assert_eq!(place.read("ws/home/config/config.toml"), "x = 1");
}

fn closed_root() {
    let place = Place::new();
    place.write("ws/.env", SECRET);
    let sandbox = sandbox(&place.rules());
    for mode in ["311", "111", "444"] {
        assert!(line(&sandbox, &place, &format!("chmod {mode} .")).succeeded());
        match sandbox.run(spec("cat .env", &place.ws)) {
            Err(SandboxError::Search(Missed::Closed { path })) => assert_eq!(path, place.ws),
            Ok(_) if is_root() => never_reads(&sandbox, &place, &["cat .env"]),
            other => panic!("{mode}: {other:?}"),
        }
        place.setup("chmod 755 ws");
    }
}

fn pinned() {
    let place = Place::new();
    place.write("ws/app/deep/.env", SECRET);
    place.write("ws/app/deep/f", "");
    let sandbox = sandbox(&place.rules());
    refused(
        &sandbox,
        &place,
        &[
            "mv app b",
            "mv app/deep b",
            "mv -T app app2",
            "python3 -c 'import os; os.rename(\"app\", \"b\")'",
            "mkdir b && python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(l.renameat2(-100,b\"app\",-100,b\"b\",2) != 0)'",
        ],
    );
    assert!(
        line(
            &sandbox,
            &place,
            "mv app/deep/f app/deep/g && touch app/deep/h app/x"
        )
        .succeeded()
    );
    assert!(place.exists("ws/app/deep/.env"));
}

/// How many commands run against one that moves things.
fn races(few: u32) -> u32 {
    std::env::var("TOOLGATE_MOVES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(few)
}

fn moving_secret() {
    let place = Place::new();
    place.write("ws/app/.env", SECRET);
    place.write("ws/app/f", "x");
    let sandbox = sandbox(&place.rules());
    // One that began when the secret was there, and one from before it was.
    let mover = "while :; do mv app app2; mv app2 app; done 2>/dev/null";
    let known = sandbox.run(spec(mover, &place.ws)).unwrap();
    let early = sandbox
        .run(spec(
            "while :; do mv late1 late2; mv late2 late1; done 2>/dev/null",
            &place.ws,
        ))
        .unwrap();
    // It comes as a whole, because it is moved at once.
    place.write("out/late/.env", SECRET);
    std::fs::rename(place.out.join("late"), place.ws.join("late1")).unwrap();
    for _ in 0..races(150) {
        let reading = "cat app/.env app2/.env late1/.env late2/.env app/late1/.env 2>/dev/null";
        match sandbox.run(spec(reading, &place.ws)) {
            Ok(running) => {
                let mut output = Vec::new();
                running.drive(Default::default(), None, |_, bytes| output.extend(bytes));
                let output = String::from_utf8_lossy(&output);
                assert!(!output.contains(SECRET), "read: {output}");
            }
            Err(SandboxError::Restless { .. } | SandboxError::Search(Missed::Moving { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
    drop((known, early));
}

fn restless() {
    let place = Place::new();
    place.write("ws/a/f", "");
    let sandbox = sandbox(&place.rules());
    assert!(line(&sandbox, &place, "true").succeeded());
    let early = sandbox
        .run(spec(
            "while :; do mv a b; mv b a; done 2>/dev/null",
            &place.ws,
        ))
        .unwrap();
    place.setup("until echo s > ws/a/.env; do :; done 2>/dev/null");
    // Either it is found in time, or the command is refused with its name.
    for _ in 0..50 {
        match sandbox.run(spec("cat a/.env b/.env", &place.ws)) {
            Ok(running) => drop(running),
            Err(SandboxError::Restless { path }) => assert!(path.contains(['a', 'b']), "{path}"),
            Err(SandboxError::Search(Missed::Moving { path })) => assert_eq!(path, place.ws),
            Err(error) => panic!("{error}"),
        }
    }
    drop(early);
}

fn deep() {
    let place = Place::new();
    let name = "d".repeat(200);
    // Deeper than any single path can be.
    place.setup(&format!(
        "cd ws; for i in {{1..40}}; do mkdir {name}; cd -P {name}; done; echo {SECRET} > .env; echo free > note"
    ));
    let sandbox = sandbox(&place.rules());
    let go = format!("for i in {{1..40}}; do cd -P {name} || exit 3; done 2>/dev/null");
    never_reads(
        &sandbox,
        &place,
        &[&format!("{go}; cat .env"), &format!("{go}; cat note .env")],
    );
    let ran = line(&sandbox, &place, "true");
    assert!(
        matches!(
            ran.finished.settled.hidden.as_slice(),
            [Hidden::Unsearchable { .. }]
        ),
        "{ran:?}"
    );
    // Shallow ones are searched as ever.
    assert!(line(&sandbox, &place, &format!("ls {name}/{name}/{name}")).succeeded());
}

fn behind_many() {
    let place = Place::new();
    place.setup("mkdir ws/many ws/zz; cd ws/many; seq 5000 | xargs touch");
    place.write("ws/zz/.env", SECRET);
    place.write("ws/aa/.env", SECRET);
    let mut rules = place.rules();
    never_reads(&sandbox(&rules), &place, &["cat zz/.env aa/.env"]);
    rules.scan_entries = 4000;
    let sandbox = sandbox(&rules);
    let refused = sandbox.run(spec("cat zz/.env aa/.env", &place.ws));
    let Err(SandboxError::Search(Missed::TooMany { limit, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(limit, 4000);
}

fn many_denied() {
    let place = Place::new();
    place.write("ws/real/key.pem", SECRET);
    place.setup("cd ws; seq -f %g.pem 9000 | xargs touch; mkdir in; cd in; seq -f %g.pem 22000 | xargs touch");
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "echo still here; cat real/key.pem in/1.pem",
    );
    assert_eq!(ran.stdout, "still here\n");
    let hidden = &ran.finished.settled.hidden;
    assert!(
        matches!(hidden.as_slice(), [Hidden::TooManyDenied { path, .. }] if path.ends_with("in")),
        "{hidden:?}"
    );
}

fn many_denied_made() {
    let place = Place::new();
    let sandbox = sandbox(&place.rules());
    let ran = line(&sandbox, &place, "seq -f %g.pem 1001 | xargs touch");
    assert_eq!(ran.finished.settled.appeared.len(), 1001);
    assert!(!place.exists("ws/1.pem"), "later commands would mask each");
    assert!(
        line(&sandbox, &place, "ls | grep -c set-aside")
            .stdout
            .contains("1001")
    );
}

fn hard_links() {
    let place = Place::new();
    place.write("ws/.env", SECRET);
    place.write("ws/keys/.ssh/id_rsa", SECRET);
    place.write("ws/plain", "x");
    place.setup("cd ws; mkdir -p a/b; ln .env a/b/notes; ln keys/.ssh/id_rsa a/readme; ln plain a/plain2; echo t > .env.local; ln .env.local .env.other");
    let sandbox = sandbox(&place.rules());
    for _ in 0..3 {
        never_reads(
            &sandbox,
            &place,
            &[
                "cat a/b/notes a/readme",
                "cp a/b/notes x; cat x",
                "mv a/b/notes x; cat x",
            ],
        );
        let ran = line(
            &sandbox,
            &place,
            "cat plain a/plain2; touch a/b/new; rm a/b/new",
        );
        assert_eq!(ran.stdout, "xx", "{ran:?}");
    }
}

fn hard_link_made_later() {
    let place = Place::new();
    place.write("ws/.env", SECRET);
    place.write("ws/a/f", "");
    let sandbox = sandbox(&place.rules());
    // Long enough ago for everything to be remembered.
    place.setup("touch -d '1 hour ago' ws/a ws");
    assert!(line(&sandbox, &place, "true").succeeded());
    place.setup("ln ws/.env ws/a/later");
    never_reads(&sandbox, &place, &["true", "cat a/later", "cat a/later"]);
}

fn hard_link_of_closed() {
    for mode in ["000", "311", "111"] {
        let place = Place::new();
        place.write("ws/e/f/.env", SECRET);
        place.write("ws/.ssh/id", SECRET);
        place.write("ws/plain", "x");
        place.setup("cd ws; ln e/f/.env other.txt; ln .ssh/id readme");
        let sandbox = sandbox(&place.rules());
        never_reads(&sandbox, &place, &["cat other.txt readme"]);
        place.setup(&format!("chmod {mode} ws/e/f ws/.ssh"));
        never_reads(
            &sandbox,
            &place,
            &["cat other.txt readme", "cp other.txt x; cat x"],
        );
        assert_eq!(line(&sandbox, &place, "cat plain").stdout, "x");
        place.setup("chmod 755 ws/e/f ws/.ssh");
    }
}

fn hard_link_of_grant() {
    let place = Place::new();
    place.write("out/.env", SECRET);
    place.setup("ln out/.env ws/copy.txt");
    let mut rules = place.rules();
    rules.grants = vec![Grant {
        path: place.out.clone(),
        access: RootAccess::ReadOnly,
    }];
    never_reads(&sandbox(&rules), &place, &["cat copy.txt"]);
}

fn hard_link_of_protected() {
    let place = Place::new();
    place.setup("git init -q ws; mkdir -p ws/scripts ws/.vscode; echo mine > ws/.git/hooks/pre-commit; echo mine > ws/.bashrc; echo mine > ws/.vscode/f; cd ws; ln .git/hooks/pre-commit scripts/pc; ln .bashrc scripts/rc; ln .vscode/f scripts/f");
    let sandbox = sandbox(&place.rules());
    refused(
        &sandbox,
        &place,
        &[
            "echo x > scripts/pc",
            "echo x >> scripts/rc",
            "echo x > scripts/f",
        ],
    );
    assert_eq!(
        line(&sandbox, &place, "cat scripts/*").stdout,
        "mine\n".repeat(3)
    );
    assert_eq!(place.read("ws/.git/hooks/pre-commit"), "mine\n");
}

fn moved_grant_name() {
    let place = Place::new();
    place.write("out/.env", SECRET);
    place.write("out/f", "x");
    let mut rules = place.rules();
    rules.grants = vec![Grant {
        path: place.out.clone(),
        access: RootAccess::ReadOnly,
    }];
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, "true").succeeded());
    place.setup("mv out/.env out/.env.local");
    let out = place.out.display();
    never_reads(&sandbox, &place, &[&format!("cat {out}/.env.local")]);
    assert!(line(&sandbox, &place, &format!("cat {out}/f")).succeeded());
}

fn nested_root() {
    let place = Place::new();
    place.write("ws/a/b/c/f", "mine");
    place.write("ws/a/b/g", "x");
    let inner = place.ws.join("a/b/c");
    let rules = with_roots(&[
        (&place.ws, RootAccess::ReadWrite),
        (&inner, RootAccess::ReadOnly),
    ]);
    let sandbox = sandbox(&rules);
    refused(
        &sandbox,
        &place,
        &["mv a x", "mv a/b x", "mv a/b/c x", "echo y > a/b/c/f"],
    );
    line(
        &sandbox,
        &place,
        "mv a old; mkdir -p a/b/c; echo theirs > a/b/c/f",
    );
    assert_eq!(place.read("ws/a/b/c/f"), "mine");
    assert!(line(&sandbox, &place, "echo y > a/b/g; cat a/b/c/f").succeeded());
}

fn grant_is_protected() {
    let place = Place::new();
    let cargo = place.out.join(".cargo");
    place.write("out/.cargo/config.toml", "[net]");
    place.write("out/.cargo/registry/f", "");
    place.write("out/.cargo/.vscode/tasks.json", "{}");
    place.setup("git init -q out/repo");
    let mut rules = place.rules();
    let write = |path: std::path::PathBuf| Grant {
        path,
        access: RootAccess::ReadWrite,
    };
    rules.grants = vec![write(cargo.clone()), write(place.out.join("repo"))];
    let sandbox = sandbox(&rules);
    let out = place.out.display();
    refused(
        &sandbox,
        &place,
        &[
            &format!("echo x >> {out}/.cargo/.vscode/tasks.json"),
            &format!("echo x > {out}/repo/.git/hooks/pre-commit"),
            &format!("echo x >> {out}/repo/.git/config"),
            &format!("mv {out}/repo/.git {out}/repo/old"),
        ],
    );
    assert!(
        line(
            &sandbox,
            &place,
            &format!("touch {out}/.cargo/registry/g {out}/repo/x")
        )
        .succeeded()
    );
    let ran = line(
        &sandbox,
        &place,
        &format!(
            "mkdir -p {out}/repo/sub/.vscode; echo x > {out}/repo/sub/.vscode/tasks.json; echo x > {out}/.cargo/.bashrc"
        ),
    );
    assert_eq!(ran.finished.settled.appeared.len(), 2, "{ran:?}");
    assert!(!place.exists("out/.cargo/.bashrc") && !place.exists("out/repo/sub/.vscode"));
}

fn link_target() {
    let place = Place::new();
    place.write("ws/editor/tasks.json", "{}");
    place.write("ws/dots/bashrc", "alias x=y");
    place.setup("cd ws; ln -s editor .vscode; ln -s dots/rc .bashrc; ln -s bashrc dots/rc; ln -s ../out/x .zshrc; ln -s . .idea");
    let sandbox = sandbox(&place.rules());
    refused(
        &sandbox,
        &place,
        &[
            "echo x > .vscode/tasks.json",
            "echo x > editor/new.json",
            "echo x >> .bashrc",
            "echo x >> dots/bashrc",
            "mv dots d; echo x >> d/bashrc",
        ],
    );
    assert!(line(&sandbox, &place, "touch free").succeeded());
}
