//! Names of files for the input: one directory is read, however large the workspace is.

use std::path::{Component, Path};

/// The most entries of a directory that are looked at.
const MOST: usize = 50_000;
/// The most names that are offered.
const OFFERED: usize = 200;

/// The paths in the workspace that begin so, sorted; a directory ends with `/`. Names that begin
/// with a dot are offered where one was typed.
pub(super) fn beginning_with(workspace: &Path, typed: &str) -> Vec<String> {
    let (directory, begin) = match typed.rsplit_once('/') {
        Some((directory, begin)) => (format!("{directory}/"), begin),
        None => (String::new(), typed),
    };
    let is_inside = Path::new(&directory)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside {
        return Vec::new();
    }
    let entries = std::fs::read_dir(workspace.join(&directory));
    let entries = entries.into_iter().flatten().flatten().take(MOST);
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_wanted =
                name.starts_with(begin) && (begin.starts_with('.') || !name.starts_with('.'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            is_wanted.then(|| format!("{directory}{name}{slash}"))
        })
        .collect();
    names.sort();
    names.truncate(OFFERED);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_beneath_the_workspace_alone() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("src/deep")).unwrap();
        for name in ["src/main.rs", "src/mail.rs", ".env", "stop"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        for (typed, found) in [
            ("s", vec!["src/", "stop"]),
            ("src/ma", vec!["src/mail.rs", "src/main.rs"]),
            ("src/d", vec!["src/deep/"]),
            (".", vec![".env"]),
            ("../", vec![]),
            ("/", vec![]),
            ("no/", vec![]),
        ] {
            assert_eq!(beginning_with(place.path(), typed), found, "{typed}");
        }
    }
}
