//! Results with blocks, in the parts that wires take.
//!
//! ```text
//! ToolResult ──▶ text: its content, and a note for every block that does not go
//!            └─▶ pictures: the images that go
//! ```
//!
//! The content of a result holds the text of its blocks already.

use std::borrow::Cow;

use toolgate_model::{ContentBlock, ImageKind, Picture, ToolResult};

/// A result in the parts that wires take.
pub(crate) struct Told<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) pictures: Vec<Picture<'a>>,
}

/// Which images go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Images {
    /// The kinds that go.
    pub(crate) kinds: &'static [ImageKind],
    /// Why others do not, where none does.
    pub(crate) none_because: &'static str,
}

impl Images {
    /// None.
    pub(crate) const NONE: Self = Self::none("images are not sent to this model");

    pub(crate) const fn none(none_because: &'static str) -> Self {
        Self {
            kinds: &[],
            none_because,
        }
    }

    pub(crate) const fn of(kinds: &'static [ImageKind]) -> Self {
        Self {
            kinds,
            none_because: "",
        }
    }
}

/// The parts of a result. Nothing in it goes without a note.
pub(crate) fn told(result: &ToolResult, images: Images) -> Told<'_> {
    let mut told = Told {
        text: Cow::Borrowed(&result.content),
        pictures: Vec::new(),
    };
    for block in &result.blocks {
        if block.as_text().is_some() {
            continue;
        }
        let picture = block.picture();
        match picture.filter(|picture| images.kinds.contains(&picture.kind)) {
            Some(picture) => told.pictures.push(picture),
            None => told.note(&left_out(block, picture, images)),
        }
    }
    told
}

impl Told<'_> {
    /// Adds a line to the text.
    pub(crate) fn note(&mut self, note: &str) {
        let text = self.text.to_mut();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    }
}

fn left_out(block: &ContentBlock, picture: Option<Picture<'_>>, images: Images) -> String {
    match (block, picture) {
        (_, Some(_)) if images.kinds.is_empty() => block.left_out(images.none_because),
        (_, Some(picture)) => {
            let kind = picture.kind.media_type();
            block.left_out(&format!("this provider takes no {kind}"))
        }
        (ContentBlock::Image { .. }, None) => block.left_out("its bytes are no known image"),
        (ContentBlock::Audio { .. }, None) => block.left_out("results carry no audio"),
        _ => block.left_out("results carry only text and images"),
    }
}
