//! Placeholders of secrets that a model sends back.
//!
//! ```text
//!  file ──▶ as it was shown ──▶ the change is made on that ──▶ placeholders ──▶ file
//!           one line for one                                   put back
//! ```
//!
//! A model that keeps a line with a placeholder means the line as it is. A placeholder is put
//! back only where its whole line is one of the file's as it was shown, and no other line of
//! the file was shown like that. Everything else is refused: a placeholder is never written over
//! a secret, and no secret gets to a place where the next read would show it.

use std::collections::BTreeSet;

use toolgate_gate::output::Redactor;
use toolgate_model::{ErrorKind, ToolError};

use crate::change::Region;
use crate::secrets::Secrets;

/// How the marker of every class begins.
const BEGINNING: &str = "[redacted:";

/// A file's lines, and how they were shown.
#[derive(Debug)]
pub(crate) struct Placeholders {
    /// The text as it was shown.
    shown: String,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    shown: String,
    text: String,
    is_masked: bool,
}

/// Whether a text holds something that looks like a placeholder.
pub(crate) fn are_in(text: &str) -> bool {
    text.contains(BEGINNING)
}

impl Placeholders {
    /// Of a file, if there are secrets in it.
    pub(crate) fn of(redactor: &Redactor, text: &str) -> Option<Self> {
        let lines = lines(redactor, text);
        lines.iter().any(|line| line.is_masked).then(|| Self {
            shown: lines.iter().map(|line| line.shown.as_str()).collect(),
            lines,
        })
    }

    /// The text as it was shown, line for line.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// The numbers, from 1 on, of the lines that hold secrets and stand in another text too,
    /// outside of what differs.
    pub(crate) fn kept(&self, touched: impl Fn(u64) -> bool) -> Vec<u64> {
        let numbered = (1_u64..).zip(&self.lines);
        let masked = numbered.filter(|(_, line)| line.is_masked);
        let kept = masked.filter(|(number, _)| !touched(*number));
        kept.map(|(number, _)| number).collect()
    }

    /// A text that was made from the one that was shown, with its secrets. The regions say what
    /// of it is new; outside of them it is the shown text, line for line.
    pub(crate) fn put_back(
        &self,
        redactor: &Redactor,
        path: &str,
        new: &str,
        regions: &[Region],
    ) -> Result<String, ToolError> {
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut out = String::new();
        // The lines that are to be shown again as they were.
        let mut hidden: Vec<(usize, &str)> = Vec::new();
        let (mut at, mut old_at) = (0, 0);
        let mut take = |from: usize, to: usize, old: usize, out: &mut String| {
            for (nth, number) in (from..to).enumerate() {
                let Some(line) = self.lines.get(old + nth) else {
                    continue;
                };
                out.push_str(&line.text);
                if line.is_masked {
                    hidden.push((number, &line.shown));
                }
            }
        };
        for region in regions {
            take(at, region.new.start, old_at, &mut out);
            let lines = new.get(region.new.clone()).unwrap_or_default();
            self.put_back_lines(path, lines, region.new.start, &mut out)?;
            (at, old_at) = (region.new.end, region.old.end);
        }
        take(at, new.len(), old_at, &mut out);
        for region in regions {
            let lines = new.get(region.new.clone()).unwrap_or_default();
            let numbered = (region.new.start..).zip(lines);
            hidden.extend(
                numbered
                    .filter(|(_, line)| are_in(line))
                    .map(|(at, line)| (at, *line)),
            );
        }
        let after = lines(redactor, &out);
        let shows = hidden.iter().find(|(number, shown)| {
            let line = after.get(*number);
            line.is_none_or(|line| body(&line.shown) != body(shown))
        });
        match shows {
            Some((number, _)) => Err(refused(
                path,
                *number,
                "would no longer be known as a secret there",
            )),
            None => Ok(out),
        }
    }

    fn put_back_lines(
        &self,
        path: &str,
        new: &[&str],
        first: usize,
        out: &mut String,
    ) -> Result<(), ToolError> {
        let mut at = 0;
        while let Some(line) = new.get(at) {
            if !are_in(line) {
                out.push_str(line);
                at += 1;
                continue;
            }
            let rest = new.get(at..).unwrap_or_default();
            let run = rest.iter().take_while(|line| are_in(line)).count();
            let run = rest.get(..run).unwrap_or_default();
            // Several lines of one key look all the same, and are told by their number.
            let texts = match self.originals(run) {
                Some(texts) => texts,
                None => {
                    let one = rest.get(..1).unwrap_or_default();
                    self.originals(one).ok_or_else(|| {
                        refused(
                            path,
                            first + at,
                            "is not as it was shown, or not the only one like it",
                        )
                    })?
                }
            };
            for (text, line) in texts.iter().zip(rest) {
                out.push_str(text);
                out.push_str(ending(line));
            }
            at += texts.len().max(1);
        }
        Ok(())
    }

