//! One component of a pattern against one component of a path.

use super::fold::fold_char;

/// A compiled pattern for a single, folded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameGlob {
    /// `*`
    Any,
    /// `name`
    Exact(Vec<u8>),
    /// `name*`
    Prefix(Vec<u8>),
    /// `*name`
    Suffix(Vec<u8>),
    /// `*name*`
    Contains(Vec<u8>),
    /// A name, then digits to the end; only built-in rules have it.
    Numbered(Vec<u8>),
    /// Everything else.
    General(Vec<Token>),
}

/// A piece of a general pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// This very byte.
    Byte(u8),
    /// Any one character.
    One,
    /// Any run of characters.
    Star,
    /// One character out of a set.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl NameGlob {
    /// Compiles one component; `None` when a class is not closed.
    pub(crate) fn compile(text: &str) -> Option<Self> {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '*' => {
                    if tokens.last() != Some(&Token::Star) {
                        tokens.push(Token::Star);
                    }
                }
                '?' => tokens.push(Token::One),
                '[' => tokens.push(class(&mut chars)?),
                '\\' => literal(chars.next().unwrap_or('\\'), &mut tokens),
                other => literal(other, &mut tokens),
            }
        }
        Some(Self::simplest(tokens))
    }

    fn simplest(tokens: Vec<Token>) -> Self {
        let bytes = |tokens: &[Token]| -> Option<Vec<u8>> {
            tokens
                .iter()
                .map(|t| match t {
                    Token::Byte(b) => Some(*b),
                    _ => None,
                })
                .collect()
        };
        let shape = match tokens.as_slice() {
            [Token::Star] => Some(Self::Any),
            [Token::Star, inner @ .., Token::Star] => bytes(inner).map(Self::Contains),
            [Token::Star, rest @ ..] => bytes(rest).map(Self::Suffix),
            [rest @ .., Token::Star] => bytes(rest).map(Self::Prefix),
            all => bytes(all).map(Self::Exact),
        };
        shape.unwrap_or(Self::General(tokens))
    }

    /// Whether the folded name matches.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(text) => name == text.as_slice(),
            Self::Prefix(text) => name.starts_with(text),
            Self::Suffix(text) => name.ends_with(text),
            Self::Contains(text) => contains(name, text),
            Self::Numbered(text) => name
                .strip_prefix(text.as_slice())
                .is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit)),
            Self::General(tokens) => general(tokens, name),
        }
    }
}

fn literal(c: char, tokens: &mut Vec<Token>) {
    let mut folded = Vec::new();
    fold_char(c, &mut folded);
    tokens.extend(folded.into_iter().map(Token::Byte));
}

fn class(chars: &mut std::str::Chars<'_>) -> Option<Token> {
    let mut ahead = chars.clone();
    let mut negated = false;
    if let Some('!' | '^') = ahead.clone().next() {
        ahead.next();
        negated = true;
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut first = true;
    loop {
        let mut c = ahead.next()?;
        if c == ']' && !first {
            break;
        }
        first = false;
        if c == '\\' {
            c = ahead.next()?;
        }
        let mut rest = ahead.clone();
        match (rest.next(), rest.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                ranges.push((c, to));
                ahead = rest;
            }
            _ => ranges.push((c, c)),
        }
    }
    *chars = ahead;
    Some(Token::Class { negated, ranges })
}

fn contains(name: &[u8], text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else {
        return true;
    };
    let mut from = name;
    while from.len() >= text.len() {
        let Some(at) = from.iter().position(|b| b == first) else {
            return false;
        };
        let Some(after) = from.get(at + 1..) else {
            return false;
        };
        if after.starts_with(rest) {
            return true;
        }
        from = after;
    }
    false
}

/// Star by star: only the last star ever needs another try, so the work is at most
/// the product of the two lengths whatever the pattern.
fn general(tokens: &[Token], name: &[u8]) -> bool {
    let (mut t, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let rest = name.get(n..).unwrap_or_default();
        let step = match tokens.get(t) {
            Some(Token::Star) => {
                retry = Some((t, n));
                Some(0)
            }
            Some(Token::Byte(b)) => (rest.first() == Some(b)).then_some(1),
            Some(Token::One) => first_char(rest).map(|(_, len)| len),
            Some(Token::Class { negated, ranges }) => first_char(rest)
                .filter(|(c, _)| in_class(*c, ranges) != *negated)
                .map(|(_, len)| len),
            None if rest.is_empty() => return true,
            None => None,
        };
        match (step, retry) {
            (Some(len), _) => {
                t += 1;
                n += len;
            }
            // The star takes one character more.
            (None, Some((star, from))) => {
                let Some((_, len)) = first_char(name.get(from..).unwrap_or_default()) else {
                    return false;
                };
                t = star;
                n = from + len;
            }
            _ => return false,
        }
    }
}

