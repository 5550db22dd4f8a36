//! Media types, and the images that can be told by their first bytes.

use crate::base64;

/// The longest media type that is accepted.
const LONGEST: usize = 255;

/// Whether a text is a media type such as `image/png` or `text/html;charset=utf-8`.
#[must_use]
pub fn is_media_type(text: &str) -> bool {
    let name = |name: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte);
        (1..=127).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(plain)
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let printable = |byte: u8| (b' '..=b'~').contains(&byte);
    let essence = essence.trim_end_matches(' ');
    let named = essence.split_once('/');
    text.len() <= LONGEST
        && named.is_some_and(|(kind, subtype)| name(kind) && name(subtype))
        && parameters.bytes().all(printable)
}

/// An image format that is told by its first bytes and that models and browsers show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// Graphics Interchange Format.
    Gif,
    /// WebP.
    Webp,
}

impl ImageKind {
    /// Every kind there is.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// How many bytes from the start tell the kind.
    pub const SNIFFED: usize = 12;

    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// The kind of an image by its first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let webp = |bytes: &[u8]| {
            bytes.starts_with(b"RIFF")
                && bytes.get(8..).is_some_and(|rest| rest.starts_with(b"WEBP"))
        };
        match bytes {
            _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => Some(Self::Png),
            _ if bytes.starts_with(b"\xff\xd8\xff") => Some(Self::Jpeg),
            _ if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") => Some(Self::Gif),
            _ if webp(bytes) => Some(Self::Webp),
            _ => None,
        }
    }

    /// The kind of an image by the start of its base64.
    pub fn of_base64(text: &str) -> Option<Self> {
        let head = text.get(..text.len().min(base64::encoded_len(Self::SNIFFED)))?;
        Self::of(&base64::decode(head).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_by_their_first_bytes() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], Some(ImageKind::Png)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0", Some(ImageKind::Jpeg)),
            (b"GIF87a", Some(ImageKind::Gif)),
            (b"GIF89a\x01\0\x01\0", Some(ImageKind::Gif)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Some(ImageKind::Webp)),
            (b"RIFF\x24\0\0\0WAVEfmt ", None),
            (b"\x89PNG\n\x1a\n", None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\">", None),
            (b"BM", None),
            (b"", None),
        ] {
            assert_eq!(ImageKind::of(bytes), kind, "{bytes:?}");
            assert_eq!(ImageKind::of_base64(&base64::encode(bytes)), kind);
        }
        assert_eq!(ImageKind::of_base64("not base64"), None);
        assert_eq!(ImageKind::of_base64("üüüüüüüüü"), None);
    }

    #[test]
    fn media_types_have_a_type_and_a_subtype() {
        for fine in [
            "image/png",
            "application/vnd.api+json",
            "text/html; charset=utf-8",
            "text/html;profile=mcp-app",
        ] {
            assert!(is_media_type(fine), "{fine}");
        }
        let long = format!("a/{}", "b".repeat(128));
        for wrong in [
            "",
            "image",
            "image/",
            "/png",
            "image/png/x",
            "image/p ng",
            "image/png\n",
            "text/html; x=\"\u{1b}[2J\"",
            "a/b;ü",
            "<b>/x",
            &long,
        ] {
            assert!(!is_media_type(wrong), "{wrong}");
        }
    }
}
