//! Typed parts of a result, beside the text that every model gets.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base64;
use crate::media::ImageKind;

/// A part of a result that has a type of its own.
///
/// The kinds and their names are those of MCP; fields are written in snake_case. Bytes are
/// base64 with padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Its media type.
        mime_type: String,
        /// Its bytes.
        data: Arc<str>,
    },
    /// Sound.
    Audio {
        /// Its media type.
        mime_type: String,
        /// Its bytes.
        data: Arc<str>,
    },
    /// The address of something that is not part of the result.
    ResourceLink {
        /// The address.
        uri: String,
        /// A name for it.
        name: String,
        /// Its media type, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// What it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Something with an address, and its content.
    Resource {
        /// The resource.
        resource: Resource,
    },
    /// The result as JSON.
    Structured {
        /// The value.
        json: Value,
    },
}

/// Something with an address, and its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ResourceWire", into = "ResourceWire")]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The media type, if known.
    pub mime_type: Option<String>,
    /// The content.
    pub body: ResourceBody,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, as base64.
    Blob(Arc<str>),
}

/// A resource as it is written: exactly one of `text` and `blob` is there.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceWire {
    uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<Arc<str>>,
}

impl From<Resource> for ResourceWire {
    fn from(resource: Resource) -> Self {
        let (text, blob) = match resource.body {
            ResourceBody::Text(text) => (Some(text), None),
            ResourceBody::Blob(blob) => (None, Some(blob)),
        };
        Self {
            uri: resource.uri,
            mime_type: resource.mime_type,
            text,
            blob,
        }
    }
}

impl TryFrom<ResourceWire> for Resource {
    type Error = &'static str;

    fn try_from(wire: ResourceWire) -> Result<Self, Self::Error> {
        let body = match (wire.text, wire.blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            _ => return Err("a resource has either `text` or `blob`"),
        };
        Ok(Self {
            uri: wire.uri,
            mime_type: wire.mime_type,
            body,
        })
    }
}

/// An image that models and browsers can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture<'a> {
    /// Its kind, by its first bytes.
    pub kind: ImageKind,
    /// Its bytes, as base64.
    pub data: &'a str,
}

impl Picture<'_> {
    /// The image as an address that holds it.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.kind.media_type(), self.data)
    }
}

impl ContentBlock {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture from its bytes.
    pub fn image(mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Image {
            mime_type: mime_type.into(),
            data: base64::encode(bytes).into(),
        }
    }

    /// Sound from its bytes.
    pub fn audio(mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::Audio {
            mime_type: mime_type.into(),
            data: base64::encode(bytes).into(),
        }
    }

