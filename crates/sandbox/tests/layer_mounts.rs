//! Commands whose changes go to a layer: what they see, and what stays as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::os::fd::AsFd;
use std::process::ExitCode;

use toolgate_sandbox::command::{CommandSandbox, Outcome, SandboxError, SandboxRules};
use toolgate_sandbox::layer::{Layering, NoLayer};
use trial::{Place, Ran, names, run_spec, sandbox, spec};

fn main() -> ExitCode {
    toolgate_sandbox::command::init();
    trial::run(&[
        (
            "a_layered_command_changes_nothing_in_the_root",
            a_layered_command_changes_nothing_in_the_root,
        ),
        (
            "guards_lie_on_top_of_the_merged_tree",
            guards_lie_on_top_of_the_merged_tree,
        ),
        (
            "no_placeholder_stands_in_the_root_while_it_runs",
            no_placeholder_stands_in_the_root_while_it_runs,
        ),
        (
            "two_commands_in_a_row_do_not_see_each_other",
            two_commands_in_a_row_do_not_see_each_other,
        ),
        (
            "a_planted_overlay_attribute_refuses_the_layer",
            a_planted_overlay_attribute_refuses_the_layer,
        ),
        (
            "directories_inside_a_layered_root_keep_their_own_access",
            directories_inside_a_layered_root_keep_their_own_access,
        ),
        (
            "the_halves_of_the_layer_cannot_be_reached",
            the_halves_of_the_layer_cannot_be_reached,
        ),
        (
            "nothing_is_left_in_the_directory_for_layers",
            nothing_is_left_in_the_directory_for_layers,
        ),
    ])
}

fn rules(place: &Place) -> SandboxRules {
    let mut rules = place.rules();
    rules.layers = vec![place.directory.path().join("layers")];
    rules
}

fn layered(sandbox: &CommandSandbox, place: &Place, line: &str) -> Ran {
    let mut spec = spec(line, &place.ws);
    spec.layering = Layering::Required;
    let ran = run_spec(sandbox, spec, Default::default());
    assert!(ran.finished.layer.is_some(), "{ran:?}");
    ran
}

fn a_layered_command_changes_nothing_in_the_root() {
    let place = Place::new();
    place.setup("cd ws; echo old > f; mkdir d; echo 1 > d/1; ln f h; ln -s f l");
    let sandbox = sandbox(&rules(&place));
    let script = "echo new >> f; rm d/1; rmdir d; echo x > d; echo y > made; chmod 600 h; \
                  rm l; ln -s made l; ls | sort | tr '\\n' ' '; cat f";
    let ran = layered(&sandbox, &place, script);
    assert!(ran.succeeded(), "{ran:?}");
    assert!(ran.text().contains("d f h l made"), "{ran:?}");
    assert!(ran.text().ends_with("old\nnew\n"), "{ran:?}");
    assert_eq!(names(&place), ["d", "f", "h", "l"]);
    assert_eq!(place.read("ws/f"), "old\n");
    assert_eq!(place.read("ws/d/1"), "1\n");
}

fn guards_lie_on_top_of_the_merged_tree() {
    let place = Place::new();
    place.setup("cd ws; git init -q .; echo secret > .env; mkdir a; echo key > a/id_rsa");
    let sandbox = sandbox(&rules(&place));
    for line in [
        "cat .env",
        "cat a/id_rsa",
        "mv a b",
        "echo '[core]' >> .git/config",
        "rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/pre-commit",
        "mkdir -p .vscode && touch .vscode/settings.json",
        "rmdir .vscode",
        "mv .git x",
    ] {
        let ran = layered(&sandbox, &place, line);
        let denied = matches!(ran.finished.outcome, Outcome::Exited(code) if code != 0);
        assert!(denied, "got through: {line}: {ran:?}");
    }
    let ran = layered(
        &sandbox,
        &place,
        "git status --short && touch a/f && ls -A a",
    );
    assert!(ran.succeeded(), "{ran:?}");
}

fn no_placeholder_stands_in_the_root_while_it_runs() {
    let place = Place::new();
    place.write("ws/f", "text");
    let sandbox = sandbox(&rules(&place));
    let mut spec = spec("ls -A; read line; echo $line", &place.ws);
    let (input, answer) = std::io::pipe().expect("pipe");
    spec.stdin = Some(input.into());
    spec.layering = Layering::Required;
    let running = sandbox.run(spec).expect("started");
    assert!(running.is_layered());
    let mut said = Vec::new();
    let mut driving = running.driving(Default::default());
    let mut seen = None;
    loop {
        let turn = driving.step(std::time::Duration::from_secs(10), |_, bytes| {
            said.extend_from_slice(bytes);
        });
        if let toolgate_sandbox::command::Turn::Over(cause) = turn {
            drop(driving.finish(cause, |_, bytes| said.extend_from_slice(bytes)));
            break;
        }
        if seen.is_none() && !said.is_empty() {
            seen = Some(names(&place));
            rustix::io::write(answer.as_fd(), b"go on\n").expect("answer");
        }
    }
    assert_eq!(seen.expect("output"), ["f"]);
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains(".vscode") && said.contains("go on"), "{said}");
}

