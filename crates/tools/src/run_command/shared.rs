//! The place of a conversation's commands.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use toolgate_gate::session::Resource;
use toolgate_sandbox::command::Place;

/// What the commands of a conversation share. The first command makes it, and it ends with the
/// conversation, or with the last command if that takes longer.
#[derive(Debug)]
pub(super) struct Shared(Mutex<Option<Place>>);

impl Default for Shared {
    fn default() -> Self {
        Self(Mutex::new(Some(Place::default())))
    }
}

impl Shared {
    /// The place; none once the conversation has ended.
    pub(super) fn place(&self) -> Option<Place> {
        let place = self.0.lock();
        place.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Resource for Shared {
    fn end(&self) -> BoxFuture<'_, ()> {
        let place = self.0.lock();
        drop(place.unwrap_or_else(PoisonError::into_inner).take());
        Box::pin(std::future::ready(()))
    }
}
