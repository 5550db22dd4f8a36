//! Decisions in sentences: which rule, where, and what to do next.

use toolgate_model::{Action, Decision, ErrorKind, RuleSource};

use crate::answer::{Answer, Cause, kind};
use crate::atom::Atom;
use crate::decide::Policy;
use crate::defaults::Row;
use crate::text;

/// The text of the specification for a policy that is switched off.
const DISABLED: &str = "Tool execution disabled by policy";

pub(crate) fn disabled() -> Decision {
    Decision::denied(ErrorKind::Disabled, "enabled = false", DISABLED)
}

pub(crate) fn catastrophic(reasons: &[String]) -> Decision {
    let reasons: Vec<_> = reasons.iter().map(|reason| text::shown(reason)).collect();
    Decision::denied(
        ErrorKind::PolicyDenied,
        "floor: catastrophic",
        format!(
            "Denied in every mode: {}. No rule and no approval lifts this; do it in a narrower way.",
            reasons.join("; ")
        ),
    )
}

pub(crate) fn approval(tool: &str) -> Decision {
    Decision {
        action: Action::Ask,
        kind: None,
        reason: format!(
            "The tool `{}` wants this call approved; a trusted rule that names it with `allow` lifts that.",
            text::shown(tool)
        ),
        rule: "requires_approval".to_owned(),
        source: built_in(),
        atoms: Vec::new(),
    }
}

/// The decision that an answer makes for its call.
pub(crate) fn decision(policy: &Policy, answer: &Answer<'_, '_>) -> Decision {
    let (rule, source) = rule_of(policy, answer.cause);
    Decision {
        action: answer.action,
        kind: kind(answer.action, answer.cause),
        reason: sentence(policy, answer),
        rule,
        source,
        atoms: Vec::new(),
    }
}

/// The rule behind an answer in words, and its place.
pub(crate) fn rule_of(policy: &Policy, cause: Cause<'_>) -> (String, RuleSource) {
    match cause {
        Cause::Rule(rule) | Cause::Claimed(rule) => (rule.text.clone(), rule.spec.source.clone()),
        Cause::Represented => ("its facts decide".to_owned(), built_in()),
        Cause::Instructions => ("instructions to agents".to_owned(), built_in()),
        Cause::NoSandbox => (
            "default: no command without a sandbox".to_owned(),
            built_in(),
        ),
        Cause::Row(Row::Allowlisted) => (
            format!("allowlist, {}", policy.settings.because(Row::Allowlisted)),
            policy.allowlist_source.clone(),
        ),
        Cause::Row(row) => (
            format!(
                "default for {}: {}",
                row.as_str(),
                policy.settings.because(row)
            ),
            built_in(),
        ),
    }
}

fn sentence(policy: &Policy, answer: &Answer<'_, '_>) -> String {
    let atom = answer.atom.text();
    match (answer.cause, answer.action) {
        (Cause::Rule(rule), action) => {
            let (verb, next) = match action {
                Action::Allow => ("Allowed", ""),
                Action::Ask => ("Needs approval", ""),
                Action::Deny => (
                    "Denied",
                    " Go another way, or let the user change that rule.",
                ),
            };
            let (text, place) = (&rule.text, &rule.spec.source);
            let own = match (&rule.spec.message, action) {
                (Some(message), Action::Ask | Action::Deny) => format!(" {message}"),
                _ => String::new(),
            };
            format!("{verb} by the rule `{text}` in {place}, which matches `{atom}`.{own}{next}")
        }
        (Cause::Claimed(rule), _) => format!(
            "The rule `{}` in {} allows `{atom}`, but no sandbox is built from what a command claims, so it needs approval.",
            rule.text, rule.spec.source
        ),
        (Cause::Represented, _) => format!("The facts of `{atom}` decide."),
        (Cause::Instructions, _) => format!(
            "`{atom}` changes instructions that agents obey, so it needs approval. A trusted rule that names this very path with `allow` saves the question."
        ),
        (Cause::NoSandbox, _) => format!(
            "No rule covers `{atom}`, and without the command sandbox no command runs. `toolgate doctor` says what is missing, in a program of one's own `Workspace::command_sandbox`; the user can allow this command with a rule."
        ),
        (Cause::Row(row), action) => {
            let because = policy.settings.because(row);
            let next = match (action, &answer.atom) {
                (Action::Allow, _) => "",
                (_, Atom::Opaque) => {
                    " Parts of it are only known when it runs; write it out plainly, or let the user add a rule with `opaque = true`."
                }
                (Action::Ask, _) => " A rule that allows it saves the question.",
                (Action::Deny, _) => " The user can allow it with a rule or the allowlist.",
            };
            let verb = match action {
                Action::Allow => "it is allowed",
                Action::Ask => "it needs approval",
                Action::Deny => "it is denied",
            };
            match row {
                Row::Allowlisted => format!(
                    "The tool is on the allowlist in {}; with {because} {verb}.",
                    policy.allowlist_source
                ),
                _ => format!("No rule covers `{atom}`; with {because} {verb}.{next}"),
            }
        }
    }
}

fn built_in() -> RuleSource {
    RuleSource {
        layer: "built-in".to_owned(),
        ..RuleSource::default()
    }
}
