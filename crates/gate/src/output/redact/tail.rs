//! What follows the part of a secret that was enough to recognize it.

use super::pem::PemTail;

/// Swallows the rest of a secret, character by character, without keeping it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// As long as characters belong to a set.
    Run(Charset),
    /// The inside of quotes; a backslash takes the next character with it.
    Quoted {
        /// The quote that ends it.
        quote: char,
        /// The last character was a backslash.
        escaped: bool,
    },
    /// A PEM block.
    Pem(PemTail),
}

impl Tail {
    /// Whether `c` still belongs to the secret.
    pub(super) fn takes(&mut self, c: char) -> bool {
        match self {
            Self::Run(set) => set.contains(c),
            Self::Quoted { quote, escaped } => {
                let ends = c == '\n' || (c == *quote && !*escaped);
                *escaped = c == '\\' && !*escaped;
                !ends
            }
            Self::Pem(pem) => pem.takes(c),
        }
    }

    /// How the rest of a value goes on that was judged with this: it ends at code.
    pub(super) fn past_judged(self) -> Self {
        match self {
            Self::Quoted { .. } => Self::Run(Charset::InQuotes),
            Self::Run(Charset::EscapedQuotes) => Self::Run(Charset::InEscapedQuotes),
            other => other,
        }
    }

    /// Swallows what it can of `text`: how many bytes, and whether it may go on.
    pub(super) fn swallow(&mut self, text: &str) -> (usize, bool) {
        match text.char_indices().find(|&(_, c)| !self.takes(c)) {
            Some((end, _)) => (end, false),
            None => (text.len(), true),
        }
    }

    /// Two tails that make each other superfluous: from where both run, the newer one
    /// reaches at least as far.
    pub(super) fn replaces(&self, older: &Self) -> bool {
        self == older || matches!((self, older), (Self::Pem(_), Self::Pem(_)))
    }
}

/// The characters that a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    /// Upper case letters and digits.
    Upper,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url64,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
    /// Letters, digits, `/`.
    Path,
    /// What credentials in a header are written with.
    Token68,
    /// Up to the next blank, quote or bracket.
    Bare,
    /// The same, in front of an `@`.
    UserInfo,
    /// The inside of quotes that are escaped themselves.
    EscapedQuotes,
    /// The end of a long value in quotes: nothing that separates, calls or expands.
    InQuotes,
    /// The same in quotes that are escaped themselves.
    InEscapedQuotes,
}

impl Charset {
    /// Whether `c` belongs to the set.
    pub(super) fn contains(self, c: char) -> bool {
        match self {
            Self::Upper => c.is_ascii_uppercase() || c.is_ascii_digit(),
            Self::Alnum => c.is_ascii_alphanumeric(),
            Self::Word => c.is_ascii_alphanumeric() || c == '_',
            Self::Url64 => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
            Self::Dotted => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'),
            Self::Path => c.is_ascii_alphanumeric() || c == '/',
            Self::Token68 => {
                c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~' | '+' | '/' | '=')
            }
            Self::Bare => {
                !c.is_whitespace()
                    && !matches!(
                        c,
                        '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '|' | '&' | '\\'
                    )
                    && !matches!(c, '(' | ')' | '[' | ']' | '{' | '}')
            }
            Self::UserInfo => c != '@' && Self::Bare.contains(c),
            Self::EscapedQuotes => !matches!(c, '\\' | '"' | '\'' | '\n'),
            Self::InQuotes => c == '\\' || (c != '$' && Self::Bare.contains(c)),
            Self::InEscapedQuotes => c != '$' && Self::Bare.contains(c),
        }
    }
}

/// The part of a value before the code in it: an expansion or a command to be replaced.
pub(super) fn before_code(value: &str) -> &str {
    let ends = ["$(", "${", "`"].into_iter();
    let end = ends.filter_map(|code| value.find(code)).min();
    value.get(..end.unwrap_or(value.len())).unwrap_or_default()
}
