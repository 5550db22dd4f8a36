//! Characters that make a line read differently from what it does.

use toolgate_model::characters::{is_graphic, is_invisible};

/// The first character that a person cannot see or that moves others around.
pub(crate) fn deceptive(line: &str) -> Option<char> {
    if line.is_ascii() {
        // The common case is decided without decoding.
        return line
            .bytes()
            .find(|byte| is_control(char::from(*byte)))
            .map(char::from);
    }
    let mut before = '\0';
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let joiner = matches!(character, '\u{200c}' | '\u{200d}');
        // The joiners belong to scripts and emoji, where they stand between other such characters.
        let joins =
            joiner && !before.is_ascii() && characters.peek().is_some_and(|c| !c.is_ascii());
        // A selector chooses how the one character in front of it is drawn.
        let selects = matches!(character, '\u{fe00}'..='\u{fe0f}')
            && !before.is_ascii()
            && !is_invisible(before);
        if is_control(character) || (is_hidden(character) && !joins && !selects) {
            return Some(character);
        }
        before = character;
    }
    None
}

fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// Whether a terminal may draw nothing, or anything, for a character.
fn is_hidden(character: char) -> bool {
    !is_graphic(character) && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_found() {
        for hidden in [
            '\u{202e}',
            '\u{200b}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
            '\r',
            '\u{1b}',
            '\u{a0}',
            '\u{115f}',
            '\u{1160}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{2800}',
            '\u{16fe4}',
            '\u{1bca0}',
            '\u{1d159}',
            '\u{fffc}',
            '\u{2028}',
            '\u{3000}',
            '\u{378}',
            '\u{1fae9}',
            '\u{e000}',
            '\u{f0000}',
            '\u{fdd0}',
            '\u{13430}',
            '\u{3fffd}',
            '\u{ad}',
        ] {
            assert_eq!(
                deceptive(&format!("echo a{hidden}b")),
                Some(hidden),
                "{hidden:?}"
            );
        }
    }

    #[test]
    fn selectors_that_choose_nothing_are_found() {
        for line in [
            "echo a\u{fe0f}b",
            "echo ♻\u{fe0f}\u{fe01}",
            "echo \u{200d}\u{fe00}",
        ] {
            assert!(deceptive(line).is_some(), "{line:?}");
        }
    }

    #[test]
    fn ordinary_writing_is_not_deceptive() {
        for line in [
            "echo \"größe\"",
            "git commit -m '✨ añadir 🚀'",
            "echo 👩\u{200d}🚀",
            "git commit -m '♻\u{fe0f} refactor ❤\u{fe0f}\u{200d}🔥'",
            "echo 한국어 字 ⠓⠊",
            "a\n\tb",
        ] {
            assert_eq!(deceptive(line), None, "{line}");
        }
    }
}
