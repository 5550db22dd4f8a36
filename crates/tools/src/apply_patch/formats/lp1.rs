//! LP1, the line patch.

use std::fmt;

use super::error::PatchError;
use super::lines::Lines;
use super::{Touched, quote};

/// A line patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lp1 {
    /// Its sections, in order.
    pub sections: Vec<FileSection>,
}

/// What is done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSection {
    /// The line of the patch at which it starts.
    pub line: usize,
    /// The file.
    pub path: String,
    /// The operations, each with its line of the patch.
    pub operations: Vec<(usize, Operation)>,
}

/// Lines to find, and which of the places that fit is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the place from the top, counted from 1; the only one, if not given.
    pub occurrence: Option<usize>,
    /// The lines.
    pub find: Vec<String>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `R`: other lines stand in the place of those found.
    Replace(Place, Vec<String>),
    /// `I`: lines are put below those found.
    InsertAfter(Place, Vec<String>),
    /// `P`: lines are put above those found.
    InsertBefore(Place, Vec<String>),
    /// `E`: those found are removed.
    Erase(Place),
    /// `T`: lines are put at the end.
    Append(Vec<String>),
    /// `B`: lines are put at the beginning.
    Prepend(Vec<String>),
    /// `N`: the last line ends with a newline, or not.
    FinalNewline(bool),
}

impl Operation {
    /// Its letter.
    pub const fn letter(&self) -> char {
        match self {
            Self::Replace(..) => 'R',
            Self::InsertAfter(..) => 'I',
            Self::InsertBefore(..) => 'P',
            Self::Erase(_) => 'E',
            Self::Append(_) => 'T',
            Self::Prepend(_) => 'B',
            Self::FinalNewline(_) => 'N',
        }
    }
}

/// Blanks within a line.
const BLANKS: [char; 2] = [' ', '\t'];

impl Lp1 {
    /// Reads a line patch.
    pub fn parse(text: &str) -> Result<Self, PatchError> {
        let mut lines = Lines::of(text).without_cr();
        match next_statement(&mut lines) {
            Some((_, "LP1")) => {}
            Some((line, _)) => return Err(PatchError::syntax(line, "Invalid LP1 header")),
            None => return Err(PatchError::syntax(1, "Missing LP1 header")),
        }
        let mut sections: Vec<FileSection> = Vec::new();
        loop {
            let Some((number, line)) = next_statement(&mut lines) else {
                let what = "Missing END footer: the last line of the patch is `END`";
                return Err(PatchError::syntax(lines.number(), what));
            };
            if line == "END" {
                break;
            }
            if let Some(path) = argument(line, 'F') {
                sections.push(FileSection {
                    line: number,
                    path: read_path(path, number)?,
                    operations: Vec::new(),
                });
                continue;
            }
            let Some(section) = sections.last_mut() else {
                let what = format!("Expected file section (F <path>), found {line:?}");
                return Err(PatchError::syntax(number, what));
            };
            let operation = read_operation(line, number, &mut lines)?;
            section.operations.push((number, operation));
        }
        while let Some((number, line)) = lines.next() {
            if !line.trim_matches(BLANKS).is_empty() {
                let what = "Nothing may follow END but blank lines";
                return Err(PatchError::syntax(number, what));
            }
        }
        Ok(Self { sections })
    }

    pub(super) fn touch(&self, touched: &mut Touched) {
        for section in &self.sections {
            touched.write(&section.path);
        }
    }
}

/// The next line that is neither blank nor a comment, without the blanks around it.
fn next_statement<'t>(lines: &mut Lines<'t>) -> Option<(usize, &'t str)> {
    loop {
        let (number, line) = lines.next()?;
        let line = line.trim_matches(BLANKS);
        if !line.is_empty() && !line.starts_with('#') {
            return Some((number, line));
        }
    }
}

/// What follows a command, if the line is that command.
fn argument(line: &str, command: char) -> Option<&str> {
    let rest = line.strip_prefix(command)?;
    let blank = rest.is_empty() || rest.starts_with(BLANKS);
    blank.then(|| rest.trim_matches(BLANKS))
}

fn read_path(text: &str, line: usize) -> Result<String, PatchError> {
    let wrong = |what: &str| PatchError::syntax(line, what);
    if text.is_empty() {
        return Err(wrong("Missing file path after F"));
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let (path, rest) = quote::read_simple(quoted).map_err(wrong)?;
        if !rest.is_empty() {
            return Err(wrong("Nothing may follow the quoted path"));
        }
        if path.is_empty() {
            return Err(wrong("Missing file path after F"));
        }
        return Ok(path);
    }
    if text.contains(char::is_whitespace) || text.contains('"') {
        return Err(wrong(
            "A path with blanks or quotes stands in quotes: F \"path with spaces\"",
        ));
    }
    Ok(text.to_owned())
}

