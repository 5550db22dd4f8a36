//! A second, slow evaluator written from the meaning of rules, and the law that both agree.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]
mod support;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use support::*;
use toolgate_model::{Action, Args, Facts, Risk, Run};
use toolgate_policy::{
    Condition, Grant, GrantScope, LayerSpec, LayerTrust, Mode, Operator, RuleSpec, Settings, Trust,
    Values, WordPattern,
};

// ---- The evaluator.

#[derive(Clone, Debug, PartialEq)]
enum Atom {
    Tool,
    Path(&'static str, String),
    Command(Run),
    Connect(String),
    Opaque,
}

/// An answer and the layer it came from; no layer for defaults.
type Answer = (Action, Option<String>);

fn atoms(call: &Call) -> Vec<Atom> {
    let facts = &call.facts;
    let mut atoms = Vec::new();
    // The tool counts where its facts do not show what it does.
    let shown = facts.has_effects() || (!call.side_effects && !facts.reads.is_empty());
    if !shown {
        atoms.push(Atom::Tool);
    }
    for path in &facts.reads {
        atoms.push(Atom::Path("read", path.clone()));
    }
    for path in &facts.writes {
        atoms.push(Atom::Path("write", path.clone()));
    }
    for path in &facts.deletes {
        atoms.push(Atom::Path("delete", path.clone()));
    }
    for run in &facts.runs {
        atoms.push(Atom::Command(run.clone()));
    }
    for host in &facts.connects {
        atoms.push(Atom::Connect(host.clone()));
    }
    if opaque(call) {
        atoms.push(Atom::Opaque);
    }
    atoms
}

fn opaque(call: &Call) -> bool {
    !call.facts.complete || call.facts.runs.iter().any(|run| run.opaque)
}

/// A glob as segments, `**` standing for any number of them.
fn glob(pattern: &[&str], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ["**"] => !path.is_empty(),
        ["**", rest @ ..] => (0..=path.len()).any(|skip| glob(rest, &path[skip..])),
        [first, rest @ ..] => {
            !path.is_empty()
                && name(
                    &first.chars().collect::<Vec<_>>(),
                    &path[0].chars().collect::<Vec<_>>(),
                )
                && glob(rest, &path[1..])
        }
    }
}

fn name(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|skip| name(rest, &text[skip..])),
        ['?', rest @ ..] => !text.is_empty() && name(rest, &text[1..]),
        [c, rest @ ..] => text.first() == Some(c) && name(rest, &text[1..]),
    }
}

fn glob_text(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    glob(&pattern, &path)
}

/// Lexically tidy, and whether it climbed.
fn tidy(path: &str) -> (String, bool) {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let text = parts.join("/");
    let text = match (path.starts_with('/'), text.as_str()) {
        (true, _) => format!("/{text}"),
        (false, "") => ".".to_owned(),
        _ => text,
    };
    (text, path.split('/').any(|part| part == ".."))
}

fn path_fits(pattern: &str, path: &str, strict: bool, delete: bool) -> bool {
    let (path, climbs) = tidy(path);
    let outside = path.starts_with('/');
    let pattern = pattern.trim_start_matches("./");
    if pattern == "**" || pattern.is_empty() {
        return strict || (!climbs && !outside);
    }
    let directory = pattern.ends_with('/') || pattern.ends_with("/**");
    let base = pattern.trim_end_matches("/**").trim_end_matches('/');
    let beneath = format!("{base}/**");
    if !strict {
        return !climbs
            && outside == pattern.starts_with('/')
            && (glob_text(base, &path) || (directory && glob_text(&beneath, &path)));
    }
    if glob_text(base, &path) || glob_text(&beneath, &path) {
        return true;
    }
    if !pattern.contains('/') {
        return glob_text(&format!("**/{base}"), &path)
            || glob_text(&format!("**/{beneath}"), &path);
    }
    // Deleting a directory deletes what is in it.
    let fixed: Vec<&str> = base
        .split('/')
        .take_while(|part| !part.contains(['*', '?']))
        .collect();
    let fixed = fixed.join("/");
    let everything = if base.starts_with('/') { "/" } else { "." };
    delete && (path == everything || path == fixed || fixed.starts_with(&format!("{path}/")))
}

