//! The part of a sandbox that depends on a command: its directories, and the guards in them.
//!
//! Most commands get the same as the one before. So a template takes the form of one command,
//! and the next ones are compared with that. A guard that is missing by then is put on in
//! the sandbox itself. A sandbox that differs otherwise is never adapted: it is dropped,
//! and a template is made for the command.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::mounts::{NewRoot, Shown, mount_on};
use crate::command::protocol::message::{Mask, Order};
use crate::command::protocol::report::SetupError;

/// The form of a template: the directories of an order, with their guards.
#[derive(Debug)]
pub(crate) struct Form {
    /// The pattern.
    pub(crate) order: Order,
    shown: Vec<Shown>,
}

impl Form {
    /// Shows the directories of an order, and puts the guards on.
    pub(crate) fn after(
        order: Order,
        root: &NewRoot,
        directories: &[OwnedFd],
    ) -> Result<Self, SetupError> {
        root.grow_shared(&order.limits)?;
        let shown = directories
            .iter()
            .zip(&order.directories)
            .map(|(fd, directory)| root.show(fd.as_fd(), directory.writable))
            .collect::<Result<Vec<_>, _>>()?;
        for mask in &order.masks {
            if let Some(directory) = shown.get(usize::from(mask.directory)) {
                root.guard(directory, mask)?;
            }
        }
        Ok(Self { order, shown })
    }

    /// Where the directories are.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.shown.iter().map(|shown| shown.path.as_slice())
    }
}

/// How a sandbox fits an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As it was made.
    AsMade,
    /// With other guards than the template has.
    Amended,
}

/// The form of the template as one sandbox has it.
#[derive(Debug)]
pub(super) struct Populated<'a> {
    form: &'a Form,
    shown: Vec<Shown>,
    /// The mount of each guard.
    guards: HashMap<&'a Mask, u64>,
}

impl<'a> Populated<'a> {
    /// Looks at what came along from the template.
    pub(crate) fn from(form: &'a Form, root: &NewRoot) -> Result<Self, SetupError> {
        let shown = form
            .shown
            .iter()
            .map(|shown| root.find(shown))
            .collect::<Result<Vec<_>, _>>()?;
        let guard_of = |mask: &'a Mask| {
            let directory = shown.get(usize::from(mask.directory))?;
            mount_on(directory, &mask.path).map(|mount| (mask, mount))
        };
        Ok(Self {
            guards: form.order.masks.iter().filter_map(guard_of).collect(),
            form,
            shown,
        })
    }

    /// The order whose limits and directories this has.
    pub(crate) fn order(&self) -> &'a Order {
        &self.form.order
    }

    /// The directories.
    pub(crate) fn directories(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.shown.iter().map(|shown| shown.tree.as_fd())
    }

    /// Whether this is what an order asks for. Guards that are missing are put on: what
    /// they lay on may have been replaced since, and a guard goes with it.
    pub(crate) fn suits(
        &self,
        root: &NewRoot,
        order: &Order,
        directories: &[OwnedFd],
        hidden: &[String],
    ) -> Option<Fit> {
        let alike = self.form.order.is_alike(order)
            && self.shown.len() == directories.len()
            && self
                .shown
                .iter()
                .zip(directories)
                .all(|(shown, directory)| root.still_shows(shown, directory.as_fd()))
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
        let directory = self.shown.get(usize::from(mask.directory))?;
        let mount = self.guards.get(mask).copied();
        if mount.is_some() && mount_on(directory, &mask.path) == mount {
            return Some(false);
        }
        root.guard(directory, mask).ok().map(|_| true)
    }

    /// Whether every guard that the order does not ask for is gone.
    fn has_no_other_guard(&self, order: &Order) -> bool {
        if self.form.order.masks == order.masks {
            return true;
        }
        self.guards.iter().all(|(mask, mount)| {
            let directory = self.shown.get(usize::from(mask.directory));
            order.masks.contains(mask)
                || directory.is_none_or(|directory| mount_on(directory, &mask.path) != Some(*mount))
        })
    }
}
