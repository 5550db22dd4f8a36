//! What a command prints, as far as the line says it.

use crate::expand::field::Field;

/// More texts than these are joined to the last one.
const MAX_PIECES: usize = 64;

/// What a command prints, or reads from the one before it.
#[derive(Clone, Debug, Default)]
pub(crate) enum Output {
    /// Nothing is known about it.
    #[default]
    Unknown,
    /// This very text.
    Text(String),
    /// File names, one per line, that fit these patterns.
    Names(Vec<Field>),
    /// Not known, but these texts may be in it: they are searched for catastrophes.
    Pieces(Vec<Piece>),
}

/// A text that may be part of an output.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    text: String,
    /// Whether no condition decides about it.
    certain: bool,
}

impl Output {
    pub(crate) fn nothing() -> Self {
        Self::Text(String::new())
    }

    /// This output with another one behind it.
    pub(crate) fn then(self, next: Self) -> Self {
        match (self, next) {
            (Self::Text(mut first), Self::Text(second)) => {
                first.push_str(&second);
                Self::Text(first)
            }
            (Self::Text(text), other) | (other, Self::Text(text)) if text.is_empty() => other,
            (Self::Names(mut first), Self::Names(second)) => {
                first.extend(second);
                Self::Names(first)
            }
            (first, second) => {
                let mut pieces = first.pieces();
                for piece in second.pieces() {
                    add(&mut pieces, piece);
                }
                Self::of(pieces)
            }
        }
    }

    /// The same output if a condition decides whether it is printed. Names are a selection
    /// anyway.
    pub(crate) fn maybe(self) -> Self {
        match self {
            Self::Text(text) if text.is_empty() => Self::Text(text),
            Self::Names(names) => Self::Names(names),
            other => {
                let mut pieces = other.pieces();
                for piece in &mut pieces {
                    piece.certain = false;
                }
                Self::of(pieces)
            }
        }
    }

    /// The same output if it is only part of what arrives.
    pub(crate) fn partly(self) -> Self {
        Self::of(self.pieces())
    }

    /// The output of a command that may hand on or change what it reads.
    pub(crate) fn handed_on(input: &Self) -> Self {
        match input {
            Self::Text(text) if text.is_empty() => Self::Unknown,
            Self::Text(_) | Self::Pieces(_) => input.clone().partly().maybe(),
            Self::Unknown | Self::Names(_) => Self::Unknown,
        }
    }

    /// Texts of which this may consist where it is not known: all of them, those that are
    /// certain, and each alone.
    pub(crate) fn candidates(&self) -> Vec<String> {
        let Self::Pieces(pieces) = self else {
            return Vec::new();
        };
        let joined = |keep: &dyn Fn(&Piece) -> bool| {
            let kept = pieces.iter().filter(|piece| keep(piece));
            kept.map(|piece| piece.text.as_str()).collect::<String>()
        };
        let mut candidates = vec![joined(&|_| true)];
        if pieces.len() > 1 {
            candidates.push(joined(&|piece| piece.certain));
            candidates.extend(pieces.iter().map(|piece| piece.text.clone()));
        }
        candidates.retain(|text| !text.trim().is_empty());
        candidates
    }

    fn of(pieces: Vec<Piece>) -> Self {
        if pieces.is_empty() {
            Self::Unknown
        } else {
            Self::Pieces(pieces)
        }
    }

    fn pieces(self) -> Vec<Piece> {
        match self {
            Self::Pieces(pieces) => pieces,
            Self::Text(text) if !text.is_empty() => vec![Piece {
                text,
                certain: true,
            }],
            Self::Unknown | Self::Text(_) | Self::Names(_) => Vec::new(),
        }
    }
}

fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    let full = pieces.len() >= MAX_PIECES;
    match pieces.last_mut() {
        Some(last) if full || (last.certain && piece.certain) => {
            last.text.push_str(&piece.text);
            last.certain &= piece.certain;
        }
        _ => pieces.push(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    fn text(text: &str) -> Output {
        Output::Text(text.to_owned())
    }

    #[test]
    fn texts_under_a_condition_are_tried_with_and_without() {
        let output = text("a").then(text("#").maybe()).then(text("b"));
        assert_eq!(output.candidates(), ["a#b", "ab", "a", "#", "b"]);
        assert!(text("a").then(text("b")).candidates().is_empty());
    }

    #[test]
    fn many_texts_are_joined() {
        let output = (0..1000).fold(Output::nothing(), |all, _| all.then(text("a\n").maybe()));
        let candidates = output.candidates();
        assert!(candidates.len() < 70, "{}", candidates.len());
        assert_eq!(candidates.first().map(String::len), Some(2000));
    }
}
