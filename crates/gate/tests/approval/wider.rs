//! Answers wider than a call: kinds of calls, networks, what is restored and what is revoked.

use std::sync::Arc;

use serde_json::json;
use toolgate_gate::approve::{Answer, CallKind, Remember};
use toolgate_gate::journal::{Lasting, Record};
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Output, RunCtx, Tool, typed};
use toolgate_model::{
    Action, Call, Category, ErrorKind, Facts, NetworkAccess, OpenedDirectory, Openings, Run,
};
use toolgate_policy::RuleSpec;
use toolgate_testkit::{Bench, Rig, ScriptedApprover, asking, call, paused, states_facts};

/// File tools, a tool for commands, and one of neither kind.
fn all_kinds(session: &str) -> Bench {
    let of = |name: &str, category: Category| {
        states_facts(name)
            .side_effects()
            .spec(move |spec| spec.category = category)
    };
    Rig::new()
        .tool(of("write", Category::File))
        .tool(of("edit", Category::File))
        .tool(runs())
        .tool(of("fetch", Category::Search))
        .settings(|settings| settings.command_sandbox = true)
        .session(Session::new(session))
        .build()
}

fn write(tool: &str, path: &str) -> Call {
    call(path, tool, json!({"writes": [path]}))
}

fn command(id: &str) -> Call {
    connect(id, None)
}

fn fetch() -> Call {
    call("f", "fetch", json!({"connects": ["example.com"]}))
}

