//! What can be wrong with a tool block, in words for the model that wrote it.

use toolgate_model::json::JsonError;
use toolgate_model::{ErrorKind, ToolError};

/// The most characters of a model's own text that a message quotes.
const EXCERPT: usize = 200;
/// Of these, how many stand before the place a message is about.
const EXCERPT_BEFORE: usize = 120;

/// Why a tool block is no call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The stream ended inside the block.
    #[error(
        "the tool block was never closed: the answer ended before a closing fence. \
         Nothing was run; send the whole block again. It ended with: {end}"
    )]
    Unclosed {
        /// The last of what came.
        end: String,
    },
    /// More bytes than a block may have.
    #[error(
        "the tool block has {got} bytes, at most {max} are allowed. \
         Nothing was run; send less at once. It began with: {start}"
    )]
    TooLarge {
        /// How many bytes came.
        got: usize,
        /// How many may come.
        max: usize,
        /// The first of what came.
        start: String,
    },
    /// Bytes in the block are not UTF-8.
    #[error(
        "the tool block is not valid UTF-8. \
         Nothing was run; send the whole block again. It reads: {excerpt}"
    )]
    NotUtf8 {
        /// The text around the first such bytes, which stand as U+FFFD.
        excerpt: String,
    },
    /// There is nothing in the block.
    #[error(
        "the tool block is empty. Put one JSON object in it: \
         {{\"name\": \"…\", \"args\": {{…}}, \"reason\": \"…\"}}"
    )]
    Empty,
    /// The content is not strict JSON.
    #[error(
        "the tool block does not hold one valid JSON object: {fault}. \
         Nothing was run; correct it and send the whole block again. Near: {excerpt}"
    )]
    NotJson {
        /// What the JSON reader says, with the place in the block.
        fault: String,
        /// The text around that place.
        excerpt: String,
    },
    /// The content is JSON and no object.
    #[error(
        "the tool block holds {got}, not a JSON object. Send \
         {{\"name\": \"…\", \"args\": {{…}}, \"reason\": \"…\"}}. It reads: {excerpt}"
    )]
    NotAnObject {
        /// What it is instead.
        got: &'static str,
        /// The text of the block.
        excerpt: String,
    },
    /// The object names no tool.
    #[error(
        "the tool block names no tool. Give \"name\" the name of a listed tool. \
         It reads: {excerpt}"
    )]
    NoName {
        /// The text of the block.
        excerpt: String,
    },
    /// A field has the wrong type, or holds nothing where it has to hold something.
    #[error(
        "\"{field}\" of the tool block has to be {expected}, and is {got}. It reads: {excerpt}"
    )]
    WrongField {
        /// Which field.
        field: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
        /// The text of the block.
        excerpt: String,
    },
    /// The object has a field that nobody knows.
    #[error(
        "the tool block has an unknown field \"{field}\"{}. Known are \"name\", \"args\", \
         \"reason\" and \"id\"; what the tool takes goes into \"args\". It reads: {excerpt}",
        hint.map(|hint| format!(", perhaps \"{hint}\" is meant")).unwrap_or_default()
    )]
    UnknownField {
        /// The field's name, shortened.
        field: String,
        /// The known field that is probably meant.
        hint: Option<&'static str>,
        /// The text of the block.
        excerpt: String,
    },
}

impl BlockError {
    pub(super) fn unclosed(content: &str) -> Self {
        Self::Unclosed { end: tail(content) }
    }

    pub(super) fn not_utf8(content: &str) -> Self {
        let place = content.find(char::REPLACEMENT_CHARACTER);
        Self::NotUtf8 {
            excerpt: around(content, place.unwrap_or(0)),
        }
    }

    pub(super) fn json(fault: &JsonError, content: &str) -> Self {
        match *fault {
            // The block was measured before it was read; both measure the same bytes.
            JsonError::TooLarge { got, max } => Self::TooLarge {
                got,
                max,
                start: head(content),
            },
            JsonError::NotAnObject { got } => Self::NotAnObject {
                got,
                excerpt: head(content),
            },
            JsonError::Invalid { line, column, .. } => Self::NotJson {
                // A key that stands twice is quoted in full there, however long it is.
                fault: head(&fault.to_string()),
                excerpt: around(content, offset(content, line, column)),
            },
        }
    }

    /// The kind of the error a call with this fault settles as.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::TooLarge { .. } => ErrorKind::LimitExceeded,
            _ => ErrorKind::BadCall,
        }
    }
}

impl From<BlockError> for ToolError {
    fn from(fault: BlockError) -> Self {
        Self::new(fault.kind(), fault.to_string())
    }
}

/// The byte a JSON reader's one-based line and column point at, roughly.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    before.saturating_add(column.saturating_sub(1))
}

