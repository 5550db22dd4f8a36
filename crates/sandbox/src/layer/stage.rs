//! Preparing changes: after this only renames are left, and all of them are on record.
//!
//! ```text
//!  plan ─▶ a private directory ─▶ slots filled ─▶ synced ─▶ record, durable ─▶ Staged
//! ```
//!
//! The roots are not touched, except that a file which gets another name has it already, in the
//! private directory.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::changes::{Change, Changes, EntryKind};
use super::collect::split;
use super::copy::{copy_attributes, replace_content, set_attributes};
use super::error::LayerError;
use super::held::{Layer, LayeredRoot};
use super::kept::{Kept, KeptRoot};
use super::look::{attributes, look, open, open_directory, reopen};
use super::plan::{Source, plan};
use super::step::{Ident, Step, StepKind};
use crate::command::{CommandSandbox, Watched};

/// More files than these are synced as one file system, not one by one.
pub(super) const ONE_BY_ONE: usize = 16;

/// Changes that are ready to become real. Dropping it throws them away.
#[derive(Debug)]
pub struct Staged {
    pub(super) kept: Option<Kept>,
    pub(super) sandbox: CommandSandbox,
    pub(super) watched: Arc<Vec<Watched>>,
    left_out: Vec<usize>,
}

impl Layer {
    /// Prepares the changes that may be applied and that the caller chooses. What lies in a
    /// directory that is not chosen is left out with it. The changes come from this layer.
    ///
    /// What the steps take from the layer is missing there afterwards: after an error other than
    /// [`LayerError::Conflict`] and [`LayerError::SplitLinks`] it cannot be staged again.
    ///
    /// # Errors
    /// A root changed since the command began, or something cannot be prepared. Nothing in the
    /// roots changed.
    pub fn stage(
        &self,
        changes: &Changes,
        choose: impl FnMut(&Change) -> bool,
    ) -> Result<Staged, LayerError> {
        let plan = plan(self, changes, choose)?;
        let mut staged = Staged {
            kept: None,
            sandbox: self.sandbox.clone(),
            watched: Arc::clone(&self.watched),
            left_out: plan.left_out,
        };
        if plan.steps.is_empty() {
            return Ok(staged);
        }
        let mut roots = Vec::new();
        for (number, root) in self.roots.iter().enumerate() {
            let changes = plan.steps.iter().any(|(step, _)| step.root == number);
            if changes && self.is_apart(root).map_err(LayerError::at(&root.path))? {
                return Err(LayerError::Apart {
                    root: root.path.clone(),
                });
            }
            let failed = LayerError::at(&root.path);
            let base = self.places.base(root.base);
            let base = base.ok_or(Errno::NOENT).and_then(|base| {
                let handle = root.handle.try_clone().map_err(|_| Errno::MFILE)?;
                Ok((
                    root.number,
                    root.path.clone(),
                    handle,
                    base.directory.clone(),
                ))
            });
            roots.push(base.map_err(failed)?);
        }
        // Dropped on any error, it removes what was prepared.
        let kept = staged.kept.insert(Kept::new(roots)?);
        let mut filler = Filler {
            kept,
            sources: Vec::new(),
            made: HashMap::new(),
        };
        for root in &self.roots {
            let upper = self.upper(root).map_err(LayerError::at(&root.path))?;
            filler.sources.push((root, upper));
        }
        for (step, source) in plan.steps {
            filler.fill(step, &source)?;
        }
        drop(filler);
        kept.sync_slots()?;
        kept.write_record()?;
        Ok(staged)
    }
}

impl Layer {
    /// Whether nothing can be renamed between the private directory and a root.
    fn is_apart(&self, root: &LayeredRoot) -> Result<bool, Errno> {
        let base = self.places.base(root.base).ok_or(Errno::NOENT)?;
        let mount = |handle: BorrowedFd<'_>| {
            let wanted = StatxFlags::MNT_ID;
            let stat = rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, wanted)?;
            Ok::<_, Errno>((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_mnt_id))
        };
        Ok(mount(root.handle.as_fd())? != mount(base.handle())?)
    }
}

