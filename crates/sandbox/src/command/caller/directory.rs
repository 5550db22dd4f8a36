//! A directory that commands may use: a root or a grant.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::exact::ExactDirectory;
use super::sandbox::bytes;
use crate::command::caller::after::sweep::{Appeared, Tree};
use crate::command::caller::search::dir_cache::DirCache;
use crate::command::caller::search::found::{After, Found, Missed, Why};
use crate::command::caller::search::hard_links::Inodes;
use crate::command::caller::search::link_targets::Step;
use crate::command::caller::search::walk::Search;
use crate::command::error::SandboxError;
use crate::command::inside::mounts::may_be_shown;
use crate::command::rules::{Grant, SandboxRules};
use crate::paths::{DeniedBeneath, Root, RootAccess};

/// A directory, opened.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    handle: OwnedFd,
    pub(crate) writable: bool,
    /// The number of the root, if it is one.
    pub(crate) root: Option<usize>,
    /// The deny patterns beneath it, if it is no root.
    denied: Option<DeniedBeneath>,
    /// Protected paths in it that the user opened.
    pub(crate) opened: Vec<Vec<u8>>,
    /// Its guarded names. Searched once where commands cannot change it: a package
    /// cache is large.
    found: Mutex<Option<Found>>,
    /// Since when commands can have changed it.
    since: SystemTime,
    /// The cache of earlier searches.
    cache: Mutex<DirCache>,
}

impl Directory {
    /// A root by its number.
    pub(crate) fn root(
        rules: &SandboxRules,
        number: usize,
        root: &Root,
    ) -> Result<Self, SandboxError> {
        let working = rules
            .paths
            .roots()
            .get(0)
            .map_or(Path::new("/"), Root::path);
        let opened = rules.opened.iter();
        let opened = opened
            .filter_map(|path| working.join(path).strip_prefix(root.path()).ok().map(bytes))
            .filter(|path| !path.is_empty());
        Ok(Self {
            path: root.path().to_path_buf(),
            handle: rustix::io::fcntl_dupfd_cloexec(root.handle(), 0)?,
            writable: root.access() == RootAccess::ReadWrite,
            root: Some(number),
            denied: None,
            opened: opened.collect(),
            found: Mutex::default(),
            since: SystemTime::now(),
            cache: Mutex::default(),
        })
    }

    /// A grant.
    pub(crate) fn grant(rules: &SandboxRules, grant: &Grant) -> Result<Self, SandboxError> {
        let failed = |errno| SandboxError::Grant {
            path: grant.path.clone(),
            errno,
        };
        let handle = rustix::fs::openat(
            CWD,
            &grant.path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(failed)?;
        let path = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))
            .map_err(|e| failed(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        let writable = grant.access == RootAccess::ReadWrite;
        Self::granted(rules, path, handle, writable)
    }

    /// A directory that an approver opened: the very one that was shown.
    pub(crate) fn exact(
        rules: &SandboxRules,
        exact: &ExactDirectory,
    ) -> Result<Self, SandboxError> {
        let path = exact.path.clone();
        if let Some(rule) = rules.paths.denied_directory(&path) {
            let rule = rule.to_owned();
            return Err(SandboxError::DeniedGrant { path, rule });
        }
        let Ok(handle) = exact.open() else {
            return Err(SandboxError::Exchanged { path });
        };
        let writable = exact.access == RootAccess::ReadWrite;
        Self::granted(rules, path, handle, writable)
    }

    fn granted(
        rules: &SandboxRules,
        path: PathBuf,
        handle: OwnedFd,
        writable: bool,
    ) -> Result<Self, SandboxError> {
        if let Some(place) = rules.paths.own().closed_around(&path) {
            return Err(SandboxError::OwnGrant {
                place: place.to_path_buf(),
                path,
            });
        }
        Ok(Self {
            denied: Some(rules.paths.denied_beneath(&path)),
            path,
            handle,
            writable,
            root: None,
            opened: Vec::new(),
            found: Mutex::default(),
            since: SystemTime::now(),
            cache: Mutex::default(),
        })
    }

    /// Searches a grant that commands cannot change, once for all of them.
    pub(super) fn search_once(&self, rules: &SandboxRules) {
        if self.root.is_none() && !self.writable {
            // Other names of denied files are looked for before each command: files that are
            // denied elsewhere may have names here.
            let found = self.find(rules, &[]);
            *self.known() = Some(found);
        }
    }

    /// Searches again what was searched once: a name in it has moved.
    pub(super) fn search_again(&self, rules: &SandboxRules) {
        if self.known().take().is_some() {
            self.search_once(rules);
        }
    }

    fn known(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its changes can go to a layer: those of grants never do.
    pub(super) fn is_layerable(&self) -> bool {
        self.root.is_some() && self.writable
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Its guarded names now.
    pub(crate) fn find(&self, rules: &SandboxRules, vacant: &[Vec<u8>]) -> Found {
        match self.known().clone() {
            Some(found) => found,
            // It will be refused, and need not be searched for that.
            None if !may_be_shown(self.path.as_os_str().as_encoded_bytes()) => Found::default(),
            None => self.search(rules, vacant, None).run(&mut self.cache()),
        }
    }

    /// Guards other names of denied files.
    pub(super) fn guard_links(&self, rules: &SandboxRules, inodes: &Inodes, found: &mut Found) {
        let search = self.search(rules, &[], None);
        search.guard_links(&mut self.cache(), inodes, found);
    }

    /// Guards the steps in this directory of protected links in other directories.
    pub(super) fn guard_steps(&self, rules: &SandboxRules, steps: &[&Step], found: &mut Found) {
        let search = self.search(rules, &[], None);
        search.guard_steps(&mut self.cache(), steps, found);
    }

    /// Moves aside what appeared since these were found.
    pub(crate) fn sweep(
        &self,
        rules: &SandboxRules,
        before: &Found,
        vacant: &[Vec<u8>],
    ) -> (Vec<Appeared>, Option<Missed>) {
        let tree = Tree {
            path: &self.path,
            handle: self.handle(),
            how: rules.set_aside,
            root: self.root,
        };
        let names = self.search(rules, vacant, None);
        tree.sweep(
            before,
            |after| {
                let search = self.search(rules, vacant, Some(after));
                search.run(&mut self.cache())
            },
            &names,
        )
    }

    /// The rule that guards a path, whatever is there now.
    pub(super) fn judge(
        &self,
        rules: &SandboxRules,
        path: &[u8],
        is_directory: bool,
    ) -> Option<Why> {
        self.search(rules, &[], None).judge(path, is_directory)
    }

    fn search<'a>(
        &'a self,
        rules: &'a SandboxRules,
        vacant: &'a [Vec<u8>],
        after: Option<After<'a>>,
    ) -> Search<'a> {
        Search {
            rules: &rules.paths,
            denied: self.denied.as_ref(),
            own: rules.paths.own().beneath(&self.path),
            directory: self.handle(),
            path: &self.path,
            root: self.root,
            writable: self.writable,
            opened: self.opened.clone(),
            vacant,
            most: rules.scan_entries,
            now: SystemTime::now(),
            since: self.since,
            layers: !rules.layers.is_empty() && self.root.is_some() && self.writable,
            after,
        }
    }

    /// The cache. One search at a time.
    fn cache(&self) -> MutexGuard<'_, DirCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
