//! Texts as the database can hold them: it refuses the null character, which ids from a model
//! may contain.

use std::borrow::Cow;

/// The text as it is stored. No two texts are stored alike.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if text.contains(['\\', '\0']) {
        Cow::Owned(text.replace('\\', "\\\\").replace('\0', "\\0"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text that was stored.
pub(crate) fn restored(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => whole.push(match letters.next() {
                Some('0') => '\0',
                _ => '\\',
            }),
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_was() {
        for text in ["", "a", "a\\b", "\0", "\\0", "\\\\0\0\\", "\u{e4}\\"] {
            let stored = stored(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(restored(&stored), text);
        }
        assert_ne!(stored("\\0"), stored("\0"));
    }
}
