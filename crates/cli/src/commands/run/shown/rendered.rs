//! Markdown of a model on the terminal.

use toolgate_app::markdown::{Look, Row, rows};

use crate::clean::style::{BOLD, CYAN, DIM, ITALIC, PLAIN, UNDERLINED};
use crate::clean::{Clean, Style, say};
use crate::out;

/// Longer rows are hard to read.
const WIDEST: usize = 100;

/// Markdown as rows for this terminal, each with its end.
pub(super) fn rendered(text: &str) -> Clean {
    let columns = out::columns().saturating_sub(1).min(WIDEST);
    let rows = rows(text, columns);
    let rows = rows.iter().map(|row| say!("{}\n", painted(row)));
    Clean::join(rows, "")
}

fn painted(row: &Row) -> Clean {
    let pieces = row.pieces.iter();
    let pieces = pieces.map(|piece| style(piece.look).on(Clean::output(&piece.text)));
    Clean::join(pieces, "")
}

/// The style that says most of how a piece looks.
const fn style(look: Look) -> Style {
    match look {
        Look { dim: true, .. } => DIM,
        Look { code: true, .. } => CYAN,
        Look { link: true, .. } => UNDERLINED,
        Look { bold: true, .. } | Look { heading: true, .. } => BOLD,
        Look { italic: true, .. } => ITALIC,
        _ => PLAIN,
    }
}
