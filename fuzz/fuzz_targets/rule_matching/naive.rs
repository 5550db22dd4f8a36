//! The meaning of rules, evaluated slowly: every rule is tried on every atom, one after
//! another, straight from the written meaning. No index, no sets, no compiled patterns.

use serde_json::Value;
use toolgate_model::Action::{self, Allow, Ask, Deny};
use toolgate_model::Run;
use toolgate_policy::{
    Condition, LayerSpec, LayerTrust, Mode, Operator, Question, RuleSpec, Settings, Trust,
    WordPattern,
};

/// One thing that rules speak to.
#[derive(Clone, Copy, PartialEq)]
enum Atom<'c> {
    Tool,
    Read(&'c str),
    Write(&'c str),
    Delete(&'c str),
    Command(&'c Run),
    Connect(&'c str),
    Opaque,
}

/// The answer for a call, and the layer of the rule that gave it, if a rule did.
pub type Answer = (Action, Option<String>);

/// Decides about a call.
pub fn decide(settings: &Settings, layers: &[LayerSpec], call: &Question<'_>) -> Answer {
    if !settings.enabled || !call.facts.catastrophic.is_empty() {
        return (Deny, None);
    }
    let mut strictest: Answer = (Allow, None);
    let (mut reads, mut effects) = (Vec::new(), Vec::new());
    for atom in atoms(call) {
        let (answer, consented) = answer(settings, layers, atom, call);
        if answer.0 > strictest.0 || (answer.0 == strictest.0 && strictest.1.is_none()) {
            strictest = answer;
        }
        let list = if matches!(atom, Atom::Read(_)) {
            &mut reads
        } else {
            &mut effects
        };
        list.push(consented);
    }
    let asked_for = if effects.is_empty() { reads } else { effects };
    let waived = asked_for.iter().all(|consented| *consented)
        || (settings.trust == Trust::Autonomous && call.command_sandbox);
    if strictest.0 == Allow && call.requires_approval && !waived {
        return (Ask, None);
    }
    strictest
}

fn atoms<'c>(call: &Question<'c>) -> Vec<Atom<'c>> {
    let facts = call.facts;
    let mut atoms = Vec::new();
    // The tool counts where its facts do not show what it does.
    if !(facts.has_effects() || (!call.side_effects && !facts.reads.is_empty())) {
        atoms.push(Atom::Tool);
    }
    atoms.extend(facts.reads.iter().map(|path| Atom::Read(path)));
    atoms.extend(facts.writes.iter().map(|path| Atom::Write(path)));
    atoms.extend(facts.deletes.iter().map(|path| Atom::Delete(path)));
    atoms.extend(facts.runs.iter().map(Atom::Command));
    atoms.extend(facts.connects.iter().map(|host| Atom::Connect(host)));
    atoms.extend(is_opaque(call).then_some(Atom::Opaque));
    atoms
}

fn is_opaque(call: &Question<'_>) -> bool {
    !call.facts.complete || call.facts.runs.iter().any(|run| run.opaque)
}

/// The answer for one atom, and whether a trusted rule that names the tool allows it.
fn answer(
    settings: &Settings,
    layers: &[LayerSpec],
    atom: Atom<'_>,
    call: &Question<'_>,
) -> (Answer, bool) {
    let mut trusted: Option<(RuleSpec, &str)> = None;
    let mut stricter: Answer = (Allow, None);
    for layer in layers {
        for (trust, rules) in parts(layer) {
            let Some(rule) = first(&rules, atom, call) else {
                continue;
            };
            match trust {
                // A deny of any trusted layer is final; otherwise the latest that speaks decides.
                LayerTrust::Trusted => {
                    if trusted
                        .as_ref()
                        .is_none_or(|(before, _)| before.action != Deny)
                    {
                        trusted = Some((rule.clone(), &layer.name));
                    }
                }
                LayerTrust::Untrusted => {
                    if rule.action > stricter.0 {
                        stricter = (rule.action, Some(layer.name.clone()));
                    }
                }
            }
        }
    }
    let (answer, consented) = match trusted {
        None => ((default(settings, layers, atom, call), None), false),
        Some((rule, layer)) => {
            let rests_on_a_claim = rule.action == Allow
                && (rule.reads.is_some()
                    || rule.writes.is_some()
                    || rule.deletes.is_some()
                    || rule.connects.is_some())
                && matches!(
                    atom,
                    Atom::Read(_) | Atom::Write(_) | Atom::Delete(_) | Atom::Connect(_)
                )
                && call.facts.claimed
                && !call.sandbox_from_facts;
            let action = if rests_on_a_claim { Ask } else { rule.action };
            (
                (action, Some(layer.to_owned())),
                action == Allow && rule.tool != "*",
            )
        }
    };
    if stricter.0 > answer.0 || (stricter.0 == answer.0 && answer.1.is_none()) {
        (stricter, consented)
    } else {
        (answer, consented)
    }
}

/// A layer as lists of rules that are tried apart: what its lists block, the fence of
/// `allowed_paths` (which gives nothing), and its rules.
fn parts(layer: &LayerSpec) -> [(LayerTrust, Vec<RuleSpec>); 3] {
    let on_paths = |action, pattern: &String| {
        let mut rule = RuleSpec::new("*", action);
        rule.reads = Some(vec![pattern.clone()]);
        rule.writes = Some(vec![pattern.clone()]);
        rule.deletes = Some(vec![pattern.clone()]);
        rule
    };
    let mut blocks: Vec<RuleSpec> = layer
        .denylist
        .entries
        .iter()
        .map(|tool| RuleSpec::new(tool.clone(), Deny))
        .collect();
    blocks.extend(
        layer
            .short
            .blocked_paths
            .entries
            .iter()
            .map(|path| on_paths(Deny, path)),
    );
    let mut fence: Vec<RuleSpec> = layer
        .short
        .allowed_paths
        .entries
        .iter()
        .map(|path| on_paths(Allow, path))
        .collect();
    if !fence.is_empty() {
        fence.push(on_paths(Deny, &"**".to_owned()));
    }
    [
        (layer.trust, blocks),
        (LayerTrust::Untrusted, fence),
        (layer.trust, layer.rules.clone()),
    ]
}

/// The first rule that matches an atom, those that name the tool before the star.
fn first<'r>(rules: &'r [RuleSpec], atom: Atom<'_>, call: &Question<'_>) -> Option<&'r RuleSpec> {
    let named = rules
        .iter()
        .filter(|rule| super::canonical(&rule.tool) == call.tool);
    let star = rules.iter().filter(|rule| rule.tool == "*");
    named.chain(star).find(|rule| speaks(rule, atom, call))
}

