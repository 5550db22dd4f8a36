//! How much of a command an "always" covers.

use crate::expand::field::Field;
use crate::programs::actions::{INTERPRETERS, RUNNING, VERBS, has_actions};
use crate::programs::scan::scan;
use crate::programs::table::{self, Effect, End, Program};

/// A program nobody has a row for may have this many words that name what it does.
const MAX_BARE_WORDS: usize = 3;

/// How many wrappers and subcommands are followed.
const MAX_LEVELS: usize = 8;

/// Programs whose name alone says nothing about what they do: interpreters and build tools. The
/// script, module or target that follows belongs to what is remembered.
const NEVER_BARE: &[&str] = &[
    "ant", "bmake", "coffee", "doit", "expect", "fab", "gmake", "raku", "tclsh", "wish", "xonsh",
    "gradle", "grunt", "gulp", "invoke", "ipython", "irb", "java", "julia", "just", "kotlin",
    "lein", "lua", "luajit", "make", "mill", "mvn", "ninja", "node", "nodejs", "nox", "perl",
    "php", "pypy", "python", "R", "rake", "Rscript", "ruby", "samu", "sbt", "scons", "task", "tox",
    "ts-node", "tsx",
];

/// Options that only make a program say something about itself.
const QUESTIONS: &[&str] = &["--version", "--help", "-V"];

/// Options of git before the subcommand that change nothing about what it does.
const NEUTRAL: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];

/// The leading words of a command, up to the first that is an option, a path
/// or data: `npm run dev`, `git status`, `cargo test`.
///
/// The first word is kept as the line names it, path or not, because that is
/// what the rule has to match again. For programs in the table the words that
/// count are the subcommands it knows, with the options before them; for others,
/// plain words. Nothing comes back where the words left would cover more than
/// this command: a bare interpreter, a setting given as an option.
pub fn leading_words(words: &[String]) -> Vec<String> {
    kept(words)
        .and_then(|count| words.get(..count))
        .unwrap_or_default()
        .to_vec()
}

/// The same without options that change nothing (`git -C . status` is `git status`), if there
/// are any.
pub fn plain_leading_words(words: &[String]) -> Option<Vec<String>> {
    let leading = leading_words(words);
    let (program, rest) = leading.split_first()?;
    let row = &find(program)?.row;
    let mut plain = vec![program.clone()];
    let mut rest = rest.iter().peekable();
    let mut options = true;
    while let Some(word) = rest.next() {
        options &= word.starts_with('-');
        let moves = row
            .flags()
            .any(|flag| flag.effect == Effect::Directory && flag.names.contains(&word.as_str()));
        let here = rest
            .peek()
            .is_some_and(|next| matches!(next.as_str(), "." | "./"));
        if options && moves && here {
            rest.next();
        } else if !(options && program == "git" && NEUTRAL.contains(&word.as_str())) {
            plain.push(word.clone());
        }
    }
    (plain.len() > 1 && plain != leading).then_some(plain)
}

/// How many of the words are remembered; nothing if none may be.
fn kept(words: &[String]) -> Option<usize> {
    let program = words.first()?;
    let subcommand = words.get(1).map_or("", String::as_str);
    if runs_what_follows(bare_name(program), subcommand) {
        return (words.len() > 2).then_some(words.len());
    }
    let Some(row) = find(program) else {
        if is_never_bare(bare_name(program)) {
            // Which of its words is the script nobody knows.
            return (words.len() > 1).then_some(words.len());
        }
        let bare = words.iter().skip(1).take(MAX_BARE_WORDS - 1);
        let count = 1 + bare.take_while(|word| is_bare(word)).count();
        // A wrapper script of a build tool is nothing without its target.
        let is_tool = matches!(bare_name(program), "gradlew" | "mvnw");
        return (count > 1 || !is_tool).then_some(count);
    };
    let name = bare_name(program);
    if row.row.traits.code == "shell" || row.row.shape.end == End::Line {
        // The text is the command.
        return words
            .iter()
            .any(|word| word == "-c" || row.row.shape.end == End::Line)
            .then_some(words.len());
    }
    let fields: Vec<Field> = words.iter().map(Field::literal).collect();
    known(row, name, &fields, 0)
}

