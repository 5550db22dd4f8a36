//! Making changes real, step by step, and taking back all of them where one fails.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use super::collect::split;
use super::copy::{replace_content, set_attributes};
use super::error::LayerError;
use super::kept::{Kept, KeptRoot, Mark};
use super::look::{look, open};
use super::plan::look_at;
use super::stage::{ONE_BY_ONE, Staged};
use super::step::{Ident, Step, StepKind};
use crate::command::Appeared;

/// Changes that are real. They can be undone as long as the originals are kept.
///
/// Dropping this keeps the originals; [`Applied::forget`] removes them.
#[derive(Debug)]
pub struct Applied {
    pub(super) kept: Option<Kept>,
    /// Guarded names that appeared with the changes, and where they were moved.
    pub appeared: Vec<Appeared>,
}

/// Called before each step with its number, and once with the number of all steps when they are
/// done and not yet on record. An error stops, and everything is taken back.
pub type BeforeStep<'a> = &'a mut dyn FnMut(usize) -> Result<(), Errno>;

impl Staged {
    /// Makes all changes real.
    ///
    /// # Errors
    /// Something failed or changed meanwhile. Then everything was taken back, unless the error is
    /// [`LayerError::NotTakenBack`].
    pub fn apply(self) -> Result<Applied, LayerError> {
        self.apply_with(&mut |_| Ok(()))
    }

    /// The same, with a word before each step.
    ///
    /// # Errors
    /// As [`Staged::apply`].
    pub fn apply_with(mut self, before: BeforeStep<'_>) -> Result<Applied, LayerError> {
        let Some(kept) = self.kept.take() else {
            return Ok(Applied {
                kept: None,
                appeared: Vec::new(),
            });
        };
        let mut begun = 0;
        if let Err(error) = kept.apply(before, &mut begun) {
            kept.take_back(begun)?;
            let _ = kept.remove();
            return Err(error);
        }
        let mut appeared = Vec::new();
        for watched in self.watched.iter() {
            appeared.extend(watched.sweep(self.sandbox.rules()).0);
        }
        Ok(Applied {
            kept: Some(kept),
            appeared,
        })
    }
}

impl Kept {
    /// Does all steps, and counts those that were begun.
    fn apply(&self, before: BeforeStep<'_>, begun: &mut usize) -> Result<(), LayerError> {
        for (number, step) in self.steps.iter().enumerate() {
            let ready = before(number).and_then(|()| self.is_ready(step));
            ready.map_err(|errno| self.failed(step, errno))?;
            *begun = number + 1;
            let done = self.perform(number, step);
            done.map_err(|errno| self.failed(step, errno))?;
        }
        self.sync_roots(&|errno| LayerError::at(&self.path)(errno))?;
        before(self.steps.len()).map_err(LayerError::at(&self.path))?;
        self.mark(Mark::Applied)
    }

    pub(super) fn at(&self, step: &Step) -> PathBuf {
        let root = self.roots.get(step.root);
        let root = root.map_or(Path::new(""), |root| root.line.path.as_path());
        root.join(OsStr::from_bytes(&step.path))
    }

    fn failed(&self, step: &Step, errno: Errno) -> LayerError {
        let path = self.at(step);
        match errno {
            Errno::STALE | Errno::NOENT | Errno::EXIST | Errno::NOTDIR | Errno::LOOP => {
                LayerError::Conflict {
                    paths: vec![path],
                    more: 0,
                }
            }
            errno => LayerError::System { path, errno },
        }
    }

    pub(super) fn root(&self, step: &Step) -> Result<&KeptRoot, Errno> {
        self.roots.get(step.root).ok_or(Errno::NOENT)
    }

    /// An error if a step that changes something in place would not find what it expects.
    fn is_ready(&self, step: &Step) -> Result<(), Errno> {
        if !matches!(step.kind, StepKind::Attributes | StepKind::Rewrite) {
            return Ok(());
        }
        let before = step.before.ok_or(Errno::INVAL)?;
        let now = now(self.root(step)?, &step.path)?.ok_or(Errno::STALE)?;
        if before.is_unchanged(&now) && before.has_attributes_of(&now) {
            Ok(())
        } else {
            Err(Errno::STALE)
        }
    }

