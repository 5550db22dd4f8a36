//! A guarded file stays guarded under its other names: behind links in protected directories,
//! behind links on the way to it, and behind hard links.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use toolgate_sandbox::command::{self, CommandSandbox, Deadlines, Grant, SandboxRules};
use toolgate_sandbox::paths::RootAccess;
use toolgate_sandbox::{PathRules, PathSandbox};
use trial::{Place, Trial, line, sandbox, spec, with_roots};

fn main() -> ExitCode {
    command::init();
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    (
        "the target of a link in a protected directory is protected",
        links_in_protected_directories,
    ),
    (
        "a link on the way to a protected file is restored",
        links_on_the_way,
    ),
    (
        "the missing target of a protected link is not filled",
        missing_targets,
    ),
    (
        "a protected link is followed into other roots and grants",
        links_between_trees,
    ),
    (
        "other names of the target of a protected link are protected",
        hard_links_of_targets,
    ),
    (
        "other names of own files are hidden",
        hard_links_of_own_files,
    ),
    (
        "a grant hides other names of files denied elsewhere",
        hard_links_in_grants,
    ),
    (
        "other names of files too deep to search are hidden",
        hard_links_of_deep_files,
    ),
    (
        "a file in the place of a placeholder is moved",
        removed_placeholders,
    ),
    (
        "a placeholder removed by another program's command is searched",
        placeholder_of_two_programs,
    ),
    (
        "links that leave nothing to guard cost no freedom",
        harmless_links,
    ),
    (
        "an opened target of a protected link is free",
        opened_target,
    ),
];

const EVIL: &str = "EVIL-77c1";
const SECRET: &str = "CANARY-51d0";

/// Commands that try to change what a name leads to.
struct Attack {
    setup: &'static str,
    lines: &'static [&'static str],
    /// Read by the user afterwards, through all links.
    read: &'static str,
}

