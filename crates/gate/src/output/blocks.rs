//! Content blocks on their way out: checked, sanitized, without secrets, bounded.
//!
//! ```text
//!  ContentBlock ─▶ check (media type, base64, first bytes) ─▶ sanitize, redact ─▶ bound ─▶ ContentBlock
//!                   └─ invalid: a note                                             └─ too large: a note
//!                                                                                     with a handle
//! ```
//!
//! A note is a text block in the place of the block that it names. Nothing goes without one.

use serde_json::Value;
use toolgate_model::media::is_media_type;
use toolgate_model::{ContentBlock, ImageKind, OutputHandle, Resource, ResourceBody, base64};

use super::approval_text::approval_text;
use super::bound::{Limits, bound};
use super::redact::Redactor;
use crate::session::{KeepError, Session};

/// Values deeper than this cannot be read back from a record.
const MOST_DEEP: usize = 64;
/// The longest address of a resource.
const MOST_URI_BYTES: usize = 8 * 1024;
/// Kept base64 has lines, so that parts of it can be read.
const LINE: usize = 76;

/// How large the blocks of a result may be, as they are written: base64 counts as base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLimits {
    /// The most bytes of one block.
    pub max_block_bytes: usize,
    /// The most bytes of all blocks of a result.
    pub max_total_bytes: usize,
    /// The most blocks of a result.
    pub max_blocks: usize,
}

impl Default for BlockLimits {
    /// One block of 5 MiB is the largest image that every wire takes.
    fn default() -> Self {
        Self {
            max_block_bytes: 5 << 20,
            max_total_bytes: 16 << 20,
            max_blocks: 64,
        }
    }
}

/// Makes blocks fit to be seen.
pub(crate) struct BlockCleaner<'a> {
    pub(crate) redactor: &'a Redactor,
    pub(crate) limits: BlockLimits,
    /// Of the text of one block.
    pub(crate) text: Limits,
    /// Where a whole text is kept that is cut or left out.
    pub(crate) session: &'a Session,
}

/// Blocks that can be seen.
#[derive(Default)]
pub(crate) struct CleanBlocks {
    pub(crate) blocks: Vec<ContentBlock>,
    /// The text of each block that has one, whole.
    pub(crate) texts: Vec<String>,
    /// How many secrets were taken out.
    pub(crate) redacted: usize,
    /// How many blocks are notes now.
    pub(crate) left_out: usize,
    /// Why something that was cut was not kept.
    pub(crate) not_kept: Option<KeepError>,
}

/// A block that cannot go on: the block as far as it may be kept, and why.
struct Stopped {
    note: String,
    /// The whole, if it may be kept.
    whole: Option<Whole>,
}

struct Whole {
    text: String,
    form: &'static str,
}

impl Stopped {
    fn invalid(what: &str, why: &str) -> Self {
        Self {
            note: format!("{what} left out: {why}"),
            whole: None,
        }
    }

    fn too_large(block: &ContentBlock, limit: &str) -> Self {
        Self {
            note: format!("{}, left out: more than {limit}", block.label()),
            whole: Some(Whole::of(block)),
        }
    }
}

impl Whole {
    fn of(block: &ContentBlock) -> Self {
        if let Some(data) = block.data() {
            let mut text = String::with_capacity(data.len() + data.len() / LINE + 1);
            let mut rest: &str = data;
            while !rest.is_empty() {
                let (line, after) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
                text.push_str(line);
                text.push('\n');
                rest = after;
            }
            let form = "base64";
            return Self { text, form };
        }
        match block {
            ContentBlock::Structured { json } => Self {
                text: format!("{json:#}"),
                form: "JSON",
            },
            other => Self {
                text: other.as_text().unwrap_or_default().into_owned(),
                form: "text",
            },
        }
    }
}

