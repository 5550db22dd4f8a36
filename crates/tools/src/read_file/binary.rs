//! Content that is no text: base64, and images also as blocks.

use sha2::{Digest, Sha256};
use toolgate_gate::place;
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, hex};
use toolgate_model::{ContentBlock, ErrorKind, ImageKind, ToolError, base64};

use super::{Known, Read, Reading};

use crate::lines::LineRange;
use crate::place::fact_path;

const WHOLE: &str = "[binary:base64]\n";
/// How far past the end of what is returned a secret is looked for.
const LONGEST_SECRET: usize = 4096;
const CUT: &str = "[binary:base64][truncated]\n";
/// The most bytes of the text of an image.
const IMAGE_TEXT: usize = 4096;

impl Reading<'_> {
    /// As much of the content as fits into the result, which the line does not cut again. An
    /// image is a block too, and then its text is short: it says little to a model.
    pub(super) fn binary(mut self, range: Option<LineRange>) -> Result<Read, ToolError> {
        if range.is_some() {
            return Err(self.no_lines());
        }
        let image = ImageKind::of(&self.bytes);
        let limits = self.cx.limits();
        let limit = match image {
            Some(_) => limits.effective().min(IMAGE_TEXT),
            None => limits.effective(),
        };
        let most = limits.blocks.max_block_bytes;
        let most = base64::fits(most.min(limits.blocks.max_total_bytes));
        let image_fits = image.is_some() && self.handle.stat.len <= most as u64;
        let room = |header: &str| base64::fits(limit.saturating_sub(header.len()));
        // A little more than is returned: a secret may begin before the end and go on after it.
        let returned = if image_fits { most } else { room(WHOLE) };
        self.up_to((returned + LONGEST_SECRET) as u64)?;
        if self.cx.redactor().bytes_hold_known(&self.bytes) {
            return Err(self.holds_secret());
        }
        let content = self.as_base64(limit);
        let whole_text = content.starts_with(WHOLE);
        // The file may have grown since it was measured.
        let image_fits = image_fits && self.whole && self.bytes.len() <= most;

        let path = fact_path(&self.args.path);
        let total = if self.whole {
            self.bytes.len() as u64
        } else {
            self.handle.stat.len
        };
        let kind = image.map_or("binary", ImageKind::media_type);
        let mut output = Output::self_bounded(content)
            .display(format!("Read {path} ({kind}, {total} bytes)"))
            .with("path", path)
            .with("encoding", "base64")
            .with("bytes", total)
            .with("truncated", !whole_text);
        if let Some(image) = image {
            output = output.with("mime_type", image.media_type());
            output = output.block(if image_fits {
                ContentBlock::image(image.media_type(), &self.bytes)
            } else {
                ContentBlock::text(format!(
                    "[image {kind}, {total} bytes, left out: images of at most {most} bytes are shown]"
                ))
            });
        }
        let mut known = None;
        if image_fits || whole_text {
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

    /// As much of what was read as fits into so many bytes, with a header that says whether
    /// that is all.
    fn as_base64(&self, limit: usize) -> String {
        let room = |header: &str| base64::fits(limit.saturating_sub(header.len()));
        let whole = self.whole && self.bytes.len() <= room(WHOLE);
        let header = if whole { WHOLE } else { CUT };
        let mut content = header.to_owned();
        let most = if whole { self.bytes.len() } else { room(CUT) };
        let bytes = self.bytes.get(..most).unwrap_or(&self.bytes);
        base64::encode_into(bytes, &mut content);
        // The header is plain ASCII: a limit smaller than it cuts no character.
        content.truncate(limit);
        content
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
