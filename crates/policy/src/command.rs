//! Leading words of commands.

use crate::error::RuleError;
use crate::rule::WordPattern;

/// The leading words that a command has to have, each with its alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<Vec<String>>,
}

impl CommandPattern {
    /// Takes a rule's words; `empty_is_every` says whether no words at all may mean every command.
    pub(crate) fn compile(words: &[WordPattern], empty_is_every: bool) -> Result<Self, RuleError> {
        let words: Vec<Vec<String>> = words.iter().map(|word| word.words().to_vec()).collect();
        if (words.is_empty() && !empty_is_every) || words.iter().any(Vec::is_empty) {
            return Err(RuleError::EmptyList { key: "command" });
        }
        Ok(Self { words })
    }

    /// The names of the programs that it can fit; none if it fits every program.
    pub(crate) fn programs(&self) -> &[String] {
        self.words.first().map_or(&[], Vec::as_slice)
    }

    /// Whether the command starts with these words, each exactly.
    pub(crate) fn fits(&self, command: &[String]) -> bool {
        command.len() >= self.words.len()
            && self
                .words
                .iter()
                .zip(command)
                .all(|(wanted, word)| wanted.contains(word))
    }

    /// Whether everything that `other` fits is fitted by this one too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.words.len() <= other.words.len()
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(mine, theirs)| theirs.iter().all(|word| mine.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(words: &[&[&str]]) -> CommandPattern {
        let words: Vec<WordPattern> = words
            .iter()
            .map(|any| WordPattern::Any(any.iter().map(|&word| word.to_owned()).collect()))
            .collect();
        CommandPattern::compile(&words, true).unwrap()
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn leading_words_fit_exactly() {
        let cargo = pattern(&[&["cargo"], &["test", "check"]]);
        for (line, fits) in [
            ("cargo test", true),
            ("cargo check -p x", true),
            ("cargo", false),
            ("cargo tests", false),
            ("cargo --quiet test", false),
            ("./cargo test", false),
            ("/usr/bin/cargo test", false),
            ("add cargo test", false),
            ("", false),
        ] {
            assert_eq!(cargo.fits(&words(line)), fits, "{line}");
        }
        assert!(pattern(&[]).fits(&words("anything at all")));
        assert!(pattern(&[]).fits(&[]));
    }

    #[test]
    fn nothing_to_choose_from_is_an_error() {
        let none = WordPattern::Any(Vec::new());
        assert!(CommandPattern::compile(std::slice::from_ref(&none), true).is_err());
        assert!(CommandPattern::compile(&["a".into(), none], false).is_err());
        assert!(CommandPattern::compile(&[], false).is_err());
        assert!(CommandPattern::compile(&[], true).is_ok());
    }

    #[test]
    fn fewer_words_or_more_alternatives_cover() {
        for (wide, narrow, covers) in [
            (pattern(&[]), pattern(&[&["a"]]), true),
            (pattern(&[&["a"]]), pattern(&[]), false),
            (pattern(&[&["a"]]), pattern(&[&["a"], &["b"]]), true),
            (pattern(&[&["a"], &["b"]]), pattern(&[&["a"]]), false),
            (pattern(&[&["a", "b"]]), pattern(&[&["b"]]), true),
            (pattern(&[&["b"]]), pattern(&[&["a", "b"]]), false),
            (pattern(&[&["a"]]), pattern(&[&["a"]]), true),
        ] {
            assert_eq!(wide.covers(&narrow), covers, "{wide:?} over {narrow:?}");
        }
    }
}
