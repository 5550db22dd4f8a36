//! A `.gitattributes` is an ordinary file until it makes git run something.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use std::os::unix::fs::symlink;

use place::{METHODS, Place, options};
use toolgate_model::ErrorKind;
use toolgate_sandbox::paths::{PathError, PathSandbox, Protection};

fn put(sandbox: &PathSandbox, path: &str, content: &str) -> Result<(), PathError> {
    let mut staged = sandbox.stage(path, options(true))?;
    // In two pieces, so that no piece decides alone.
    let (start, end) = content.split_at(content.len() / 2);
    staged.write_all(start.as_bytes())?;
    staged.write_all(end.as_bytes())?;
    staged.commit().map(drop)
}

#[test]
fn a_driver_that_was_not_named_before_is_refused() {
    for method in METHODS {
        for (path, old, new, refused) in [
            (".gitattributes", None, "* text=auto\n", None),
            (".gitattributes", None, "*.psd filter=lfs -text\n", None),
            (".gitattributes", None, "* filter=x\n", Some("filter=x")),
            ("a/b/.gitattributes", None, "* diff=x\n", Some("diff=x")),
            (".GitAttributes", None, "* merge=x\n", Some("merge=x")),
            (".gitattributes.", None, "* merge=x\n", Some("merge=x")),
            ("GITATT~1", None, "* merge=x\n", Some("merge=x")),
            (
                ".gitattributes",
                Some("* filter=x\n"),
                "*.c filter=x\n",
                None,
            ),
            (
                ".gitattributes",
                Some("* filter=x\n"),
                "* filter=x diff=y\n",
                Some("diff=y"),
            ),
            (".gitattributes", Some("* filter=x\n"), "", None),
            ("notes/gitattributes", None, "* filter=x\n", None),
        ] {
            let place = Place::new();
            if let Some(old) = old {
                std::fs::write(place.ws().join(path), old).unwrap();
            }
            let sandbox = place.sandbox(method);
            let answer = put(&sandbox, path, new);
            let found = match &answer {
                Ok(()) => None,
                Err(PathError::Protected {
                    why: Protection::Driver { driver },
                    ..
                }) => Some(driver.as_str()),
                Err(other) => panic!("{path}: {other}"),
            };
            assert_eq!(found, refused, "{path} {old:?} {new:?}");
            let now = std::fs::read_to_string(place.ws().join(path)).ok();
            let wanted = if refused.is_none() { Some(new) } else { old };
            assert_eq!(now.as_deref(), wanted, "{path} {new:?}");
            assert!(place.leftovers().is_empty());
        }
    }
}

#[test]
fn a_file_in_a_directory_above_does_not_cover_a_new_one() {
    let place = Place::new();
    std::fs::write(place.ws().join(".gitattributes"), "* filter=x\n").unwrap();
    for method in METHODS {
        let answer = put(&place.sandbox(method), "new/.gitattributes", "* filter=x\n");
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::ProtectedPath);
        assert!(!place.ws().join("new").exists());
    }
}

#[test]
fn links_and_renames_are_checked_too() {
    for method in METHODS {
        let place = Place::new();
        std::fs::write(place.ws().join(".gitattributes"), "* text\n").unwrap();
        symlink(".gitattributes", place.ws().join("plain")).unwrap();
        let sandbox = place.sandbox(method);
        let kind = |answer: Result<(), PathError>| answer.unwrap_err().kind();
        assert_eq!(
            kind(put(&sandbox, "plain", "* filter=x\n")),
            ErrorKind::ProtectedPath
        );
        put(&sandbox, "other", "* filter=x\n").unwrap();
        let moved = |to| sandbox.rename("other", to, true).map(drop);
        assert_eq!(kind(moved(".gitattributes")), ErrorKind::ProtectedPath);
        assert_eq!(kind(moved("sub/.gitattributes")), ErrorKind::ProtectedPath);
        moved("sub/other").unwrap();
    }
}

#[test]
fn a_trusted_rule_or_unchanged_content_is_allowed() {
    for method in METHODS {
        let place = Place::new();
        let sandbox =
            place.sandbox_with(method, |rules| rules.named.push("a/.gitattributes".into()));
        put(&sandbox, "a/.gitattributes", "* filter=x\n").unwrap();
        let error = put(&sandbox, ".gitattributes", "* filter=x\n").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("`filter=x` makes git run"), "{text}");
        assert!(text.contains("\nwrites = [\".gitattributes\"]"), "{text}");
        let mut staged = sandbox.stage(".gitattributes", options(true)).unwrap();
        staged.restores();
        staged.write_all(b"* filter=x\n").unwrap();
        staged.commit().unwrap();
    }
}
