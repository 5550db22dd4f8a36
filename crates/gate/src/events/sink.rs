//! Where events go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use toolgate_model::Event;

use crate::sync::{Mutex, lock};

/// So long a listener that does not read holds a pipeline that was cancelled, once for all events.
const PATIENCE: Duration = Duration::from_millis(200);

/// A bounded way to one listener. A slow listener makes the pipeline wait; one that is gone does not.
#[derive(Clone, Debug, Default)]
pub struct EventSink(Option<Arc<Way>>);

#[derive(Debug)]
struct Way {
    sender: mpsc::Sender<Event>,
    /// Events for which there was no room when they happened. They go before all others.
    waiting: Mutex<VecDeque<Event>>,
    /// Whether the listener let the time pass that it has after a cancellation, and has
    /// taken nothing since.
    silent: AtomicBool,
}

impl Way {
    /// Waits until there is room and nothing that has to go first.
    async fn room(&self) -> Option<mpsc::Permit<'_, Event>> {
        loop {
            let room = self.sender.reserve().await.ok()?;
            match self.next(room) {
                Some(room) => return Some(room),
                None => continue,
            }
        }
    }

    /// Uses a place for an event that waits. The place comes back if none does.
    fn next<'a>(&self, room: mpsc::Permit<'a, Event>) -> Option<mpsc::Permit<'a, Event>> {
        let mut waiting = lock(&self.waiting);
        match waiting.pop_front() {
            Some(event) => {
                // Sent under the lock, so that no later event overtakes it.
                room.send(event);
                None
            }
            None => Some(room),
        }
    }

    fn room_now(&self) -> Result<mpsc::Permit<'_, Event>, TrySendError<()>> {
        loop {
            let room = self.sender.try_reserve()?;
            if let Some(room) = self.next(room) {
                return Ok(room);
            }
        }
    }
}

impl EventSink {
    /// No listener.
    pub const fn none() -> Self {
        Self(None)
    }

    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// A sink and its other end, with room for `capacity` events.
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let way = Way {
            sender,
            waiting: Mutex::default(),
            silent: AtomicBool::new(false),
        };
        (Self(Some(Arc::new(way))), receiver)
    }

    /// Whether there may be a listener.
    pub fn is_open(&self) -> bool {
        self.0.as_ref().is_some_and(|way| !way.sender.is_closed())
    }

    /// Sends an event without waiting. Where there is no room, it goes before the next one that
    /// is waited for.
    pub(crate) fn push(&self, event: Event) {
        let Some(way) = &self.0 else { return };
        match way.room_now() {
            Ok(room) => room.send(event),
            Err(TrySendError::Full(())) => lock(&way.waiting).push_back(event),
            Err(TrySendError::Closed(())) => lock(&way.waiting).clear(),
        }
    }

    /// Waits until the listener takes one more event. Nothing if there is no listener.
    pub(crate) async fn room(&self) -> Option<mpsc::Permit<'_, Event>> {
        self.0.as_ref()?.room().await
    }

    /// The same until the pipeline is `over`; then the listener has a moment left.
    pub(crate) async fn room_until(
        &self,
        over: impl Future<Output = ()>,
    ) -> Option<mpsc::Permit<'_, Event>> {
        let way = self.0.as_ref()?;
        let room = match way.room_now() {
            Ok(room) => Some(room),
            Err(TrySendError::Closed(())) => None,
            Err(TrySendError::Full(())) => tokio::select! {
                biased;
                room = way.room() => room,
                () = self.patience(over) => None,
            },
        };
        if room.is_some() {
            way.silent.store(false, Ordering::Relaxed);
        }
        room
    }

    /// Ends when the pipeline is `over` and its listener has had its moment.
    pub(crate) async fn patience(&self, over: impl Future<Output = ()>) {
        over.await;
        if let Some(way) = &self.0
            && !way.silent.load(Ordering::Relaxed)
        {
            tokio::time::sleep(PATIENCE).await;
            way.silent.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until every event so far is on its way to the listener, or until the pipeline is
    /// `over` and the listener has had its moment.
    pub async fn caught_up(&self, over: impl Future<Output = ()>) {
        let waits = |way: &Arc<Way>| !lock(&way.waiting).is_empty();
        if self.0.as_ref().is_some_and(waits) {
            drop(self.room_until(over).await);
        }
    }

    /// Sends an event; it is made if there is a listener.
    pub async fn send(&self, event: impl FnOnce() -> Event) {
        if let Some(room) = self.room().await {
            room.send(event());
        }
    }

    /// The same for a pipeline that can be cancelled. Until it is `over`, a slow listener loses
    /// nothing. After that one that reads gets everything, and one that does not holds
    /// the pipeline for a moment, once.
    pub async fn send_until(&self, over: impl Future<Output = ()>, event: impl FnOnce() -> Event) {
        if let Some(room) = self.room_until(over).await {
            room.send(event());
        }
    }
}
