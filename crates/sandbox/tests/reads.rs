//! Reads: their content, their limits, and the errors for missing files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod place;

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use place::{METHODS, Place, read};
use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::paths::{
    FileKind, Method, PathError, PathRules, PathSandbox, PatternError, RootAccess, RootRule,
    RulesError,
};

#[test]
fn a_pipe_on_the_way_of_an_absolute_path_does_not_block() {
    for method in METHODS {
        let place = Place::new();
        let sandbox = place.sandbox_with(method, |rules| rules.allow_absolute = true);
        let pipe = place.out().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        for path in [pipe.join("x"), pipe] {
            let error = sandbox.open_read(&path).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutsideSandbox, "{path:?}");
        }
    }
}

#[test]
fn a_walk_goes_down_as_far_as_it_may_and_says_where_it_stops() {
    let place = Place::new();
    let deepest = "d/".repeat(256);
    std::fs::create_dir_all(place.ws().join(&deepest).join("d")).unwrap();
    std::fs::write(place.ws().join(&deepest).join("file"), "x").unwrap();
    std::fs::write(place.ws().join(&deepest).join("d/file"), "x").unwrap();
    let sandbox = place.sandbox(Method::Walk);
    assert_eq!(read(&sandbox, &format!("{deepest}file")).unwrap(), "x");
    let error = read(&sandbox, &format!("{deepest}d/file")).unwrap_err();
    assert!(matches!(error, PathError::Bad { .. }), "{error}");
    assert!(
        error.to_string().contains("too many directories"),
        "{error}"
    );
}

#[test]
fn the_longest_path_and_the_longest_name_are_looked_for_and_longer_ones_refused() {
    for method in METHODS {
        let place = Place::new();
        let sandbox = place.sandbox(method);
        let kind = |path: &str| sandbox.open_read(path).map(|_| ()).unwrap_err().kind();
        let path = format!("{}b", "a/".repeat(2047));
        assert_eq!((path.len(), kind(&path)), (4095, ErrorKind::NotFound));
        assert_eq!(kind(&format!("{path}b")), ErrorKind::BadArgs);
        assert_eq!(kind(&"a".repeat(255)), ErrorKind::NotFound);
        assert_eq!(kind(&"a".repeat(256)), ErrorKind::BadArgs);
    }
}

#[test]
fn a_sparse_terabyte_costs_only_the_bytes_asked_for() {
    let place = Place::new();
    let file = std::fs::File::create(place.ws().join("big.bin")).unwrap();
    file.set_len(1 << 40).unwrap();
    let sandbox = place.sandbox(METHODS[0]);
    let mut handle = sandbox.open_read("big.bin").unwrap();
    assert_eq!(handle.stat.len, 1 << 40);
    let (bytes, all) = handle.read_up_to(100_000).unwrap();
    assert_eq!((bytes.len(), all), (100_000, false));
    assert!(bytes.capacity() < 1 << 20, "{}", bytes.capacity());
    let error = sandbox
        .open_read("big.bin")
        .unwrap()
        .read_all(4096)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn reading_in_parts_gives_every_byte_once() {
    let place = Place::new();
    let content: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(place.ws().join("x"), &content).unwrap();
    for limit in [1, 7, 65_536, 65_537, 800_000, 800_001, u64::MAX] {
        let mut handle = place.sandbox(METHODS[0]).open_read("x").unwrap();
        let (mut bytes, mut all) = handle.read_up_to(limit).unwrap();
        assert_eq!(all, limit >= 800_000, "{limit}");
        while !all {
            let (more, end) = handle.read_up_to(300_000).unwrap();
            bytes.extend(more);
            all = end;
        }
        assert!(bytes == content, "{limit}");
    }
}

#[test]
fn a_limit_of_nothing_still_tells_whether_there_is_something() {
    let place = Place::new();
    std::fs::write(place.ws().join("x"), "abc").unwrap();
    std::fs::write(place.ws().join("empty"), "").unwrap();
    let sandbox = place.sandbox(METHODS[0]);
    assert_eq!(
        sandbox.open_read("x").unwrap().read_up_to(0).unwrap(),
        (vec![], false)
    );
    assert_eq!(
        sandbox.open_read("empty").unwrap().read_up_to(0).unwrap(),
        (vec![], true)
    );
}

#[test]
fn a_file_that_changed_its_length_since_it_was_opened_is_read_as_it_is_now() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let file = place.ws().join("f");
    for (before, now) in [(10, 20), (20, 10), (0, 5), (5, 0), (65_536, 70_000)] {
        for room in [0, before, 100_000] {
            let open = || {
                std::fs::write(&file, vec![b'x'; before]).unwrap();
                let handle = sandbox.open_read("f").unwrap();
                std::fs::write(&file, vec![b'y'; now]).unwrap();
                handle
            };
            let mut space = vec![0; room];
            let read = open().read_into(&mut space, 1 << 20).unwrap();
            assert_eq!(read, (now, true), "{before} {room}");
            assert!(space[..now] == vec![b'y'; now]);
            let (bytes, all) = open().read_up_to(1 << 20).unwrap();
            assert_eq!((bytes.len(), all), (now, true), "{before}");
        }
    }
}