fn speaks(rule: &RuleSpec, atom: Atom<'_>, call: &Question<'_>) -> bool {
    let strict = rule.action != Allow;
    if !rule
        .when
        .iter()
        .all(|condition| holds(condition, call, strict))
    {
        return false;
    }
    if strict && rule.opaque && !is_opaque(call) {
        return false;
    }
    let fits_path = |patterns: &Option<Vec<String>>, path: &str, delete: bool| {
        patterns
            .iter()
            .flatten()
            .any(|pattern| path_fits(pattern, path, strict, delete))
    };
    let has_keys = rule.command.is_some()
        || [&rule.reads, &rule.writes, &rule.deletes, &rule.connects]
            .iter()
            .any(|key| key.is_some());
    match atom {
        Atom::Opaque => match &rule.command {
            _ if !rule.opaque => false,
            None => true,
            // A deny or ask matches the command itself, which is enough.
            Some(_) if strict => false,
            Some(words) => {
                let runs = &call.facts.runs;
                !runs.is_empty() && runs.iter().all(|run| words_fit(words, &run.words))
            }
        },
        _ if !has_keys => !(strict && rule.opaque),
        Atom::Tool => false,
        Atom::Read(path) => fits_path(&rule.reads, path, false),
        Atom::Write(path) => fits_path(&rule.writes, path, false),
        Atom::Delete(path) => fits_path(&rule.deletes, path, true),
        Atom::Command(run) => {
            let known = strict || rule.opaque || !run.opaque;
            rule.command
                .as_ref()
                .is_some_and(|words| known && words_fit(words, &run.words))
        }
        Atom::Connect(host) => rule
            .connects
            .iter()
            .flatten()
            .any(|pattern| host_fits(pattern, host, strict)),
    }
}

