//! Elements to text.

use std::collections::HashSet;

use dom_query::{NodeData, NodeId, NodeRef};
use url::Url;

use super::sheet::Sheet;
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

/// Tables that only put things beside each other: they hold more than words.
fn layout_tables(root: &NodeRef<'_>) -> HashSet<NodeId> {
    struct Tables {
        open: Vec<NodeId>,
        layout: HashSet<NodeId>,
    }
    impl Visitor for Tables {
        fn enter(&mut self, node: &NodeRef<'_>) -> Below {
            let Some(name) = node.qual_name_ref() else {
                return Below::Enter;
            };
            let structured = matches!(
                &*name.local,
                "table"
                    | "ul"
                    | "ol"
                    | "pre"
                    | "blockquote"
                    | "h1"
                    | "h2"
                    | "h3"
                    | "form"
                    | "section"
                    | "article"
            );
            if structured && let Some(table) = self.open.last() {
                self.layout.insert(*table);
            }
            if &*name.local == "table" {
                self.open.push(node.id);
            }
            Below::Enter
        }

        fn leave(&mut self, node: &NodeRef<'_>) {
            if self.open.last() == Some(&node.id) {
                self.open.pop();
            }
        }
    }
    let mut tables = Tables {
        open: Vec::new(),
        layout: HashSet::new(),
    };
    walk(root, &mut tables);
    tables.layout
}

/// What is known of the row that is being written.
struct Row {
    cells: usize,
    /// Whether the line under the heads has been written.
    ruled: bool,
}

struct Renderer<'a> {
    sheet: Sheet,
    style: Style,
    base: Option<Url>,
    furniture: bool,
    layout: HashSet<NodeId>,
    /// The next number of each list; nothing where it has none.
    lists: Vec<Option<u64>>,
    /// The tables that are open; nothing where they are no tables.
    rows: Vec<Option<Row>>,
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
                self.code(node);
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
        let text = literal(node);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        self.sheet.lines(2);
        if !self.is_markdown() {
            self.sheet.literal(text);
        } else {
            let fence = fence(text, 3);
            let language = language(node).unwrap_or_default();
            let block = format!("{fence}{language}\n{text}\n{fence}");
            self.sheet.literal(&block);
        }
        self.sheet.lines(2);
    }

    fn code(&mut self, node: &NodeRef<'_>) {
        let text = one_line(&node.text());
        if text.is_empty() {
            return;
        }
        let fence = fence(&text, 1);
        let near = if text.starts_with('`') || text.ends_with('`') {
            " "
        } else {
            ""
        };
        self.sheet
            .word(&format!("{fence}{near}{text}{near}{fence}"));
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

    fn table(&mut self, node: &NodeRef<'_>) {
        self.sheet.lines(2);
        let holds_words = !self.layout.contains(&node.id);
        self.rows.push(holds_words.then_some(Row {
            cells: 0,
            ruled: false,
        }));
    }

    fn row(&mut self) {
        self.sheet.lines(1);
        if let Some(Some(row)) = self.rows.last_mut() {
            row.cells = 0;
        }
    }

    fn cell(&mut self) {
        let Some(Some(row)) = self.rows.last_mut() else {
            self.sheet.lines(1);
            return;
        };
        row.cells += 1;
        let start = if self.style == Style::Markdown {
            "| "
        } else {
            ""
        };
        let between = if row.cells > 1 { " | " } else { start };
        self.sheet.no_blank();
        self.sheet.word(between);
        self.sheet.one_line();
    }

    fn end_cell(&mut self) {
        if let Some(Some(_)) = self.rows.last() {
            self.sheet.end_one_line();
            self.sheet.no_blank();
        } else {
            self.sheet.lines(1);
        }
    }

    fn end_row(&mut self) {
        let markdown = self.is_markdown();
        if let Some(Some(row)) = self.rows.last_mut()
            && markdown
            && row.cells > 0
        {
            self.sheet.word(" |");
            if !row.ruled {
                row.ruled = true;
                let rule = " --- |".repeat(row.cells);
                self.sheet.lines(1);
                self.sheet.word(&format!("|{rule}"));
            }
        }
        self.sheet.lines(1);
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
