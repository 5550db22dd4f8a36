//! Taking changes back: after an error, after a kill, or because the user wants it.
//!
//! What is at a name and in its slot tells whether a step was done. What is neither as it was
//! before nor as the step made it belongs to somebody else and is left alone.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::apply::{Applied, attributes, in_slot, now, parent, rename, slot_file, writable};
use super::collect::split;
use super::copy::{is_beginning, replace_content};
use super::error::LayerError;
use super::kept::{KEPT, Kept, KeptRoot, Mark, is_settled, kept_in, open_path, record_elsewhere};
use super::look::{names, open_directory};
use super::remove::remove;
use super::step::{Ident, Step, StepKind};

/// Paths that are named in an error; the others are counted.
const NAMED: usize = 100;

impl Applied {
    /// The name by which the originals are found again, unless nothing was changed.
    pub fn name(&self) -> Option<&Path> {
        self.kept.as_ref().map(|kept| kept.path.as_path())
    }

    /// Opens what an earlier process applied and kept.
    ///
    /// # Errors
    /// It is gone or damaged, another process uses it, or a root has moved.
    pub fn open(name: &Path) -> Result<Self, LayerError> {
        let unusable = || LayerError::NotKept {
            path: name.to_path_buf(),
        };
        let file = name.file_name().unwrap_or_default().as_bytes();
        let outer = name.parent().filter(|_| file.starts_with(KEPT.as_bytes()));
        let outer = open_path(outer.ok_or_else(unusable)?).map_err(|_| unusable())?;
        let kept = Kept::open(outer, name)?.ok_or_else(unusable)?;
        if !kept.is(Mark::Applied)? {
            return Err(unusable());
        }
        Ok(Self {
            kept: Some(kept),
            appeared: Vec::new(),
        })
    }

    /// Takes all changes back, and forgets the originals.
    ///
    /// # Errors
    /// Something changed since: then nothing is taken back. Or something cannot be taken back.
    pub fn undo(self) -> Result<(), LayerError> {
        self.undo_with(&mut |_| Ok(()))
    }

    /// The same, with a word before each step; an error stops, and the next start goes on.
    ///
    /// # Errors
    /// As [`Applied::undo`].
    pub fn undo_with(mut self, before: super::BeforeStep<'_>) -> Result<(), LayerError> {
        let Some(kept) = self.kept.take() else {
            return Ok(());
        };
        if !kept.is(Mark::Undoing)? {
            kept.is_as_applied()?;
            kept.mark(Mark::Undoing)?;
        }
        kept.take_back_with(kept.steps.len(), before)?;
        kept.remove()
    }

    /// Removes the originals: the changes can no longer be undone.
    ///
    /// # Errors
    /// Something cannot be removed; the next start tries again.
    pub fn forget(mut self) -> Result<(), LayerError> {
        self.kept.take().map_or(Ok(()), |kept| kept.remove())
    }
}

/// What a start found of changes that were interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Where the originals are, or were.
    pub kept: PathBuf,
    /// Why not everything could be taken back; the next start tries again.
    pub error: Option<LayerError>,
}

/// Takes back what dead processes left half done in a directory for layers. The directory is
/// locked.
pub(super) fn recover(outer: &OwnedFd, directory: &Path) -> Result<Vec<Interrupted>, Errno> {
    let mut found = Vec::new();
    for name in kept_in(outer)? {
        let path = directory.join(OsStr::from_bytes(&name));
        if record_elsewhere(outer, &name).is_some_and(|record| record.exists()) {
            continue;
        }
        if is_settled(outer, &name)? {
            continue;
        }
        let again = outer.try_clone().map_err(|_| Errno::MFILE)?;
        let error = match Kept::open(again, &path) {
            // Another process works on it.
            Err(LayerError::NotKept { .. }) => continue,
            Err(error) => Some(error),
            Ok(None) => {
                remove(outer.as_fd(), &name)?;
                continue;
            }
            Ok(Some(kept)) => {
                let all = kept.steps.len();
                let done = kept.take_back(all).and_then(|()| kept.remove());
                done.err()
            }
        };
        found.push(Interrupted { kept: path, error });
    }
    Ok(found)
}

impl Kept {
    /// Takes back every step that was done, the last one first, of the first so many.
    pub(super) fn take_back(&self, first: usize) -> Result<(), LayerError> {
        self.take_back_with(first, &mut |_| Ok(()))
    }

    fn take_back_with(
        &self,
        first: usize,
        before: super::BeforeStep<'_>,
    ) -> Result<(), LayerError> {
        let mut paths = Vec::new();
        for (number, step) in self.steps.iter().enumerate().take(first).rev() {
            before(number).map_err(LayerError::at(&self.path))?;
            match self.inverse(number, step) {
                Ok(true) => {}
                Ok(false) | Err(_) if paths.len() >= NAMED => {}
                Ok(false) | Err(_) => paths.push(self.at(step)),
            }
        }
        if !paths.is_empty() {
            return Err(LayerError::NotTakenBack {
                paths,
                kept: self.path.clone(),
            });
        }
        self.sync_roots(&|errno| LayerError::at(&self.path)(errno))
    }

