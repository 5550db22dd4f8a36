//! Guarded names that existed before the commands that run now.
//!
//! New guarded names are moved aside after a command. If the program is killed before, the next
//! start does it, with the list that is stored here. The list is in a file of the process,
//! behind a byte that says whether a command runs; it is written only where it changed.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::records::Record;
use crate::command::caller::search::found::{Found, Guarded, Identity, Link, Why};
use crate::command::caller::search::planted::Judged;
use crate::command::protocol::message::Reader;

const PREFIX: &str = "commands-";
/// The first byte while no command runs, and while one does.
const IDLE: &[u8] = b"0";
const RUNNING: &[u8] = b"2";

/// The guarded names of one tree.
#[derive(Debug)]
pub(crate) struct Stood {
    pub(crate) tree: PathBuf,
    pub(crate) found: Found,
}

/// The list of this process.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    record: Record,
    /// The commands that run, the oldest first, with the guarded names before them.
    running: Vec<(u64, Vec<u8>)>,
    next: u64,
    /// The content of the file.
    written: Vec<u8>,
}

/// A command that is on the list.
#[derive(Debug)]
pub(crate) struct Listed(u64);

impl Baseline {
    /// Opens a file in this directory. Gives the lists of processes that were killed while a
    /// command ran.
    pub(crate) fn open(directory: Option<&Path>) -> std::io::Result<(Self, Vec<LeftBehind>)> {
        let Some(directory) = directory else {
            return Ok(Default::default());
        };
        let mut left = Vec::new();
        let record = Record::open(directory, PREFIX, |mut record| {
            let mut bytes = Vec::new();
            record.file.read_to_end(&mut bytes)?;
            match bytes.strip_prefix(RUNNING).map(decode) {
                Some(Some(stood)) => left.push(LeftBehind { record, stood }),
                // No command ran.
                _ => record.remove()?,
            }
            Ok(())
        })?;
        let state = State {
            record,
            running: Vec::new(),
            next: 0,
            written: Vec::new(),
        };
        let state = Some(Mutex::new(state));
        Ok((Self { state }, left))
    }

    /// Puts a command on the list, before it begins.
    pub(crate) fn begin<'a>(
        &self,
        stood: impl Iterator<Item = (&'a Path, &'a Found)>,
    ) -> std::io::Result<Listed> {
        let Some(state) = &self.state else {
            return Ok(Listed(0));
        };
        let mut state = lock(state);
        let number = state.next;
        state.next += 1;
        state.running.push((number, encode(stood)));
        if let Err(error) = state.write() {
            state.running.pop();
            return Err(error);
        }
        Ok(Listed(number))
    }

    /// Takes a command off the list, once what it made was looked at.
    pub(crate) fn end(&self, listed: &Listed) {
        if let Some(state) = &self.state {
            let mut state = lock(state);
            state.running.retain(|(number, _)| *number != listed.0);
            // If this fails, the next start looks once more than necessary.
            let _ = state.write();
        }
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            let state = lock(state);
            if state.running.is_empty() {
                let _ = state.record.remove();
            }
        }
    }
}

impl State {
    fn write(&mut self) -> std::io::Result<()> {
        let Some((_, body)) = self.running.first() else {
            return self.record.file.write_all_at(IDLE, 0);
        };
        if self.written == *body {
            return self.record.file.write_all_at(RUNNING, 0);
        }
        // In one step: a list that is half written would be taken for none.
        self.record.replace(&[RUNNING, body])?;
        self.written = body.clone();
        Ok(())
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list of a process that was killed while a command ran.
#[derive(Debug)]
pub(crate) struct LeftBehind {
    record: Record,
    pub(crate) stood: Vec<Stood>,
}

impl LeftBehind {
    /// Forgets it, once everything on it was looked at.
    pub(crate) fn forget(&self) -> std::io::Result<()> {
        self.record.remove()
    }
}

fn encode<'a>(stood: impl Iterator<Item = (&'a Path, &'a Found)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (tree, found) in stood {
        put(&mut out, tree.as_os_str().as_bytes());
        put_count(&mut out, found.guarded.len());
        for guarded in &found.guarded {
            put(&mut out, &guarded.path);
            out.push(u8::from(guarded.why == Why::Unsearchable));
            out.extend(guarded.id.device.to_le_bytes());
            out.extend(guarded.id.inode.to_le_bytes());
            put_time(&mut out, guarded.id.born);
            out.push(u8::from(guarded.link.is_some()));
            if let Some(link) = &guarded.link {
                put_time(&mut out, link.changed);
                put(&mut out, &link.target);
            }
        }
        let obeyed = found.judged.iter();
        let obeyed: Vec<_> = obeyed.filter(|(_, of)| !of.obeyed.is_empty()).collect();
        put_count(&mut out, obeyed.len());
        for (path, judged) in obeyed {
            put(&mut out, path);
            put_all(&mut out, &judged.obeyed);
        }
        put_all(&mut out, &found.marks);
        put_all(&mut out, &found.repositories);
    }
    out
}

