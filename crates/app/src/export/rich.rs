//! Markdown of users and models as HTML that nothing can be smuggled into.
//!
//! Only tags that are written here come out, and only with attributes that are made here. Tags
//! in the text stay text; a link leads to `http`, `https` or `mailto` or stays text; an image is
//! its description, so that nothing is fetched.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html::safe;

/// Text as HTML.
pub(super) fn rich(text: &str) -> String {
    let text = toolgate_gate::output::sanitize(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(&text, options) {
        writer.take(event);
    }
    writer.html
}

#[derive(Default)]
struct Writer {
    html: String,
    /// Whether each open link is one.
    links: Vec<bool>,
    /// The addresses of open images.
    images: Vec<String>,
    is_head: bool,
    columns: Vec<Alignment>,
    column: usize,
}

impl Writer {
    fn add(&mut self, html: &str) {
        self.html.push_str(html);
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            // Tags are text like any other.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.html.push_str(&safe(&text)),
            Event::Code(text) => {
                let text = safe(&text);
                self.add(&format!("<code>{text}</code>"));
            }
            Event::FootnoteReference(name) => {
                let name = safe(&name);
                self.add(&format!("[{name}]"));
            }
            Event::SoftBreak => self.add("\n"),
            Event::HardBreak => self.add("<br>\n"),
            Event::Rule => self.add("<hr>\n"),
            Event::TaskListMarker(done) => self.add(if done { "☑ " } else { "☐ " }),
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.add("<p>"),
            // The page has headings of its own above these.
            Tag::Heading { level, .. } => {
                let level = (level as usize + 2).min(6);
                self.add(&format!("<h{level}>"));
            }
            Tag::BlockQuote(_) => self.add("<blockquote>\n"),
            Tag::CodeBlock(kind) => {
                if let CodeBlockKind::Fenced(language) = kind
                    && let Some(name) = language.split_whitespace().next()
                {
                    let name = safe(name);
                    self.add(&format!("<p class=\"language\">{name}</p>"));
                }
                // A browser drops the first line end after `<pre>`, and only that.
                self.add("<pre>\n");
            }
            Tag::List(None) => self.add("<ul>\n"),
            Tag::List(Some(1)) => self.add("<ol>\n"),
            Tag::List(Some(first)) => self.add(&format!("<ol start=\"{first}\">\n")),
            Tag::Item => self.add("<li>"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.add("<table>\n");
            }
            Tag::TableHead => {
                (self.is_head, self.column) = (true, 0);
                self.add("<tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.add("<tr>");
            }
            Tag::TableCell => {
                let name = if self.is_head { "th" } else { "td" };
                let side = match self.columns.get(self.column) {
                    Some(Alignment::Right) => " class=\"right\"",
                    Some(Alignment::Center) => " class=\"center\"",
                    _ => "",
                };
                self.column += 1;
                self.add(&format!("<{name}{side}>"));
            }
            Tag::Emphasis => self.add("<em>"),
            Tag::Strong => self.add("<strong>"),
            Tag::Strikethrough => self.add("<del>"),
            Tag::Link { dest_url, .. } => {
                let leads = leads(&dest_url);
                self.links.push(leads);
                if leads {
                    let address = safe(&dest_url);
                    self.add(&format!(
                        "<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">"
                    ));
                }
            }
            Tag::Image { dest_url, .. } => {
                self.images.push(dest_url.into_string());
                self.add("[image: ");
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.add("</p>\n"),
            TagEnd::Heading(level) => {
                let level = (level as usize + 2).min(6);
                self.add(&format!("</h{level}>\n"));
            }
            TagEnd::BlockQuote(_) => self.add("</blockquote>\n"),
            TagEnd::CodeBlock => self.add("</pre>\n"),
            TagEnd::List(false) => self.add("</ul>\n"),
            TagEnd::List(true) => self.add("</ol>\n"),
            TagEnd::Item => self.add("</li>\n"),
            TagEnd::Table => self.add("</table>\n"),
            TagEnd::TableHead => {
                self.is_head = false;
                self.add("</tr>\n");
            }
            TagEnd::TableRow => self.add("</tr>\n"),
            TagEnd::TableCell => self.add(if self.is_head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => self.add("</em>"),
            TagEnd::Strong => self.add("</strong>"),
            TagEnd::Strikethrough => self.add("</del>"),
            TagEnd::Link => {
                let is_link = self.links.pop().unwrap_or_default();
                self.add(if is_link { "</a>" } else { "" });
            }
            TagEnd::Image => {
                let address = safe(&self.images.pop().unwrap_or_default());
                self.add(&format!("] ({address})"));
            }
            _ => {}
        }
    }
}

/// Whether an address is one that a page may lead to.
fn leads(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        let known = ["http", "https", "mailto"];
        known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_becomes_html() {
        for (text, html) in [
            (
                "a **b** *c* `d`",
                "<p>a <strong>b</strong> <em>c</em> <code>d</code></p>\n",
            ),
            ("# A", "<h3>A</h3>\n"),
            ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
            ("3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"),
            (
                "```rust\n<b>\n```",
                "<p class=\"language\">rust</p><pre>\n&lt;b&gt;\n</pre>\n",
            ),
            (
                "| a |\n|--:|\n| 1 |",
                "<table>\n<tr><th class=\"right\">a</th></tr>\n<tr><td class=\"right\">1</td></tr>\n</table>\n",
            ),
            (
                "[x](https://e.org/?a=1&b=\"2\")",
                "<p><a href=\"https://e.org/?a=1&amp;b=&quot;2&quot;\" rel=\"noopener noreferrer nofollow\">x</a></p>\n",
            ),
        ] {
            assert_eq!(rich(text), html, "{text}");
        }
    }

    #[test]
    fn nothing_that_acts_comes_out() {
        for (text, part) in [
            ("<script>alert(1)</script>", "&lt;script&gt;"),
            ("a <img src=x onerror=alert(1)>", "&lt;img src=x"),
            ("[x](javascript:alert(1))", "<p>x</p>"),
            ("[x](JaVaScRiPt:alert(1))", "<p>x</p>"),
            ("[x](data:text/html,y)", "<p>x</p>"),
            ("[x](file:///etc/passwd)", "<p>x</p>"),
            ("[x](//e.org)", "<p>x</p>"),
            (
                "![x](https://e.org/p.png)",
                "[image: x] (https://e.org/p.png)",
            ),
            ("<javascript:x>", "<p>javascript:x</p>"),
            (
                "```\" onload=\"x\ny\n```",
                "<p class=\"language\">&quot;</p>",
            ),
        ] {
            let html = rich(text);
            assert!(html.contains(part), "{text}: {html}");
        }
    }

    /// The tags that a page has here.
    const TAGS: [&str; 20] = [
        "p",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "pre",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "th",
        "td",
        "em",
        "strong",
        "del",
        "a",
        "code",
        "br",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn only_known_tags_come_out_whatever_goes_in(
            text in "([<>\"'&`#*_~\\[\\]()!|:/\n -]|<script|javascript:|onload=|href|a|```|é){0,60}"
        ) {
            let html = rich(&text);
            for tag in html.split('<').skip(1) {
                let (tag, _) = tag.split_once('>').expect("a closed tag");
                let name = tag.trim_start_matches('/');
                let name = name.split(' ').next().unwrap_or_default();
                prop_assert!(TAGS.contains(&name) || name == "hr", "{}: {}", text, html);
                let attributes = tag.split('"').step_by(2).collect::<String>();
                let names = attributes.split(' ').skip(1);
                for name in names {
                    let known = ["class=", "start=", "href=", "rel="];
                    prop_assert!(known.contains(&name), "{}: {}", text, html);
                }
            }
        }
    }
}
