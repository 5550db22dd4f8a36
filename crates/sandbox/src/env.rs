//! The environment of a command: built from nothing.
//!
//! The variables of the program go in, those that a command gets come out. The variables that every
//! program needs are always there. Everything else is inherited, unless its name is known
//! to hold a secret or to change what a later program executes, or its value looks like
//! a secret whatever the name is.
//!
//! Three lists decide, in this order: `strip` of the configuration, `keep` of the
//! configuration, the built-in patterns. So a user can keep a variable that is stripped
//! by default, and nothing brings back a variable that the user strips.

mod credentials;
mod lists;
mod secrets;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The home directory that commands see. It is theirs alone and ends with them.
pub const HOME: &str = "/run/home";
/// Where programs are looked for by default.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that a command gets.
///
/// `keep` and `strip` are names, or patterns with `*` and `?`; case does not matter.
/// The result is sorted by name, and no name occurs twice: of two, the last counts.
pub fn clean<K, V>(
    vars: impl IntoIterator<Item = (K, V)>,
    keep: &[impl AsRef<str>],
    strip: &[impl AsRef<str>],
) -> Vec<(OsString, OsString)>
where
    K: AsRef<OsStr>,
    V: AsRef<OsStr>,
{
    let stripped = |name: &[u8]| fits_any(strip, name);
    let mut out = std::collections::BTreeMap::new();
    for (name, value) in vars {
        let (name, value) = (name.as_ref(), value.as_ref());
        let bytes = name.as_bytes();
        if is_name(bytes)
            && !value.as_bytes().contains(&0)
            && !stripped(bytes)
            && (fits_any(keep, bytes) || is_harmless(bytes, value.as_bytes()))
        {
            out.insert(name.to_owned(), value.to_owned());
        }
    }
    for (name, value) in [("HOME", HOME), ("TERM", "dumb")] {
        if !stripped(name.as_bytes()) {
            out.insert(name.into(), value.into());
        }
    }
    if !stripped(b"PATH") {
        out.entry("PATH".into()).or_insert_with(|| PATH.into());
    }
    out.into_iter().collect()
}

/// Whether commands do not get a variable because of its name: it holds a secret, leads to one,
/// or belongs to a service that has some.
pub fn is_secret(name: &str) -> bool {
    is_credential(name) || fits_any(secrets::AROUND_SECRETS, name.as_bytes())
}

/// Whether a variable holds a credential, which is shown nowhere: its name says so and its value
/// looks like one, or its value can be nothing else.
///
/// ```
/// use toolgate_sandbox::env::holds_credential;
///
/// assert!(holds_credential("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
/// assert!(!holds_credential("AWS_REGION", "us-east-1"));
/// ```
pub fn holds_credential(name: &str, value: &str) -> bool {
    holds_secret(value.as_bytes())
        || (is_credential(name) && credentials::looks_like_one(name, value))
}

/// Whether a name is the one of a credential.
fn is_credential(name: &str) -> bool {
    fits_any(secrets::CREDENTIALS, name.as_bytes()) || words::name_a_secret(name)
}

/// Whether a name fits one of these names or patterns.
pub fn is_listed(name: &str, patterns: &[impl AsRef<str>]) -> bool {
    fits_any(patterns, name.as_bytes())
}

/// Whether a program can be given a variable of this name. A function that a shell
/// exported is none: it is code.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && !name
            .iter()
            .any(|byte| matches!(byte, b'=' | 0 | b'(' | b'%'))
}

fn is_harmless(name: &[u8], value: &[u8]) -> bool {
    let needed = lists::NEEDED.iter().any(|pattern| fits(pattern, name));
    let known = is_secret(&String::from_utf8_lossy(name)) || fits_any(lists::CODE, name);
    needed || !(known || holds_secret(value))
}

fn fits_any(patterns: &[impl AsRef<str>], name: &[u8]) -> bool {
    patterns.iter().any(|pattern| fits(pattern.as_ref(), name))
}

/// Whether a pattern with `*` and `?` matches a whole name, whatever the case.
pub fn fits(pattern: &str, name: &[u8]) -> bool {
    let pattern = pattern.as_bytes();
    let (mut p, mut n) = (0, 0);
    // Where to go on when the guess about the last `*` turns out too short.
    let mut again: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(p), name.get(n)) {
            (Some(b'*'), _) => {
                again = Some((p + 1, n));
                p += 1;
            }
            (Some(b'?'), Some(_)) => {
                p += 1;
                n += 1;
            }
            (Some(a), Some(b)) if a.eq_ignore_ascii_case(b) => {
                p += 1;
                n += 1;
            }
            (None, None) => return true,
            _ => match again {
                Some((after, from)) if from < name.len() => {
                    again = Some((after, from + 1));
                    p = after;
                    n = from + 1;
                }
                _ => return false,
            },
        }
    }
}

/// Whether a value looks like a secret: an address with a password in it, the prefix of a
/// well-known kind of token, a private key, a connection string.
fn holds_secret(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    let lower = text.to_ascii_lowercase();
    secrets::SECRET_PREFIXES.iter().any(|prefix| {
        text.match_indices(prefix).any(|(at, _)| {
            let (before, rest) = text.split_at_checked(at).unwrap_or_default();
            let starts_a_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
            let tail = rest.strip_prefix(prefix).unwrap_or_default();
            let body = tail
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
            starts_a_word && body.count() >= 12
        })
    }) || secrets::SECRET_PARTS
        .iter()
        .any(|part| lower.contains(part))
        || has_password(&text)
}

/// `scheme://user:password@host`
fn has_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, mark)| {
        let rest = text.get(at + mark.len()..).unwrap_or_default();
        let authority = rest
            .split(|c: char| c == '/' || c == '?' || c == '#' || c.is_whitespace())
            .next()
            .unwrap_or_default();
        authority
            .rsplit_once('@')
            .and_then(|(user, _)| user.split_once(':'))
            .is_some_and(|(_, password)| !password.is_empty())
    })
}