/// The first character and its length; a byte that is no UTF-8 counts as one character.
fn first_char(bytes: &[u8]) -> Option<(char, usize)> {
    let head = bytes.get(..bytes.len().min(4))?;
    if head.is_empty() {
        return None;
    }
    let chunk = head.utf8_chunks().next()?;
    Some(
        chunk
            .valid()
            .chars()
            .next()
            .map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, c.len_utf8())),
    )
}

fn in_class(c: char, ranges: &[(char, char)]) -> bool {
    // Names are folded down, so a class written in capitals has to look up.
    let upper = c.to_uppercase().next().unwrap_or(c);
    ranges
        .iter()
        .any(|(from, to)| (*from..=*to).contains(&c) || (*from..=*to).contains(&upper))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The meaning of a pattern, tried in every way.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], _) => name.is_empty(),
            (['*', rest @ ..], _) => (0..=name.len()).any(|at| naive(rest, &name[at..])),
            (['?', rest @ ..], [_, after @ ..]) => naive(rest, after),
            (['[', '!', class, ']', rest @ ..], [first, after @ ..]) => {
                class != first && naive(rest, after)
            }
            (['[', class, ']', rest @ ..], [first, after @ ..]) => {
                class == first && naive(rest, after)
            }
            ([same, rest @ ..], [first, after @ ..]) => same == first && naive(rest, after),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..toolgate_testkit::laws(4096) })]

        #[test]
        fn a_pattern_matches_as_the_naive_matcher_does(
            pattern in "(\\*|\\?|a|b|\u{e4}|\\[a\\]|\\[!a\\]|\\[!\u{e4}\\]){0,7}",
            name in "[ab\u{e4}]{0,9}",
        ) {
            let glob = NameGlob::compile(&pattern).unwrap();
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(glob.matches(name.as_bytes()), naive(&chars(&pattern), &chars(&name)));
        }
    }

    #[test]
    fn patterns_match_the_names_they_describe_and_no_others() {
        for (pattern, yes, no) in [
            ("*", vec!["", "a", "a.b"], vec![]),
            ("a", vec!["a"], vec!["b", "aa", ""]),
            ("A", vec!["a"], vec!["b"]),
            (
                "id_rsa*",
                vec!["id_rsa", "id_rsa.pub"],
                vec!["valid_rsa", "id_rs"],
            ),
            ("*.pem", vec!["a.pem", ".pem"], vec!["pem", "a.pem.txt"]),
            (
                "*secret*",
                vec!["secret", "my_secrets.rs", "secsecret"],
                vec!["secre", "sec", "ecret"],
            ),
            ("a?c", vec!["abc", "a\u{e4}c"], vec!["ac", "abbc"]),
            (
                "a*b*c",
                vec!["abc", "axxbyyc", "abbc"],
                vec!["abcd", "ab", "acb"],
            ),
            ("[a-c]x", vec!["ax", "cx"], vec!["dx", "x", "aax"]),
            ("[A-C]x", vec!["ax"], vec!["dx"]),
            ("[!a]x", vec!["bx", "\u{e4}x"], vec!["ax", "x"]),
            ("[^a-c]", vec!["d"], vec!["b"]),
            ("[]]", vec!["]"], vec!["[", ""]),
            ("[a-]", vec!["a", "-"], vec!["b"]),
            (r"\*", vec!["*"], vec!["a"]),
            (r"[\]]", vec!["]"], vec!["\\"]),
            ("x\u{200b}y", vec!["xy"], vec!["x"]),
            (
                "*a*a*a*a*b",
                vec!["aaaab"],
                vec!["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
            ),
        ] {
            let glob = NameGlob::compile(pattern).unwrap();
            for name in yes {
                assert!(glob.matches(name.as_bytes()), "{pattern} fits {name}");
            }
            for name in no {
                assert!(
                    !glob.matches(name.as_bytes()),
                    "{pattern} does not fit {name}"
                );
            }
        }
    }

    #[test]
    fn an_unclosed_class_is_refused() {
        for pattern in ["[", "[a", "x[]", "[!", "[a\\"] {
            assert_eq!(NameGlob::compile(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn a_byte_that_is_no_utf8_counts_as_one_character() {
        let glob = NameGlob::compile("a?b").unwrap();
        assert!(glob.matches(b"a\xffb"));
        assert!(!glob.matches(b"a\xff\xfeb"));
    }
}
