//! Rules, questions and grants hold for the place to which a link leads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::approve::{Answer, GrantsInMemory, Remember};
use toolgate_gate::tool::Facts;
use toolgate_model::{Action, ErrorKind, Run};
use toolgate_policy::{RuleSpec, WordPattern};
use toolgate_testkit::{
    Bench, Rig, Scripted, ScriptedApprover, Workspace, asking, call, paused, states_facts,
};

const LINKS: [(&str, &str); 16] = [
    ("p", "private"),
    ("px", "private/x"),
    ("ppx", "px"),
    ("pp", "p"),
    ("m", "migrations"),
    ("one", "migrations/1.sql"),
    ("la", "askme"),
    ("lla", "./la"),
    ("free", "docs/free.txt"),
    ("docs/a.md", "../AGENTS.md"),
    ("docs/b.md", "../Agents.MD"),
    ("docs/m.md", "../Makefile"),
    ("docs/same.md", "free.txt"),
    ("docs/up", ".."),
    ("docs/deep", "../private/../docs/up/private"),
    ("out", "../elsewhere"),
];

fn workspace() -> Workspace {
    let workspace = Workspace::with(|rules| rules.allow_absolute = true);
    for file in [
        "private/x",
        "migrations/1.sql",
        "askme",
        "AGENTS.md",
        "Agents.MD",
        "Makefile",
        "docs/free.txt",
        "other/Makefile",
    ] {
        workspace.write(file, "text\n");
    }
    for (link, to) in LINKS {
        symlink(to, workspace.path().join(link)).unwrap();
    }
    workspace
}

fn rule(action: Action, reads: &[&str], changes: &[&str]) -> RuleSpec {
    let list = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|&p| p.to_owned()).collect();
        (!patterns.is_empty()).then_some(patterns)
    };
    let mut rule = RuleSpec::new("*", action);
    (rule.reads, rule.writes, rule.deletes) = (list(reads), list(changes), list(changes));
    rule
}

fn guarded() -> Rig {
    Rig::new()
        .workspace(workspace())
        .tool(states_facts("touch").side_effects())
        .tool(states_facts("look"))
        .rule(rule(Action::Deny, &["private/**"], &[]))
        .rule(rule(Action::Deny, &[], &["migrations/**"]))
        .rule(rule(Action::Ask, &[], &["askme"]))
}

#[test]
fn strict_rules_hold_for_the_real_name() {
    paused(async {
        let bench = guarded().rule(rule(Action::Allow, &[], &["**"])).build();
        let inside = |name: &str| {
            let root = bench.workspace.path().canonicalize().unwrap();
            root.join(name).to_string_lossy().into_owned()
        };
        let (denied, asks) = (Some(ErrorKind::PolicyDenied), Some(ErrorKind::NoApprover));
        for (tool, args, kind) in [
            ("look", json!({"reads": ["private/x"]}), denied),
            ("look", json!({"reads": ["p/x"]}), denied),
            ("look", json!({"reads": ["p"]}), denied),
            ("look", json!({"reads": ["px"]}), denied),
            ("look", json!({"reads": ["./px"]}), denied),
            ("look", json!({"reads": ["ppx"]}), denied),
            ("look", json!({"reads": ["pp/x"]}), denied),
            ("look", json!({"reads": ["docs/up/private/x"]}), denied),
            ("look", json!({"reads": ["docs/up/docs/up/p/x"]}), denied),
            ("look", json!({"reads": ["docs/deep/x"]}), denied),
            ("look", json!({"reads": ["docs/free.txt", "px"]}), denied),
            ("look", json!({"reads": [inside("private/x")]}), denied),
            ("look", json!({"reads": [inside("px")]}), denied),
            ("look", json!({"reads": ["free"]}), None),
            ("look", json!({"reads": ["m/1.sql"]}), None),
            ("touch", json!({"reads": ["px"], "writes": ["new"]}), denied),
            ("touch", json!({"writes": ["m/2.sql"]}), denied),
            ("touch", json!({"writes": ["m/new/2.sql"]}), denied),
            ("touch", json!({"writes": ["one"]}), denied),
            ("touch", json!({"writes": ["docs/up/m/1.sql"]}), denied),
            ("touch", json!({"deletes": ["m/1.sql"]}), denied),
            // Deleting a link removes the link only.
            ("touch", json!({"deletes": ["one"]}), None),
            ("touch", json!({"writes": ["la"]}), asks),
            ("touch", json!({"writes": ["lla"]}), asks),
            ("touch", json!({"writes": ["docs/up/askme"]}), asks),
            ("touch", json!({"writes": ["docs/a.md"]}), asks),
            ("touch", json!({"writes": ["docs/b.md"]}), asks),
            ("touch", json!({"writes": ["docs/up/CLAUDE.md"]}), asks),
            ("touch", json!({"writes": ["free"]}), None),
            ("touch", json!({"writes": ["docs/m.md"]}), None),
        ] {
            let result = bench.one(tool, args.clone()).await;
            assert_eq!(result.kind(), kind, "{tool} {args}: {}", result.content);
        }
    });
}

