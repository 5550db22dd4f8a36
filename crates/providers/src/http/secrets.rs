//! What nobody is shown of an endpoint: its key, and headers that are keys.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use toolgate_redact::{KnownValues, MIN_CHARS, TooManyValues};

use crate::fault::StreamError;
use crate::provider::Refused;

/// What stands where a secret stood.
pub(super) const MARKER: &str = "[redacted:key]";

/// Parts of the names of headers whose values say who asks, in lower case.
const SECRET_PARTS: [&str; 11] = [
    "key",
    "token",
    "secret",
    "pass",
    "credential",
    "auth",
    "cookie",
    "session",
    "signature",
    "jwt",
    "access",
];

/// Headers whose values are known everywhere, and stand in ordinary text.
const PUBLIC_HEADERS: [&str; 11] = [
    "accept",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "http-referer",
    "openai-beta",
    "openai-organization",
    "openai-project",
    "referer",
    "x-title",
];

/// A value of an unknown header that is as long and has a digit and no blanks is no word.
const OPAQUE_CHARS: usize = 12;

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key, without the blanks and line ends around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A key, and the values of those of these headers that are secrets by their names or their form.
/// Short ones are left out: words such as `ollama` or `none` stand in ordinary text.
pub fn secret_values<'h>(
    key: Option<&'h Secret>,
    headers: impl IntoIterator<Item = (&'h String, &'h String)>,
) -> impl Iterator<Item = &'h str> {
    let of_headers = headers
        .into_iter()
        .filter(|(name, value)| is_secret(name, value));
    key.map(Secret::expose)
        .into_iter()
        .chain(of_headers.map(|(_, value)| without_scheme(value)))
        .filter(|value| value.chars().count() >= MIN_CHARS)
}

/// The secrets of one endpoint, to be looked for in what others say.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
    known: KnownValues,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

impl Secrets {
    /// The [`secret_values`] of an endpoint.
    ///
    /// # Errors
    /// They are too long to be looked for.
    pub fn of<'h>(
        key: Option<&'h Secret>,
        headers: impl IntoIterator<Item = (&'h String, &'h String)>,
    ) -> Result<Self, TooManyValues> {
        let values: Vec<String> = secret_values(key, headers).map(str::to_owned).collect();
        let known = KnownValues::new(&values)?;
        Ok(Self { values, known })
    }

    /// The texts themselves, for whoever has to hide them elsewhere.
    pub fn expose(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether a text holds one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.known.are_in(text)
    }

    /// Whether one of them stands somewhere in a value.
    pub(super) fn are_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.are_in(text),
            Value::Array(items) => items.iter().any(|item| self.are_in_value(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(name, value)| self.are_in(name) || self.are_in_value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The text without them, also where it was cut off in the middle of one.
    pub(super) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = self.hide_whole(text);
        let open = shown.trim_end_matches('…');
        let (rest, begun) = self.split(open);
        if begun.chars().count() >= MIN_CHARS {
            shown = Cow::Owned(format!("{rest}{MARKER}"));
        }
        shown
    }

    /// The text without those that stand in it from the first to the last character.
    pub(super) fn hide_whole<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.known.hide(text, MARKER)
    }

    /// A text, and what at its end may be the beginning of one of them.
    pub(super) fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let at = self.known.cut_off(text);
        text.split_at_checked(at).unwrap_or((text, ""))
    }

    /// A body without them.
    pub(super) fn hide_bytes(&self, body: Vec<u8>) -> Vec<u8> {
        match self.hide_whole(&String::from_utf8_lossy(&body)) {
            Cow::Borrowed(_) => body,
            Cow::Owned(shown) => shown.into_bytes(),
        }
    }

    /// A value without them.
    pub(super) fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(fields) => fields
                .values_mut()
                .for_each(|item| self.hide_in_value(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Hides them in this text.
    pub(super) fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(shown) = self.hide(text) {
            *text = shown;
        }
    }

    /// What went wrong, in words that hold none of them.
    pub(super) fn fault(&self, mut fault: StreamError) -> StreamError {
        match &mut fault {
            StreamError::Provider(error) => {
                self.hide_in(&mut error.message);
                self.hide_in(&mut error.code);
            }
            StreamError::Malformed {
                message, excerpt, ..
            } => {
                self.hide_in(message);
                self.hide_in(excerpt);
            }
            StreamError::NotAStream {
                content_type,
                excerpt,
            } => {
                self.hide_in(content_type);
                self.hide_in(excerpt);
            }
            StreamError::Unreachable { message, .. } => self.hide_in(message),
            // In these nothing stands that a provider said.
            StreamError::Cut
            | StreamError::Nothing
            | StreamError::Decode(_)
            | StreamError::TooLarge { .. }
            | StreamError::TooManyParts { .. }
            | StreamError::Silent { .. }
            | StreamError::TooSlow { .. }
            | StreamError::Recording { .. }
            | StreamError::Request(_)
            | StreamError::History(_) => {}
        }
        fault
    }

    /// The same for a question that got no answer.
    pub(super) fn refused(&self, refused: Refused) -> Refused {
        Refused {
            fault: self.fault(refused.fault),
            ..refused
        }
    }
}

