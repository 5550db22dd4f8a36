//! The guarded paths that git makes for a new repository, by the words of the command.

use std::path::{Path, PathBuf};

use super::{GitCall, lexical};

/// The subcommands that make or remove repositories and their worktrees.
pub(super) const MAKES: [&str; 4] = ["clone", "init", "submodule", "worktree"];

/// Options whose next word is their value.
const VALUES: &[&str] = &[
    "-B",
    "-b",
    "-c",
    "-j",
    "-o",
    "-u",
    "--branch",
    "--bundle-uri",
    "--config",
    "--depth",
    "--filter",
    "--initial-branch",
    "--jobs",
    "--name",
    "--object-format",
    "--origin",
    "--reason",
    "--ref-format",
    "--reference",
    "--reference-if-able",
    "--separate-git-dir",
    "--server-option",
    "--shallow-exclude",
    "--shallow-since",
    "--template",
    "--upload-pack",
];

/// What the command makes that a repository obeys.
pub(super) fn by(call: &GitCall) -> Vec<PathBuf> {
    if call.is_unknown() {
        return Vec::new();
    }
    let at = |path: &str| lexical(&call.directory.join(path));
    let words = operands(call.words.get(1..).unwrap_or_default());
    let repository = |path: &str| vec![at(path).join(".git")];
    if bare(call).is_some() {
        return Vec::new();
    }
    match (call.subcommand(), words.as_slice()) {
        ("init", []) if !at(".git").exists() => repository("."),
        ("init", [path, ..]) if !at(path).join(".git").exists() => repository(path),
        ("clone", [from]) => repository(&name_of(from)),
        ("clone", [_, path, ..]) => repository(path),
        ("worktree", ["add", path, ..]) => {
            let mut made = repository(path);
            let name = Path::new(path).file_name().unwrap_or_default();
            let top = top(call).unwrap_or_else(|| call.directory.clone());
            let own = top.join(".git/worktrees").join(name);
            made.extend(["gitdir", "commondir"].map(|file| own.join(file)));
            made
        }
        ("worktree", ["remove" | "move" | "repair", path, ..]) => repository(path),
        (
            "submodule",
            [
                "add" | "update" | "init" | "deinit" | "sync" | "set-url",
                ..,
            ],
        ) => {
            let top = top(call).unwrap_or_else(|| call.directory.clone());
            vec![top.join(".gitmodules"), top.join(".git/config")]
        }
        _ => Vec::new(),
    }
}

/// The working tree that a command makes and fills.
pub(super) fn tree(call: &GitCall) -> Option<PathBuf> {
    let words = operands(call.words.get(1..).unwrap_or_default());
    let name = match (call.subcommand(), words.as_slice()) {
        ("clone", [from]) => name_of(from),
        ("clone", [_, path, ..]) | ("worktree", ["add", path, ..]) => (*path).to_owned(),
        _ => return None,
    };
    Some(lexical(&call.directory.join(name)))
}

/// The repository without a working tree that the command makes.
pub(super) fn bare(call: &GitCall) -> Option<PathBuf> {
    if call.is_unknown() {
        return None;
    }
    let options = call.words.iter();
    let mut options = options
        .map(String::as_str)
        .filter(|word| word.starts_with("--"));
    options.find(|word| ["--bare", "--mirror"].contains(word))?;
    let words = operands(call.words.get(1..).unwrap_or_default());
    let name = match (call.subcommand(), words.as_slice()) {
        ("init", []) => ".".to_owned(),
        ("init", [path, ..]) | ("clone", [_, path, ..]) => (*path).to_owned(),
        ("clone", [from]) => format!("{}.git", name_of(from)),
        _ => return None,
    };
    let path = lexical(&call.directory.join(name));
    (!path.join("HEAD").exists()).then_some(path)
}

/// The directory of the repository.
fn top(call: &GitCall) -> Option<PathBuf> {
    let mut above = call.directory.ancestors();
    above
        .find(|top| top.join(".git").is_dir())
        .map(Path::to_path_buf)
}

fn operands(words: &[String]) -> Vec<&str> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => {
                operands.extend(words.by_ref().map(String::as_str));
            }
            option if VALUES.contains(&option) => drop(words.next()),
            option if option.starts_with('-') && option.len() > 1 => {}
            operand => operands.push(operand),
        }
    }
    operands
}

/// The name that `git clone` gives to the directory.
fn name_of(from: &str) -> String {
    let from = from.trim_end_matches('/');
    let from = from.strip_suffix("/.git").unwrap_or(from);
    let name = from.rsplit(['/', ':']).next().unwrap_or_default();
    let name = name.strip_suffix(".bundle").unwrap_or(name);
    name.strip_suffix(".git").unwrap_or(name).to_owned()
}
