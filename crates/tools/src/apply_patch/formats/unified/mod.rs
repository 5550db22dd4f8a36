//! Unified diffs, plain ones and git's.

mod body;
mod head;

use std::fmt;

use super::error::PatchError;
use super::lines::Lines;
use super::{Touched, quote};

pub(super) use head::has_header;

/// A unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unified {
    /// The files, in order.
    pub files: Vec<FileDiff>,
}

/// How the two names of a file belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// It is one file.
    #[default]
    Same,
    /// It is moved.
    Rename,
    /// It is copied.
    Copy,
}

/// What is done to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its line of the patch.
    pub line: usize,
    /// Its name before; nothing if it is made.
    pub old: Option<String>,
    /// Its name after; nothing if it is removed.
    pub new: Option<String>,
    /// How the names belong together.
    pub relation: Relation,
    /// Whether it can be run, if the patch says so.
    pub executable: Option<bool>,
    /// What changes in it.
    pub hunks: Vec<Hunk>,
}

/// One change within a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Its line of the patch.
    pub line: usize,
    /// Where it was in the old file, a hint: the first line, or the one before it if there is none.
    pub old_start: usize,
    /// Where it is in the new file.
    pub new_start: usize,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// The old file ends with the last of its lines, and without a newline.
    pub old_open: bool,
    /// The new file ends with the last of its lines, and without a newline.
    pub new_open: bool,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// It is there and stays.
    Context(String),
    /// It is there and goes.
    Remove(String),
    /// It comes.
    Add(String),
}

impl HunkLine {
    /// What it says.
    pub fn text(&self) -> &str {
        let (Self::Context(text) | Self::Remove(text) | Self::Add(text)) = self;
        text
    }
}

impl Hunk {
    /// How many lines it has in the old and in the new file.
    pub fn counts(&self) -> (usize, usize) {
        let count = |leaves_out: fn(&HunkLine) -> bool| {
            self.lines.iter().filter(|line| !leaves_out(line)).count()
        };
        (
            count(|line| matches!(line, HunkLine::Add(_))),
            count(|line| matches!(line, HunkLine::Remove(_))),
        )
    }
}

impl Unified {
    /// Reads a unified diff. Words around it, as in a mail, are passed over.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let mut lines = Lines::of(text);
        if Lines::all_cr(text) {
            // The patch itself came with these endings; they say nothing about the files.
            lines = lines.without_cr();
        }
        let mut files = Vec::new();
        while let Some(line) = lines.peek() {
            if let Some(mut file) = head::read(&mut lines)? {
                file.hunks = body::read(&mut lines)?;
                file.check()?;
                files.push(file);
            } else if line.starts_with("@@ ") {
                let what = "a hunk without the names of its file: `--- a/path` and `+++ b/path` come first";
                return Err(PatchError::syntax(lines.number(), what));
            } else {
                lines.skip();
            }
        }
        Ok(Self { files })
    }

    pub(super) fn touch(&self, touched: &mut Touched) {
        for file in &self.files {
            match (&file.old, &file.new, file.relation) {
                (Some(old), Some(new), Relation::Rename) => {
                    touched.delete(old);
                    touched.write(new);
                }
                (Some(old), Some(new), Relation::Copy) => {
                    touched.read(old);
                    touched.write(new);
                }
                (_, Some(new), _) => touched.write(new),
                (Some(old), None, _) => touched.delete(old),
                (None, None, _) => {}
            }
        }
    }
}

impl FileDiff {
    /// Whether names, hunks and modes make sense together.
    fn check(&self) -> Result<(), PatchError> {
        let wrong = |what: &str| Err(PatchError::syntax(self.line, what));
        if [&self.old, &self.new].contains(&&Some(String::new())) {
            return wrong("a name is missing");
        }
        match (&self.old, &self.new) {
            (None, None) => return wrong("both names are /dev/null"),
            (None, Some(_)) => {
                let only_adds = |hunk: &Hunk| hunk.counts().0 == 0;
                if self.hunks.len() > 1 || !self.hunks.iter().all(only_adds) {
                    return wrong("a new file has one hunk, of added lines only");
                }
            }
            (Some(_), None) => {
                if self.hunks.iter().any(|hunk| hunk.counts().1 > 0) {
                    return wrong("the hunks of a removed file only remove lines");
                }
            }
            (Some(_), Some(_)) => {
                let something = self.executable.is_some() || self.relation != Relation::Same;
                if self.hunks.is_empty() && !something {
                    return wrong("the file has no hunks: `@@ -1,3 +1,3 @@` and lines are missing");
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Unified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.iter().try_for_each(|file| file.fmt(f))
    }
}

/// A name with its prefix, in quotes where it needs them.
fn name(prefix: &str, path: &str) -> String {
    let whole = format!("{prefix}{path}");
    if quote::needs_c(&whole) {
        quote::c(&whole)
    } else {
        whole
    }
}

impl fmt::Display for FileDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let any = self.new.as_deref().or(self.old.as_deref());
        let any = any.unwrap_or_default();
        let old = self.old.as_deref().unwrap_or(any);
        let new = self.new.as_deref().unwrap_or(any);
        writeln!(f, "diff --git {} {}", name("a/", old), name("b/", new))?;
        let mode = match self.executable {
            Some(true) => "100755",
            _ => "100644",
        };
        match (&self.old, &self.new) {
            (None, _) => writeln!(f, "new file mode {mode}")?,
            (_, None) => writeln!(f, "deleted file mode {mode}")?,
            _ => {
                if let Some(executable) = self.executable {
                    let before = if executable { "100644" } else { "100755" };
                    writeln!(f, "old mode {before}\nnew mode {mode}")?;
                }
            }
        }
        let relation = match self.relation {
            Relation::Same => None,
            Relation::Rename => Some("rename"),
            Relation::Copy => Some("copy"),
        };
        if let Some(word) = relation {
            writeln!(f, "{word} from {}", name("", old))?;
            writeln!(f, "{word} to {}", name("", new))?;
        }
        if self.hunks.is_empty() {
            return Ok(());
        }
        let null = || "/dev/null".to_owned();
        let side = |prefix, path: &Option<String>| {
            let path = path.as_deref();
            path.map_or_else(null, |path| name(prefix, path))
        };
        writeln!(f, "--- {}", side("a/", &self.old))?;
        writeln!(f, "+++ {}", side("b/", &self.new))?;
        self.hunks.iter().try_for_each(|hunk| hunk.fmt(f))
    }
}

impl fmt::Display for Hunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = self.counts();
        let (a, c) = (self.old_start, self.new_start);
        writeln!(f, "@@ -{a},{old} +{c},{new} @@")?;
        let last = |leaves_out: fn(&HunkLine) -> bool| {
            self.lines.iter().rposition(|line| !leaves_out(line))
        };
        let last_old = last(|line| matches!(line, HunkLine::Add(_))).filter(|_| self.old_open);
        let last_new = last(|line| matches!(line, HunkLine::Remove(_))).filter(|_| self.new_open);
        for (at, line) in self.lines.iter().enumerate() {
            let sign = match line {
                HunkLine::Context(_) => ' ',
                HunkLine::Remove(_) => '-',
                HunkLine::Add(_) => '+',
            };
            writeln!(f, "{sign}{}", line.text())?;
            if Some(at) == last_old || Some(at) == last_new {
                writeln!(f, "\\ No newline at end of file")?;
            }
        }
        Ok(())
    }
}