fn two_commands_in_a_row_do_not_see_each_other() {
    let place = Place::new();
    let sandbox = sandbox(&rules(&place));
    for _ in 0..20 {
        let ran = layered(
            &sandbox,
            &place,
            "test ! -e here && touch here && test -e here",
        );
        assert!(ran.succeeded(), "{ran:?}");
    }
    // What changes outside between commands is seen by the next one.
    place.write("ws/new", "1");
    assert!(layered(&sandbox, &place, "test -e new").succeeded());
    place.write("ws/.vscode/settings.json", "{}");
    let ran = layered(
        &sandbox,
        &place,
        "cat .vscode/settings.json && ! touch .vscode/x",
    );
    assert!(ran.succeeded(), "{ran:?}");
    std::fs::remove_dir_all(place.ws.join(".vscode")).expect("remove");
    let ran = layered(&sandbox, &place, "test -z \"$(ls -A .vscode)\"");
    assert!(ran.succeeded(), "{ran:?}");
}

fn a_planted_overlay_attribute_refuses_the_layer() {
    let place = Place::new();
    place.setup("mkdir -p ws/a/b");
    let planted = place.ws.join("a/b");
    let name = c"user.overlay.opaque";
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(&planted, name, b"x", flags).expect("attribute");
    let sandbox = sandbox(&rules(&place));
    let mut required = spec("true", &place.ws);
    required.layering = Layering::Required;
    match sandbox.run(required) {
        Err(SandboxError::NoLayer(NoLayer::Planted { path })) => assert_eq!(path, planted),
        other => panic!("{other:?}"),
    }
    let mut possible = spec("touch f", &place.ws);
    possible.layering = Layering::IfPossible;
    let ran = run_spec(&sandbox, possible, Default::default());
    assert!(ran.finished.layer.is_none() && place.exists("ws/f"));
    let why = ran.finished.no_layer;
    assert!(matches!(why, Some(NoLayer::Planted { .. })), "{why:?}");
    rustix::fs::removexattr(&planted, name).expect("attribute");
    layered(&sandbox, &place, "true");
}

fn directories_inside_a_layered_root_keep_their_own_access() {
    use toolgate_sandbox::command::Grant;
    use toolgate_sandbox::paths::RootAccess;
    let place = Place::new();
    place.setup("cd ws; mkdir -p a/ro a/rw; echo 1 > a/ro/f; echo 1 > a/rw/f; echo 1 > a/f");
    let mut rules = rules(&place);
    for (name, access) in [("ro", RootAccess::ReadOnly), ("rw", RootAccess::ReadWrite)] {
        let path = place.ws.join("a").join(name);
        rules.grants.push(Grant { path, access });
    }
    let sandbox = sandbox(&rules);
    let script = "! touch a/ro/x && echo 2 > a/rw/f && echo 2 > a/f && cat a/ro/f a/rw/f a/f";
    let ran = layered(&sandbox, &place, script);
    assert!(ran.succeeded(), "{ran:?}");
    assert!(ran.stdout.ends_with("1\n2\n2\n"), "{ran:?}");
    assert_eq!(place.read("ws/a/rw/f"), "2\n");
    assert_eq!(place.read("ws/a/f"), "1\n");
}

fn the_halves_of_the_layer_cannot_be_reached() {
    let place = Place::new();
    place.write("ws/f", "text");
    let sandbox = sandbox(&rules(&place));
    for line in [
        "ls /.layers/b0",
        "ls /.layers",
        "cat /.layers/d0/f",
        "umount /.layers",
    ] {
        let ran = layered(&sandbox, &place, line);
        assert!(!ran.succeeded(), "got through: {line}: {ran:?}");
    }
    let layers = place.directory.path().join("layers");
    let ran = layered(&sandbox, &place, &format!("ls {}", layers.display()));
    assert!(!ran.succeeded(), "{ran:?}");
}

fn nothing_is_left_in_the_directory_for_layers() {
    let place = Place::new();
    let sandbox = sandbox(&rules(&place));
    for _ in 0..3 {
        layered(&sandbox, &place, "mkdir -p a/b; touch a/b/c; chmod 0 a/b a");
    }
    drop(sandbox);
    let layers = place.directory.path().join("layers");
    assert_eq!(std::fs::read_dir(layers).expect("layers").count(), 0);
}
