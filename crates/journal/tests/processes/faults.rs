//! A full disk, a read-only directory, damaged bytes: the person is told what to do, and what
//! was acknowledged is there.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use toolgate_journal::{Options, Reader, SqliteError, SqliteJournal};

use crate::child::{Part, prepare};
use crate::fixture::{Place, commit, start, whole};
use crate::parts::commits_of;

#[test]
fn a_full_disk_stops_the_writer_and_loses_nothing_acknowledged() {
    let place = Place::new();
    drop(place.open());
    // No file of the part grows beyond 96 KiB, which to it looks like a full disk.
    let mut limited = Command::new("sh");
    let script = r#"trap '' XFSZ; ulimit -f 192; exec "$0" "$@""#;
    limited
        .arg("-c")
        .arg(script)
        .arg(std::env::current_exe().unwrap());
    prepare(&mut limited, "fill", &place.file(), "");
    let said = Part::run(limited).end();
    let (refused, committed): (Vec<&String>, Vec<&String>) =
        said.iter().partition(|line| line.starts_with("refused"));
    assert_eq!(refused.len(), 3, "{said:?}");
    for told in refused {
        assert!(
            told.contains("no space") && told.contains("journal prune"),
            "{told}"
        );
    }
    assert!(!committed.is_empty());
    let mut acknowledged = Vec::new();
    for line in committed {
        let words: Vec<&str> = line.split(' ').collect();
        let (round, part): (u64, usize) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        acknowledged.extend(commits_of("c", round).remove(part));
    }
    assert_eq!(place.verify().problems, []);
    assert_eq!(place.entries(), acknowledged);
    // There is space again.
    whole(&place.open(), "later", "1", 1);
    assert_eq!(place.verify().problems, []);
}

/// Whether there is room in the log before each of eight commits, in a shell that has run
/// this first; `$0` is the directory of the journal.
fn crowded(place: &Place, shell: &[&str], first: &str) -> Vec<String> {
    let directory = place.file().parent().unwrap().to_path_buf();
    std::fs::create_dir(&directory).unwrap();
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .arg("-ec")
        .arg(format!(r#"{first}; exec "$@""#))
        .arg(directory)
        .arg(std::env::current_exe().unwrap());
    prepare(&mut command, "crowd", &place.file(), "");
    Part::run(command).end()
}

#[test]
fn room_takes_nothing_of_a_disk_that_is_nearly_full() {
    let after = |room: usize| {
        let mut said = vec!["none"; 8];
        said[8 - room..].fill("room");
        said
    };
    assert_eq!(crowded(&Place::new(), &["sh"], "true"), after(4));
    // It fits, but would be a good part of what is left. Nothing but this part sees the disk.
    let alone = ["unshare", "--user", "--map-root-user", "--mount", "sh"];
    let disk = r#"mount -t tmpfs -o size=3m,mode=700 small "$0""#;
    assert_eq!(crowded(&Place::new(), &alone, disk), after(0));
    let disk = r#"mount -t tmpfs -o size=6m,mode=700 large "$0""#;
    assert_eq!(crowded(&Place::new(), &alone, disk), after(4));
    // It ends in the middle: no file grows beyond 256 KiB, which looks like a full disk.
    let limit = "trap '' XFSZ; ulimit -f 512";
    assert_eq!(crowded(&Place::new(), &["sh"], limit), after(0));
}

/// Runs a part as somebody who has no special rights, whoever runs the tests.
fn ordinary(program: &Path, part: &str, journal: &Path) -> Vec<String> {
    let mut command = Command::new(program);
    prepare(&mut command, part, journal, "");
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    Part::run(command).end()
}

#[test]
fn a_directory_that_cannot_be_written_is_told_and_can_still_be_read() {
    let place = Place::new();
    whole(&place.open(), "c", "1", 1);
    let state = place.file().parent().unwrap().to_path_buf();
    // The part runs as somebody else, who cannot reach the directory this program was built in.
    let program = place.directory().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let rights = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    rights(place.directory(), 0o755);
    rights(&program, 0o755);
    if rustix::process::geteuid().is_root() {
        chown(&state, Some(65534), Some(65534)).unwrap();
        chown(place.file(), Some(65534), Some(65534)).unwrap();
    }
    rights(&state, 0o555);
    let said = ordinary(&program, "open", &place.file());
    let none = ordinary(&program, "open", &state.join("deeper/new.db"));
    rights(&state, 0o755);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("make it writable") && said[0].contains("--journal"),
        "{said:?}"
    );
    assert_eq!(said[1], "read: 4 entries");
    assert!(
        none[0].contains("Permission denied") && none[0].contains("--journal"),
        "{none:?}"
    );
    assert!(none[1].contains("there is no journal"), "{none:?}");
    let said = ordinary(&program, "open", &place.file());
    assert_eq!(said, ["write: opened", "read: 4 entries"]);
}

#[test]
fn damaged_bytes_are_reported_and_never_taken_for_a_sound_record() {
    let place = Place::new();
    let journal = place.open();
    for n in 0..60 {
        whole(&journal, "c", &n.to_string(), n);
    }
    drop(journal);
    let sound = std::fs::read(place.file()).unwrap();
    let page = 4096;
    assert!(sound.len() > 12 * page);
    let mut told = 0;
    for at in 1..sound.len() / page {
        let mut damaged = sound.clone();
        damaged[at * page..(at + 1) * page].fill(0xA5);
        std::fs::write(place.file(), &damaged).unwrap();
        match Reader::open(place.file()).and_then(|reader| reader.verify(None)) {
            Ok(verified) => assert!(!verified.is_sound(), "page {at}"),
            Err(trouble) => {
                assert!(
                    matches!(trouble, SqliteError::Damaged { .. }),
                    "page {at}: {trouble}"
                );
                assert!(trouble.to_string().contains("journal verify"), "{trouble}");
            }
        }
        // Writing either works beside the damage or says that there is some; it never panics.
        let written = SqliteJournal::open(place.file(), Options::default())
            .map_err(|trouble| trouble.to_string())
            .and_then(|journal| {
                commit(&journal, start("c", "more", 1)).map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            assert!(error.contains("damaged"), "page {at}: {error}");
            told += 1;
        }
    }
    assert!(told > 0);
    let mut header = sound;
    header[..100].fill(0);
    std::fs::write(place.file(), &header).unwrap();
    let refused = SqliteJournal::open(place.file(), Options::default()).unwrap_err();
    assert!(
        matches!(refused, SqliteError::NotAJournal { .. }),
        "{refused}"
    );
    let cut = &header[..0];
    std::fs::write(place.file(), cut).unwrap();
    assert!(Reader::open(place.file()).is_err());
}