/// Whether a header's value is a secret, by its name or else by its form.
fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if PUBLIC_HEADERS.contains(&name.as_str()) {
        return false;
    }
    let value = without_scheme(value);
    let opaque = value.chars().count() >= OPAQUE_CHARS
        && value.contains(|c: char| c.is_ascii_digit())
        && !value.contains(char::is_whitespace);
    opaque || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The secret of a value such as `Bearer …`.
fn without_scheme(value: &str) -> &str {
    let value = value.trim();
    match value.split_once(' ') {
        Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphabetic()) => rest.trim(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn secrets(headers: &[(&str, &str)]) -> Secrets {
        let headers: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let pairs = headers.iter().map(|(name, value)| (name, value));
        Secrets::of(Some(&Secret::new(KEY)), pairs).unwrap()
    }

    #[test]
    fn a_header_is_a_secret_by_its_name_or_form_and_without_its_scheme() {
        for (name, value, secret) in [
            ("Authorization", "Bearer abcdefgh1", Some("abcdefgh1")),
            (
                "Proxy-Authorization",
                "Basic YWJjZGVmZ2g=",
                Some("YWJjZGVmZ2g="),
            ),
            ("X-Api-Key", "abcdefgh1", Some("abcdefgh1")),
            ("cookie", "sid=abcdef; b=1", Some("sid=abcdef; b=1")),
            ("x-session-token", "abcdefgh1", Some("abcdefgh1")),
            ("anthropic-beta", "tools-2024-05-16", None),
            ("http-referer", "https://example.com", None),
            ("x-api-key", "none", None),
            ("Helicone-Auth", "Bearer abcdefgh", Some("abcdefgh")),
            ("CF-Access-Client-Id", "abcdefgh", Some("abcdefgh")),
            ("x-gateway-pass", "abcdefgh", Some("abcdefgh")),
            ("x-team", "tok-4455667788aa", Some("tok-4455667788aa")),
            ("x-team", "platform-engineering", None),
            ("x-team", "floor 3, desk 12", None),
            ("x-environment", "production", None),
        ] {
            let found = secrets(&[(name, value)]);
            let mut found = found.expose().filter(|value| *value != KEY);
            assert_eq!(found.next(), secret, "{name}");
        }
    }

    #[test]
    fn a_text_shows_no_secret_and_no_beginning_of_one_where_it_was_cut() {
        let secrets = secrets(&[("authorization", "Bearer other-secret")]);
        for (text, shown) in [
            ("nothing here", "nothing here"),
            ("key sk-0123456789abcdef!", "key [redacted:key]!"),
            ("sk-0123456789abcdef", "[redacted:key]"),
            ("Bearer other-secret", "Bearer [redacted:key]"),
            ("key sk-0123456789abcde…", "key [redacted:key]"),
            ("key sk-01234…", "key [redacted:key]"),
            // So little says nothing.
            ("key sk-0123…", "key sk-0123…"),
        ] {
            assert_eq!(secrets.hide(text), shown, "{text}");
        }
        assert_eq!(Secrets::default().hide("sk-0123456789abcdef"), KEY);
    }
}
