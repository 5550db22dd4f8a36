//! Code, whose blanks and lines count.

use dom_query::{NodeData, NodeRef};

use super::walk::{Below, walk};
use super::{Style, one_line};

/// A block of code, if there is any.
pub(super) fn block(node: &NodeRef<'_>, style: Style) -> Option<String> {
    let text = literal(node);
    let text = text.trim_end();
    if text.is_empty() {
        return None;
    }
    if style == Style::Text {
        return Some(text.to_owned());
    }
    let fence = fence(text, 3);
    let language = language(node).unwrap_or_default();
    Some(format!("{fence}{language}\n{text}\n{fence}"))
}

/// Code between words.
pub(super) fn inline(node: &NodeRef<'_>) -> Option<String> {
    let text = one_line(&node.text());
    if text.is_empty() {
        return None;
    }
    let fence = fence(&text, 1);
    let touches = text.starts_with('`') || text.ends_with('`');
    let near = if touches { " " } else { "" };
    Some(format!("{fence}{near}{text}{near}{fence}"))
}

/// The text of an element as it stands, line breaks included.
fn literal(node: &NodeRef<'_>) -> String {
    let mut text = String::new();
    walk(node, &mut |node: &NodeRef<'_>| {
        if node.is_element() && node.has_name("br") {
            text.push('\n');
        }
        node.query(|node| {
            if let NodeData::Text { contents } = &node.data {
                text.push_str(contents);
            }
        });
        Below::Enter
    });
    text
}

/// More backticks in a row than the text has, and at least so many.
fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let needed = if longest < least { least } else { longest + 1 };
    "`".repeat(needed)
}

/// The language of a block of code, as its class says it.
fn language(node: &NodeRef<'_>) -> Option<String> {
    let said = |node: &NodeRef<'_>| {
        let class = node.class()?;
        let mut classes = class.split_ascii_whitespace();
        let language = classes.find_map(|class| {
            class
                .strip_prefix("language-")
                .or_else(|| class.strip_prefix("lang-"))
        })?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
        (language.len() <= 20 && language.chars().all(plain)).then(|| language.to_owned())
    };
    said(node).or_else(|| node.first_element_child().and_then(|child| said(&child)))
}
