//! Lines that stand for code the model did not write out.
//!
//! A model that was shown a long file likes to send it back with "the rest stays
//! as it is". Written to disk, that line is all that is left of the rest.

use toolgate_model::ToolError;

/// What begins a comment.
const LEADERS: &[&str] = &[
    "//", "/*", "<!--", "{/*", "#", "--", ";", "%", "*", "\"\"\"", "rem ",
];
/// What ends one.
const TRAILERS: &[&str] = &["*/}", "*/", "-->", "\"\"\""];

/// What is left out.
const PARTS: &[&str] = &[
    "existing code",
    "existing content",
    "existing implementation",
    "existing methods",
    "existing imports",
    "rest of code",
    "rest of the code",
    "rest of your code",
    "rest of file",
    "rest of the file",
    "rest of the class",
    "rest of the function",
    "rest of the implementation",
    "rest of the content",
    "rest",
    "the rest",
    "remaining code",
    "remaining content",
    "remaining methods",
    "other code",
    "other methods",
    "previous code",
    "original code",
    "unchanged code",
    "same code",
    "code",
    "everything else",
];
/// How that is said.
const TAILS: &[&str] = &[
    "unchanged",
    "is unchanged",
    "remains unchanged",
    "remain unchanged",
    "stays unchanged",
    "stays the same",
    "remains the same",
    "remain the same",
    "is the same",
    "same as before",
    "as before",
    "goes here",
    "omitted",
    "omitted for brevity",
];
/// What says all of it at once.
const WHOLE: &[&str] = &[
    "unchanged",
    "same as before",
    "omitted for brevity",
    "no changes",
];

/// Refuses content that leaves something out.
///
/// `old` is the text that would be replaced. A line it already has is no elision
/// but part of the file; and where nothing is replaced, only a comment counts.
pub(crate) fn check(content: &str, old: Option<&str>) -> Result<(), ToolError> {
    let mut number = 0_u64;
    let lines = content.lines().inspect(|_| number += 1);
    match find(lines, old) {
        Some(line) => Err(ToolError::bad_args(format!(
            "line {number} of the content stands for text that is left out: `{}`. \
             The file would really consist of that line. Send the complete content.",
            line.trim()
        ))),
        None => Ok(()),
    }
}

/// The first line that leaves something out.
pub(crate) fn find<'t>(
    mut lines: impl Iterator<Item = &'t str>,
    old: Option<&str>,
) -> Option<&'t str> {
    lines.find(|line| {
        let Some(kind) = elision(line) else {
            return false;
        };
        let known = |old: &str| old.lines().any(|known| known.trim() == line.trim());
        !old.is_some_and(known) && (kind == Kind::Comment || old.is_some())
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A comment.
    Comment,
    /// A line of its own.
    Bare,
}

fn elision(line: &str) -> Option<Kind> {
    let line = line.trim();
    // No such remark is this long, and lines of data are.
    if line.len() > 120 {
        return None;
    }
    let lower = line.to_lowercase();
    let inner = comment(&lower);
    let kind = if inner.is_some() {
        Kind::Comment
    } else {
        Kind::Bare
    };
    let inner = inner.unwrap_or(&lower).trim();
    let dotted = inner.starts_with("...") || inner.starts_with('…');
    let dotted = dotted || inner.ends_with("...") || inner.ends_with('…');
    let words = inner.trim_matches(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '.' | '…' | '(' | ')' | '[' | ']' | '<' | '>' | ',' | ':' | '!'
            )
    });
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    let part = PARTS
        .iter()
        .filter_map(|part| words.strip_prefix(part))
        .any(|tail| {
            let tail = tail.trim_start_matches([' ', ',', ':', '-']);
            if tail.is_empty() || tail == "here" {
                // "existing code" alone can be an honest remark; dots make it a gap.
                dotted
            } else {
                TAILS.contains(&tail) && (kind == Kind::Comment || dotted)
            }
        });
    let whole = dotted && WHOLE.contains(&words.as_str());
    (part || whole).then_some(kind)
}

/// What a comment says, if the line is one.
fn comment(line: &str) -> Option<&str> {
    let inner = LEADERS
        .iter()
        .find_map(|leader| line.strip_prefix(leader))?;
    let inner = inner.trim_start_matches(['/', '#', '-', '*', ';', '!']);
    let inner = TRAILERS
        .iter()
        .find_map(|trailer| inner.strip_suffix(trailer))
        .unwrap_or(inner);
    Some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_found_in_every_language() {
        for line in [
            "// ... existing code ...",
            "    // ...existing code...",
            "# ... rest of the code unchanged ...",
            "# rest of the code remains the same",
            "/* ... rest of file ... */",
            "<!-- ... existing content ... -->",
            "{/* ... existing code ... */}",
            "-- ... rest of the file remains unchanged",
            "; … remaining code …",
            "// Rest of the code unchanged",
            "/// ... UNCHANGED ...",
            "// ... (rest of the implementation) ...",
            "* ... other methods ...",
            "// code omitted for brevity",
            "// ... the rest stays the same",
        ] {
            assert_eq!(elision(line), Some(Kind::Comment), "{line}");
        }
        for line in [
            "... rest of the code unchanged ...",
            "[... existing code ...]",
        ] {
            let kind = elision(line);
            assert!(kind == Some(Kind::Bare) || kind.is_none(), "{line}");
        }
        assert_eq!(
            elision("... rest of the code unchanged ..."),
            Some(Kind::Bare)
        );
    }

    #[test]
    fn honest_lines_are_left_alone() {
        for line in [
            "// existing code paths are covered by the test below",
            "// existing code",
            "// the rest of the file is parsed lazily",
            "let rest = ...;",
            "...",
            "// ...",
            "def f(): ...",
            "fn rest(self) -> Rest { self.rest }",
            "# unchanged",
            "The rest of the code is unchanged since 1.0.",
            "# code",
            "",
        ] {
            assert_eq!(elision(line), None, "{line}");
        }
    }

    #[test]
    fn what_the_file_already_says_and_bare_lines_of_new_files_may_stay() {
        let gap = "fn a() {}\n// ... existing code ...\n";
        assert!(check(gap, None).is_err());
        assert!(check(gap, Some("fn b() {}\n")).is_err());
        assert!(check(gap, Some("x\n  // ... existing code ...\n")).is_ok());
        let bare = "... rest of the code unchanged ...\n";
        assert!(check(bare, None).is_ok());
        let error = check(bare, Some("y")).unwrap_err();
        assert!(error.message.contains("line 1"), "{error}");
    }
}
