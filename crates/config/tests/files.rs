//! Files that cannot be read at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use toolgate_config::{MAX_FILE_BYTES, ReadError, Source};

#[test]
fn what_is_no_file_is_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("directory")).unwrap();
    fs::write(path("large"), "#".repeat(MAX_FILE_BYTES + 1)).unwrap();
    fs::write(path("binary"), b"[tools]\nmode = \"\xff\"\n").unwrap();
    let _listener = UnixListener::bind(path("socket")).unwrap();
    symlink(path("loop"), path("loop")).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(path("pipe"))
        .status()
        .unwrap();
    assert!(pipe.success());
    for (name, words) in [
        ("nothing", "there is no configuration file"),
        ("directory", "is a directory, not a configuration file"),
        ("large", "is larger than 1048576 bytes"),
        ("binary", "is not UTF-8: line 2 has a byte that is no text"),
        ("socket", "is no regular file"),
        ("pipe", "is no regular file"),
        ("loop", "cannot be read"),
    ] {
        let message = Source::read(&path(name)).unwrap_err().to_string();
        assert!(message.contains(words), "{name}: {message}");
        assert!(message.contains(name), "{message}");
    }
    assert!(matches!(Source::read_if_there(&path("nothing")), Ok(None)));
    assert!(matches!(
        Source::read_if_there(&path("directory")),
        Err(ReadError::Directory { .. })
    ));
}

#[test]
fn a_link_is_not_read_as_the_configuration_of_a_project() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("private"), "-----BEGIN KEY-----\nMIIE\n").unwrap();
    fs::write(path("plain"), "[tools]\n").unwrap();
    for (name, target) in [
        ("a", "private"),
        ("b", "plain"),
        ("c", "nothing"),
        ("d", "d"),
    ] {
        symlink(path(target), path(name)).unwrap();
        let error = Source::read_project_if_there(&path(name)).unwrap_err();
        assert!(matches!(error, ReadError::Link { .. }), "{error}");
        assert!(error.to_string().contains("put a copy there"), "{error}");
    }
    assert!(Source::read_project(&path("plain")).is_ok());
    assert!(matches!(
        Source::read_project_if_there(&path("nothing")),
        Ok(None)
    ));
    // The user's own configuration may be a link, as tools for such files make them.
    assert!(Source::read(&path("b")).is_ok());
}

#[test]
fn a_file_of_exactly_the_largest_size_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.toml");
    fs::write(&path, "#".repeat(MAX_FILE_BYTES)).unwrap();
    assert_eq!(Source::read(&path).unwrap().text().len(), MAX_FILE_BYTES);
}

#[test]
fn a_name_with_control_characters_is_shown_and_not_obeyed() {
    let error = Source::new("a\u{1b}[2J.toml", vec![0xff]).unwrap_err();
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
}
