//! The error for a missing path: the last directory that exists, and similar names.

use toolgate_model::Access;
use toolgate_model::nearest::distance;

use super::request::Request;
use crate::paths::PathSandbox;
use crate::paths::error::{FileKind, PathError};
use crate::paths::message::shown;
use crate::paths::read::directory;
use crate::paths::read::stat::FileStat;
use crate::paths::resolve::{Found, Want};
use crate::paths::rules::guard::folded;
use crate::paths::rules::patterns::Scope;

/// Names that are offered.
const OFFERED: usize = 3;
/// Names that are looked at; a message is not worth more.
const LOOKED_AT: usize = 5_000;

impl PathSandbox {
    /// The error for a path that does not exist. It never offers a denied name, and
    /// names no directory that a request could not reach.
    pub(crate) fn missing(&self, request: &Request<'_>) -> PathError {
        // Whether there is a file of a denied name is not said.
        if let Some(pattern) = self.inner.denied.find_data_file(&request.folded)
            && !self.is_lifted(request.root, &request.rel, Access::Read)
        {
            let name = (request.root, &*request.rel);
            return self.denied(request.raw, None, name, pattern, Access::Read);
        }
        let not_found = |directory: String, nearest| PathError::NotFound {
            path: request.shown(),
            directory,
            nearest,
        };
        for length in (0..request.parts.len()).rev() {
            let parts = request.parts.get(..length).unwrap_or_default();
            let rel = parts.join(&b'/');
            let Ok(found) = self.look_up(request.root, &rel, Want::List) else {
                continue;
            };
            let name = found.moved_to.as_deref().unwrap_or(&rel);
            let path = folded(name);
            let denied = self.inner.denied.find(&path, Scope::Whole).is_some();
            if self.is_closed(found.root, &path)
                || (denied && !self.is_lifted(found.root, name, Access::Read))
            {
                break;
            }
            let wanted = request.parts.get(length).copied().unwrap_or_default();
            let nearest = self.near(&found, name, wanted);
            let directory = if request.root == 0 {
                shown(&rel)
            } else {
                self.name_bytes(request.root, &rel)
            };
            return not_found(directory, nearest);
        }
        not_found(String::new(), Vec::new())
    }

    fn near(&self, directory: &Found, rel: &[u8], wanted: &[u8]) -> Vec<String> {
        let wanted = String::from_utf8_lossy(wanted);
        let furthest = |name: &str| (wanted.chars().count().max(name.chars().count()) / 2).max(1);
        let names =
            directory::names(&directory.fd, LOOKED_AT).unwrap_or_else(|unread| unread.before);
        let mut near: Vec<(usize, String)> = names
            .into_iter()
            .filter_map(|entry| {
                let name = String::from_utf8(entry.name).ok()?;
                let far = distance(&wanted, &name);
                (far <= furthest(&name)).then_some((far, name))
            })
            .collect();
        near.sort();
        near.into_iter()
            .map(|(_, name)| name)
            .filter(|name| !self.is_denied_name(directory.root, &join(rel, name.as_bytes())))
            .take(OFFERED)
            .map(|name| shown(name.as_bytes()))
            .collect()
    }

    fn is_denied_name(&self, root: usize, rel: &[u8]) -> bool {
        let folded = folded(rel);
        let denied = &self.inner.denied;
        let is_denied =
            denied.find(&folded, Scope::Whole).is_some() || denied.find_file(&folded).is_some();
        self.is_closed(root, &folded) || (is_denied && !self.is_lifted(root, rel, Access::Read))
    }

    /// The shortest beginning of a path that exists and is no directory.
    pub(crate) fn first_that_is_no_directory(&self, request: &Request<'_>) -> String {
        for length in 1..=request.parts.len() {
            let rel = request.parts.get(..length).unwrap_or_default().join(&b'/');
            let kind = self
                .look_up(request.root, &rel, Want::Look)
                .ok()
                .and_then(|found| rustix::fs::fstat(&found.fd).ok())
                .map(|stat| FileStat::of(&stat).kind);
            if kind.is_some_and(|kind| kind != FileKind::Directory) {
                return shown(&rel);
            }
        }
        request.shown()
    }
}

/// A name in a directory of a root.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        return name.to_vec();
    }
    [directory, b"/", name].concat()
}
