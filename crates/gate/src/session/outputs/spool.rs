//! Text on its way to be kept.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::disk::{anonymous_file, make_directory};

/// So much stays in memory; most outputs never see a disk.
const IN_MEMORY: usize = 256 * 1024;
/// So much is kept in memory where a store's directory cannot be made.
const WITHOUT_DIRECTORY: u64 = 8 << 20;

/// A text of so many times the limit is a flood: nobody reads it, and it costs time and disk.
const FLOOD: u64 = 16;

/// A text that is still being written, within a limit.
///
/// It stays in memory while it is short and goes to a nameless file beyond that. Of a text
/// longer than the limit the first and the last half are kept, and what is missing between
/// them is counted and said.
#[derive(Debug)]
pub struct Spool {
    limit: u64,
    directory: Option<PathBuf>,
    /// Whether the directory is made when it is needed.
    makes: bool,
    total: u64,
    newlines: u64,
    ends_line: bool,
    memory: Vec<u8>,
    file: Option<File>,
    /// Where the head ends once it is full: not inside a character.
    head: Option<u64>,
    failed: Option<String>,
}

impl Spool {
    /// A spool of at most so many bytes that never leaves memory.
    pub fn in_memory(limit: u64) -> Self {
        Self {
            limit: limit.max(2),
            directory: None,
            makes: false,
            total: 0,
            newlines: 0,
            ends_line: true,
            memory: Vec::new(),
            file: None,
            head: None,
            failed: None,
        }
    }

    /// A spool of at most so many bytes; long text goes to a nameless file of this directory.
    pub fn on_disk(limit: u64, directory: &Path) -> Self {
        Self {
            directory: Some(directory.to_path_buf()),
            ..Self::in_memory(limit)
        }
    }

    /// The same in the directory of a store, which is made when it is needed. Where it cannot be
    /// made, less is kept, in memory.
    pub(super) fn in_store(limit: u64, directory: &Path) -> Self {
        Self {
            makes: true,
            ..Self::on_disk(limit, directory)
        }
    }

    /// Takes the next piece. What a disk refuses is lost, and [`Spool::failed`] says so.
    pub fn push(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        self.ends_line = rest.last().map_or(self.ends_line, |last| *last == b'\n');
        self.newlines += u64::try_from(memchr::memchr_iter(b'\n', rest).count()).unwrap_or(0);
        if self.failed.is_some() {
            self.total += len(rest);
            return;
        }
        if self.makes && self.total + len(rest) > IN_MEMORY as u64 {
            self.make_directory();
        }
        let half = self.limit / 2;
        if self.head.is_none() {
            let room = usize::try_from(half.saturating_sub(self.total)).unwrap_or(usize::MAX);
            let (first, after) = rest
                .split_at_checked(text.floor_char_boundary(room))
                .unwrap_or((rest, &[]));
            self.put(self.total, first);
            if !after.is_empty() {
                self.head = Some(self.total);
            }
            rest = after;
        }
        let Some(head) = self.head else { return };
        let ring = self.limit - head;
        // Of a piece longer than the ring only the end would stay.
        let skip = usize::try_from(len(rest).saturating_sub(ring)).unwrap_or(0);
        self.total += u64::try_from(skip).unwrap_or(0);
        rest = rest.get(skip..).unwrap_or_default();
        while !rest.is_empty() {
            let at = (self.total - head) % ring;
            let room = usize::try_from(ring - at).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.put(head + at, now);
            rest = later;
        }
    }

