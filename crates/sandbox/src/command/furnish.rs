//! The part of a sandbox that depends on a command: its folders, and the guards in them.
//!
//! Most commands get the same as the one before. So a sandbox is furnished ahead, after
//! the pattern of the last command, and the next command is compared with that. What is
//! missing by then is put in place; what does not suit is never made to: that sandbox is
//! thrown away, and another one made for the command.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use super::message::{Mask, Order};
use super::mounts::{NewRoot, Shown, mount_of, mount_on};
use super::report::SetupFailure;

/// Shows the folders of an order, and puts the guards on.
pub(super) fn furnish(
    root: &NewRoot,
    order: &Order,
    folders: &[OwnedFd],
    mut guarded: impl FnMut(&Mask, &OwnedFd),
) -> Result<Vec<Shown>, SetupFailure> {
    let shown = folders
        .iter()
        .zip(&order.folders)
        .map(|(fd, folder)| root.show(fd.as_fd(), folder.writable))
        .collect::<Result<Vec<_>, _>>()?;
    for mask in &order.masks {
        if let Some(folder) = shown.get(usize::from(mask.folder))
            && let Some(mount) = root.guard(folder, mask)?
        {
            guarded(mask, &mount);
        }
    }
    Ok(shown)
}

/// A sandbox that has the folders of an order before it comes.
#[derive(Debug)]
pub(super) struct Furnished {
    /// The pattern.
    pub(super) order: Order,
    pub(super) shown: Vec<Shown>,
    /// The mount of each guard.
    guards: HashMap<Mask, u64>,
}

impl Furnished {
    /// Furnishes after the pattern of an order.
    pub(super) fn after(
        order: Order,
        root: &NewRoot,
        folders: &[OwnedFd],
    ) -> Result<Self, SetupFailure> {
        let mut guards = HashMap::new();
        let shown = furnish(root, &order, folders, |mask, mount| {
            guards.extend(mount_of(mount).map(|mount| (mask.clone(), mount)));
        })?;
        Ok(Self {
            order,
            shown,
            guards,
        })
    }

    /// Whether this is what an order asks for. Guards that are missing are put on: what
    /// they lay on may have been replaced since, and a guard goes with it.
    pub(super) fn suits(&self, root: &NewRoot, order: &Order, folders: &[OwnedFd]) -> bool {
        self.order.is_alike(order)
            && self.shown.len() == folders.len()
            && self
                .shown
                .iter()
                .zip(folders)
                .all(|(shown, folder)| root.still_shows(shown, folder.as_fd()))
            && self.has_no_other_guard(order)
            && order.masks.iter().all(|mask| self.holds(root, mask))
    }

    fn holds(&self, root: &NewRoot, mask: &Mask) -> bool {
        let Some(folder) = self.shown.get(usize::from(mask.folder)) else {
            return false;
        };
        let mount = self.guards.get(mask).copied();
        let stands = mount.is_some() && mount_on(folder, &mask.path) == mount;
        stands || root.guard(folder, mask).is_ok()
    }

    /// Whether every guard that the order does not ask for is gone.
    fn has_no_other_guard(&self, order: &Order) -> bool {
        if self.order.masks == order.masks {
            return true;
        }
        self.guards.iter().all(|(mask, mount)| {
            let folder = self.shown.get(usize::from(mask.folder));
            order.masks.contains(mask)
                || folder.is_none_or(|folder| mount_on(folder, &mask.path) != Some(*mount))
        })
    }
}
