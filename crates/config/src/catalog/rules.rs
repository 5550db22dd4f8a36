//! The keys of a rule, and of a tool that is defined by hand.

use super::{Check, Fallback, Key, Shape};

const ACTIONS: &[&str] = &["allow", "ask", "deny"];
const TEXT: Shape = Shape::Text(Check::Filled);
const TEXTS: Shape = Shape::list(&TEXT);
const ANY_TEXTS: Shape = Shape::list(&Shape::Text(Check::Any));
const WORD: Shape = Shape::Either(&[TEXT, TEXTS]);

/// The keys of `[[tools.rules]]`.
pub(super) const RULE: &[Key] = &[
    Key::new("tool", TEXT, "The name of a tool, an alias of it, or `*` for every tool.").required(),
    Key::new("action", Shape::Choice(ACTIONS), "The answer.").required(),
    Key::new("reads", TEXTS, "Patterns of paths that are read."),
    Key::new("writes", TEXTS, "Patterns of paths that are created or changed."),
    Key::new("deletes", TEXTS, "Patterns of paths that are removed."),
    Key::new("connects", TEXTS, "Hosts that are contacted."),
    Key::new(
        "command",
        Shape::list(&WORD),
        "The leading words of a command; a list in it means any of its words.",
    ),
    Key::new(
        "opaque",
        Shape::Flag,
        "For an allow: even if not everything is known. Otherwise: only if not everything is known.",
    )
    .or(Fallback::Flag(false)),
    Key::new(
        "when",
        Shape::list(&Shape::Table(CONDITION)),
        "Conditions on parameters; all have to hold.",
    ),
    Key::new("risk", Shape::Choice(&["low", "medium", "high"]), "The risk to show."),
    Key::new("message", TEXT, "Shown when it asks or denies."),
    Key::new("examples", Shape::Table(EXAMPLES), "Calls that the rule must and must not fit."),
];

const CONDITION: &[Key] = &[
    Key::new("param", TEXT, "The parameter's name.").required(),
    Key::new(
        "operator",
        Shape::Choice(&["equals", "contains", "matches", "starts_with"]),
        "How it is compared; `matches` takes a regular expression.",
    )
    .required(),
    Key::new(
        "value",
        Shape::Either(&[Shape::Text(Check::Any), ANY_TEXTS]),
        "What it is compared with; of a list one has to fit.",
    )
    .required(),
];

const EXAMPLES: &[Key] = &[
    Key::new("match", TEXTS, "Calls that this rule has to decide."),
    Key::new("not_match", TEXTS, "Calls that this rule must not fit."),
];

/// The keys of `[[tools.definitions]]`.
pub(super) const DEFINITION: &[Key] = &[
    Key::new("name", Shape::Text(Check::Tool), "The tool's name.").required(),
    Key::new("description", TEXT, "What the model is told about it.").required(),
    Key::new(
        "parameters",
        Shape::Anything,
        "The JSON Schema of its arguments.",
    )
    .required(),
];
