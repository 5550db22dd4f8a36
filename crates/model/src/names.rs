//! Names as the most forgiving file system reads them.
//!
//! Two spellings that some file system takes for the same name must not be told apart by a
//! rule. A name has a *plain* form (case folded, invisible characters taken out) and
//! *forgiving* parts (`\` separates, `:stream` is cut, trailing dots and blanks are gone).

use crate::characters::is_invisible;

/// The characters that a character folds to; none for one that a lookup passes over.
///
/// Down, up and down: the long s becomes s, a sharp s two of them, the Kelvin sign k. The dotted
/// capital I becomes a plain i, since lower case leaves a combining dot behind.
pub fn folded_char(c: char) -> impl Iterator<Item = char> {
    let plain = match c {
        _ if c.is_ascii() => Some(c.to_ascii_lowercase()),
        '\u{130}' => Some('i'),
        _ => None,
    };
    let wide = (plain.is_none() && !is_invisible(c)).then(|| {
        c.to_lowercase()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
    });
    plain.into_iter().chain(wide.into_iter().flatten())
}

/// The plain form of a name.
pub fn folded(name: &str) -> String {
    name.chars().flat_map(folded_char).collect()
}

/// The forgiving parts of a name in its plain form. There are several where a backslash
/// separates.
pub fn forgiving(plain: &str) -> impl Iterator<Item = &str> {
    plain
        .split('\\')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let stream = part.find(':').filter(|at| *at > 0);
            let whole = stream.and_then(|at| part.get(..at)).unwrap_or(part);
            let trimmed = whole.trim_end_matches(|c: char| c == '.' || c.is_ascii_whitespace());
            // Nothing but dots and blanks is a name of its own (`...`).
            if trimmed.is_empty() { whole } else { trimmed }
        })
}

/// Whether a name in its plain form is an 8.3 short name that can stand for `long`.
pub fn is_short_for(plain: &str, long: &str) -> bool {
    let Some((stem, rest)) = plain.split_once('~') else {
        return false;
    };
    let number = rest.split('.').next().unwrap_or_default();
    let counts = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // Dots in front are dropped, and the name is cut at the next one or behind six characters.
    let start = long.trim_start_matches('.').split('.').next();
    let start: String = folded(start.unwrap_or_default()).chars().take(6).collect();
    let (first, ending) = long.split_once('.').unwrap_or((long, ""));
    let has_short = first.is_empty() || first.len() > 8 || ending.len() > 3 || ending.contains('.');
    counts && has_short && !stem.is_empty() && stem == start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_that_some_file_system_confuses_fold_to_one() {
        for (name, plain) in [
            ("AGENTS.md", "agents.md"),
            ("AGENT\u{17f}.md", "agents.md"),
            ("AGEN\u{200b}TS.md", "agents.md"),
            ("S\u{212a}ILL.md", "skill.md"),
            ("\u{130}ndex", "index"),
            (".g\u{131}thub", ".github"),
            (".\u{df}h", ".ssh"),
            ("\u{fb01}le", "file"),
            ("\u{c4}\u{d6}", "\u{e4}\u{f6}"),
        ] {
            assert_eq!(folded(name), plain, "{name:?}");
        }
    }

    #[test]
    fn forgiving_parts_leave_out_streams_dots_and_blanks() {
        for (name, parts) in [
            ("a.md. .", vec!["a.md"]),
            ("a.md::$data", vec!["a.md"]),
            ("x\\a.md", vec!["x", "a.md"]),
            ("...", vec!["..."]),
            (":a", vec![":a"]),
        ] {
            assert_eq!(forgiving(name).collect::<Vec<_>>(), parts, "{name:?}");
        }
    }

    #[test]
    fn short_names_stand_for_long_ones() {
        for (short, long) in [
            ("github~1", ".github"),
            ("cursor~12", ".cursorrules"),
            ("copilo~1.md", "copilot-instructions.md"),
        ] {
            assert!(is_short_for(short, long), "{short}");
        }
        for (short, long) in [
            ("agents~1.md", "agents.md"),
            ("github~", ".github"),
            ("github~x", ".github"),
            ("~1", ".github"),
            ("github", ".github"),
        ] {
            assert!(!is_short_for(short, long), "{short}");
        }
    }
}
