//! A real shell to compare with: it runs words, quotes and control flow around one function that
//! writes down how it was called, and nothing else, because `PATH` leads nowhere.

use std::process::{Command, Stdio};

use super::analyse_line;

/// Runs a script and hands back how `c` was called, call by call.
pub fn calls_in_bash(script: &str) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let record = directory.path().join("record");
    // A pattern must not find the record.
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).expect("an empty directory");
    let prelude = "c() { local s; printf -v s '%s\\037' \"$#\" \"$@\"; printf '%s\\036' \"$s\" >> \"$RECORD\"; }";
    let output = Command::new(bash())
        .args(["--noprofile", "--norc", "-c"])
        .arg(format!("ulimit -t 5\n{prelude}\n{script}\n"))
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("RECORD", &record)
        .env("HOME", super::HOME)
        .current_dir(&empty)
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    drop(output);
    let text = std::fs::read_to_string(&record).unwrap_or_default();
    text.split_terminator('\u{1e}')
        // The first entry is the number of arguments, so that none and an empty one differ.
        .map(|call| {
            call.split_terminator('\u{1f}')
                .skip(1)
                .map(ToOwned::to_owned)
                .collect()
        })
        .collect()
}

pub fn bash() -> std::path::PathBuf {
    on_path("bash")
}

fn on_path(program: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").expect("a search path");
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .expect("bash and timeout are installed: these tests compare with them")
}

/// A call that bash makes and that is not among the commands found, though the line is said to be
/// complete.
pub fn missed_call(script: &str) -> Option<String> {
    let analysis = analyse_line(script);
    if !analysis.facts.complete {
        return None;
    }
    let found = |call: &[String]| {
        analysis.facts.runs.iter().any(|run| {
            run.words.first().is_some_and(|program| program == "c")
                && run.words.get(1..).unwrap_or_default() == call
        })
    };
    let missed = calls_in_bash(script)
        .into_iter()
        .find(|call| !found(call))?;
    let runs = &analysis.facts.runs;
    Some(format!("{script:?} calls {missed:?}, found {runs:?}"))
}