const fn attack(setup: &'static str, lines: &'static [&'static str], read: &'static str) -> Attack {
    Attack { setup, lines, read }
}

fn read_by_the_user(place: &Place, path: &str) -> String {
    let output = Command::new("cat")
        .arg(place.directory.path().join(path))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn held(attacks: &[Attack], rules: impl Fn(&Place) -> SandboxRules) {
    let mut wrong = Vec::new();
    for attack in attacks {
        let place = Place::new();
        place.setup(&format!("cd ws; git init -q .; {}", attack.setup));
        let sandbox = sandbox(&rules(&place));
        let ran: Vec<_> = attack
            .lines
            .iter()
            .map(|text| line(&sandbox, &place, &text.replace("EVIL", EVIL)))
            .collect();
        drop(sandbox);
        if read_by_the_user(&place, attack.read).contains(EVIL) {
            let settled: Vec<_> = ran.iter().map(|ran| &ran.finished.settled).collect();
            wrong.push(format!(
                "{}\n  {:?}\n  {settled:?}",
                attack.setup, attack.lines
            ));
        }
    }
    assert!(wrong.is_empty(), "changed:\n{}", wrong.join("\n"));
}

fn links_in_protected_directories() {
    held(
        &[
            attack(
                "mkdir scripts; echo mine > scripts/hook.sh; ln -s ../../scripts/hook.sh .git/hooks/pre-commit",
                &[
                    "echo EVIL > scripts/hook.sh",
                    "mv scripts s; mkdir scripts; echo EVIL > scripts/hook.sh",
                ],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "mkdir scripts; echo mine > scripts/hook.sh; ln -s $WS/scripts/hook.sh .git/hooks/pre-commit",
                &["rm scripts/hook.sh; echo EVIL > scripts/hook.sh"],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "mkdir -p .vscode cfg; echo mine > cfg/t; ln -s ../cfg/t .vscode/tasks.json",
                &["echo EVIL > cfg/t"],
                "ws/.vscode/tasks.json",
            ),
            attack(
                "mkdir -p .vscode/a/b cfg; echo mine > cfg/t; ln -s ../../../cfg/t .vscode/a/b/t",
                &["echo EVIL > cfg/t"],
                "ws/.vscode/a/b/t",
            ),
            // A directory behind a link, with a link in it.
            attack(
                "mkdir -p tools/hooks scripts; rm -r .git/hooks; ln -s ../tools/hooks .git/hooks; echo mine > scripts/x; ln -s ../../scripts/x tools/hooks/pre-commit",
                &["echo EVIL > scripts/x"],
                "ws/.git/hooks/pre-commit",
            ),
            // And that twice.
            attack(
                "mkdir -p .claude one two three; ln -s ../one .claude/commands; ln -s ../two one/sub; ln -s ../three/f two/f; echo mine > three/f",
                &["echo EVIL > three/f"],
                "ws/.claude/commands/sub/f",
            ),
            // A link to another link.
            attack(
                "mkdir -p .husky s; echo mine > s/c; ln -s c s/b; ln -s b s/a; ln -s ../s/a .husky/pre-commit",
                &[
                    "echo EVIL > s/c",
                    "rm s/a; echo EVIL > s/a",
                    "ln -sf /nowhere s/b; rm s/b; echo EVIL > s/b",
                ],
                "ws/.husky/pre-commit",
            ),
            // A link to a directory around it, and another through that.
            attack(
                "mkdir -p .vscode cfg; echo mine > cfg/t; ln -s .. .vscode/root; ln -s root/cfg/t .vscode/tasks.json",
                &["echo EVIL > cfg/t"],
                "ws/.vscode/tasks.json",
            ),
            // A bare repository.
            attack(
                "git init -q --bare r.git; mkdir s; echo mine > s/x; ln -s ../../s/x r.git/hooks/post-update",
                &["echo EVIL > s/x"],
                "ws/r.git/hooks/post-update",
            ),
            // A directory that holds the target.
            attack(
                "mkdir -p .vscode cfg/in; echo mine > cfg/in/t; ln -s ../cfg .vscode/c",
                &[
                    "echo EVIL > cfg/in/t",
                    "mv cfg/in cfg/x; mkdir cfg/in; echo EVIL > cfg/in/t",
                ],
                "ws/.vscode/c/in/t",
            ),
        ],
        Place::rules,
    );
}

fn links_on_the_way() {
    held(
        &[
            attack(
                "mkdir real; echo mine > real/envrc; ln -s real s; ln -s s/envrc .envrc",
                &["mkdir evil; echo EVIL > evil/envrc; rm s; ln -s /usr/..$PWD/evil s"],
                "ws/.envrc",
            ),
            attack(
                "mkdir real; echo mine > real/envrc; ln -s real s; ln -s s/envrc .envrc",
                &["rm s", "mkdir s; echo EVIL > s/envrc"],
                "ws/.envrc",
            ),
            attack(
                "mkdir real; echo mine > real/envrc; ln -s real l0; for i in {1..9}; do ln -s l$((i-1)) l$i; done; ln -s l9/envrc .envrc",
                &[
                    "echo EVIL > real/envrc",
                    "mkdir evil; echo EVIL > evil/envrc; ln -sfn evil l4",
                    "ln -sfn evil l0",
                ],
                "ws/.envrc",
            ),
            // As many as the kernel follows.
            attack(
                "echo mine > end; ln -s end l0; for i in {1..38}; do ln -s l$((i-1)) l$i; done; ln -s l38 .envrc; cat .envrc",
                &[
                    "echo EVIL > end",
                    "rm l0; echo EVIL > l0",
                    "rm l20; echo EVIL > l20",
                ],
                "ws/.envrc",
            ),
            // A loop that ends.
            attack(
                "ln -s l1 .envrc; ln -s l2 l1; ln -s l1 l2",
                &["rm l2; echo EVIL > l2"],
                "ws/.envrc",
            ),
            // A step back from a directory.
            attack(
                "mkdir a real; echo mine > real/envrc; ln -s a/../real/envrc .envrc",
                &[
                    "mkdir -p evil/x evil/real; echo EVIL > evil/real/envrc; mv a b; rmdir a; ln -s evil/x a",
                ],
                "ws/.envrc",
            ),
            // Out of the root and back in.
            attack(
                "mkdir cfg; echo mine > cfg/envrc; ln -s /usr/..$WS/cfg/envrc .envrc",
                &["echo EVIL > cfg/envrc"],
                "ws/.envrc",
            ),
            attack(
                "mkdir cfg; echo mine > cfg/envrc; ln -s ../../../../../..$WS/cfg/envrc .envrc",
                &["echo EVIL > cfg/envrc"],
                "ws/.envrc",
            ),
            attack(
                "mkdir cfg; echo mine > cfg/envrc; ln -s ../ws/cfg $OUT/c; ln -s ../out/c/envrc .envrc; ln -s $WS/cfg2 $OUT/d; ln -s ../out/d/x .bash_logout",
                &["echo EVIL > cfg/envrc; mkdir cfg2; echo EVIL > cfg2/x"],
                "ws/.envrc",
            ),
            // A link in a protected directory, with a link on its way.
            attack(
                "mkdir real; echo mine > real/h; ln -s real s; ln -s ../../s/h .git/hooks/pre-commit",
                &["mkdir evil; echo EVIL > evil/h; ln -sfn evil s"],
                "ws/.git/hooks/pre-commit",
            ),
            // A link to a link deep in other directories.
            attack(
                "mkdir -p p/q real; echo mine > real/envrc; ln -s ../../real p/q/s; ln -s p/q/s/envrc .envrc",
                &[
                    "mkdir evil; echo EVIL > evil/envrc; mv p o; mkdir -p p/q; ln -sfn $PWD/evil p/q/s",
                ],
                "ws/.envrc",
            ),
        ],
        Place::rules,
    );
}

fn missing_targets() {
    held(
        &[
            attack(
                "ln -s gen/envrc .envrc",
                &["mkdir gen2; echo EVIL > gen2/envrc", "mv gen2 gen", "true"],
                "ws/.envrc",
            ),
            attack(
                "ln -s gen/envrc .envrc",
                &[
                    "mkdir other; echo EVIL > other/envrc",
                    "ln -s other gen",
                    "true",
                ],
                "ws/.envrc",
            ),
            attack(
                "ln -s a/b/c/envrc .envrc",
                &[
                    "mkdir a",
                    "mkdir -p x/c; echo EVIL > x/c/envrc",
                    "mv x a/b",
                    "true",
                ],
                "ws/.envrc",
            ),
            attack(
                "ln -s ../../gen/hook .git/hooks/pre-commit",
                &["mkdir gen; echo EVIL > gen/hook"],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "ln -s ../../gen/hook .git/hooks/pre-commit",
                &["mkdir g; echo EVIL > g/hook", "mv g gen", "true"],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "ln -s $WS/later .envrc",
                &["echo EVIL > x", "mv x later", "true"],
                "ws/.envrc",
            ),
            // A file on the way.
            attack(
                "echo x > file; ln -s file/x .envrc",
                &["rm file; mkdir file; echo EVIL > file/x"],
                "ws/.envrc",
            ),
            // A step back from what is missing.
            attack(
                "mkdir cfg; echo mine > cfg/envrc; ln -s gone/../cfg/envrc .envrc",
                &["mkdir gone; echo EVIL > cfg/envrc"],
                "ws/.envrc",
            ),
            attack(
                "ln -s gone/../cfg/envrc .envrc",
                &[
                    "mkdir gone; mkdir c; echo EVIL > c/envrc",
                    "mv c cfg",
                    "true",
                ],
                "ws/.envrc",
            ),
            attack(
                "mkdir -p e/in e/cfg; ln -s gone/../cfg/envrc .envrc",
                &["echo EVIL > e/cfg/envrc; ln -s e/in gone"],
                "ws/.envrc",
            ),
            // A directory that a link leads to gets a dangling link's target.
            attack(
                "mkdir vs; ln -s vs .vscode; ln -s ../gen/t vs/tasks.json",
                &["mkdir g; echo EVIL > g/t", "mv g gen", "true"],
                "ws/.vscode/tasks.json",
            ),
        ],
        Place::rules,
    );
}

fn links_between_trees() {
    let granted = |place: &Place| {
        let mut rules = place.rules();
        rules.grants = vec![Grant {
            path: place.out.clone(),
            access: RootAccess::ReadWrite,
        }];
        rules
    };
    let roots = |place: &Place| {
        with_roots(&[
            (&place.ws, RootAccess::ReadWrite),
            (&place.out, RootAccess::ReadWrite),
        ])
    };
    let nested = |place: &Place| {
        place.setup("mkdir -p ws/sub");
        let mut rules = place.rules();
        rules.grants = vec![Grant {
            path: place.ws.join("sub"),
            access: RootAccess::ReadWrite,
        }];
        rules
    };
    let attacks = [
        attack(
            "mkdir $OUT/cfg; echo mine > $OUT/cfg/envrc; ln -s ../out/cfg/envrc .envrc",
            &["echo EVIL > ../out/cfg/envrc"],
            "ws/.envrc",
        ),
        attack(
            "mkdir cfg $OUT/.vscode; echo mine > cfg/t; ln -s $WS/cfg/t $OUT/.vscode/tasks.json",
            &["echo EVIL > cfg/t"],
            "out/.vscode/tasks.json",
        ),
        attack(
            "mkdir cfg; echo mine > cfg/h; ln -s $WS/cfg $OUT/c; ln -s ../../../out/c/h .git/hooks/pre-commit",
            &[
                "mkdir evil; echo EVIL > evil/h; ln -sfn $PWD/evil ../out/c",
                "echo EVIL > cfg/h",
            ],
            "ws/.git/hooks/pre-commit",
        ),
        // There and back again.
        attack(
            "mkdir $OUT/h s; rm -r .git/hooks; ln -s ../../out/h .git/hooks; echo mine > s/x; ln -s ../../ws/s/x $OUT/h/pre-commit",
            &["echo EVIL > s/x"],
            "ws/.git/hooks/pre-commit",
        ),
        attack(
            "ln -s ../out/gen/envrc .envrc",
            &[
                "mkdir ../out/g; echo EVIL > ../out/g/envrc",
                "mv ../out/g ../out/gen",
                "true",
            ],
            "ws/.envrc",
        ),
        attack(
            "mkdir $OUT/cfg; echo mine > $OUT/cfg/envrc; ln $OUT/cfg/envrc plain; ln -s ../out/cfg/envrc .envrc",
            &["echo EVIL > plain"],
            "ws/.envrc",
        ),
    ];
    held(&attacks, granted);
    held(&attacks, roots);
    held(
        &[
            attack(
                "mkdir sub; echo mine > sub/x; ln -s ../../sub/x .git/hooks/pre-commit",
                &["echo EVIL > sub/x"],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "mkdir -p sub/.vscode cfg; echo mine > cfg/x; ln -s ../../cfg/x sub/.vscode/tasks.json",
                &["echo EVIL > cfg/x"],
                "ws/sub/.vscode/tasks.json",
            ),
            attack(
                "mkdir -p sub; ln -s sub/gen .envrc",
                &["echo EVIL > sub/g", "mv sub/g sub/gen", "true"],
                "ws/.envrc",
            ),
        ],
        nested,
    );
}

fn hard_links_of_targets() {
    held(
        &[
            attack(
                "mkdir cfg other; echo mine > cfg/envrc; ln cfg/envrc other/e2; ln -s cfg/envrc .envrc",
                &["echo EVIL > other/e2"],
                "ws/.envrc",
            ),
            attack(
                "mkdir -p vs/a other; echo mine > vs/a/t; ln vs/a/t other/t; ln -s vs .vscode",
                &["echo EVIL > other/t"],
                "ws/.vscode/a/t",
            ),
            attack(
                "mkdir s other; echo mine > s/h; ln s/h other/h; ln -s ../../s/h .git/hooks/pre-commit",
                &["echo EVIL > other/h"],
                "ws/.git/hooks/pre-commit",
            ),
            attack(
                "mkdir other; git init -q --bare r.git; ln r.git/config other/c",
                &["echo EVIL > other/c"],
                "ws/r.git/config",
            ),
            attack(
                "mkdir one two other; ln -s one .vscode; ln -s ../two one/sub; echo mine > two/t; ln two/t other/t",
                &["echo EVIL > other/t"],
                "ws/.vscode/sub/t",
            ),
        ],
        Place::rules,
    );
}

fn never_read(sandbox: &CommandSandbox, place: &Place, lines: &[&str]) {
    for text in lines {
        let text = text.replace("$OUT", &place.out.display().to_string());
        let ran = line(sandbox, place, &text);
        assert!(!ran.text().contains(SECRET), "{text}: {ran:?}");
    }
}

fn own_rules(place: &Place, closed: &[&str]) -> SandboxRules {
    let mut rules = PathRules::new(&place.ws);
    let closed = closed.iter().map(|path| place.directory.path().join(path));
    rules.own.closed = closed.collect();
    let mut rules = SandboxRules::new(PathSandbox::open(&rules).unwrap());
    rules.linger = std::time::Duration::ZERO;
    rules
}

fn hard_links_of_own_files() {
    let place = Place::new();
    place.write("ws/home/journal.db", SECRET);
    place.write("ws/home/out/a/b", SECRET);
    place.write("ws/state.db", SECRET);
    place.write("out/data/journal.db", SECRET);
    place.setup("cd ws; mkdir d; ln home/journal.db j.db; ln home/out/a/b d/b; ln state.db d/s; ln ../out/data/journal.db k.db");
    let sandbox = sandbox(&own_rules(&place, &["ws/home", "ws/state.db", "out/data"]));
    for _ in 0..2 {
        never_read(
            &sandbox,
            &place,
            &[
                "cat j.db",
                "cat d/b",
                "cat d/s",
                "cp -r . /tmp/x; cat /tmp/x/*",
                "cat k.db",
            ],
        );
        assert!(line(&sandbox, &place, "touch d/new; rm d/new").succeeded());
    }
}

fn hard_links_in_grants() {
    let place = Place::new();
    place.write("ws/.env", SECRET);
    place.write("ws/.ssh/a/key", SECRET);
    place.write("out/one/.env", SECRET);
    place.setup("cd out; mkdir two; ln ../ws/.env one/notes.txt; ln ../ws/.ssh/a/key two/readme; ln one/.env two/e; ln one/.env one/f; echo plain > two/plain; ln two/plain two/plain2");
    let read = |path: PathBuf| Grant {
        path,
        access: RootAccess::ReadOnly,
    };
    let mut rules = place.rules();
    rules.grants = vec![read(place.out.join("one")), read(place.out.join("two"))];
    let sandbox = sandbox(&rules);
    let lines = [
        "cat $OUT/one/notes.txt",
        "cat $OUT/two/readme",
        "cat $OUT/two/e $OUT/one/f",
    ];
    for _ in 0..3 {
        never_read(&sandbox, &place, &lines);
        let out = place.out.display();
        let ran = line(&sandbox, &place, &format!("cat {out}/two/plain2"));
        assert_eq!(ran.stdout, "plain\n", "{ran:?}");
    }
    // A file that is denied from now on.
    place.setup("echo CANARY-51d0 > out/two/late; ln out/two/late ws/late.pem");
    never_read(&sandbox, &place, &["cat $OUT/two/late"]);
    // A grant for one command.
    drop(sandbox);
    let sandbox = trial::sandbox(&place.rules());
    let mut one = spec(
        &format!("cat {}/notes.txt", place.out.join("one").display()),
        &place.ws,
    );
    one.grants = vec![read(place.out.join("one"))];
    let ran = trial::run_spec(&sandbox, one, Deadlines::default());
    assert!(!ran.text().contains(SECRET), "{ran:?}");
}

fn hard_links_of_deep_files() {
    for top in [".ssh", "plain"] {
        let place = Place::new();
        place.setup(&format!(
            "python3 - <<'END'\nimport os\nws=os.environ['WS']\nos.chdir(ws)\nos.mkdir('{top}'); os.chdir('{top}')\nfor i in range(19):\n os.mkdir('d'*200); os.chdir('d'*200)\nopen('.env','w').write('{SECRET}')\nos.link('.env', ws+'/notes.txt')\nEND"
        ));
        let sandbox = sandbox(&place.rules());
        never_read(
            &sandbox,
            &place,
            &["cat notes.txt", "cp notes.txt x; cat x", "cat notes.txt"],
        );
        place.setup("rm -rf ws/.ssh ws/plain");
    }
}

const PLANT: &str = "echo ready > ready; until mkdir .git 2>/dev/null; do :; done; mkdir .git/objects .git/refs; echo 'ref: refs/heads/x' > .git/HEAD; printf '[core]\\n\\tfsmonitor = x\\n' > .git/config";

fn wait_for(place: &Place, path: &str) {
    while !place.exists(path) {
        std::thread::yield_now();
    }
}

fn removed_placeholders() {
    let kept = |place: &Place| {
        let mut rules = PathRules::new(&place.ws);
        rules.own.kept = vec![place.ws.join("a/b/cfg")];
        SandboxRules::new(PathSandbox::open(&rules).unwrap())
    };
    for (text, removed, left) in [
        (PLANT, ".git", ".git/config"),
        (
            "echo ready > ready; until mkdir a 2>/dev/null; do :; done; mkdir -p a/b/cfg; echo x > a/b/cfg/config.toml",
            "a",
            "a/b/cfg/config.toml",
        ),
        (
            "echo ready > ready; until mkdir .vscode 2>/dev/null; do :; done; echo x > .vscode/tasks.json",
            ".vscode",
            ".vscode/tasks.json",
        ),
        (
            "echo ready > ready; until mkdir .git 2>/dev/null; do :; done; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
            ".git",
            ".git/hooks/pre-commit",
        ),
    ] {
        let place = Place::new();
        let sandbox = sandbox(&kept(&place));
        let running = sandbox.run(spec(text, &place.ws)).unwrap();
        wait_for(&place, "ws/ready");
        std::fs::remove_dir(place.ws.join(removed)).unwrap();
        let deadlines = Deadlines {
            total: Some(std::time::Duration::from_secs(60)),
            idle: None,
        };
        let finished = running.drive(deadlines, None, |_, _| {});
        assert!(!place.exists(&format!("ws/{left}")), "{left}: {finished:?}");
        assert!(
            !finished.settled.appeared.is_empty(),
            "{left}: {finished:?}"
        );
    }
}

fn placeholder_of_two_programs() {
    let place = Place::new();
    place.setup("mkdir ws/sub");
    let outer = sandbox(&place.rules());
    let inner = {
        let paths = PathSandbox::open(&PathRules::new(place.ws.join("sub"))).unwrap();
        sandbox(&SandboxRules::new(paths))
    };
    let running = inner.run(spec(PLANT, &place.ws.join("sub"))).unwrap();
    wait_for(&place, "ws/sub/ready");
    line(&outer, &place, "rmdir sub/.git");
    let deadlines = Deadlines {
        total: Some(std::time::Duration::from_secs(10)),
        idle: None,
    };
    let finished = running.drive(deadlines, None, |_, _| {});
    assert!(!place.exists("ws/sub/.git/config"), "{finished:?}");
}

fn harmless_links() {
    let place = Place::new();
    place.setup("cd ws; git init -q .; mkdir -p .vscode/in src node_modules/.bin node_modules/p; ln -s in .vscode/l; ln -s gone .vscode/m; ln -s .. .vscode/up; ln -s . .idea; ln -s /usr/bin .vscode/usr; echo x > node_modules/p/x; ln -s ../p/x node_modules/.bin/x; ln -s /nowhere/x .zshrc");
    let sandbox = sandbox(&place.rules());
    let ran = line(
        &sandbox,
        &place,
        "set -e; echo y > src/f; echo y > node_modules/p/x; ln -sf ../p/y node_modules/.bin/x; mv node_modules n; mkdir gone nowhere; touch gone/f; rm -r gone",
    );
    assert!(ran.succeeded(), "{ran:?}");
    assert!(ran.finished.settled.appeared.is_empty(), "{ran:?}");
    assert_eq!(ran.finished.settled.missed, None);
}

fn opened_target() {
    let place = Place::new();
    place.setup("cd ws; mkdir cfg; echo mine > cfg/envrc; echo mine > cfg/other; ln -s cfg/envrc .envrc; ln -s cfg/other .zshrc");
    let mut rules = place.rules();
    rules.opened = vec!["cfg/envrc".into()];
    let sandbox = sandbox(&rules);
    assert!(line(&sandbox, &place, "echo new > cfg/envrc").succeeded());
    trial::refused(&sandbox, &place, &["echo new > cfg/other"]);
}