fn put_all(out: &mut Vec<u8>, texts: &BTreeSet<Vec<u8>>) {
    put_count(out, texts.len());
    texts.iter().for_each(|text| put(out, text));
}

fn all(rest: &mut Reader<'_>) -> Option<BTreeSet<Vec<u8>>> {
    let mut texts = BTreeSet::new();
    for _ in 0..rest.u32().ok()? {
        texts.insert(rest.text().ok()?);
    }
    Some(texts)
}

/// Lengths are below four gibibytes: they are of paths, and of lists of them in memory.
fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(out: &mut Vec<u8>, text: &[u8]) {
    put_count(out, text.len());
    out.extend(text);
}

fn put_time(out: &mut Vec<u8>, (seconds, nanos): (i64, u32)) {
    out.extend(seconds.to_le_bytes());
    out.extend(nanos.to_le_bytes());
}

fn decode(bytes: &[u8]) -> Option<Vec<Stood>> {
    let mut rest = Reader(bytes);
    let mut stood = Vec::new();
    while !rest.0.is_empty() {
        stood.push(one(&mut rest)?);
    }
    Some(stood)
}

fn one(rest: &mut Reader<'_>) -> Option<Stood> {
    let tree = rest.text().ok()?;
    let mut found = Found::default();
    for _ in 0..rest.u32().ok()? {
        found.guarded.push(Guarded {
            also: None,
            led_to: false,
            path: rest.text().ok()?,
            why: match rest.flag().ok()? {
                true => Why::Unsearchable,
                // Which rule it was does not matter any more.
                false => Why::Own,
            },
            id: Identity {
                device: rest.u64().ok()?,
                inode: rest.u64().ok()?,
                born: time(rest)?,
            },
            link: match rest.flag().ok()? {
                true => Some(Link {
                    changed: time(rest)?,
                    target: rest.text().ok()?,
                }),
                false => None,
            },
        });
    }
    for _ in 0..rest.u32().ok()? {
        let path = rest.text().ok()?;
        found.judged.insert(path, Judged::said(all(rest)?));
    }
    found.marks = all(rest)?;
    found.repositories = all(rest)?;
    let tree = PathBuf::from(std::ffi::OsStr::from_bytes(&tree));
    Some(Stood { tree, found })
}

