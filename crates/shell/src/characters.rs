//! Characters that make a line read differently from what it does.

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
        if is_control(character) || (is_invisible(character) && !joins) {
            return Some(character);
        }
        before = character;
    }
    None
}

fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

fn is_invisible(character: char) -> bool {
    matches!(
        u32::from(character),
        0x00a0 | 0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x1680 | 0x17b4 | 0x17b5
            | 0x180b..=0x180f
            | 0x2000..=0x200f
            | 0x2028..=0x202f
            | 0x205f..=0x206f
            | 0x2800
            | 0x3000
            | 0x3164
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffc
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
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
        ] {
            assert_eq!(
                deceptive(&format!("echo a{hidden}b")),
                Some(hidden),
                "{hidden:?}"
            );
        }
    }

    #[test]
    fn ordinary_writing_is_not_deceptive() {
        for line in [
            "echo \"größe\"",
            "git commit -m '✨ añadir 🚀'",
            "echo 👩\u{200d}🚀",
            "a\n\tb",
        ] {
            assert_eq!(deceptive(line), None, "{line}");
        }
    }
}
