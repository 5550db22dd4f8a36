//! Small questions to the person on the terminal itself, never on standard input.

use std::io;

use crate::clean::{Clean, say};
use crate::terminal::Terminal;
use crate::tty::{self, Tty};

/// Asks until one of the words, or its first letter, is typed; nothing where nobody is
/// there or the person goes away. An empty line is no answer.
pub(crate) async fn choose(
    question: Clean,
    words: &'static [&'static str],
) -> Option<&'static str> {
    if !Terminal::is_there() {
        return None;
    }
    let asked = tty::ask(move |tty| converse(&question, words, tty)).await;
    asked.ok().flatten()
}

fn converse(
    question: &Clean,
    words: &'static [&'static str],
    tty: &mut Tty,
) -> io::Result<Option<&'static str>> {
    loop {
        tty.show(say!("{} [{}] > ", question, words.join("/")))?;
        let Some(line) = tty.line()? else {
            return Ok(None);
        };
        if let Some(word) = understood(&line, words) {
            return Ok(Some(word));
        }
    }
}

fn understood(line: &str, words: &'static [&'static str]) -> Option<&'static str> {
    let line = line.trim().to_lowercase();
    let first = |word: &str| word.chars().next().map(String::from);
    words
        .iter()
        .copied()
        .find(|word| *word == line || first(word).as_deref() == Some(line.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_its_letter_is_an_answer_and_nothing_is_one_by_accident() {
        for (line, answer) in [
            ("yes\n", Some("yes")),
            ("Y", Some("yes")),
            (" n ", Some("no")),
            ("", None),
            ("yo", None),
            ("\n", None),
        ] {
            assert_eq!(understood(line, &["yes", "no"]), answer, "{line:?}");
        }
    }
}
