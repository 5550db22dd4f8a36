//! Random small trees with links, random paths: the sandbox and a naive model agree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    missing_docs
)]

mod place;
mod reference;

use place::{METHODS, Place, options};
use proptest::prelude::*;
use reference::{Answer, Landing, Node, Tree};
use toolgate_model::ErrorKind;
use toolgate_sandbox::paths::{Failure, FileKind, PathError, PathSandbox};

/// Few names, so that links and paths meet often.
const NAMES: &[&str] = &[
    "a", "b", "c", "d.txt", ".ssh", ".ENV", "x.pem", ".git", "config", "hooks", ".vscode", "...",
];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(NAMES).prop_map(str::to_owned)
}

/// A path below something, up to four deep.
fn below() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    let step = prop_oneof![4 => name(), 2 => Just("..".to_owned()), 1 => Just(".".to_owned())];
    let relative = prop::collection::vec(step, 1..5).prop_map(|steps| steps.join("/"));
    prop_oneof![
        8 => relative.clone(),
        1 => relative.prop_map(|path| path + "/"),
        2 => below().prop_map(|path| format!("/ws/{path}")),
        1 => Just("/ws".to_owned()),
        1 => Just("/out/canary.txt".to_owned()),
        1 => Just("/out".to_owned()),
        1 => Just("/ws_evil/a".to_owned()),
        1 => below().prop_map(|path| format!("/ws/../out/{path}")),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        2 => Just(Node::Directory),
        3 => Just(Node::File),
        4 => target().prop_map(Node::Link),
    ]
}

/// Entries in random order; one that cannot be made because of an earlier one is left out.
fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::vec((below(), node()), 1..14).prop_map(|entries| {
        let mut tree = Tree::new();
        'entries: for (path, node) in entries {
            let path = format!("ws/{path}");
            for (at, _) in path.match_indices('/').skip(1) {
                match tree.get(&path[..at]) {
                    None => drop(tree.insert(path[..at].to_owned(), Node::Directory)),
                    Some(Node::Directory) => {}
                    Some(_) => continue 'entries,
                }
            }
            tree.entry(path).or_insert(node);
        }
        tree
    })
}

fn path() -> impl Strategy<Value = String> {
    let odd = prop_oneof![10 => name(), 1 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just(String::new())];
    (name(), prop::collection::vec(odd, 0..5)).prop_map(|(first, rest)| {
        std::iter::once(first)
            .chain(rest)
            .collect::<Vec<_>>()
            .join("/")
    })
}

fn build(place: &Place, tree: &Tree) {
    for (path, node) in tree {
        let at = place.top().join(path);
        match node {
            Node::Directory => std::fs::create_dir(&at).unwrap(),
            Node::File => std::fs::write(&at, path.strip_prefix("ws/").unwrap()).unwrap(),
            Node::Link(target) => {
                let target = match target.strip_prefix('/') {
                    Some(rest) => place
                        .top()
                        .join(rest)
                        .into_os_string()
                        .into_string()
                        .unwrap(),
                    None => target.clone(),
                };
                std::os::unix::fs::symlink(target, &at).unwrap();
            }
        }
    }
}

fn refusal(error: &PathError) -> Answer {
    match error {
        PathError::Failed {
            what: Failure::LinkLoop,
            ..
        } => Answer::Loop,
        PathError::NotAFile {
            kind: FileKind::Directory,
            ..
        } => Answer::Directory,
        other => match other.kind() {
            ErrorKind::OutsideSandbox => Answer::Outside,
            ErrorKind::DeniedPattern => Answer::Denied,
            ErrorKind::NotFound => Answer::Missing,
            ErrorKind::NotADirectory => Answer::NotDirectory,
            kind => panic!("{kind}: {other}"),
        },
    }
}

fn read(sandbox: &PathSandbox, path: &str) -> Answer {
    match place::read(sandbox, path) {
        Ok(content) => Answer::File(content),
        Err(error) => refusal(&error),
    }
}

fn write(sandbox: &PathSandbox, path: &str) -> Landing {
    match sandbox.stage(path, options(true)) {
        Ok(staged) => Landing::At(
            staged.path().to_str().unwrap().to_owned(),
            staged.replaces().is_some(),
        ),
        Err(PathError::Failed {
            what: Failure::DanglingLink,
            ..
        }) => Landing::Dangling,
        Err(PathError::Protected { .. }) => Landing::Protected,
        Err(error) => Landing::Refused(refusal(&error)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(512) })]

    #[test]
    fn reads_and_writes_go_where_the_model_says(
        tree in tree(),
        paths in prop::collection::vec(path(), 12),
    ) {
        let place = Place::in_memory();
        build(&place, &tree);
        let outside = place.outside();
        for method in METHODS {
            let sandbox = place.sandbox(method);
            for path in &paths {
                prop_assert_eq!(read(&sandbox, path), reference::read(&tree, path), "read {:?} {:?}", path, method);
                if path.split('/').next_back().is_some_and(|last| !matches!(last, "" | ".")) {
                    prop_assert_eq!(write(&sandbox, path), reference::write(&tree, path), "write {:?} {:?}", path, method);
                }
            }
        }
        prop_assert_eq!(place.outside(), outside);
        prop_assert!(place.leftovers().is_empty());
    }
}

#[test]
fn the_trees_reach_every_answer() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..4000 {
        let (tree, path) = (tree(), path()).new_tree(&mut runner).unwrap().current();
        let answer = format!("{:?}", reference::read(&tree, &path));
        seen.insert(answer.split('(').next().unwrap().to_owned());
        let landing = format!("{:?}", reference::write(&tree, &path));
        seen.insert(landing.split('(').next().unwrap().to_owned());
    }
    for wanted in [
        "Outside",
        "Denied",
        "Missing",
        "NotDirectory",
        "Loop",
        "Directory",
        "File",
        "Refused",
        "Protected",
        "Dangling",
        "At",
    ] {
        assert!(seen.contains(wanted), "{wanted} never came up: {seen:?}");
    }
}
