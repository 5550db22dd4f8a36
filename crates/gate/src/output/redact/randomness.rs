//! Whether a value is a secret or a word about one.

/// Values with less information per character, in bits, are patterns such as
/// `abababababab`.
const MIN_BITS_PER_CHAR: f64 = 2.5;

/// Shorter values are not judged at all.
pub(super) const MIN_CHARS: usize = 12;

/// Shorter parts of a value say nothing by themselves.
const MIN_PART_CHARS: usize = 8;

/// Whether the value looks as if it was made by chance and not by a person who named
/// something. Entropy alone cannot tell `configuration` from a key of that length, so
/// the value is also taken apart at its punctuation, and some part of it must not be
/// a word, a number, or a word with a number at its end.
///
/// `strict` asks for more: what stands unquoted after a blank is code more often than
/// a secret.
pub(super) fn looks_random(value: &str, strict: bool) -> bool {
    // The cheap questions first: a text can be full of values.
    value.chars().count() >= MIN_CHARS
        && is_jumbled(value, strict)
        && bits_per_char(value) >= MIN_BITS_PER_CHAR
}

fn is_jumbled(value: &str, strict: bool) -> bool {
    // A constant of a program; a key is longer.
    if strict && value.starts_with("0x") && value.len() <= 24 {
        return false;
    }
    let changes = class_changes(value);
    // Groups such as `A1B2-C3D4-E5F6` are random although each is short.
    if changes >= 6 {
        return true;
    }
    if strict {
        let mixed = changes >= 3;
        // Names of types have short humps too, but nothing except letters.
        let name = value.chars().all(char::is_alphabetic);
        let random = |part| (!name && has_short_humps(part)) || (mixed && is_random_part(part));
        return value.split(is_punctuation).any(random);
    }
    let has = |test: fn(char) -> bool| value.contains(test);
    let spiced = has(|c| matches!(c, '!' | '#' | '$' | '^'))
        && has(|c| c.is_ascii_digit())
        && has(char::is_alphabetic)
        && !value.contains("://");
    spiced || value.split(is_punctuation).any(is_random_part)
}

fn is_punctuation(c: char) -> bool {
    !c.is_alphanumeric()
}

fn is_random_part(part: &str) -> bool {
    if part.len() < MIN_PART_CHARS {
        return false;
    }
    let digits = part.chars().filter(char::is_ascii_digit).count();
    let chars = part.chars().count();
    if digits == chars {
        return false;
    }
    if digits == 0 {
        return has_short_humps(part);
    }
    chars >= MIN_CHARS || (chars >= MIN_PART_CHARS && class_changes(part) >= 2)
}

/// Capitals stand closer together than in a name such as `accessTokenProvider`.
fn has_short_humps(part: &str) -> bool {
    if part.len() < MIN_CHARS {
        return false;
    }
    let next = part.chars().skip(1);
    let humps = part
        .chars()
        .zip(next)
        .filter(|(a, b)| a.is_lowercase() && b.is_uppercase())
        .count();
    let chars = part.chars().count();
    chars >= MIN_CHARS && humps * 5 > chars
}

/// How often letters and digits take turns.
fn class_changes(value: &str) -> usize {
    let mut kinds = value
        .chars()
        .filter(|c| c.is_alphanumeric())
        .map(|c| c.is_ascii_digit());
    let Some(mut last) = kinds.next() else {
        return 0;
    };
    kinds
        .filter(|&kind| std::mem::replace(&mut last, kind) != kind)
        .count()
}

/// Shannon's measure over the characters of the value.
fn bits_per_char(value: &str) -> f64 {
    let mut chars: Vec<char> = value.chars().collect();
    chars.sort_unstable();
    let total = as_f64(chars.len());
    chars
        .chunk_by(|a, b| a == b)
        .map(|same| as_f64(same.len()) / total)
        .map(|share| -share * share.log2())
        .sum()
}

fn as_f64(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// A value that is filled in later: `${VAR}`, `$VAR`, `$(command)`, `{{ name }}`,
/// `{name}`, `%s`, `%(name)s`, `<name>`.
pub(super) fn is_reference(value: &str) -> bool {
    if let Some(name) = value.strip_prefix('$') {
        return name.starts_with(['{', '('])
            || name.chars().all(|c| c.is_alphanumeric() || c == '_');
    }
    value.starts_with(['{', '<', '[']) || value.starts_with("%(") || value == "%s" || value == "%v"
}

/// Words that stand where a secret belongs.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "change_me",
    "change-me",
    "dummy",
    "insert_",
    "insert-",
    "placeholder",
    "redacted",
    "replace_",
    "replace-",
    "your-",
    "your_",
    "yourpass",
    "yoursecret",
    "yourtoken",
    "xxxx",
    "****",
    "....",
];

/// Whole values that are no secret.
const PLACEHOLDER_VALUES: &[&str] = &["pass", "passwd", "password", "pwd", "secret", "token"];

/// A value that only shows where a secret would stand.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let first = lower.chars().next();
    lower.chars().all(|c| Some(c) == first)
        || PLACEHOLDER_VALUES.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_look_random_and_names_do_not() {
        for key in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "hunter2hunter2",
            "abcd1234efgh5678",
            "550e8400-e29b-41d4-a716-446655440000",
            "s3cr3tP4ssw0rd!",
            "dGhpcyBpcyBhIHNlY3JldA==",
            "A1B2-C3D4-E5F6-G7H8",
            "0x4c0883a69102937d6231471b5dbb6204fe512961708279",
        ] {
            assert!(looks_random(key, false), "{key}");
        }
        for name in [
            "access_token_expired",
            "current-password",
            "accessTokenProviderFactory",
            "config.database.password",
            "/run/secrets/db-password",
            "https://auth.example.com/oauth2/v1",
            "123456789012345",
            "aaaaaaaaaaaa1",
            "Please enter it",
            "SECRET_KEY_FROM_SETTINGS",
            "2024-01-01",
            "v1.2.3-rc4-beta5",
        ] {
            assert!(!looks_random(name, false), "{name}");
        }
        for code in ["sha256HashOfPayload", "0xC004C4AC_u32", "RcVecIntoIter"] {
            assert!(!looks_random(code, true), "{code}");
        }
        assert!(looks_random("abcd1234efgh5678", true));
    }

    #[test]
    fn what_is_filled_in_later_is_no_secret() {
        for value in [
            "${VAR}",
            "$VAR",
            "$(pass show x)",
            "{{ token }}",
            "{token}",
            "%s",
            "<token>",
        ] {
            assert!(is_reference(value), "{value}");
        }
        for value in [
            "changeme",
            "CHANGE_ME_123",
            "xxxxxxxxxxxx",
            "your_api_key_here",
            "********",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        assert!(!is_reference("$3cret!pass") && !is_placeholder("hunter2hunter2"));
    }
}
