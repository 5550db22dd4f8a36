//! Attacks on the command sandbox in several steps, through the program itself, for root and
//! for an ordinary user: `data/red_team.jsonl`.
//!
//! A row has `setup` and `host`, which run outside of the sandbox before and after the
//! `commands`; these are handed over in a form that planning cannot read, so that the sandbox
//! alone stands in their way. The rest says what may not be in any output (`secret`), what has
//! to be in the last one (`last`), what may not exist afterwards (`absent`) and what has to
//! (`present`).

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;

use std::path::Path;

use run::{Place, User, program, users};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    setup: String,
    commands: Vec<String>,
    #[serde(default)]
    host: String,
    secret: Option<String>,
    last: Option<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    present: Vec<String>,
}

fn on_the_host(place: &Place, script: &str) -> String {
    let output = place
        .command(Path::new("bash"))
        .args(["-c", script])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// A line that does the same and whose facts are not known.
fn unreadable(line: &str) -> String {
    let hex: String = line.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "python3 -c 'import subprocess; subprocess.run([\"bash\", \"-c\", bytes.fromhex(\"{hex}\").decode()])'"
    )
}

fn check(row: &Row, user: User) -> Result<(), String> {
    let place = Place::new(user);
    on_the_host(&place, &row.setup);
    let mut outputs = Vec::new();
    for line in &row.commands {
        let line = unreadable(line);
        let args = json!({"command": line, "timeout_seconds": 60}).to_string();
        let mut command = place.toolgate();
        command.arg("--workspace").arg(place.path("ws"));
        command.args(["exec", "--approve", "all", "run_command", &args]);
        let output = command.output().unwrap();
        outputs.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let host = on_the_host(&place, &row.host);
    if let Some(secret) = &row.secret {
        let read = outputs
            .iter()
            .chain([&host])
            .find(|out| out.contains(secret));
        if let Some(read) = read {
            return Err(format!("the secret was read: {read}"));
        }
    }
    if let Some(last) = &row.last
        && !outputs.last().is_some_and(|out| out.contains(last))
    {
        return Err(format!("{last:?} is not in {:?}", outputs.last()));
    }
    let there = |path: &str| place.path(path).symlink_metadata().is_ok();
    if let Some(path) = row.absent.iter().find(|path| there(path)) {
        return Err(format!("{path} is there: {outputs:?}"));
    }
    match row.present.iter().find(|path| !there(path)) {
        Some(path) => Err(format!("{path} is not there: {outputs:?}")),
        None => Ok(()),
    }
}

#[test]
fn no_attack_in_several_steps_gets_through() {
    let _kept = program();
    let rows: Vec<Row> = include_str!("data/red_team.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.len() >= 30);
    let users = users();
    let cases: Vec<(&Row, User)> = rows
        .iter()
        .flat_map(|row| users.iter().map(move |user| (row, *user)))
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((row, user)) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if let Err(why) = check(row, *user) {
                        let text = format!("{} as {user:?}: {why}", row.id);
                        wrong.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_a_killed_run_planted_is_moved_aside_by_the_next_start() {
    for user in users() {
        let place = Place::new(user);
        killed(&place);
        // Any call is a start.
        let mut reading = place.toolgate();
        reading.arg("--workspace").arg(place.path("ws"));
        reading.args(["exec", "read_file", r#"{"path":"ready"}"#]);
        let next = reading.output().unwrap();
        let stderr = String::from_utf8_lossy(&next.stderr);
        assert!(!place.path("ws/sub/.vscode").exists(), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert!(!place.path("ws/.vscode").exists(), "{stderr}");
    }
}

#[test]
fn a_killed_run_is_told_to_the_next_command() {
    for user in users() {
        let place = Place::new(user);
        killed(&place);
        let next = exec(&place, "true").output().unwrap();
        let (stdout, stderr) = (
            String::from_utf8_lossy(&next.stdout),
            String::from_utf8_lossy(&next.stderr),
        );
        assert!(!place.path("ws/sub/.vscode").exists(), "{stdout} {stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert!(stdout.contains("interrupted run"), "{stdout}");
    }
}

/// Plants a protected name with a command, and kills the program while the command runs.
fn killed(place: &Place) {
    let planting = "mkdir -p sub/.vscode; echo x > sub/.vscode/f; touch ready; sleep 50";
    let mut first = exec(place, &unreadable(planting))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !place.path("ws/ready").exists() {
        assert!(std::time::Instant::now() < until, "the command never began");
        std::thread::yield_now();
    }
    first.kill().unwrap();
    first.wait().unwrap();
}

/// The program with one command, which is approved.
fn exec(place: &Place, line: &str) -> std::process::Command {
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["exec", "--approve", "all", "run_command"]);
    command.arg(json!({"command": line, "timeout_seconds": 60}).to_string());
    command
}
