//! Markdown of models as rows for a terminal, and cut into blocks while it streams in.
//!
//! ```text
//! pieces ──▶ Blocks ──▶ whole blocks ──▶ rows(text, width) ──▶ Row: Piece { text, look }, …
//! ```
//!
//! Rows are data: a face adds colours and takes out what a terminal would obey. Lines of code
//! are never broken, so that they can be copied. Nothing here can fail: text that is no Markdown
//! is its own rendering.
//!
//! ```
//! use toolgate_app::markdown::rows;
//!
//! let rows = rows("Use **one** of:\n\n- `a`\n- b", 40);
//! let lines: Vec<String> = rows.iter().map(|row| row.text()).collect();
//! assert_eq!(lines, ["Use one of:", "", "• `a`", "• b"]);
//! assert!(rows[0].pieces[1].look.bold);
//! ```

mod blocks;
mod table;
mod walk;
mod wrap;

pub use blocks::Blocks;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Emphasized strongly.
    pub bold: bool,
    /// Emphasized.
    pub italic: bool,
    /// Struck out.
    pub struck: bool,
    /// Code, in a line or in a block.
    pub code: bool,
    /// The text of a link.
    pub link: bool,
    /// A heading.
    pub heading: bool,
    /// Less important: marks, addresses, quotes.
    pub dim: bool,
}

/// A piece of a row that looks the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text, without a line end.
    pub text: String,
    /// How it looks.
    pub look: Look,
}

impl Piece {
    fn new(text: impl Into<String>, look: Look) -> Self {
        Self {
            text: text.into(),
            look,
        }
    }
}

/// A row of the terminal. Only rows of code and of words without a blank are wider than asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its pieces, from left to right.
    pub pieces: Vec<Piece>,
}

impl Row {
    /// Its text without looks.
    pub fn text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| piece.text.as_str())
            .collect()
    }
}

/// Markdown as rows of at most so many columns.
pub fn rows(text: &str, width: usize) -> Vec<Row> {
    walk::Walk::new(width.max(20)).all(text)
}

#[cfg(test)]
mod tests;
