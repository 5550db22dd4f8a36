//! The part of a sandbox that depends on a command: its directories, and the guards in them.
//!
//! Most commands get the same as the one before. So a template takes the form of one command,
//! and the next ones are compared with that. A guard that is missing by then is put on in
//! the sandbox itself. A sandbox that differs otherwise is never adapted: it is dropped,
//! and a template is made for the command.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::layers::{Base, Made};
use super::mounts::{NewRoot, Shown, mount_on};
use crate::command::protocol::message::{Mask, Order};
use crate::command::protocol::report::SetupError;

/// The form of a template: the directories of an order, with their guards.
#[derive(Debug)]
pub(crate) struct Form {
    /// The pattern.
    pub(crate) order: Order,
    shown: Vec<Shown>,
    /// Which directories each sandbox mounts itself.
    deferred: Vec<bool>,
    /// The private directories for layers.
    bases: Vec<Base>,
}

impl Form {
    /// Shows the directories of an order, and puts the guards on.
    pub(crate) fn after(
        order: Order,
        root: &NewRoot,
        directories: &[OwnedFd],
    ) -> Result<Self, SetupError> {
        root.grow_shared(&order.limits)?;
        let deferred = order.deferred();
        let all = directories.iter().zip(&order.directories).zip(&deferred);
        let shown = all
            .enumerate()
            .map(|(number, ((fd, directory), deferred))| {
                if *deferred {
                    root.park(number, fd.as_fd(), &order)
                } else {
                    root.show(fd.as_fd(), directory.writable)
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let layered = order.directories.iter().enumerate();
        let layered = layered.filter(|(_, directory)| directory.layered);
        let bases = directories.iter().skip(order.directories.len());
        let bases = bases
            .zip(layered)
            .enumerate()
            .map(|(number, (fd, (directory, _)))| {
                let masks = order.masks.iter().filter(|mask| order.has_place(mask));
                let masks = masks.filter(|mask| usize::from(mask.directory) == directory);
                let vacant: Vec<&[u8]> = masks.map(|mask| mask.path.as_slice()).collect();
                root.park_base(number, fd.as_fd(), &vacant)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let form = Self {
            order,
            shown,
            deferred,
            bases,
        };
        for mask in form.order.masks.iter().filter(|mask| !form.defers(mask)) {
            if let Some(directory) = form.shown.get(usize::from(mask.directory)) {
                root.guard(directory, mask)?;
            }
        }
        Ok(form)
    }

    /// Where the directories are that come along from the template.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.shown.iter().zip(&self.deferred);
        all.filter(|(_, deferred)| !**deferred)
            .map(|(shown, _)| shown.path.as_slice())
    }

    /// Whether a guard is put on by each sandbox itself.
    fn defers(&self, mask: &Mask) -> bool {
        self.deferred.get(usize::from(mask.directory)) == Some(&true)
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
    layers: Option<Made>,
}

impl<'a> Populated<'a> {
    /// Looks at what came along from the template.
    pub(crate) fn from(form: &'a Form, root: &NewRoot) -> Result<Self, SetupError> {
        let (shown, layers) = if form.bases.is_empty() {
            let shown = form.shown.iter().map(|shown| root.find(shown));
            (shown.collect::<Result<Vec<_>, _>>()?, None)
        } else {
            let (shown, layers) =
                root.make_layers(&form.order, &form.shown, &form.deferred, &form.bases)?;
            (shown, Some(layers))
        };
        let guard_of = |mask: &'a Mask| {
            let directory = shown.get(usize::from(mask.directory))?;
            mount_on(directory, &mask.path).map(|mount| (mask, mount))
        };
        let masks = form.order.masks.iter().filter(|mask| !form.defers(mask));
        Ok(Self {
            guards: masks.filter_map(guard_of).collect(),
            form,
            shown,
            layers,
        })
    }

    /// The name of the layers, if there are any.
    pub(super) fn layer(&self) -> Option<String> {
        self.layers.as_ref().map(|layers| layers.name.clone())
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
            && self.shown.len() + self.form.bases.len() == directories.len()
            && self
                .form
                .bases
                .iter()
                .zip(directories.iter().skip(self.shown.len()))
                .all(|(base, directory)| base.is(directory.as_fd()))
            && self
                .shown
                .iter()
                .zip(directories)
                .all(|(shown, directory)| root.still_shows(shown, directory.as_fd()))
            && self.has_no_other_guard(order)
            && self.has_places_of(order);
        if !alike {
            return None;
        }
        let mut amended = root.hide_again(hidden).ok()? || !self.has_masks_of(order);
        for mask in &order.masks {
            if order.has_place(mask) {
                // It came with the layer.
            } else if self.form.defers(mask) {
                self.guard_layer(root, mask)?;
            } else {
                amended |= self.hold(root, mask)?;
            }
        }
        Some(if amended { Fit::Amended } else { Fit::AsMade })
    }

    /// Whether the template has the guards that an order asks of it.
    fn has_masks_of(&self, order: &Order) -> bool {
        let of_template = |mask: &&Mask| !self.form.defers(mask);
        let masks = self.form.order.masks.iter().filter(of_template);
        masks.eq(order.masks.iter().filter(of_template))
    }

    /// Whether the layers keep the same names vacant.
    fn has_places_of(&self, order: &Order) -> bool {
        let with_place = |mask: &&Mask| order.has_place(mask);
        let masks = self.form.order.masks.iter().filter(with_place);
        masks.eq(order.masks.iter().filter(with_place))
    }

    fn guard_layer(&self, root: &NewRoot, mask: &Mask) -> Option<()> {
        let number = usize::from(mask.directory);
        let directory = self.shown.get(number)?;
        let layered = self.form.order.directories.get(number)?.layered;
        root.guard_layer(directory, layered, mask).ok()
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
        if self.has_masks_of(order) {
            return true;
        }
        self.guards.iter().all(|(mask, mount)| {
            let directory = self.shown.get(usize::from(mask.directory));
            order.masks.contains(mask)
                || directory.is_none_or(|directory| mount_on(directory, &mask.path) != Some(*mount))
        })
    }
}
