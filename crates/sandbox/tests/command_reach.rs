//! Why a command cannot use a path, and which configuration opens it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;

use toolgate_model::Access;
use toolgate_sandbox::command::{Barrier, Grant, Level, Reach, Remedy, SandboxRules};
use toolgate_sandbox::paths::{RootAccess, RootRule};
use toolgate_sandbox::{PathRules, PathSandbox};

const READ: Access = Access::Read;
const WRITE: Access = Access::Write;

struct Place {
    directory: tempfile::TempDir,
    rules: SandboxRules,
}

/// A root `ws`, a read-only root `docs` and three grants.
fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for name in ["ws/src", "ws/.git/hooks", "docs", "other"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    std::fs::write(at("ws/.git/HEAD"), "").unwrap();
    for (link, target) in [("out", "/data/x/y"), ("up", "../other"), ("round", "round")] {
        std::os::unix::fs::symlink(target, at("ws").join(link)).unwrap();
    }
    let mut paths = PathRules::new(at("ws"));
    paths.roots.push(RootRule {
        path: at("docs"),
        access: RootAccess::ReadOnly,
    });
    let mut rules = SandboxRules::new(PathSandbox::open(&paths).unwrap());
    let grant = |path: &str, access| Grant {
        path: path.into(),
        access,
    };
    rules.grants = vec![
        grant("/srv/cache", RootAccess::ReadOnly),
        grant("/srv/cache/own", RootAccess::ReadWrite),
    ];
    Place { directory, rules }
}

fn told(reach: &Reach, path: &Path, access: Access) -> String {
    let Some(denial) = reach.explains(path, access) else {
        return "open".to_owned();
    };
    let why = match &denial.why {
        Barrier::Outside => "outside".to_owned(),
        Barrier::Private => "private".to_owned(),
        Barrier::ReadOnly => "read-only".to_owned(),
        Barrier::Own => "own".to_owned(),
        Barrier::Hidden { rule } => format!("hidden by {rule}"),
        Barrier::Protected { rule } => format!("protected by {rule}"),
    };
    match denial.remedy {
        Some(Remedy::Rule { text }) => {
            let (rule, names) = text.rsplit_once('\n').unwrap();
            assert_eq!(rule, "[[tools.rules]]\ntool = \"*\"\naction = \"ask\"");
            format!("{why}; {names}")
        }
        Some(remedy) => format!("{why}; {remedy}"),
        None => why,
    }
}