fn default(
    settings: &Settings,
    layers: &[LayerSpec],
    atom: Atom<'_>,
    call: &Question<'_>,
) -> Action {
    let listed = layers
        .iter()
        .filter(|layer| layer.trust == LayerTrust::Trusted)
        .filter_map(|layer| layer.allowlist.as_ref())
        .next_back()
        .is_some_and(|list| {
            list.entries
                .iter()
                .any(|name| super::canonical(name) == call.tool)
        });
    let unknown = matches!(atom, Atom::Opaque) || matches!(atom, Atom::Command(run) if run.opaque);
    let is_command =
        matches!(atom, Atom::Command(_)) || (atom == Atom::Opaque && call.facts.claimed);
    let only_reads = match atom {
        Atom::Read(path) => {
            let (tidy, climbs) = tidy(path);
            !climbs && !tidy.starts_with('/')
        }
        Atom::Tool | Atom::Connect(_) => !call.side_effects,
        _ => false,
    };
    if is_command && !call.command_sandbox {
        return Deny;
    }
    // The table: a row has the answers for the three levels of trust, then for the modes.
    let prompt = if settings.prompt_side_effects {
        Ask
    } else {
        Allow
    };
    let row = match (unknown, listed, only_reads) {
        (true, ..) => [Ask, Ask, Allow, Ask, Ask, Deny],
        (_, true, _) => [Ask, Allow, Allow, Allow, Allow, Allow],
        (.., true) => [Ask, Allow, Allow, Allow, Allow, Deny],
        _ => [Ask, Ask, Allow, Allow, prompt, Deny],
    };
    let by_trust = match settings.trust {
        Trust::Supervised => row[0],
        Trust::Guided => row[1],
        Trust::Autonomous => row[2],
    };
    let by_mode = match (settings.mode, settings.trust) {
        (Some(Mode::Auto), _) | (None, Trust::Autonomous) => row[3],
        (Some(Mode::Prompt), _) | (None, _) => row[4],
        (Some(Mode::Deny), _) => row[5],
    };
    let cell = match settings.default_action {
        Some(action) if unknown || !listed => action,
        _ => by_trust.max(by_mode),
    };
    // What is not known runs in a sandbox or is asked.
    if unknown && !call.command_sandbox {
        cell.max(Ask)
    } else {
        cell
    }
}

/// A path without `.`, `..` and doubled slashes, and whether it climbed.
fn tidy(path: &str) -> (String, bool) {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    let tidy = format!("{root}{}", parts.join("/"));
    let climbs = path.split('/').any(|part| part == "..");
    (
        if tidy.is_empty() {
            ".".to_owned()
        } else {
            tidy
        },
        climbs,
    )
}

/// A pattern taken apart: is it a directory with all that is in it, and of what.
fn directory_of(pattern: &str) -> (bool, &str) {
    let below = pattern.strip_prefix('/').unwrap_or(pattern);
    let inner = match below {
        "**" | "" => Some(""),
        _ => below
            .strip_suffix("/**")
            .or_else(|| below.strip_suffix('/')),
    };
    (inner.is_some(), inner.unwrap_or(below))
}

/// Whether a pattern cannot be meant: a part of it never occurs in a path.
pub fn is_wrong(pattern: &str) -> bool {
    let pattern = pattern.trim_start_matches("./");
    let (_, inner) = directory_of(pattern);
    let is_root = inner.is_empty() || (inner == "." && !pattern.starts_with('/'));
    let odd = |part: &str| matches!(part, "" | "." | "..");
    !is_root && inner.split('/').any(odd)
}

fn path_fits(pattern: &str, path: &str, strict: bool, delete: bool) -> bool {
    let (path, climbs) = tidy(path);
    let pattern = pattern.trim_start_matches("./");
    let absolute = pattern.starts_with('/');
    if !strict && (climbs || absolute != path.starts_with('/')) {
        return false;
    }
    let (directory, inner) = directory_of(pattern);
    let root = if absolute { "/" } else { "" };
    if inner.is_empty() || (inner == "." && (strict || directory)) {
        return glob(&format!("{root}**"), &path);
    }
    let is_name = !pattern.contains('/');
    let stem = if strict && is_name {
        format!("**/{inner}")
    } else {
        format!("{root}{inner}")
    };
    if glob(&stem, &path) || ((strict || directory) && glob(&format!("{stem}/**"), &path)) {
        return true;
    }
    if !strict || !delete || is_name {
        return false;
    }
    // Deleting a directory deletes what is in it.
    let fixed: Vec<&str> = inner
        .split('/')
        .take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\']))
        .collect();
    let fixed = format!("{root}{}", fixed.join("/"));
    let everything = if absolute { "/" } else { "." };
    path == everything || path == fixed || fixed.starts_with(&format!("{path}/"))
}

