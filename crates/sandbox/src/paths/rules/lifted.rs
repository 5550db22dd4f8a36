//! Default denies that the user lifts by naming a path in a rule.
//!
//! A name lifts what the built-in patterns say about that very path, and about what lies
//! beneath it as far as only the name itself is denied: `fixtures/secrets` opens the files in
//! it, and not a `.env` among them. Patterns of the configuration are never lifted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use toolgate_model::Access;

use super::guard::folded;
use super::patterns::{Patterns, Scope};
use crate::paths::PathSandbox;
use crate::paths::resolve::missing::join;
use crate::paths::resolve::request::Request;
use crate::paths::resolve::roots::Roots;

/// A path that a trusted rule of the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiftedPath {
    /// Relative to the working directory, or absolute.
    pub path: std::path::PathBuf,
    /// Whether the rule is about writing, which opens it for reading too.
    pub writes: bool,
}

#[derive(Clone, Debug)]
struct Name {
    /// The number of the root; none for a path beyond them.
    root: Option<usize>,
    /// From the root, or absolute.
    path: Vec<u8>,
    writes: bool,
}

/// The names, and the patterns that they do not lift.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifted {
    names: Vec<Name>,
    configured: Patterns,
}

impl Lifted {
    pub(crate) fn new(paths: &[LiftedPath], roots: &Roots, configured: Patterns) -> Self {
        let name = |lifted: &LiftedPath| {
            let writes = lifted.writes;
            match Request::parse(roots, true, &lifted.path) {
                Ok(request) => Some(Name {
                    root: Some(request.root),
                    path: request.rel.into_owned(),
                    writes,
                }),
                Err(_) if lifted.path.is_absolute() => Some(Name {
                    root: None,
                    path: lifted.path.as_os_str().as_bytes().to_vec(),
                    writes,
                }),
                Err(_) => None,
            }
        };
        Self {
            names: paths.iter().filter_map(name).collect(),
            configured,
        }
    }

    /// Whether a deny that comes from the built-in list is lifted for this path of a root, or
    /// of the machine.
    fn lifts(&self, denied: &Patterns, root: Option<usize>, path: &[u8], access: Access) -> bool {
        let names = self.names.iter().filter(|name| name.root == root);
        let mut names = names.filter(|name| name.writes || access == Access::Read);
        names.any(|name| covers(denied, &name.path, path)) && !matches(&self.configured, path)
    }
}

fn matches(patterns: &Patterns, path: &[u8]) -> bool {
    let path = folded(path);
    patterns.find(&path, Scope::Whole).is_some() || patterns.find_file(&path).is_some()
}

fn covers(denied: &Patterns, name: &[u8], path: &[u8]) -> bool {
    match path.strip_prefix(name) {
        Some(b"") => true,
        Some(rest) if rest.starts_with(b"/") => {
            let above = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            let above = name.get(..above).unwrap_or_default();
            let without = join(above, rest.get(1..).unwrap_or_default());
            !matches(denied, &without)
        }
        _ => false,
    }
}

impl PathSandbox {
    /// Whether the user lifted the built-in denies for this path of a root.
    pub(crate) fn is_lifted(&self, root: usize, rel: &[u8], access: Access) -> bool {
        let lifted = &self.inner.lifted;
        !lifted.names.is_empty() && lifted.lifts(&self.inner.denied, Some(root), rel, access)
    }

    /// Whether a name that the user lifted lies in this directory of a root, or of the machine.
    pub(crate) fn has_lifted_in(&self, root: Option<usize>, directory: &[u8]) -> bool {
        let names = self.inner.lifted.names.iter();
        names.filter(|name| name.root == root).any(|name| {
            let rest = name.path.strip_prefix(directory);
            rest.is_some_and(|rest| rest.starts_with(b"/"))
        })
    }

    /// The same for an absolute path beyond the roots.
    pub(crate) fn is_lifted_beyond(&self, path: &Path, access: Access) -> bool {
        let lifted = &self.inner.lifted;
        let path = path.as_os_str().as_bytes();
        !lifted.names.is_empty() && lifted.lifts(&self.inner.denied, None, path, access)
    }

    /// The deny pattern in force against this path of a root, if one is.
    pub fn denies(&self, root: usize, rel: &Path, is_file: bool, access: Access) -> Option<&str> {
        let found = self.denied_by(rel, is_file)?;
        let lifted = self.is_lifted(root, rel.as_os_str().as_bytes(), access);
        (!lifted).then_some(found)
    }

    /// Whether a rule of the user that names this path would open it: no pattern of the
    /// configuration denies it.
    pub(crate) fn can_be_lifted(&self, rel: &[u8]) -> bool {
        !matches(&self.inner.lifted.configured, rel)
    }
}

/// A path of a root from bytes.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