#[test]
fn a_file_that_comes_in_pieces_is_read_to_its_end() {
    let place = Place::new();
    place.make("file f");
    // Such a pipe is read in the pieces that were written.
    let in_pieces = |said| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::DIRECT).unwrap();
        for piece in [b"a", b"b", b"c"] {
            writer.write_all(piece).unwrap();
        }
        let mut handle = place.sandbox(METHODS[0]).open_read("f").unwrap();
        handle.file = OwnedFd::from(reader).into();
        handle.stat.len = said;
        handle
    };
    for said in [0, 3, 100, u64::MAX] {
        let mut space = Vec::new();
        let read = in_pieces(said).read_into(&mut space, 1_000).unwrap();
        assert_eq!((read, &space[..3]), ((3, true), &b"abc"[..]), "{said}");
        let read = in_pieces(said).read_up_to(1_000).unwrap();
        assert_eq!(read, (b"abc".to_vec(), true), "{said}");
    }
    // No more memory than this is reserved by the reported size.
    let (bytes, _) = in_pieces(u64::MAX).read_up_to(u64::MAX).unwrap();
    assert!(bytes.capacity() <= (16 << 20) + 1, "{}", bytes.capacity());
    // A file of the reported length is not read again.
    let read = in_pieces(1).read_into(&mut Vec::new(), 1_000).unwrap();
    assert_eq!(read, (1, true));
}

#[test]
fn an_unreadable_file_is_an_error_for_every_read() {
    let place = Place::new();
    place.make("file f");
    let broken = || {
        let mut handle = place.sandbox(METHODS[0]).open_read("f").unwrap();
        handle.file = std::fs::File::open(place.ws()).unwrap();
        handle
    };
    for limit in [0, 1_000] {
        let error = broken().read_up_to(limit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAFile);
        let error = broken().read_into(&mut Vec::new(), limit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAFile);
    }
}

#[test]
fn a_handle_knows_the_name_it_really_has() {
    for method in METHODS {
        let place = Place::new();
        place.make("file real/deep/x.txt");
        place.make("link d -> real/./deep");
        let sandbox = place.sandbox(method);
        for path in ["d/x.txt", "real/deep/x.txt", "./real//deep/./x.txt"] {
            let handle = sandbox.open_read(path).unwrap();
            assert_eq!(handle.path, Path::new("real/deep/x.txt"), "{path}");
            assert_eq!((handle.root, handle.stat.kind), (0, FileKind::File));
        }
    }
}

#[test]
fn a_missing_file_offers_similar_names_and_no_denied_ones() {
    for method in METHODS {
        let place = Place::new();
        for line in [
            "file src/main.rs",
            "file src/mian.rs",
            "file src/mail.rs",
            "file src/maim.rs",
            "file src/.env",
            "file src/other.txt",
            "file README.md",
        ] {
            place.make(line);
        }
        let sandbox = place.sandbox(method);
        let near = |path: &str| match sandbox.open_read(path).unwrap_err() {
            PathError::NotFound {
                directory, nearest, ..
            } => (directory, nearest),
            other => panic!("{other}"),
        };
        let (directory, nearest) = near("src/mainn.rs");
        assert_eq!(directory, "src");
        assert_eq!(nearest.len(), 3);
        assert_eq!(nearest[0], "main.rs");
        assert_eq!(near("readme.md").1, ["README.md"]);
        assert_eq!(
            near("srcc/main.rs"),
            (String::new(), vec!["src".to_owned()])
        );
        assert_eq!(near("src/.emv").1, Vec::<String>::new());
        assert_eq!(near("src/a/b/c"), ("src".to_owned(), vec![]));
        let text = sandbox.open_read("src/mainn.rs").unwrap_err().to_string();
        assert!(
            text.contains("`main.rs`") && text.contains("`src`"),
            "{text}"
        );
    }
}

