//! Content that is no text: base64, and images also as blocks.

use std::io::{Seek, SeekFrom};

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
/// The longest header of a further piece.
const CONTINUED: usize = CUT.len();
/// The room for the line that says how to go on.
const NOTE: usize = 128;
/// The most bytes of the text of an image.
const IMAGE_TEXT: usize = 4096;

/// How to go on behind a piece.
fn note_about(from: u64, end: u64, total: u64) -> String {
    let last = end.saturating_sub(1);
    format!("\n[bytes {from}-{last} of {total}; go on with from_byte = {end}]")
}

impl Reading<'_> {
    /// As much of the content as fits into the result, which the line does not cut again. An
    /// image is a block too, and then its text is short: it says little to a model.
    pub(super) fn binary(mut self, range: Option<LineRange>) -> Result<Read, ToolError> {
        if range.is_some() {
            return Err(self.no_lines());
        }
        if let Some(from) = self.args.from_byte.filter(|from| *from > 0) {
            return self.further(from);
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
        // The file may have grown since it was measured.
        let image_fits = image_fits && self.whole && self.bytes.len() <= most;
        let (content, shown) = self.as_base64(limit, !image_fits);
        let whole_text = content.starts_with(WHOLE);

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
        // An image that is shown is whole, whatever its text says.
        output.cut = !whole_text && !image_fits;
        if output.cut {
            output = output.with("next_byte", shown);
        }
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

    /// What comes from a byte on, as much as fits into the result.
    fn further(mut self, from: u64) -> Result<Read, ToolError> {
        let total = self.handle.stat.len;
        if from >= total {
            return Err(ToolError::bad_args(format!(
                "from_byte {from} is past the end: `{}` has {total} bytes",
                self.args.path
            )));
        }
        // A secret may have begun before: what comes is looked at together with that.
        let before = from.min(LONGEST_SECRET as u64);
        let file = &mut self.handle.file;
        let sought = file.seek(SeekFrom::Start(from - before));
        sought.map_err(|error| ToolError::failed(format!("`{}`: {error}", self.args.path)))?;
        (self.bytes, self.whole) = (Vec::new(), false);
        let limit = self.cx.limits().effective();
        let note = CONTINUED + NOTE;
        let room = base64::fits(limit.saturating_sub(note)) as u64;
        self.up_to(before + room + LONGEST_SECRET as u64)?;
        if self.cx.redactor().bytes_hold_known(&self.bytes) {
            return Err(self.holds_secret());
        }
        let skipped = usize::try_from(before).unwrap_or(usize::MAX);
        let wanted = self.bytes.get(skipped..).unwrap_or_default();
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let shown = wanted.get(..room).unwrap_or(wanted);
        let is_last = self.whole && shown.len() == wanted.len();
        let end = from + shown.len() as u64;
        let mut content = if is_last {
            WHOLE.to_owned()
        } else {
            CUT.to_owned()
        };
        base64::encode_into(shown, &mut content);
        if !is_last {
            content.push_str(&note_about(from, end, total));
        }
        let path = fact_path(&self.args.path);
        let mut output = Output::self_bounded(content)
            .display(format!(
                "Read {path} (bytes {from}-{} of {total})",
                end.saturating_sub(1)
            ))
            .with("path", path)
            .with("encoding", "base64")
            .with("bytes", total)
            .with("from_byte", from)
            .with("truncated", !is_last)
            .with("counts_as_read", false);
        output.cut = !is_last;
        if !is_last {
            output = output.with("next_byte", end);
        }
        Ok(Read {
            output,
            known: None,
        })
    }

    /// As much of what was read as fits into so many bytes, with a header that says whether
    /// that is all, and how many bytes it is. Where there is room and more to come, a line at the
    /// end says how to go on.
    fn as_base64(&self, limit: usize, goes_on: bool) -> (String, usize) {
        let whole = base64::fits(limit.saturating_sub(WHOLE.len()));
        if self.whole && self.bytes.len() <= whole {
            let mut content = WHOLE.to_owned();
            base64::encode_into(&self.bytes, &mut content);
            return (content, self.bytes.len());
        }
        let note = if goes_on && limit > 4 * NOTE { NOTE } else { 0 };
        let most = base64::fits(limit.saturating_sub(CUT.len() + note));
        let bytes = self.bytes.get(..most).unwrap_or(&self.bytes);
        let mut content = CUT.to_owned();
        base64::encode_into(bytes, &mut content);
        let end = bytes.len() as u64;
        if note > 0 {
            content.push_str(&note_about(0, end, self.handle.stat.len.max(end)));
        }
        // All of it is plain ASCII: a limit smaller than the header cuts no character.
        content.truncate(limit);
        (content, bytes.len())
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
