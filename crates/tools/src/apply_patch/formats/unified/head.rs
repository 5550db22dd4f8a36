//! The names and modes above the hunks of a file.

use super::super::error::PatchError;
use super::super::lines::Lines;
use super::super::quote;
use super::{FileDiff, Relation};

/// Letters that programs put in front of names; git's own, and those of its options.
const PREFIXES: &str = "abciow12";

/// Whether a text has the names of a file somewhere, as diffs have them.
pub(crate) fn has_header(text: &str) -> bool {
    let mut lines = Lines::of(text);
    while lines.peek().is_some() {
        if is_git(&lines) || is_plain(&lines) || is_hunk(&lines) {
            return true;
        }
        lines.skip();
    }
    false
}

fn is_git(lines: &Lines<'_>) -> bool {
    lines
        .peek()
        .is_some_and(|line| line.starts_with("diff --git "))
}

fn is_plain(lines: &Lines<'_>) -> bool {
    let starts = |line: Option<&str>, with: &str| line.is_some_and(|line| line.starts_with(with));
    starts(lines.peek(), "--- ") && starts(lines.second(), "+++ ")
}

fn is_hunk(lines: &Lines<'_>) -> bool {
    lines.peek().is_some_and(|line| line.starts_with("@@ -"))
}

/// Reads the names of a file, if they come next.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Option<FileDiff>, PatchError> {
    if is_git(lines) {
        return git(lines).map(Some);
    }
    if is_plain(lines) {
        let number = lines.number();
        let (old, new) = sides(lines)?;
        return plain(number, &old, &new).map(Some);
    }
    Ok(None)
}

/// One of the two names above the hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    /// Nothing for `/dev/null`.
    name: Option<String>,
    /// A file of 1970 is no file.
    epoch: bool,
}

/// Reads `--- name` and `+++ name`.
fn sides(lines: &mut Lines<'_>) -> Result<(Side, Side), PatchError> {
    let mut one = |keyword: &str| {
        let Some((number, line)) = lines.next() else {
            return Err(PatchError::syntax(lines.number(), "the patch ends here"));
        };
        let text = line.strip_prefix(keyword).unwrap_or_default();
        side(text).map_err(|what| PatchError::syntax(number, what))
    };
    Ok((one("--- ")?, one("+++ ")?))
}

fn side(text: &str) -> Result<Side, &'static str> {
    let text = text.trim_end_matches('\r');
    let (name, time) = if let Some(quoted) = text.strip_prefix('"') {
        quote::read_c(quoted)?
    } else {
        let (name, time) = text.split_once('\t').unwrap_or((text, ""));
        (name.trim_end().to_owned(), time)
    };
    if name.is_empty() {
        return Err("a name is missing");
    }
    let time = time.trim();
    Ok(Side {
        name: (name != "/dev/null").then_some(name),
        epoch: time.starts_with("1970-01-01 ") || time.starts_with("1969-12-31 "),
    })
}

/// A diff without git's header.
fn plain(number: usize, old: &Side, new: &Side) -> Result<FileDiff, PatchError> {
    let mut file = FileDiff {
        line: number,
        ..FileDiff::default()
    };
    let (before, after) = match (&old.name, &new.name) {
        (Some(old), Some(new)) => {
            let (old, new) = strip_both(old, new);
            let name = one_name(old, new).ok_or_else(|| {
                let what = format!(
                    "the names {old:?} and {new:?} are not the same file. Use one name on both lines, or `rename from` and `rename to` below `diff --git`"
                );
                PatchError::syntax(number, what)
            })?;
            (Some(name), Some(name))
        }
        (Some(old), None) => (Some(strip(old, "a/")), None),
        (None, Some(new)) => (None, Some(strip(new, "b/"))),
        (None, None) => (None, None),
    };
    file.old = before.filter(|_| !old.epoch).map(str::to_owned);
    file.new = after.filter(|_| !new.epoch).map(str::to_owned);
    Ok(file)
}

