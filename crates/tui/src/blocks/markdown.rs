//! A Markdown text as styled lines.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::{options, table};
use crate::text;

/// The lines of a Markdown text. A paragraph is one line, which the terminal wraps.
pub fn render(markdown: &str, columns: usize) -> Vec<Line<'static>> {
    let mut writer = Writer {
        columns,
        ..Writer::default()
    };
    for event in Parser::new_ext(markdown, options()) {
        writer.take(event);
    }
    writer.end_line();
    while writer
        .lines
        .last()
        .is_some_and(|line| line.spans.is_empty())
    {
        writer.lines.pop();
    }
    writer.lines
}

#[derive(Default)]
struct Writer {
    columns: usize,
    lines: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// The lists around: the next number of a numbered one.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// What the next line begins with, once.
    bullet: Option<String>,
    code: bool,
    table: Option<Vec<Vec<String>>>,
    link: Option<String>,
    /// Whether the next block is set apart from the one before.
    apart: bool,
}

impl Writer {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn with(&mut self, change: impl Fn(Style) -> Style) {
        self.styles.push(change(self.style()));
    }

    /// Begins a block: an empty line is before it.
    fn block(&mut self) {
        self.end_line();
        if std::mem::take(&mut self.apart) && !self.lines.is_empty() && self.bullet.is_none() {
            self.lines.push(Line::default());
        }
    }

    fn begin(&mut self) {
        if !self.line.is_empty() {
            return;
        }
        let dim = Style::new().add_modifier(Modifier::DIM);
        for _ in 0..self.quotes {
            self.line.push(Span::styled("│ ", dim));
        }
        let depth = self.lists.len();
        let bullet = self.bullet.take();
        let outer = if bullet.is_some() {
            depth.saturating_sub(1)
        } else {
            depth
        };
        let indent = "  ".repeat(outer);
        if !indent.is_empty() {
            self.line.push(Span::raw(indent));
        }
        if let Some(bullet) = bullet {
            self.line.push(Span::raw(bullet));
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.lines.push(Line::from(std::mem::take(&mut self.line)));
        }
    }

    fn say(&mut self, words: &str, style: Style) {
        if let Some(cell) = self
            .table
            .as_mut()
            .and_then(|table| table.last_mut()?.last_mut())
        {
            cell.push_str(&text::one_line(words));
            return;
        }
        self.begin();
        self.line.push(Span::styled(text::line(words), style));
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(words) if self.code => self.code_lines(&words),
            Event::Text(words) => self.say(&words, self.style()),
            Event::Code(words) => self.say(&words, self.style().fg(Color::Cyan)),
            Event::SoftBreak => self.say(" ", self.style()),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.block();
                let dim = Style::new().add_modifier(Modifier::DIM);
                self.say("────────", dim);
                self.end_line();
                self.apart = true;
            }
            Event::TaskListMarker(done) => {
                self.say(if done { "[x] " } else { "[ ] " }, self.style())
            }
            // Shown as it is written: nothing of it is obeyed.
            Event::Html(words) | Event::InlineHtml(words) => {
                for (number, line) in words.lines().enumerate() {
                    if number > 0 {
                        self.end_line();
                    }
                    self.say(line, self.style());
                }
                if words.ends_with('\n') {
                    self.end_line();
                }
            }
            Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => {
                self.say(&words, self.style());
            }
        }
    }

    fn code_lines(&mut self, words: &str) {
        let style = Style::new().fg(Color::Cyan);
        for part in words.split_inclusive('\n') {
            let line = part.strip_suffix('\n');
            let words = line.unwrap_or(part);
            self.begin();
            self.line.push(Span::styled(text::line(words), style));
            if line.is_some() {
                self.end_line();
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                let first = level == HeadingLevel::H1;
                self.with(|style| {
                    let style = style.add_modifier(Modifier::BOLD);
                    if first {
                        style.add_modifier(Modifier::UNDERLINED)
                    } else {
                        style
                    }
                });
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.block();
                self.code = true;
            }
            Tag::HtmlBlock => self.block(),
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.end_line();
                    self.apart = false;
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                self.apart = false;
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                });
            }
            Tag::Table(_) => {
                self.block();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.last_mut()) {
                    row.push(String::new());
                }
            }
            Tag::Emphasis => self.with(|style| style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.with(|style| style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.with(|style| style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.with(|style| style.add_modifier(Modifier::UNDERLINED));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_line();
                self.apart = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_line();
                self.apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.quotes = self.quotes.saturating_sub(1);
                self.apart = true;
            }
            TagEnd::CodeBlock => {
                self.end_line();
                self.code = false;
                self.apart = true;
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                // An item without words is seen too.
                if self.bullet.is_some() {
                    self.begin();
                }
                self.end_line();
            }
            TagEnd::Table => {
                let rows = self.table.take().unwrap_or_default();
                self.lines.extend(table::lines(&rows, self.columns));
                self.apart = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let said = self.line.last().map(|span| span.content.to_string());
                if let Some(link) = self.link.take()
                    && said.as_deref() != Some(link.as_str())
                {
                    // Where a link leads is seen, not only what it calls itself.
                    self.say(
                        &format!(" ({link})"),
                        Style::new().add_modifier(Modifier::DIM),
                    );
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, columns: usize) -> Vec<String> {
        let lines = render(markdown, columns);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn blocks_become_lines() {
        for (markdown, expected) in [
            ("a\nb", vec!["a b"]),
            ("a  \nb", vec!["a", "b"]),
            ("# T\n\nx", vec!["T", "", "x"]),
            ("1. a\n2. b\n   - c", vec!["1. a", "2. b", "  • c"]),
            ("> q\n> r", vec!["│ q r"]),
            ("```sh\nls\n\n\tx\n```", vec!["ls", "", "    x"]),
            ("[here](http://x.y)", vec!["here (http://x.y)"]),
            ("<b>x</b>", vec!["<b>x</b>"]),
            ("- [ ] a\n- [x] b", vec!["• [ ] a", "• [x] b"]),
            ("", vec![]),
        ] {
            assert_eq!(shown(markdown, 80), expected, "{markdown:?}");
        }
    }

    #[test]
    fn a_table_has_columns_where_they_fit() {
        let table = "| Name | Size |\n|---|---|\n| a.txt | 7 |";
        assert_eq!(
            shown(table, 40),
            ["Name  │ Size", "──────┼─────", "a.txt │ 7"]
        );
        assert_eq!(shown(table, 10), ["Name: a.txt", "Size: 7"]);
    }

    #[test]
    fn hostile_words_are_drawn_as_what_they_are() {
        let lines = shown("a\u{1b}[2J `b\u{202e}`\n\n```\n\u{9b}x\r\n```", 80);
        assert_eq!(lines.join("|"), r"a\u{1b}[2J b\u{202e}||\u{9b}x");
    }
}