#[test]
fn an_allowed_name_does_not_allow_what_a_link_leads_to() {
    paused(async {
        let asks = Some(ErrorKind::NoApprover);
        let bench = guarded()
            .rule(rule(Action::Allow, &[], &["docs/**"]))
            .build();
        for (path, kind) in [
            ("docs/free.txt", None),
            ("docs/new.txt", None),
            ("docs/same.md", None),
            ("docs/up/docs/free.txt", None),
            ("docs/a.md", asks),
            ("docs/b.md", asks),
            ("docs/m.md", asks),
            ("docs/up/Makefile", asks),
            ("docs/up/build.rs", asks),
            ("docs/up/CLAUDE.md", asks),
            ("docs/up/new/dir/file", asks),
            ("docs/up/migrations/9.sql", Some(ErrorKind::PolicyDenied)),
        ] {
            let result = bench.one("touch", json!({"writes": [path]})).await;
            assert_eq!(result.kind(), kind, "{path}: {}", result.content);
        }
    });
}

#[test]
fn an_explanation_names_the_link_and_the_rule_of_its_place() {
    paused(async {
        let bench = guarded().build();
        let result = bench.one("look", json!({"reads": ["p/x"]})).await;
        let message = result.error.unwrap().message;
        assert!(message.contains("p/x leads to private/x"), "{message}");
        assert!(message.contains("private/**"), "{message}");
        let calls = vec![call("1", "look", json!({"reads": ["p/x"]}))];
        let planned = bench.gate.plan(&bench.session, calls).await;
        let record = planned.plans().next().unwrap().record().unwrap();
        let atoms = record.decision.atoms.iter();
        let atoms: Vec<_> = atoms.map(|atom| (&*atom.atom, atom.answer)).collect();
        assert!(atoms.contains(&("read p/x", Action::Allow)), "{atoms:?}");
        let real = ("read private/x (the real name)", Action::Deny);
        assert!(atoms.contains(&real), "{atoms:?}");
    });
}

#[test]
fn paths_that_a_command_claims_are_judged_by_their_real_names() {
    paused(async {
        for (path, kind) in [
            ("px", Some(ErrorKind::PolicyDenied)),
            ("p/x", Some(ErrorKind::PolicyDenied)),
            ("free", None),
        ] {
            let mut facts = Facts::reading(path);
            facts.claimed = true;
            facts.runs.push(Run {
                words: vec!["cat".into(), path.into()],
                opaque: false,
            });
            let mut cat = RuleSpec::new("run", Action::Allow);
            cat.command = Some(vec![WordPattern::One("cat".into())]);
            let bench = guarded()
                .rule(cat)
                .tool(Scripted::new("run").side_effects().facts(facts))
                .build();
            let result = bench.one("run", json!({})).await;
            assert_eq!(result.kind(), kind, "{path}: {}", result.content);
        }
    });
}

fn asked_about(writes: &str) -> Value {
    json!({ "writes": [writes] })
}

#[test]
fn a_question_shows_where_links_lead_and_offers_no_grant() {
    paused(async {
        let bench = guarded().build();
        for (path, to) in [
            ("docs/m.md", Some("Makefile")),
            ("docs/up/new.txt", Some("new.txt")),
            ("lla", Some("askme")),
            ("docs/free.txt", None),
        ] {
            let approver = ScriptedApprover::new([Answer::yes()]);
            let calls = vec![call("1", "touch", asked_about(path))];
            let results = bench.run_through(calls, &asking(approver.clone())).await;
            assert_eq!(results[0].kind(), None, "{path}");
            let item = &approver.asked()[0].items[0];
            let Some(to) = to else {
                assert!(!item.whole.contains("leads to"), "{item:?}");
                assert!(!item.would_remember.is_empty(), "{item:?}");
                continue;
            };
            let line = format!("link: {path} leads to {to}");
            assert!(item.whole.lines().any(|one| one == line), "{item:?}");
            assert!(item.summary.contains(&line), "{item:?}");
            assert!(item.locations.iter().any(|one| one == to), "{item:?}");
            assert!(item.would_remember.is_empty(), "{item:?}");
        }
    });
}