    /// The one text that was shown as these lines, without the ends of lines.
    fn originals(&self, shown: &[&str]) -> Option<Vec<&str>> {
        let windows = self.lines.windows(shown.len().max(1));
        let fits = |window: &&[Line]| {
            let mut pairs = window.iter().zip(shown);
            pairs.all(|(line, shown)| body(&line.shown) == body(shown))
        };
        let found: BTreeSet<Vec<&str>> = windows
            .filter(fits)
            .map(|window| window.iter().map(|line| body(&line.text)).collect())
            .collect();
        let mut found = found.into_iter();
        let only = found.next();
        only.filter(|_| found.next().is_none())
    }
}

fn refused(path: &str, line: usize, why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::StaleFile,
        format!(
            "{path}: line {} has a placeholder of a secret, and {why}. Nothing was changed. Keep such a line exactly \
             as read_file shows it and where it is, or leave it out of the change; the secret stays in the file.",
            line + 1
        ),
    )
}

/// The lines of a text with their ends, and how they are shown.
fn lines(redactor: &Redactor, text: &str) -> Vec<Line> {
    let secrets = Secrets::find(redactor, text);
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let (start, end) = (at, at + body(line).len());
        at += line.len();
        let is_masked = !secrets.within(start, end).is_empty();
        let shown = if is_masked {
            format!("{}{}", secrets.masked(text, start, end), ending(line))
        } else {
            line.to_owned()
        };
        Line {
            shown,
            text: line.to_owned(),
            is_masked,
        }
    });
    lines.collect()
}

/// A line without its end.
fn body(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn ending(line: &str) -> &str {
    line.get(body(line).len()..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use toolgate_gate::output::SecretClass;

    use super::*;

    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    const OTHER: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

    fn whole(old: &str, new: &str) -> Result<String, ToolError> {
        let redactor = Redactor::new(std::iter::empty::<(&str, &str)>()).unwrap();
        let placeholders = Placeholders::of(&redactor, old).unwrap();
        let region = Region {
            old: 0..old.split_inclusive('\n').count(),
            new: 0..new.split_inclusive('\n').count(),
        };
        placeholders.put_back(&redactor, "f", new, &[region])
    }

    #[test]
    fn a_line_as_it_was_shown_keeps_its_secret_and_every_other_is_refused() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAvJ0123456789abcdefghij\nQ2hhcmxpZSBCcm93biBpcyBhIGdvb2Q\n-----END RSA PRIVATE KEY-----\n";
        let pem = "[redacted:private_key]\n".repeat(4);
        let marker = SecretClass::Token.marker();
        let old = format!("a\nt = {TOKEN}\nb\n");
        for (old, new, put_back) in [
            (
                old.clone(),
                format!("t = {marker}\nc\n"),
                Some(format!("t = {TOKEN}\nc\n")),
            ),
            (
                old.clone(),
                format!("c\r\nt = {marker}\r\n"),
                Some(format!("c\r\nt = {TOKEN}\r\n")),
            ),
            (
                old.clone(),
                format!("t = {marker}"),
                Some(format!("t = {TOKEN}")),
            ),
            (old.clone(), format!("t={marker}\n"), None),
            (old.clone(), format!("t = {marker} # new\n"), None),
            (old.clone(), "t = [redacted:jwt]\n".to_owned(), None),
            (
                format!("t {TOKEN}\nt {OTHER}\n"),
                format!("t {marker}\n"),
                None,
            ),
            (
                format!("t {TOKEN}\nt {TOKEN}\n"),
                format!("t {marker}\n"),
                Some(format!("t {TOKEN}\n")),
            ),
            (
                format!("t {TOKEN}\nt {OTHER}\n"),
                format!("x\nt {marker}\nt {marker}\n"),
                Some(format!("x\nt {TOKEN}\nt {OTHER}\n")),
            ),
            // A line of the file that only looks like a placeholder is one of two.
            (
                format!("t {TOKEN}\nt {marker}\n"),
                format!("t {marker}\n"),
                None,
            ),
            (
                format!("x\n{key}y\n"),
                format!("z\n{pem}"),
                Some(format!("z\n{key}")),
            ),
            // Parts of a key would be shown by the next read.
            (
                format!("x\n{key}y\n"),
                "[redacted:private_key]\n".repeat(3),
                None,
            ),
        ] {
            let seen = whole(&old, &new);
            assert_eq!(
                seen.as_ref().ok(),
                put_back.as_ref(),
                "{old} {new}: {seen:?}"
            );
        }
    }

    #[test]
    fn a_file_without_secrets_has_no_placeholders() {
        let redactor = Redactor::new(std::iter::empty::<(&str, &str)>()).unwrap();
        assert!(Placeholders::of(&redactor, "a [redacted:token] b\n").is_none());
    }
}
