//! The settings of the user's git that commands may have: who makes commits, and how files and
//! histories are written. None of them runs or contacts anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::parse::{Setting, settings};
use super::read_bounded;

/// Names a file of patterns.
const EXCLUDES: (&str, &str) = ("core", "excludesfile");
/// How many files deep plain includes are followed.
const MOST_DEEP: usize = 4;
/// The longest value.
const MOST_LENGTH: usize = 200;

/// The keys that are taken, by section.
const KEYS: &[(&str, &[&str])] = &[
    ("branch", &["sort"]),
    ("commit", &["cleanup", "status", "verbose"]),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "eol",
            "quotepath",
            "safecrlf",
            "whitespace",
        ],
    ),
    (
        "diff",
        &[
            "algorithm",
            "context",
            "mnemonicprefix",
            "noprefix",
            "renames",
        ],
    ),
    ("fetch", &["prune"]),
    ("init", &["defaultbranch"]),
    ("log", &["date", "decorate"]),
    ("merge", &["conflictstyle", "ff"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["default"]),
    ("rebase", &["autosquash", "autostash"]),
    ("rerere", &["enabled"]),
    ("status", &["short", "showuntrackedfiles"]),
    ("tag", &["sort"]),
    ("user", &["email", "name", "useconfigonly"]),
];

/// What git finds in the home directory of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFiles {
    /// Settings, as a configuration file of git.
    pub settings: String,
    /// Patterns of files that are part of no project, as the user listed them.
    pub ignored: String,
}

/// The harmless settings of the user whose home directory this is, as a configuration file of git.
/// `config` is the directory for configuration, usually `~/.config`.
///
/// Plain includes are followed, conditions are not evaluated. Aliases, helpers, hooks, pagers, programs
/// and addresses are left out, and a value that is anything but plain text.
pub fn git_files(home: &Path, config: &Path) -> GitFiles {
    let mut found = BTreeMap::new();
    for file in [config.join("git/config"), home.join(".gitconfig")] {
        read(&file, home, 0, &mut found);
    }
    let mut settings = String::new();
    let ignored = found.remove(&EXCLUDES);
    for ((section, key), value) in found {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        settings.push_str(&format!("[{section}]\n\t{key} = \"{value}\"\n"));
    }
    let ignored = match ignored {
        Some(path) => beneath(&path, home, home),
        None => config.join("git/ignore"),
    };
    GitFiles {
        settings,
        ignored: read_bounded(&ignored)
            .filter(|text| !text.contains('\0'))
            .unwrap_or_default(),
    }
}

type Found = BTreeMap<(&'static str, &'static str), String>;

fn read(file: &Path, home: &Path, deep: usize, found: &mut Found) {
    let Some(text) = read_bounded(file).filter(|_| deep <= MOST_DEEP) else {
        return;
    };
    for setting in settings(&text).into_iter().filter(|setting| setting.plain) {
        if setting.is("include", "path") {
            let path = beneath(&setting.value, home, file.parent().unwrap_or(home));
            read(&path, home, deep + 1, found);
        } else if setting.is(EXCLUDES.0, EXCLUDES.1) {
            found.insert(EXCLUDES, setting.value);
        } else if let Some(known) = known(&setting) {
            found.insert(known, setting.value);
        }
    }
}

/// A path of a configuration.
fn beneath(path: &str, home: &Path, directory: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => directory.join(path),
    }
}

fn known(setting: &Setting) -> Option<(&'static str, &'static str)> {
    let (section, keys) = KEYS.iter().find(|(name, _)| *name == setting.section)?;
    let key = keys.iter().find(|key| **key == setting.key)?;
    let value = &setting.value;
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_./,:+= %".contains(c);
    let is_plain = match *section {
        "user" => !value.chars().any(char::is_control),
        _ => value.chars().all(is_word),
    };
    (is_plain && !value.is_empty() && value.len() <= MOST_LENGTH).then_some((*section, *key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identity_and_harmless_keys_are_taken() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path();
        std::fs::create_dir_all(home.join(".config/git")).expect("made");
        let write =
            |name: &str, text: &str| std::fs::write(home.join(name), text).expect("written");
        write(
            ".config/git/config",
            "[user]\n name = Old\n email = me@example.org\n",
        );
        write(
            "more",
            "[init]\n defaultBranch = trunk\n[core]\n pager = less; touch /tmp/x\n",
        );
        write("work", "[user]\n name = Work\n");
        write(
            ".gitconfig",
            concat!(
                "[user]\n name = \"Ann \\\"A\\\" B\" ; a comment\n signingkey = AB\n",
                "[user \"x\"]\n email = other@example.org\n",
                "[include]\n path = ~/more\n[includeIf \"gitdir:~/w/\"]\n path = work\n",
                "[alias]\n st = !sh\n[credential]\n helper = store\n",
                "[core]\n autocrlf = input\n hooksPath = /h\n sshCommand = x\n fsmonitor = x\n editor = x\n",
                "[commit]\n gpgsign = true\n[pull]\n rebase = $(x)\n[url \"x\"]\n insteadOf = y\n",
            ),
        );
        write(".config/git/ignore", "*.swp\n");
        let files = git_files(home, &home.join(".config"));
        assert_eq!(files.ignored, "*.swp\n");
        assert_eq!(
            files.settings,
            concat!(
                "[core]\n\tautocrlf = \"input\"\n[init]\n\tdefaultbranch = \"trunk\"\n",
                "[user]\n\temail = \"me@example.org\"\n[user]\n\tname = \"Ann \\\"A\\\" B\"\n",
            )
        );
    }
}