fn point(root: &Path, link: &str, to: &str) {
    std::fs::remove_file(root.join(link)).unwrap();
    symlink(to, root.join(link)).unwrap();
}

async fn kind_without_approver(bench: &Bench, path: &str) -> Option<ErrorKind> {
    bench.one("touch", asked_about(path)).await.kind()
}

#[test]
fn a_grant_for_a_name_ends_where_the_name_becomes_a_link() {
    paused(async {
        for remember in [Remember::Conversation, Remember::Project] {
            let bench = guarded()
                .grants(Arc::new(GrantsInMemory::default()))
                .build();
            let root = bench.workspace.path().to_owned();
            let always = || Answer::yes().remember(remember);
            let calls = |path| vec![call("1", "touch", asked_about(path))];
            bench.run_asked(calls("docs/free.txt"), always()).await;
            assert_eq!(kind_without_approver(&bench, "docs/free.txt").await, None);
            let asks = Some(ErrorKind::NoApprover);
            // Through a link nothing is remembered.
            bench.run_asked(calls("docs/m.md"), always()).await;
            assert_eq!(kind_without_approver(&bench, "docs/m.md").await, asks);
            point(&root, "docs/free.txt", "../Makefile");
            assert_eq!(kind_without_approver(&bench, "docs/free.txt").await, asks);
        }
    });
}

#[test]
fn a_link_that_changes_while_the_question_is_open_is_asked_again() {
    paused(async {
        // The path, and a change after the question is shown.
        type Change = fn(&Path);
        let changes: [(&str, Change, &str); 3] = [
            (
                "docs/m.md",
                |root| point(root, "docs/m.md", "../other/Makefile"),
                "other/Makefile",
            ),
            (
                "docs/new.txt",
                |root| {
                    std::fs::rename(root.join("docs"), root.join("old")).unwrap();
                    symlink("other", root.join("docs")).unwrap();
                },
                "other/new.txt",
            ),
            (
                "docs/free.txt",
                |root| point(root, "docs/free.txt", "../Makefile"),
                "Makefile",
            ),
        ];
        for (path, change, to) in changes {
            let bench = guarded().build();
            let root = bench.workspace.path().to_owned();
            let turn = std::sync::atomic::AtomicUsize::new(0);
            let replies = [Answer::yes(), Answer::no()];
            let approver = ScriptedApprover::new(replies).before(move |_| {
                if turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                    change(&root);
                }
            });
            let calls = vec![call("1", "touch", asked_about(path))];
            let results = bench.run_through(calls, &asking(approver.clone())).await;
            assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied), "{path}");
            let asked = approver.asked();
            assert_eq!(asked.len(), 2, "{path}");
            let (first, second) = (&asked[0].items[0], &asked[1].items[0]);
            let line = format!("link: {path} leads to {to}");
            assert!(second.whole.contains(&line), "{second:?}");
            assert_ne!(first.plan_hash, second.plan_hash);
        }
    });
}

#[test]
fn a_link_made_by_an_earlier_call_of_the_batch_is_not_followed_unchecked() {
    paused(async {
        let workspace = workspace();
        let root = workspace.path().to_owned();
        let bench = Rig::new()
            .workspace(workspace)
            .tool(states_facts("look"))
            .tool(states_facts("touch").side_effects())
            .rule(rule(Action::Deny, &["private/**"], &[]))
            .rule(rule(Action::Allow, &[], &["docs/**"]))
            .build();
        let planned = bench
            .gate
            .plan(
                &bench.session,
                vec![
                    call("1", "look", json!({"reads": ["docs/later/x"]})),
                    call("2", "touch", asked_about("docs/fresh/x")),
                    call("3", "look", json!({"reads": ["docs/free.txt"]})),
                ],
            )
            .await;
        symlink("../private", root.join("docs/later")).unwrap();
        symlink("../other", root.join("docs/fresh")).unwrap();
        let passage = toolgate_gate::BatchContext::default();
        let ready = bench.gate.approve(&bench.session, planned, &passage).await;
        let results = bench.gate.execute(&bench.session, ready, &passage).await;
        let kinds: Vec<_> = results.iter().map(|result| result.kind()).collect();
        let stale = Some(ErrorKind::StaleFile);
        assert_eq!(kinds, [stale, stale, None]);
    });
}