async fn is_allowed(bench: &Bench, call: Call) -> bool {
    match bench.run(vec![call]).await[0].kind() {
        None => true,
        Some(ErrorKind::NoApprover) => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_yes_to_a_kind_of_calls_allows_that_kind_in_this_conversation_only() {
    paused(async {
        for (remember, asked, same, other) in [
            (
                Remember::Edits,
                write("write", "a"),
                write("edit", "b"),
                command("c"),
            ),
            (
                Remember::Commands,
                command("a"),
                command("b"),
                write("write", "c"),
            ),
        ] {
            let bench = all_kinds("one");
            let approver = ScriptedApprover::new([Answer::yes().remember(remember)]);
            let context = asking(approver.clone());
            assert_eq!(
                bench.run_through(vec![asked], &context).await[0].kind(),
                None
            );
            let kind = remember.kind().unwrap();
            assert!(approver.asked()[0].items[0].could_allow.contains(&kind));
            assert!(is_allowed(&bench, same.clone()).await, "{remember:?}");
            for call in [other, fetch()] {
                assert!(!is_allowed(&bench, call).await, "{remember:?}");
            }
            let stranger = all_kinds("two");
            assert!(!is_allowed(&stranger, same.clone()).await, "{remember:?}");
            // A resumed conversation takes it up, and what was revoked is asked about again.
            let lasting = bench.session.lasting();
            stranger.session.restore(lasting.clone());
            stranger.session.restore(lasting.clone());
            assert_eq!(stranger.session.lasting(), lasting);
            assert!(is_allowed(&stranger, same.clone()).await, "{remember:?}");
            bench
                .gate
                .revoke(&bench.session, lasting, "terminal")
                .await
                .unwrap();
            assert!(!is_allowed(&bench, same).await, "{remember:?}");
            let mut entries = bench.journal.entries().into_iter();
            let revoked = entries.find_map(|entry| match entry.record {
                Record::Revoked { revoked, by } => Some((entry.call, revoked, by)),
                _ => None,
            });
            let (call, revoked, by) = revoked.unwrap();
            assert_eq!((call.as_str(), by.as_str()), ("", "terminal"));
            assert!(!revoked.grants.is_empty());
        }
    });
}

#[test]
fn a_kind_is_offered_only_to_calls_of_it() {
    paused(async {
        for (call, kinds) in [
            (write("write", "a"), vec![CallKind::Edits]),
            (command("a"), vec![CallKind::Commands]),
            (fetch(), vec![]),
            (write("write", ".git/config"), vec![]),
        ] {
            let bench = all_kinds("one");
            let approver = ScriptedApprover::new([Answer::yes().remember(Remember::Edits)]);
            let results = bench
                .run_through(vec![call], &asking(approver.clone()))
                .await;
            let asked = approver.asked();
            let offered = asked
                .first()
                .map(|asked| asked.items[0].could_allow.clone());
            assert_eq!(offered.unwrap_or_default(), kinds, "{results:?}");
            let saved = !bench.session.grants().is_empty();
            assert_eq!(saved, kinds == [CallKind::Edits], "{results:?}");
        }
    });
}

/// A command that says which network it got.
fn runs() -> Arc<dyn Tool> {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Connect {
        host: Option<String>,
    }
    let tool = typed("run", "Connects.", |_: Connect, cx: RunCtx| async move {
        let network = cx.opened().network;
        Ok(Output::plain(
            network.map_or("closed", NetworkAccess::as_str),
        ))
    })
    .facts(|args| Facts {
        runs: vec![Run {
            words: vec!["any".into()],
            opaque: true,
        }],
        connects: args.host.iter().cloned().collect(),
        claimed: true,
        complete: false,
        ..Facts::none()
    })
    .could_connect(|_| vec![NetworkAccess::Loopback, NetworkAccess::On])
    .category(Category::Exec)
    .side_effects();
    Arc::new(tool)
}

/// A gate that allows commands where the network is closed, and asks about one host.
fn networking() -> Bench {
    Rig::new()
        .tool(runs())
        .rules(|rules| {
            rules.settings.trust = toolgate_policy::Trust::Autonomous;
        })
        .rule(RuleSpec {
            connects: Some(vec!["example.com".into()]),
            ..RuleSpec::new("run", Action::Ask)
        })
        .settings(|settings| {
            settings.command_sandbox = true;
            settings.network_closed = true;
        })
        .build()
}

fn connect(id: &str, host: Option<&str>) -> Call {
    let args = match host {
        Some(host) => json!({"host": host}),
        None => json!({}),
    };
    call(id, "run", args)
}

#[test]
fn a_network_is_opened_only_to_calls_that_policy_saw_with_it() {
    paused(async {
        for (answer, first, later) in [
            (Answer::yes(), "closed", "closed"),
            (Answer::yes().connecting(NetworkAccess::On), "on", "closed"),
            (
                Answer::yes()
                    .connecting(NetworkAccess::Loopback)
                    .for_conversation(),
                "loopback",
                "loopback",
            ),
        ] {
            let bench = networking();
            // Policy allowed the second because its network is closed. The answer to the first
            // does not open it in the same batch.
            let batch = vec![connect("1", Some("example.com")), connect("2", None)];
            let approver = ScriptedApprover::new([answer.clone()]);
            let results = bench.run_through(batch, &asking(approver.clone())).await;
            assert_eq!(approver.asked()[0].items.len(), 1, "{results:?}");
            assert_eq!(results[0].content, first, "{answer:?}");
            assert_eq!(results[1].content, "closed", "{answer:?}");
            let next = bench.run(vec![connect("3", None)]).await;
            assert_eq!(next[0].content, later, "{answer:?}");
        }
        // With the network on, what is not known before it runs is asked about again.
        let bench = networking();
        let open = Answer::yes()
            .connecting(NetworkAccess::On)
            .for_conversation();
        let batch = vec![connect("1", Some("example.com")), connect("2", None)];
        let results = bench.run_asked(batch, open).await;
        assert_eq!(results[0].content, "on");
        assert_eq!(results[1].content, "closed");
        assert!(!is_allowed(&bench, connect("3", None)).await);
        let network = Lasting {
            opened: Openings {
                network: Some(NetworkAccess::On),
                ..Openings::default()
            },
            ..Lasting::default()
        };
        bench
            .gate
            .revoke(&bench.session, network, "terminal")
            .await
            .unwrap();
        let closed = bench.run(vec![connect("4", None)]).await;
        assert_eq!(closed[0].content, "closed");
    });
}

#[test]
fn an_opening_is_added_and_removed_by_the_identity_of_its_directory() {
    let directory = |name: &str, inode: u64, access| OpenedDirectory {
        directory: toolgate_model::NeededDirectory {
            path: name.into(),
            to: name.into(),
            device: 1,
            inode,
        },
        access,
    };
    use toolgate_model::DirectoryAccess::{Read, Write};
    let only = |directory| Openings {
        directories: vec![directory],
        network: None,
    };
    let mut open = only(directory("/a", 1, Read));
    open.add(&only(directory("/a", 2, Read)));
    open.add(&only(directory("/a", 1, Write)));
    assert_eq!(open.in_words(), ["/a (for writing)", "/a"]);
    // Revoking for reading closes it for writing too.
    open.remove(&only(directory("/a", 1, Read)));
    assert_eq!(open.in_words(), ["/a"]);
    open.network = Some(NetworkAccess::On);
    open.remove(&Openings {
        network: Some(NetworkAccess::Loopback),
        ..Openings::default()
    });
    assert_eq!(open.network, None);
}