    fn perform(&self, number: usize, step: &Step) -> Result<(), Errno> {
        let root = self.root(step)?;
        let slot = number.to_string();
        let (above, name) = split(&step.path);
        match step.kind {
            StepKind::Place => {
                let above = parent(root, above)?;
                rename(
                    &root.slots,
                    slot.as_bytes(),
                    &above,
                    name,
                    RenameFlags::NOREPLACE,
                )
            }
            StepKind::Swap => {
                let above = parent(root, above)?;
                rename(
                    &root.slots,
                    slot.as_bytes(),
                    &above,
                    name,
                    RenameFlags::EXCHANGE,
                )?;
                holds(root, &slot, step.before)
            }
            StepKind::Remove => {
                let above = parent(root, above)?;
                rename(
                    &above,
                    name,
                    &root.slots,
                    slot.as_bytes(),
                    RenameFlags::NOREPLACE,
                )?;
                holds(root, &slot, step.before)
            }
            StepKind::Attributes => attributes(root, &step.path, &step.after.ok_or(Errno::INVAL)?),
            StepKind::Rewrite => {
                replace_content(&slot_file(root, &slot)?, &writable(root, &step.path)?)?;
                attributes(root, &step.path, &step.after.ok_or(Errno::INVAL)?)
            }
        }
    }

    /// Waits until the roots are on the disk.
    pub(super) fn sync_roots(
        &self,
        failed: &dyn Fn(Errno) -> LayerError,
    ) -> Result<(), LayerError> {
        if self.steps.len() > ONE_BY_ONE {
            for root in &self.roots {
                sync_all(root).map_err(failed)?;
            }
            return Ok(());
        }
        for step in &self.steps {
            let root = self.root(step).map_err(failed)?;
            let sync = || {
                let above = split(&step.path).0;
                let in_place = matches!(step.kind, StepKind::Rewrite | StepKind::Attributes);
                let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                let path = if in_place { &step.path } else { above };
                match open(&root.handle, path, flags) {
                    Ok(handle) => rustix::fs::fsync(&handle),
                    // The steps closed it again or removed it, or somebody else did.
                    Err(_) => sync_all(root),
                }
            };
            sync().map_err(failed)?;
        }
        Ok(())
    }
}

/// Waits for the whole file system of a root.
fn sync_all(root: &KeptRoot) -> Result<(), Errno> {
    rustix::fs::syncfs(&root.slots)
}

pub(super) fn parent(root: &KeptRoot, above: &[u8]) -> Result<OwnedFd, Errno> {
    open(&root.handle, above, OFlags::PATH | OFlags::DIRECTORY)
}

pub(super) fn rename(
    from: &OwnedFd,
    name: &[u8],
    to: &OwnedFd,
    new: &[u8],
    flags: RenameFlags,
) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, name, to, new, flags)
}

/// What is at a path of a root.
pub(super) fn now(root: &KeptRoot, path: &[u8]) -> Result<Option<Ident>, Errno> {
    Ok(look_at(&root.handle, path)?.map(|stat| Ident::of(&stat)))
}

/// What is in a slot.
pub(super) fn in_slot(root: &KeptRoot, slot: &str) -> Result<Option<Ident>, Errno> {
    Ok(look(&root.slots, slot.as_bytes())?.map(|stat| Ident::of(&stat)))
}

/// An error if the slot does not hold what was expected: it was exchanged or written to at the
/// last moment.
fn holds(root: &KeptRoot, slot: &str, wanted: Option<Ident>) -> Result<(), Errno> {
    let found = in_slot(root, slot)?.ok_or(Errno::STALE)?;
    let wanted = wanted.ok_or(Errno::INVAL)?;
    if wanted.is_unchanged(&found) {
        Ok(())
    } else {
        Err(Errno::STALE)
    }
}

/// Opens the content that a slot holds.
pub(super) fn slot_file(root: &KeptRoot, slot: &str) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsFd;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    super::look::reopen(root.slots.as_fd(), slot.as_bytes(), flags)
}

/// Opens a file of a root to write to it, also one that its owner may not write to.
pub(super) fn writable(root: &KeptRoot, path: &[u8]) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsFd;
    let (above, name) = split(path);
    let above = open(&root.handle, above, OFlags::RDONLY | OFlags::DIRECTORY)?;
    super::look::reopen(above.as_fd(), name, OFlags::RDWR | OFlags::NONBLOCK)
}

pub(super) fn attributes(root: &KeptRoot, path: &[u8], wanted: &Ident) -> Result<(), Errno> {
    let (above, name) = split(path);
    set_attributes(&parent(root, above)?, name, wanted)
}
