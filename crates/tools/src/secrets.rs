//! Secrets in the text of a file.
//!
//! A result is redacted once more on its way out, but there a key of twenty lines
//! can no longer be recognized if only its middle was asked for. So tools that
//! return parts of a file look for secrets in the whole of it.

use std::borrow::Cow;

use toolgate_gate::output::{RedactedSpan, Redactor, SecretClass};

/// Where the secrets of a text stand.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// In order and apart from each other.
    spans: Vec<RedactedSpan>,
    /// Lines of secrets of other texts, of which parts may be in this one.
    lines: Vec<String>,
}

/// So many characters of a line of a secret are told from other text.
const TELLING: usize = 12;

impl Secrets {
    /// Looks for secrets.
    pub(crate) fn find(redactor: &Redactor, text: &str) -> Self {
        Self {
            spans: redactor.redact(text).1,
            lines: Vec::new(),
        }
    }

    /// The same for a text that was made from others: what was a secret in one of these stays
    /// one, also where its beginning is gone and it is no longer recognized.
    #[must_use]
    pub(crate) fn made_from<'t>(
        mut self,
        redactor: &Redactor,
        originals: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        for original in originals {
            for span in redactor.redact(original).1 {
                let secret = original.get(span.start..span.end).unwrap_or_default();
                let lines = secret.lines().map(str::trim);
                let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("-----"));
                self.lines.extend(lines.map(str::to_owned));
            }
        }
        self
    }

    /// Whether a line holds a part of a secret of another text.
    fn is_known(&self, line: &str) -> bool {
        let line = line.trim();
        let part_of = |secret: &String| {
            let chars: Vec<(usize, char)> = secret.char_indices().collect();
            if chars.len() < TELLING {
                return line == secret;
            }
            chars.windows(TELLING).any(|window| {
                let [(start, _), .., (end, last)] = window else {
                    return false;
                };
                let part = secret.get(*start..*end + last.len_utf8());
                part.is_some_and(|part| line.contains(part))
            })
        };
        self.lines.iter().any(part_of)
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
        if self.is_known(piece(start, end)) {
            return Cow::Borrowed(SecretClass::PrivateKey.marker());
        }
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

    #[test]
    fn a_line_of_a_key_stays_hidden_when_its_beginning_is_gone() {
        let redactor = Redactor::new(std::iter::empty::<(&str, &str)>()).unwrap();
        let body = "MIIEowIBAAKCAQEAvJ0123456789abcdefghijklmnopqrstuvwxyz\nQ2hhcmxpZSBCcm93biBpcyBhIGdvb2QgYm95\nAb3=";
        let original = format!(
            "a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nb\n"
        );
        let edited = original.replace("-----BEGIN RSA PRIVATE KEY-----", "gone");
        let edited = edited.replace("MIIEowIB", "changed ");
        let secrets = Secrets::find(&redactor, &edited).made_from(&redactor, [original.as_str()]);
        for line in edited.lines() {
            let start = edited.find(line).unwrap();
            let shown = secrets.masked(&edited, start, start + line.len());
            let is_plain = ["a", "b", "gone", "-----END RSA PRIVATE KEY-----"].contains(&line);
            assert_eq!(shown == line, is_plain, "{line}: {shown}");
        }
    }

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
