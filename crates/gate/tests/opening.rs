//! Directories beyond the roots: what is offered, what is opened, what stays open.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolgate_gate::approve::{Answer, Remember};
use toolgate_gate::journal::Record;
use toolgate_gate::tool::{Output, RunCtx, Tool, typed};
use toolgate_model::{Call, ErrorKind, NeededDirectory, Status};
use toolgate_sandbox::command::ExactDirectory;
use toolgate_testkit::{Bench, Rig, ScriptedApprover, asking, call, paused};

/// A tool that would need these directories, and says which it got.
fn needing() -> Bench {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Needs {
        directories: Vec<String>,
    }
    let tool = typed(
        "reach",
        "Needs directories.",
        |_: Needs, cx: RunCtx| async move {
            let names = cx
                .opened()
                .directories
                .iter()
                .map(|opened| base(&opened.directory.to));
            Ok(Output::plain(names.collect::<Vec<_>>().join(" ")))
        },
    )
    .opens(|args, _| {
        args.directories
            .iter()
            .filter_map(|name| needed(name))
            .collect()
    })
    .side_effects();
    Rig::new().tool(Arc::new(tool) as Arc<dyn Tool>).build()
}

fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}

fn needed(name: &str) -> Option<NeededDirectory> {
    let real = ExactDirectory::of(name.as_ref())?;
    Some(NeededDirectory {
        path: name.to_owned(),
        to: real.path.to_str()?.to_owned(),
        device: real.device,
        inode: real.inode,
    })
}

fn could_open(approver: &ScriptedApprover) -> Vec<String> {
    approver.asked()[0].items[0].could_open.clone()
}

/// Directories beyond the workspace.
struct Beyond(tempfile::TempDir);

impl Beyond {
    fn new(names: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        let directory = self.0.path().canonicalize().unwrap();
        directory.join(name).to_str().unwrap().to_owned()
    }

    /// Makes a link, in place of one that is there.
    fn link(&self, name: &str, to: &str) {
        let _ = std::fs::remove_file(self.path(name));
        std::os::unix::fs::symlink(self.path(to), self.path(name)).unwrap();
    }

    fn call(&self, id: &str, name: &str) -> Call {
        call(id, "reach", json!({"directories": [self.path(name)]}))
    }
}

#[test]
fn directories_are_opened_by_an_answer_that_says_so_to_the_calls_it_allows() {
    paused(async {
        let beyond = Beyond::new(&["a", "b", "c"]);
        let both = || vec![beyond.call("1", "a"), beyond.call("2", "b")];
        for (answer, contents, on_record, later) in [
            (Answer::yes(), ["", ""], ["", ""], ""),
            (Answer::yes().opening(), ["a", "b"], ["a", "b"], ""),
            (Answer::only(["2"]).opening(), ["-", "b"], ["", "b"], ""),
            (
                Answer::yes().remember(Remember::Conversation),
                ["", ""],
                ["", ""],
                "",
            ),
            (
                Answer::yes()
                    .opening()
                    .for_conversation()
                    .remember(Remember::Conversation),
                ["a b", "b a"],
                ["a", "b"],
                "a b",
            ),
        ] {
            let bench = needing();
            let results = bench.run_asked(both(), answer.clone()).await;
            let got = results.iter().map(|result| match result.status() {
                Status::Denied => "-",
                _ => result.content.as_str(),
            });
            assert_eq!(got.collect::<Vec<_>>(), contents, "{answer:?}");
            let entries = bench.journal.entries().into_iter();
            let opened = entries.filter_map(|entry| match entry.record {
                Record::Answered { opened, .. } => {
                    Some(opened.iter().map(|path| base(path)).collect::<String>())
                }
                _ => None,
            });
            assert_eq!(opened.collect::<Vec<_>>(), on_record, "{answer:?}");
            let next = bench
                .run_asked(vec![beyond.call("3", "c")], Answer::yes())
                .await;
            assert_eq!(next[0].content, later, "{answer:?}");
        }
    });
}

#[test]
fn a_directory_is_offered_by_its_real_name() {
    paused(async {
        let beyond = Beyond::new(&[
            "a",
            "home/.ssh/keys",
            "home/.config/gcloud",
            "my-secrets/x",
            "two words (a link leads to safe)",
        ]);
        beyond.link("l", "a");
        beyond.link("up", "home/.ssh/..");
        beyond.link("ssh", "home/.ssh");
        beyond.link("keys", "ssh/keys");
        beyond.link("cloud", "home/.config/gcloud");
        beyond.link("s", "my-secrets/x");
        let link = format!(
            "{} (a link leads to {})",
            beyond.path("l"),
            beyond.path("a")
        );
        let odd = "two words (a link leads to safe)";
        for (name, shown) in [
            ("a", vec![beyond.path("a")]),
            ("l", vec![link]),
            (odd, vec![format!("'{}'", beyond.path(odd))]),
            ("missing", vec![]),
            ("home/.ssh", vec![]),
            ("home/.ssh/keys", vec![]),
            ("ssh", vec![]),
            ("ssh/keys", vec![]),
            ("keys", vec![]),
            ("cloud", vec![]),
            ("s", vec![]),
        ] {
            let bench = needing();
            let approver = ScriptedApprover::new([Answer::yes().opening()]);
            let results = bench
                .run_through(vec![beyond.call("1", name)], &asking(approver.clone()))
                .await;
            assert_eq!(could_open(&approver), shown, "{name}");
            assert_eq!(results[0].content.is_empty(), shown.is_empty(), "{name}");
        }
    });
}

