//! The record of a change that is being applied: lines of text in the private directory.
//!
//! ```text
//!  toolgate-layer 1
//!  root NUMBER DEVICE INODE PATH SLOTS      one line per root; paths in hexadecimal
//!  step ROOT KIND PATH BEFORE AFTER         one line per step, in order
//!  end STEPS                                a record without it is none
//! ```

use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;

use super::changes::EntryKind;
use super::step::{Ident, Step, StepKind};

const FIRST: &str = "toolgate-layer 1";

/// A root, as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootLine {
    pub(super) number: usize,
    /// Device and inode of the root.
    pub(super) id: (u64, u64),
    pub(super) path: PathBuf,
    /// The directory that holds the slots.
    pub(super) slots: PathBuf,
}

pub(super) fn encode(roots: &[RootLine], steps: &[Step]) -> String {
    let mut out = format!("{FIRST}\n");
    let hex = |path: &PathBuf| toolgate_model::hex::encode(path.as_os_str().as_bytes());
    for root in roots {
        let (device, inode) = root.id;
        let (path, slots) = (hex(&root.path), hex(&root.slots));
        let _ = writeln!(out, "root {} {device} {inode} {path} {slots}", root.number);
    }
    for step in steps {
        let kind = match step.kind {
            StepKind::Place => "place",
            StepKind::Swap => "swap",
            StepKind::Remove => "remove",
            StepKind::Attributes => "attributes",
            StepKind::Rewrite => "rewrite",
        };
        let path = toolgate_model::hex::encode(&step.path);
        let (before, after) = (ident(step.before.as_ref()), ident(step.after.as_ref()));
        // The root itself has an empty path, which would be no word.
        let _ = writeln!(out, "step {} {kind} /{path} {before} {after}", step.root);
    }
    let _ = writeln!(out, "end {}", steps.len());
    out
}

/// Reads a record; none if it is not whole.
pub(super) fn decode(text: &str) -> Option<(Vec<RootLine>, Vec<Step>)> {
    let mut lines = text.lines();
    (lines.next()? == FIRST).then_some(())?;
    let (mut roots, mut steps) = (Vec::new(), Vec::new());
    for line in lines.by_ref() {
        let mut words = line.split(' ');
        match words.next()? {
            "root" => roots.push(RootLine {
                number: number(words.next())?,
                id: (number(words.next())?, number(words.next())?),
                path: path(words.next()?)?,
                slots: path(words.next()?)?,
            }),
            "step" => {
                let step = step(&mut words)?;
                (step.root < roots.len()).then_some(())?;
                steps.push(step);
            }
            "end" => {
                let all: usize = number(words.next())?;
                let whole = all == steps.len() && lines.next().is_none();
                return whole.then_some((roots, steps));
            }
            _ => return None,
        }
        words.next().is_none().then_some(())?;
    }
    None
}

fn step<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Step> {
    Some(Step {
        root: number(words.next())?,
        kind: match words.next()? {
            "place" => StepKind::Place,
            "swap" => StepKind::Swap,
            "remove" => StepKind::Remove,
            "attributes" => StepKind::Attributes,
            "rewrite" => StepKind::Rewrite,
            _ => return None,
        },
        path: toolgate_model::hex::decode(words.next()?.strip_prefix('/')?)?,
        before: read_ident(words.next()?)?,
        after: read_ident(words.next()?)?,
    })
}

fn number<T: FromStr>(word: Option<&str>) -> Option<T> {
    word?.parse().ok()
}

fn path(word: &str) -> Option<PathBuf> {
    let bytes = toolgate_model::hex::decode(word)?;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

const KINDS: [(EntryKind, &str); 6] = [
    (EntryKind::File, "file"),
    (EntryKind::Directory, "directory"),
    (EntryKind::Symlink, "symlink"),
    (EntryKind::Fifo, "fifo"),
    (EntryKind::Socket, "socket"),
    (EntryKind::Other, "other"),
];

fn ident(ident: Option<&Ident>) -> String {
    let Some(one) = ident else {
        return "-".to_owned();
    };
    let kind = KINDS.iter().find(|(kind, _)| *kind == one.kind);
    format!(
        "{},{},{},{},{},{},{},{}",
        kind.map_or("other", |(_, name)| name),
        one.inode,
        one.size,
        one.mode,
        one.uid,
        one.gid,
        one.modified.0,
        one.modified.1
    )
}

#[allow(clippy::option_option, reason = "no entry, or no record")]
fn read_ident(word: &str) -> Option<Option<Ident>> {
    if word == "-" {
        return Some(None);
    }
    let mut parts = word.split(',');
    let kind = parts.next()?;
    let (kind, _) = KINDS.iter().find(|(_, name)| *name == kind)?;
    let ident = Ident {
        kind: *kind,
        inode: number(parts.next())?,
        size: number(parts.next())?,
        mode: number(parts.next())?,
        uid: number(parts.next())?,
        gid: number(parts.next())?,
        modified: (number(parts.next())?, number(parts.next())?),
    };
    parts.next().is_none().then_some(Some(ident))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Vec<RootLine>, Vec<Step>) {
        let root = RootLine {
            number: 2,
            id: (1, u64::MAX),
            path: "/a b/\u{e4}".into(),
            slots: std::ffi::OsString::from_vec(b"/\xff\n".to_vec()).into(),
        };
        let one = Ident {
            kind: EntryKind::Symlink,
            inode: 7,
            size: 8,
            mode: 0o4755,
            uid: 9,
            gid: 10,
            modified: (-5, 11),
        };
        let step = |kind, path: &[u8], before, after| Step {
            root: 0,
            path: path.to_vec(),
            kind,
            before,
            after,
        };
        let steps = vec![
            step(StepKind::Place, b"x\xfe y", None, Some(one)),
            step(StepKind::Swap, b"s", Some(one), Some(one)),
            step(StepKind::Remove, b"r", Some(one), None),
            step(StepKind::Attributes, b"", Some(one), Some(one)),
            step(StepKind::Rewrite, b"w/\n", Some(one), Some(one)),
        ];
        (vec![root], steps)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (roots, steps) = example();
        let text = encode(&roots, &steps);
        assert_eq!(decode(&text), Some((roots, steps)));
    }

    #[test]
    fn a_record_that_is_cut_off_or_changed_is_none() {
        let (roots, steps) = example();
        let text = encode(&roots, &steps);
        for length in 0..text.len() - 1 {
            assert_eq!(text.get(..length).and_then(decode), None, "{length}");
        }
        for (from, to) in [
            ("layer 1", "layer 2"),
            ("step 0", "step 1"),
            ("end 5", "end 4"),
            ("place", "put"),
            ("symlink,7", "symlink,x"),
            ("root 2", "roots 2"),
        ] {
            assert!(text.contains(from));
            assert_eq!(decode(&text.replacen(from, to, 1)), None, "{from}");
        }
        assert_eq!(decode(&format!("{text}end 5\n")), None);
    }
}
