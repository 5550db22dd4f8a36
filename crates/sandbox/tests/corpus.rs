//! Many paths, one line each, against both ways of resolving.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod place;

use std::path::Path;

use place::{CANARY, METHODS, Place, WRITTEN, content_of, read, write};
use serde::Deserialize;
use toolgate_model::Access;
use toolgate_sandbox::paths::{Method, PathError, PathRules, PathSandbox, RootAccess, RootRule};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    op: String,
    path: String,
    #[serde(default)]
    to: String,
    expect: String,
    why: String,
    #[serde(default)]
    tree: Vec<String>,
    #[serde(default)]
    rules: Rules,
    #[serde(default)]
    literal: bool,
    /// Where a write has to end up.
    lands: Option<String>,
    /// A link that has to be one still.
    link_stays: Option<String>,
    #[serde(default)]
    untouched: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rules {
    roots: Vec<(String, String)>,
    allow_absolute: bool,
    include_default_denies: Option<bool>,
    denied_patterns: Vec<String>,
    protected_paths: Vec<String>,
    named: Vec<String>,
}

impl Rules {
    fn apply(&self, place: &Place, rules: &mut PathRules) {
        if !self.roots.is_empty() {
            rules.roots = self
                .roots
                .iter()
                .map(|(path, access)| RootRule {
                    path: place.top().join(path),
                    access: match access.as_str() {
                        "write" => RootAccess::ReadWrite,
                        _ => RootAccess::ReadOnly,
                    },
                })
                .collect();
        }
        rules.allow_absolute = self.allow_absolute;
        rules.include_default_denies = self.include_default_denies.unwrap_or(true);
        rules.denied_patterns.clone_from(&self.denied_patterns);
        rules.protected_paths.clone_from(&self.protected_paths);
        rules.named = self.named.iter().map(Into::into).collect();
    }
}

fn cases() -> Vec<Case> {
    include_str!("data/sandbox.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn run(sandbox: &PathSandbox, case: &Case, path: &str, to: &str) -> Result<String, PathError> {
    match case.op.as_str() {
        "read" => read(sandbox, path),
        "write" => write(sandbox, path, true).map(|_| String::new()),
        "create" => write(sandbox, path, false).map(|_| String::new()),
        "delete" => sandbox.delete(path).map(|_| String::new()),
        "rename" => sandbox.rename(path, to, false).map(|_| String::new()),
        "list" => Ok(sandbox
            .read_dir(path)?
            .iter()
            .map(|entry| entry.name.to_string_lossy())
            .collect::<Vec<_>>()
            .join("\n")),
        other => panic!("{other}"),
    }
}

fn access(op: &str) -> Access {
    match op {
        "read" | "list" => Access::Read,
        "delete" => Access::Delete,
        _ => Access::Write,
    }
}

fn check(case: &Case, method: Method) -> Result<(), String> {
    let place = Place::in_memory();
    for line in &case.tree {
        place.make(line);
    }
    let outside = place.outside();
    let sandbox = place.sandbox_with(method, |rules| case.rules.apply(&place, rules));
    let fill = |text: &str| {
        if case.literal {
            text.to_owned()
        } else {
            place.fill(text)
        }
    };
    let (path, to) = (fill(&case.path), fill(&case.to));

    // Planning and doing must not differ, where they can be compared.
    let ahead = sandbox.preflight(&path, access(&case.op));
    let answer = run(&sandbox, case, &path, &to);
    let got = answer.as_ref().map_or_else(|e| e.kind().as_str(), |_| "ok");
    let message = answer.as_ref().err().map(ToString::to_string);
    if got != case.expect {
        return Err(format!("got {got}: {message:?}"));
    }
    let comparable = matches!(case.op.as_str(), "write" | "delete")
        || (case.op == "read" && got != "not_a_file");
    if comparable {
        let planned = ahead.as_ref().map_or_else(|e| e.kind().as_str(), |_| "ok");
        if planned != got {
            return Err(format!("planned {planned}, got {got}"));
        }
    }
    if place.outside() != outside {
        return Err("the outside was touched".to_owned());
    }
    if !place.leftovers().is_empty() {
        return Err(format!("left behind: {:?}", place.leftovers()));
    }
    if let Ok(content) = &answer {
        if content.contains(CANARY.trim()) {
            return Err("the canary was read".to_owned());
        }
        if case.op == "read" && !content.starts_with("ok-content") {
            return Err(format!("read {content:?}"));
        }
    }
    if let Some(lands) = &case.lands {
        let content = std::fs::read_to_string(place.ws().join(lands)).unwrap_or_default();
        let wanted = if case.op == "rename" {
            content_of(&case.path)
        } else {
            WRITTEN.to_owned()
        };
        if content != wanted {
            return Err(format!("{lands} holds {content:?}"));
        }
    }
    if let Some(link) = &case.link_stays
        && !place.ws().join(link).is_symlink()
    {
        return Err("the link is no link any more".to_owned());
    }
    for name in &case.untouched {
        let content = std::fs::read_to_string(place.ws().join(name)).unwrap_or_default();
        if content != content_of(name) {
            return Err(format!("{name} holds {content:?}"));
        }
    }
    for name in &case.absent {
        if place.ws().join(name).symlink_metadata().is_ok() {
            return Err(format!("{name} exists"));
        }
    }
    Ok(())
}

#[test]
fn every_line_of_the_corpus_is_answered_as_it_says() {
    let cases = cases();
    assert!(cases.len() >= 150, "the corpus is there: {}", cases.len());
    let mut wrong = Vec::new();
    for method in METHODS {
        for case in &cases {
            if let Err(what) = check(case, method) {
                wrong.push(format!("{} ({method:?}, {}): {what}", case.id, case.why));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn names_in_the_corpus_that_are_denied_never_appear_in_a_listing_or_a_walk() {
    use toolgate_sandbox::paths::{Flow, Visit, WalkOptions};
    let options = WalkOptions {
        hidden: true,
        ignored: true,
        ..WalkOptions::default()
    };
    for case in cases()
        .iter()
        .filter(|c| c.id.starts_with("D-") && c.id.ends_with("-read") && c.expect != "ok")
    {
        let place = Place::in_memory();
        for line in &case.tree {
            place.make(line);
        }
        let sandbox = place.sandbox(Method::Kernel);
        sandbox
            .walk(".", &options, &mut |visit| {
                if let Visit::Entry(entry) = visit {
                    assert_ne!(entry.path, Path::new(&case.path), "{}", case.id);
                }
                Flow::Continue
            })
            .unwrap();
        let directory = Path::new(&case.path)
            .parent()
            .filter(|f| !f.as_os_str().is_empty());
        let name = Path::new(&case.path).file_name().unwrap();
        if let Ok(entries) = sandbox.read_dir(directory.unwrap_or(Path::new("."))) {
            assert!(
                entries.iter().all(|entry| entry.name != name),
                "{}",
                case.id
            );
        }
    }
}
