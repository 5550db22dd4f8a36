//! Tables: rows of words, or only a way to put things beside each other.

use std::collections::HashSet;

use dom_query::{NodeId, NodeRef};

use super::Style;
use super::render::Renderer;
use super::walk::{Below, Visitor, walk};

/// Tables that only put things beside each other: they hold more than words.
pub(super) fn layout_tables(root: &NodeRef<'_>) -> HashSet<NodeId> {
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
pub(super) struct Row {
    cells: usize,
    /// Whether the line under the heads has been written.
    ruled: bool,
}

impl Renderer<'_> {
    /// Starts a table.
    pub(super) fn table(&mut self, node: &NodeRef<'_>) {
        self.sheet.lines(2);
        let holds_words = !self.layout.contains(&node.id);
        self.rows.push(holds_words.then_some(Row {
            cells: 0,
            ruled: false,
        }));
    }

    /// Starts a row.
    pub(super) fn row(&mut self) {
        self.sheet.lines(1);
        if let Some(Some(row)) = self.rows.last_mut() {
            row.cells = 0;
        }
    }

    /// Starts a cell, which stays on its line.
    pub(super) fn cell(&mut self) {
        let Some(Some(row)) = self.rows.last_mut() else {
            self.sheet.lines(1);
            return;
        };
        row.cells += 1;
        match (self.style, row.cells) {
            (Style::Markdown, 1) => self.sheet.word("| "),
            (Style::Markdown, _) => self.sheet.word(" | "),
            // Words need no empty cells between them.
            (Style::Text, 1) => self.sheet.open(""),
            (Style::Text, _) => {
                self.sheet.owe_blank();
                self.sheet.open("| ");
            }
        }
        self.sheet.one_line();
    }

    /// Ends a cell.
    pub(super) fn end_cell(&mut self) {
        let Some(Some(_)) = self.rows.last() else {
            self.sheet.lines(1);
            return;
        };
        if self.style == Style::Text {
            self.sheet.close("");
        }
        self.sheet.end_one_line();
        self.sheet.no_blank();
    }

    /// Ends a row; the first gets a line beneath it, or it would be no table.
    pub(super) fn end_row(&mut self) {
        if let Some(Some(row)) = self.rows.last_mut()
            && self.style == Style::Markdown
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
