//! What a layered command changed, as facts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use toolgate_sandbox::command::{CommandSandbox, SandboxRules};
use toolgate_sandbox::layer::{ChangeKind, Changes, EntryKind, Layer, Layering, Withheld};
use trial::{Place, run_spec, sandbox, spec};

fn main() -> ExitCode {
    toolgate_sandbox::command::init();
    trial::run(&[
        ("each_change_is_reported_once", each_change_is_reported_once),
        (
            "a_command_that_changes_nothing_has_no_changes",
            a_command_that_changes_nothing_has_no_changes,
        ),
        (
            "attributes_that_a_command_sets_are_not_obeyed",
            attributes_that_a_command_sets_are_not_obeyed,
        ),
        (
            "names_that_are_not_text_are_reported",
            names_that_are_not_text_are_reported,
        ),
        (
            "protected_and_denied_names_are_withheld",
            protected_and_denied_names_are_withheld,
        ),
        (
            "old_and_new_content_can_be_read",
            old_and_new_content_can_be_read,
        ),
        (
            "closed_directories_and_files_are_read_all_the_same",
            closed_directories_and_files_are_read_all_the_same,
        ),
    ])
}

fn rules(place: &Place) -> SandboxRules {
    let mut rules = place.rules();
    rules.layers = vec![place.directory.path().join("layers")];
    rules
}

fn layer(sandbox: &CommandSandbox, place: &Place, line: &str) -> Layer {
    let mut spec = spec(line, &place.ws);
    spec.layering = Layering::Required;
    let ran = run_spec(sandbox, spec, Default::default());
    assert!(ran.succeeded(), "{ran:?}");
    ran.finished.layer.expect("a layer")
}

fn shown(changes: &Changes) -> Vec<String> {
    let one = |change: &toolgate_sandbox::layer::Change| {
        let path = change.path.display();
        match change
            .after
            .as_ref()
            .and_then(|after| after.links_to.as_ref())
        {
            Some(to) => format!("{:?} {path} = {}", change.kind, to.display()),
            None => format!("{:?} {path}", change.kind),
        }
    };
    changes.iter().map(one).collect()
}

fn each_change_is_reported_once() {
    let place = Place::new();
    place.setup(
        "cd ws; mkdir -p d/sub keep e gone/x; echo 1 > d/1; echo 2 > d/2; echo k > keep/k; \
         echo m > m; echo c > c; ln -s m l; echo t > t; echo u > u; echo 1 > e/1; echo z > gone/x/z; \
         echo h > h; ln h h2",
    );
    let sandbox = sandbox(&rules(&place));
    let script = "echo more >> m; chmod 755 c; ln -sfn c l; rm t; mkdir t; echo x > t/x; \
                  rm -rf e; mkdir e; echo 2 > e/2; rm -r gone; mv d/1 d/3; rm -r d/sub; \
                  echo new > keep/n; mkfifo p; touch -d @5 u; ln keep/k k2; rm h2; : > keep/empty";
    let changes = layer(&sandbox, &place, script).changes().expect("changes");
    let expected = [
        "Attributes c",
        "Deleted d/1",
        "Created d/3",
        "Deleted d/sub",
        "Replaced e",
        "Created e/2",
        "Deleted gone",
        "Deleted h2",
        "Linked k2 = keep/k",
        "Created keep/empty",
        "Created keep/n",
        "Modified l",
        "Modified m",
        "Created p",
        "Replaced t",
        "Created t/x",
        "Attributes u",
    ];
    assert_eq!(shown(&changes), expected);
    let of = |path: &str| {
        let mut all = changes.iter();
        let found = all.find(|change| change.path.as_os_str() == path);
        found.unwrap_or_else(|| panic!("{path}"))
    };
    let modes = |path: &str| {
        let change = of(path);
        let mode = |entry: &Option<toolgate_sandbox::layer::Entry>| {
            entry.as_ref().map(|entry| entry.mode & 0o111)
        };
        (mode(&change.before), mode(&change.after))
    };
    assert_eq!(modes("c"), (Some(0), Some(0o111)));
    let target = of("l")
        .after
        .as_ref()
        .and_then(|after| after.target.clone());
    assert_eq!(target.as_deref(), Some(b"c".as_slice()));
    assert_eq!(
        of("p").after.as_ref().map(|one| one.kind),
        Some(EntryKind::Fifo)
    );
    assert_eq!(of("m").after.as_ref().map(|one| one.size), Some(7));
}

fn a_command_that_changes_nothing_has_no_changes() {
    let place = Place::new();
    place.setup("cd ws; git init -q .; echo 1 > a; mkdir d; ln a b");
    let sandbox = sandbox(&rules(&place));
    let script = "ls -R; cat a; echo x > tmp; rm tmp; chmod 600 a; chmod 644 a; mkdir n; rmdir n; \
                  touch -r a keep; mv a z; mv z a; rm keep; git status; echo y > /tmp/else";
    let layer = layer(&sandbox, &place, script);
    let changes = layer.changes().expect("changes");
    let left = changes
        .iter()
        .filter(|change| !change.path.starts_with(".git"));
    assert_eq!(left.count(), 0, "{changes:?}");
}

