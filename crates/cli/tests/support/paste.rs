//! Pastes what a hint tells to paste.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

/// The configuration that a hint tells to paste: a rule, or a line under `[tools.sandbox]`.
fn told(hint: &str) -> Option<String> {
    if let Some(rule) = hint.find("[[tools.rules]]").and_then(|at| hint.get(at..)) {
        return Some(rule.trim_end().trim_end_matches('.').to_owned() + "\n");
    }
    let end = hint.find(" under [tools.sandbox]")?;
    let line = hint.get(..end)?;
    Some(line.get(line.rfind(": ")? + 2..)?.to_owned())
}

/// A configuration with what a hint tells to paste; none if it tells nothing, or if a key would stand
/// twice. A line goes under the heading. Only a hint that says so takes the place of the line that has
/// its key.
pub(crate) fn pasted(configuration: &str, hint: &str) -> Option<String> {
    let told = told(hint)?;
    if told.starts_with("[[") {
        return Some(format!("{configuration}{told}"));
    }
    let key = told.split(" = ").next()?;
    let has_key = |line: &str| line.starts_with(&format!("{key} = "));
    let replaces = hint.contains(&format!(", in place of its line for {key}"));
    if replaces != configuration.lines().any(has_key) {
        return None;
    }
    let kept = configuration.lines().filter(|line| !has_key(line));
    let mut lines: Vec<&str> = kept.collect();
    match lines.iter().position(|line| *line == "[tools.sandbox]") {
        Some(at) => lines.insert(at + 1, &told),
        None => lines.extend(["[tools.sandbox]", &told]),
    }
    Some(lines.join("\n") + "\n")
}

/// Writes the file for the owner of its directory.
pub(crate) fn write(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
    let owner = file.parent().unwrap().metadata().unwrap().uid();
    chown(file, Some(owner), Some(owner)).unwrap();
}
