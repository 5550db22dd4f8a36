//! Content that is no text, as base64.

use sha2::{Digest, Sha256};
use toolgate_gate::place;
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, hex};
use toolgate_model::ToolError;

use super::{Known, Read, Reading};
use crate::base64;
use crate::lines::LineRange;
use crate::place::fact_path;

const WHOLE: &str = "[binary:base64]\n";
const CUT: &str = "[binary:base64][truncated]\n";

impl Reading<'_> {
    /// As much of the content as fits into the result, which the line does not cut again.
    pub(super) fn binary(mut self, range: Option<LineRange>) -> Result<Read, ToolError> {
        if range.is_some() {
            return Err(self.no_lines());
        }
        let limit = self.cx.limits().effective();
        let room = |header: &str| base64::fits(limit.saturating_sub(header.len()));
        self.up_to(room(WHOLE) as u64)?;
        let whole = self.whole && self.bytes.len() <= room(WHOLE);
        let header = if whole { WHOLE } else { CUT };
        let mut content = header.to_owned();
        let most = if whole { self.bytes.len() } else { room(CUT) };
        let bytes = self.bytes.get(..most).unwrap_or(&self.bytes);
        base64::encode(bytes, &mut content);
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
}