fn read_operation(
    line: &str,
    number: usize,
    lines: &mut Lines<'_>,
) -> Result<Operation, PatchError> {
    let wrong = |what: String| PatchError::syntax(number, what);
    let known = ['R', 'I', 'P', 'E', 'T', 'B', 'N'];
    let found = known
        .into_iter()
        .find_map(|letter| argument(line, letter).map(|rest| (letter, rest)));
    let Some((letter, rest)) = found else {
        return Err(wrong(format!(
            "Unknown LP1 operation {line:?}; there are R, I, P, E, T, B and N, and F and END"
        )));
    };
    if matches!(letter, 'T' | 'B') && !rest.is_empty() {
        return Err(wrong(format!("{letter} takes no argument, found {rest:?}")));
    }
    Ok(match letter {
        'N' => Operation::FinalNewline(match rest {
            "+" => true,
            "-" => false,
            _ => return Err(wrong("Invalid N flag; expected + or -".to_owned())),
        }),
        'T' => Operation::Append(read_block(lines, number)?),
        'B' => Operation::Prepend(read_block(lines, number)?),
        _ => {
            let occurrence = read_occurrence(rest, number)?;
            let find = read_block(lines, number)?;
            let place = Place { occurrence, find };
            match letter {
                'R' => Operation::Replace(place, read_block(lines, number)?),
                'I' => Operation::InsertAfter(place, read_block(lines, number)?),
                'P' => Operation::InsertBefore(place, read_block(lines, number)?),
                _ => Operation::Erase(place),
            }
        }
    })
}

fn read_occurrence(text: &str, line: usize) -> Result<Option<usize>, PatchError> {
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    match text.parse() {
        Ok(number) if plain => Ok(Some(number)),
        _ => Err(PatchError::syntax(
            line,
            format!("Invalid occurrence {text:?}: it is a number from 1 on"),
        )),
    }
}

/// The lines up to a single `.`, with one `.` taken from those that start with two.
fn read_block(lines: &mut Lines<'_>, operation: usize) -> Result<Vec<String>, PatchError> {
    let mut block = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.contains('\r') {
            let what = "Bare CR in a block: a line cannot hold a carriage return";
            return Err(PatchError::syntax(number, what));
        }
        match line.strip_prefix('.') {
            Some(rest) if rest.trim_matches(BLANKS).is_empty() => return Ok(block),
            Some(rest) if rest.starts_with('.') => block.push(rest.to_owned()),
            Some(_) => {
                let what = "Dot-stuffed line must start with '..': a line that starts with a dot gets one more in front";
                return Err(PatchError::syntax(number, what));
            }
            None => block.push(line.to_owned()),
        }
    }
    Err(PatchError::syntax(
        operation,
        "Unterminated LP1 block: a line with a single `.` ends it",
    ))
}

impl fmt::Display for Lp1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LP1\n")?;
        for section in &self.sections {
            let path = &section.path;
            if path.contains(char::is_whitespace) || path.contains('"') {
                writeln!(f, "F {}", quote::simple(path))?;
            } else {
                writeln!(f, "F {path}")?;
            }
            for (_, operation) in &section.operations {
                operation.fmt(f)?;
            }
        }
        f.write_str("END\n")
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = self.letter();
        match self {
            Self::Replace(place, with)
            | Self::InsertAfter(place, with)
            | Self::InsertBefore(place, with) => {
                write!(f, "{letter}{place}")?;
                write_block(f, with)
            }
            Self::Erase(place) => write!(f, "{letter}{place}"),
            Self::Append(block) | Self::Prepend(block) => {
                writeln!(f, "{letter}")?;
                write_block(f, block)
            }
            Self::FinalNewline(on) => writeln!(f, "{letter} {}", if *on { '+' } else { '-' }),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occurrence {
            Some(number) => writeln!(f, " {number}")?,
            None => writeln!(f)?,
        }
        write_block(f, &self.find)
    }
}

fn write_block(f: &mut fmt::Formatter<'_>, block: &[String]) -> fmt::Result {
    for line in block {
        let dot = if line.starts_with('.') { "." } else { "" };
        writeln!(f, "{dot}{line}")?;
    }
    f.write_str(".\n")
}
