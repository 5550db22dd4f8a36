//! `toolgate doctor`: which walls stand around commands on this machine.

use serde_json::{Value, json};
use toolgate_config::settings::CommandSandbox;
use toolgate_sandbox::command::{DoctorReport, Network, Rung, WallRules, WallState, probe};
use toolgate_sandbox::paths::PathWall;

use crate::args::Common;
use crate::clean::style::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};
use crate::configured::{configuration, workspace};
use crate::failure::Failure;
use crate::home::Home;
use crate::out::Out;
use crate::own::path_rules;
use crate::walls::wall_rules;

pub(crate) fn run(common: &Common, out: &Out) -> Result<u8, Failure> {
    let home = Home::find()?;
    let workspace = workspace(common)?;
    let config = configuration(common, &home, &workspace)?;
    let usage = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let paths =
        PathWall::open(&path_rules(common, &config, &home)?).map_err(|error| usage(&error))?;
    let rules = wall_rules(&config, &home, &paths);
    let switched_off = config.settings().tools.sandbox.command_sandbox == CommandSandbox::Off;
    let report = probe(&rules);
    if out.json {
        out.json_page(&page(&report, &rules, switched_off))?;
    } else {
        out.text(picture(&report, &rules, switched_off))?;
    }
    Ok(u8::from(report.refuses()))
}

fn verdict(report: &DoctorReport, switched_off: bool) -> (&'static str, &'static str) {
    match report.rung {
        Some(_) if switched_off => (
            "unwalled",
            "Commands run without walls, because the configuration says so; each one is asked about.",
        ),
        Some(Rung::Namespaces) => ("walled", "Commands run behind every wall."),
        Some(Rung::Landlock) => (
            "landlock",
            "Commands run behind Landlock and seccomp; each one is asked about.",
        ),
        None => ("refused", "Commands are refused."),
    }
}

const fn network(rules: &WallRules) -> &'static str {
    match rules.network {
        Network::Off => "off",
        Network::Loopback => "loopback",
        Network::On => "on",
    }
}

fn page(report: &DoctorReport, rules: &WallRules, switched_off: bool) -> Value {
    let walls: Vec<Value> = report
        .walls
        .iter()
        .map(|wall| {
            json!({
                "name": wall.name,
                "in_force": wall.in_force,
                "why": wall.why,
                "advice": wall.advice,
            })
        })
        .collect();
    let (commands, meaning) = verdict(report, switched_off);
    json!({
        "commands": commands,
        "meaning": meaning,
        "refused": report.refuses(),
        "network": network(rules),
        "grants": rules.grants.iter().map(|grant| grant.path.display().to_string()).collect::<Vec<_>>(),
        "walls": walls,
    })
}

fn picture(report: &DoctorReport, rules: &WallRules, switched_off: bool) -> Clean {
    let (_, meaning) = verdict(report, switched_off);
    let colour = match report.rung {
        Some(Rung::Namespaces) if !switched_off => GREEN,
        Some(_) => YELLOW,
        None => RED,
    };
    let mut lines = vec![BOLD.on(colour.on(meaning))];
    lines.extend(report.walls.iter().map(line));
    lines.push(say!("  {}        {}", DIM.on("network"), network(rules)));
    for grant in &rules.grants {
        lines.push(say!("  {}        {}", DIM.on("granted"), grant.path));
    }
    Clean::join(lines, "\n")
}

fn line(wall: &WallState) -> Clean {
    let mark = if wall.in_force {
        GREEN.on("✓")
    } else {
        YELLOW.on("✗")
    };
    let name = BOLD.on(say!("{:<15}", wall.name));
    let mut text = say!("{} {}{}", mark, name, wall.why);
    if let Some(advice) = wall.advice {
        text.push(say!("\n    {}", DIM.on(say!("→ {}", advice))));
    }
    text
}