impl Staged {
    /// The numbers of the changes that are left out: those that are protected or were not chosen,
    /// and what lies in them.
    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// How many steps applying takes.
    pub fn steps(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.steps.len())
    }

    /// Throws what was prepared away. Dropping it does the same and reports no error.
    ///
    /// # Errors
    /// Something cannot be removed; the next start tries again.
    pub fn discard(mut self) -> Result<(), LayerError> {
        self.kept.take().map_or(Ok(()), |kept| kept.remove())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            let _ = kept.remove();
        }
    }
}

struct Filler<'a> {
    kept: &'a mut Kept,
    /// The roots with their upper halves.
    sources: Vec<(&'a LayeredRoot, OwnedFd)>,
    /// New directories, by root and path.
    made: HashMap<(usize, Vec<u8>), u64>,
}

impl Filler<'_> {
    fn fill(&mut self, mut step: Step, source: &Source) -> Result<(), LayerError> {
        let at = self.path(&step);
        let slot = self.kept.steps.len().to_string();
        let filled = match source {
            Source::Nothing => Ok(None),
            Source::Upper => self.move_here(&step, &slot).map(Some),
            Source::Directory => self.make_directory(&step, &slot).map(Some),
            Source::Link(other) => self.link(&step, other, &slot).map(Some),
        };
        let filled = filled.map_err(LayerError::at(&at))?;
        match step.kind {
            StepKind::Place | StepKind::Swap => {
                if let Some(filled) = filled.filter(Ident::is_directory) {
                    let key = (step.root, step.path.clone());
                    self.made.insert(key, filled.inode);
                }
                step.after = filled;
            }
            StepKind::Attributes => {
                // The directory that was made has another inode than the one in the upper half.
                let made = self.made.get(&(step.root, step.path.clone()));
                if let Some(inode) = made {
                    let idents = [&mut step.before, &mut step.after];
                    for ident in idents.into_iter().flatten() {
                        ident.inode = *inode;
                    }
                }
            }
            StepKind::Rewrite => {
                self.keep_content(&step, &slot)
                    .map_err(LayerError::at(&at))?;
            }
            StepKind::Remove => {}
        }
        self.kept.steps.push(step);
        Ok(())
    }

    fn path(&self, step: &Step) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let root = self.sources.get(step.root);
        let root = root.map_or(Path::new(""), |(root, _)| root.path.as_path());
        root.join(std::ffi::OsStr::from_bytes(&step.path))
    }

    fn places(&self, step: &Step) -> Result<(&KeptRoot, &OwnedFd), Errno> {
        let kept = self.kept.roots.get(step.root).ok_or(Errno::NOENT)?;
        let (_, upper) = self.sources.get(step.root).ok_or(Errno::NOENT)?;
        Ok((kept, upper))
    }

    /// Takes an entry from the upper half.
    fn move_here(&self, step: &Step, slot: &str) -> Result<Ident, Errno> {
        let (root, upper) = self.places(step)?;
        let (above, name) = split(&step.path);
        let above = enter_all(upper, above)?;
        let stat = look(&above, name)?.ok_or(Errno::STALE)?;
        let found = Ident::of(&stat);
        // Those of files with several names were given the inode of the root's.
        let is_same = |one: Ident| {
            step.kind == StepKind::Rewrite || (one.is_entry(&found) && one.is_unchanged(&found))
        };
        if !step.after.is_some_and(is_same) {
            return Err(Errno::STALE);
        }
        if found.kind == EntryKind::File {
            let file = reopen(above.as_fd(), name, OFlags::RDONLY | OFlags::NONBLOCK)?;
            remove_attributes(&file, found.mode)?;
        }
        rustix::fs::renameat(&above, name, &root.slots, slot)?;
        Ok(found)
    }

    fn make_directory(&self, step: &Step, slot: &str) -> Result<Ident, Errno> {
        let (root, upper) = self.places(step)?;
        let wanted = step.after.ok_or(Errno::INVAL)?;
        rustix::fs::mkdirat(&root.slots, slot, Mode::from_raw_mode(0o700))?;
        let new = open_directory(&root.slots, slot.as_bytes())?;
        let old = enter_all(upper, &step.path)?;
        copy_attributes(&old, &new)?;
        let open = Ident {
            mode: wanted.mode | 0o700,
            ..wanted
        };
        set_attributes(&root.slots, slot.as_bytes(), &open)?;
        Ok(Ident::of(&rustix::fs::fstat(&new)?))
    }

    fn link(&self, step: &Step, other: &[u8], slot: &str) -> Result<Ident, Errno> {
        let (root, _) = self.places(step)?;
        let (above, name) = split(other);
        let above = open(&root.handle, above, OFlags::PATH | OFlags::DIRECTORY)?;
        rustix::fs::linkat(&above, name, &root.slots, slot, AtFlags::empty())?;
        let stat = look(&root.slots, slot.as_bytes())?.ok_or(Errno::NOENT)?;
        // The other name may be written to by a step of its own.
        let wanted = step.after.ok_or(Errno::INVAL)?;
        Ok(Ident {
            inode: stat.st_ino,
            ..wanted
        })
    }

    /// Copies the content that is going to be written over.
    fn keep_content(&self, step: &Step, slot: &str) -> Result<(), Errno> {
        let (root, _) = self.places(step)?;
        let old = open(&root.handle, &step.path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let name = format!("{slot}.old");
        let copy = rustix::fs::openat(&root.slots, name.as_str(), flags, mode)?;
        replace_content(&old, &copy)?;
        let now = Ident::of(&rustix::fs::fstat(&old)?);
        if !step.before.is_some_and(|before| before.is_unchanged(&now)) {
            return Err(Errno::STALE);
        }
        Ok(())
    }
}

