//! Paths as facts and messages name them.

use std::path::Path;

use toolgate_gate::tool::Hidden;
use toolgate_model::ToolError;
use toolgate_model::characters::seen;
use toolgate_sandbox::paths::{BadPath, PathError};

/// A path as facts say it: forward slashes, no `.`, nothing doubled.
///
/// `..` stays, so that policy and the sandbox see it; an empty path stays empty,
/// because it is no name for the working directory.
pub(crate) fn fact_path(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) if !path.is_empty() => ".".to_owned(),
        (false, _) => joined,
    }
}

/// Whether a path can be a file's: one that ends like a directory's would be taken for another
/// name than was written.
pub(crate) fn names_a_file(path: &str) -> Result<(), ToolError> {
    match path.rsplit('/').next() {
        Some("" | ".") if !path.is_empty() => Err(ToolError::bad_args(format!(
            "`{}` names a directory; a file name is needed",
            one_line(path)
        ))),
        _ => Ok(()),
    }
}

/// What is said where a search left directories out because they lie too deep.
pub(crate) const TOO_DEEP: &str =
    "\n[some directories lie too deep and were left out; search in a directory further down]";

/// What is said where some files could not be searched to their end.
pub(crate) fn unsearched(files: usize) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    format!(
        "\n[{files} {noun} could not be searched to the end: not readable, or a line is too long]"
    )
}

/// What is said where rules left out some of what a search came across.
pub(crate) const LEFT_OUT: &str = "\n[some of what is here was left out: rules do not let it be \
    read like this; ask for a file by its path to be told which rule]";

/// The key under which a result says how much rules left out.
pub(crate) const LEFT_OUT_COUNT: &str = "left_out_by_rules";

/// Whether rules hide this from a call that came across it.
pub(crate) fn is_hidden(hidden: Option<&Hidden<'_>>, path: &Path) -> bool {
    hidden.is_some_and(|hidden| hidden.hides(&path.to_string_lossy()))
}

/// Whether a directory was left out because of how deep it lies.
pub(crate) fn is_too_deep(error: &PathError) -> bool {
    let too_deep = BadPath::TooDeep;
    matches!(error, PathError::Bad { why, .. } if *why == too_deep)
}

/// What relative paths start from, as an argument names it.
pub(crate) fn working_directory() -> String {
    ".".to_owned()
}

/// A path for a line of output: lossily if it is not UTF-8, and never more than one line.
pub(crate) fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Text with what would not be seen written out.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        out.push_str(text);
        return out;
    }
    out.extend(text.chars().flat_map(seen));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_name_one_place_in_one_way() {
        for (path, fact) in [
            ("a", "a"),
            ("./a//b/./c/", "a/b/c"),
            (".", "."),
            ("./", "."),
            ("", ""),
            ("../x", "../x"),
            ("a/../b", "a/../b"),
            ("/", "/"),
            ("//etc//passwd", "/etc/passwd"),
        ] {
            assert_eq!(fact_path(path), fact, "{path}");
        }
    }

    #[test]
    fn a_name_cannot_forge_a_second_line() {
        assert_eq!(
            shown(Path::new("a\nb:1: x\u{1b}[2J\u{202e}")),
            "a\\nb:1: x\\u{1b}[2J\\u{202e}"
        );
    }
}
