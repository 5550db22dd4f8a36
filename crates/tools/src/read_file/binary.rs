//! Content that is no text, as base64.

use sha2::{Digest, Sha256};
use toolgate_gate::output::Redactor;
use toolgate_gate::place;
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, hex};
use toolgate_model::{ErrorKind, ToolError, base64};

use super::{Known, Read, Reading};

use crate::lines::LineRange;
use crate::place::fact_path;

const WHOLE: &str = "[binary:base64]\n";
/// How far past the end of what is returned a secret is looked for.
const LONGEST_SECRET: usize = 4096;
const CUT: &str = "[binary:base64][truncated]\n";

impl Reading<'_> {
    /// As much of the content as fits into the result, which the line does not cut again.
    pub(super) fn binary(mut self, range: Option<LineRange>) -> Result<Read, ToolError> {
        if range.is_some() {
            return Err(self.no_lines());
        }
        let limit = self.cx.limits().effective();
        let room = |header: &str| base64::fits(limit.saturating_sub(header.len()));
        // A little more than is returned: a secret may begin before the end and go on after it.
        self.up_to((room(WHOLE) + LONGEST_SECRET) as u64)?;
        if holds_known_secret(self.cx.redactor(), &self.bytes) {
            return Err(self.holds_secret());
        }
        let whole = self.whole && self.bytes.len() <= room(WHOLE);
        let header = if whole { WHOLE } else { CUT };
        let mut content = header.to_owned();
        let most = if whole { self.bytes.len() } else { room(CUT) };
        let bytes = self.bytes.get(..most).unwrap_or(&self.bytes);
        base64::encode_into(bytes, &mut content);
        // The header is plain ASCII: a limit smaller than it cuts no character.
        content.truncate(limit);

        let path = fact_path(&self.args.path);
        let total = if self.whole {
            self.bytes.len() as u64
        } else {
            self.handle.stat.len
        };
        let display = format!("Read {path} (binary, {total} bytes)");
        let mut output = Output::self_bounded(content)
            .display(display)
            .with("path", path)
            .with("encoding", "base64")
            .with("bytes", total)
            .with("truncated", !whole);
        let mut known = None;
        if whole {
            let sha256 = hex(&Sha256::digest(&self.bytes));
            output = output.with("sha256", sha256.as_str());
            known = Some(Known {
                place: place(&self.handle),
                sha256,
                lines: LineRanges::all(),
            });
        }
        Ok(Read { output, known })
    }

    fn holds_secret(&self) -> ToolError {
        ToolError::new(
            ErrorKind::Binary,
            format!(
                "`{}` is binary and holds a secret of the environment, which base64 would show, so it is not returned. Work without it, or ask the user.",
                self.args.path
            ),
        )
    }
}

/// Whether a known secret stands in the bytes, as text of one byte or of two bytes a letter.
/// Later stages look for secrets in text, and see none in base64.
fn holds_known_secret(redactor: &Redactor, bytes: &[u8]) -> bool {
    let holds = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        redactor.hide_known(&text) != text
    };
    let letters: Vec<u8> = bytes.iter().copied().filter(|b| *b != 0).collect();
    holds(bytes) || holds(&letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Zq7vTokenValueXk29LmPp48";

    #[test]
    fn a_known_secret_is_found_wherever_it_stands_in_bytes() {
        let redactor = Redactor::new([("MY_TOKEN", SECRET)]).unwrap();
        let little: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for form in [SECRET.as_bytes(), &little, &big] {
            for before in [
                &b""[..],
                b"\0",
                b"\0\x01",
                b"\0\x01xx",
                b"\xff\xfe",
                b"\xc3",
            ] {
                let bytes = [before, form, b"\0\xff"].concat();
                assert!(holds_known_secret(&redactor, &bytes), "{bytes:?}");
            }
        }
        let other = b"\0\x01 PNG and TokenValue alone \xff";
        assert!(!holds_known_secret(&redactor, other));
    }
}
