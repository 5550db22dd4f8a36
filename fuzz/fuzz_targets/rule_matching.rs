//! Rules on calls: any policy decides about any call as the written meaning of rules
//! says, names the layer that said so, and never decides by a rule that its own check
//! calls unreachable.
#![no_main]

#[path = "rule_matching/naive.rs"]
mod naive;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Value, json};
use toolgate_model::Action::{self, Allow, Ask, Deny};
use toolgate_model::{Args, Facts, Risk, Run};
use toolgate_policy::{
    Condition, LayerSpec, LayerTrust, Listed, Mode, Operator, Policy, Question, RuleSpec, Settings,
    Trust, Values, WordPattern, check,
};

// A small world, so that rules and calls meet often.
const TOOLS: &[&str] = &["read_file", "write_file", "run_command", "mcp"];
const NAMES: &[&str] = &[
    "read_file",
    "write_file",
    "run_command",
    "mcp",
    "*",
    "*",
    "bash",
];
const PATH_PARTS: &[&str] = &["a", "b", "src", ".rs", "/", "/", "/", ".", "..", "*", "-"];
const PATTERN_PARTS: &[&str] = &[
    "a", "b", "src", ".rs", "/", "/", "/", "*", "?", "**", "/**", "./", "é", "[ab]", "{a,b}", "\\*",
];
const WORDS: &[&str] = &["git", "status", "push", "ls", "./git", "-v", ""];
const HOSTS: &[&str] = &[
    "h.io", "a.h.io", "H.io.", "h.io:80", "x:1", "x", "::1", "[::1]:80", "eh.io", ".h.io",
];
const HOST_PATTERNS: &[&str] = &[
    "h.io", "*.h.io", "H.IO:80", "*", "x", "x:1", "*:1", "::1", "[::1]:80", "*.io",
];
const VALUES: &[&str] = &["a", "ab", "b", "1", "true", "", "é"];
const EXPRESSIONS: &[&str] = &["a", "^a", "b$", "1", ""];

/// The most calls that one policy is asked about.
const CALLS: usize = 32;