fn attributes_that_a_command_sets_are_not_obeyed() {
    let place = Place::new();
    place.setup("mkdir -p ws/d; echo 1 > ws/d/1");
    let sandbox = sandbox(&rules(&place));
    let script = "python3 -c 'import os\nfor n in (\"opaque\", \"whiteout\", \"redirect\", \"metacopy\"):\n \
                  [os.setxattr(p, \"user.overlay.\" + n, b\"y\") for p in (\"d\", \"d/1\")]'; \
                  mkdir d/n; python3 -c 'import os; os.setxattr(\"d/n\", \"user.overlay.opaque\", b\"y\")'; \
                  ! mknod d/w c 0 0";
    let changes = layer(&sandbox, &place, script).changes().expect("changes");
    assert_eq!(shown(&changes), ["Created d/n"]);
}

fn names_that_are_not_text_are_reported() {
    let place = Place::new();
    let sandbox = sandbox(&rules(&place));
    let script = "touch $'\\xff\\n x'; mkdir $'d\\xfe'; touch $'d\\xfe/f'";
    let changes = layer(&sandbox, &place, script).changes().expect("changes");
    let paths: Vec<&[u8]> = changes
        .iter()
        .map(|change| change.path.as_os_str().as_bytes())
        .collect();
    assert_eq!(paths, [b"d\xfe".as_slice(), b"d\xfe/f", b"\xff\n x"]);
}

fn protected_and_denied_names_are_withheld() {
    let place = Place::new();
    place.setup("mkdir -p ws/in");
    let sandbox = sandbox(&rules(&place));
    let script = "mkdir -p in/.git/hooks in/.vscode; echo x > in/.git/hooks/post-commit; \
                  echo x > in/.env; echo x > in/free; echo x > in/.vscode/tasks.json";
    let changes = layer(&sandbox, &place, script).changes().expect("changes");
    let withheld = |path: &str| {
        let mut all = changes.iter();
        let found = all.find(|change| change.path.as_os_str() == path);
        found
            .unwrap_or_else(|| panic!("{path}: {changes:?}"))
            .withheld
            .clone()
    };
    let protected = |path: &str| matches!(withheld(path), Some(Withheld::Protected { .. }));
    assert!(protected("in/.git/hooks") && protected("in/.git/hooks/post-commit"));
    assert!(protected("in/.vscode/tasks.json"), "{changes:?}");
    assert!(matches!(withheld("in/.env"), Some(Withheld::Denied { .. })));
    assert_eq!(withheld("in/free"), None);
}

fn old_and_new_content_can_be_read() {
    let place = Place::new();
    place.write("ws/a/f", "old");
    let sandbox = sandbox(&rules(&place));
    let layer = layer(&sandbox, &place, "echo new > a/f");
    let changes = layer.changes().expect("changes");
    let change = changes.first().expect("a change");
    assert_eq!((changes.len(), change.kind), (1, ChangeKind::Modified));
    let read = |fd: std::os::fd::OwnedFd| {
        let mut text = String::new();
        std::fs::File::from(fd)
            .read_to_string(&mut text)
            .expect("text");
        text
    };
    assert_eq!(read(layer.open_new(change).expect("new")), "new\n");
    assert_eq!(read(layer.open_old(change).expect("old")), "old");
    // Another file in its place is not the one that was compared.
    place.write("ws/b", "other");
    std::fs::rename(place.ws.join("b"), place.ws.join("a/f")).expect("rename");
    assert!(layer.open_old(change).is_err());
    std::fs::remove_file(place.ws.join("a/f")).expect("remove");
    std::os::unix::fs::symlink("/etc/passwd", place.ws.join("a/f")).expect("link");
    assert!(layer.open_old(change).is_err());
}

fn closed_directories_and_files_are_read_all_the_same() {
    let place = Place::new();
    place.setup("cd ws; echo 1 > f; mkdir d; echo 1 > d/1");
    let sandbox = sandbox(&rules(&place));
    let script = "mkdir -p n/m; echo 1 > n/m/f; chmod 0 n/m/f n/m n; echo 2 > d/2; chmod 0 d; \
                  echo 9 > f; chmod 0 f";
    let changes = layer(&sandbox, &place, script).changes().expect("changes");
    let expected = [
        "Attributes d",
        "Created d/2",
        "Modified f",
        "Created n",
        "Created n/m",
        "Created n/m/f",
    ];
    assert_eq!(shown(&changes), expected);
    for change in changes
        .iter()
        .filter(|change| change.path.as_os_str() != "d/2")
    {
        assert_eq!(
            change.after.as_ref().map(|one| one.mode),
            Some(0),
            "{change:?}"
        );
    }
}
