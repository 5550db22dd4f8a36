//! The sample cases about commands, through the program itself, for root and for an ordinary
//! user: `shell.jsonl` by `policy explain`, `env.jsonl` and `os_sandbox.jsonl` by `exec`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use run::{Place, User, program, users};
use serde_json::{Value, json};

fn rows(text: &str) -> Vec<Value> {
    let rows: Vec<Value> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.len() >= 18);
    rows
}

/// Every row for every user; all that is wrong is told at once.
fn all(text: &str, check: impl Fn(&Value, User) -> Result<(), String>) {
    let _kept = program();
    let mut wrong = Vec::new();
    for user in users() {
        for row in rows(text) {
            if let Err(why) = check(&row, user) {
                wrong.push(format!("{} as {user:?}: {why}", row["id"]));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn says(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {stdout:?} {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

fn accepts(row: &Value, outcome: &str) -> bool {
    let also = row["accept"].as_array().into_iter().flatten();
    row["expect"] == outcome || also.into_iter().any(|also| also == outcome)
}

/// `git *` is every command that starts with the word `git`; `ls` is `ls` and nothing more.
fn rule(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').filter(|word| *word != "*").collect();
    let words = serde_json::to_string(&words).unwrap();
    format!("[[tools.rules]]\ntool = 'run_command'\naction = 'allow'\ncommand = {words}\n")
}

fn explained(row: &Value, place: &Place, config: &str) -> Value {
    let file = place.path("rules.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws"));
    command.arg("--config").arg(&file);
    command.args(["policy", "explain", row["tool"].as_str().unwrap()]);
    command.arg(row["args"].to_string());
    says(command)
}

/// What the rules say. The sample is about them alone: that the tool itself wants to be asked
/// for, which a rule for every tool does not lift, comes after they have allowed every atom.
fn said_by_rules(page: &Value) -> &str {
    let atoms = page["atoms"].as_array().unwrap();
    let allowed = atoms.iter().all(|atom| atom["answer"] == "allow");
    if page["rule"] == "requires_approval" && page["decision"] == "ask" && allowed {
        return "allow";
    }
    page["decision"].as_str().unwrap()
}

#[test]
fn shell_lines_of_the_sample_are_decided_as_they_say() {
    let everything = "[[tools.rules]]\ntool = '*'\naction = 'allow'\n";
    let this_tool = "[[tools.rules]]\ntool = 'run_command'\naction = 'allow'\n";
    all(
        include_str!("../../shell/tests/data/shell.jsonl"),
        |row, user| {
            let place = Place::new(user);
            match row["profile"].as_str().unwrap() {
                "denylist" => {
                    let page = explained(row, &place, everything);
                    if page["decision"] == "allow" {
                        return Err(format!("a command ran unasked: {}", row["args"]));
                    }
                    let by_name = explained(row, &place, this_tool);
                    let decisions = [said_by_rules(&page), by_name["decision"].as_str().unwrap()];
                    for decision in decisions {
                        if !accepts(row, decision) {
                            return Err(format!("{decision}: {}", row["args"]));
                        }
                    }
                    Ok(())
                }
                "rule" => {
                    let rules = row["rules"].as_array().unwrap();
                    let rules: String = rules
                        .iter()
                        .map(|text| rule(text.as_str().unwrap()))
                        .collect();
                    match explained(row, &place, &rules)["decision"].as_str() {
                        Some("ask" | "deny") => Ok(()),
                        other => Err(format!("{other:?}: {}", row["args"])),
                    }
                }
                other => Err(format!("unknown profile {other}")),
            }
        },
    );
}

/// A command through `exec`, with everything approved that can be.
fn exec(place: &Place, line: &str, timeout_ms: u64, vars: &[(&str, &str)]) -> Value {
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["--approve", "all", "exec", "run_command"]);
    command.arg(json!({"command": line, "timeout_ms": timeout_ms}).to_string());
    command.envs(vars.iter().copied());
    says(command)
}

/// Every program needs these, and the sandbox sets them itself.
const ALWAYS: [&str; 6] = ["HOME", "PATH", "TERM", "PWD", "TMPDIR", "TOOLGATE_HOME"];

#[test]
fn variables_of_the_sample_are_kept_or_stripped() {
    let mut left: Vec<Value> = rows(include_str!("../../sandbox/tests/data/env.jsonl"));
    left.extend(rows(include_str!("../../sandbox/tests/data/env_own.jsonl")));
    // Our own rows are plain, those of the sample are calls.
    let text = |row: &Value, key: &str| {
        let args = row.get("args").unwrap_or(row);
        args[key].as_str().unwrap().to_owned()
    };
    left.retain(|row| !ALWAYS.contains(&text(row, "name").as_str()));
    let _kept = program();
    let mut wrong = Vec::new();
    while !left.is_empty() {
        // One environment holds each name once.
        let mut vars = std::collections::BTreeMap::new();
        let (now, later) = std::mem::take(&mut left).into_iter().partition(|row| {
            let name = text(row, "name");
            !vars.contains_key(&name) && vars.insert(name, text(row, "value")).is_none()
        });
        left = later;
        let now: Vec<Value> = now;
        for user in users() {
            let place = Place::new(user);
            let vars: Vec<(&str, &str)> = vars
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let line = "env -0 | tr '\\0' '\\n' | cut -d= -f1; echo END";
            let result = exec(&place, line, 20_000, &vars);
            let content = result["content"].as_str().unwrap_or_default();
            assert!(content.contains("END"), "{result}");
            for row in &now {
                let there = content.lines().any(|line| line == text(row, "name"));
                let outcome = if there { "keep" } else { "strip" };
                if !accepts(row, outcome) {
                    wrong.push(format!("{outcome} as {user:?}: {row}"));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn probes_of_the_sample_do_not_get_through() {
    for data in [
        include_str!("../../sandbox/tests/data/os_sandbox.jsonl"),
        include_str!("../../sandbox/tests/data/os_sandbox_own.jsonl"),
    ] {
        all(data, probe);
    }
}

/// They reach their own loopback and nothing else. At the sandbox itself there is none; here it
/// is the conversation's, so that a server in the background can be reached.
const OWN_LOOPBACK: [&str; 2] = ["W-131-udp", "W-132-tcp-self"];

fn probe(row: &Value, user: User) -> Result<(), String> {
    // What a configuration or a limit of its own needs is tried at the sandbox itself.
    let special = [
        "network",
        "limit_processes",
        "limit_file_size",
        "limit_scratch",
    ];
    let arch = row["arch"].as_str().unwrap_or(std::env::consts::ARCH);
    if special.iter().any(|key| row.get(key).is_some())
        || !arch.split(',').any(|arch| arch == std::env::consts::ARCH)
    {
        return Ok(());
    }
    let place = Place::new(user);
    let mut outside = place.command(Path::new("mkdir"));
    assert!(outside.arg(place.path("out")).status().unwrap().success());
    let setup = row["setup"].as_str().unwrap_or_default();
    if !setup.is_empty() {
        let mut command = place.command(Path::new("bash"));
        command.arg("-c").arg(setup);
        assert!(command.status().unwrap().success(), "{setup}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let line = row["args"]["command"].as_str().unwrap();
    let line = place.filled_in(line).replace("$PORT", &port);
    let timeout = row["timeout_ms"].as_u64().unwrap_or(60_000);
    let canaries = [("CANARY_ENV", "1"), ("CANARY_TOKEN", "x")];
    let began = std::time::Instant::now();
    let result = exec(&place, &line, timeout, &canaries);
    let content = result["content"].as_str().unwrap_or_default();
    if content.contains("command not found") && !line.contains("sudo") {
        return Err(format!("the probe cannot run: {content}"));
    }
    let through = content.contains(row["ok_marker"].as_str().unwrap());
    let kind = result.pointer("/error/kind").and_then(Value::as_str);
    let fits = |expected: &str| match expected {
        "deny" => !through && kind != Some("timeout"),
        "allow" => through,
        "bounded" => began.elapsed().as_millis() <= u128::from(timeout) + 1500,
        other => panic!("unknown expectation {other}"),
    };
    let also = row["accept"].as_array().into_iter().flatten();
    let mut wanted = also.chain([&row["expect"]]).filter_map(Value::as_str);
    let is_own = row["id"]
        .as_str()
        .is_some_and(|id| OWN_LOOPBACK.contains(&id));
    if (is_own && !fits("allow")) || (!is_own && !wanted.any(fits)) {
        return Err(result.to_string());
    }
    let paths = row["must_not_exist"].as_array().into_iter().flatten();
    for path in paths.filter_map(Value::as_str) {
        if Path::new(&place.filled_in(path)).symlink_metadata().is_ok() {
            return Err(format!("{path} is there"));
        }
    }
    Ok(())
}
