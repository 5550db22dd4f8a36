//! A whole answer: its calls and its text.

use toolgate_model::Call;
use toolgate_model::json::JsonLimits;

use super::parser::{Parser, Piece};

/// What a model's answer came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The calls in the order of their blocks.
    pub calls: Vec<Call>,
    /// Everything outside the blocks, unchanged.
    pub text: String,
}

impl Answer {
    /// Reads an answer that is there as a whole.
    ///
    /// ```
    /// use toolgate_providers::fenced::Answer;
    ///
    /// let text = "I look.\n```tool\n{\"name\": \"ls\", \"args\": {}}\n```\n";
    /// let answer = Answer::read(text, Default::default());
    /// assert_eq!(answer.calls[0].name(), Some("ls"));
    /// assert_eq!(answer.clean_text(), "I look.");
    /// ```
    pub fn read(text: &str, limits: JsonLimits) -> Self {
        let mut parser = Parser::new(limits);
        let mut answer = Self::default();
        answer.extend(parser.push(text));
        answer.extend(parser.finish());
        answer
    }

    /// The text without blanks and empty lines at both ends: what is left to show.
    pub fn clean_text(&self) -> &str {
        self.text.trim()
    }
}

impl Extend<Piece> for Answer {
    fn extend<I: IntoIterator<Item = Piece>>(&mut self, pieces: I) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.text.push_str(&text),
                Piece::Call(call) => self.calls.push(call),
            }
        }
    }
}

impl FromIterator<Piece> for Answer {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Self {
        let mut answer = Self::default();
        answer.extend(pieces);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_sum_of_its_pieces() {
        let text = " \nA\n```tool\n{\"name\":\"x\"}\n```\n\nB\n";
        let whole = Answer::read(text, JsonLimits::default());
        assert_eq!(whole.text, " \nA\n\nB\n");
        assert_eq!(whole.clean_text(), "A\n\nB");
        let mut parser = Parser::new(JsonLimits::default());
        let mut pieces = parser.push(text);
        pieces.extend(parser.finish());
        assert_eq!(pieces.into_iter().collect::<Answer>(), whole);
    }
}
