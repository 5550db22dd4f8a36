//! Trusted files and remembered approvals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use futures::FutureExt;
use tempfile::{TempDir, tempdir};
use toolgate_config::{GrantFile, TrustStore};
use toolgate_gate::approve::{Grant, GrantStore};
use toolgate_policy::GrantScope;

/// Outside of a runtime the work is done when the future is polled.
fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn grant(id: &str) -> Grant {
    Grant {
        id: id.to_owned(),
        at_ms: 7,
        tool: "run_command".to_owned(),
        scope: GrantScope::Command(vec!["cargo".to_owned(), "test".to_owned()]),
    }
}

/// A directory with a project in it and a place for stores.
fn ground() -> (TempDir, TrustStore) {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join("project")).unwrap();
    fs::write(directory.path().join("project/toolgate.toml"), "[tools]\n").unwrap();
    let store = TrustStore::at(directory.path().join("home/trust.json"));
    (directory, store)
}

#[test]
fn trust_is_bound_to_the_place_and_the_content() {
    let (directory, store) = ground();
    let file = directory.path().join("project/toolgate.toml");
    assert!(!store.is_trusted(&file, b"[tools]\n").unwrap());
    let trusted = store.trust(&file, b"[tools]\n", 42).unwrap();
    assert_eq!((trusted.at_ms, trusted.sha256.len()), (42, 64));
    assert!(store.is_trusted(&file, b"[tools]\n").unwrap());
    assert!(!store.is_trusted(&file, b"[tools]\n\n").unwrap());
    assert!(store.project(&file).unwrap().unwrap().trusted);

    fs::create_dir(directory.path().join("copy")).unwrap();
    let copy = directory.path().join("copy/toolgate.toml");
    fs::copy(&file, &copy).unwrap();
    assert!(!store.project(&copy).unwrap().unwrap().trusted);

    fs::write(&file, "[tools]\nmode = \"enabled\"\n").unwrap();
    assert!(!store.project(&file).unwrap().unwrap().trusted);
}

#[test]
fn a_link_to_a_trusted_file_of_another_project_is_not_trusted() {
    let (directory, store) = ground();
    let file = directory.path().join("project/toolgate.toml");
    store.trust(&file, b"[tools]\n", 0).unwrap();
    fs::create_dir(directory.path().join("hostile")).unwrap();
    let link = directory.path().join("hostile/toolgate.toml");
    symlink(&file, &link).unwrap();
    assert!(store.project(&link).is_err());
    // A link to the directory is the same place.
    symlink(
        directory.path().join("project"),
        directory.path().join("alias"),
    )
    .unwrap();
    assert!(
        store
            .project(&directory.path().join("alias/toolgate.toml"))
            .unwrap()
            .unwrap()
            .trusted
    );
}

#[test]
fn trust_is_listed_replaced_and_taken_back() {
    let (directory, store) = ground();
    let file = directory.path().join("project/toolgate.toml");
    store.trust(&file, b"one", 1).unwrap();
    store.trust(&file, b"two", 2).unwrap();
    let listed = store.list().unwrap();
    assert_eq!(
        listed.iter().map(|known| known.at_ms).collect::<Vec<_>>(),
        [2]
    );
    assert!(!store.is_trusted(&file, b"one").unwrap());
    assert!(store.revoke(&file).unwrap());
    assert!(!store.revoke(&file).unwrap());
    assert!(!store.is_trusted(&file, b"two").unwrap());
}

#[test]
fn trust_in_a_project_that_is_gone_can_be_taken_back_by_its_listed_name() {
    let (directory, store) = ground();
    let file = directory.path().join("project/toolgate.toml");
    store.trust(&file, b"one", 1).unwrap();
    fs::remove_dir_all(directory.path().join("project")).unwrap();
    let listed = store.list().unwrap();
    assert!(
        store
            .revoke(Path::new(&listed.first().unwrap().path))
            .unwrap()
    );
}

#[test]
fn stores_are_nobody_elses_to_read_or_write() {
    let (directory, store) = ground();
    store
        .trust(&directory.path().join("project/toolgate.toml"), b"x", 1)
        .unwrap();
    let file = directory.path().join("home/trust.json");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(&directory.path().join("home")), 0o700);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
    let error = store.list().unwrap_err().to_string();
    assert!(
        error.contains("can be written by others (mode 620)"),
        "{error}"
    );
}