/// The program as a row names it, wherever it is.
fn bare_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn find(program: &str) -> Option<&'static Program> {
    table::find(bare_name(program))
}

/// How many words of a program with a row are remembered.
fn known(program: &Program, name: &str, words: &[Field], level: usize) -> Option<usize> {
    if level > MAX_LEVELS {
        return None;
    }
    let row = &program.row;
    let scanned = scan(row, words);
    let sets = |effect: Effect| matches!(effect, Effect::GitSetting | Effect::Setting);
    if scanned.uses.iter().any(|used| sets(used.effect)) {
        return None;
    }
    let first = words.first().map_or("", |word| word.text.as_str());
    if level > 0 && has_actions(name, first) && row.shape.end != End::Command {
        return action(row, words);
    }
    match row.shape.end {
        End::Operands if level == 0 && VERBS.contains(&name) => action(row, words),
        End::Operands => operands(name, words, level),
        End::Line => Some(words.len()),
        End::Command => {
            let at = scanned.rest?;
            let inside: Vec<String> = words
                .get(at..)?
                .iter()
                .map(|word| word.text.clone())
                .collect();
            (level < MAX_LEVELS)
                .then(|| kept(&inside))
                .flatten()
                .map(|count| at + count)
        }
        End::Subcommand => {
            let Some(at) = scanned.rest else {
                // Options alone: as they are, if they say anything.
                let bare = words.len() == 1 && level == 0;
                return (!bare).then_some(words.len());
            };
            let rest = words.get(at..)?;
            let word = &rest.first()?.text;
            if word.starts_with('+') {
                return known(program, name, rest, level + 1).map(|count| at + count);
            }
            if !is_bare(word) {
                return (level > 0).then_some(at);
            }
            if runs_what_follows(name, word) {
                return (rest.len() > 1).then_some(words.len());
            }
            let below = program
                .subcommand(word)
                .filter(|_| program.names_subcommand(word) || has_actions(name, word));
            match below {
                Some(below) => known(below, name, rest, level + 1).map(|count| at + count),
                None => Some(at + 1),
            }
        }
    }
}

/// The words up to the one that says what is done, or all of them if that runs what follows.
fn action(row: &table::Row, words: &[Field]) -> Option<usize> {
    let scanned = scan(row, words);
    let at = match (scanned.rest, scanned.operands.first()) {
        (Some(at), _) => at,
        (None, Some(first)) => {
            1 + words
                .iter()
                .skip(1)
                .position(|word| word.text == first.text)?
        }
        (None, None) => return None,
    };
    let word = &words.get(at)?.text;
    if RUNNING.contains(&word.as_str()) {
        return (words.len() > at + 1).then_some(words.len());
    }
    is_bare(word).then_some(at + 1)
}

fn is_never_bare(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    NEVER_BARE.contains(&name) || NEVER_BARE.contains(&stem)
}

/// Subcommands that run whatever follows them: they are remembered with all of it.
fn runs_what_follows(name: &str, subcommand: &str) -> bool {
    match name {
        "deno" => matches!(subcommand, "run" | "task"),
        "go" | "zig" => subcommand == "run",
        "docker" | "podman" | "nerdctl" => matches!(subcommand, "run" | "exec"),
        "yarn" | "pnpm" | "npm" | "bun" => subcommand == "workspace",
        _ => false,
    }
}

/// How many words of a program without further subcommands are remembered.
fn operands(name: &str, words: &[Field], level: usize) -> Option<usize> {
    let script = matches!(name, "npm" | "pnpm" | "yarn" | "bun")
        && words
            .first()
            .is_some_and(|word| matches!(word.text.as_str(), "run" | "run-script"));
    let never_bare = level == 0 && is_never_bare(name);
    if !script && !never_bare {
        return Some(1);
    }
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    if QUESTIONS.contains(&text(1)) {
        return Some(2);
    }
    named(name, words)
}

