//! Toolgate's own files outside of every root and grant. Commands do not see the places, but a
//! hard link to a file in one of them can lie in a root.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::dir_cache::{DirCache, Inside};
use super::entry::{kind_of, look};
use super::found::Found;
use super::walk::Search;
use crate::command::caller::directory::Directory;
use crate::command::rules::SandboxRules;

/// The closed places, each with what was learned about it.
#[derive(Debug)]
pub(crate) struct OwnFiles(Vec<(PathBuf, Mutex<DirCache>)>);

impl OwnFiles {
    pub(crate) fn of(rules: &SandboxRules) -> Self {
        let closed = rules.paths.own().closed.iter();
        Self(
            closed
                .map(|path| (path.clone(), Mutex::default()))
                .collect(),
        )
    }

    /// Finds the files that are not in one of these directories, where they are found anyway.
    pub(crate) fn find(&self, rules: &SandboxRules, directories: &[Arc<Directory>]) -> Found {
        let mut found = Found::default();
        for (path, cache) in &self.0 {
            let is_in = |directory: &Arc<Directory>| path.starts_with(&directory.path);
            if directories.iter().any(is_in) {
                continue;
            }
            let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
            match find_in(rules, path, &mut cache, &mut found) {
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                // Its files may have other names.
                Err(_) => found.closed_own = true,
            }
        }
        // Nothing of it is shown, so nothing of it can be missed; it is only not known.
        found.closed_own |= found.missed.take().is_some();
        found
    }
}

fn find_in(
    rules: &SandboxRules,
    path: &Path,
    cache: &mut DirCache,
    found: &mut Found,
) -> Result<(), Errno> {
    let stat = look(CWD, path, AtFlags::empty())?;
    if kind_of(&stat) != FileType::Directory {
        found.denied.insert(stat.stx_ino);
        return Ok(());
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let now = SystemTime::now();
    let search = Search {
        denied: None,
        rules: &rules.paths,
        own: Default::default(),
        directory: std::os::fd::AsFd::as_fd(&handle),
        path,
        root: None,
        writable: false,
        layers: false,
        opened: Vec::new(),
        vacant: &[],
        most: rules.scan_entries,
        now,
        since: now,
        after: None,
    };
    cache.begin(search.directory);
    let start = vec![(Vec::new(), Inside::Denied)];
    search.walk(start, cache, &mut search.most.clone(), found);
    cache.end();
    Ok(())
}
