//! The colours of a difference.

use toolgate_app::text::preview_text;

use crate::clean::style::{BOLD, CYAN, GREEN, PLAIN, RED};
use crate::clean::{Clean, Style};

/// A difference for a terminal: harmless, with nothing hidden, and in colours.
pub(crate) fn painted(diff: &str) -> Clean {
    let diff = preview_text(diff);
    let line = |line: &str| coloured(line).on(Clean::lines(line));
    Clean::join(diff.lines().map(line), "\n")
}

/// The colour of a line of a difference.
pub(crate) fn coloured(line: &str) -> Style {
    match line.chars().next() {
        _ if line.starts_with("---") || line.starts_with("+++") => BOLD,
        Some('+') => GREEN,
        Some('-') => RED,
        Some('@') => CYAN,
        _ => PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_no_orders() {
        let painted = painted("--- a\n+++ a\n@@ -1 +1 @@\n-\u{1b}]0;evil\u{7}x\n+y\n");
        let painted = painted.as_str();
        assert!(!painted.contains("\u{1b}]"), "{painted:?}");
        let evil = RED.on("-\\u{1b}]0;evil\\u{7}x");
        assert!(painted.contains(evil.as_str()), "{painted:?}");
        assert!(painted.contains(BOLD.on("--- a").as_str()));
    }
}