    /// Takes a step back, if it was done. False if there is something else.
    fn inverse(&self, number: usize, step: &Step) -> Result<bool, Errno> {
        let root = self.root(step)?;
        let slot = number.to_string();
        let (above, name) = split(&step.path);
        let here = now(root, &step.path)?;
        let is = |one: Option<Ident>| match (here, one) {
            (Some(here), Some(one)) => here.is_entry(&one),
            (None, None) => true,
            _ => false,
        };
        let held = in_slot(root, &slot)?;
        let is_new = |held: Ident| step.after.is_some_and(|after| after.is_entry(&held));
        match step.kind {
            // The slot has what is new: it was not done, whatever is at the name.
            StepKind::Place | StepKind::Swap if held.is_some_and(is_new) => Ok(true),
            StepKind::Place => {
                if !is(step.after) {
                    return Ok(here.is_none());
                }
                let above = parent(root, above)?;
                if step.after.is_some_and(|one| one.is_directory()) {
                    return match rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR) {
                        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
                        other => other.map(|()| true),
                    };
                }
                let flags = RenameFlags::NOREPLACE;
                rename(&above, name, &root.slots, slot.as_bytes(), flags)?;
                Ok(true)
            }
            StepKind::Swap => {
                // Whatever was at the name is in the slot, also what came there at the last moment.
                if !is(step.after) || held.is_none() {
                    return Ok(false);
                }
                if here.is_some_and(|here| here.is_directory()) && !is_empty(root, &step.path)? {
                    return Ok(false);
                }
                let above = parent(root, above)?;
                let flags = RenameFlags::EXCHANGE;
                rename(&root.slots, slot.as_bytes(), &above, name, flags)?;
                Ok(true)
            }
            StepKind::Remove if held.is_none() => Ok(true),
            StepKind::Remove => {
                if here.is_some() {
                    return Ok(false);
                }
                let above = parent(root, above)?;
                let flags = RenameFlags::NOREPLACE;
                rename(&root.slots, slot.as_bytes(), &above, name, flags)?;
                Ok(true)
            }
            StepKind::Attributes => {
                let (Some(before), Some(after), Some(here)) = (step.before, step.after, here)
                else {
                    // It was made by a step that comes before this one, or not at all.
                    return Ok(here.is_none());
                };
                if !before.is_entry(&here) {
                    return Ok(true);
                }
                if before.has_attributes_of(&here) && before.is_unchanged(&here) {
                    return Ok(true);
                }
                if !(after.has_attributes_of(&here) || before.has_attributes_of(&here)) {
                    return Ok(false);
                }
                attributes(root, &step.path, &before)?;
                Ok(true)
            }
            StepKind::Rewrite => self.write_back(root, &slot, step, here),
        }
    }

    /// Writes the old content of a file again. It holds the old one, the new one, or a beginning
    /// of either; anything else was written by others.
    fn write_back(
        &self,
        root: &KeptRoot,
        slot: &str,
        step: &Step,
        here: Option<Ident>,
    ) -> Result<bool, Errno> {
        let (Some(before), Some(here)) = (step.before, here) else {
            return Ok(false);
        };
        if !before.is_entry(&here) {
            return Ok(false);
        }
        if before.is_unchanged(&here) && before.has_attributes_of(&here) {
            return Ok(true);
        }
        let file = writable(root, &step.path)?;
        let old = slot_file(root, &format!("{slot}.old"))?;
        let new = slot_file(root, slot)?;
        let is_whole = step.after.is_some_and(|after| after.is_unchanged(&here));
        if !is_whole && !is_beginning(&file, &old)? && !is_beginning(&file, &new)? {
            return Ok(false);
        }
        replace_content(&old, &file)?;
        attributes(root, &step.path, &before)?;
        Ok(true)
    }

    /// An error if something is no longer as it was applied.
    fn is_as_applied(&self) -> Result<(), LayerError> {
        let (mut paths, mut more) = (Vec::new(), 0);
        let all = self.steps.iter();
        let known: HashSet<(usize, &[u8])> =
            all.map(|step| (step.root, step.path.as_slice())).collect();
        // Only the last word about a path counts.
        let mut seen = HashSet::new();
        for (number, step) in self.steps.iter().enumerate().rev() {
            let last = seen.insert((step.root, step.path.as_slice()));
            let same = self.is_done(number, step, &known, last);
            if same.map_err(LayerError::at(self.at(step)))? {
                continue;
            }
            if paths.len() < NAMED {
                paths.push(self.at(step));
            } else {
                more += 1;
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        paths.dedup();
        Err(LayerError::ChangedSince { paths, more })
    }

    fn is_done(
        &self,
        number: usize,
        step: &Step,
        known: &HashSet<(usize, &[u8])>,
        last: bool,
    ) -> Result<bool, Errno> {
        if step.kind == StepKind::Attributes && !last {
            return Ok(true);
        }
        let root = self.root(step)?;
        let here = match now(root, &step.path) {
            // In a directory that the command closed nobody else could change anything.
            Err(Errno::ACCESS) => return Ok(true),
            other => other?,
        };
        let (Some(after), Some(here)) = (step.after, here) else {
            let kept = in_slot(root, &number.to_string())?.is_some();
            return Ok(step.after.is_none() && here.is_none() && kept);
        };
        let same = match step.kind {
            StepKind::Attributes => after.has_attributes_of(&here),
            _ => after.is_unchanged(&here) && (!last || after.has_attributes_of(&here)),
        };
        if !same || !after.is_directory() || step.kind == StepKind::Attributes {
            return Ok(same);
        }
        let inner = match open_directory(&root.handle, &step.path) {
            Err(Errno::ACCESS) => return Ok(true),
            other => other?,
        };
        let inner = names(&inner, &mut Vec::with_capacity(8 << 10))?;
        let own = |name: &Vec<u8>| {
            let path = [step.path.as_slice(), b"/", name].concat();
            known.contains(&(step.root, path.as_slice()))
        };
        Ok(inner.iter().all(own))
    }
}

fn is_empty(root: &KeptRoot, path: &[u8]) -> Result<bool, Errno> {
    let handle = open_directory(&root.handle, path)?;
    Ok(names(&handle, &mut Vec::with_capacity(1 << 10))?.is_empty())
}
