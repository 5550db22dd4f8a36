//! Probes as data: the shared cases and our own, through the whole sandbox.
//!
//! The program runs itself again under a terminal and with canaries in its environment,
//! because some probes are about exactly these.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod trial;

use std::net::TcpListener;
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde::Deserialize;
use toolgate_sandbox::command::{self, Cause, CommandSandbox, Deadlines, Level, Limits, Network};
use trial::{Place, Trial, run_spec, spec};

fn main() -> ExitCode {
    command::init();
    if std::env::var_os("CANARY_ENV").is_none() {
        return under_a_terminal();
    }
    trial::run(TRIALS)
}

const TRIALS: &[Trial] = &[
    ("shared probes end as they say", shared_probes),
    ("own probes end as they say", own_probes),
];

fn under_a_terminal() -> ExitCode {
    let quoted = |text: String| format!("'{}'", text.replace('\'', r"'\''"));
    let exe = std::env::current_exe()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let line: Vec<String> = std::iter::once(exe)
        .chain(std::env::args().skip(1))
        .map(quoted)
        .collect();
    let status = Command::new("script")
        .args(["-qec", &line.join(" "), "/dev/null"])
        .env("CANARY_ENV", "1")
        .env("CANARY_TOKEN", "x")
        .status()
        .expect("`script`, to have a terminal");
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

#[derive(Deserialize)]
struct Case {
    id: String,
    args: Args,
    setup: String,
    expect: String,
    ok_marker: String,
    #[serde(default)]
    accept: Vec<String>,
    timeout_ms: Option<u64>,
    arch: Option<String>,
    network: Option<String>,
    limit_processes: Option<u32>,
    limit_file_size: Option<u64>,
    limit_scratch: Option<u64>,
    #[serde(default)]
    must_not_exist: Vec<String>,
    #[serde(default)]
    must_be_unchanged: Vec<String>,
}

#[derive(Deserialize)]
struct Args {
    command: String,
}

fn shared_probes() {
    run_all(include_str!("data/os_sandbox.jsonl"), 18);
}

fn own_probes() {
    run_all(include_str!("data/os_sandbox_own.jsonl"), 100);
}

fn run_all(text: &str, at_least: usize) {
    let cases: Vec<Case> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let only = std::env::var("TOOLGATE_CASE").unwrap_or_default();
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| case.id.contains(&only))
        .enumerate()
        .filter_map(|(number, case)| {
            // Each probe both ways, one of them as each user.
            let ahead = (number % 2 == 0) == trial::is_root();
            let why = run_one(case, ahead).err()?;
            Some(format!("{} (furnished ahead: {ahead}): {why}", case.id))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Runs one probe in a sandbox of its own, or in one that was populated before.
fn run_one(case: &Case, ahead: bool) -> Result<(), String> {
    if case
        .arch
        .as_ref()
        .is_some_and(|arch| !arch.split(',').any(|arch| arch == std::env::consts::ARCH))
    {
        return Ok(());
    }
    let place = Place::new();
    place.setup(&case.setup);
    let before: Vec<String> = case
        .must_be_unchanged
        .iter()
        .map(|path| place.read(path))
        .collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut rules = place.rules();
    rules.network = match case.network.as_deref() {
        Some("on") => Network::On,
        Some("loopback") => Network::Loopback,
        _ => Network::Off,
    };
    let sandbox = CommandSandbox::start(&rules).map_err(|e| e.to_string())?;
    if sandbox.level() != Level::Namespaces {
        return Err(format!(
            "not the highest level: {:?}",
            sandbox.stepped_down()
        ));
    }
    let command = case
        .args
        .command
        .replace("$WS", place.ws.to_str().unwrap())
        .replace("$OUT", place.out.to_str().unwrap())
        .replace("$PORT", &port.to_string());
    let mut spec = spec(&command, &place.ws);
    let none: &[&str] = &[];
    spec.env = toolgate_sandbox::env::clean(std::env::vars_os(), none, none);
    spec.env.retain(|(name, _)| name != "PATH" && name != "WS");
    spec.env.extend(trial::plain_env());
    spec.env.push(("WS".into(), place.ws.clone().into()));
    let usual = Limits::default();
    spec.limits = Some(Limits {
        processes: case.limit_processes.unwrap_or(usual.processes),
        file_size: case.limit_file_size.unwrap_or(usual.file_size),
        scratch_bytes: case.limit_scratch.unwrap_or(usual.scratch_bytes),
        ..usual
    });
    if ahead {
        let mut first = trial::spec("true", &place.ws);
        first.limits = spec.limits;
        if !run_spec(&sandbox, first, Deadlines::default()).succeeded() {
            return Err("the command before it failed".to_owned());
        }
    }
    let limit = Duration::from_millis(case.timeout_ms.unwrap_or(60_000));
    let deadlines = Deadlines {
        total: Some(limit),
        idle: None,
    };
    let ran = run_spec(&sandbox, spec, deadlines);
    if ran.stderr.contains("command not found") && !case.id.contains("sudo") {
        return Err(format!("the probe cannot run: {}", ran.stderr));
    }
    let got_through = ran.stdout.contains(&case.ok_marker);
    let fits = |expected: &str| match expected {
        "deny" => !got_through && ran.finished.cause == Cause::Itself,
        "allow" => got_through,
        "bounded" => ran.took < limit + Duration::from_secs(1),
        other => panic!("unknown expectation {other}"),
    };
    if !fits(&case.expect) && !case.accept.iter().any(|other| fits(other)) {
        let text: String = ran.text().chars().take(400).collect();
        let (outcome, took) = (&ran.finished.outcome, ran.took);
        return Err(format!(
            "expected {}: {outcome:?} in {took:?}: {text}",
            case.expect
        ));
    }
    for path in &case.must_not_exist {
        if place.exists(path) {
            return Err(format!("{path} is there"));
        }
    }
    for (path, before) in case.must_be_unchanged.iter().zip(before) {
        if place.read(path) != before {
            return Err(format!("{path} was changed"));
        }
    }
    Ok(())
}