    /// The address of something, and a name for it.
    pub fn link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ResourceLink {
            uri: uri.into(),
            name: name.into(),
            mime_type: None,
            description: None,
        }
    }

    /// Something with an address, and its text or bytes.
    pub fn resource(uri: impl Into<String>, mime_type: Option<String>, body: ResourceBody) -> Self {
        Self::Resource {
            resource: Resource {
                uri: uri.into(),
                mime_type,
                body,
            },
        }
    }

    /// JSON.
    pub const fn structured(json: Value) -> Self {
        Self::Structured { json }
    }

    /// The base64 of its bytes, if it has any.
    pub const fn data(&self) -> Option<&Arc<str>> {
        match self {
            Self::Image { data, .. } | Self::Audio { data, .. } => Some(data),
            Self::Resource { resource } => match &resource.body {
                ResourceBody::Blob(blob) => Some(blob),
                ResourceBody::Text(_) => None,
            },
            Self::Text { .. } | Self::ResourceLink { .. } | Self::Structured { .. } => None,
        }
    }

    /// The picture in it, if there is one of a known kind.
    pub fn picture(&self) -> Option<Picture<'_>> {
        if matches!(self, Self::Audio { .. }) {
            return None;
        }
        let data = self.data()?;
        let kind = ImageKind::of_base64(data)?;
        Some(Picture { kind, data })
    }

    /// Its content as text; nothing for pictures, sound and bytes.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text } => Some(text.into()),
            Self::ResourceLink { .. } => Some(format!("[{}]", self.label()).into()),
            Self::Resource { resource } => match &resource.body {
                ResourceBody::Text(text) => Some(text.into()),
                ResourceBody::Blob(_) => None,
            },
            Self::Structured { json } => Some(json.to_string().into()),
            Self::Image { .. } | Self::Audio { .. } => None,
        }
    }

    /// What it is, in one phrase: its kind, its media type and how large it is.
    ///
    /// ```
    /// # use toolgate_model::ContentBlock;
    /// assert_eq!(ContentBlock::image("image/png", b"1234").label(), "image image/png, 4 bytes");
    /// ```
    pub fn label(&self) -> String {
        let of_type = |mime_type: &Option<String>| {
            let shown = mime_type.as_ref().map(|mime_type| format!(" {mime_type}"));
            shown.unwrap_or_default()
        };
        match self {
            Self::Text { text } => format!("text, {} bytes", text.len()),
            Self::Image { mime_type, data } => {
                format!("image {mime_type}, {} bytes", base64::decoded_len(data))
            }
            Self::Audio { mime_type, data } => {
                format!("audio {mime_type}, {} bytes", base64::decoded_len(data))
            }
            Self::ResourceLink {
                uri,
                name,
                mime_type,
                description,
            } => {
                let described = description.as_ref().map(|words| format!(": {words}"));
                let described = described.unwrap_or_default();
                format!("resource {name} <{uri}>{}{described}", of_type(mime_type))
            }
            Self::Resource { resource } => {
                let bytes = match &resource.body {
                    ResourceBody::Text(text) => text.len(),
                    ResourceBody::Blob(blob) => base64::decoded_len(blob),
                };
                let mime_type = of_type(&resource.mime_type);
                format!("resource <{}>{mime_type}, {bytes} bytes", resource.uri)
            }
            Self::Structured { json } => format!("JSON, {} bytes", json.to_string().len()),
        }
    }

    /// The line that stands for it where it cannot go.
    pub fn left_out(&self, why: &str) -> String {
        format!("[{}, left out: {why}]", self.label())
    }

    /// How many bytes it takes: of its text, its base64 or its JSON.
    pub fn size(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::Image { data, .. } | Self::Audio { data, .. } => data.len(),
            Self::ResourceLink {
                uri,
                name,
                mime_type,
                description,
            } => {
                let more = [mime_type, description].into_iter().flatten();
                uri.len() + name.len() + more.map(String::len).sum::<usize>()
            }
            Self::Resource { resource } => {
                resource.uri.len()
                    + match &resource.body {
                        ResourceBody::Text(text) => text.len(),
                        ResourceBody::Blob(blob) => blob.len(),
                    }
            }
            Self::Structured { json } => json.to_string().len(),
        }
    }

    /// Changes every text in it but base64 and the names inside JSON.
    pub fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Text { text } => change(text),
            Self::Image { mime_type, .. } | Self::Audio { mime_type, .. } => change(mime_type),
            Self::ResourceLink {
                uri,
                name,
                mime_type,
                description,
            } => {
                let more = [mime_type, description].into_iter().flatten();
                [uri, name].into_iter().chain(more).for_each(change);
            }
            Self::Resource { resource } => {
                change(&mut resource.uri);
                resource.mime_type.iter_mut().for_each(&mut *change);
                if let ResourceBody::Text(text) = &mut resource.body {
                    change(text);
                }
            }
            Self::Structured { json } => each_text(json, change),
        }
    }
}

