//! How long a decision takes, with few rules and with many.
//!
//! Prints one JSON line per case: `{"name": …, "ours_ns": …}`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    missing_docs
)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_model::{Action, Args, Facts, Risk, Run};
use toolgate_policy::{LayerSpec, LayerTrust, Policy, Question, RuleSpec, Settings};

fn main() {
    let sizes = [10_usize, 1000];
    for count in sizes {
        let elsewhere = policy(count, |at| {
            RuleSpec::new(format!("tool_{at}"), Action::Deny)
        });
        let paths = policy(count, |at| {
            let mut rule = RuleSpec::new("read_file", Action::Deny);
            rule.reads = Some(vec![format!("private/{at}/**")]);
            rule
        });
        let globs = policy(count, |at| {
            let mut rule = RuleSpec::new("read_file", Action::Deny);
            rule.reads = Some(vec![format!("**/cache-{at}/*.tmp")]);
            rule
        });
        let commands = policy(count, |at| {
            let mut rule = RuleSpec::new("run_command", Action::Allow);
            rule.command = Some(vec![format!("program_{at}").as_str().into(), "test".into()]);
            rule
        });
        let read = Facts::reading("crates/policy/src/lib.rs");
        let run = Facts {
            runs: vec![Run {
                words: vec!["program_7".into(), "test".into(), "-p".into(), "x".into()],
                opaque: false,
            }],
            claimed: true,
            ..Facts::none()
        };
        measure(
            &format!("decide_read_{count}_rules_of_other_tools"),
            &elsewhere,
            "read_file",
            &read,
        );
        measure(
            &format!("decide_read_{count}_directory_rules"),
            &paths,
            "read_file",
            &read,
        );
        measure(
            &format!("decide_read_{count}_glob_rules"),
            &globs,
            "read_file",
            &read,
        );
        measure(
            &format!("decide_command_{count}_command_rules"),
            &commands,
            "run_command",
            &run,
        );
        let layer = layer(count, |at| {
            let mut rule = RuleSpec::new("write_file", Action::Deny);
            rule.writes = Some(vec![format!("private/{at}/**")]);
            rule
        });
        let start = Instant::now();
        black_box(Policy::compile(Settings::default(), &[layer], &str::to_owned).unwrap());
        print(
            &format!("compile_{count}_directory_rules"),
            start.elapsed().as_nanos() as f64,
        );
    }
}

fn layer(count: usize, rule: impl Fn(usize) -> RuleSpec) -> LayerSpec {
    LayerSpec::new("user", LayerTrust::Trusted, (0..count).map(rule).collect())
}

fn policy(count: usize, rule: impl Fn(usize) -> RuleSpec) -> Policy {
    Policy::compile(Settings::default(), &[layer(count, rule)], &str::to_owned).unwrap()
}

fn measure(name: &str, policy: &Policy, tool: &str, facts: &Facts) {
    let args = Args::new();
    let question = Question {
        tool,
        args: &args,
        facts,
        side_effects: facts.has_effects(),
        requires_approval: false,
        risk: Risk::Low,
        command_sandbox: true,
        network_closed: true,
        sandbox_from_facts: false,
    };
    // The best of several rounds: what disturbs a round only ever adds to it.
    let rounds = 20;
    let per_round: u32 = 5000;
    let best = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..per_round {
                black_box(policy.decide(black_box(question)));
            }
            start.elapsed().as_nanos() as f64 / f64::from(per_round)
        })
        .fold(f64::INFINITY, f64::min);
    print(name, best);
}

fn print(name: &str, nanoseconds: f64) {
    println!("{{\"name\":\"{name}\",\"ours_ns\":{nanoseconds:.0}}}");
}