fn host_fits(pattern: &str, host: &str, strict: bool) -> bool {
    let cut = |text: &str| match text.split_once(':') {
        Some((name, port)) => (name.to_owned(), Some(port.to_owned())),
        None => (text.to_owned(), None),
    };
    let (wanted, wanted_port) = cut(pattern);
    let (name, port) = cut(host);
    let name_fits = wanted == "*"
        || wanted == name
        || wanted
            .strip_prefix('*')
            .is_some_and(|end| name.ends_with(end) && name != end);
    name_fits && (wanted_port.is_none() || wanted_port == port || (port.is_none() && strict))
}

fn words_fit(pattern: &[WordPattern], words: &[String]) -> bool {
    words.len() >= pattern.len()
        && pattern
            .iter()
            .zip(words)
            .all(|(wanted, word)| match wanted {
                WordPattern::One(one) => one == word,
                WordPattern::Any(any) => any.contains(word),
            })
}

fn condition_holds(condition: &Condition, args: &Args, strict: bool) -> bool {
    fn leaves(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Array(list) => list.iter().for_each(|value| leaves(value, out)),
            Value::Object(map) => map.values().for_each(|value| leaves(value, out)),
            Value::String(text) => out.push(text.clone()),
            other => out.push(other.to_string()),
        }
    }
    let Some(value) = args.get(&condition.param) else {
        return false;
    };
    let mut texts = Vec::new();
    leaves(value, &mut texts);
    let values = match &condition.value {
        Values::One(one) => vec![one.clone()],
        Values::Any(any) => any.clone(),
    };
    let fits = |text: &String| {
        values.iter().any(|value| match condition.operator {
            Operator::Equals => text == value,
            Operator::Contains => text.contains(value),
            Operator::StartsWith => text.starts_with(value),
            Operator::Matches => regex::Regex::new(value).unwrap().is_match(text),
        })
    };
    !texts.is_empty()
        && if strict {
            texts.iter().any(fits)
        } else {
            texts.iter().all(fits)
        }
}

/// Whether a rule matches an atom of a call.
fn speaks(rule: &RuleSpec, atom: &Atom, call: &Call) -> bool {
    let strict = rule.action != Allow;
    if !rule
        .when
        .iter()
        .all(|c| condition_holds(c, &call.args, strict))
    {
        return false;
    }
    if strict && rule.opaque && !opaque(call) {
        return false;
    }
    let keys = [&rule.reads, &rule.writes, &rule.deletes, &rule.connects];
    if rule.sandboxed && !(call.command_sandbox && call.facts.claimed) {
        return false;
    }
    let has_keys = rule.command.is_some() || keys.iter().any(|key| key.is_some());
    match atom {
        Atom::Opaque => {
            rule.opaque
                && match &rule.command {
                    None => true,
                    Some(_) if strict => false,
                    Some(words) => {
                        let runs = &call.facts.runs;
                        !runs.is_empty() && runs.iter().all(|run| words_fit(words, &run.words))
                    }
                }
        }
        _ if !has_keys => !(strict && rule.opaque),
        Atom::Tool => false,
        Atom::Path(kind, path) => {
            let patterns = match *kind {
                "read" => &rule.reads,
                "write" => &rule.writes,
                _ => &rule.deletes,
            };
            patterns
                .iter()
                .flatten()
                .any(|pattern| path_fits(pattern, path, strict, *kind == "delete"))
        }
        Atom::Command(run) => rule.command.as_ref().is_some_and(|words| {
            words_fit(words, &run.words) && (strict || rule.opaque || !run.opaque)
        }),
        Atom::Connect(host) => rule
            .connects
            .iter()
            .flatten()
            .any(|pattern| host_fits(pattern, host, strict)),
    }
}

