//! What the commands of one conversation share.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::connection::Connection;
use crate::command::protocol::wire;
use crate::command::warden::serve;

/// What the commands of one conversation share: `/tmp`, the home directory, and a network of their own
/// with its loopback. Cheap to clone.
///
/// Nothing is there before the first command. It ends with the last clone, of which every command that
/// runs in it has one, or with the process. On [`Level::Landlock`](super::super::Level) commands share
/// nothing.
///
/// ```
/// use toolgate_sandbox::command::{CommandSpec, Place};
///
/// let place = Place::default();
/// let mut spec = CommandSpec::line("touch /tmp/here", "/home/me/project");
/// spec.place = Some(place.clone());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Place {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    number: NonZeroU64,
    /// The wardens that hold something for it: one, unless that was killed.
    wardens: Mutex<Vec<Weak<Connection>>>,
}

impl Default for Inner {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            number: NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX),
            wardens: Mutex::default(),
        }
    }
}

impl Place {
    /// Its number, for an order to this warden.
    pub(super) fn within(&self, warden: &Arc<Connection>) -> NonZeroU64 {
        let wardens = self.inner.wardens.lock();
        let mut wardens = wardens.unwrap_or_else(PoisonError::into_inner);
        wardens.retain(|known| known.strong_count() > 0);
        let known = |known: &Weak<Connection>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(warden));
        if !wardens.iter().any(known) {
            wardens.push(Arc::downgrade(warden));
        }
        self.inner.number
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let wardens = self.wardens.get_mut();
        let wardens = wardens.unwrap_or_else(PoisonError::into_inner);
        for warden in wardens.iter().filter_map(Weak::upgrade) {
            // A warden that is gone took everything along.
            let _ = wire::send(warden.socket(), &serve::end_packet(self.number), &[]);
        }
    }
}
