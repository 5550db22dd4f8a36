//! The path sandbox: in any tree with links, every path is read and written where a model
//! without a file system says, by either method; and whatever bytes a path is made of,
//! nothing outside is read, nothing is changed before a commit, nothing is left behind.
#![no_main]

#[path = "../../crates/sandbox/tests/place/mod.rs"]
mod place;
#[path = "../../crates/sandbox/tests/reference/mod.rs"]
mod reference;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use place::{CANARY, METHODS, Place, options};
use reference::{Answer, Landing, Node, Tree};
use toolgate_model::ErrorKind;
use toolgate_sandbox::paths::{Failure, FileKind, PathError, PathSandbox};

/// Few names, so that links and paths meet often; the model knows which are denied.
const NAMES: &[&str] = &[
    "a", "b", "c", "d.txt", ".ssh", ".ENV", "x.pem", ".git", "config", "hooks", ".vscode", "...",
    "é", "a b", "-",
];

fuzz_target!(|input: &[u8]| -> Corpus {
    match sandboxes_stand(&mut Unstructured::new(input)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});

fn sandboxes_stand(u: &mut Unstructured<'_>) -> Result<()> {
    let tree = tree(u)?;
    let paths = (0..6).map(|_| path(u)).collect::<Result<Vec<String>>>()?;
    let place = Place::in_memory();
    build(&place, &tree);
    let outside = (place.outside(), place.stamps());
    let sandboxes = METHODS.map(|method| place.sandbox(method));
    for (sandbox, path) in sandboxes
        .iter()
        .flat_map(|sandbox| paths.iter().map(move |path| (sandbox, path)))
    {
        let told = || format!("{path:?} by {:?} in {tree:#?}", sandbox.method());
        assert_eq!(
            read(sandbox, path),
            reference::read(&tree, path),
            "reading {}",
            told()
        );
        if path
            .split('/')
            .next_back()
            .is_some_and(|last| !matches!(last, "" | "."))
        {
            assert_eq!(
                write(sandbox, path),
                reference::write(&tree, path),
                "writing {}",
                told()
            );
        }
    }
    any_bytes(&sandboxes, Path::new(OsStr::from_bytes(u.bytes(u.len())?)));
    assert_eq!((place.outside(), place.stamps()), outside);
    assert!(place.leftovers().is_empty());
    Ok(())
}

/// Both methods say the same about a path of any bytes, and neither reads what is outside.
fn any_bytes(sandboxes: &[PathSandbox], path: &Path) {
    let answers = sandboxes.iter().map(|sandbox| {
        let read = sandbox
            .open_read(path)
            .and_then(|mut file| file.read_all(1 << 20));
        let staged = sandbox
            .stage(path, options(true))
            .map(|staged| staged.path().to_path_buf());
        (read, staged)
    });
    let answers: Vec<_> = answers.collect();
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{path:?}: {answers:#?}"
    );
    assert!(
        answers
            .iter()
            .all(|(read, _)| !matches!(read, Ok(bytes) if bytes == CANARY.as_bytes()))
    );
}

fn name(u: &mut Unstructured<'_>) -> Result<&'static str> {
    u.choose(NAMES).copied()
}

/// A path below something, up to three deep.
fn below(u: &mut Unstructured<'_>) -> Result<String> {
    let names = (0..u.int_in_range(1..=3)?).map(|_| name(u));
    Ok(names.collect::<Result<Vec<_>>>()?.join("/"))
}

/// Entries in any order; one that cannot be made because of an earlier one is left out.
fn tree(u: &mut Unstructured<'_>) -> Result<Tree> {
    let mut tree = Tree::new();
    'entries: for _ in 0..u.int_in_range(1..=14)? {
        let path = format!("ws/{}", below(u)?);
        let node = match u.int_in_range(0..=8)? {
            0 | 1 => Node::Directory,
            2..=4 => Node::File,
            _ => Node::Link(target(u)?),
        };
        for (at, _) in path.match_indices('/').skip(1) {
            match tree.get(&path[..at]) {
                None => drop(tree.insert(path[..at].to_owned(), Node::Directory)),
                Some(Node::Directory) => {}
                Some(_) => continue 'entries,
            }
        }
        tree.entry(path).or_insert(node);
    }
    Ok(tree)
}

fn target(u: &mut Unstructured<'_>) -> Result<String> {
    let steps = (0..u.int_in_range(1..=4)?).map(|_| match u.int_in_range(0..=6)? {
        0 | 1 => Ok(".."),
        2 => Ok("."),
        _ => name(u),
    });
    let relative = steps.collect::<Result<Vec<_>>>()?.join("/");
    Ok(match u.int_in_range(0..=14)? {
        0 => relative + "/",
        1 => relative.replace('/', "//"),
        2 => format!("/ws/{relative}"),
        3 => "/ws".to_owned(),
        4 => "/ws/".to_owned(),
        5 => "/out/canary.txt".to_owned(),
        6 => "/out".to_owned(),
        7 => "/ws_evil/a".to_owned(),
        8 => format!("/ws/../out/{relative}"),
        _ => relative,
    })
}

fn path(u: &mut Unstructured<'_>) -> Result<String> {
    let mut path = name(u)?.to_owned();
    for _ in 0..u.int_in_range(0..=4)? {
        path.push('/');
        path.push_str(match u.int_in_range(0..=12)? {
            0 => "..",
            1 => ".",
            2 => "",
            _ => name(u)?,
        });
    }
    Ok(path)
}

fn build(place: &Place, tree: &Tree) {
    let top = place.top();
    for (path, node) in tree {
        let at = top.join(path);
        match node {
            Node::Directory => std::fs::create_dir(&at).expect("a directory"),
            Node::File => {
                std::fs::write(&at, path.strip_prefix("ws/").unwrap_or(path)).expect("a file")
            }
            Node::Link(target) => {
                let absolute = |rest| top.join("").to_string_lossy().into_owned() + rest;
                let target = target
                    .strip_prefix('/')
                    .map_or_else(|| target.clone(), absolute);
                std::os::unix::fs::symlink(target, &at).expect("a link");
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
            staged.path().to_string_lossy().into_owned(),
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
