//! Random-looking values that are given to a name such as `password`.

use super::SecretClass;
use super::cursor::{Cursor, NeedMore};
use super::randomness::{MIN_CHARS, is_placeholder, is_reference, looks_random};
use super::scan::Secret;
use super::shapes::is_blank;
use super::tail::{Charset, Tail, before_code};

/// Names, or parts of names, whose values are secret. Case does not matter.
pub(super) const KEYWORDS: &[&str] = &[
    "access-key",
    "access_key",
    "accesskey",
    "account_key",
    "accountkey",
    "api-key",
    "api_key",
    "apikey",
    "auth_key",
    "authkey",
    "credential",
    "encryption_key",
    "encryptionkey",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "private-key",
    "private_key",
    "privatekey",
    "pwd",
    "secret",
    "signing_key",
    "signingkey",
    "token",
];

/// Ends of names that are about a secret and do not hold one.
const ABOUT: &[&str] = &[
    "_at",
    "_count",
    "_endpoint",
    "_env",
    "_expiry",
    "_expires",
    "_expires_at",
    "_expires_in",
    "_field",
    "_file",
    "_format",
    "_header",
    "_hint",
    "_length",
    "_limit",
    "_name",
    "_path",
    "_pattern",
    "_policy",
    "_prefix",
    "_ref",
    "_regex",
    "_size",
    "_ttl",
    "_type",
    "_uri",
    "_url",
    "_version",
];

/// How much of a value is judged; the rest of a longer one is swallowed.
const JUDGED: usize = 128;

/// At a keyword: name, separator, value.
pub(super) fn assignment(
    keyword: &'static str,
    mut cursor: Cursor<'_>,
) -> Result<Option<Secret>, NeedMore> {
    let option = cursor.before == Some('-');
    let word = cursor.run(keyword.len(), |_| true)?;
    let rest = cursor.run(48, |c| Charset::Url64.contains(c))?;
    if continues_word(word, rest) || is_about(rest) {
        return Ok(None);
    }
    cursor.run(3, |c| matches!(c, '"' | '\'' | '\\' | ']'))?;
    let blanks = cursor.run(8, is_blank)?;
    let separator = cursor.run(3, |c| matches!(c, '=' | ':' | '>'))?;
    // `--token VALUE` has no separator but the blank.
    if separator.is_empty() && (!option || blanks.is_empty()) {
        return Ok(None);
    }
    if separator == ":" {
        cursor = past_type(cursor)?;
    }
    let blanks_after = cursor.run(8, is_blank)?;
    // `x-access-token:VALUE@host` is part of a URL.
    let in_url = separator == ":" && blanks_after.is_empty();
    let bare = if in_url {
        Charset::UserInfo
    } else {
        Charset::Bare
    };
    let (mut tail, quoted) = open_value(&mut cursor, bare)?;
    let start = cursor.at();
    let judged = cursor.run(JUDGED, |c| tail.takes(c))?;
    let whole = judged.chars().count() < JUDGED;
    // An unquoted value that opens a bracket is a call or an index: code.
    if !quoted && whole && matches!(cursor.peek()?, Some('(' | '[' | '{')) {
        return Ok(None);
    }
    let strict = !quoted && !blanks_after.is_empty() && !separator.is_empty();
    // A dollar sign at the very end can begin what follows.
    let value = match before_code(judged) {
        value if whole => value,
        value => value.strip_suffix('$').unwrap_or(value),
    };
    let is_secret = value.chars().count() >= MIN_CHARS
        && !value.contains(char::is_whitespace)
        && !is_reference(value)
        && looks_random(value, strict)
        && !is_placeholder(value);
    let end = start + value.len();
    let goes_on = !whole && value.len() == judged.len();
    let tail = goes_on.then_some(tail.past_judged());
    Ok(is_secret.then_some(Secret {
        start,
        end,
        class: SecretClass::Assignment,
        tail,
    }))
}

/// `tokenizer` is not about a token; `tokens`, `secretkey`, `tokenValue` are.
fn continues_word(word: &str, rest: &str) -> bool {
    let (Some(last), Some(next)) = (word.chars().last(), rest.chars().next()) else {
        return false;
    };
    let same_word =
        next.is_ascii_lowercase() || (next.is_ascii_uppercase() && last.is_ascii_uppercase());
    let lower = rest.to_ascii_lowercase();
    let plural = lower
        .strip_prefix('s')
        .is_some_and(|r| !r.starts_with(|c: char| c.is_alphabetic()));
    same_word && !plural && !lower.starts_with("key")
}

fn is_about(rest: &str) -> bool {
    if rest.is_empty() {
        return false;
    }
    let lower = rest.to_ascii_lowercase().replace('-', "_");
    ABOUT.iter().any(|end| lower.ends_with(end))
}

/// After `name:`, past a type as in `name: &str = "value"`, if there is one.
fn past_type(cursor: Cursor<'_>) -> Result<Cursor<'_>, NeedMore> {
    let mut typed = cursor;
    typed.run(8, is_blank)?;
    let name = typed.run(40, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '&' | '\'' | '.' | '<' | '>' | ':' | ' ')
    })?;
    // The blank tells a type from base64, which can end with the same character.
    let is_type = name.ends_with(' ') && typed.eat("=")?;
    Ok(if is_type { typed } else { cursor })
}

/// Past what opens the value: how it goes on to its end, and whether it is quoted.
fn open_value(cursor: &mut Cursor<'_>, bare: Charset) -> Result<(Tail, bool), NeedMore> {
    let mut literal = *cursor;
    // The letters in front of a literal, as in `b"…"`.
    literal.run(2, |c| matches!(c, 'b' | 'f' | 'r' | 'u' | '@'))?;
    if let Some(quote @ ('"' | '\'' | '`')) = literal.peek()? {
        literal.run(1, |_| true)?;
        *cursor = literal;
        return Ok((
            Tail::Quoted {
                quote,
                escaped: false,
            },
            true,
        ));
    }
    if cursor.eat("\\\"")? || cursor.eat("\\'")? {
        return Ok((Tail::Run(Charset::EscapedQuotes), true));
    }
    Ok((Tail::Run(bare), false))
}
