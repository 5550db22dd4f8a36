//! Files in which git stores the state of a rebase, a sequence of picks or a bisection.
//!
//! Git continues from them: a merge strategy is the name of a program, options become
//! arguments, and older versions evaluate some of them in a shell. So each has to be what git
//! itself writes, byte for byte in form. Anything else counts as obeyed.

/// A file of such a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFile {
    /// The merge strategy of a rebase.
    Strategy,
    /// The options for it.
    StrategyOptions,
    /// The options of a sequence of picks.
    Options,
    /// The options for applying patches.
    ApplyOptions,
    /// The author of the commit that is made next.
    Author,
    /// The paths of a bisection.
    BisectNames,
    /// The words of a bisection.
    BisectTerms,
}

/// The strategies that git has built in.
const STRATEGIES: [&[u8]; 6] = [
    b"ort",
    b"recursive",
    b"resolve",
    b"octopus",
    b"ours",
    b"subtree",
];

/// The options that these strategies know; those that end with `=` take a value.
const STRATEGY_OPTIONS: [&[u8]; 17] = [
    b"ours",
    b"theirs",
    b"subtree",
    b"subtree=",
    b"patience",
    b"histogram",
    b"diff-algorithm=",
    b"ignore-space-change",
    b"ignore-all-space",
    b"ignore-space-at-eol",
    b"ignore-cr-at-eol",
    b"renormalize",
    b"no-renormalize",
    b"no-renames",
    b"find-renames",
    b"find-renames=",
    b"rename-threshold=",
];

/// The options of `git am` that reach `git apply`.
const APPLY_OPTIONS: [&[u8]; 9] = [
    b"-p",
    b"-C",
    b"--whitespace=",
    b"--directory=",
    b"--exclude=",
    b"--include=",
    b"--reject",
    b"--ignore-space-change",
    b"--ignore-whitespace",
];

/// The options of a sequence that are true or false.
const SWITCHES: [&[u8]; 9] = [
    b"no-commit",
    b"edit",
    b"allow-empty",
    b"allow-empty-message",
    b"drop-redundant-commits",
    b"keep-redundant-commits",
    b"signoff",
    b"record-origin",
    b"allow-ff",
];

impl StateFile {
    /// The kind of a file in a git directory; both names in lower case.
    pub(crate) fn of(parent: &[u8], name: &[u8]) -> Option<Self> {
        Some(match (parent, name) {
            (b"rebase-merge" | b"rebase-apply", b"strategy") => Self::Strategy,
            (b"rebase-merge" | b"rebase-apply", b"strategy_opts") => Self::StrategyOptions,
            (b"rebase-merge" | b"rebase-apply", b"author-script") => Self::Author,
            (b"rebase-apply", b"apply-opt") => Self::ApplyOptions,
            (b"sequencer", b"opts") => Self::Options,
            (_, b"bisect_names") => Self::BisectNames,
            (_, b"bisect_terms") => Self::BisectTerms,
            _ => return None,
        })
    }

    /// Whether this is what git writes by itself, with nothing but what it has built in.
    pub(super) fn is_plain(self, content: &[u8]) -> bool {
        // Git takes an empty file for a state that is being written.
        if content.is_empty() {
            return true;
        }
        let line = content.strip_suffix(b"\n").unwrap_or(content);
        match self {
            _ if content.contains(&0) => false,
            Self::Strategy => STRATEGIES.contains(&line),
            Self::StrategyOptions => line.split(|byte| *byte == b' ').all(|word| {
                let quoted = word.strip_prefix(b"\"");
                let word = quoted
                    .and_then(|word| word.strip_suffix(b"\""))
                    .unwrap_or(word);
                word.is_empty() || is_strategy_option(word.strip_prefix(b"--").unwrap_or(word))
            }),
            Self::Options => {
                let mut lines = line.split(|byte| *byte == b'\n');
                lines.next() == Some(b"[options]") && lines.all(is_option)
            }
            Self::ApplyOptions => {
                words(line).is_some_and(|words| words.iter().all(|word| is_apply_option(word)))
            }
            Self::Author => is_author(content),
            Self::BisectNames => words(line).is_some(),
            Self::BisectTerms => line
                .split(|byte| *byte == b'\n')
                .all(|term| !term.starts_with(b"-") && is_word(term)),
        }
    }
}

/// Letters, digits and the punctuation of names and numbers.
fn is_word(value: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._/%+-".contains(byte);
    value.iter().all(plain)
}

fn is_strategy_option(option: &[u8]) -> bool {
    STRATEGY_OPTIONS
        .iter()
        .any(|known| match option.strip_prefix(*known) {
            Some(value) if known.ends_with(b"=") => is_word(value),
            Some(rest) => rest.is_empty(),
            None => false,
        })
}

fn is_apply_option(option: &[u8]) -> bool {
    APPLY_OPTIONS
        .iter()
        .any(|known| match option.strip_prefix(*known) {
            Some(value) if known.ends_with(b"=") => !value.contains(&b'\n'),
            Some(number) if known.len() == 2 => number.iter().all(u8::is_ascii_digit),
            Some(rest) => rest.is_empty(),
            None => false,
        })
}