fn each_text(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| each_text(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blocks() -> Vec<(ContentBlock, Value)> {
        let png = b"\x89PNG\r\n\x1a\n";
        let described = ContentBlock::ResourceLink {
            uri: "file:///a".into(),
            name: "a".into(),
            mime_type: Some("text/plain".into()),
            description: Some("notes".into()),
        };
        let text = ResourceBody::Text("t".into());
        let blob = ResourceBody::Blob("AAE=".into());
        vec![
            (
                ContentBlock::text("hi"),
                json!({"type": "text", "text": "hi"}),
            ),
            (
                ContentBlock::image("image/png", png),
                json!({"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="}),
            ),
            (
                ContentBlock::audio("audio/wav", b"RIFF"),
                json!({"type": "audio", "mime_type": "audio/wav", "data": "UklGRg=="}),
            ),
            (
                ContentBlock::link("file:///a", "a"),
                json!({"type": "resource_link", "uri": "file:///a", "name": "a"}),
            ),
            (
                described,
                json!({"type": "resource_link", "uri": "file:///a", "name": "a",
                    "mime_type": "text/plain", "description": "notes"}),
            ),
            (
                ContentBlock::resource("x:1", None, text),
                json!({"type": "resource", "resource": {"uri": "x:1", "text": "t"}}),
            ),
            (
                ContentBlock::resource("x:1", Some("a/b".into()), blob),
                json!({"type": "resource",
                    "resource": {"uri": "x:1", "mime_type": "a/b", "blob": "AAE="}}),
            ),
            (
                ContentBlock::structured(json!({"n": [1, 2.5, null]})),
                json!({"type": "structured", "json": {"n": [1, 2.5, null]}}),
            ),
        ]
    }

    #[test]
    fn blocks_have_the_documented_form() {
        for (block, json) in blocks() {
            assert_eq!(serde_json::to_value(&block).unwrap(), json);
            assert_eq!(serde_json::from_value::<ContentBlock>(json).unwrap(), block);
        }
    }

    #[test]
    fn unknown_kinds_and_fields_are_errors() {
        for json in [
            json!({"type": "video", "data": ""}),
            json!({"type": "text", "text": "", "more": 1}),
            json!({"type": "text"}),
            json!({"text": ""}),
            json!({"type": "resource", "resource": {"uri": "x:1"}}),
            json!({"type": "resource", "resource": {"uri": "x:1", "text": "", "blob": ""}}),
            json!({"type": "resource", "resource": {"uri": "x:1", "text": "", "more": 1}}),
            json!({"type": "resource_link", "uri": "x:1"}),
        ] {
            let read = serde_json::from_value::<ContentBlock>(json.clone());
            assert!(read.is_err(), "{json}");
        }
    }

    #[test]
    fn labels_and_texts_say_what_a_block_is() {
        let said: Vec<(String, Option<String>)> = blocks()
            .iter()
            .map(|(block, _)| (block.label(), block.as_text().map(Cow::into_owned)))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            ("text, 2 bytes", some("hi")),
            ("image image/png, 8 bytes", None),
            ("audio audio/wav, 4 bytes", None),
            ("resource a <file:///a>", some("[resource a <file:///a>]")),
            (
                "resource a <file:///a> text/plain: notes",
                some("[resource a <file:///a> text/plain: notes]"),
            ),
            ("resource <x:1>, 1 bytes", some("t")),
            ("resource <x:1> a/b, 2 bytes", None),
            ("JSON, 18 bytes", some(r#"{"n":[1,2.5,null]}"#)),
        ];
        let expected = expected.map(|(label, text)| (label.to_owned(), text));
        assert_eq!(said, expected);
        let image = ContentBlock::image("image/png", b"1");
        assert_eq!(
            image.left_out("no images here"),
            "[image image/png, 1 bytes, left out: no images here]"
        );
    }

    #[test]
    fn a_picture_is_what_its_bytes_say() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\0";
        let kind = |block: &ContentBlock| block.picture().map(|picture| picture.kind);
        let blob = ResourceBody::Blob(base64::encode(png).into());
        for (block, expected) in [
            (ContentBlock::image("image/jpeg", png), Some(ImageKind::Png)),
            (ContentBlock::image("image/png", b"<svg/>"), None),
            (
                ContentBlock::resource("x:1", None, blob),
                Some(ImageKind::Png),
            ),
            (ContentBlock::audio("audio/wav", png), None),
            (ContentBlock::text("iVBORw0KGgo="), None),
        ] {
            assert_eq!(kind(&block), expected, "{block:?}");
        }
    }
}
