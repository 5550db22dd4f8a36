//! Opening a file, and what to say when that fails.

use toolgate_gate::tool::{RunCtx, path_error};
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::paths::{FileKind, PathError, ReadHandle};

use crate::place::fact_path;

/// How many names of a directory an error shows.
const NAMES_SHOWN: usize = 20;

/// Opens a file through the sandbox.
pub(super) fn open(path: &str, cx: &RunCtx) -> Result<ReadHandle, ToolError> {
    cx.sandbox().open_read(path).map_err(|error| match &error {
        PathError::NotFound { .. } => {
            ToolError::new(ErrorKind::NotFound, format!("File not found: {error}"))
        }
        PathError::NotAFile {
            kind: FileKind::Directory,
            ..
        } => directory(path, cx, &error),
        _ => path_error(&error),
    })
}

/// A directory that was taken for a file, with what is in it.
fn directory(path: &str, cx: &RunCtx, error: &PathError) -> ToolError {
    let name = fact_path(path);
    let Ok(entries) = cx.sandbox().read_dir(path) else {
        return path_error(error);
    };
    let names: Vec<String> = entries
        .iter()
        .take(NAMES_SHOWN)
        .map(|entry| {
            let name = crate::place::one_line(&entry.name.to_string_lossy());
            let slash = if entry.kind == FileKind::Directory {
                "/"
            } else {
                ""
            };
            format!("`{name}{slash}`")
        })
        .collect();
    let more = entries.len().saturating_sub(names.len());
    let inside = match (names.is_empty(), more) {
        (true, _) => "It is empty.".to_owned(),
        (false, 0) => format!("In it: {}.", names.join(", ")),
        (false, more) => format!("In it: {} and {more} more.", names.join(", ")),
    };
    ToolError::new(
        error.kind(),
        format!(
            "`{name}` is a directory, not a file. {inside} Read one of its files, or list it with list_directory."
        ),
    )
}