/// The first rule of a layer that fits, those that name the tool before the star.
fn first<'r>(rules: &'r [RuleSpec], atom: &Atom, call: &Call) -> Option<&'r RuleSpec> {
    let named = rules
        .iter()
        .filter(|rule| canonical(&rule.tool) == call.tool);
    let star = rules.iter().filter(|rule| rule.tool == "*");
    named.chain(star).find(|rule| speaks(rule, atom, call))
}

fn inside(path: &str) -> bool {
    !tidy(path).0.starts_with('/') && !tidy(path).1
}

/// Of what the words of calls make, only these commands are known to read and print.
fn reads_only(run: &Run, call: &Call) -> bool {
    let words: Vec<&str> = run.words.iter().map(String::as_str).collect();
    let known = matches!(words.as_slice(), ["ls", ..] | ["git", "status", ..]);
    known && !run.opaque && call.facts.claimed && call.facts.plain
}

fn default(settings: &Settings, allowlisted: bool, atom: &Atom, call: &Call) -> Action {
    let tool_row = if call.side_effects {
        "side effects"
    } else {
        "read-only"
    };
    let row = match atom {
        Atom::Command(_) if !call.command_sandbox => return Deny,
        Atom::Opaque if call.facts.claimed && !call.command_sandbox => return Deny,
        Atom::Opaque => "opaque",
        Atom::Command(run) if run.opaque => "opaque",
        _ if allowlisted => "allowlisted",
        Atom::Path("read", path) if inside(path) => "read-only",
        Atom::Command(run) if reads_only(run, call) => "read-only command",
        Atom::Path(..) | Atom::Command(_) => "side effects",
        Atom::Tool | Atom::Connect(_) => tool_row,
    };
    // What is not known is a command without a network, or needs approval.
    let connected = !call.facts.claimed || !call.network_closed;
    let alone = if row == "opaque" && connected {
        Ask
    } else {
        Allow
    };
    let prompt = if settings.prompt_side_effects {
        Ask
    } else {
        Allow
    };
    let (supervised, guided, autonomous, auto, prompted, denied) = match row {
        "allowlisted" => (Ask, Allow, Allow, Allow, Allow, Allow),
        "read-only" | "read-only command" => (Ask, Allow, Allow, Allow, Allow, Deny),
        "side effects" => (Ask, Ask, Allow, Allow, prompt, Deny),
        _ => (Ask, Ask, alone, Ask, Ask, Deny),
    };
    let by_trust = match settings.trust {
        Trust::Supervised => supervised,
        Trust::Guided => guided,
        Trust::Autonomous => autonomous,
    };
    let by_mode = settings.mode.map(|mode| match mode {
        Mode::Auto => auto,
        Mode::Prompt => prompted,
        Mode::Deny => denied,
    });
    let cell = match settings.default_action {
        Some(action) if row != "allowlisted" => action,
        _ => match by_mode {
            None => by_trust,
            Some(by_mode) if settings.mode_alone => by_mode,
            Some(by_mode) => by_trust.max(by_mode),
        },
    };
    if row == "opaque" && !call.command_sandbox {
        cell.max(Ask)
    } else {
        cell
    }
}