/// The words up to the script, module or target.
fn named(name: &str, words: &[Field]) -> Option<usize> {
    let row = &table::find(name)?.row;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
        {
            // The value of an option (`-j 8`), not a target.
            at += 1;
            continue;
        }
        if !text.starts_with('-') {
            return Some(script_words(name, words, at + 1));
        }
        let takes = row.flags().find(|flag| flag.names.contains(&text));
        if text == "-m" {
            return match words.get(at + 1)?.text.as_str() {
                "pip" => words.get(at + 2).map(|_| at + 3),
                // They run what follows.
                "cProfile" | "pdb" | "profile" | "runpy" | "timeit" | "trace" => {
                    words.get(at + 2).map(|_| words.len())
                }
                _ => Some(at + 2),
            };
        }
        at += match takes.map(|flag| flag.arity) {
            Some(table::Arity::Required) => 2,
            Some(table::Arity::Pair) => 3,
            _ => 1,
        };
    }
    None
}

/// The words of a script up to the first that is an option, a path or data.
fn script_words(name: &str, words: &[Field], from: usize) -> usize {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&stem) {
        return from;
    }
    let behind = words.get(from..).unwrap_or_default();
    let plain = behind
        .iter()
        .take(MAX_BARE_WORDS - 1)
        .take_while(|word| is_bare(&word.text));
    let count = plain.clone().count();
    let mut plain = plain;
    if plain.any(|word| RUNNING.contains(&word.text.as_str())) {
        return words.len();
    }
    from + count
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
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(ToOwned::to_owned).collect()
    }

    fn leading(line: &str) -> String {
        leading_words(&words(line)).join(" ")
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
            ("cargo test -p x", "cargo test"),
            ("./gradlew build --info", "./gradlew build"),
            ("ls -la", "ls"),
            ("cat README.md", "cat"),
            ("echo hello", "echo"),
            ("mytool deploy prod now please", "mytool deploy prod"),
            ("mytool ./x", "mytool"),
            ("docker run --rm alpine", "docker run --rm alpine"),
            ("git remote add origin u", "git remote add"),
            ("pytest -x -q tests/", "pytest"),
            ("docker compose up -d", "docker compose up"),
            ("docker compose -f a.yml up", "docker compose -f a.yml up"),
            ("docker compose exec web sh", "docker compose exec web sh"),
            ("docker compose run web sh", "docker compose run web sh"),
            ("docker container ls", "docker container ls"),
            (
                "docker container exec web sh",
                "docker container exec web sh",
            ),
            ("nerdctl run alpine sh", "nerdctl run alpine sh"),
            ("nerdctl compose up", "nerdctl compose up"),
            ("docker-compose up -d", "docker-compose up"),
            ("gh pr view 3", "gh pr view"),
            ("gh release list", "gh release list"),
            ("npm pkg get name", "npm pkg get"),
            ("yarn workspace a test", "yarn workspace a test"),
            ("apt install x", "apt install"),
            ("apt-get -y install x", "apt-get -y install"),
            ("mix test", "mix test"),
            ("mix run -e x", "mix run -e x"),
            ("git stash pop", "git stash pop"),
            ("git submodule foreach ls", "git submodule foreach ls"),
            ("git bisect run make", "git bisect run make"),
            ("php artisan migrate", "php artisan migrate"),
            (
                "php artisan tinker --execute=x",
                "php artisan tinker --execute=x",
            ),
            ("python3 manage.py test", "python3 manage.py test"),
            (
                "python3 manage.py shell -c x",
                "python3 manage.py shell -c x",
            ),
            ("kubectl rollout status x", "kubectl rollout status"),
            ("/usr/bin/git status -s", "/usr/bin/git status"),
        ] {
            assert_eq!(leading(line), expected, "{line}");
        }
        assert!(leading_words(&[]).is_empty());
    }

    #[test]
    fn options_before_the_subcommand_are_kept_with_it() {
        for (line, expected) in [
            ("git -C x status", "git -C x status"),
            ("git -C . status -s", "git -C . status"),
            ("git --no-pager log -3", "git --no-pager log"),
            (
                "git --no-pager -C x remote add o u",
                "git --no-pager -C x remote add",
            ),
            ("cargo +nightly build --release", "cargo +nightly build"),
            ("cargo -q test -p x", "cargo -q test"),
            ("npm --prefix web run dev", "npm --prefix web run dev"),
            ("npm run --silent dev", "npm run --silent dev"),
            ("docker --context X ps -a", "docker --context X ps"),
            ("kubectl -n ns get pods", "kubectl -n ns get"),
            ("go -C dir test ./...", "go -C dir test"),
            ("make -C dir test", "make -C dir test"),
            ("make -j8 all", "make -j8 all"),
            ("make -j 8 all", "make -j 8 all"),
            ("python3 -m pip install x", "python3 -m pip install"),
            ("python3 -m pdb a.py", "python3 -m pdb a.py"),
            ("go run ./cmd/x -v", "go run ./cmd/x -v"),
            ("deno run -A x.ts", "deno run -A x.ts"),
            ("zig run x.zig", "zig run x.zig"),
            ("docker exec -it web sh", "docker exec -it web sh"),
            ("tclsh x.tcl", "tclsh x.tcl"),
            ("expect x.exp", "expect x.exp"),
            ("make test lint", "make test"),
            ("python script.py --x", "python script.py"),
            ("python3 -u script.py", "python3 -u script.py"),
            ("python3 -m pytest -q", "python3 -m pytest"),
            ("./venv/bin/python3.12 a.py", "./venv/bin/python3.12 a.py"),
            ("node app.js", "node app.js"),
            ("sudo -u bob git status -s", "sudo -u bob git status"),
            ("npx jest src", "npx jest"),
            ("git remote -v", "git remote -v"),
            ("git --version", "git --version"),
            ("python3 --version", "python3 --version"),
            ("bash -c ls", "bash -c ls"),
        ] {
            assert_eq!(leading(line), expected, "{line}");
        }
    }

    #[test]
    fn nothing_is_remembered_that_would_be_a_bare_runner() {
        for line in [
            "git",
            "git -c color.ui=never status",
            "git -C . -c user.name=x commit",
            "cargo",
            "npm",
            "yarn",
            "make",
            "make -j8",
            "make -j 8",
            "python3 -m pip",
            "python3 -m pdb",
            "tclsh",
            "expect",
            "coffee",
            "raku",
            "xonsh",
            "go run",
            "deno run",
            "zig run",
            "docker run",
            "docker exec",
            "make -C dir",
            "ninja",
            "python3",
            "python3 -u",
            "node --test",
            "npm run",
            "npm run --silent",
            "sudo",
            "npx",
            "sudo make",
            "sudo python3",
            "timeout 5 git",
            "bash",
            "/usr/bin/python3",
            "./venv/bin/python -u",
            "gradle --info",
            "git stash",
            "git stash -u",
            "docker compose",
            "docker compose exec",
            "docker container",
            "gh pr",
            "npm pkg",
            "yarn workspace",
            "apt",
            "mix",
            "git reflog",
        ] {
            assert_eq!(leading(line), "", "{line}");
        }
    }

    #[test]
    fn options_that_change_nothing_are_left_out_of_the_plain_form() {
        for (line, expected) in [
            ("git -C . status -s", Some("git status")),
            ("git --no-pager log -3", Some("git log")),
            ("git --no-pager -C ./ log", Some("git log")),
            ("git -C x status", None),
            ("git status", None),
            ("make -C . test", Some("make test")),
            ("go -C . test ./...", Some("go test")),
            ("npm --prefix . run dev", Some("npm run dev")),
            ("make -C .", None),
            ("git -C .", None),
            ("python3 -u a.py", None),
        ] {
            let plain = plain_leading_words(&words(line)).map(|words| words.join(" "));
            assert_eq!(plain.as_deref(), expected, "{line}");
        }
    }
}
