//! Which part of a page is meant.

use dom_query::{Matcher, NodeRef};

use super::one_line;
use super::walk::{Below, walk};

/// How many elements are named to somebody whose selector fits none.
const NAMED: usize = 12;

/// Whether an element is this one, or plays its part.
fn is(node: &NodeRef<'_>, name: &str, role: &str) -> bool {
    node.is_element()
        && (node.has_name(name) || node.attr("role").is_some_and(|said| &*said == role))
}

/// What a person would read: the main part if the page names one, its only article, or all of it.
pub(super) fn readable<'a>(root: &NodeRef<'a>) -> NodeRef<'a> {
    let (mut main, mut body, mut articles) = (None, None, Vec::new());
    walk(root, &mut |node: &NodeRef<'_>| {
        if is(node, "main", "main") {
            main = Some(node.id);
            return Below::Stop;
        }
        if is(node, "article", "article") {
            articles.push(node.id);
            return Below::Skip;
        }
        if body.is_none() && node.is_element() && node.has_name("body") {
            body = Some(node.id);
        }
        Below::Enter
    });
    let only = match articles.as_slice() {
        [article] => Some(*article),
        _ => None,
    };
    let chosen = main.or(only).or(body);
    chosen.and_then(|id| root.tree.get(&id)).unwrap_or(*root)
}

/// The elements that fit, none of them inside another.
pub(super) fn found<'a>(
    root: &NodeRef<'a>,
    matcher: &Matcher,
    go_on: &dyn Fn() -> bool,
) -> Vec<NodeRef<'a>> {
    let mut ids = Vec::new();
    walk(root, &mut |node: &NodeRef<'_>| {
        if !go_on() {
            return Below::Stop;
        }
        if node.is_element() && node.is_match(matcher) {
            ids.push(node.id);
            return Below::Skip;
        }
        Below::Enter
    });
    let nodes = ids.iter().filter_map(|id| root.tree.get(id));
    nodes.collect()
}

/// The title of the page.
pub(super) fn title(root: &NodeRef<'_>) -> Option<String> {
    let mut title = None;
    walk(root, &mut |node: &NodeRef<'_>| {
        if !node.is_element() {
            return Below::Enter;
        }
        if node.has_name("title") {
            title = Some(one_line(&node.text()));
            return Below::Stop;
        }
        // It stands in the head; a title in a picture is that picture's.
        if node.has_name("body") {
            Below::Stop
        } else {
            Below::Enter
        }
    });
    title.filter(|title| !title.is_empty())
}

/// Some elements of the page as selectors that would fit them.
pub(super) fn outline(root: &NodeRef<'_>) -> Vec<String> {
    let plain = |text: &str| {
        text.len() <= 40
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let mut there: Vec<String> = Vec::new();
    walk(root, &mut |node: &NodeRef<'_>| {
        if there.len() >= NAMED {
            return Below::Stop;
        }
        let Some(name) = node.is_element().then(|| node.node_name()).flatten() else {
            return Below::Enter;
        };
        let class = node.class();
        let class = class.as_deref().unwrap_or_default();
        let first = class.split_ascii_whitespace().next().unwrap_or_default();
        let said = match node.id_attr() {
            Some(id) if plain(&id) => format!("{name}#{id}"),
            _ if plain(first) => format!("{name}.{first}"),
            _ if matches!(&*name, "main" | "article" | "table" | "h1" | "h2" | "p") => {
                name.to_string()
            }
            _ => return Below::Enter,
        };
        if !there.contains(&said) {
            there.push(said);
        }
        Below::Enter
    });
    there
}
