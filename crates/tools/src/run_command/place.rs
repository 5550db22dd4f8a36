//! The directory a command starts in.

use std::path::{Path, PathBuf};

use toolgate_gate::tool::path_error;
use toolgate_model::{ErrorKind, Status, ToolError};
use toolgate_sandbox::paths::{PathError, Resolved, Roots};

/// A directory of one of the roots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The roots, the one it lies in first.
    pub(super) roots: Vec<PathBuf>,
    /// The directory from that root, with forward slashes; empty for the root itself.
    pub(super) relative: String,
    /// The directory.
    pub(super) absolute: PathBuf,
}

impl Place {
    /// The directory that an argument names, by its words alone.
    pub(super) fn of(cwd: Option<&str>, roots: &[PathBuf]) -> Result<Self, ToolError> {
        let cwd = cwd.unwrap_or_default();
        let outside = || {
            ToolError::new(
                ErrorKind::OutsideSandbox,
                format!("cwd {cwd:?} is outside the workspace; name a directory in it"),
            )
        };
        let first = roots.first().cloned().unwrap_or_default();
        let (nth, relative) = if cwd.starts_with('/') {
            let fits = |root: &PathBuf| Path::new(cwd).strip_prefix(root).ok();
            // Of roots within roots the innermost is meant.
            let found = roots
                .iter()
                .enumerate()
                .filter_map(|(nth, root)| Some((nth, fits(root)?)))
                .min_by_key(|(_, rest)| rest.components().count());
            let (nth, rest) = found.ok_or_else(outside)?;
            (nth, rest.to_string_lossy().into_owned())
        } else {
            (0, cwd.to_owned())
        };
        let mut names: Vec<&str> = Vec::new();
        for name in relative.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop().ok_or_else(outside)?),
                name => names.push(name),
            }
        }
        let relative = names.join("/");
        let root = roots.get(nth).unwrap_or(&first).clone();
        let mut ordered = roots.to_vec();
        if nth < ordered.len() {
            ordered.swap(0, nth);
        }
        Ok(Self {
            absolute: if relative.is_empty() {
                root
            } else {
                root.join(&relative)
            },
            relative,
            roots: ordered,
        })
    }

    /// Whether a link leads out of the root, or a rule denies the directory.
    pub(super) fn check(
        &self,
        roots: &Roots,
        preflight: impl FnOnce(&str) -> Result<Resolved, PathError>,
    ) -> Result<(), ToolError> {
        let in_first =
            roots.get(0).map(|root| root.path().to_path_buf()) == self.roots.first().cloned();
        if self.relative.is_empty() || !in_first {
            return Ok(());
        }
        match preflight(&self.relative) {
            Err(error) if error.kind().status() == Status::Denied => Err(path_error(&error)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_named_from_its_root() {
        let roots = [PathBuf::from("/w"), "/w/inner".into(), "/other".into()];
        for (cwd, relative, absolute, root) in [
            (None, "", "/w", "/w"),
            (Some(""), "", "/w", "/w"),
            (Some("."), "", "/w", "/w"),
            (Some("a/./b//"), "a/b", "/w/a/b", "/w"),
            (Some("a/../b"), "b", "/w/b", "/w"),
            (Some("/w"), "", "/w", "/w"),
            (Some("/w/a"), "a", "/w/a", "/w"),
            (Some("/w/inner/x"), "x", "/w/inner/x", "/w/inner"),
            (Some("/other"), "", "/other", "/other"),
        ] {
            let place = Place::of(cwd, &roots).unwrap();
            assert_eq!(place.relative, relative, "{cwd:?}");
            assert_eq!(place.absolute, Path::new(absolute), "{cwd:?}");
            assert_eq!(place.roots[0], Path::new(root), "{cwd:?}");
            assert_eq!(place.roots.len(), 3);
        }
        for cwd in [
            "..",
            "a/../..",
            "/",
            "/wx",
            "/etc",
            "/w/../etc",
            "/w/inner/../../x",
        ] {
            let error = Place::of(Some(cwd), &roots).unwrap_err();
            assert_eq!(error.kind, ErrorKind::OutsideSandbox, "{cwd}");
        }
    }
}