#[test]
fn refusals_say_what_to_do_instead() {
    let place = Place::new();
    for line in [
        "dir src",
        "file a.txt",
        "link l -> $OUT/canary.txt",
        "file .env",
        "link n -> .env",
    ] {
        place.make(line);
    }
    let sandbox = place.sandbox(METHODS[0]);
    for (path, wanted) in [
        ("/etc/passwd", "does not lie there"),
        ("../x", "`..`"),
        ("src", "is a directory"),
        ("a.txt/b", "`a.txt` is not a directory"),
        ("l", "by the link `l`"),
        (".env", "the pattern `.env`"),
        ("n", "`n` leads to `.env`"),
        ("~/x", "not expanded"),
        ("", "empty"),
    ] {
        let text = sandbox.open_read(path).unwrap_err().to_string();
        assert!(text.contains(wanted), "{path}: {text}");
    }
    let text = sandbox
        .stage(".bashrc", place::options(true))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("`.bashrc`") && text.ends_with("\nwrites = [\".bashrc\"]"),
        "{text}"
    );
}

#[test]
fn messages_stay_on_one_line_and_end() {
    let place = Place::new();
    let sandbox = place.sandbox(METHODS[0]);
    let text = sandbox.open_read("a\nb\u{1b}[2J").unwrap_err().to_string();
    assert!(!text.contains('\n') && !text.contains('\u{1b}'), "{text}");
    let text = sandbox.open_read("x".repeat(4000)).unwrap_err().to_string();
    assert!(text.len() < 600, "{}", text.len());
}

#[test]
fn names_that_are_not_utf8_can_be_listed_and_read() {
    for method in METHODS {
        let place = Place::new();
        let name = OsStr::from_bytes(b"caf\xe9.txt");
        std::fs::write(place.ws().join(name), "x").unwrap();
        let sandbox = place.sandbox(method);
        let entries = sandbox.read_dir(".").unwrap();
        assert_eq!(entries[0].name, name);
        assert_eq!(sandbox.open_read(name).unwrap().path, Path::new(name));
    }
}

#[test]
fn listings_are_sorted_and_typed() {
    for method in METHODS {
        let place = Place::new();
        for line in [
            "file b",
            "dir a",
            "link c -> $OUT",
            "fifo d",
            "file .hidden",
            "file x.pem",
            "dir .ssh",
            "file core",
            "dir sub/core",
        ] {
            place.make(line);
        }
        let sandbox = place.sandbox(method);
        let seen: Vec<_> = sandbox
            .read_dir(".")
            .unwrap()
            .into_iter()
            .map(|entry| (entry.name.into_string().unwrap(), entry.kind))
            .collect();
        let wanted = [
            (".hidden", FileKind::File),
            ("a", FileKind::Directory),
            ("b", FileKind::File),
            ("c", FileKind::Link),
            ("d", FileKind::Other),
            ("sub", FileKind::Directory),
        ];
        let wanted: Vec<_> = wanted.map(|(name, kind)| (name.to_owned(), kind)).into();
        assert_eq!(seen, wanted);
        assert_eq!(sandbox.read_dir("sub").unwrap().len(), 1);
    }
}

#[test]
fn a_refusal_of_the_system_is_a_permission_error() {
    let place = Place::new();
    place.make("file locked/x.txt");
    place.make("file closed.txt");
    let set = |name: &str, mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.ws().join(name), rights).unwrap();
    };
    set("locked", 0o000);
    set("closed.txt", 0o000);
    for method in METHODS {
        let sandbox = place.sandbox(method);
        for path in ["locked/x.txt", "closed.txt"] {
            match read(&sandbox, path) {
                Ok(_) => assert!(rustix::process::geteuid().is_root()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Permission, "{path}"),
            }
        }
    }
    set("locked", 0o700);
}

