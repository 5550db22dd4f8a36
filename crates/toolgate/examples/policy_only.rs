//! Policy alone: rules from TOML decide about shell lines. No gate, no runtime, nothing runs.
#![allow(clippy::print_stdout)]

use toolgate::policy::{PolicyError, Question, Rules};

const RULES: &str = r#"
[tools.approval]
blocked_commands = ["sudo"]

[[tools.rules]]
tool = "run_command"
action = "allow"
command = ["cargo", ["check", "clippy", "test"]]

[[tools.rules]]
tool = "run_command"
action = "deny"
command = ["git", "push"]
message = "Open a pull request instead."
"#;

fn main() -> Result<(), PolicyError> {
    let policy = Rules::from_toml(RULES)?.compile()?;
    for line in [
        "cargo test --workspace",
        "cargo test && git push",
        "make",
        "sudo make install",
        "rm -rf ~",
    ] {
        let decision = policy.decide(&Question::command(line));
        println!("{:5} {line:24} {}", decision.action, decision.reason);
    }
    Ok(())
}