/// The answer for a call, and the layer of the rule that decided it, if a rule did.
fn naive(settings: &Settings, layers: &[LayerSpec], call: &Call) -> Answer {
    if !settings.enabled || !call.facts.catastrophic.is_empty() {
        return (Deny, None);
    }
    let allowlisted = layers
        .iter()
        .filter(|layer| layer.trust == LayerTrust::Trusted)
        .filter_map(|layer| layer.allowlist.as_ref())
        .next_back()
        .is_some_and(|list| list.entries.iter().any(|name| canonical(name) == call.tool));
    let mut call_answer: Option<Answer> = None;
    let mut effects_consented = true;
    let mut reads_consented = true;
    let mut has_effects = false;
    for atom in atoms(call) {
        let mut denied: Option<(&RuleSpec, &str)> = None;
        let mut latest: Option<(&RuleSpec, &str)> = None;
        let mut stricter: Answer = (Allow, None);
        for layer in layers {
            // A denylist is a deny rule per tool that nothing in its layer precedes.
            let on_list = layer
                .denylist
                .entries
                .iter()
                .any(|name| canonical(name) == call.tool);
            let listed = RuleSpec::new("*", Deny);
            let block = (on_list && atom != Atom::Opaque).then_some(&listed);
            let rule = first(&layer.rules, &atom, call);
            match layer.trust {
                LayerTrust::Trusted => {
                    if denied.is_none() {
                        if block.is_some() {
                            denied = Some((Box::leak(Box::new(listed.clone())), &layer.name));
                        } else if let Some(rule) = rule {
                            if rule.action == Deny {
                                denied = Some((rule, &layer.name));
                            } else {
                                latest = Some((rule, &layer.name));
                            }
                        }
                    }
                }
                LayerTrust::Untrusted => {
                    let action = if block.is_some() {
                        Deny
                    } else {
                        rule.map_or(Allow, |rule| rule.action)
                    };
                    if action > stricter.0 {
                        stricter = (action, Some(layer.name.clone()));
                    }
                }
            }
        }
        let speaker = denied.or(latest);
        let mut answer: Answer = match speaker {
            None => (default(settings, allowlisted, &atom, call), None),
            Some((rule, layer)) => {
                let keys = [&rule.reads, &rule.writes, &rule.deletes, &rule.connects];
                let rests_on_claim = rule.action == Allow
                    && matches!(atom, Atom::Path(..) | Atom::Connect(_))
                    && keys.iter().any(|key| key.is_some())
                    && call.facts.claimed
                    && !call.sandbox_from_facts;
                (
                    if rests_on_claim { Ask } else { rule.action },
                    Some(layer.to_owned()),
                )
            }
        };
        let consent = answer.0 == Allow && speaker.is_some_and(|(rule, _)| rule.tool != "*");
        let free = match &atom {
            // By the default alone, and where nothing beyond the roots is read.
            Atom::Command(run) => {
                reads_only(run, call)
                    && speaker.is_none()
                    && answer.0 == Allow
                    && stricter.0 == Allow
                    && !allowlisted
                    && call.facts.reads.iter().all(|path| inside(path))
            }
            _ => false,
        };
        if matches!(atom, Atom::Path("read", _)) {
            reads_consented &= consent;
        } else if free {
            has_effects = true;
        } else {
            has_effects = true;
            effects_consented &= consent;
        }
        if stricter.0 > answer.0
            || (stricter.0 == answer.0 && answer.1.is_none() && stricter.1.is_some())
        {
            answer = stricter;
        }
        let better = call_answer.as_ref().is_none_or(|before| {
            answer.0 > before.0
                || (answer.0 == before.0 && before.1.is_none() && answer.1.is_some())
        });
        if better {
            call_answer = Some(answer);
        }
    }
    let answer = call_answer.unwrap();
    let consented = if has_effects {
        effects_consented
    } else {
        reads_consented
    };
    let silent = settings.mode_alone && settings.mode.is_some();
    let autonomous = settings.trust == Trust::Autonomous && !silent;
    let waived = consented || (autonomous && call.command_sandbox);
    if answer.0 == Allow && call.requires_approval && !waived {
        return (Ask, None);
    }
    answer
}

// ---- Random policies and calls over a small world, so that rules do meet atoms.

