//! The page in real headless Chromium.
//!
//! The scripts in `tests/page` drive it. They run one after the other: a browser is large. The
//! program has a `main` of its own, because it is also the warden that starts commands.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/browser.rs"]
mod browser;
mod support;

use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use support::Place;

/// A test and its name.
type Trial = (&'static str, fn());

const TRIALS: &[Trial] = &[
    (
        "the_page_has_no_mistake_of_types",
        the_page_has_no_mistake_of_types,
    ),
    (
        "the_parts_of_the_page_do_what_they_say",
        the_parts_of_the_page_do_what_they_say,
    ),
    (
        "a_turn_is_watched_answered_drawn_and_undone",
        a_turn_is_watched_answered_drawn_and_undone,
    ),
    (
        "a_reload_in_the_middle_of_a_turn_loses_nothing",
        a_reload_in_the_middle_of_a_turn_loses_nothing,
    ),
    (
        "a_turn_is_stopped_and_the_next_one_goes_on",
        a_turn_is_stopped_and_the_next_one_goes_on,
    ),
    (
        "what_is_answered_in_one_tab_is_gone_in_all",
        what_is_answered_in_one_tab_is_gone_in_all,
    ),
    (
        "a_cut_and_a_new_start_of_the_server_need_no_reload",
        a_cut_and_a_new_start_of_the_server_need_no_reload,
    ),
    (
        "everything_works_by_keyboard_and_nothing_by_accident",
        everything_works_by_keyboard_and_nothing_by_accident,
    ),
    (
        "every_view_is_accessible_and_fits_its_window",
        every_view_is_accessible_and_fits_its_window,
    ),
];

/// Runs the tests whose names contain an argument, or all.
#[allow(clippy::print_stdout)]
fn main() -> ExitCode {
    toolgate_app::init();
    if std::env::var_os("TOOLGATE_SCREENS").is_some_and(|word| word == "write") {
        browsed("shots.mjs", include_str!("page/shots.toml"));
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, parts): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|text| text.starts_with('-'));
    let is_wanted =
        |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let wanted = TRIALS.iter().filter(|(name, _)| is_wanted(name));
    if options.contains(&&"--list".to_owned()) {
        wanted.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut run, mut failed) = (0, Vec::new());
    for (name, trial) in wanted {
        run += 1;
        let began = Instant::now();
        let is_well = catch_unwind(trial).is_ok();
        let word = if is_well { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.1?})", began.elapsed());
        if !is_well {
            failed.push(name);
        }
    }
    println!("\n{run} tests, {} failed {failed:?}", failed.len());
    ExitCode::from(u8::from(!failed.is_empty()))
}

/// Runs a script of the browser against a model that plays a script.
fn browsed(script: &str, model: &str) {
    let place = Place::new(model);
    let text = "one\ntwo\nthree\n";
    std::fs::write(place.workspace.path().join("greeting.txt"), text).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(browser::run(script, &place));
}

fn the_parts_of_the_page_do_what_they_say() {
    browsed("parts.mjs", include_str!("page/write.toml"));
}

fn a_turn_is_watched_answered_drawn_and_undone() {
    browsed("turn.mjs", include_str!("page/turn.toml"));
}

fn a_reload_in_the_middle_of_a_turn_loses_nothing() {
    browsed("reload.mjs", include_str!("page/slow.toml"));
}

fn a_turn_is_stopped_and_the_next_one_goes_on() {
    browsed("cancel.mjs", include_str!("page/stop.toml"));
}

fn what_is_answered_in_one_tab_is_gone_in_all() {
    browsed("tabs.mjs", include_str!("page/write.toml"));
}

fn a_cut_and_a_new_start_of_the_server_need_no_reload() {
    browsed("cut.mjs", include_str!("page/write.toml"));
}

fn everything_works_by_keyboard_and_nothing_by_accident() {
    browsed("keys.mjs", include_str!("page/write.toml"));
}

fn every_view_is_accessible_and_fits_its_window() {
    browsed("looks.mjs", include_str!("page/turn.toml"));
}

fn the_page_has_no_mistake_of_types() {
    let compiler = browser::modules().join("node_modules/typescript/bin/tsc");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let output = std::process::Command::new("node")
        .arg(compiler)
        .arg("--project")
        .arg(project)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
