//! From Markdown's events to rows.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::table::Table;
use super::wrap::{columns, wrap};
use super::{Look, Piece, Row};

/// Deeper nesting is shown as if it were this deep.
const DEEPEST: usize = 8;

/// What stands before the rows of a quote or an item.
struct Margin {
    /// Before the first row; nothing once that was shown.
    first: Option<String>,
    /// Before the others.
    rest: String,
}

pub(super) struct Walk {
    width: usize,
    rows: Vec<Row>,
    /// Words of the block that is open.
    words: Vec<Piece>,
    looks: Vec<Look>,
    margins: Vec<Margin>,
    /// The next number of each open list; nothing for one without numbers.
    lists: Vec<Option<u64>>,
    /// Addresses of open links and images.
    addresses: Vec<(String, usize)>,
    table: Option<Table>,
    is_code: bool,
    /// Whether a block was shown, so that the next one keeps its distance.
    is_apart: bool,
}

impl Walk {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            rows: Vec::new(),
            words: Vec::new(),
            looks: Vec::new(),
            margins: Vec::new(),
            lists: Vec::new(),
            addresses: Vec::new(),
            table: None,
            is_code: false,
            is_apart: false,
        }
    }

    pub(super) fn all(mut self, text: &str) -> Vec<Row> {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for event in Parser::new_ext(text, options) {
            self.take(event);
        }
        self.end_words();
        self.rows
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) => self.word(text.into_string(), self.look()),
            Event::Code(text) => {
                let look = Look {
                    code: true,
                    ..self.look()
                };
                self.word(format!("`{text}`"), look);
            }
            // Tags are text like any other: nothing here obeys them.
            Event::Html(text) | Event::InlineHtml(text) => {
                self.word(text.into_string(), self.look());
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.word(text.into_string(), self.look());
            }
            Event::FootnoteReference(name) => self.word(format!("[{name}]"), dim(self.look())),
            Event::SoftBreak => self.word(" ".to_owned(), self.look()),
            Event::HardBreak => self.word("\n".to_owned(), self.look()),
            Event::Rule => {
                self.apart();
                let rule = "─".repeat(self.width.saturating_sub(self.margin()).min(40));
                self.row(vec![Piece::new(rule, dim(Look::default()))]);
                self.is_apart = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "☑ " } else { "☐ " };
                self.word(mark.to_owned(), self.look());
            }
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        let look = self.look();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.apart(),
            Tag::Heading { level, .. } => {
                self.apart();
                let look = Look {
                    heading: true,
                    bold: true,
                    ..look
                };
                self.looks.push(look);
                let marks = "#".repeat(level as usize);
                self.word(format!("{marks} "), dim(look));
            }
            Tag::BlockQuote(_) => {
                self.end_words();
                self.apart();
                self.open_margin("│ ".to_owned(), "│ ".to_owned());
                self.looks.push(dim(look));
            }
            Tag::CodeBlock(kind) => {
                self.end_words();
                self.apart();
                self.is_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    let name = format!("  {language}");
                    self.row(vec![Piece::new(name, dim(Look::default()))]);
                }
            }
            Tag::List(first) => {
                self.end_words();
                if self.lists.is_empty() {
                    self.apart();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_words();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                // An item in which a paragraph ended keeps its distance; a short one does not.
                self.apart();
                let blanks = " ".repeat(columns(&mark));
                self.open_margin(mark, blanks);
            }
            Tag::Table(_) => {
                self.end_words();
                self.apart();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => self.looks.push(Look {
                italic: true,
                ..look
            }),
            Tag::Strong => self.looks.push(Look { bold: true, ..look }),
            Tag::Strikethrough => self.looks.push(Look {
                struck: true,
                ..look
            }),
            Tag::Link { dest_url, .. } => {
                self.addresses
                    .push((dest_url.into_string(), self.words.len()));
                self.looks.push(Look { link: true, ..look });
            }
            Tag::Image { dest_url, .. } => {
                self.word("[image: ".to_owned(), dim(look));
                self.addresses
                    .push((dest_url.into_string(), self.words.len()));
                self.looks.push(look);
            }
            _ => self.looks.push(look),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_words();
                self.is_apart = true;
            }
            TagEnd::Heading(_) => {
                self.end_words();
                self.looks.pop();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_words();
                self.margins.pop();
                self.looks.pop();
                self.is_apart = true;
            }
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.is_apart = true;
            }
            TagEnd::List(_) => {
                self.end_words();
                self.lists.pop();
                self.is_apart |= self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_words();
                // An item without words is there too.
                if self.margins.last().is_some_and(|item| item.first.is_some()) {
                    self.row(Vec::new());
                }
                self.margins.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.width.saturating_sub(self.margin());
                    for row in table.rows(width) {
                        self.row(row.pieces);
                    }
                }
                self.is_apart = true;
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::TableCell => {
                let words = std::mem::take(&mut self.words);
                if let Some(table) = &mut self.table {
                    table.cell(words);
                }
            }
            TagEnd::Link => {
                self.looks.pop();
                self.address(false);
            }
            TagEnd::Image => {
                self.looks.pop();
                self.address(true);
            }
            _ => drop(self.looks.pop()),
        }
    }

    /// The address of a link, unless the words say it already.
    fn address(&mut self, is_image: bool) {
        let Some((address, from)) = self.addresses.pop() else {
            return;
        };
        let words = self.words.get(from..).unwrap_or_default();
        let words: String = words.iter().map(|piece| piece.text.as_str()).collect();
        let end = if is_image { "]" } else { "" };
        let look = dim(self.look());
        match address.is_empty() || words == address || address == format!("mailto:{words}") {
            true => self.word(end.to_owned(), look),
            false => self.word(format!("{end} ({address})"), look),
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or_default()
    }

    fn word(&mut self, text: String, look: Look) {
        if self.table.is_some() && text == "\n" {
            return self.words.push(Piece::new(" ", look));
        }
        self.words.push(Piece::new(text, look));
    }

    fn code(&mut self, text: &str) {
        let look = Look {
            code: true,
            ..Look::default()
        };
        for line in text.lines() {
            self.row(vec![Piece::new(format!("  {line}"), look)]);
        }
    }

    fn end_words(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.iter().all(|piece| piece.text.trim().is_empty()) {
            return;
        }
        let width = self.width.saturating_sub(self.margin()).max(10);
        for row in wrap(&words, width) {
            self.row(row.pieces);
        }
    }

    /// Keeps a distance to the block before.
    fn apart(&mut self) {
        if std::mem::take(&mut self.is_apart) && !self.rows.is_empty() {
            let bars: String = self.margins.iter().map(|one| one.rest.as_str()).collect();
            let bars = bars.trim_end();
            let mut row = Row::default();
            if !bars.is_empty() {
                row.pieces.push(Piece::new(bars, dim(Look::default())));
            }
            self.rows.push(row);
        }
    }

    fn open_margin(&mut self, first: String, rest: String) {
        self.margins.push(Margin {
            first: Some(first),
            rest,
        });
    }

    /// How many columns the margins take.
    fn margin(&self) -> usize {
        let shown = self.margins.iter().take(DEEPEST);
        shown.map(|margin| columns(&margin.rest)).sum()
    }

    fn row(&mut self, pieces: Vec<Piece>) {
        let mut margin = String::new();
        for one in self.margins.iter_mut().take(DEEPEST) {
            let first = one.first.take();
            margin.push_str(first.as_deref().unwrap_or(&one.rest));
        }
        let mut row = Row::default();
        if !margin.is_empty() {
            row.pieces.push(Piece::new(margin, dim(Look::default())));
        }
        row.pieces.extend(pieces);
        self.rows.push(row);
    }
}

const fn dim(look: Look) -> Look {
    Look { dim: true, ..look }
}