impl BlockCleaner<'_> {
    pub(crate) async fn clean(&self, blocks: Vec<ContentBlock>) -> CleanBlocks {
        let mut clean = CleanBlocks::default();
        let mut left = self.limits.max_total_bytes;
        let mut blocks = blocks.into_iter();
        for block in blocks.by_ref().take(self.limits.max_blocks) {
            self.add(block, &mut left, &mut clean).await;
        }
        let rest: Vec<ContentBlock> = blocks.collect();
        if !rest.is_empty() {
            self.leave_out_rest(rest, &mut clean).await;
        }
        clean
    }

    async fn add(&self, block: ContentBlock, left: &mut usize, clean: &mut CleanBlocks) {
        let before = markers(&block);
        let checked = match self.checked(block) {
            Ok(block) => block,
            Err(stopped) => return self.note(stopped, clean).await,
        };
        clean.redacted += markers(&checked).saturating_sub(before);
        let text = checked.as_text().map(std::borrow::Cow::into_owned);
        let block = self.bounded(checked, clean).await;
        match self.room_for(&block, left) {
            Ok(()) => {
                clean.blocks.push(block);
                clean.texts.extend(text);
            }
            Err(stopped) => self.note(stopped, clean).await,
        }
    }

    /// Takes the room of a block out of what is left.
    fn room_for(&self, block: &ContentBlock, left: &mut usize) -> Result<(), Stopped> {
        let (size, most) = (block.size(), self.limits.max_block_bytes);
        if size > most {
            let limit = format!("the limit of {most} bytes of a block");
            return Err(Stopped::too_large(block, &limit));
        }
        *left = left.checked_sub(size).ok_or_else(|| {
            let most = self.limits.max_total_bytes;
            let limit = format!("the limit of {most} bytes of all blocks leaves");
            Stopped::too_large(block, &limit)
        })?;
        Ok(())
    }

    async fn leave_out_rest(&self, rest: Vec<ContentBlock>, clean: &mut CleanBlocks) {
        let (count, most) = (rest.len(), self.limits.max_blocks);
        // What may not be seen may not be kept either.
        let text: String = rest
            .into_iter()
            .map(|block| match self.checked(block) {
                Ok(block) => serde_json::to_string(&block).unwrap_or_default() + "\n",
                Err(stopped) => self.redactor.shown(&stopped.note) + "\n",
            })
            .collect();
        let stopped = Stopped {
            note: format!("{count} more blocks left out: more than the limit of {most} blocks"),
            whole: Some(Whole {
                text,
                form: "JSON lines",
            }),
        };
        self.note(stopped, clean).await;
        clean.left_out += count - 1;
    }

    /// Puts a note in the place of a block.
    async fn note(&self, stopped: Stopped, clean: &mut CleanBlocks) {
        let kept = match stopped.whole {
            Some(Whole { text, form }) => {
                let handle = self.kept(text, clean).await;
                handle.map(|handle| format!("; read_output {handle} returns it as {form}"))
            }
            None => None,
        };
        let note = format!("[{}{}]", stopped.note, kept.unwrap_or_default());
        let note = self.redactor.shown(&note);
        clean.left_out += 1;
        clean.texts.push(note.clone());
        clean.blocks.push(ContentBlock::Text { text: note });
    }

    async fn kept(&self, text: String, clean: &mut CleanBlocks) -> Option<OutputHandle> {
        match self.session.keep_whole(text).await {
            Ok(handle) => Some(handle),
            Err(error) => {
                clean.not_kept = Some(error);
                None
            }
        }
    }

    /// The block with its text within the limits.
    async fn bounded(&self, mut block: ContentBlock, clean: &mut CleanBlocks) -> ContentBlock {
        let text = match &mut block {
            ContentBlock::Text { text } => text,
            ContentBlock::Resource {
                resource:
                    Resource {
                        body: ResourceBody::Text(text),
                        ..
                    },
            } => text,
            _ => return block,
        };
        if bound(text, self.text, None).truncated {
            let handle = self.kept(text.clone(), clean).await;
            let handle = handle.as_ref().map(OutputHandle::as_str);
            *text = bound(text, self.text, handle).text;
        }
        block
    }

    /// The block, clean, if it is what it says it is.
    fn checked(&self, block: ContentBlock) -> Result<ContentBlock, Stopped> {
        match block {
            ContentBlock::Text { text } => Ok(ContentBlock::Text {
                text: self.redactor.shown(&text),
            }),
            ContentBlock::Image { mime_type, data } => {
                let mime_type = media_type("an image", mime_type)?;
                let bytes = self.bytes("an image", &data)?;
                match ImageKind::of(&bytes) {
                    // The bytes are right where the two disagree.
                    Some(kind) => Ok(ContentBlock::Image {
                        mime_type: kind.media_type().to_owned(),
                        data,
                    }),
                    None => {
                        let block = ContentBlock::Image { mime_type, data };
                        Err(Stopped {
                            note: format!(
                                "{}, left out: its bytes are not PNG, JPEG, GIF or WebP",
                                block.label()
                            ),
                            whole: Some(Whole::of(&block)),
                        })
                    }
                }
            }
            ContentBlock::Audio { mime_type, data } => {
                let mime_type = media_type("audio", mime_type)?;
                self.bytes("audio", &data)?;
                Ok(ContentBlock::Audio { mime_type, data })
            }
            ContentBlock::ResourceLink {
                uri,
                name,
                mime_type,
                description,
            } => Ok(ContentBlock::ResourceLink {
                uri: self.uri("a link", &uri)?,
                name: self.short(&name),
                mime_type: mime_type
                    .map(|mime_type| media_type("a link", mime_type))
                    .transpose()?,
                description: description.map(|words| self.short(&words)),
            }),
            ContentBlock::Resource { resource } => self.resource(resource),
            ContentBlock::Structured { json } => self.structured(json),
            // Nothing of a kind that is not known here is known to be harmless.
            _ => Err(Stopped::invalid("a block", "its kind is not known")),
        }
    }

    fn resource(&self, resource: Resource) -> Result<ContentBlock, Stopped> {
        const WHAT: &str = "a resource";
        let uri = self.uri(WHAT, &resource.uri)?;
        let mime_type = resource.mime_type;
        let mime_type = mime_type.map(|mime_type| media_type(WHAT, mime_type));
        let mime_type = mime_type.transpose()?;
        let body = match resource.body {
            ResourceBody::Text(text) => ResourceBody::Text(self.redactor.shown(&text)),
            ResourceBody::Blob(blob) => {
                self.bytes(WHAT, &blob)?;
                ResourceBody::Blob(blob)
            }
        };
        Ok(ContentBlock::resource(uri, mime_type, body))
    }

    fn structured(&self, mut json: Value) -> Result<ContentBlock, Stopped> {
        if !is_shallow(&json, MOST_DEEP) {
            let why = format!("it is more than {MOST_DEEP} levels deep");
            return Err(Stopped::invalid("JSON", &why));
        }
        let before = values(&json);
        self.redactor.show_value(&mut json);
        if values(&json) != before {
            let why = "two of its names are the same without what may not be shown";
            return Err(Stopped::invalid("JSON", why));
        }
        Ok(ContentBlock::Structured { json })
    }

    /// A name or a description.
    fn short(&self, text: &str) -> String {
        let limits = Limits::bytes(self.text.effective_bytes().min(MOST_URI_BYTES));
        bound(&self.redactor.shown(text), limits, None).text
    }

    fn uri(&self, what: &str, uri: &str) -> Result<String, Stopped> {
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
        let has_scheme =
            scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(in_scheme);
        if uri.len() > MOST_URI_BYTES {
            let why = format!("its address has {} bytes", uri.len());
            return Err(Stopped::invalid(what, &why));
        }
        let clean = self.redactor.shown(uri);
        let blank = |c: char| c.is_whitespace() || c.is_control() || c == '<' || c == '>';
        if !has_scheme || clean.contains(blank) {
            let why = format!("`{}` is not an address", approval_text(&clean));
            return Err(Stopped::invalid(what, &why));
        }
        Ok(clean)
    }

    /// The bytes of a base64 text, if they hold no known secret.
    fn bytes(&self, what: &str, data: &str) -> Result<Vec<u8>, Stopped> {
        let bytes = base64::decode(data).map_err(|error| {
            let why = format!("its data is not base64: {error}");
            Stopped::invalid(what, &why)
        })?;
        if self.redactor.bytes_hold_known(&bytes) {
            let why = "it holds a secret of the environment";
            return Err(Stopped::invalid(what, why));
        }
        Ok(bytes)
    }
}

fn media_type(what: &str, mime_type: String) -> Result<String, Stopped> {
    if is_media_type(&mime_type) {
        return Ok(mime_type);
    }
    let why = format!("`{}` is not a media type", approval_text(&mime_type));
    Err(Stopped::invalid(what, &why))
}

/// How many places a secret was taken from.
fn markers(block: &ContentBlock) -> usize {
    let count = |text: &str| text.matches("[redacted:").count();
    match block {
        ContentBlock::Resource { resource } => {
            let text = match &resource.body {
                ResourceBody::Text(text) => text,
                ResourceBody::Blob(_) => "",
            };
            count(&resource.uri) + count(text)
        }
        other => other.as_text().map_or(0, |text| count(&text)),
    }
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Array(items) => items.iter().all(|item| is_shallow(item, below)),
        Value::Object(map) => map.values().all(|item| is_shallow(item, below)),
        _ => true,
    }
}

/// How many values there are in a value, with itself.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(map) => map.values().map(values).sum(),
        _ => 0,
    }
}