#[test]
fn grants_are_kept_per_project_listed_and_taken_back() {
    let (directory, _) = ground();
    let other = tempdir().unwrap();
    let path = directory.path().join("grants.json");
    let here = GrantFile::at(&path, &directory.path().join("project")).unwrap();
    let there = GrantFile::at(&path, other.path()).unwrap();
    assert_eq!(now(here.list()).unwrap(), []);
    now(here.add(&[grant("a"), grant("b")])).unwrap();
    now(there.add(&[grant("c")])).unwrap();
    // As a later run finds them.
    let again = GrantFile::at(&path, &directory.path().join("project/.")).unwrap();
    assert_eq!(now(again.list()).unwrap(), [grant("a"), grant("b")]);
    assert_eq!(now(there.list()).unwrap(), [grant("c")]);
    assert!(!now(there.revoke("a")).unwrap());
    assert!(now(here.revoke("a")).unwrap());
    assert!(!now(here.revoke("a")).unwrap());
    assert_eq!(now(here.list()).unwrap(), [grant("b")]);
    assert!(now(here.revoke("b")).unwrap());
    assert_eq!(here.everywhere().unwrap().len(), 1);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn every_scope_of_a_grant_survives_the_file() {
    use toolgate_model::Access;
    let directory = tempdir().unwrap();
    let file = GrantFile::at(directory.path().join("grants.json"), directory.path()).unwrap();
    let scopes = [
        GrantScope::Tool,
        GrantScope::Command(vec!["npm".into(), "run".into()]),
        GrantScope::Path {
            access: Access::Delete,
            path: "a \"b\"/ü".into(),
        },
        GrantScope::Host("example.com:443".into()),
    ];
    let grants: Vec<Grant> = scopes
        .into_iter()
        .map(|scope| Grant {
            scope,
            ..grant("x")
        })
        .collect();
    now(file.add(&grants)).unwrap();
    assert_eq!(now(file.list()).unwrap(), grants);
}

#[test]
fn a_damaged_file_is_refused_and_never_written_over() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("grants.json");
    let file = GrantFile::at(&path, directory.path()).unwrap();
    let trust = TrustStore::at(&path);
    for damage in [
        "",
        "{",
        "null",
        "[]",
        "{\"version\":1}",
        "{\"version\":2,\"projects\":{}}",
        "{\"version\":1,\"projects\":{},\"more\":1}",
        "{\"version\":1,\"projects\":{\"/x\":[{\"id\":\"a\"}]}}",
        "{\"version\":1,\"projects\":{}} trailing",
        "\u{0}\u{0}",
    ] {
        fs::write(&path, damage).unwrap();
        for error in [
            now(file.list()).unwrap_err().message,
            now(file.add(&[grant("a")])).unwrap_err().message,
            now(file.revoke("a")).unwrap_err().message,
            trust.trust(&path, b"x", 1).unwrap_err().to_string(),
        ] {
            assert!(
                error.contains("is damaged and was left as it is"),
                "{damage:?}: {error}"
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), damage);
    }
}

#[test]
fn what_a_killed_writer_left_behind_is_in_nobodys_way() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("grants.json");
    fs::write(directory.path().join("grants.json.new"), "half a fi").unwrap();
    let file = GrantFile::at(&path, directory.path()).unwrap();
    assert_eq!(now(file.list()).unwrap(), []);
    now(file.add(&[grant("a")])).unwrap();
    assert_eq!(now(file.list()).unwrap(), [grant("a")]);
    assert!(!directory.path().join("grants.json.new").exists());
}

#[test]
fn writers_at_the_same_time_lose_nothing_and_readers_see_whole_files() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("grants.json");
    let open = || GrantFile::at(&path, directory.path()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            // Each with its own handle on the lock, as processes would have.
            let file = open();
            scope.spawn(move || {
                for n in 0..10 {
                    now(file.add(&[grant(&format!("{writer}-{n}"))])).unwrap();
                    if n % 2 == 1 {
                        assert!(now(file.revoke(&format!("{writer}-{n}"))).unwrap());
                    }
                }
            });
        }
        let reader = open();
        scope.spawn(move || {
            for _ in 0..200 {
                now(reader.list()).unwrap();
            }
        });
    });
    let ids: BTreeSet<String> = now(open().list())
        .unwrap()
        .into_iter()
        .map(|grant| grant.id)
        .collect();
    let expected: BTreeSet<String> = (0..8)
        .flat_map(|writer| (0..10).step_by(2).map(move |n| format!("{writer}-{n}")))
        .collect();
    assert_eq!(ids, expected);
}

#[test]
fn who_waits_for_the_lock_of_another_process_holds_up_no_other_task() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("grants.json");
    let file = GrantFile::at(&path, directory.path()).unwrap();
    now(file.add(&[grant("a")])).unwrap();
    let lock = fs::File::open(directory.path().join("grants.json.lock")).unwrap();
    lock.lock().unwrap();
    let (to, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let more = [grant("b")];
            let other = async { lock.unlock().unwrap() };
            let (added, ()) = futures::join!(file.add(&more), other);
            added.unwrap();
            to.send(file.list().await.unwrap().len()).unwrap();
        });
    });
    let long = std::time::Duration::from_secs(30);
    assert_eq!(done.recv_timeout(long), Ok(2));
}

#[test]
fn a_project_without_a_file_has_none() {
    let (directory, store) = ground();
    assert!(
        store
            .project(&directory.path().join("toolgate.toml"))
            .unwrap()
            .is_none()
    );
}
