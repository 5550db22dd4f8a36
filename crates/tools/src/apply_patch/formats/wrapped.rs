//! What models put around a patch: a fence of Markdown, or blanks in front of all of it.
//!
//! Only what no patch can mean otherwise is taken off, and every line keeps its number.

use std::borrow::Cow;

use super::envelope::{BEGIN, END};

const FENCE: &str = "```";

/// The patch without what is around it.
pub(super) fn unwrapped(text: &str) -> Cow<'_, str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let fenced = without_fence(&mut lines);
    let moved = without_indent(&mut lines);
    let ended = with_plain_end(&mut lines);
    if fenced || moved || ended {
        Cow::Owned(lines.join("\n"))
    } else {
        Cow::Borrowed(text)
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// No patch begins with a fence, and none ends with one that it has not begun with.
fn without_fence(lines: &mut [&str]) -> bool {
    let first = lines.iter().position(|line| !is_blank(line));
    let last = lines.iter().rposition(|line| !is_blank(line));
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    let word = lines
        .get(first)
        .and_then(|line| line.trim().strip_prefix(FENCE));
    let opens = word.is_some_and(|word| !word.contains('`') && !word.contains(' '));
    let closes = lines.get(last).is_some_and(|line| line.trim() == FENCE);
    if !opens || !closes || first == last {
        return false;
    }
    for at in [first, last] {
        if let Some(line) = lines.get_mut(at) {
            *line = "";
        }
    }
    true
}

/// An envelope whose every line is moved in as far as its first.
fn without_indent(lines: &mut [&str]) -> bool {
    let Some(begin) = lines.iter().find(|line| !is_blank(line)) else {
        return false;
    };
    if begin.trim() != BEGIN {
        return false;
    }
    let indent = begin.len() - begin.trim_start().len();
    let Some(indent) = begin.get(..indent).filter(|indent| !indent.is_empty()) else {
        return false;
    };
    if !lines
        .iter()
        .all(|line| is_blank(line) || line.starts_with(indent))
    {
        return false;
    }
    for line in lines {
        *line = line.strip_prefix(indent).unwrap_or("");
    }
    true
}

/// Blanks in front of the last marker, where it is the only one: the envelope has to end.
fn with_plain_end(lines: &mut [&str]) -> bool {
    let begins = lines.iter().any(|line| line.trim() == BEGIN);
    if !begins || lines.iter().any(|line| line.trim_end() == END) {
        return false;
    }
    let last = lines.iter_mut().rfind(|line| !is_blank(line));
    match last {
        Some(line) if line.trim() == END => {
            *line = END;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_the_patch_is_taken_off() {
        let plain = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        for (text, patch) in [
            (plain, plain),
            ("```\nLP1\nEND\n```\n", "\nLP1\nEND\n\n"),
            ("\n```diff\n--- a\n```", "\n\n--- a\n"),
            ("```patch\n--- a\n", "```patch\n--- a\n"),
            ("--- a\n```\n", "--- a\n```\n"),
            ("```\n", "```\n"),
            (
                "  *** Begin Patch\n  *** Delete File: a\n\n  *** End Patch",
                "*** Begin Patch\n*** Delete File: a\n\n*** End Patch",
            ),
            // Not all of it is moved in: the blanks are context.
            (
                "  *** Begin Patch\n*** Update File: a\n@@\n  x\n*** End Patch",
                "  *** Begin Patch\n*** Update File: a\n@@\n  x\n*** End Patch",
            ),
            (
                "*** Begin Patch\n*** Delete File: a\n  *** End Patch \n",
                "*** Begin Patch\n*** Delete File: a\n*** End Patch\n",
            ),
            // A line of a file that looks like the end, before the end.
            (
                "*** Begin Patch\n*** Update File: a\n *** End Patch\n*** End Patch\n",
                "*** Begin Patch\n*** Update File: a\n *** End Patch\n*** End Patch\n",
            ),
        ] {
            assert_eq!(unwrapped(text), patch, "{text:?}");
        }
    }
}
