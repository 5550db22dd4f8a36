//! Secrets that can be told by their shape alone: tokens with a known beginning,
//! JSON Web Tokens, credentials in headers and URLs.

use super::SecretClass;
use super::cursor::{Cursor, NeedMore};
use super::randomness::{is_placeholder, is_reference, looks_random};
use super::scan::Secret;
use super::tail::{Charset, Tail, before_code};

/// A token that its issuer made recognizable.
#[derive(Debug)]
pub(super) struct Shape {
    /// How it begins, exactly.
    pub(super) prefix: &'static str,
    /// What follows.
    body: Charset,
    /// How much of that has to follow: somewhat less than the issuer writes.
    min: usize,
    /// The beginning also occurs inside ordinary words: it has to start a word, and
    /// what follows must not look like words.
    common: bool,
}

const fn shape(prefix: &'static str, body: Charset, min: usize) -> Shape {
    Shape {
        prefix,
        body,
        min,
        common: false,
    }
}

const fn common(prefix: &'static str, body: Charset, min: usize) -> Shape {
    Shape {
        prefix,
        body,
        min,
        common: true,
    }
}

/// Sorted by issuer.
pub(super) const SHAPES: &[Shape] = &[
    shape("AGE-SECRET-KEY-1", Charset::Upper, 40),
    shape("sk-ant-", Charset::Url64, 16),
    shape("AKIA", Charset::Upper, 16),
    shape("ASIA", Charset::Upper, 16),
    shape("ABIA", Charset::Upper, 16),
    shape("ACCA", Charset::Upper, 16),
    shape("dop_v1_", Charset::Alnum, 32),
    shape("doo_v1_", Charset::Alnum, 32),
    shape("dor_v1_", Charset::Alnum, 32),
    shape("dckr_pat_", Charset::Url64, 20),
    shape("ghp_", Charset::Word, 30),
    shape("gho_", Charset::Word, 30),
    shape("ghu_", Charset::Word, 30),
    shape("ghs_", Charset::Word, 30),
    shape("ghr_", Charset::Word, 30),
    shape("github_pat_", Charset::Word, 22),
    shape("glpat-", Charset::Dotted, 20),
    shape("gldt-", Charset::Dotted, 20),
    shape("glrt-", Charset::Dotted, 20),
    shape("glptt-", Charset::Dotted, 20),
    shape("AIza", Charset::Url64, 30),
    shape("GOCSPX-", Charset::Url64, 20),
    common("ya29.", Charset::Dotted, 20),
    common("gsk_", Charset::Alnum, 32),
    common("hvs.", Charset::Url64, 24),
    common("hf_", Charset::Alnum, 30),
    common("lin_api_", Charset::Alnum, 30),
    common("npm_", Charset::Alnum, 30),
    common("sk-", Charset::Url64, 20),
    shape("pypi-AgE", Charset::Url64, 40),
    common("pypi-", Charset::Url64, 40),
    common("r8_", Charset::Alnum, 30),
    common("SG.", Charset::Dotted, 40),
    shape("shpat_", Charset::Alnum, 30),
    shape("shpca_", Charset::Alnum, 30),
    shape("shppa_", Charset::Alnum, 30),
    shape("shpss_", Charset::Alnum, 30),
    shape("xoxa-", Charset::Url64, 10),
    shape("xoxb-", Charset::Url64, 10),
    shape("xoxc-", Charset::Url64, 10),
    shape("xoxd-", Charset::Url64, 10),
    shape("xoxe-", Charset::Url64, 10),
    shape("xoxe.xox", Charset::Dotted, 10),
    shape("xoxo-", Charset::Url64, 10),
    shape("xoxp-", Charset::Url64, 10),
    shape("xoxr-", Charset::Url64, 10),
    shape("xoxs-", Charset::Url64, 10),
    shape("xapp-", Charset::Url64, 10),
    shape("hooks.slack.com/services/", Charset::Path, 20),
    shape("sk_live_", Charset::Alnum, 16),
    shape("sk_test_", Charset::Alnum, 16),
    shape("rk_live_", Charset::Alnum, 16),
    shape("rk_test_", Charset::Alnum, 16),
    shape("whsec_", Charset::Alnum, 16),
    common("tskey-", Charset::Url64, 16),
    common("xai-", Charset::Alnum, 40),
];

