//! Rules from the text of a `toolgate.toml`, and questions about a shell line.
#![allow(missing_docs)]

use toolgate_model::{Action, ErrorKind};
use toolgate_policy::{Mode, PolicyError, Question, Rules, Trust};

const RULES: &str = r#"
[tools.approval]
trust = "autonomous"
mode = "prompt"
prompt_side_effects = false
blocked_commands = ["dd"]

[[tools.rules]]
tool = "run_command"
action = "allow"
command = ["cargo", ["test", "check"]]

[[tools.rules]]
tool = "run_command"
action = "deny"
command = ["git", "push"]
"#;

#[test]
fn a_line_is_decided_by_the_rules_of_a_text() {
    let policy = Rules::from_toml(RULES).unwrap().compile().unwrap();
    for (line, action, line_number) in [
        ("cargo test -q", Action::Allow, Some(8)),
        ("cargo publish", Action::Ask, None),
        ("cargo test && git push", Action::Deny, Some(13)),
        ("dd if=a of=b", Action::Deny, None),
        ("rm -rf /", Action::Deny, None),
        ("$tool push", Action::Ask, None),
    ] {
        let decision = policy.decide(&Question::command(line));
        assert_eq!(decision.action, action, "{line}: {}", decision.reason);
        if line_number.is_some() {
            assert_eq!(decision.source.line, line_number, "{line}");
        }
    }
}

#[test]
fn a_line_without_the_sandbox_needs_a_rule() {
    let policy = Rules::from_toml(RULES).unwrap().compile().unwrap();
    let refused = policy.decide(&Question::command("ls").without_sandbox());
    assert_eq!(refused.kind, Some(ErrorKind::SandboxUnavailable));
    let covered = policy.decide(&Question::command("cargo test").without_sandbox());
    assert_eq!(covered.action, Action::Allow);
}

#[test]
fn settings_that_are_left_out_have_their_defaults() {
    let (empty, default) = (Rules::from_toml("").unwrap(), Rules::default());
    assert_eq!(empty.settings, default.settings);
    let given = Rules::from_toml(RULES).unwrap().settings;
    assert_eq!(given.trust, Trust::Autonomous);
    assert_eq!(given.mode, Some(Mode::Prompt));
    assert!(given.enabled && !given.prompt_side_effects);
}

#[test]
fn a_text_with_a_mistake_has_no_rules() {
    for (text, part) in [
        ("[tools", "line 1"),
        ("[tool.approval]\ntrust = \"guided\"", "tool"),
        ("[tools.approval]\ntrus = \"guided\"", "trus"),
        ("[tools.approval]\ntrust = \"high\"", "high"),
        (
            "[[tools.rules]]\ntool = \"*\"\naction = \"deny\"\nwrite = [\"a\"]",
            "write",
        ),
        (
            "[[tools.rules]]\ntool = \"*\"\naction = \"deny\"\nwhen = []",
            "when",
        ),
    ] {
        match Rules::from_toml(text) {
            Err(PolicyError::Text { message }) => assert!(message.contains(part), "{message}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let broken = "[[tools.rules]]\ntool = \"*\"\naction = \"deny\"\nwrites = []";
    let error = Rules::from_toml(broken).unwrap().compile().unwrap_err();
    assert_eq!(error.place().unwrap().line, Some(1));
}