#[test]
fn a_directory_in_a_root_is_not_offered_under_another_name() {
    paused(async {
        let beyond = Beyond::new(&[]);
        let bench = needing();
        let inside = bench.workspace.path().join("sub");
        std::fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(bench.workspace.path(), beyond.path("alias")).unwrap();
        for name in ["alias", "alias/sub"] {
            let approver = ScriptedApprover::new([Answer::yes().opening()]);
            bench
                .run_through(vec![beyond.call(name, name)], &asking(approver.clone()))
                .await;
            assert!(could_open(&approver).is_empty(), "{name}");
        }
        // A link in the root is outside of it, under its own name and under the alias.
        std::fs::create_dir(beyond.path("other")).unwrap();
        std::os::unix::fs::symlink(beyond.path("other"), inside.join("docs")).unwrap();
        let approver = ScriptedApprover::new([Answer::no()]);
        let calls = vec![beyond.call("d", "alias/sub/docs")];
        bench.run_through(calls, &asking(approver.clone())).await;
        let shown = could_open(&approver).concat();
        assert!(
            shown.ends_with(&format!("leads to {})", beyond.path("other"))),
            "{shown}"
        );
    });
}

/// How a directory can be exchanged under its name.
type Exchange = fn(&Beyond);

const EXCHANGES: [(&str, Exchange); 4] = [
    ("the link leads elsewhere", |beyond| beyond.link("l", "b")),
    ("the directory was replaced", |beyond| {
        std::fs::rename(beyond.path("a"), beyond.path("old")).unwrap();
        std::fs::create_dir(beyond.path("a")).unwrap();
    }),
    ("a link stands in place of the directory", |beyond| {
        std::fs::rename(beyond.path("a"), beyond.path("old")).unwrap();
        beyond.link("a", "b");
    }),
    ("the directory is gone", |beyond| {
        std::fs::remove_dir(beyond.path("a")).unwrap();
    }),
];

#[test]
fn an_approval_ends_when_the_directory_is_exchanged_under_the_question() {
    paused(async {
        for (what, exchange) in EXCHANGES {
            let beyond = Arc::new(Beyond::new(&["a", "b"]));
            beyond.link("l", "a");
            let bench = needing();
            let (its, done) = (Arc::clone(&beyond), AtomicBool::new(false));
            let approver =
                ScriptedApprover::new([Answer::yes().opening(), Answer::no()]).before(move |_| {
                    if !done.swap(true, Ordering::Relaxed) {
                        exchange(&its);
                    }
                });
            let results = bench
                .run_through(vec![beyond.call("1", "l")], &asking(approver.clone()))
                .await;
            let asked = approver.asked();
            assert_eq!(asked.len(), 2, "{what}: asked again");
            assert_ne!(
                asked[0].items[0].plan_hash, asked[1].items[0].plan_hash,
                "{what}"
            );
            assert_ne!(asked[0].items[0].could_open, Vec::<String>::new(), "{what}");
            assert_eq!(results[0].kind(), Some(ErrorKind::UserDenied), "{what}");
        }
    });
}

#[test]
fn a_directory_that_is_exchanged_by_an_earlier_call_is_not_opened() {
    paused(async {
        for (what, exchange) in EXCHANGES {
            let beyond = Arc::new(Beyond::new(&["a", "b"]));
            beyond.link("l", "a");
            let its = Arc::clone(&beyond);
            #[derive(serde::Deserialize, schemars::JsonSchema)]
            struct Nothing {}
            let changes = typed("change", "Changes.", move |_: Nothing, _| {
                exchange(&its);
                async { Ok(Output::plain("")) }
            })
            .side_effects();
            #[derive(serde::Deserialize, schemars::JsonSchema)]
            struct Needs {
                directory: String,
            }
            let reach = typed(
                "reach",
                "Needs a directory.",
                |_: Needs, cx: RunCtx| async move {
                    Ok(Output::plain(format!(
                        "ran with {}",
                        cx.opened().directories.len()
                    )))
                },
            )
            .opens(|args, _| needed(&args.directory).into_iter().collect())
            .side_effects();
            let bench = Rig::new()
                .tool(Arc::new(changes) as Arc<dyn Tool>)
                .tool(Arc::new(reach) as Arc<dyn Tool>)
                .build();
            let calls = vec![
                call("1", "change", json!({})),
                call("2", "reach", json!({"directory": beyond.path("l")})),
            ];
            let results = bench.run_asked(calls, Answer::yes().opening()).await;
            assert_eq!(results[1].kind(), Some(ErrorKind::StaleFile), "{what}");
        }
    });
}

#[test]
fn nothing_that_led_through_a_link_stays_open() {
    paused(async {
        let beyond = Beyond::new(&["a", "b", "c"]);
        beyond.link("l", "b");
        let bench = needing();
        let answer = || {
            Answer::yes()
                .opening()
                .for_conversation()
                .remember(Remember::Conversation)
        };
        for name in ["a", "l"] {
            bench
                .run_asked(vec![beyond.call(name, name)], answer())
                .await;
        }
        let mut later = Vec::new();
        for id in ["x", "y"] {
            let result = bench
                .run_asked(vec![beyond.call(id, "c")], Answer::yes())
                .await;
            later.push(result[0].content.clone());
            // Another directory under a name that is open.
            let _ = std::fs::rename(beyond.path("a"), beyond.path("old"));
            beyond.link("a", "b");
        }
        assert_eq!(later, ["a", ""], "only what was named without a link");
    });
}