const TOOLS: [&str; 4] = ["read_file", "write_file", "run_command", "mcp"];
const PATHS: [&str; 14] = [
    "a",
    "b",
    "src",
    "src/a",
    "src/x/a.rs",
    "b.rs",
    "docs/a.md",
    ".",
    "src/../b",
    "./src//a",
    "/etc/a",
    "/a",
    "src/x",
    "docs",
];
const PATTERNS: [&str; 20] = [
    "a",
    "*.rs",
    "src/**",
    "src/",
    "src/a",
    "src/*",
    "**/*.rs",
    "**",
    "docs/*.md",
    "?",
    "/etc/**",
    "/etc/a",
    "./b",
    "src/x/a.rs",
    "*",
    "**/a",
    "src/**/a.rs",
    "./",
    "docs/",
    "/a",
];
const WORDS: [&str; 6] = ["git", "status", "push", "ls", "./git", "-v"];
const HOSTS: [&str; 5] = ["h.io", "a.h.io", "h.io:80", "x:1", "x"];
const HOST_PATTERNS: [&str; 7] = ["h.io", "*.h.io", "h.io:80", "*", "x", "x:1", "*:1"];
const VALUES: [&str; 5] = ["a", "ab", "b", "1", "true"];

fn action_strategy() -> impl Strategy<Value = Action> {
    prop_oneof![4 => Just(Allow), 2 => Just(Ask), 2 => Just(Deny)]
}

fn some_of(
    list: &'static [&'static str],
    sizes: std::ops::RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<String>> {
    subsequence(list.to_vec(), sizes).prop_map(|list| strings(&list))
}

fn word_patterns() -> impl Strategy<Value = Vec<WordPattern>> {
    let one = prop_oneof![
        3 => select(&WORDS[..]).prop_map(WordPattern::from),
        1 => some_of(&WORDS, 1..=3).prop_map(WordPattern::Any),
    ];
    prop::collection::vec(one, 1..3)
}

fn condition_strategy() -> impl Strategy<Value = Condition> {
    let operator = select(
        &[
            Operator::Equals,
            Operator::Contains,
            Operator::Matches,
            Operator::StartsWith,
        ][..],
    );
    let value = prop_oneof![
        select(&VALUES[..]).prop_map(Values::from),
        some_of(&VALUES, 1..=2).prop_map(Values::Any),
    ];
    (select(&["p", "q"][..]), operator, value).prop_map(|(param, operator, value)| Condition {
        param: param.into(),
        operator,
        value,
    })
}

fn rule_strategy() -> impl Strategy<Value = RuleSpec> {
    let tool = prop_oneof![
        select(&TOOLS[..]),
        Just("*"),
        Just("bash"),
        Just("file_write")
    ];
    let when =
        prop_oneof![4 => Just(Vec::new()), 1 => prop::collection::vec(condition_strategy(), 1..3)];
    let keys = prop_oneof![
        3 => Just(0usize),
        2 => Just(1), 2 => Just(2), 2 => Just(3), 3 => Just(4), 2 => Just(5), 1 => Just(6),
    ];
    (
        tool,
        action_strategy(),
        keys,
        some_of(&PATTERNS, 1..=3),
        word_patterns(),
        some_of(&HOST_PATTERNS, 1..=2),
        prop::bool::weighted(0.2),
        when,
    )
        .prop_map(
            |(tool, action, key, patterns, words, hosts, opaque, when)| {
                let mut rule = RuleSpec::new(tool, action);
                rule.when = when;
                match key {
                    1 => rule.reads = Some(patterns),
                    2 => rule.writes = Some(patterns),
                    3 => rule.deletes = Some(patterns),
                    4 => rule.command = Some(words),
                    5 => rule.connects = Some(hosts),
                    6 => {
                        rule.reads = Some(patterns.clone());
                        rule.writes = Some(patterns);
                        rule.command = Some(words);
                    }
                    _ => {}
                }
                rule.opaque = opaque && matches!(key, 0 | 4);
                rule
            },
        )
}

