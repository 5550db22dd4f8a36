//! Matching text against a shell pattern.

use std::collections::BTreeSet;

/// Whether `text` as a whole fits `pattern` (`*`, `?`, `[…]`, backslash escapes).
///
/// An expression in brackets is taken to match any one character it could
/// match; where it is malformed it matches itself, as in a shell.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(_) => one(&pattern, p, text.get(t).copied().unwrap_or_default()),
            None => None,
        };
        if let Some(next) = step {
            p = next;
            t += 1;
        } else if let Some((star, from)) = retry {
            p = star;
            t = from + 1;
            retry = Some((star, t));
        } else {
            return false;
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|character| *character == '*')
}

/// Whether some text that fits `pattern` starts with `start`.
pub(crate) fn may_start(pattern: &str, start: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut places = vec![0];
    for character in start.chars() {
        let mut next = BTreeSet::new();
        let mut seen: BTreeSet<usize> = places.iter().copied().collect();
        let mut at = 0;
        while let Some(&place) = places.get(at) {
            at += 1;
            let went = if pattern.get(place) == Some(&'*') {
                if seen.insert(place + 1) {
                    places.push(place + 1);
                }
                Some(place)
            } else {
                one(&pattern, place, character)
            };
            next.extend(went);
        }
        places = next.into_iter().collect();
    }
    !places.is_empty()
}

/// Where the pattern goes on if the piece at `at` matches `character`.
fn one(pattern: &[char], at: usize, character: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' => (pattern.get(at + 1) == Some(&character)).then_some(at + 2),
        '[' => match bracket(pattern, at, character) {
            Some((end, true)) => Some(end),
            Some((_, false)) => None,
            None => (character == '[').then_some(at + 1),
        },
        literal => (*literal == character).then_some(at + 1),
    }
}

/// Whether `character` is in the set that starts at `at`, and where the set ends.
fn bracket(pattern: &[char], at: usize, character: char) -> Option<(usize, bool)> {
    let mut index = at + 1;
    let negated = matches!(pattern.get(index), Some('!' | '^'));
    if negated {
        index += 1;
    }
    let first = index;
    let mut found = false;
    loop {
        let low = *pattern.get(index)?;
        if low == ']' && index > first {
            return Some((index + 1, found != negated));
        }
        if low == '[' && pattern.get(index + 1) == Some(&':') {
            // A class such as [:alpha:]: which letters are in it does not matter here.
            found |= character.is_alphanumeric() || character == '_';
            while pattern.get(index).is_some_and(|c| *c != ']') {
                index += 1;
            }
            index += 1;
            continue;
        }
        if pattern.get(index + 1) == Some(&'-') && pattern.get(index + 2).is_some_and(|c| *c != ']')
        {
            let high = *pattern.get(index + 2)?;
            found |= (low..=high).contains(&character);
            index += 3;
            continue;
        }
        found |= low == character;
        index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, text, expected) in [
            ("*", "anything", true),
            ("*.rs", "lib.rs", true),
            ("*.rs", "lib.rc", false),
            (".e*v", ".env", true),
            (".en?", ".env", true),
            (".[d-f]nv", ".env", true),
            (".[!e]nv", ".env", false),
            ("[[:alpha:]]b", "ab", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("[", "[", true),
            ("", "", true),
            ("a*b*c", "aXbYbZc", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_may_start_with_a_text() {
        for pattern in ["*", "?x", "[-a]*", "*.txt", "-*", "**", "[!a]x", "-[o]*"] {
            assert!(may_start(pattern, "-"), "{pattern}");
        }
        for pattern in ["a*", "./*", "[a-z]*", "\\**", "[!-]x", ""] {
            assert!(!may_start(pattern, "-"), "{pattern}");
        }
        assert!(may_start("*.txt", "--output="));
        assert!(!may_start("?.txt", "--output="));
    }
}
