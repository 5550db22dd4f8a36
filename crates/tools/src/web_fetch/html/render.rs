//! Elements to text.

use std::collections::HashSet;

use dom_query::{NodeData, NodeId, NodeRef};
use url::Url;

use super::code;
use super::sheet::Sheet;
use super::table::{Row, layout_tables};
use super::walk::{Below, Visitor, walk};
use super::{Reading, Style, one_line};

/// After so many nodes it is asked whether to go on.
const STEP: usize = 256;

/// Writes parts of a page, one after the other. `furniture` says whether navigation and the
/// like is written too.
pub(super) fn render(
    parts: &[NodeRef<'_>],
    furniture: bool,
    reading: &Reading<'_>,
    go_on: &dyn Fn() -> bool,
) -> Sheet {
    let mut renderer = Renderer {
        sheet: Sheet::new(reading.most),
        style: reading.style,
        base: parts.first().and_then(|part| base(part, reading.base)),
        furniture,
        layout: HashSet::new(),
        lists: Vec::new(),
        rows: Vec::new(),
        root: None,
        seen: 0,
        go_on,
    };
    for part in parts {
        renderer.root = Some(part.id);
        renderer.layout = layout_tables(part);
        renderer.sheet.lines(2);
        walk(part, &mut renderer);
        renderer.sheet.lines(2);
    }
    renderer.sheet
}

/// What links of the page are relative to.
fn base(part: &NodeRef<'_>, found_at: Option<&Url>) -> Option<Url> {
    let said = part.base_uri();
    match (said, found_at) {
        (Some(said), Some(found_at)) => {
            found_at.join(&said).ok().or_else(|| Some(found_at.clone()))
        }
        (Some(said), None) => Url::parse(&said).ok(),
        (None, found_at) => found_at.cloned(),
    }
}

/// Somebody who writes what it sees.
pub(super) struct Renderer<'a> {
    pub(super) sheet: Sheet,
    pub(super) style: Style,
    base: Option<Url>,
    furniture: bool,
    /// Tables that are none.
    pub(super) layout: HashSet<NodeId>,
    /// The next number of each list; nothing where it has none.
    lists: Vec<Option<u64>>,
    /// The tables that are open; nothing where they are no tables.
    pub(super) rows: Vec<Option<Row>>,
    /// The part that was asked for, whatever it is.
    root: Option<NodeId>,
    seen: usize,
    go_on: &'a dyn Fn() -> bool,
}

impl Visitor for Renderer<'_> {
    fn enter(&mut self, node: &NodeRef<'_>) -> Below {
        self.seen += 1;
        if self.seen.is_multiple_of(STEP) && !(self.go_on)() {
            self.sheet.cut = true;
        }
        if self.sheet.cut {
            return Below::Stop;
        }
        let Some(name) = node.qual_name_ref() else {
            node.query(|node| {
                if let NodeData::Text { contents } = &node.data {
                    self.sheet.flowing(contents);
                }
            });
            return Below::Enter;
        };
        if self.root != Some(node.id) && self.is_passed_over(node, &name.local) {
            return Below::Skip;
        }
        self.element(node, &name.local)
    }

    fn leave(&mut self, node: &NodeRef<'_>) {
        if let Some(name) = node.qual_name_ref() {
            self.end(node, &name.local);
        }
    }
}