fn layer_strategy() -> impl Strategy<Value = LayerSpec> {
    (
        prop::bool::weighted(0.7),
        prop::collection::vec(rule_strategy(), 0..7),
        prop::option::weighted(0.2, some_of(&TOOLS, 0..=2)),
        prop_oneof![9 => Just(Vec::new()), 1 => some_of(&TOOLS, 1..=1)],
    )
        .prop_map(|(trust, rules, allow, deny)| {
            let trust = if trust {
                LayerTrust::Trusted
            } else {
                LayerTrust::Untrusted
            };
            let mut layer = LayerSpec::new("", trust, rules);
            layer.allowlist = allow.map(|names| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                listed(&names)
            });
            layer.denylist.entries = deny;
            layer
        })
}

fn grants_strategy() -> impl Strategy<Value = Option<LayerSpec>> {
    let scope = prop_oneof![
        Just(GrantScope::Tool),
        Just(GrantScope::Edits),
        Just(GrantScope::Commands),
        prop::collection::vec(select(&WORDS[..]).prop_map(str::to_owned), 1..3)
            .prop_map(GrantScope::Command),
        select(&HOSTS[..]).prop_map(|host| GrantScope::Host(host.into())),
    ];
    let grant = (select(&TOOLS[..]), scope).prop_map(|(tool, scope)| Grant {
        tool: tool.into(),
        scope,
        source: Default::default(),
    });
    prop::option::weighted(
        0.3,
        prop::collection::vec(grant, 1..3).prop_map(|grants| LayerSpec::grants(&grants)),
    )
}

