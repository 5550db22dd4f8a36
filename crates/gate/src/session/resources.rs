//! What tools keep for a conversation, and how it ends with it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::sync::{Mutex, lock};

/// Something that lives as long as a conversation, such as background commands or a count.
pub trait Resource: Any + Send + Sync {
    /// Ends it, and waits until it has ended. By default there is nothing to end.
    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// At most one of each kind.
#[derive(Default)]
pub(super) struct Resources(Mutex<HashMap<TypeId, Arc<dyn Resource>>>);

impl Resources {
    pub(super) fn get<T: Resource + Default>(&self) -> Arc<T> {
        let mut all = lock(&self.0);
        let one = all
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(one) as _;
        // The entry stands under its own type.
        any.downcast().unwrap_or_default()
    }

    pub(super) async fn end(&self) {
        let all: Vec<_> = lock(&self.0).values().cloned().collect();
        for one in all {
            one.end().await;
        }
    }
}
