//! Denied names that the user opened by a rule.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use toolgate_model::Access;

use super::walk::Search;

impl Search<'_> {
    /// Whether a name that the user opened lies in this directory.
    pub(super) fn has_lifted_in(&self, directory: &Path) -> bool {
        match self.denied {
            Some(denied) => denied.has_lifted_in(directory),
            None => {
                let directory = directory.as_os_str().as_bytes();
                self.root.is_some() && self.rules.has_lifted_in(self.root, directory)
            }
        }
    }

    /// What the user lifted the built-in denies of a path for.
    pub(super) fn lifted(&self, path: &Path) -> Option<Access> {
        let lifted = |access| match (self.denied, self.root) {
            (Some(denied), _) => denied.is_lifted(path, access),
            (None, Some(root)) => {
                let rel = path.as_os_str().as_bytes();
                self.rules.is_lifted(root, rel, access)
            }
            (None, None) => false,
        };
        let mut all = [Access::Write, Access::Read].into_iter();
        all.find(|access| lifted(*access))
    }
}