/// `{a,b}` is either; `**` is any number of names; the rest stays inside one name.
fn glob(pattern: &str, path: &str) -> bool {
    if let Some((before, rest)) = pattern.split_once('{')
        && let Some((choices, after)) = rest.split_once('}')
    {
        return choices
            .split(',')
            .any(|choice| glob(&format!("{before}{choice}{after}"), path));
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    names(&pattern, &path)
}

fn names(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], path) => path.is_empty(),
        (["**"], path) => !path.is_empty(),
        (["**", rest @ ..], path) => (0..=path.len()).any(|skip| names(rest, &path[skip..])),
        (_, []) => false,
        ([first, rest @ ..], [name, path @ ..]) => {
            let (first, name): (Vec<char>, Vec<char>) =
                (first.chars().collect(), name.chars().collect());
            characters(&first, &name) && names(rest, path)
        }
    }
}

fn characters(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], name) => name.is_empty(),
        (['*', rest @ ..], name) => (0..=name.len()).any(|skip| characters(rest, &name[skip..])),
        (_, []) => false,
        (['?', rest @ ..], [_, name @ ..]) => characters(rest, name),
        (['\\', literal, rest @ ..], [c, name @ ..]) => literal == c && characters(rest, name),
        (['[', class @ ..], [c, name @ ..]) => {
            let Some(end) = class.iter().position(|c| *c == ']') else {
                return false;
            };
            let (class, rest) = (&class[..end], &class[end + 1..]);
            let fits = match class {
                ['!', others @ ..] => !others.contains(c),
                class => class.contains(c),
            };
            fits && characters(rest, name)
        }
        ([literal, rest @ ..], [c, name @ ..]) => literal == c && characters(rest, name),
    }
}

/// A host without its port, in lower case and without a last dot, and the port.
fn host(text: &str) -> (String, Option<&str>) {
    let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None if text.matches(':').count() == 1 => {
            let (name, port) = text.split_once(':').unwrap_or((text, ""));
            (name, Some(port))
        }
        None => (text, None),
    };
    (name.strip_suffix('.').unwrap_or(name).to_lowercase(), port)
}

fn host_fits(pattern: &str, told: &str, strict: bool) -> bool {
    let ((wanted, wanted_port), (name, port)) = (host(pattern), host(told));
    let name_fits = match wanted.strip_prefix('*') {
        Some("") => true,
        Some(end) => name.ends_with(end) && name != end,
        None => wanted == name,
    };
    name_fits && (wanted_port.is_none() || wanted_port == port || (port.is_none() && strict))
}

fn words_fit(pattern: &[WordPattern], words: &[String]) -> bool {
    let fits = |(wanted, word): (&WordPattern, &String)| match wanted {
        WordPattern::One(one) => one == word,
        WordPattern::Any(any) => any.contains(word),
    };
    words.len() >= pattern.len() && pattern.iter().zip(words).all(fits)
}

fn holds(condition: &Condition, call: &Question<'_>, strict: bool) -> bool {
    fn values<'v>(value: &'v Value, into: &mut Vec<&'v Value>) {
        match value {
            Value::Array(list) => list.iter().for_each(|value| values(value, into)),
            Value::Object(map) => map.values().for_each(|value| values(value, into)),
            single => into.push(single),
        }
    }
    let mut found = Vec::new();
    call.args
        .get(&condition.param)
        .into_iter()
        .for_each(|value| values(value, &mut found));
    let fits = |value: &&Value| {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        condition
            .value
            .list()
            .iter()
            .any(|wanted| match condition.operator {
                Operator::Equals => text == *wanted,
                Operator::Contains => text.contains(wanted),
                Operator::StartsWith => text.starts_with(wanted),
                // The expressions of this target are words with or without anchors.
                Operator::Matches => match (wanted.strip_prefix('^'), wanted.strip_suffix('$')) {
                    (Some(start), _) => text.starts_with(start),
                    (_, Some(end)) => text.ends_with(end),
                    _ => text.contains(wanted),
                },
            })
    };
    !found.is_empty()
        && if strict {
            found.iter().any(fits)
        } else {
            found.iter().all(fits)
        }
}
