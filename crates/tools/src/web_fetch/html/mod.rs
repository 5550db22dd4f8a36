//! A page of HTML as something to read.
//!
//! ```text
//!  text ──parse──▶ tree ──select, or readable──▶ parts ──render──▶ Markdown or plain text
//! ```
//!
//! In: any text at all; the parser makes a tree of everything. Out: what a person would
//! read, with links made whole, and without scripts, hidden parts and navigation.
//!
//! What can go wrong: a page may be made to keep the parser busy (its work grows with the
//! square of the depth) or to grow on the way, so every step asks whether to go on, and
//! stops where there is enough. Then the result says that it was cut. Nothing recurses, so
//! depth costs no stack.
//!
//! Characters that mean something in Markdown are not escaped: the reader is a model, and
//! `snake_case` is worth more than a faithful asterisk.

mod code;
mod parse;
mod part;
mod render;
mod sheet;
mod table;
mod walk;

use dom_query::{Matcher, NodeRef};
use url::Url;

use parse::parse;
use part::{found, outline, readable, title};
use render::render;

/// What the text is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Markdown, with links and structure.
    #[default]
    Markdown,
    /// The words, in lines.
    Text,
}

/// How a page is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// What the text is written as.
    pub style: Style,
    /// Which elements; the readable part if not given.
    pub selector: Option<&'a Selector>,
    /// Where the page was found, to make links whole.
    pub base: Option<&'a Url>,
    /// The most bytes to write.
    pub most: usize,
}

/// Which elements of a page are wanted.
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    matcher: Matcher,
}

impl Selector {
    /// Reads a CSS selector.
    pub fn parse(text: &str) -> Result<Self, BadSelector> {
        match Matcher::new(text) {
            Ok(matcher) => Ok(Self {
                text: text.to_owned(),
                matcher,
            }),
            Err(_) => Err(BadSelector(text.to_owned())),
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A text that is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no CSS selector; write one such as `main`, `#content`, `article p` or `table.data`"
)]
pub struct BadSelector(String);

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The title of the page.
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// Whether there was more than was read or written.
    pub cut: bool,
}

/// No element fits the selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingFits {
    /// Elements that are there, as selectors.
    pub there: Vec<String>,
}

/// Reads a page for as long as `go_on` says so.
pub fn read(
    html: &str,
    reading: &Reading<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<Page, NothingFits> {
    let (document, whole) = parse(html, go_on);
    let root = document.root();
    let title = title(&root);
    let written = |parts: &[NodeRef<'_>], furniture: bool| render(parts, furniture, reading, go_on);
    let mut sheet = match reading.selector {
        Some(selector) => {
            let parts = found(&root, &selector.matcher, go_on);
            if parts.is_empty() {
                let there = outline(&root);
                return Err(NothingFits { there });
            }
            written(&parts, true)
        }
        None => {
            let sheet = written(&[readable(&root)], false);
            // A page that is nothing but navigation is read as it is.
            if sheet.text.is_empty() {
                written(&[root], true)
            } else {
                sheet
            }
        }
    };
    sheet.cut |= !whole;
    Ok(Page {
        title,
        text: sheet.text,
        cut: sheet.cut,
    })
}

/// A text as one line, with single blanks.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