/// The name that two names of one file mean: a copy kept beside it is not meant.
fn one_name<'n>(old: &'n str, new: &'n str) -> Option<&'n str> {
    let kept = [".orig", ".old", ".bak", "~"];
    let is_kept = kept.iter().any(|end| old.strip_suffix(end) == Some(new));
    (old == new || is_kept).then_some(new)
}

fn strip<'n>(name: &'n str, prefix: &str) -> &'n str {
    name.strip_prefix(prefix).unwrap_or(name)
}

/// Both names without the prefixes that tell them apart.
fn strip_both<'n>(old: &'n str, new: &'n str) -> (&'n str, &'n str) {
    let parts = |name: &'n str| {
        let (prefix, rest) = name.split_once('/')?;
        let known = prefix.len() == 1 && PREFIXES.contains(prefix);
        known.then_some((prefix, rest))
    };
    match (parts(old), parts(new)) {
        (Some((one, left)), Some((other, right))) if one != other => (left, right),
        _ => (old, new),
    }
}

/// A diff with git's header.
fn git(lines: &mut Lines<'_>) -> Result<FileDiff, PatchError> {
    let Some((number, first)) = lines.next() else {
        return Err(PatchError::syntax(lines.number(), "the patch ends here"));
    };
    let names = first.strip_prefix("diff --git ").unwrap_or_default();
    let mut header = Header::default();
    let mut shown = None;
    while let Some(line) = lines.peek() {
        let at = lines.number();
        let wrong = |what: &str| PatchError::syntax(at, what);
        if is_plain(lines) {
            shown = Some(sides(lines)?);
            break;
        }
        if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(wrong(
                "the diff is of a binary file, and patches are for text",
            ));
        }
        if !header.take(line.trim_end_matches('\r')).map_err(wrong)? {
            break;
        }
        lines.skip();
    }
    header.file(number, names, shown)
}

/// What git says about a file besides its lines.
#[derive(Debug, Default)]
struct Header {
    old_mode: Option<bool>,
    new_mode: Option<bool>,
    is_new: bool,
    is_deleted: bool,
    from: Option<String>,
    to: Option<String>,
    relation: Relation,
}

impl Header {
    /// Takes one line; says whether it belongs here.
    fn take(&mut self, line: &str) -> Result<bool, &'static str> {
        let after = |keyword: &str| line.strip_prefix(keyword);
        if let Some(mode) = after("old mode ") {
            self.old_mode = Some(executable(mode)?);
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = Some(executable(mode)?);
        } else if let Some(mode) = after("new file mode ") {
            self.is_new = true;
            self.new_mode = Some(executable(mode)?);
        } else if let Some(mode) = after("deleted file mode ") {
            self.is_deleted = true;
            executable(mode)?;
        } else if let Some(name) = after("rename from ").or(after("rename old ")) {
            self.relation = Relation::Rename;
            self.from = Some(bare(name)?);
        } else if let Some(name) = after("rename to ").or(after("rename new ")) {
            self.to = Some(bare(name)?);
        } else if let Some(name) = after("copy from ") {
            self.relation = Relation::Copy;
            self.from = Some(bare(name)?);
        } else if let Some(name) = after("copy to ") {
            self.to = Some(bare(name)?);
        } else {
            let said = ["index ", "similarity index ", "dissimilarity index "];
            return Ok(said.iter().any(|keyword| line.starts_with(keyword)));
        }
        Ok(true)
    }

    /// The file that header and names make together.
    fn file(
        self,
        number: usize,
        names: &str,
        shown: Option<(Side, Side)>,
    ) -> Result<FileDiff, PatchError> {
        let wrong = |what: &str| PatchError::syntax(number, what);
        let mut file = FileDiff {
            line: number,
            relation: self.relation,
            ..FileDiff::default()
        };
        // A new file can be run or not; another one only changes.
        file.executable = match (self.old_mode, self.new_mode) {
            (old, Some(new)) if old != Some(new) => Some(new).filter(|new| !self.is_new || *new),
            _ => None,
        };
        if self.relation != Relation::Same {
            let (Some(from), Some(to)) = (self.from, self.to) else {
                return Err(wrong("a rename or copy has both a `from` and a `to`"));
            };
            if let Some((
                Side {
                    name: Some(old), ..
                },
                Side {
                    name: Some(new), ..
                },
            )) = &shown
            {
                let named = strip_both(old, new);
                if named != (from.as_str(), to.as_str()) && (old, new) != (&from, &to) {
                    return Err(wrong(OTHER_NAMES));
                }
            }
            (file.old, file.new) = (Some(from), Some(to));
            return Ok(file);
        }
        let (old, new) = match shown {
            Some((old, new)) => (old.name, new.name),
            None => {
                let (old, new) = both(names).map_err(wrong)?;
                (Some(old), Some(new))
            }
        };
        match (old, new) {
            (Some(old), Some(new)) => {
                let (old, new) = strip_both(&old, &new);
                if old != new {
                    return Err(wrong(
                        "the two names differ, and neither `rename from` nor `copy from` says why",
                    ));
                }
                let header = both(names).ok();
                let differs =
                    |(left, right): (String, String)| strip_both(&left, &right) != (old, new);
                if header.is_some_and(differs) {
                    return Err(wrong(OTHER_NAMES));
                }
                file.old = (!self.is_new).then(|| old.to_owned());
                file.new = (!self.is_deleted).then(|| new.to_owned());
            }
            // The name on the other side of /dev/null has a prefix if the header's names have.
            (Some(old), None) => file.old = Some(alone(&old, names, "a/").map_err(wrong)?),
            (None, Some(new)) => file.new = Some(alone(&new, names, "b/").map_err(wrong)?),
            (None, None) => {}
        }
        if file.new.is_none() {
            file.executable = None;
        }
        Ok(file)
    }
}

