//! Which folders a command gets, and what in them is guarded.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::init::Kind;
use super::memory::Memory;
use super::message::{BadOrder, Folder, Mask, Order};
use super::mounts::may_be_shown;
use super::placeholders::Held;
use super::rules::{CommandSpec, Grant, Program, WallRules};
use super::search::{Found, Search, is_opened, masks};
use super::wall::{Inner, WallError, bytes};
use crate::paths::RootAccess;

/// What the wall sets itself.
const OWN_VARIABLES: [&[u8]; 3] = [b"HOME", b"TMPDIR", b"PWD"];

/// A grant, opened.
#[derive(Debug)]
pub(super) struct Opened {
    path: PathBuf,
    handle: OwnedFd,
    writable: bool,
    /// What is denied in it. Looked for once, where commands cannot change it: a package
    /// cache is large.
    found: Option<Found>,
    memory: Mutex<Memory>,
}

/// The folders of a wall and the shell that is there.
#[derive(Debug)]
pub(super) struct Layout {
    grants: Vec<Opened>,
    /// What was learned about each root.
    memories: Vec<Mutex<Memory>>,
    /// The protected paths that were opened, by root.
    opened: Vec<Vec<Vec<u8>>>,
    shell: Vec<Vec<u8>>,
}

/// A command on its way to the warden.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    pub(super) order: Order,
    pub(super) folders: Vec<BorrowedFd<'a>>,
    pub(super) held: Held,
    /// What was found in each writable root.
    pub(super) found: Vec<(usize, Found)>,
}

/// All masks, and what was found in each writable root.
type Guards = (Vec<Mask>, Vec<(usize, Found)>);

/// One folder among those of a command.
struct Part<'a> {
    path: &'a Path,
    handle: BorrowedFd<'a>,
    writable: bool,
    root: Option<usize>,
    grant: Option<&'a Opened>,
}

impl Opened {
    fn open(rules: &WallRules, grant: &Grant) -> Result<Self, WallError> {
        let failed = |errno| WallError::Grant {
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
        if let Some(place) = rules.paths.own().closed_around(&path) {
            return Err(WallError::OwnGrant {
                place: place.to_path_buf(),
                path,
            });
        }
        Ok(Self {
            path,
            handle,
            writable: grant.access == RootAccess::ReadWrite,
            found: None,
            memory: Mutex::default(),
        })
    }
}

impl Layout {
    pub(super) fn open(rules: &WallRules) -> Result<Self, WallError> {
        let mut grants = rules
            .grants
            .iter()
            .map(|grant| Opened::open(rules, grant))
            .collect::<Result<Vec<_>, _>>()?;
        for grant in grants.iter_mut().filter(|grant| !grant.writable) {
            let search = Search {
                rules: &rules.paths,
                own: rules.paths.own().beneath(&grant.path),
                folder: grant.handle.as_fd(),
                root: None,
                writable: false,
                opened: Vec::new(),
                vacant: &[],
                most: rules.scan_entries,
                now: SystemTime::now(),
            };
            grant.found = Some(search.run(&mut Memory::default()));
        }
        let roots: Vec<&Path> = rules.paths.roots().iter().map(|root| root.path()).collect();
        let opened = roots
            .iter()
            .map(|root| {
                let working = roots.first().copied().unwrap_or(Path::new("/"));
                rules
                    .opened
                    .iter()
                    .filter_map(|path| working.join(path).strip_prefix(root).ok().map(bytes))
                    .filter(|path| !path.is_empty())
                    .collect()
            })
            .collect();
        Ok(Self {
            grants,
            memories: roots.iter().map(|_| Mutex::default()).collect(),
            opened,
            shell: shell(),
        })
    }

    /// The opened paths of a root.
    pub(super) fn opened(&self, root: usize) -> Vec<Vec<u8>> {
        self.opened.get(root).cloned().unwrap_or_default()
    }

    /// Opens the grants of one command.
    pub(super) fn open_more(
        &self,
        rules: &WallRules,
        grants: &[Grant],
    ) -> Result<Vec<Opened>, WallError> {
        let open = |grant| Opened::open(rules, grant);
        grants.iter().map(open).collect()
    }

