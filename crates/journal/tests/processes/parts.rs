//! What a started process does.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use toolgate_gate::journal::{Entry, Image, Intended, Journal, Record};
use toolgate_gate::store::{Edit, Space, Store};
use toolgate_journal::{Hook, Options, Point, Reader, SqliteJournal};

use crate::child::{JOURNAL, PART, WORDS};
use crate::fixture::{LOG_FRAME, LOG_HEADER, commit, entry, finished, start};

pub(crate) fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // The harness has begun a line of its own.
    writeln!(out, "\n@{what}").unwrap();
    out.flush().unwrap();
}

fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn this_process_plays_its_part() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let journal = PathBuf::from(std::env::var_os(JOURNAL).unwrap());
    let words = std::env::var(WORDS).unwrap();
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    match part.as_str() {
        "commit" => commit_until_killed(&journal, &words),
        "hold" => hold(&journal, &words),
        "count" => count(&journal, &words),
        "fill" => fill(&journal),
        "crowd" => crowd(&journal),
        "open" => open(&journal),
        "patch" => patch(&journal, &words),
        other => panic!("there is no part {other}"),
    }
}

/// The entries of one call of the commit part, in their commits. Every round is another call.
pub(crate) fn commits_of(conversation: &str, round: u64) -> Vec<Vec<Entry>> {
    let call = format!("call {round}");
    let mut opening = start(conversation, &call, round);
    if round.is_multiple_of(3) {
        // One that is refused, together with the start of another.
        let refused = format!("refused {round}");
        opening.insert(
            0,
            entry(conversation, &refused, round, received_only(&refused)),
        );
        opening.push(entry(conversation, &refused, round, finished(&refused)));
    }
    vec![
        opening,
        vec![entry(conversation, &call, round, finished(&call))],
    ]
}

fn received_only(call: &str) -> Record {
    crate::fixture::received(call)
}

/// Stops for ever when a point is reached for the nth time.
fn stopping_at(point: Point, times: usize) -> Hook {
    let left = AtomicUsize::new(times);
    Arc::new(move |reached| {
        if reached == point && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            say("reached");
            wait_for_the_end();
        }
    })
}

/// `conversation first-round point times pause-after`: commits calls one after the other and
/// says each acknowledged commit with how much of the log is written.
fn commit_until_killed(path: &Path, words: &[&str]) {
    let [conversation, first, point, times, pause] = words else {
        panic!("{words:?}")
    };
    let point = Point::ALL.into_iter().find(|p| format!("{p:?}") == **point);
    let pause: u64 = pause.parse().unwrap();
    let quiet = matches!(point, Some(Point::BeforeFold | Point::Folded));
    let options = Options {
        folds_when_quiet: quiet,
        hook: point.map(|point| stopping_at(point, times.parse().unwrap())),
        ..Options::default()
    };
    let journal = SqliteJournal::open(path, options).unwrap();
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let first: u64 = first.parse().unwrap();
    for round in first.. {
        for (part, entries) in commits_of(conversation, round).into_iter().enumerate() {
            commit(&journal, entries).unwrap();
            let written = written(&log);
            say(&format!("committed {round} {part} {written}"));
        }
        if round - first + 1 == pause {
            wait_for_the_end();
        }
    }
}

/// Where the last frame of the log ends. What follows is room, or older than its beginning.
fn written(log: &Path) -> usize {
    let bytes = std::fs::read(log).unwrap_or_default();
    let Some(salts) = bytes.get(16..24) else {
        return 0;
    };
    let frames = bytes[LOG_HEADER..].chunks_exact(LOG_FRAME);
    let ours = frames.take_while(|frame| frame[8..16] == *salts);
    LOG_HEADER + ours.count() * LOG_FRAME
}

/// `conversation`: holds it until the standard input ends.
fn hold(path: &Path, words: &[&str]) {
    let journal = SqliteJournal::open(path, Options::default()).unwrap();
    commit(&journal, start(words[0], "held", 1)).unwrap();
    say("holding");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    commit(&journal, vec![entry(words[0], "held", 2, finished("held"))]).unwrap();
    say("done");
}

/// `name times`: counts up, and adds its own names to a list.
fn count(path: &Path, words: &[&str]) {
    let journal: Arc<dyn Store> = Arc::new(SqliteJournal::open(path, Options::default()).unwrap());
    let space = Space::new("/w", "todos");
    for n in 0..words[1].parse::<u64>().unwrap() {
        let counted = journal.change(&space, "count", |now| {
            let next: u64 = now.map_or(0, |now| now.parse().unwrap()) + 1;
            Ok((Edit::Set(next.to_string()), next))
        });
        let number = block_on(counted).unwrap();
        let own = format!("{}-{n} {number}\n", words[0]);
        let added = journal.change(&space, "list", move |now| {
            let list = now.unwrap_or_default().to_owned() + &own;
            Ok((Edit::Set(list), ()))
        });
        block_on(added).unwrap();
    }
    say("counted");
}