#[test]
fn magic_links_have_no_magic() {
    let link = |name: &str| format!("/proc/self/{name}");
    let cwd = std::fs::read_link(link("cwd")).unwrap();
    for method in METHODS {
        let mut rules = PathRules::new("/proc/self");
        let sandbox = PathSandbox::open_with(&rules, method).unwrap();
        for path in [
            "root/etc/passwd",
            "cwd/Cargo.toml",
            "exe",
            "root",
            "task/../exe",
            "fd/0",
        ] {
            let answer = sandbox.open_read(path).map(drop);
            assert!(answer.is_err(), "{path}: {method:?}");
        }
        assert!(sandbox.read_dir("cwd").is_err() && sandbox.read_dir("root").is_err());
        // The text of a magic link may name a root, and is then a path like any other.
        rules.roots.push(RootRule {
            path: cwd.clone(),
            access: RootAccess::ReadOnly,
        });
        let sandbox = PathSandbox::open_with(&rules, method).unwrap();
        assert_eq!(sandbox.preflight("cwd", Access::Read).unwrap().root, 1);
    }
}

#[test]
fn forty_links_are_followed_and_one_more_is_not() {
    for method in METHODS {
        let place = Place::new();
        place.make("file l0");
        for n in 1..=41 {
            place.make(&format!("link l{n} -> l{}", n - 1));
        }
        let sandbox = place.sandbox(method);
        assert!(read(&sandbox, "l40").is_ok(), "{method:?}");
        assert_eq!(read(&sandbox, "l41").unwrap_err().kind(), ErrorKind::Failed);
    }
}

#[test]
fn other_roots_are_named_by_their_whole_path() {
    let place = Place::new();
    place.make("file ../lib/x.txt");
    let lib = place.top().join("lib");
    let sandbox = place.sandbox_with(Method::Kernel, |rules| {
        rules.allow_absolute = true;
        rules.roots.push(RootRule {
            path: lib.clone(),
            access: RootAccess::ReadOnly,
        });
    });
    let found = sandbox.preflight(lib.join("x.txt"), Access::Read).unwrap();
    assert_eq!((found.root, found.path.as_path()), (1, Path::new("x.txt")));
    assert_eq!(sandbox.name(found.root, &found.path), lib.join("x.txt"));
    assert_eq!(sandbox.name(0, Path::new("a")), Path::new("a"));
    assert_eq!(
        sandbox.roots().get(1).unwrap().access(),
        RootAccess::ReadOnly
    );
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let place = Place::new();
    let open = |change: &dyn Fn(&mut PathRules)| {
        let mut rules = PathRules::new(place.ws());
        change(&mut rules);
        PathSandbox::open(&rules).map(drop)
    };
    assert_eq!(open(&|r| r.roots.clear()), Err(RulesError::NoRoots));
    assert!(matches!(
        open(&|r| r.roots[0].path = place.top().join("none")),
        Err(RulesError::Root { .. })
    ));
    assert!(matches!(
        open(&|r| r.roots[0].path = place.out().join("canary.txt")),
        Err(RulesError::Root { .. })
    ));
    assert_eq!(
        open(&|r| r.denied_patterns.push("!x".into())),
        Err(RulesError::Pattern {
            pattern: "!x".into(),
            problem: PatternError::Negated
        })
    );
    assert!(open(&|r| r.protected_paths.push("[".into())).is_err());
    assert_eq!(
        open(&|r| r.named.push("../x".into())),
        Err(RulesError::Named {
            path: "../x".into()
        })
    );
    assert!(open(&|_| {}).is_ok());
}

#[test]
fn this_machine_resolves_in_the_kernel() {
    let place = Place::new();
    let sandbox = PathSandbox::open(&PathRules::new(place.ws())).unwrap();
    assert_eq!(sandbox.method(), Method::Kernel);
}

/// The middle of many, so that a busy machine does not decide.
#[test]
fn nfr_perf_02_a_path_that_exists_is_checked_within_a_millisecond() {
    for method in METHODS {
        let place = Place::new();
        place.make("file one/two/three/four/x.txt");
        place.make("link way -> one/two");
        let sandbox = place.sandbox(method);
        for path in ["one/two/three/four/x.txt", "way/three/four/x.txt"] {
            let mut took: Vec<_> = (0..301)
                .map(|_| {
                    let began = std::time::Instant::now();
                    sandbox.preflight(path, Access::Read).unwrap();
                    began.elapsed()
                })
                .collect();
            took.sort();
            let middle = took[took.len() / 2];
            assert!(middle.as_micros() < 1000, "{method:?} {path}: {middle:?}");
        }
    }
}
