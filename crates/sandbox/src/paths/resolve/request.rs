//! The text of a path, taken apart without looking at any disk.

use std::borrow::Cow;
use std::path::Path;

use std::os::unix::ffi::OsStrExt;

use super::roots::Roots;
use crate::paths::error::{BadPath, Escape, PathError};
use crate::paths::message::shown;
use crate::paths::rules::fold::Folded;

const LONGEST_PATH: usize = 4095;
const LONGEST_NAME: usize = 255;

/// A path that was asked for, split and folded.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The text as it came.
    pub(crate) raw: &'a [u8],
    /// The root it is looked up in.
    pub(crate) root: usize,
    /// Its components, without empty ones and `.`.
    pub(crate) parts: Vec<&'a [u8]>,
    /// The components joined again; empty for the root itself.
    pub(crate) rel: Cow<'a, [u8]>,
    /// The components as rules look at them.
    pub(crate) folded: Folded<'a>,
    /// Whether it ends like a directory (`x/`, `x/.`, `.`).
    pub(crate) names_directory: bool,
}

impl<'a> Request<'a> {
    /// Takes the text apart.
    pub(crate) fn parse(
        roots: &Roots,
        allow_absolute: bool,
        path: &'a Path,
    ) -> Result<Self, PathError> {
        let raw = path.as_os_str().as_bytes();
        check_bytes(raw)?;
        let mut parts: Vec<&[u8]> = Vec::with_capacity(8);
        let mut clean = true;
        let mut names_directory = true;
        for part in raw.split(|b| *b == b'/') {
            names_directory = matches!(part, b"" | b".");
            if names_directory {
                clean = false;
                continue;
            }
            if part == b".." {
                return Err(outside(raw, Escape::DotDot));
            }
            parts.push(part);
        }
        let mut root = 0;
        if raw.starts_with(b"/") {
            let (found, length) = absolute(roots, allow_absolute, raw, &parts)?;
            root = found;
            parts.drain(..length);
        }
        let rel = if clean {
            Cow::Borrowed(raw)
        } else {
            Cow::Owned(parts.join(&b'/'))
        };
        Ok(Self {
            raw,
            root,
            folded: Folded::of(&parts),
            rel,
            parts,
            names_directory,
        })
    }

    /// The path in a message.
    pub(crate) fn shown(&self) -> String {
        shown(self.raw)
    }
}

/// Whether a text can be a path at all, whatever is on the disk.
pub fn check_text(path: impl AsRef<Path>) -> Result<(), PathError> {
    check_bytes(path.as_ref().as_os_str().as_bytes())
}

fn check_bytes(raw: &[u8]) -> Result<(), PathError> {
    let too_long = |part: &[u8]| part.len() > LONGEST_NAME;
    let why = if raw.is_empty() {
        BadPath::Empty
    } else if raw.contains(&0) {
        BadPath::Nul
    } else if raw.len() > LONGEST_PATH || raw.split(|b| *b == b'/').any(too_long) {
        BadPath::TooLong
    } else {
        return Ok(());
    };
    Err(PathError::Bad {
        path: shown(raw),
        why,
    })
}

fn absolute(
    roots: &Roots,
    allowed: bool,
    raw: &[u8],
    parts: &[&[u8]],
) -> Result<(usize, usize), PathError> {
    if let Some(found) = roots.containing(parts).or_else(|| roots.reached_by(parts)) {
        return Ok(found);
    }
    Err(outside(
        raw,
        if allowed {
            Escape::NoRoot
        } else {
            Escape::Absolute
        },
    ))
}

fn outside(raw: &[u8], how: Escape) -> PathError {
    PathError::Outside {
        path: shown(raw),
        how,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_path_unless_it_is_empty_too_long_or_has_a_nul() {
        let long = "n".repeat(LONGEST_NAME);
        let deep = "n/".repeat(LONGEST_PATH / 2);
        for (path, why) in [
            ("a", None),
            ("../a b", None),
            (long.as_str(), None),
            (deep.as_str(), None),
            (&format!("{long}/{long}"), None),
            ("", Some(BadPath::Empty)),
            ("a\0b", Some(BadPath::Nul)),
            (&format!("{long}n"), Some(BadPath::TooLong)),
            (&format!("a/{long}n/b"), Some(BadPath::TooLong)),
            (&format!("{deep}n"), None),
            (&format!("{deep}nn"), Some(BadPath::TooLong)),
        ] {
            let found = match check_text(path) {
                Ok(()) => None,
                Err(PathError::Bad { why, .. }) => Some(why),
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(found, why, "{}", path.len());
        }
    }
}
