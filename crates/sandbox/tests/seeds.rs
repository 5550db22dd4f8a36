//! The acceptance criteria that the sandbox has to meet.
#![allow(clippy::unwrap_used, missing_docs)]

use std::os::unix::fs::symlink;

use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::env;
use toolgate_sandbox::paths::{PathRules, PathSandbox};

fn sandbox() -> (tempfile::TempDir, PathSandbox) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file.txt"), "hello").unwrap();
    let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
    (directory, sandbox)
}

#[test]
fn ac_03_a_path_that_climbs_out_is_refused() {
    let (_directory, sandbox) = sandbox();
    let error = sandbox
        .preflight("../../etc/passwd", Access::Read)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutsideSandbox);
    assert!(error.to_string().contains(".."), "{error}");
}

#[test]
fn ac_04_a_link_that_leads_out_is_refused() {
    let (directory, sandbox) = sandbox();
    symlink("/etc/passwd", directory.path().join("link")).unwrap();
    let error = sandbox.preflight("link", Access::Read).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutsideSandbox, "{error}");
    assert_eq!(
        sandbox.open_read("link").unwrap_err().kind(),
        ErrorKind::OutsideSandbox
    );
}

#[test]
fn ac_05_a_path_inside_is_resolved_for_writing() {
    let (directory, sandbox) = sandbox();
    let resolved = sandbox.preflight("file.txt", Access::Write).unwrap();
    let root = sandbox.roots().get(resolved.root).unwrap();
    let expected = directory.path().canonicalize().unwrap().join("file.txt");
    assert_eq!(
        root.path().canonicalize().unwrap().join(resolved.path),
        expected
    );
}

#[test]
fn ac_06_a_dangerous_path_is_refused_for_writing() {
    let (_directory, sandbox) = sandbox();
    let error = sandbox.preflight(".env", Access::Write).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeniedPattern, "{error}");
}

#[test]
fn ac_07_secrets_are_stripped_from_the_environment_and_the_rest_is_kept() {
    let vars = [("MY_API_KEY", "secret"), ("PATH", "/usr/bin")];
    let none: [&str; 0] = [];
    let kept = env::clean(vars, &none, &none);
    assert!(
        kept.iter()
            .any(|(name, value)| name == "PATH" && value == "/usr/bin")
    );
    assert!(!kept.iter().any(|(name, _)| name == "MY_API_KEY"));
    for name in ["MY_API_KEY", "github_token", "PGPASSWORD"] {
        assert!(env::is_secret(name), "{name}");
    }
    for name in ["PATH", "KEYBOARD", "TOKENIZERS", "LANG"] {
        assert!(!env::is_secret(name), "{name}");
    }
}
