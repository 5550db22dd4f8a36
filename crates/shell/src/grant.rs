//! How much of a command an "always" covers.

use crate::programs::table::{self, End, Program};

/// A program nobody has a row for may have this many words that name what it does.
const MAX_BARE_WORDS: usize = 3;

/// The leading words of a command, up to the first that is an option, a path
/// or data: `npm run dev`, `git status`, `cargo test`.
///
/// The first word is kept as the line names it, path or not, because that is
/// what the rule has to match again. For programs in the table the words that
/// count are the subcommands it knows; for others, plain words.
pub fn leading_words(words: &[String]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else {
        return Vec::new();
    };
    let mut leading = vec![program.clone()];
    match table::find(program) {
        Some(row) => known(row, program, rest, &mut leading),
        None => {
            leading.extend(
                rest.iter()
                    .take(MAX_BARE_WORDS - 1)
                    .take_while(|word| is_bare(word))
                    .cloned(),
            );
        }
    }
    leading
}

fn known(program: &Program, name: &str, rest: &[String], leading: &mut Vec<String>) {
    let Some((word, below)) = rest.split_first() else {
        return;
    };
    let script = matches!(name, "npm" | "pnpm" | "yarn" | "bun")
        && matches!(
            leading.last().map(String::as_str),
            Some("run" | "run-script")
        );
    if script && is_bare(word) {
        leading.push(word.clone());
        return;
    }
    if program.row.shape.end != End::Subcommand || !is_bare(word) {
        return;
    }
    leading.push(word.clone());
    if program.names_subcommand(word)
        && let Some(below_program) = program.subcommand(word)
    {
        known(below_program, name, below, leading);
    }
}

/// A word that names something to do: letters, digits, `-`, `_`, `:`.
fn is_bare(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

#[cfg(test)]
mod tests {
    use super::leading_words;

    fn leading(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        leading_words(&words).join(" ")
    }

    #[test]
    fn a_grant_stops_at_options_paths_and_data() {
        for (line, expected) in [
            ("npm run dev", "npm run dev"),
            ("npm run dev -- --port 3", "npm run dev"),
            ("npm install left-pad", "npm install"),
            ("git status", "git status"),
            ("git status -s", "git status"),
            ("git push origin main", "git push"),
            ("git -C x status", "git"),
            ("cargo test -p x", "cargo test"),
            ("./gradlew build --info", "./gradlew build"),
            ("ls -la", "ls"),
            ("cat README.md", "cat"),
            ("echo hello", "echo"),
            ("python script.py", "python"),
            ("mytool deploy prod now please", "mytool deploy prod"),
            ("mytool ./x", "mytool"),
            ("docker run --rm alpine", "docker run"),
            ("git remote add origin u", "git remote add"),
        ] {
            assert_eq!(leading(line), expected, "{line}");
        }
        assert!(leading_words(&[]).is_empty());
    }
}