/// Opens a directory of the upper half to take from it, also where its owner closed it or one on
/// the way. The layer is used up by this, so the modes are not given back.
fn enter_all(upper: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let opened = open_directory(upper, path);
    let mut handle = match opened {
        Err(Errno::ACCESS) => open_directory(upper, b"")?,
        other => return opened_up(other?),
    };
    for name in path
        .split(|byte| *byte == b'/')
        .filter(|one| !one.is_empty())
    {
        let next = reopen(handle.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        handle = opened_up(next)?;
    }
    Ok(handle)
}

/// Removes the attributes of an overlay, also from a file that its owner may not write to.
fn remove_attributes(file: &OwnedFd, mode: u32) -> Result<(), Errno> {
    let all = attributes(file)?;
    if all.is_empty() {
        return Ok(());
    }
    let is_closed = mode & 0o200 == 0;
    if is_closed {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode | 0o200))?;
    }
    let mut removed = all.iter();
    let removed = removed.try_for_each(|name| rustix::fs::fremovexattr(file, name.as_slice()));
    if is_closed {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    }
    removed
}

fn opened_up(directory: OwnedFd) -> Result<OwnedFd, Errno> {
    let mode = rustix::fs::fstat(&directory)?.st_mode & 0o7777;
    if mode & 0o700 != 0o700 {
        rustix::fs::fchmod(&directory, Mode::from_raw_mode(mode | 0o700))?;
    }
    Ok(directory)
}

impl Kept {
    /// Waits until the slots are on the disk.
    fn sync_slots(&self) -> Result<(), LayerError> {
        let filled = |step: &&Step| step.kind != StepKind::Remove && !is_attributes(step);
        let few = self.steps.iter().filter(filled).count() <= ONE_BY_ONE;
        for (number, root) in self.roots.iter().enumerate() {
            let mut steps = self.steps.iter().enumerate();
            let mut sync = || {
                if !few {
                    return rustix::fs::syncfs(&root.slots);
                }
                let mine = steps.by_ref().filter(|(_, step)| step.root == number);
                for (slot, step) in mine.filter(|(_, step)| filled(step)) {
                    let is_file = |ident: Option<Ident>| ident.is_some_and(|one| one.is_file());
                    if is_file(step.after) {
                        sync_file(&root.slots, &slot.to_string())?;
                    }
                    if step.kind == StepKind::Rewrite {
                        sync_file(&root.slots, &format!("{slot}.old"))?;
                    }
                }
                rustix::fs::fsync(&root.slots)
            };
            sync().map_err(LayerError::at(&root.line.slots))?;
        }
        Ok(())
    }
}

fn is_attributes(step: &Step) -> bool {
    step.kind == StepKind::Attributes
}

fn sync_file(slots: &OwnedFd, name: &str) -> Result<(), Errno> {
    let file = reopen(
        slots.as_fd(),
        name.as_bytes(),
        OFlags::RDONLY | OFlags::NONBLOCK,
    )?;
    rustix::fs::fsync(&file)
}
