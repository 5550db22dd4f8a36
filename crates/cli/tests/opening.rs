//! "[o] would open": real directories, links and denied names, at a terminal, for root and for
//! an ordinary user.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;
#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;

use std::path::Path;

use program::{Done, answer};
use run::{Place, users};
use serde_json::json;

fn on_the_host(place: &Place, script: &str) {
    let mut command = place.command(Path::new("bash"));
    let output = command.args(["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

/// Runs a command of the workspace and types a line into the question.
fn typed(place: &Place, command: &str, line: &str) -> Done {
    let args = json!({ "command": place.filled_in(command) }).to_string();
    std::fs::write(place.path("args.json"), args).unwrap();
    let exec = format!(
        "{} --workspace {} exec run_command - < {}",
        place.toolgate().get_program().to_str().unwrap(),
        place.path("ws").display(),
        place.path("args.json").display(),
    );
    let mut script = place.command(Path::new("script"));
    script.env("TERM", "xterm");
    script.args(["--quiet", "--return", "--command", &exec, "/dev/null"]);
    answer(script, [line])
}

const SETUP: &str = r#"
    mkdir -p $OUT/home/.ssh $OUT/other $OUT/home/.config/gh $OUT/home/.docker
    echo the-key > $OUT/home/.ssh/readme.md
    echo of-other > $OUT/other/readme.md
    echo oauth_token: the-key > $OUT/home/.config/gh/hosts.yml
    echo fine > $OUT/home/.config/gh/config.yml
    echo the-key > $OUT/home/.docker/config.json
    ln -s home/.ssh $OUT/docs
    ln -s ../out/home/.ssh $WS/docs
    ln -s $WS $OUT/alias
    ln -s other $OUT/l
    echo "cat $OUT/home/.ssh/* $OUT/home/.docker/*" > $WS/build.sh
"#;

#[test]
fn a_link_to_denied_files_is_never_opened() {
    for user in users() {
        let place = Place::new(user);
        on_the_host(&place, SETUP);
        for command in [
            "cat $OUT/docs/readme.md; sh ./build.sh",
            "cat $OUT/alias/docs/readme.md; sh ./build.sh",
            "cat $OUT/home/.ssh/../.ssh/readme.md; sh ./build.sh",
            "cat ../out/docs/readme.md; sh ./build.sh",
            "cat $OUT/home/.docker/config.json; sh ./build.sh",
        ] {
            for line in ["o\n", "oc\n"] {
                let done = typed(&place, command, line);
                assert!(
                    !done.stdout.contains("the-key"),
                    "{user:?} {command}: {done:?}"
                );
                let offers = done.stdout.contains(".ssh (") || done.stdout.contains("docs\r");
                assert!(!offers, "{user:?} {command}: {done:?}");
            }
        }
    }
}

#[test]
fn a_link_that_may_be_opened_is_shown_with_the_place_it_leads_to() {
    for user in users() {
        let place = Place::new(user);
        on_the_host(&place, SETUP);
        let done = typed(&place, "cat $OUT/l/readme.md $OUT/other/readme.md", "o\n");
        let shown = place.filled_in("$OUT/l (a link leads to $OUT/other)");
        let rows = ["\x1b[0m", "\x1b[2m", "\u{21b3}"];
        let flat = rows
            .iter()
            .fold(done.stdout.clone(), |text, mark| text.replace(mark, ""));
        let flat: String = flat.split_whitespace().collect();
        let wanted: String = shown.split_whitespace().collect();
        assert!(flat.contains(&wanted), "{user:?}: {done:?}");
        assert!(done.stdout.contains("of-other"), "{user:?}: {done:?}");
    }
}

/// A pattern of several names counts where the directory lies, not only beneath it.
#[test]
fn denied_names_stay_closed_in_a_directory_that_was_opened() {
    for user in users() {
        let place = Place::new(user);
        on_the_host(&place, SETUP);
        for line in [
            "cat $OUT/home/.config/gh/config.yml; sh ./own.sh",
            "cat $OUT/home/.config/gh/none.txt; cat $OUT/home/.config/gh/config.yml; sh ./own.sh",
        ] {
            on_the_host(&place, "echo \"cat $OUT/home/.config/gh/*\" > $WS/own.sh");
            let done = typed(&place, line, "o\n");
            assert!(done.stdout.contains("would open"), "{user:?}: {done:?}");
            assert!(done.stdout.contains("fine"), "{user:?}: {done:?}");
            assert!(!done.stdout.contains("the-key"), "{user:?}: {done:?}");
        }
    }
}

/// The home directory and what holds it are too much, whatever name leads there.
#[test]
fn the_home_directory_is_not_offered_under_another_name() {
    for user in users() {
        let place = Place::new(user);
        on_the_host(
            &place,
            "mkdir $OUT; echo the-key > $WS/../home/notes.txt; ln -s ../home $OUT/h; ln -s .. $OUT/up",
        );
        for command in [
            "cat $OUT/h/notes.txt",
            "cat $OUT/up/notes.txt",
            "cat $OUT/up/home/notes.txt",
        ] {
            let done = typed(&place, command, "o\n");
            assert!(!done.stdout.contains("would open"), "{user:?}: {done:?}");
            assert!(!done.stdout.contains("the-key"), "{user:?}: {done:?}");
        }
    }
}