    /// Finds what is guarded, makes the placeholders and writes the order.
    pub(super) fn prepare<'a>(
        &'a self,
        inner: &'a Inner,
        spec: &CommandSpec,
        kind: Kind,
        more: &'a [Opened],
    ) -> Result<Prepared<'a>, WallError> {
        let rules = &inner.rules;
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (number, root) in rules.paths.roots().iter().enumerate() {
            parts.push(Part {
                path: root.path(),
                handle: root.handle(),
                writable: root.access() == RootAccess::ReadWrite,
                root: Some(number),
                grant: None,
            });
        }
        for grant in self.grants.iter().chain(more) {
            parts.push(Part {
                path: &grant.path,
                handle: grant.handle.as_fd(),
                writable: grant.writable,
                root: None,
                grant: Some(grant),
            });
        }
        // Of two that are the same folder the stricter comes first and stays; inner ones
        // come after the outer ones that they lie on.
        parts.sort_by(|a, b| (a.path, a.writable).cmp(&(b.path, b.writable)));
        parts.dedup_by(|later, first| later.path == first.path);
        let mut held = Held::default();
        match self.guard(inner, &parts, kind, &mut held) {
            Ok((all_masks, found)) => Ok(Prepared {
                order: self.order(rules, spec, kind, &parts, all_masks),
                folders: parts.iter().map(|part| part.handle).collect(),
                held,
                found,
            }),
            Err(error) => {
                inner.placeholders.release(&held);
                Err(error)
            }
        }
    }

    fn guard(
        &self,
        inner: &Inner,
        parts: &[Part<'_>],
        kind: Kind,
        held: &mut Held,
    ) -> Result<Guards, WallError> {
        let rules = &inner.rules;
        let mut all_masks = Vec::new();
        let mut all_found = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let number = u16::try_from(number).map_err(|_| BadOrder::TooLarge)?;
            let opened = part.root.map(|root| self.opened(root)).unwrap_or_default();
            let mut vacant: &[Vec<u8>] = &[];
            if let Some(root) = part.root
                && part.writable
                // Without mounts nothing could lie on a placeholder.
                && kind.namespaces
            {
                inner
                    .placeholders
                    .hold(root, |path| is_opened(&opened, path), held)
                    .map_err(|(path, errno)| WallError::Placeholder { path, errno })?;
                vacant = held.names(root);
            }
            let search = Search {
                rules: &rules.paths,
                own: rules.paths.own().beneath(part.path),
                folder: part.handle,
                root: part.root,
                writable: part.writable,
                opened,
                vacant,
                most: rules.scan_entries,
                now: SystemTime::now(),
            };
            let found = match part.grant.and_then(|grant| grant.found.clone()) {
                Some(found) => found,
                // It will be refused, and need not be searched for that.
                None if !may_be_shown(part.path.as_os_str().as_bytes()) => Found::default(),
                None => self.run(&search, part.grant),
            };
            if kind.namespaces {
                all_masks.extend(masks(number, &found.guarded, vacant));
            }
            if let Some(root) = part.root.filter(|_| part.writable) {
                all_found.push((root, found));
            }
        }
        Ok((all_masks, all_found))
    }

    fn order(
        &self,
        rules: &WallRules,
        spec: &CommandSpec,
        kind: Kind,
        parts: &[Part<'_>],
        all_masks: Vec<Mask>,
    ) -> Order {
        let argv = match &spec.program {
            Program::Line(line) => self.shell.iter().cloned().chain([bytes(line)]).collect(),
            Program::Exact(argv) => argv.iter().map(bytes).collect(),
        };
        let variables = spec
            .env
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .filter(|(name, _)| !name.is_empty() && !OWN_VARIABLES.contains(name));
        let mut env: Vec<Vec<u8>> = variables
            .map(|(name, value)| [name, b"=", value].concat())
            .collect();
        // Without it every shell asks the system who it runs for, to learn just this.
        if !env.iter().any(|variable| variable.starts_with(b"SHELL="))
            && let Some(shell) = self.shell.first()
        {
            env.push([b"SHELL=", shell.as_slice()].concat());
        }
        Order {
            namespaces: kind.namespaces,
            omit: rules.omit,
            network: kind.network,
            limits: spec.limits.unwrap_or(rules.limits),
            argv,
            env,
            cwd: bytes(&spec.cwd),
            folders: parts
                .iter()
                .map(|part| Folder {
                    path: bytes(part.path),
                    writable: part.writable,
                })
                .collect(),
            masks: all_masks,
        }
    }

    /// What is guarded in a writable root now.
    pub(super) fn look_again(
        &self,
        rules: &WallRules,
        root: usize,
        vacant: &[Vec<u8>],
    ) -> Option<Found> {
        let search = Search {
            rules: &rules.paths,
            own: rules.paths.own_in(root)?.clone(),
            folder: rules.paths.roots().get(root)?.handle(),
            root: Some(root),
            writable: true,
            opened: self.opened(root),
            vacant,
            most: rules.scan_entries,
            now: SystemTime::now(),
        };
        Some(self.run(&search, None))
    }

    /// Searches with what is known of the folder. One search at a time, per folder.
    fn run(&self, search: &Search<'_>, grant: Option<&Opened>) -> Found {
        let known = match search.root {
            Some(root) => self.memories.get(root),
            None => grant.map(|grant| &grant.memory),
        };
        match known {
            Some(memory) => search.run(&mut memory.lock().unwrap_or_else(PoisonError::into_inner)),
            None => search.run(&mut Memory::default()),
        }
    }
}

/// The shell without start-up files.
fn shell() -> Vec<Vec<u8>> {
    let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    match bash.iter().find(|path| Path::new(path).exists()) {
        Some(bash) => [bash, "--noprofile", "--norc", "-c"].map(bytes).to_vec(),
        None => ["/bin/sh", "-c"].map(bytes).to_vec(),
    }
}