fn settings_strategy() -> impl Strategy<Value = Settings> {
    (
        prop::bool::weighted(0.97),
        select(&[Trust::Supervised, Trust::Guided, Trust::Autonomous][..]),
        prop::option::of(select(&[Mode::Auto, Mode::Prompt, Mode::Deny][..])),
        prop::option::weighted(0.2, action_strategy()),
        (any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |(enabled, trust, mode, default_action, (prompt_side_effects, mode_alone))| Settings {
                mode_alone,
                enabled,
                trust,
                mode,
                default_action,
                prompt_side_effects,
            },
        )
}

fn call_strategy() -> impl Strategy<Value = Call> {
    let run = (
        prop::collection::vec(select(&WORDS[..]).prop_map(str::to_owned), 0..4),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(words, opaque)| Run { words, opaque });
    let facts = (
        some_of(&PATHS, 0..=2),
        some_of(&PATHS, 0..=2),
        some_of(&PATHS, 0..=1),
        prop::collection::vec(run, 0..3),
        some_of(&HOSTS, 0..=1),
        prop::bool::weighted(0.85),
        (any::<bool>(), any::<bool>()),
        prop::bool::weighted(0.03),
    )
        .prop_map(
            |(reads, writes, deletes, runs, connects, complete, (claimed, plain), catastrophic)| {
                Facts {
                    reads,
                    writes,
                    deletes,
                    runs,
                    connects,
                    complete,
                    claimed,
                    plain,
                    catastrophic: if catastrophic {
                        vec!["boom".into()]
                    } else {
                        vec![]
                    },
                }
            },
        );
    // Many calls touch one thing only.
    let facts = (facts, 0..8usize).prop_map(|(mut facts, only)| {
        let keep = |wanted: usize| only > 4 || only == wanted;
        if !keep(0) {
            facts.reads.clear();
        }
        if !keep(1) {
            facts.writes.clear();
        }
        if !keep(2) {
            facts.deletes.clear();
        }
        if !keep(3) {
            facts.runs.clear();
        }
        if !keep(4) {
            facts.connects.clear();
        }
        facts
    });
    let value = prop_oneof![
        select(&VALUES[..]).prop_map(|text| json!(text)),
        some_of(&VALUES, 0..=3).prop_map(|list| json!(list)),
        Just(json!({"x": "a", "y": [1, true]})),
        Just(json!(1)),
    ];
    let flags = prop::array::uniform5(any::<bool>());
    (select(&TOOLS[..]), facts, prop::option::of(value), flags).prop_map(
        |(tool, facts, p, flags)| {
            let mut args = Args::new();
            if let Some(p) = p {
                args.insert("p".into(), p);
            }
            Call {
                tool: tool.into(),
                args,
                facts,
                side_effects: flags[0],
                requires_approval: flags[1],
                risk: Risk::Low,
                command_sandbox: flags[2],
                network_closed: flags[4],
                sandbox_from_facts: flags[3],
            }
        },
    )
}

fn layers_strategy() -> impl Strategy<Value = Vec<LayerSpec>> {
    (
        prop::collection::vec(layer_strategy(), 0..4),
        grants_strategy(),
    )
        .prop_map(|(mut layers, grants)| {
            layers.extend(grants);
            for (at, layer) in layers.iter_mut().enumerate() {
                layer.name = format!("layer{at}");
            }
            layers
        })
}

// Compiling a policy is the slow part, so that each is asked about several calls.
const POLICIES: u32 = 256;
const CALLS: usize = 8;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(POLICIES) })]

    #[test]
    fn the_engine_agrees_with_the_text(
        settings in settings_strategy(),
        layers in layers_strategy(),
        calls in prop::collection::vec(call_strategy(), CALLS),
    ) {
        let policy = policy_with(settings.clone(), &layers);
        for call in &calls {
            let (expected, layer) = naive(&settings, &layers, call);
            let decision = decide(&policy, call);
            prop_assert_eq!(decision.action, expected, "{:#?}\n{:#?}", call, decision);
            if let Some(layer) = layer {
                prop_assert_eq!(&decision.source.layer, &layer, "{:#?}\n{:#?}", call, decision);
            }
            prop_assert_eq!(decision.kind.is_some(), expected == Deny);
            // The call's answer is the strictest of the atoms it explains, unless the tool wanted more.
            if settings.enabled && call.facts.catastrophic.is_empty() {
                let strictest = decision.atoms.iter().map(|atom| atom.answer).max().unwrap();
                let wanted = call.requires_approval && expected == Ask && strictest == Allow;
                prop_assert!(expected == strictest || wanted);
            }
        }
    }

    #[test]
    fn nothing_that_is_added_makes_a_denial_weaker(
        settings in settings_strategy(),
        layers in layers_strategy(),
        more in layer_strategy(),
        calls in prop::collection::vec(call_strategy(), CALLS),
        more_words in prop::collection::vec(select(&WORDS[..]), 0..4),
    ) {
        let policy = policy_with(settings.clone(), &layers);
        let grants = TOOLS.map(|tool| Grant {
            tool: tool.into(),
            scope: GrantScope::Tool,
            source: Default::default(),
        });
        let widened = [layers.clone(), vec![more.clone(), LayerSpec::grants(&grants)]].concat();
        let widened = policy_with(settings.clone(), &widened);
        let theirs = LayerSpec { trust: LayerTrust::Untrusted, ..more };
        let tightened = policy_with(settings, &[layers, vec![theirs]].concat());
        for call in &calls {
            let verdict = judge(&policy, call);
            // A denial by a rule survives more layers and grants.
            if verdict.decision.action == Deny && verdict.stage != toolgate_policy::Stage::Default {
                prop_assert_eq!(action(&widened, call), Deny, "{:#?}", call);
            }
            // An untrusted layer never makes any answer weaker.
            prop_assert!(action(&tightened, call) >= verdict.decision.action, "{:#?}", call);
            // Another command on the line never makes it weaker, if there were commands already.
            if !call.facts.runs.is_empty() {
                let mut longer = call.clone();
                let words = strings(&more_words);
                longer.facts.runs.push(Run { words, opaque: false });
                prop_assert!(action(&policy, &longer) >= verdict.decision.action, "{:#?}", call);
            }
        }
    }
}