#[test]
fn each_path_is_reported_with_the_line_that_opens_it() {
    let place = place();
    let reach = place.rules.reach(Level::Namespaces, &[]);
    let write = |path: &str| format!("grants = [{{ path = \"{path}\", access = \"write\" }}]");
    let cases = [
        // In the workspace.
        ("src/main.rs", READ, "open".to_owned()),
        ("src/main.rs", WRITE, "open".to_owned()),
        (
            ".env",
            READ,
            "hidden by .env; reads = [\".env\"]".to_owned(),
        ),
        (
            "src/../.env",
            READ,
            "hidden by .env; reads = [\".env\"]".to_owned(),
        ),
        (".git/config", READ, "open".to_owned()),
        (".git/index", WRITE, "open".to_owned()),
        (
            ".git/hooks/pre-commit",
            WRITE,
            format!("protected by **/.git/**/hooks; {}", write(".git/hooks")),
        ),
        (
            ".vscode/tasks.json",
            WRITE,
            format!("protected by .vscode; {}", write(".vscode")),
        ),
        // Through links.
        (
            "out/file.txt",
            READ,
            "outside; grants = [\"/data/x/y\"]".to_owned(),
        ),
        // Beyond.
        ("/usr/lib/x", READ, "open".to_owned()),
        ("/usr/lib/x", WRITE, "read-only".to_owned()),
        (
            "/proc/sys/kernel/core_pattern",
            WRITE,
            "read-only".to_owned(),
        ),
        ("/dev/null", WRITE, "open".to_owned()),
        ("/dev/sda", READ, "outside".to_owned()),
        ("/sys/kernel", READ, "outside".to_owned()),
        ("/", READ, "open".to_owned()),
        (
            "/tmp/kept/f",
            READ,
            "private; grants = [\"/tmp/kept\"]".to_owned(),
        ),
        ("/tmp/f", WRITE, "open".to_owned()),
        ("/run/home/f", WRITE, "open".to_owned()),
        ("/run/home/x", READ, "private".to_owned()),
        (
            "/home/ann/.cargo/registry/index/x",
            READ,
            "outside; grants = [\"/home/ann/.cargo/registry\"]".to_owned(),
        ),
        (
            "/home/ann/notes",
            READ,
            "outside; grants = [\"/home/ann/notes\"]".to_owned(),
        ),
        ("/home/ann", READ, "outside".to_owned()),
        (
            "/data/set/a.csv",
            READ,
            "outside; grants = [\"/data/set\"]".to_owned(),
        ),
        (
            "/data/set/a.csv",
            WRITE,
            format!("outside; {}", write("/data/set")),
        ),
        ("/home/ann/.ssh/id_rsa", READ, "hidden by .ssh".to_owned()),
        (
            "/data/s\"t/a.csv",
            READ,
            "outside; grants = [\"/data/s\\\"t\"]".to_owned(),
        ),
        // Grants.
        ("/srv/cache/f", READ, "open".to_owned()),
        (
            "/srv/cache/f",
            WRITE,
            format!("read-only; {}", write("/srv/cache")),
        ),
        ("/srv/cache/own/f", WRITE, "open".to_owned()),
        (
            "/srv/cache/own/.env",
            READ,
            "hidden by .env; reads = [\"/srv/cache/own/.env\"]".to_owned(),
        ),
        (
            "/srv/cached",
            READ,
            "outside; grants = [\"/srv/cached\"]".to_owned(),
        ),
    ];
    let ws = place.directory.path().join("ws");
    for (path, access, expected) in cases {
        // Grants in temporary directories would be named like this, too.
        let said = told(&reach, &ws.join(path), access);
        assert_eq!(said, expected, "{access:?} {path}");
    }
    let docs = place.directory.path().join("docs/a");
    assert_eq!(told(&reach, &docs, WRITE), "read-only");
    assert_eq!(told(&reach, Path::new("relative"), READ), "open");
    assert_eq!(
        told(&reach, &ws.join("round/x"), READ),
        "open",
        "an endless link"
    );
    let sibling = told(&reach, &ws.join("up/file"), READ);
    let other = place.directory.path().join("other");
    assert_eq!(
        sibling,
        format!("private; grants = [\"{}\"]", other.display())
    );
}

#[test]
fn a_path_that_the_user_opened_is_not_protected() {
    let mut place = place();
    place.rules.opened = vec![".vscode".into()];
    let reach = place.rules.reach(Level::Namespaces, &[]);
    let ws = place.directory.path().join("ws");
    assert_eq!(told(&reach, &ws.join(".vscode/x"), WRITE), "open");
    assert_ne!(told(&reach, &ws.join(".idea/x"), WRITE), "open");
}

#[test]
fn a_repository_that_is_not_there_yet_is_opened_as_a_whole() {
    let place = place();
    let ws = place.directory.path().join("ws");
    std::fs::remove_dir_all(ws.join(".git")).unwrap();
    let said = told(
        &place.rules.reach(Level::Namespaces, &[]),
        &ws.join(".git/HEAD"),
        WRITE,
    );
    assert!(
        said.ends_with("grants = [{ path = \".git\", access = \"write\" }]"),
        "{said}"
    );
}

#[test]
fn grants_of_one_command_count() {
    let place = place();
    let more = [Grant {
        path: "/opt/data".into(),
        access: RootAccess::ReadOnly,
    }];
    let reach = place.rules.reach(Level::Namespaces, &more);
    assert_eq!(
        told(&reach, Path::new("/opt2/data/x"), READ),
        "outside; grants = [\"/opt2/data\"]"
    );
    assert_eq!(told(&reach, Path::new("/opt/data/x"), READ), "open");
}

#[test]
fn the_lower_level_hides_nothing_in_a_root_and_has_no_private_directories() {
    let place = place();
    let reach = place.rules.reach(Level::Landlock, &[]);
    let ws = place.directory.path().join("ws");
    assert_eq!(told(&reach, &ws.join(".env"), READ), "open");
    assert_eq!(told(&reach, &ws.join(".bashrc"), WRITE), "open");
    let denial = reach.explains(Path::new("/data/set/x"), READ).unwrap();
    assert_eq!(denial.sandbox, "landlock");
    assert!(told(&reach, Path::new("/tmp/kept/f"), WRITE).starts_with("outside"));
}
