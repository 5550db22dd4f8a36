//! Subcommands of git that show something, with the options that do no more.

use super::is_number;

/// Options of git that come before the subcommand and change nothing.
const GIT_NEUTRAL: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];

/// Options about how differences are shown.
const DIFF: &[&str] = &[
    "--abbrev",
    "--cached",
    "--check",
    "--color",
    "--compact-summary",
    "--diff-filter",
    "--dirstat",
    "--exit-code",
    "--function-context",
    "--ignore-all-space",
    "--ignore-space-change",
    "--merge-base",
    "--minimal",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-ext-diff",
    "--no-renames",
    "--no-textconv",
    "--numstat",
    "--patch",
    "--quiet",
    "--shortstat",
    "--staged",
    "--stat",
    "--summary",
    "--unified",
    "--word-diff",
    "-C",
    "-M",
    "-R",
    "-U",
    "-W",
    "-b",
    "-p",
    "-s",
    "-u",
    "-w",
    "-z",
];

/// Options about which commits are shown.
const LOG: &[&str] = &[
    "--abbrev-commit",
    "--after",
    "--all",
    "--author",
    "--before",
    "--branches",
    "--date",
    "--decorate",
    "--first-parent",
    "--follow",
    "--format",
    "--graph",
    "--grep",
    "--max-count",
    "--merges",
    "--no-decorate",
    "--no-merges",
    "--no-patch",
    "--oneline",
    "--pretty",
    "--remotes",
    "--reverse",
    "--since",
    "--skip",
    "--tags",
    "--until",
    "-G",
    "-S",
    "-i",
    "-n",
];

/// Subcommands of git with their options.
const GIT: &[(&str, &[&str])] = &[
    (
        "blame",
        &[
            "--date",
            "--line-porcelain",
            "--porcelain",
            "--since",
            "-C",
            "-L",
            "-M",
            "-e",
            "-l",
            "-p",
            "-s",
            "-w",
        ],
    ),
    (
        "branch",
        &[
            "--all",
            "--list",
            "--no-color",
            "--remotes",
            "--show-current",
            "--verbose",
            "-a",
            "-r",
            "-v",
            "-vv",
        ],
    ),
    (
        "describe",
        &["--abbrev", "--all", "--always", "--long", "--tags"],
    ),
    ("diff", DIFF),
    (
        "grep",
        &[
            "--count",
            "--extended-regexp",
            "--files-with-matches",
            "--fixed-strings",
            "--ignore-case",
            "--line-number",
            "--name-only",
            "--word-regexp",
            "-A",
            "-B",
            "-C",
            "-E",
            "-F",
            "-P",
            "-c",
            "-e",
            "-i",
            "-l",
            "-n",
            "-w",
        ],
    ),
    ("log", LOG),
    (
        "ls-files",
        &[
            "--cached",
            "--deleted",
            "--exclude-standard",
            "--modified",
            "--others",
            "-c",
            "-d",
            "-m",
            "-o",
            "-z",
        ],
    ),
    ("merge-base", &["--is-ancestor"]),
    ("remote", &["--verbose", "-v"]),
    (
        "rev-parse",
        &[
            "--abbrev-ref",
            "--git-dir",
            "--is-inside-work-tree",
            "--short",
            "--show-prefix",
            "--show-toplevel",
            "--verify",
        ],
    ),
    (
        "shortlog",
        &[
            "--email",
            "--numbered",
            "--summary",
            "-e",
            "-n",
            "-s",
            "-sn",
            "-sne",
        ],
    ),
    ("show", LOG),
    ("stash", &[]),
    (
        "status",
        &[
            "--ahead-behind",
            "--branch",
            "--ignored",
            "--long",
            "--porcelain",
            "--short",
            "--show-stash",
            "--untracked-files",
            "--verbose",
            "-b",
            "-s",
            "-sb",
            "-u",
            "-v",
            "-z",
        ],
    ),
    ("tag", &["--list", "--sort", "-l"]),
    ("worktree", &[]),
];

/// A subcommand of git that shows something, with options that are known.
pub(super) fn git(words: &[&str]) -> bool {
    let neutral = |word: &&&str| GIT_NEUTRAL.contains(*word);
    let skipped = words.iter().take_while(neutral).count();
    let Some((&name, rest)) = words.get(skipped..).and_then(<[&str]>::split_first) else {
        return false;
    };
    let Some((_, options)) = GIT.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    let dashes = rest.iter().position(|word| *word == "--");
    let before = rest.get(..dashes.unwrap_or(rest.len())).unwrap_or_default();
    let known = |word: &&&str| {
        let shows_commits = matches!(name, "log" | "show");
        options.iter().any(|option| is_option(word, option))
            || (shows_commits && DIFF.iter().any(|option| is_option(word, option)))
            || (shows_commits && is_number(word.trim_start_matches('-')))
    };
    // A signature is shown by a program of the configuration.
    let signs = |word: &&str| word.contains("%G");
    let (flags, operands): (Vec<&&str>, Vec<&&str>) =
        before.iter().partition(|word| word.starts_with('-'));
    if !flags.iter().all(known) || before.iter().any(signs) {
        return false;
    }
    match name {
        "branch" | "remote" => operands.is_empty() && dashes.is_none(),
        "tag" => operands.is_empty() || flags.iter().any(|flag| ["-l", "--list"].contains(*flag)),
        "stash" | "worktree" => rest == ["list"],
        // Behind the pattern would stand a commit, whose files are not those of the workspace.
        "grep" => operands.len() <= 1,
        "rev-parse" => operands.iter().all(|operand| !operand.contains(':')),
        _ => true,
    }
}

/// Whether a word is this option, alone or with its value.
fn is_option(word: &str, option: &str) -> bool {
    match word.strip_prefix(option) {
        Some("") => true,
        Some(value) if option.starts_with("--") => value.starts_with('='),
        Some(value) => match option {
            "-U" | "-n" | "-L" | "-A" | "-B" => value
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b','),
            "-C" | "-M" => value
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'%'),
            "-S" | "-G" => true,
            _ => false,
        },
        None => false,
    }
}
