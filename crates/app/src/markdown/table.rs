//! Tables: columns where they fit, else each row as `Header: value`.

use super::wrap::columns;
use super::{Look, Piece, Row};

/// A table while it is read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Vec<Piece>>>,
}

const GAP: &str = " │ ";

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, pieces: Vec<Piece>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(pieces);
        }
    }

    pub(super) fn rows(&self, width: usize) -> Vec<Row> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| wide(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(wide).collect();
        let gaps = count.saturating_sub(1) * columns(GAP);
        match widths.iter().sum::<usize>() + gaps <= width {
            true => self.grid(&widths),
            false => self.list(),
        }
    }

    fn grid(&self, widths: &[usize]) -> Vec<Row> {
        let dim = Look {
            dim: true,
            ..Look::default()
        };
        let mut shown = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut pieces = Vec::new();
            for (at, wanted) in widths.iter().enumerate() {
                if at > 0 {
                    pieces.push(Piece::new(GAP, dim));
                }
                let cell = row.get(at).map(Vec::as_slice).unwrap_or_default();
                pieces.extend(cell.iter().cloned().map(|mut piece| {
                    piece.look.bold |= number == 0;
                    piece
                }));
                let is_last = at + 1 == widths.len();
                let blanks = wanted.saturating_sub(wide(cell));
                if blanks > 0 && !is_last {
                    pieces.push(Piece::new(" ".repeat(blanks), Look::default()));
                }
            }
            shown.push(Row { pieces });
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                shown.push(Row {
                    pieces: vec![Piece::new(rule.join("─┼─"), dim)],
                });
            }
        }
        shown
    }

    fn list(&self) -> Vec<Row> {
        let (Some(head), body) = (self.rows.first(), self.rows.iter().skip(1)) else {
            return Vec::new();
        };
        let mut shown = Vec::new();
        for row in body {
            if !shown.is_empty() {
                shown.push(Row::default());
            }
            for (at, cell) in row.iter().enumerate() {
                let named = head.get(at).map(Vec::as_slice).unwrap_or_default();
                let bold = |piece: &Piece| Piece {
                    look: Look {
                        bold: true,
                        ..piece.look
                    },
                    ..piece.clone()
                };
                let mut pieces: Vec<Piece> = named.iter().map(bold).collect();
                pieces.push(Piece::new(": ", Look::default()));
                pieces.extend(cell.iter().cloned());
                shown.push(Row { pieces });
            }
        }
        shown
    }
}

fn wide(cell: &[Piece]) -> usize {
    cell.iter().map(|piece| columns(&piece.text)).sum()
}