/// At the beginning of a known token.
pub(super) fn token(shape: &Shape, mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    let starts_word = !cursor.before.is_some_and(|c| Charset::Url64.contains(c));
    if (shape.common && !starts_word) || !cursor.eat(shape.prefix)? {
        return Ok(None);
    }
    let body = cursor.run(shape.min, |c| shape.body.contains(c))?;
    let random = || body.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    if body.len() < shape.min || (shape.common && !random()) {
        return Ok(None);
    }
    let tail = Some(Tail::Run(shape.body));
    Ok(Some(Secret {
        start: 0,
        end: cursor.at(),
        class: SecretClass::Token,
        tail,
    }))
}

pub(super) const JWT: &str = "eyJ";

/// The longest first part of a JSON Web Token that is recognized.
const JWT_HEADER: usize = 1500;

/// At `eyJ`: two parts that are JSON objects in base64, and whatever follows them.
pub(super) fn jwt(mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    if cursor.before.is_some_and(|c| Charset::Url64.contains(c)) || !cursor.eat(JWT)? {
        return Ok(None);
    }
    let header = cursor.run(JWT_HEADER, |c| Charset::Url64.contains(c))?;
    if header.len() < 8 || !cursor.eat(".")? || !cursor.eat(JWT)? {
        return Ok(None);
    }
    let tail = Some(Tail::Run(Charset::Dotted));
    Ok(Some(Secret {
        start: 0,
        end: cursor.at(),
        class: SecretClass::Jwt,
        tail,
    }))
}

pub(super) const URL: &str = "://";

/// The longest user and password in a URL that are recognized.
const URL_USER_INFO: usize = 512;

/// At `://`: the password in `user:password@`. A raw `@` can be part of it.
pub(super) fn url_password(mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    if !cursor.eat(URL)? {
        return Ok(None);
    }
    let start = cursor.at();
    let authority = cursor.run(URL_USER_INFO, |c| {
        !c.is_whitespace() && !matches!(c, '/' | '"' | '\'' | '`' | '<' | '>' | '\\')
    })?;
    let Some((user, password)) = authority
        .rsplit_once('@')
        .and_then(|(user_info, _)| user_info.split_once(':'))
    else {
        return Ok(None);
    };
    let password = before_code(password);
    // What ends the host of a URL does not stand in a user's name.
    if user.contains(['?', '#', '&', '='])
        || password.is_empty()
        || is_reference(password)
        || is_placeholder(password)
    {
        return Ok(None);
    }
    let start = start + user.len() + 1;
    let end = start + password.len();
    Ok(Some(Secret {
        start,
        end,
        class: SecretClass::Url,
        tail: None,
    }))
}

pub(super) const AUTHORIZATION: &str = "authorization";

const SCHEMES: &[&str] = &["apikey", "basic", "bearer", "negotiate", "ntlm", "token"];

/// At `authorization`: the credentials after a scheme.
pub(super) fn authorization(mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    cursor.run(AUTHORIZATION.len(), |_| true)?;
    cursor.run(3, |c| matches!(c, '"' | '\'' | '\\' | ']'))?;
    cursor.run(8, is_blank)?;
    if cursor.run(2, |c| matches!(c, ':' | '=' | '>'))?.is_empty() {
        return Ok(None);
    }
    cursor.run(8, is_blank)?;
    cursor.run(3, |c| matches!(c, '"' | '\'' | '\\' | '`' | 'f'))?;
    let scheme = cursor.run(16, |c| c.is_ascii_alphabetic())?;
    if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    credentials(cursor, 8)
}

pub(super) const BEARER: &str = "bearer ";

/// At `bearer `, wherever it stands: credentials that do not look like a word.
pub(super) fn bearer(mut cursor: Cursor<'_>) -> Result<Option<Secret>, NeedMore> {
    cursor.run(BEARER.len() - 1, |_| true)?;
    credentials(cursor, 20)
}

/// Blanks and credentials of at least `min` characters. Only their beginning is
/// judged; the rest is swallowed.
fn credentials(mut cursor: Cursor<'_>, min: usize) -> Result<Option<Secret>, NeedMore> {
    if cursor.run(8, is_blank)?.is_empty() {
        return Ok(None);
    }
    let start = cursor.at();
    let set = if min > 8 {
        Charset::Token68
    } else {
        Charset::Bare
    };
    let value = cursor.run(64, |c| set.contains(c))?;
    let unwanted = value.len() < min || is_reference(value) || is_placeholder(value);
    if unwanted || (min > 8 && !looks_random(value, false)) {
        return Ok(None);
    }
    let (end, tail) = (cursor.at(), Some(Tail::Run(set)));
    Ok(Some(Secret {
        start,
        end,
        class: SecretClass::Authorization,
        tail,
    }))
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}
