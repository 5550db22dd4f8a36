//! Where events go.

use tokio::sync::mpsc;
use toolgate_model::Event;

/// A bounded way to whoever listens. A slow listener makes the line wait; one that is gone does not.
#[derive(Clone, Debug, Default)]
pub struct EventSink(Option<mpsc::Sender<Event>>);

impl EventSink {
    /// Nobody listens.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A sink and its other end, with room for `capacity` events.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self(Some(sender)), receiver)
    }

    /// Whether somebody may listen.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Waits until the listener takes one more event. Nothing if nobody listens, or no longer.
    pub(crate) async fn room(&self) -> Option<mpsc::Permit<'_, Event>> {
        self.0.as_ref()?.reserve().await.ok()
    }

    /// Tells whoever listens; the event is made if somebody does.
    pub async fn send(&self, event: impl FnOnce() -> Event) {
        if let Some(room) = self.room().await {
            room.send(event());
        }
    }
}