fn time(rest: &mut Reader<'_>) -> Option<(i64, u32)> {
    let seconds = i64::from_le_bytes(rest.array().ok()?);
    Some((seconds, rest.u32().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn guarded() -> impl Strategy<Value = Guarded> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..20);
        let link = prop::option::of((any::<(i64, u32)>(), bytes()));
        let id = (any::<u64>(), any::<u64>(), any::<(i64, u32)>());
        let why = prop::sample::select(vec![Why::Unsearchable, Why::Own]);
        (bytes(), why, id, link).prop_map(|(path, why, (device, inode, born), link)| Guarded {
            also: None,
            led_to: false,
            path,
            why,
            id: Identity {
                device,
                inode,
                born,
            },
            link: link.map(|(changed, target)| Link { changed, target }),
        })
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn a_list_is_read_as_it_was_written(
            trees in prop::collection::vec(prop::collection::vec(guarded(), 0..5), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let trees: Vec<Found> = trees
                .into_iter()
                .map(|guarded| Found { guarded, ..Found::default() })
                .collect();
            let bytes = encode(trees.iter().map(|found| (Path::new("/tree"), found)));
            let read = decode(&bytes).expect("a list");
            prop_assert_eq!(read.len(), trees.len());
            for (read, written) in read.iter().zip(&trees) {
                prop_assert_eq!(&read.found.guarded, &written.guarded);
            }
            // Half a list is no list, or a shorter one: never something else.
            let at = cut.index(bytes.len() + 1);
            if let Some(read) = decode(bytes.get(..at).unwrap_or_default()) {
                prop_assert!(read.len() <= trees.len());
            }
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }

    /// The first byte and the list of a record.
    fn read(path: &Path) -> (Option<u8>, Option<usize>) {
        let bytes = std::fs::read(path).unwrap_or_default();
        let list = bytes.strip_prefix(RUNNING).and_then(decode);
        (bytes.first().copied(), list.map(|list| list.len()))
    }

    fn trees(count: usize) -> Vec<Found> {
        let path = vec![b'x'; 100_000];
        let guarded = vec![Guarded::new(path, Why::Own, Identity::default())];
        let found = Found {
            guarded,
            ..Found::default()
        };
        vec![found; count]
    }

    fn begin(baseline: &Baseline, count: usize) -> Listed {
        let trees = trees(count);
        let trees = trees.iter().map(|found| (Path::new("/tree"), found));
        baseline.begin(trees).expect("a record")
    }

    fn record_in(directory: &Path) -> PathBuf {
        let entries = std::fs::read_dir(directory).expect("records").flatten();
        let mut paths = entries.map(|entry| entry.path());
        let is_one = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.as_bytes().starts_with(PREFIX.as_bytes())
        };
        paths.find(is_one).expect("a record")
    }

    #[test]
    fn a_list_is_replaced_and_never_half_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let (baseline, _) = Baseline::open(Some(directory.path())).expect("a baseline");
        let record = record_in(directory.path());
        let first = begin(&baseline, 1);
        let held = std::fs::File::open(&record).expect("a record");
        let second = begin(&baseline, 2);
        assert_eq!(read(&record), (Some(b'2'), Some(1)));
        baseline.end(&first);
        assert_eq!(read(&record), (Some(b'2'), Some(2)));
        // The file that a kill in between would have left is whole.
        let mut bytes = Vec::new();
        (&held).read_to_end(&mut bytes).expect("the old list");
        assert_eq!(
            bytes
                .strip_prefix(RUNNING)
                .and_then(decode)
                .map(|l| l.len()),
            Some(1)
        );
        baseline.end(&second);
        assert_eq!(read(&record).0, Some(b'0'));
        drop(baseline);
        assert!(!record.exists());
    }

    #[test]
    fn a_list_that_is_replaced_is_never_missing() {
        let directory = tempfile::tempdir().expect("a directory");
        let (baseline, _) = Baseline::open(Some(directory.path())).expect("a baseline");
        let record = record_in(directory.path());
        let mut running = begin(&baseline, 1);
        let done = std::sync::atomic::AtomicBool::new(false);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut wrong = 0;
                while !done.load(order) {
                    wrong += usize::from(read(&record).1.is_none());
                }
                wrong
            });
            for count in 0..200 {
                let next = begin(&baseline, 1 + count % 3);
                baseline.end(&running);
                running = next;
            }
            done.store(true, order);
            assert_eq!(reader.join().expect("a reader"), 0);
        });
    }

    #[test]
    fn a_record_that_is_replaced_is_not_taken_for_one_left_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        let (baseline, _) = Baseline::open(Some(directory.path())).expect("a baseline");
        let mut running = begin(&baseline, 1);
        for count in 0..20 {
            let next = begin(&baseline, 1 + count % 3);
            baseline.end(&running);
            running = next;
            let (_other, left) = Baseline::open(Some(directory.path())).expect("another");
            assert!(left.is_empty(), "{left:?}");
        }
        // A process that was killed while it wrote the next list leaves this one.
        let record = record_in(directory.path());
        let next = directory.path().join(format!(
            "next-{}",
            record.file_name().unwrap_or_default().display()
        ));
        std::fs::write(&next, "2half").expect("half a list");
        let bytes = std::fs::read(&record).expect("a record");
        drop(baseline);
        std::fs::write(&record, bytes).expect("a record");
        let (_other, left) = Baseline::open(Some(directory.path())).expect("another");
        assert_eq!(left.len(), 1);
        left.iter().for_each(|left| left.forget().expect("removed"));
        assert!(!record.exists() && !next.exists());
    }
}
