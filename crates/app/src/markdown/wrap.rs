//! Words into rows.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Look, Piece, Row};

/// Breaks text at blanks into rows of at most so many columns. A line end within a piece ends
/// its row. A word that is wider than a row has one of its own.
pub(super) fn wrap(pieces: &[Piece], width: usize) -> Vec<Row> {
    let mut rows = vec![Row::default()];
    let (mut used, mut blank) = (0, None);
    for (word, is_glued) in words(pieces) {
        let wide: usize = word.iter().map(|piece| piece.text.width()).sum();
        if word.iter().any(|piece| piece.text == "\n") {
            rows.push(Row::default());
            (used, blank) = (0, None);
            continue;
        }
        if wide == 0 {
            continue;
        }
        if let Some(look) = blank.take() {
            if used + 1 + wide > width && used > 0 {
                rows.push(Row::default());
                used = 0;
            } else if used > 0 {
                push(&mut rows, Piece::new(" ", look));
                used += 1;
            }
        }
        used += wide;
        for piece in word {
            push(&mut rows, piece);
        }
        blank = is_glued;
    }
    rows
}

/// Words with what comes after each: a blank of this look.
fn words(pieces: &[Piece]) -> Vec<(Vec<Piece>, Option<Look>)> {
    let mut all: Vec<(Vec<Piece>, Option<Look>)> = Vec::new();
    let mut word: Vec<Piece> = Vec::new();
    for piece in pieces {
        let mut text = String::new();
        for letter in piece.text.chars() {
            if !matches!(letter, ' ' | '\n' | '\t') {
                text.push(letter);
                continue;
            }
            if !text.is_empty() {
                word.push(Piece::new(std::mem::take(&mut text), piece.look));
            }
            if !word.is_empty() {
                all.push((std::mem::take(&mut word), Some(piece.look)));
            }
            if letter == '\n' {
                all.push((vec![Piece::new("\n", piece.look)], None));
            }
        }
        if !text.is_empty() {
            word.push(Piece::new(text, piece.look));
        }
    }
    if !word.is_empty() {
        all.push((word, None));
    }
    all
}

fn push(rows: &mut [Row], piece: Piece) {
    let Some(row) = rows.last_mut() else { return };
    match row.pieces.last_mut() {
        Some(last) if last.look == piece.look => last.text.push_str(&piece.text),
        _ => row.pieces.push(piece),
    }
}

/// The columns of a text.
pub(super) fn columns(text: &str) -> usize {
    text.chars()
        .map(|letter| letter.width().unwrap_or_default())
        .sum()
}
