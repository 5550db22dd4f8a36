//! Redaction: secrets replaced by `[redacted:class]`.
//!
//! ```text
//!  text ─▶ automata ─▶ places where a secret may begin ─▶ rule of that place ─▶ spans ─▶ text
//!          (scan)      "ghp_", "://", "password", …        (shapes, assignment)   merged
//! ```
//!
//! A rule looks at the character in front of its place and at no more than
//! [`HOLD_BACK_BYTES`] after it, so a stream keeps back no more than that, and only
//! while a rule has not decided. What is longer than a rule has to see is followed by
//! a [`Tail`](tail::Tail): a token, a value or a private key of any length is
//! swallowed to its end without being kept.

mod assignment;
mod cursor;
mod pem;
mod randomness;
mod rules;
mod scan;
mod shapes;
mod tail;

use std::borrow::Cow;
use std::sync::Arc;

use rules::{Rules, Variable};
use scan::{Piece, Scan};

use super::chars::{is_unclear, split};

/// Shorter values of environment variables are not looked for: they would be found
/// in the middle of ordinary words.
pub const MIN_ENV_VALUE_CHARS: usize = toolgate_redact::MIN_CHARS;

/// The most bytes that a [`RedactStream`] keeps back, up to one character.
pub const HOLD_BACK_BYTES: usize = 2048;

/// How much of a whole text is looked at in one go.
const WINDOW_BYTES: usize = 64 * 1024;

/// What kind of secret was found. Where two are found at one place, the first in
/// this order is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SecretClass {
    /// The value of an environment variable that was declared secret.
    Env,
    /// A token that its issuer made recognizable, such as `ghp_…`.
    Token,
    /// A JSON Web Token.
    Jwt,
    /// A PEM block with a private key.
    PrivateKey,
    /// The credentials of an `Authorization` header.
    Authorization,
    /// The password in a URL.
    Url,
    /// A random-looking value that is assigned to a name such as `password`.
    Assignment,
}

impl SecretClass {
    /// What stands in the text instead of the secret.
    #[must_use]
    pub fn marker(self) -> &'static str {
        match self {
            Self::Env => "[redacted:env]",
            Self::Token => "[redacted:token]",
            Self::Jwt => "[redacted:jwt]",
            Self::PrivateKey => "[redacted:private_key]",
            Self::Authorization => "[redacted:authorization]",
            Self::Url => "[redacted:url]",
            Self::Assignment => "[redacted:assignment]",
        }
    }
}

/// Where a secret stood in the original text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedactedSpan {
    /// The first byte of the secret.
    pub start: usize,
    /// The byte after the secret.
    pub end: usize,
    /// What it is.
    pub class: SecretClass,
}

/// A [`Redactor`] could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactorError {
    /// The automaton that finds all values at once cannot be built.
    #[error(transparent)]
    TooManyValues(#[from] toolgate_redact::TooManyValues),
    /// The automaton that finds the shapes of secrets cannot be built.
    #[error("cannot look for the shapes of secrets: {0}")]
    NoShapes(aho_corasick::BuildError),
}

/// Knows the secrets of one session, and the shapes that secrets have anywhere.
///
/// ```
/// # use toolgate_gate::output::Redactor;
/// let redactor = Redactor::new([("DB_PASSWORD", "correct horse")]).unwrap();
/// let (text, spans) = redactor.redact("logging in with correct horse");
/// assert_eq!(text, "logging in with [redacted:env]");
/// assert_eq!((spans[0].start, spans[0].end), (16, 29));
/// ```
#[derive(Debug, Clone)]
pub struct Redactor {
    rules: Arc<Rules>,
}