/// A line of the options of a sequence.
fn is_option(line: &[u8]) -> bool {
    let Some(line) = line.strip_prefix(b"\t") else {
        return false;
    };
    let Some(at) = line.windows(3).position(|three| three == b" = ") else {
        return false;
    };
    let (key, value) = (line.get(..at), line.get(at + 3..));
    let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
    match key {
        b"strategy" => STRATEGIES.contains(&value),
        b"strategy-option" => is_strategy_option(value),
        b"mainline" => !value.is_empty() && value.iter().all(u8::is_ascii_digit),
        b"gpg-sign" => value
            .iter()
            .all(|byte| is_word(std::slice::from_ref(byte)) || b"@<> ".contains(byte)),
        b"allow-rerere-auto" | b"default-msg-cleanup" => is_word(value),
        switch => SWITCHES.contains(&switch) && matches!(value, b"true" | b"false"),
    }
}

/// The name, the address and the date, each in quotes.
fn is_author(content: &[u8]) -> bool {
    let mut rest = content;
    for key in [
        &b"GIT_AUTHOR_NAME="[..],
        b"GIT_AUTHOR_EMAIL=",
        b"GIT_AUTHOR_DATE=",
    ] {
        let Some((_, after)) = rest.strip_prefix(key).and_then(word) else {
            return false;
        };
        let Some(after) = after.strip_prefix(b"\n") else {
            return false;
        };
        rest = after;
    }
    rest.is_empty()
}

/// The words of a text in which each is quoted as git does it for a shell; none if anything
/// is outside of the quotes.
fn words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        let (found, after) = word(rest)?;
        if !after.is_empty() && !after.starts_with(b" ") {
            return None;
        }
        words.push(found);
        rest = after.trim_ascii_start();
    }
    Some(words)
}

/// One quoted word and the rest after it. A quote and an exclamation mark are
/// outside of the quotes, behind a backslash.
fn word(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut rest = text.strip_prefix(b"'")?;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        let (inside, after) = rest.split_at(end);
        word.extend(inside);
        let after = after.get(1..)?;
        let Some(escaped) = after.strip_prefix(b"\\") else {
            return Some((word, after));
        };
        let (byte, after) = escaped.split_first()?;
        if !matches!(byte, b'\'' | b'!') {
            return None;
        }
        word.push(*byte);
        rest = after.strip_prefix(b"'")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_is_plain() {
        for (parent, name, content, plain) in [
            ("rebase-merge", "strategy", "ort\n", true),
            ("rebase-merge", "strategy", "ort", true),
            ("rebase-merge", "strategy", "ort\n\n", false),
            ("rebase-merge", "strategy", "ort \n", false),
            ("rebase-merge", "strategy", "x=/../payload", false),
            ("rebase-merge", "strategy", "[x]\n", false),
            ("rebase-apply", "strategy", "ours/../x", false),
            ("rebase-merge", "strategy_opts", " --ours\n", true),
            (
                "rebase-merge",
                "strategy_opts",
                "\"find-renames=50\"\n",
                true,
            ),
            ("rebase-merge", "strategy_opts", "--index-output=x\n", false),
            ("sequencer", "opts", "[options]\n\tstrategy = ours\n", true),
            (
                "sequencer",
                "opts",
                "[options]\n\tedit = true\n\tmainline = 1\n",
                true,
            ),
            (
                "sequencer",
                "opts",
                "[options]\n\tstrategy-option = patience\n",
                true,
            ),
            (
                "sequencer",
                "opts",
                "[options] strategy = x/../payload\n",
                false,
            ),
            ("sequencer", "opts", "[options]\n\tstrategy = evil\n", false),
            ("sequencer", "opts", "[options]\n\tstrategy=evil\n", false),
            ("sequencer", "opts", "[options]\n\tedit = true \\\n", false),
            ("sequencer", "opts", "[include]\n\tpath = x\n", false),
            ("sequencer", "opts", "[options]\n\tunknown = true\n", false),
            (
                "rebase-apply",
                "apply-opt",
                " '-p1' '--directory=a b'\n",
                true,
            ),
            (
                "rebase-apply",
                "apply-opt",
                " '--build-fake-ancestor=x'\n",
                false,
            ),
            ("rebase-apply", "apply-opt", " '-p1' $(x)\n", false),
            (
                "rebase-merge",
                "author-script",
                "GIT_AUTHOR_NAME='a\nb'\\''s'\nGIT_AUTHOR_EMAIL='x'\nGIT_AUTHOR_DATE='@1 +0000'\n",
                true,
            ),
            (
                "rebase-merge",
                "author-script",
                "GIT_AUTHOR_NAME='a'\nGIT_AUTHOR_EMAIL='x'\nGIT_AUTHOR_DATE='1'\nGIT_SSH='x'\n",
                false,
            ),
            (
                "rebase-apply",
                "author-script",
                "GIT_AUTHOR_NAME=$(x)\n",
                false,
            ),
            ("x", "bisect_names", " '--' 'a b'\n", true),
            ("x", "bisect_names", " '--'; x\n", false),
            ("x", "bisect_terms", "bad\ngood\n", true),
            ("x", "bisect_terms", "$(x)\ngood\n", false),
            ("rebase-merge", "strategy", "", true),
        ] {
            let file = StateFile::of(parent.as_bytes(), name.as_bytes()).expect(name);
            assert_eq!(
                file.is_plain(content.as_bytes()),
                plain,
                "{name}: {content:?}"
            );
        }
        assert_eq!(StateFile::of(b"rebase-merge", b"message"), None);
        assert!(!StateFile::Strategy.is_plain(b"ort\0"));
    }
}
