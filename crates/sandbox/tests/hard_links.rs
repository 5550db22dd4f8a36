//! A hard link shows nothing of a file that is denied under another name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use place::{METHODS, Place, read};
use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::paths::{Flow, PathError, PathSandbox, Visit, WalkOptions};

fn link(place: &Place, old: &str, new: &str) {
    place.make(&format!("hard {new} = {old}"));
}

/// The files that a walk can read, by name.
fn walked(sandbox: &PathSandbox) -> Vec<(String, Option<String>)> {
    let options = WalkOptions {
        hidden: true,
        ignored: true,
        ..WalkOptions::default()
    };
    let mut all = Vec::new();
    sandbox
        .walk(".", &options, &mut |visit| {
            if let Visit::Entry(entry) = visit
                && let Ok(handle) = entry.open().map(Some).or_else(|error| match error {
                    PathError::NotAFile { .. } => Err(()),
                    _ => Ok(None),
                })
            {
                let content = handle.map(|mut handle| {
                    String::from_utf8(handle.read_all(1 << 20).unwrap()).unwrap()
                });
                all.push((entry.path.to_str().unwrap().to_owned(), content));
            }
            Flow::Continue
        })
        .unwrap();
    all
}

#[test]
fn a_link_to_a_denied_file_is_denied() {
    for method in METHODS {
        for (denied, link_name) in [
            (".env", "notes.txt"),
            ("deep/er/.env.local", "deep/notes.txt"),
            ("id_rsa", "src/id.rs"),
            (".ssh/config", "config.txt"),
            (".ssh/keys/deep/any", "any.txt"),
            ("my_secrets/plain/file", "file"),
            (".git/config", "gitconfig.txt"),
            ("core.123", "dump"),
        ] {
            let place = Place::new();
            place.make(&format!("file {denied}"));
            place.make("file plain.txt");
            link(&place, denied, link_name);
            link(&place, "plain.txt", "also-plain.txt");
            let sandbox = place.sandbox(method);
            for error in [
                read(&sandbox, link_name).unwrap_err(),
                sandbox.preflight(link_name, Access::Read).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::DeniedPattern, "{link_name}");
                let text = error.to_string();
                assert!(text.contains(&format!("`{denied}`")), "{text}");
            }
            assert!(read(&sandbox, "also-plain.txt").is_ok());
            let seen = walked(&sandbox);
            let content = |name: &str| {
                let found = seen.iter().find(|(path, _)| path == name);
                found.map(|(_, content)| content.is_some())
            };
            assert_eq!(content(link_name), Some(false), "{seen:?}");
            assert_eq!(content("also-plain.txt"), Some(true), "{seen:?}");
        }
    }
}

#[test]
fn a_link_that_is_made_later_is_found() {
    for method in METHODS {
        let place = Place::new();
        for name in [".env", "a.txt"] {
            place.make(&format!("file {name}"));
        }
        link(&place, "a.txt", "b.txt");
        let sandbox = place.sandbox(method);
        assert!(read(&sandbox, "b.txt").is_ok());
        link(&place, ".env", "c.txt");
        assert!(read(&sandbox, "c.txt").is_err());
        // A denied name that did not exist at the search, with a link to it.
        place.make("file new.pem");
        link(&place, "new.pem", "d.txt");
        assert!(read(&sandbox, "d.txt").is_err());
        assert!(read(&sandbox, "b.txt").is_ok());
        link(&place, "b.txt", "late.key");
        assert!(read(&sandbox, "b.txt").is_err());
    }
}

#[test]
fn a_link_leads_across_roots_and_to_own_files() {
    for method in METHODS {
        let place = Place::new();
        std::fs::create_dir(place.top().join("other")).unwrap();
        std::fs::write(place.top().join("other/.env"), "x").unwrap();
        std::fs::hard_link(place.top().join("other/.env"), place.ws().join("a.txt")).unwrap();
        place.make("file data/journal");
        link(&place, "data/journal", "b.txt");
        let sandbox = place.sandbox_with(method, |rules| {
            rules.roots.push(toolgate_sandbox::paths::RootRule {
                path: place.top().join("other"),
                access: toolgate_sandbox::paths::RootAccess::ReadOnly,
            });
            rules.own.closed.push(place.ws().join("data"));
        });
        for name in ["a.txt", "b.txt"] {
            let kind = read(&sandbox, name).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::DeniedPattern, "{name}");
        }
        // Without a root around the denied name nothing is known of it.
        assert!(read(&place.sandbox(method), "a.txt").is_ok());
    }
}

#[test]
fn nothing_is_searched_where_nothing_is_denied() {
    let place = Place::new();
    place.make("file .env");
    link(&place, ".env", "a.txt");
    let sandbox = place.sandbox_with(METHODS[0], |rules| rules.include_default_denies = false);
    assert!(read(&sandbox, "a.txt").is_ok());
}

/// Runs something in a thread that has the rights of an ordinary owner, also for root.
fn as_owner<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let all = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            let now = capabilities(None).unwrap();
            let less = CapabilitySets {
                effective: now.effective - all,
                ..now
            };
            set_capabilities(None, less).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let path = place.ws().join(name);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_closed_directory_of_the_user_may_hold_the_denied_name() {
    for method in METHODS {
        for (denied, closed, mode) in [
            (".ssh/id", ".ssh", 0o311),
            ("priv/.env", "priv", 0o300),
            ("priv/.env", "priv", 0o100),
            ("priv/.env", "priv", 0o000),
            // Listed, but not searched: the names are known and the files are not.
            ("priv/.env", "priv", 0o400),
            ("priv/.env", "priv", 0o600),
            (".ssh/id", ".ssh", 0o400),
            ("priv/deep/.env", "priv", 0o400),
            ("priv/deep/.env", "priv/deep", 0o300),
            ("a/b/c/plain.key", "a/b", 0o311),
        ] {
            let place = Place::new();
            place.make(&format!("file {denied}"));
            link(&place, denied, "notes.txt");
            place.make("file alone.txt");
            set_mode(&place, closed, mode);
            let (error, alone) = as_owner(|| {
                let sandbox = place.sandbox(method);
                (read(&sandbox, "notes.txt"), read(&sandbox, "alone.txt"))
            });
            set_mode(&place, closed, 0o700);
            let case = format!("{denied} {closed} {mode:o}");
            let error = error.expect_err(&case);
            assert_eq!(error.kind(), ErrorKind::DeniedPattern, "{case}");
            let text = error.to_string();
            assert!(text.contains(closed), "{case}: {text}");
            assert!(text.contains("may not be listed"), "{case}: {text}");
            assert!(alone.is_ok(), "{case}");
        }
    }
}

#[test]
fn a_directory_of_another_user_counts_only_if_it_can_be_searched() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for (mode, readable) in [(0o700, true), (0o000, true), (0o711, false)] {
        let place = Place::new();
        place.make("file volume/data");
        place.make("file a.txt");
        link(&place, "a.txt", "b.txt");
        std::os::unix::fs::chown(place.ws().join("volume"), Some(4242), Some(4242)).unwrap();
        set_mode(&place, "volume", mode);
        let got = as_owner(|| read(&place.sandbox(METHODS[0]), "b.txt"));
        assert_eq!(got.is_ok(), readable, "{mode:o}: {got:?}");
    }
}