    /// Makes the directory, or does without it. Nothing was dropped so far.
    fn make_directory(&mut self) {
        self.makes = false;
        let made = self.directory.as_deref().map(make_directory);
        if !matches!(made, Some(Ok(()))) {
            self.directory = None;
            self.limit = self.limit.min(WITHOUT_DIRECTORY);
        }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.total += len(bytes);
        if let Err(error) = self.write(at, bytes) {
            self.failed = Some(error.to_string());
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let end = usize::try_from(at).unwrap_or(usize::MAX);
        let end = end.saturating_add(bytes.len());
        if self.file.is_none()
            && end > IN_MEMORY
            && let Some(directory) = &self.directory
        {
            let mut file = anonymous_file(directory)?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(at))?;
            return file.write_all(bytes);
        }
        if self.memory.len() < end {
            self.memory.resize(end, 0);
        }
        let from = end - bytes.len();
        if let Some(room) = self.memory.get_mut(from..end) {
            room.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// How many bytes were written to it.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether so much was written that it is no use to wait for more.
    pub fn is_flooded(&self) -> bool {
        self.total > self.limit.saturating_mul(FLOOD)
    }

    /// How many lines were ended.
    pub fn newlines(&self) -> u64 {
        self.newlines
    }

    /// Whether the last line is ended, or there is none.
    pub fn ends_line(&self) -> bool {
        self.ends_line
    }

    /// How many bytes of the middle are gone.
    pub fn dropped(&self) -> u64 {
        if self.failed.is_some() {
            return self.total;
        }
        self.total.saturating_sub(self.limit)
    }

    /// Why nothing more could be written, if that happened.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Whole characters from a byte on, at most `room` bytes of them, and where to go on.
    /// Where the middle is gone a line says so, and the text goes on behind it.
    pub fn read_from(&mut self, from: u64, room: usize) -> io::Result<(String, u64)> {
        if let Some(why) = &self.failed {
            return Ok((format!("[this output was not kept: {why}]\n"), self.total));
        }
        let (head, gone_to) = (self.head.unwrap_or(self.total), self.tail_start());
        let mut text = String::new();
        let mut at = from;
        if self.dropped() > 0 && at >= head && at < gone_to {
            text = format!("[{} bytes are missing here]\n", gone_to - at);
            at = gone_to;
        }
        let end = if at < head { head } else { self.total };
        let most = room.saturating_sub(text.len());
        let mut bytes = Vec::new();
        let want = end.saturating_sub(at);
        self.copy(
            at,
            want.min(u64::try_from(most).unwrap_or(u64::MAX)),
            &mut bytes,
        )?;
        let skip = bytes.iter().take_while(|byte| (**byte & 0xc0) == 0x80);
        let skip = skip.count();
        let rest = bytes.get(skip..).unwrap_or_default();
        let valid = match std::str::from_utf8(rest) {
            Ok(valid) => valid,
            Err(fault) => {
                let valid = rest.get(..fault.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(valid).unwrap_or_default()
            }
        };
        text.push_str(valid);
        let taken = skip.saturating_add(valid.len());
        Ok((text, at + u64::try_from(taken).unwrap_or(0)))
    }

    /// The first byte behind the gap.
    fn tail_start(&self) -> u64 {
        let head = self.head.unwrap_or(self.total);
        head.max(self.total.saturating_sub(self.limit - head.min(self.limit)))
    }

    /// Bytes by their place in the whole text. They are all in the head, or all behind the gap.
    fn copy(&mut self, from: u64, count: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let mut parts = VecDeque::new();
        match self.head {
            Some(head) if from >= head => {
                let ring = self.limit - head;
                let start = (from - head) % ring;
                let first = count.min(ring - start);
                parts.push_back(Part::Kept(head + start, head + start + first));
                parts.push_back(Part::Kept(head, head + (count - first)));
            }
            _ => parts.push_back(Part::Kept(from, from + count)),
        }
        let mut reader = SpoolReader {
            spool: Held::Lent(self),
            parts,
            seek_boundary: false,
        };
        reader.read_to_end(out).map(drop)
    }

    /// What is there from its start, with a line where something is missing.
    pub fn reader(&mut self) -> SpoolReader<'_> {
        let parts = self.parts();
        SpoolReader {
            spool: Held::Lent(self),
            parts,
            seek_boundary: false,
        }
    }

    /// The same, with the spool in it.
    pub fn into_reader(self) -> SpoolReader<'static> {
        let parts = self.parts();
        SpoolReader {
            spool: Held::Own(Box::new(self)),
            parts,
            seek_boundary: false,
        }
    }

    fn parts(&self) -> VecDeque<Part> {
        let mut parts = VecDeque::new();
        let head = self.head.unwrap_or(self.total).min(self.total);
        if let Some(why) = &self.failed {
            let note = format!("[nothing was kept of this output: {why}]\n");
            parts.push_back(Part::Note(note.into_bytes()));
        } else if self.dropped() == 0 {
            parts.push_back(Part::Kept(0, self.total));
        } else {
            let ring = self.limit - head;
            let start = (self.total - head) % ring;
            parts.push_back(Part::Kept(0, head));
            let note = format!(
                "\n[{} bytes are missing here: more than the quota of {} was written]\n",
                self.dropped(),
                self.limit
            );
            parts.push_back(Part::Note(note.into_bytes()));
            parts.push_back(Part::Boundary);
            parts.push_back(Part::Kept(head + start, self.limit));
            parts.push_back(Part::Kept(head, head + start));
        }
        parts
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
enum Part {
    Kept(u64, u64),
    Note(Vec<u8>),
    /// What follows may begin inside a character.
    Boundary,
}

/// Reads a [`Spool`] from its start.
#[derive(Debug)]
pub struct SpoolReader<'s> {
    spool: Held<'s>,
    parts: VecDeque<Part>,
    seek_boundary: bool,
}

#[derive(Debug)]
enum Held<'s> {
    Lent(&'s mut Spool),
    Own(Box<Spool>),
}

impl Held<'_> {
    fn spool(&mut self) -> &mut Spool {
        match self {
            Self::Lent(spool) => spool,
            Self::Own(spool) => spool,
        }
    }
}

impl SpoolReader<'_> {
    fn some(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = self.parts.front_mut() {
            match part {
                Part::Boundary => self.seek_boundary = true,
                Part::Note(bytes) if !bytes.is_empty() => {
                    let count = bytes.len().min(out.len());
                    let taken: Vec<u8> = bytes.drain(..count).collect();
                    if let Some(room) = out.get_mut(..count) {
                        room.copy_from_slice(&taken);
                    }
                    return Ok(count);
                }
                Part::Kept(from, to) if *from < *to => {
                    let most = usize::try_from(*to - *from).unwrap_or(usize::MAX);
                    let room = most.min(out.len());
                    let Some(out) = out.get_mut(..room) else {
                        return Ok(0);
                    };
                    let spool = self.spool.spool();
                    let count = match &mut spool.file {
                        Some(file) => {
                            file.seek(SeekFrom::Start(*from))?;
                            file.read(out)?
                        }
                        None => {
                            let at = usize::try_from(*from).unwrap_or(usize::MAX);
                            let mut rest = spool.memory.get(at..).unwrap_or_default();
                            rest.read(out)?
                        }
                    };
                    *from += len(out.get(..count).unwrap_or_default());
                    if count > 0 {
                        return Ok(count);
                    }
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Part::Note(_) | Part::Kept(..) => {}
            }
            self.parts.pop_front();
        }
        Ok(0)
    }
}

impl Read for SpoolReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let count = self.some(out)?;
            if !self.seek_boundary || count == 0 {
                return Ok(count);
            }
            // Continuation bytes of a character whose start is gone.
            let got = out.get(..count).unwrap_or_default();
            let skip = got.iter().take_while(|byte| (**byte & 0xc0) == 0x80);
            let skip = skip.count();
            if skip < count {
                self.seek_boundary = false;
                out.copy_within(skip..count, 0);
                return Ok(count - skip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(spool: &mut Spool) -> String {
        let mut text = String::new();
        spool.reader().read_to_string(&mut text).unwrap();
        text
    }

    /// What stands before and behind the line about a gap.
    fn around_the_gap(text: &str) -> Option<(&str, &str)> {
        let (before, rest) = text.split_once('[')?;
        let (_, behind) = rest.split_once(" bytes are missing here]\n")?;
        Some((before, behind))
    }

    #[test]
    fn long_text_goes_to_disk_and_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::on_disk(10 << 20, directory.path());
        let line = "0123456789abcdef\n";
        for _ in 0..100_000 {
            spool.push(line);
        }
        assert!(spool.file.is_some() && spool.memory.is_empty());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(read(&mut spool), line.repeat(100_000));
        assert_eq!((spool.dropped(), spool.newlines()), (0, 100_000));
        spool.push("end");
        assert!(read(&mut spool).ends_with("\nend"));
    }

    #[test]
    fn a_disk_that_refuses_is_said() {
        let mut spool = Spool::on_disk(10 << 20, Path::new("/nowhere/at/all"));
        spool.push(&"x".repeat(IN_MEMORY));
        assert_eq!(spool.failed(), None);
        spool.push("y");
        assert!(spool.failed().is_some());
        assert!(read(&mut spool).starts_with("[nothing was kept of this output: "));
        assert_eq!(spool.dropped(), spool.total());
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(512))]