const OTHER_NAMES: &str =
    "the names on the lines `---` and `+++` are not those of the header above them";

/// A name without its prefix, where there is no other to compare it with.
fn alone(name: &str, header: &str, prefix: &str) -> Result<String, &'static str> {
    let Ok((old, new)) = both(header) else {
        return Ok(strip(name, prefix).to_owned());
    };
    let (left, right) = strip_both(&old, &new);
    match name {
        _ if name == old => Ok(left.to_owned()),
        _ if name == new => Ok(right.to_owned()),
        _ => Err(OTHER_NAMES),
    }
}

/// The two names behind `diff --git`.
fn both(names: &str) -> Result<(String, String), &'static str> {
    let names = names.trim_end_matches('\r');
    if let Some(quoted) = names.strip_prefix('"') {
        let (old, rest) = quote::read_c(quoted)?;
        let rest = rest.strip_prefix(' ').ok_or("a name is missing")?;
        return Ok((old, bare(rest)?));
    }
    if let Some((old, quoted)) = names.split_once(" \"") {
        let (new, _) = quote::read_c(quoted)?;
        return Ok((old.to_owned(), new));
    }
    // Names may have blanks: the cut is where both sides are the same but for the prefix.
    let cuts = names.match_indices(' ').filter_map(|(at, _)| {
        let (old, new) = names.split_at(at);
        Some((old, new.strip_prefix(' ')?))
    });
    let same = |(old, new): &(&str, &str)| {
        let (left, right) = strip_both(old, new);
        left == right
    };
    let found = cuts.clone().find(same).or_else(|| {
        let mut cuts = cuts;
        cuts.next()
    });
    found
        .map(|(old, new)| (old.to_owned(), new.to_owned()))
        .ok_or("two names are expected behind `diff --git`")
}

/// A name without a prefix, in quotes or not.
fn bare(text: &str) -> Result<String, &'static str> {
    match text.strip_prefix('"') {
        Some(quoted) => quote::read_c(quoted).map(|(name, _)| name),
        None if text.is_empty() => Err("a name is missing"),
        None => Ok(text.to_owned()),
    }
}

/// Whether a mode lets somebody run the file; links and other things are no files.
fn executable(mode: &str) -> Result<bool, &'static str> {
    let bits = u32::from_str_radix(mode.trim(), 8).map_err(|_| "the mode is no octal number")?;
    match bits & 0o170_000 {
        0 | 0o100_000 => Ok(bits & 0o111 != 0),
        _ => Err("the diff is of a link or a submodule; only files are patched"),
    }
}
