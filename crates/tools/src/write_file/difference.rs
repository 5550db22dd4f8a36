//! What changes between two texts.

use similar::{ChangeTag, TextDiff};

/// Comparing costs lines times changes: beyond this many lines nobody reads the answer anyway.
const MOST_LINES: usize = 10_000;

/// The difference between an old text and a new one, line by line.
pub(super) struct Difference<'t> {
    diff: TextDiff<'t, 't, str>,
    /// Lines that are new.
    pub(super) added: usize,
    /// Lines that are gone.
    pub(super) removed: usize,
}

impl<'t> Difference<'t> {
    /// Compares two texts; nothing if they are too long to be compared.
    pub(super) fn between(old: &'t str, new: &'t str) -> Option<Self> {
        let lines = |text: &str| text.lines().count();
        if lines(old) + lines(new) > MOST_LINES {
            return None;
        }
        let diff = TextDiff::from_lines(old, new);
        let (mut added, mut removed) = (0, 0);
        for change in diff.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
        }
        Some(Self {
            diff,
            added,
            removed,
        })
    }

    /// The difference as a unified diff.
    pub(super) fn unified(&self, path: &str) -> String {
        let mut unified = self.diff.unified_diff();
        unified.context_radius(3).header(path, path).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_shown() {
        let difference = Difference::between("a\nb\nc\n", "a\nx\ny\nc\n").unwrap();
        assert_eq!((difference.added, difference.removed), (2, 1));
        let text = difference.unified("f.txt");
        assert!(text.starts_with("--- f.txt\n+++ f.txt\n@@"), "{text}");
        assert!(text.contains("-b\n+x\n+y\n"), "{text}");
    }

    #[test]
    fn texts_that_take_too_long_are_not_compared() {
        let old: String = (0..MOST_LINES).map(|n| format!("{n}\n")).collect();
        assert!(Difference::between(&old, "").is_some());
        assert!(Difference::between(&old, "x").is_none());
    }
}