        #[test]
        fn within_the_limit_nothing_is_lost_and_beyond_it_head_and_tail_stay(
            limit in 2_u64..60,
            pieces in prop::collection::vec("[aé漢\n]{0,9}", 0..14),
        ) {
            let mut spool = Spool::in_memory(limit);
            let whole = pieces.concat();
            for piece in &pieces {
                spool.push(piece);
            }
            let kept = read(&mut spool);
            prop_assert_eq!(spool.total(), len(whole.as_bytes()));
            if spool.total() <= limit {
                prop_assert_eq!(&kept, &whole);
            } else {
                let note = format!("\n[{} bytes are missing here: more than the quota of {limit} was written]\n", spool.total() - limit);
                let (head, tail) = kept.split_once(&note).unwrap();
                prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
                let lost_at_cuts = limit - len(head.as_bytes()) - len(tail.as_bytes());
                prop_assert!(lost_at_cuts <= 3, "{lost_at_cuts}");
            }
            // Read in small steps it is the same text.
            let (mut at, mut steps) = (0, String::new());
            while at < spool.total() {
                let (text, next) = spool.read_from(at, 40).unwrap();
                prop_assert!(next > at);
                steps.push_str(&text);
                at = next;
            }
            let gap = around_the_gap(&steps);
            prop_assert_eq!(gap.is_some(), spool.dropped() > 0);
            if let Some((head, tail)) = gap {
                prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
            } else {
                prop_assert_eq!(steps, whole);
            }
        }
    }
}