impl Renderer<'_> {
    fn is_markdown(&self) -> bool {
        self.style == Style::Markdown
    }

    /// What no person sees, and what is on every page of a site.
    fn is_passed_over(&self, node: &NodeRef<'_>, name: &str) -> bool {
        let unseen = matches!(
            name,
            "head"
                | "script"
                | "style"
                | "noscript"
                | "template"
                | "svg"
                | "iframe"
                | "object"
                | "embed"
                | "canvas"
                | "audio"
                | "video"
                | "select"
                | "datalist"
                | "input"
                | "textarea"
                | "button"
                | "dialog"
        );
        if unseen {
            return true;
        }
        let attribute = |name: &str| node.attr(name);
        if node.has_attr("hidden") || attribute("aria-hidden").is_some_and(|said| &*said == "true")
        {
            return true;
        }
        let undisplayed = |style: &str| {
            let style: String = style.split_whitespace().collect();
            style.contains("display:none")
        };
        if attribute("style").is_some_and(|style| undisplayed(&style)) {
            return true;
        }
        if self.furniture {
            return false;
        }
        let is_furniture = |role: &str| {
            matches!(
                role,
                "navigation" | "banner" | "contentinfo" | "search" | "complementary"
            )
        };
        matches!(name, "nav" | "aside" | "footer")
            || attribute("role").is_some_and(|role| is_furniture(&role))
    }

    /// Starts an element, or writes it whole.
    fn element(&mut self, node: &NodeRef<'_>, name: &str) -> Below {
        match name {
            "p" | "dl" | "figure" | "section" | "article" | "main" | "fieldset" => {
                self.sheet.lines(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(name),
            "ul" | "ol" => self.list(node, name),
            "li" => self.item(),
            "blockquote" => {
                self.sheet.lines(2);
                if self.is_markdown() {
                    self.sheet.indent("> ", "> ");
                }
            }
            "pre" => {
                self.code_block(node);
                return Below::Skip;
            }
            "code" | "kbd" | "samp" | "tt" if self.is_markdown() => {
                if let Some(code) = code::inline(node) {
                    self.sheet.word(&code);
                }
                return Below::Skip;
            }
            "b" | "strong" if self.is_markdown() => self.sheet.open("**"),
            "i" | "em" if self.is_markdown() => self.sheet.open("*"),
            "a" if self.is_markdown() => self.sheet.open("["),
            "img" => self.image(node),
            "br" => self.sheet.lines(1),
            "hr" => {
                self.sheet.lines(2);
                if self.is_markdown() {
                    self.sheet.word("---");
                }
                self.sheet.lines(2);
            }
            "table" => self.table(node),
            "tr" => self.row(),
            "td" | "th" => self.cell(),
            name if is_block(name) => self.sheet.lines(1),
            _ => {}
        }
        Below::Enter
    }

    /// Ends an element that was entered.
    fn end(&mut self, node: &NodeRef<'_>, name: &str) {
        match name {
            "p" | "dl" | "figure" | "section" | "article" | "main" | "fieldset" => {
                self.sheet.lines(2);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.sheet.mark_line(None);
                self.sheet.lines(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                let outermost = self.lists.is_empty();
                self.sheet.lines(if outermost { 2 } else { 1 });
            }
            "li" => {
                if !self.lists.is_empty() {
                    self.sheet.outdent();
                }
                self.sheet.lines(1);
            }
            "blockquote" => {
                if self.is_markdown() {
                    self.sheet.outdent();
                }
                self.sheet.lines(2);
            }
            "b" | "strong" if self.is_markdown() => {
                self.sheet.close("**");
            }
            "i" | "em" if self.is_markdown() => {
                self.sheet.close("*");
            }
            "a" if self.is_markdown() => self.end_link(node),
            "table" => {
                self.rows.pop();
                self.sheet.lines(2);
            }
            "tr" => self.end_row(),
            "td" | "th" => self.end_cell(),
            name if is_block(name) => self.sheet.lines(1),
            _ => {}
        }
    }

    fn heading(&mut self, name: &str) {
        self.sheet.lines(2);
        if self.is_markdown() {
            let level = name.chars().filter_map(|c| c.to_digit(10)).sum::<u32>();
            let signs: String = (0..level).map(|_| '#').collect();
            self.sheet.mark_line(Some(format!("{signs} ")));
        }
    }

    fn list(&mut self, node: &NodeRef<'_>, name: &str) {
        let outermost = self.lists.is_empty();
        self.sheet.lines(if outermost { 2 } else { 1 });
        let first = node.attr("start").and_then(|start| start.parse().ok());
        self.lists.push((name == "ol").then(|| first.unwrap_or(1)));
    }

    fn item(&mut self) {
        self.sheet.lines(1);
        let Some(number) = self.lists.last_mut() else {
            return;
        };
        let mark = match number {
            Some(number) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            None => "- ".to_owned(),
        };
        let rest: String = mark.chars().map(|_| ' ').collect();
        self.sheet.indent(&mark, &rest);
    }

    fn code_block(&mut self, node: &NodeRef<'_>) {
        let Some(block) = code::block(node, self.style) else {
            return;
        };
        self.sheet.lines(2);
        self.sheet.literal(&block);
        self.sheet.lines(2);
    }

    /// Ends a link. One without words, or without a place to go to, is only its words.
    fn end_link(&mut self, node: &NodeRef<'_>) {
        let place = node.attr("href").and_then(|href| self.whole(&href));
        match place {
            Some(place) => {
                self.sheet.close(&format!("]({place})"));
            }
            None => {
                self.sheet.close("]");
            }
        }
    }

    fn image(&mut self, node: &NodeRef<'_>) {
        let words = node
            .attr("alt")
            .map(|alt| one_line(&alt))
            .unwrap_or_default();
        if words.is_empty() {
            return;
        }
        let place = node.attr("src").and_then(|src| self.whole(&src));
        match place {
            Some(place) if self.is_markdown() => {
                self.sheet.word(&format!("![{words}]({place})"));
            }
            _ => self.sheet.word(&words),
        }
    }

    /// A place that can be asked for, whole. Places on the page itself and scripts are none.
    fn whole(&self, place: &str) -> Option<String> {
        let place = place.trim();
        if place.is_empty() || place.starts_with('#') {
            return None;
        }
        let url = match &self.base {
            Some(base) => base.join(place).ok()?,
            None => Url::parse(place).ok()?,
        };
        let wanted = matches!(url.scheme(), "http" | "https" | "mailto" | "ftp");
        wanted.then(|| url.to_string().replace('(', "%28").replace(')', "%29"))
    }
}

/// Elements that stand on lines of their own.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "aside"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dt"
            | "figcaption"
            | "footer"
            | "form"
            | "header"
            | "hgroup"
            | "html"
            | "label"
            | "legend"
            | "nav"
            | "option"
            | "search"
            | "summary"
            | "tbody"
            | "tfoot"
            | "thead"
            | "title"
    )
}
