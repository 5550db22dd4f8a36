//! Secrets in the text of a file.
//!
//! A result is redacted once more on its way out, but there a key of twenty lines
//! can no longer be recognized if only its middle was asked for. So tools that
//! return parts of a file look for secrets in the whole of it.

use std::borrow::Cow;

use toolgate_gate::output::{RedactedSpan, Redactor};

/// Where the secrets of a text stand.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// In order and apart from each other.
    spans: Vec<RedactedSpan>,
}

impl Secrets {
    /// Looks for secrets.
    pub(crate) fn find(redactor: &Redactor, text: &str) -> Self {
        Self {
            spans: redactor.redact(text).1,
        }
    }

    /// The secrets that reach into these bytes.
    pub(crate) fn within(&self, start: usize, end: usize) -> &[RedactedSpan] {
        let from = self.spans.partition_point(|span| span.end <= start);
        let to = self.spans.partition_point(|span| span.start < end);
        self.spans.get(from..to).unwrap_or_default()
    }

    /// A piece of the text with a marker for every secret, or part of one, in it.
    pub(crate) fn masked<'t>(&self, text: &'t str, start: usize, end: usize) -> Cow<'t, str> {
        let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let found = self.within(start, end);
        if found.is_empty() {
            return Cow::Borrowed(piece(start, end));
        }
        let mut out = String::with_capacity(end.saturating_sub(start));
        let mut at = start;
        for span in found {
            out.push_str(piece(at, span.start.max(at)));
            out.push_str(span.class.marker());
            at = span.end.min(end);
        }
        out.push_str(piece(at, end));
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    #[test]
    fn parts_of_a_secret_are_masked_like_the_whole() {
        let redactor = Redactor::new(std::iter::empty::<(&str, &str)>()).unwrap();
        let text = format!("a {TOKEN} b\nc\n");
        let secrets = Secrets::find(&redactor, &text);
        let line = 2 + TOKEN.len() + 2;
        assert_eq!(secrets.masked(&text, 0, line), "a [redacted:token] b");
        assert_eq!(secrets.masked(&text, 10, 20), "[redacted:token]");
        assert_eq!(secrets.masked(&text, line + 1, text.len()), "c\n");
        assert_eq!(secrets.within(0, 2).len(), 0);
        assert_eq!(secrets.within(0, 3).len(), 1);
    }
}
