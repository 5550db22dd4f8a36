//! `toolgate doctor`: which protections stand around commands on this machine.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolgate_app::doctor::{Diagnosis, DoctorReport, Level, Network, Protection, SandboxRules};

use crate::args::Common;
use crate::assembly;
use crate::clean::style::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::out::Out;

pub(crate) fn run(common: &Common, out: &Out) -> Result<u8, CliError> {
    let Diagnosis {
        report,
        rules,
        switched_off,
    } = assembly::app(common, out)?.doctor()?;
    if out.json {
        out.json_page(&page(&report, &rules, switched_off))?;
    } else {
        out.text(picture(&report, &rules, switched_off))?;
    }
    Ok(u8::from(report.refuses()))
}

/// The first line: a word for programs, and a sentence.
fn verdict(report: &DoctorReport, switched_off: bool) -> (&'static str, String) {
    let (word, sentence) = level(report, switched_off);
    let missing = report.protections.iter().filter(|one| !one.in_force);
    let missing: Vec<&str> = missing.map(|one| one.name).collect();
    let sentence = match (word, missing.as_slice()) {
        ("sandboxed", [_, ..]) => format!(
            "Commands run in the sandbox, without these limits: {}.",
            missing.join(", ")
        ),
        _ => sentence.to_owned(),
    };
    (word, sentence)
}

fn level(report: &DoctorReport, switched_off: bool) -> (&'static str, &'static str) {
    match report.level {
        Some(_) if switched_off => (
            "unsandboxed",
            "Commands run without a sandbox, because the configuration says so; each one is asked about.",
        ),
        Some(Level::Namespaces) => (
            "sandboxed",
            "Commands run inside every layer of the sandbox.",
        ),
        Some(Level::Landlock) => (
            "landlock",
            "Commands run behind Landlock and seccomp; each one is asked about.",
        ),
        None => ("refused", "Commands are refused."),
    }
}

const fn network(rules: &SandboxRules) -> &'static str {
    match rules.network {
        Network::Off => "off",
        Network::Loopback => "loopback",
        Network::On => "on",
    }
}

/// The directories that commands get.
fn granted<'a>(
    report: &'a DoctorReport,
    rules: &'a SandboxRules,
) -> impl Iterator<Item = &'a PathBuf> {
    let all = rules.grants.iter().map(|grant| &grant.path);
    all.filter(|path| report.left_out.iter().all(|one| one.path != **path))
}

fn page(report: &DoctorReport, rules: &SandboxRules, switched_off: bool) -> Value {
    let protections: Vec<Value> = report
        .protections
        .iter()
        .map(|sandbox| {
            json!({
                "name": sandbox.name,
                "in_force": sandbox.in_force,
                "why": sandbox.why,
                "advice": sandbox.advice,
            })
        })
        .collect();
    let (commands, meaning) = verdict(report, switched_off);
    json!({
        "commands": commands,
        "meaning": meaning,
        "refused": report.refuses(),
        "network": network(rules),
        "grants": granted(report, rules).map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "left_out": report.left_out.iter().map(|one| json!({
            "path": one.path.display().to_string(), "why": one.why,
        })).collect::<Vec<_>>(),
        "protections": protections,
    })
}

fn picture(report: &DoctorReport, rules: &SandboxRules, switched_off: bool) -> Clean {
    let (_, meaning) = verdict(report, switched_off);
    let colour = match report.level {
        Some(Level::Namespaces) if !switched_off => GREEN,
        Some(_) => YELLOW,
        None => RED,
    };
    let mut lines = vec![BOLD.on(colour.on(meaning))];
    lines.extend(report.protections.iter().map(line));
    lines.push(say!("  {}        {}", DIM.on("network"), network(rules)));
    for path in granted(report, rules) {
        lines.push(say!("  {}        {}", DIM.on("granted"), path));
    }
    for one in &report.left_out {
        lines.push(say!(
            "  {}       {}: {}",
            DIM.on("left out"),
            one.path,
            one.why
        ));
    }
    Clean::join(lines, "\n")
}

fn line(sandbox: &Protection) -> Clean {
    let mark = if sandbox.in_force {
        GREEN.on("✓")
    } else {
        YELLOW.on("✗")
    };
    let name = BOLD.on(say!("{:<15}", sandbox.name));
    let mut text = say!("{} {}{}", mark, name, sandbox.why);
    if let Some(advice) = sandbox.advice {
        text.push(say!("\n    {}", DIM.on(say!("→ {}", advice))));
    }
    text
}