impl Redactor {
    /// Looks for the values of these environment variables, besides everything that
    /// has the shape of a secret.
    ///
    /// Hand in the variables that are secret, not the whole environment. Values of
    /// fewer than [`MIN_ENV_VALUE_CHARS`] characters are left out, and so are a few
    /// names that are never secret and whose values are everywhere (`HOME`, `PATH`
    /// and their like).
    ///
    /// # Errors
    ///
    /// When the values are too many or too long to be looked for at once.
    pub fn new<N, V>(env: impl IntoIterator<Item = (N, V)>) -> Result<Self, RedactorError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        Ok(Self {
            rules: Arc::new(Rules::new(env)?),
        })
    }

    /// The text without secrets, borrowed where there are none, and where they stood.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<RedactedSpan>) {
        let spans = self.spans(text);
        (without(text, spans.iter().copied()), spans)
    }

    /// The text without the values that were handed in. What only has the shape of a secret
    /// stays: a person may have reasons to say it.
    #[must_use]
    pub fn hide_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let spans = self.known_spans(text, |_, _| true);
        without(text, spans.into_iter().map(|(span, _)| span))
    }

    /// The text for an approver: a known value is replaced by the name of its variable if it is a
    /// plain token, no part of a path and not the name of a profile, a project or the like.
    /// Nothing else is hidden: the shape of a secret can hold code, and an approver has to see
    /// what will run.
    ///
    /// ```
    /// # use toolgate_gate::output::Redactor;
    /// let redactor = Redactor::new([("A", "hunter2-hunter2"), ("B", "x $(date)")]).unwrap();
    /// let shown = redactor.for_approver("login hunter2-hunter2; token=\"x $(date)\"");
    /// assert_eq!(shown, "login [redacted:env A]; token=\"x $(date)\"");
    /// ```
    #[must_use]
    pub fn for_approver<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let hidden = |(start, end): (usize, usize), variable: &Variable| {
            let value = text.get(start..end).unwrap_or_default();
            !variable.is_ordinary && is_plain_token(value) && !is_path(text, start, end)
        };
        let spans = self.known_spans(text, hidden);
        replaced(
            text,
            spans.into_iter().map(|(span, variables)| {
                let marker = match variables.as_slice() {
                    [] => span.class.marker().to_owned(),
                    names => format!("[redacted:env {}]", names.join(", ")),
                };
                (span.start, span.end, Cow::Owned(marker))
            }),
        )
    }

    /// The known values that `wanted` accepts, with the names of their variables. Shapes play no
    /// part: a span that a shape extends would cover more than the value.
    fn known_spans<'r>(
        &'r self,
        text: &str,
        wanted: impl Fn((usize, usize), &Variable) -> bool,
    ) -> Vec<(RedactedSpan, Vec<&'r str>)> {
        let mut spans: Vec<(RedactedSpan, Vec<&str>)> = Vec::new();
        for (start, end, variable) in self.rules.values(text) {
            if !wanted((start, end), variable) {
                continue;
            }
            // An odd name could pass for something else in a question.
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = Some(variable.name.as_str()).filter(|name| name.chars().all(is_word));
            match spans.last_mut() {
                Some((last, names)) if start <= last.end => {
                    last.end = last.end.max(end);
                    names.extend(name.filter(|name| !names.contains(name)));
                }
                _ => {
                    let class = SecretClass::Env;
                    let span = RedactedSpan { start, end, class };
                    spans.push((span, name.into_iter().collect()));
                }
            }
        }
        spans
    }

    /// Whether the text holds a secret.
    #[must_use]
    pub fn holds_secret(&self, text: &str) -> bool {
        !self.spans(text).is_empty()
    }

    /// Redacts a text that arrives in pieces.
    #[must_use]
    pub fn stream(&self) -> RedactStream {
        RedactStream {
            rules: Arc::clone(&self.rules),
            scan: Scan::default(),
            held: String::new(),
        }
    }

    fn spans(&self, text: &str) -> Vec<RedactedSpan> {
        let mut scan = Scan::default();
        let mut spans: Vec<RedactedSpan> = Vec::new();
        let mut emit = |piece: Piece<'_>| match piece {
            Piece::Text(_) => {}
            Piece::Secret { start, class } => spans.push(RedactedSpan {
                start,
                end: start,
                class,
            }),
            Piece::CoveredTo(end) => {
                if let Some(span) = spans.last_mut() {
                    span.end = end;
                }
            }
        };
        let mut rest = text;
        loop {
            let (window, after) = split(rest, rest.floor_char_boundary(WINDOW_BYTES));
            let done = scan.advance(&self.rules, window, after.is_empty(), &mut emit);
            if after.is_empty() {
                return spans;
            }
            rest = split(rest, done).1;
        }
    }
}

/// Whether a text is one word to every shell and every language: nothing in it separates,
/// quotes, expands or cannot be seen.
fn is_plain_token(text: &str) -> bool {
    text.chars()
        .all(|c| (c.is_alphanumeric() && !is_unclear(c)) || "-_.+/=@:%,~".contains(c))
}

/// Whether a value stands as a path or a part of one: an approver has to see which.
fn is_path(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..));
    let ends_word = |c: char| c.is_whitespace() || "\"'=<>|&;()`".contains(c);
    let word = before.rsplit(ends_word).next().unwrap_or_default();
    let value = text.get(start..end).unwrap_or_default();
    let in_path = before.ends_with('/') || after.is_some_and(|after| after.starts_with('/'));
    let begins = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| value.starts_with(start));
    (in_path || (begins && word.is_empty())) && !word.contains("://") && !value.contains("://")
}

fn without<'t>(text: &'t str, spans: impl ExactSizeIterator<Item = RedactedSpan>) -> Cow<'t, str> {
    let marked = |span: RedactedSpan| (span.start, span.end, Cow::Borrowed(span.class.marker()));
    replaced(text, spans.map(marked))
}

/// The text with a marker in place of each span. The spans are in order and apart from each other.
fn replaced<'t>(
    text: &'t str,
    spans: impl ExactSizeIterator<Item = (usize, usize, Cow<'static, str>)>,
) -> Cow<'t, str> {
    if spans.len() == 0 {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, marker) in spans {
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(&marker);
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// Redacts a text that arrives in pieces; the result does not depend on how it was
/// cut.
#[derive(Debug, Clone)]
pub struct RedactStream {
    rules: Arc<Rules>,
    scan: Scan,
    held: String,
}

impl RedactStream {
    /// Appends to `out` what is certain of the text so far.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        if self.held.is_empty() {
            let done = self.scan_into(chunk, false, out);
            self.held.push_str(split(chunk, done).1);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(chunk);
            let done = self.scan_into(&held, false, out);
            held.drain(..done);
            self.held = held;
        }
    }

    /// Ends the text: appends what was kept back. The stream then starts anew.
    pub fn finish(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        self.scan_into(&held, true, out);
        self.scan = Scan::default();
    }

    /// How many bytes are kept back at the moment.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    fn scan_into(&mut self, window: &str, last: bool, out: &mut String) -> usize {
        self.scan
            .advance(&self.rules, window, last, &mut |piece| match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Secret { class, .. } => out.push_str(class.marker()),
                Piece::CoveredTo(_) => {}
            })
    }
}
