//! Lines that stand for code the model did not write out.
//!
//! A model that was shown a long file likes to send it back with "the rest stays
//! as it is". Written to disk, that line is all that is left of the rest. Where there was no
//! rest, it is an ordinary comment.

use toolgate_model::ToolError;

use super::difference::Difference;
use crate::lines::said;

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

/// Refuses a change in which such a line takes the place of lines that are there.
///
/// Where nothing is lost it is a comment like any other, and so is a line that the old text
/// already has.
pub(crate) fn check(path: &str, old: &str, difference: &Difference<'_>) -> Result<(), ToolError> {
    let Some(Elided { line, lost }) = find(old, difference) else {
        return Ok(());
    };
    let lines = said(lost);
    Err(ToolError::bad_args(format!(
        "{path}: the line `{}` stands for text that is left out, and {lines} of the file would be lost there. \
         Write the lines out; or set allow_elision to true if the file is to hold that very line instead of them.",
        line.trim()
    )))
}

/// A line that stands for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Elided<'t> {
    line: &'t str,
    /// How many lines with something in them go at its place.
    lost: u64,
}

fn find<'t>(old: &str, difference: &Difference<'t>) -> Option<Elided<'t>> {
    let known = |line: &str| old.lines().any(|known| known.trim() == line.trim());
    let stands = |line: &&&str| elision(line).is_some() && !known(line);
    let (mut found, mut lost) = (None, 0);
    for place in difference.places() {
        if !place.touches_last {
            if found.is_some() && lost > 0 {
                break;
            }
            (found, lost) = (None, 0);
        }
        let gone = place.gone.iter().filter(|line| !line.trim().is_empty());
        lost += gone.count() as u64;
        found = found.or_else(|| place.new.iter().find(stands).copied());
    }
    found.filter(|_| lost > 0).map(|line| Elided { line, lost })
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
    fn a_gap_is_refused_only_where_something_would_be_lost() {
        let long = "fn a() {\n    one();\n    two();\n}\n\nfn b() {\n    three();\n}\n";
        for (old, new, lost) in [
            // Nothing was there.
            ("", "fn a() {}\n// ... existing code ...\n", None),
            ("", "... rest of the code unchanged ...\n", None),
            ("x\n", "x\n// ... existing code ...\n", None),
            ("x\ny\n", "x\n// ... existing code ...\ny\n", None),
            // It was there before.
            (
                "a\n// ... existing code ...\n",
                "// ... existing code ...\nb\n",
                None,
            ),
            // Lines go elsewhere, far from it.
            (
                "gone\none\ntwo\nthree\n",
                "one\ntwo\n// ... existing code ...\nthree\n",
                None,
            ),
            (
                long,
                "fn a() {\n    // ... existing code ...\n}\n\nfn b() {\n    three();\n}\n",
                Some(2),
            ),
            (
                long,
                "fn a() {\n    one();\n    two();\n}\n// ... rest of the code unchanged ...\n",
                Some(3),
            ),
            (
                long,
                "fn a() {\n... rest of the code unchanged ...\n}\n",
                Some(5),
            ),
            ("y\n", "// ... existing code ...\n", Some(1)),
            // Only a brace is between the gap and what goes.
            ("a\n}\nb\n", "a\n// ... existing code ...\n}\n", Some(1)),
        ] {
            let difference = Difference::between(old, new);
            let found = find(old, &difference);
            assert_eq!(found.map(|found| found.lost), lost, "{old:?} -> {new:?}");
            let refused = check("f.rs", old, &difference);
            assert_eq!(refused.is_err(), lost.is_some());
        }
    }
}