/// The start of a text, on one line and bounded.
pub(crate) fn head(text: &str) -> String {
    clip(text, EXCERPT)
}

/// The start of a text, on one line and not longer than there is room.
pub(crate) fn clip(text: &str, room: usize) -> String {
    clipped(text.chars(), room)
}

fn tail(text: &str) -> String {
    let (line, cut) = last(text, EXCERPT);
    if cut { format!("…{line}") } else { line }
}

/// The text on both sides of a byte, on one line and bounded.
fn around(text: &str, at: usize) -> String {
    let at = text.floor_char_boundary(at.min(text.len()));
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let (before, cut) = last(before, EXCERPT_BEFORE);
    let room = EXCERPT - before.chars().count().min(EXCERPT_BEFORE);
    let after = clipped(after.chars(), room);
    let mark = if cut { "…" } else { "" };
    format!("{mark}{before}{after}")
}

/// As much of the start as fits, and `…` if something is missing.
fn clipped(chars: impl Iterator<Item = char>, room: usize) -> String {
    let (mut line, mut used) = (String::new(), 0);
    for c in chars {
        let shown = shown(c);
        used += shown.chars().count();
        if used > room {
            line.push('…');
            break;
        }
        line.push_str(&shown);
    }
    line
}

/// As much of the end as fits, and whether something is missing.
fn last(text: &str, room: usize) -> (String, bool) {
    let (mut parts, mut used, mut cut) = (Vec::new(), 0, false);
    for c in text.chars().rev() {
        let shown = shown(c);
        used += shown.chars().count();
        if used > room {
            cut = true;
            break;
        }
        parts.push(shown);
    }
    parts.reverse();
    (parts.concat(), cut)
}

/// A character on one line: controls as escapes, everything else as it is.
fn shown(c: char) -> String {
    if c.is_control() {
        c.escape_default().to_string()
    } else {
        c.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_bounded_and_on_one_line() {
        let long = "é\n".repeat(5000);
        for text in ["", "short", "a\tb\u{1b}c", &long] {
            for excerpt in [head(text), tail(text), around(text, 5001), around(text, 0)] {
                assert!(excerpt.chars().count() <= EXCERPT + 2, "{excerpt}");
                assert!(!excerpt.chars().any(char::is_control), "{excerpt}");
            }
        }
        assert_eq!(head("a\nb"), "a\\nb");
        assert_eq!(tail("a\nb"), "a\\nb");
        assert!(head(&long).ends_with('…') && tail(&long).starts_with('…'));
        let middle = around(&long, 5001);
        assert!(middle.starts_with('…') && middle.ends_with('…'), "{middle}");
    }

    #[test]
    fn what_just_fits_is_quoted_whole() {
        let fits = "x".repeat(EXCERPT);
        assert_eq!(head(&fits), fits);
        assert_eq!(tail(&fits), fits);
        let more = format!("a{fits}b");
        assert_eq!(head(&more), format!("a{}…", "x".repeat(EXCERPT - 1)));
        assert_eq!(tail(&more), format!("…{}b", "x".repeat(EXCERPT - 1)));
        // A character that needs an escape is quoted as a whole or not at all.
        assert_eq!(
            head(&format!("{}\n", "x".repeat(EXCERPT - 1))),
            format!("{}…", "x".repeat(EXCERPT - 1))
        );
        assert_eq!(
            tail(&format!("\n{}", "x".repeat(EXCERPT - 1))),
            format!("…{}", "x".repeat(EXCERPT - 1))
        );
        assert_eq!(around(&fits, EXCERPT_BEFORE), fits);
        assert!(around(&fits, EXCERPT_BEFORE + 1).starts_with("…x"));
    }

    #[test]
    fn places_are_found_by_line_and_column() {
        let text = "{\n  \"a\": é x\n}";
        assert_eq!(offset(text, 1, 1), 0);
        assert_eq!(offset(text, 2, 1), 2);
        assert_eq!(offset(text, 3, 1), text.len() - 1);
        assert_eq!(offset(text, 9, 0), text.len());
        assert!(around(text, 10).contains("é x"));
    }

    #[test]
    fn only_too_much_is_a_limit() {
        let large = BlockError::TooLarge {
            got: 9,
            max: 8,
            start: "x".into(),
        };
        let error = ToolError::from(large);
        assert_eq!(error.kind, ErrorKind::LimitExceeded);
        assert!(error.message.contains("9 bytes, at most 8"), "{error}");
        assert_eq!(BlockError::Empty.kind(), ErrorKind::BadCall);
        let unknown = BlockError::UnknownField {
            field: "arg".into(),
            hint: Some("args"),
            excerpt: String::new(),
        };
        assert!(unknown.to_string().contains("perhaps \"args\" is meant"));
    }
}
