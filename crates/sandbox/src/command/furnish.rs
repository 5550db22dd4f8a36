//! The part of a sandbox that depends on a command: its folders, and the guards in them.
//!
//! Most commands get the same as the one before. So a mold takes the form of one command,
//! and the next ones are compared with that. A guard that is missing by then is put on in
//! the sandbox itself; what does not suit is never made to: that sandbox is thrown away,
//! and a mold made for the command.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::message::{Mask, Order};
use super::mounts::{NewRoot, Shown, mount_on};
use super::report::SetupFailure;

/// What a mold was given: the folders of an order, with the guards on.
#[derive(Debug)]
pub(super) struct Form {
    /// The pattern.
    pub(super) order: Order,
    shown: Vec<Shown>,
}

impl Form {
    /// Shows the folders of an order, and puts the guards on.
    pub(super) fn after(
        order: Order,
        root: &NewRoot,
        folders: &[OwnedFd],
    ) -> Result<Self, SetupFailure> {
        let shown = folders
            .iter()
            .zip(&order.folders)
            .map(|(fd, folder)| root.show(fd.as_fd(), folder.writable))
            .collect::<Result<Vec<_>, _>>()?;
        for mask in &order.masks {
            if let Some(folder) = shown.get(usize::from(mask.folder)) {
                root.guard(folder, mask)?;
            }
        }
        Ok(Self { order, shown })
    }

    /// Where the folders are.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.shown.iter().map(|shown| shown.path.as_slice())
    }
}

/// How a sandbox suits an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As it was made.
    AsMade,
    /// With other guards than the mold has.
    Amended,
}

/// The form of the mold as one sandbox has it.
#[derive(Debug)]
pub(super) struct Furnished<'a> {
    form: &'a Form,
    shown: Vec<Shown>,
    /// The mount of each guard.
    guards: HashMap<&'a Mask, u64>,
}

impl<'a> Furnished<'a> {
    /// Looks at what came along from the mold.
    pub(super) fn from(form: &'a Form, root: &NewRoot) -> Result<Self, SetupFailure> {
        let shown = form
            .shown
            .iter()
            .map(|shown| root.find(shown))
            .collect::<Result<Vec<_>, _>>()?;
        let guard_of = |mask: &'a Mask| {
            let folder = shown.get(usize::from(mask.folder))?;
            mount_on(folder, &mask.path).map(|mount| (mask, mount))
        };
        Ok(Self {
            guards: form.order.masks.iter().filter_map(guard_of).collect(),
            form,
            shown,
        })
    }

    /// The order whose limits and folders this has.
    pub(super) fn order(&self) -> &'a Order {
        &self.form.order
    }

    /// The folders.
    pub(super) fn folders(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.shown.iter().map(|shown| shown.tree.as_fd())
    }

    /// Whether this is what an order asks for. Guards that are missing are put on: what
    /// they lay on may have been replaced since, and a guard goes with it.
    pub(super) fn suits(
        &self,
        root: &NewRoot,
        order: &Order,
        folders: &[OwnedFd],
        hidden: &[String],
    ) -> Option<Fit> {
        let alike = self.form.order.is_alike(order)
            && self.shown.len() == folders.len()
            && self
                .shown
                .iter()
                .zip(folders)
                .all(|(shown, folder)| root.still_shows(shown, folder.as_fd()))
            && self.has_no_other_guard(order);
        if !alike {
            return None;
        }
        let mut amended = root.hide_again(hidden).ok()? || self.form.order.masks != order.masks;
        for mask in &order.masks {
            amended |= self.hold(root, mask)?;
        }
        Some(if amended { Fit::Amended } else { Fit::AsMade })
    }

    /// Makes sure of a guard. Gives whether it had to be put on; nothing where it cannot be.
    fn hold(&self, root: &NewRoot, mask: &Mask) -> Option<bool> {
        let folder = self.shown.get(usize::from(mask.folder))?;
        let mount = self.guards.get(mask).copied();
        if mount.is_some() && mount_on(folder, &mask.path) == mount {
            return Some(false);
        }
        root.guard(folder, mask).ok().map(|_| true)
    }

    /// Whether every guard that the order does not ask for is gone.
    fn has_no_other_guard(&self, order: &Order) -> bool {
        if self.form.order.masks == order.masks {
            return true;
        }
        self.guards.iter().all(|(mask, mount)| {
            let folder = self.shown.get(usize::from(mask.folder));
            order.masks.contains(mask)
                || folder.is_none_or(|folder| mount_on(folder, &mask.path) != Some(*mount))
        })
    }
}