fuzz_target!(|input: &[u8]| -> Corpus {
    match agree(&mut Unstructured::new(input)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});

fn agree(u: &mut Unstructured<'_>) -> Result<()> {
    let settings = settings(u)?;
    let layers = layers(u)?;
    let policy =
        Policy::compile(settings.clone(), &layers, &canonical).expect("nothing in it is wrong");
    let no_examples = |_: &str, _: &str| Err(String::new());
    let unreachable: Vec<Option<u32>> = check(&policy, TOOLS, &no_examples)
        .into_iter()
        .filter(|finding| finding.message.starts_with("nothing reaches it"))
        .map(|finding| finding.source.line)
        .filter(Option::is_some)
        .collect();
    // Compiling is the slow part: a policy is asked as long as there are bytes.
    for _ in 0..CALLS {
        if u.is_empty() {
            break;
        }
        let (tool, args, facts) = (*u.choose(TOOLS)?, args(u)?, facts(u)?);
        let question = Question {
            tool,
            args: &args,
            facts: &facts,
            side_effects: u.arbitrary()?,
            requires_approval: u.arbitrary()?,
            risk: Risk::Low,
            command_sandbox: u.arbitrary()?,
            sandbox_from_facts: u.arbitrary()?,
            // The naive evaluator here knows no network that is off, no column alone and no
            // command that only reads; the one in the tests of policy does.
            network_closed: false,
        };
        let decision = policy.decide(question);
        let (action, layer) = naive::decide(&settings, &layers, &question);
        let told = || format!("{settings:#?}\n{layers:#?}\n{question:#?}\n{decision:#?}");
        assert_eq!(decision.action, action, "{}", told());
        if let Some(layer) = layer {
            assert_eq!(decision.source.layer, layer, "{}", told());
        }
        assert_eq!(decision.kind.is_some(), action == Deny);
        // A path that climbs is fitted by strict rules alone and refused by the sandbox; what is
        // reachable is said about the others.
        let climbs = facts
            .paths()
            .any(|(_, path)| path.split('/').any(|part| part == ".."));
        assert!(
            climbs || !unreachable.contains(&decision.source.line),
            "{}",
            told()
        );
    }
    Ok(())
}

/// The aliases of this world.
fn canonical(name: &str) -> String {
    if name == "bash" {
        "run_command".to_owned()
    } else {
        name.to_owned()
    }
}

fn settings(u: &mut Unstructured<'_>) -> Result<Settings> {
    Ok(Settings {
        enabled: !u.ratio(1, 32)?,
        trust: *u.choose(&[Trust::Guided, Trust::Supervised, Trust::Autonomous])?,
        mode: *u.choose(&[None, Some(Mode::Auto), Some(Mode::Prompt), Some(Mode::Deny)])?,
        default_action: *u.choose(&[None, None, None, Some(Allow), Some(Ask), Some(Deny)])?,
        prompt_side_effects: u.arbitrary()?,
        mode_alone: false,
    })
}

fn layers(u: &mut Unstructured<'_>) -> Result<Vec<LayerSpec>> {
    let mut layers = Vec::new();
    let mut line = 0;
    for at in 0..u.int_in_range(0..=2)? {
        let trust = if u.ratio(1, 4)? {
            LayerTrust::Untrusted
        } else {
            LayerTrust::Trusted
        };
        let mut rules = several(u, 4, rule)?;
        for rule in &mut rules {
            line += 1;
            rule.source.line = Some(line);
        }
        let mut layer = LayerSpec::new(format!("layer{at}"), trust, rules);
        if u.ratio(1, 8)? {
            layer.allowlist = Some(listed(several(u, 2, |u| text(u, TOOLS))?));
        }
        if u.ratio(1, 8)? {
            layer.denylist = listed(several(u, 1, |u| text(u, TOOLS))?);
        }
        if u.ratio(1, 8)? {
            layer.short.blocked_paths = listed(several(u, 2, pattern)?);
        }
        if u.ratio(1, 8)? {
            layer.short.allowed_paths = listed(several(u, 2, pattern)?);
        }
        layers.push(layer);
    }
    Ok(layers)
}

fn listed(entries: Vec<String>) -> Listed {
    Listed {
        entries,
        ..Listed::default()
    }
}

fn rule(u: &mut Unstructured<'_>) -> Result<RuleSpec> {
    let mut rule = RuleSpec::new(*u.choose(NAMES)?, action(u)?);
    let keys: u8 = u.arbitrary()?;
    let mut patterns = |wanted: bool| wanted.then(|| one_or_more(u, 2, pattern)).transpose();
    rule.reads = patterns(keys & 1 != 0)?;
    rule.writes = patterns(keys & 2 != 0)?;
    rule.deletes = patterns(keys & 4 != 0)?;
    if keys & 8 != 0 {
        rule.connects = Some(one_or_more(u, 2, |u| text(u, HOST_PATTERNS))?);
    }
    if keys & 16 != 0 {
        rule.command = Some(one_or_more(u, 2, word)?);
    }
    if keys & 32 != 0 {
        rule.when = several(u, 2, condition)?;
    }
    // What is not known has no paths and hosts.
    rule.opaque = keys & 64 != 0 && keys & 15 == 0;
    Ok(rule)
}

fn action(u: &mut Unstructured<'_>) -> Result<Action> {
    u.choose(&[Allow, Allow, Ask, Deny]).copied()
}

fn word(u: &mut Unstructured<'_>) -> Result<WordPattern> {
    Ok(match u.arbitrary()? {
        true => WordPattern::One(text(u, WORDS)?),
        false => WordPattern::Any(one_or_more(u, 2, |u| text(u, WORDS))?),
    })
}

fn condition(u: &mut Unstructured<'_>) -> Result<Condition> {
    use Operator::{Contains, Equals, Matches, StartsWith};
    let operator = *u.choose(&[Equals, Contains, Matches, StartsWith])?;
    let values = if operator == Matches {
        EXPRESSIONS
    } else {
        VALUES
    };
    let value = Values::Any(one_or_more(u, 2, |u| text(u, values))?);
    Ok(Condition {
        param: text(u, &["p", "q"])?,
        operator,
        value,
    })
}

/// A path pattern that can be meant.
fn pattern(u: &mut Unstructured<'_>) -> Result<String> {
    let pattern = one_or_more(u, 6, |u| text(u, PATTERN_PARTS))?.concat();
    Ok(if naive::is_wrong(&pattern) {
        "src/*".to_owned()
    } else {
        pattern
    })
}

fn facts(u: &mut Unstructured<'_>) -> Result<Facts> {
    let path = |u: &mut Unstructured<'_>| Ok(several(u, 6, |u| text(u, PATH_PARTS))?.concat());
    let run = |u: &mut Unstructured<'_>| {
        Ok(Run {
            words: several(u, 3, |u| text(u, WORDS))?,
            opaque: u.ratio(1, 4)?,
        })
    };
    let kinds: u8 = u.arbitrary()?;
    let most = |kind: u8| usize::from(kinds & kind != 0) * 2;
    Ok(Facts {
        reads: several(u, most(1), path)?,
        writes: several(u, most(2), path)?,
        deletes: several(u, most(4), path)?,
        runs: several(u, most(8), run)?,
        connects: several(u, most(16), |u| text(u, HOSTS))?,
        complete: kinds & 32 == 0,
        claimed: kinds & 64 != 0,
        plain: false,
        catastrophic: if u.ratio(1, 32)? {
            vec!["boom".to_owned()]
        } else {
            Vec::new()
        },
    })
}

fn args(u: &mut Unstructured<'_>) -> Result<Args> {
    let mut args = Args::new();
    if u.arbitrary()? {
        args.insert("p".to_owned(), value(u, 2)?);
    }
    Ok(args)
}

fn value(u: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    Ok(match u.int_in_range(0..=if depth == 0 { 3 } else { 5 })? {
        0 => json!(text(u, VALUES)?),
        1 => json!(1),
        2 => json!(true),
        3 => Value::Null,
        4 => json!(several(u, 2, |u| value(u, depth - 1))?),
        _ => json!({"x": value(u, depth - 1)?, "y": value(u, depth - 1)?}),
    })
}

fn text(u: &mut Unstructured<'_>, from: &[&str]) -> Result<String> {
    u.choose(from).map(|text| (*text).to_owned())
}

fn several<T>(
    u: &mut Unstructured<'_>,
    most: usize,
    mut one: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..u.int_in_range(0..=most)?).map(|_| one(u)).collect()
}

fn one_or_more<T>(
    u: &mut Unstructured<'_>,
    most: usize,
    mut one: impl FnMut(&mut Unstructured<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    (0..u.int_in_range(1..=most)?).map(|_| one(u)).collect()
}