/// Commits ever more until that fails, three times; says what it was told.
fn fill(path: &Path) {
    let journal = SqliteJournal::open(path, Options::default()).unwrap();
    let (mut round, mut errors) = (0, 0);
    while errors < 3 {
        round += 1;
        for (part, entries) in commits_of("c", round).into_iter().enumerate() {
            match commit(&journal, entries) {
                Ok(()) => say(&format!("committed {round} {part} 0")),
                Err(error) => {
                    say(&format!("refused {error}"));
                    errors += 1;
                    break;
                }
            }
        }
    }
}

/// Commits eight times without a quiet moment, and says before each whether there is room in
/// the log.
fn crowd(path: &Path) {
    let log = PathBuf::from(format!("{}-wal", path.display()));
    let look = move || {
        let length = std::fs::metadata(&log).unwrap().len();
        let room = length > 0 && length > written(&log) as u64;
        say(if room { "room" } else { "none" });
    };
    // The thread is done with the log of the commit before.
    let hook = move |point| {
        if point == Point::Asked {
            look();
        }
    };
    let options = Options {
        folds_when_quiet: false,
        hook: Some(Arc::new(hook)),
        ..Options::default()
    };
    let journal = SqliteJournal::open(path, options).unwrap();
    for round in 1..=4 {
        for entries in commits_of("c", round) {
            commit(&journal, entries).unwrap();
        }
    }
}

/// Opens a journal to write and to read, and says what it was told.
fn open(path: &Path) {
    match SqliteJournal::open(path, Options::default()) {
        Ok(_) => say("write: opened"),
        Err(trouble) => say(&format!("write: {trouble}")),
    }
    match Reader::open(path).and_then(|reader| reader.verify(None)) {
        Ok(verified) => say(&format!("read: {} entries", verified.entries)),
        Err(trouble) => say(&format!("read: {trouble}")),
    }
}

/// `root step files`: changes files of a root as a tool does, and stops after a step for ever.
fn patch(path: &Path, words: &[&str]) {
    let [root, stop, count] = words else {
        panic!("{words:?}")
    };
    let (stop, count): (usize, usize) = (stop.parse().unwrap(), count.parse().unwrap());
    let mut step = 0;
    let mut reached = |what: &str| {
        step += 1;
        if step > stop {
            say(&format!("reached {what}"));
            wait_for_the_end();
        }
    };
    let root = PathBuf::from(root);
    let journal = SqliteJournal::open(path, Options::default()).unwrap();
    commit(&journal, start("c", "patch", 1)).unwrap();
    let (files, new): (Vec<Intended>, Vec<Option<Vec<u8>>>) =
        (0..count).map(|n| intended(&root, n)).unzip();
    for (file, new) in files.iter().zip(&new) {
        if let (Some(staged), Some(after)) = (&file.staged, new) {
            let mut new = std::fs::File::create_new(staged).unwrap();
            new.write_all(after).unwrap();
            new.sync_all().unwrap();
        }
    }
    let (told, images): (Vec<_>, Vec<Option<Image>>) =
        files.iter().cloned().map(Intended::split).unzip();
    let intent = entry("c", "patch", 2, Record::Intended { files: told });
    block_on(journal.intend(intent, images.into_iter().flatten().collect())).unwrap();
    reached("intended");
    for file in &files {
        match &file.staged {
            Some(staged) => std::fs::rename(staged, &file.place).unwrap(),
            None => std::fs::remove_file(&file.place).unwrap(),
        }
        reached("renamed");
    }
    commit(&journal, vec![entry("c", "patch", 3, finished("patch"))]).unwrap();
    reached("finished");
}

/// The nth file of the patch part, changed, created or deleted, and what it is to hold.
pub(crate) fn intended(root: &Path, n: usize) -> (Intended, Option<Vec<u8>>) {
    let place = root.join(format!("f{n}"));
    let (old, new) = (
        format!("old {n}").into_bytes(),
        format!("new {n}").into_bytes(),
    );
    let (before, after) = match n % 3 {
        0 => (Some(old), Some(new)),
        1 => (None, Some(new)),
        _ => (Some(old), None),
    };
    let file = Intended {
        path: format!("f{n}"),
        staged: after
            .is_some()
            .then(|| root.join(format!(".toolgate-{n}.tmp"))),
        place,
        before: before.map(Image::of),
        after: after.clone().map(|bytes| Image::of(bytes).sha256),
        mode: Some(0o644),
    };
    (file, after)
}
