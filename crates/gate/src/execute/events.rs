//! Where events go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use toolgate_model::Event;

/// So long a listener that does not read holds a line that was cancelled, once for all events.
const PATIENCE: Duration = Duration::from_millis(200);

/// A bounded way to whoever listens. A slow listener makes the line wait; one that is gone does not.
#[derive(Clone, Debug, Default)]
pub struct EventSink(Option<Arc<Way>>);

#[derive(Debug)]
struct Way {
    sender: mpsc::Sender<Event>,
    /// Whether the listener let the time pass that it has after a cancellation, and has
    /// taken nothing since.
    silent: AtomicBool,
}

impl EventSink {
    /// Nobody listens.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A sink and its other end, with room for `capacity` events.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let silent = AtomicBool::new(false);
        (Self(Some(Arc::new(Way { sender, silent }))), receiver)
    }

    /// Whether somebody may listen.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|way| !way.sender.is_closed())
    }

    /// Waits until the listener takes one more event. Nothing if nobody listens, or no longer.
    pub(crate) async fn room(&self) -> Option<mpsc::Permit<'_, Event>> {
        self.0.as_ref()?.sender.reserve().await.ok()
    }

    /// The same until the line is `over`; then the listener has a moment left.
    pub(crate) async fn room_until(
        &self,
        over: impl Future<Output = ()>,
    ) -> Option<mpsc::Permit<'_, Event>> {
        let way = self.0.as_ref()?;
        let room = match way.sender.try_reserve() {
            Ok(room) => Some(room),
            Err(TrySendError::Closed(())) => None,
            Err(TrySendError::Full(())) => tokio::select! {
                biased;
                room = way.sender.reserve() => room.ok(),
                () = self.patience(over) => None,
            },
        };
        if room.is_some() {
            way.silent.store(false, Ordering::Relaxed);
        }
        room
    }

    /// Ends when the line is `over` and its listener has had its moment.
    pub(crate) async fn patience(&self, over: impl Future<Output = ()>) {
        over.await;
        if let Some(way) = &self.0
            && !way.silent.load(Ordering::Relaxed)
        {
            tokio::time::sleep(PATIENCE).await;
            way.silent.store(true, Ordering::Relaxed);
        }
    }

    /// Sends an event if there is room for it now, and gives it back if not.
    pub(crate) fn send_now(&self, event: Event) -> Option<Event> {
        match self.0.as_ref()?.sender.try_send(event) {
            Err(TrySendError::Full(event)) => Some(event),
            Ok(()) | Err(TrySendError::Closed(_)) => None,
        }
    }

    /// Tells whoever listens; the event is made if somebody does.
    pub async fn send(&self, event: impl FnOnce() -> Event) {
        if let Some(room) = self.room().await {
            room.send(event());
        }
    }

    /// The same for a line that can be cancelled. Until it is `over`, a slow listener loses
    /// nothing. After that one that reads is told everything, and one that does not holds
    /// the line for a moment, once.
    pub async fn send_until(&self, over: impl Future<Output = ()>, event: impl FnOnce() -> Event) {
        if let Some(room) = self.room_until(over).await {
            room.send(event());
        }
    }
}
