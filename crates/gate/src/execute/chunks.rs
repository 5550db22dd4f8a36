//! Pieces of output on their way to the screen.

use std::sync::Arc;

use tokio::sync::Mutex;
use toolgate_model::{CallId, ConversationId, Event, EventKind, Stream};

use super::{EventSink, Stop};
use crate::events::Hub;
use crate::output::{RedactStream, Redactor, Sanitizer};
use crate::session::Session;

/// Makes chunks harmless, in order, whatever way they are cut.
pub(crate) struct Chunks {
    conversation: ConversationId,
    call_id: CallId,
    hub: Arc<Hub>,
    /// Whether there may be subscribers.
    is_followed: bool,
    lanes: Mutex<Lanes>,
}

struct Lanes {
    stdout: Lane,
    stderr: Lane,
    /// None once the call has its result: what a tool that was given up on still says
    /// goes nowhere, and the listener does not have to wait for it.
    events: EventSink,
    /// Whether the call has its result.
    ended: bool,
    /// How many bytes went to the listener and to the subscribers.
    heard: u64,
    followed: u64,
}

struct Lane {
    sanitizer: Sanitizer,
    redactor: RedactStream,
    /// Harmless text that the listener has not taken yet. If the push was stopped
    /// while the listener was slow, it goes out with the next piece.
    ready: String,
}

impl Chunks {
    pub(crate) fn new(
        session: &Session,
        call_id: CallId,
        events: EventSink,
        redactor: &Redactor,
    ) -> Self {
        let lane = || Lane {
            sanitizer: Sanitizer::new(),
            redactor: redactor.stream(),
            ready: String::new(),
        };
        let hub = session.hub();
        Self {
            conversation: session.id().clone(),
            call_id,
            hub: Arc::clone(hub),
            is_followed: hub.is_followed(),
            lanes: Mutex::new(Lanes {
                stdout: lane(),
                stderr: lane(),
                events,
                ended: false,
                heard: 0,
                followed: 0,
            }),
        }
    }

    pub(crate) async fn push(&self, stream: Stream, bytes: &[u8]) {
        // The lock is held while the listener is waited for: chunks of one call keep their order.
        let mut lanes = self.lanes.lock().await;
        let lanes = &mut *lanes;
        if lanes.ended || !(self.is_followed || lanes.events.is_open()) {
            return;
        }
        // Its start goes out first.
        self.hub.unheld(&self.call_id).await;
        let lane = lanes.lane(stream);
        let (mut clean, mut fresh) = (String::new(), String::new());
        lane.sanitizer.push(bytes, &mut clean);
        lane.redactor.push(&clean, &mut fresh);
        self.follow(lanes, stream, fresh);
        if lanes.lane(stream).ready.is_empty() {
            return;
        }
        let events = lanes.events.clone();
        match events.room().await {
            Some(room) => room.send(self.chunk(lanes, stream)),
            None => lanes.lane(stream).ready.clear(),
        }
    }

    /// Hands out what was held back, without waiting. The call's own end follows. Says no if
    /// a tool that was given up on is in the way.
    pub(crate) fn finish_now(&self) -> bool {
        let Ok(mut lanes) = self.lanes.try_lock() else {
            return false;
        };
        let events = self.end(&mut lanes);
        for stream in [Stream::Stdout, Stream::Stderr] {
            if !lanes.lane(stream).ready.is_empty() {
                let chunk = self.chunk(&mut lanes, stream);
                self.hub.piece(chunk, events.clone());
            }
        }
        true
    }

    /// The same after a wait. Once the pipeline is cancelled, a listener that does not read may
    /// lose this: it is for the screen.
    pub(crate) async fn finish(&self, listener: &EventSink, stop: Stop<'_>) {
        let mut lanes = tokio::select! {
            biased;
            lanes = self.lanes.lock() => lanes,
            // A tool that was given up on holds them, and waits for the listener itself.
            () = listener.patience(stop.set()) => return,
        };
        let events = self.end(&mut lanes);
        for stream in [Stream::Stdout, Stream::Stderr] {
            if !lanes.lane(stream).ready.is_empty() {
                let chunk = || self.chunk(&mut lanes, stream);
                events.send_until(stop.set(), chunk).await;
            }
        }
    }

    fn end(&self, lanes: &mut Lanes) -> EventSink {
        lanes.ended = true;
        for stream in [Stream::Stdout, Stream::Stderr] {
            let lane = lanes.lane(stream);
            let (mut clean, mut fresh) = (String::new(), String::new());
            lane.sanitizer.finish(&mut clean);
            lane.redactor.push(&clean, &mut fresh);
            lane.redactor.finish(&mut fresh);
            self.follow(lanes, stream, fresh);
        }
        std::mem::take(&mut lanes.events)
    }

    /// Sends fresh text to the subscribers and keeps it for the listener.
    fn follow(&self, lanes: &mut Lanes, stream: Stream, fresh: String) {
        if self.is_followed && !fresh.is_empty() {
            let event = self.event(stream, &mut lanes.followed, fresh.clone());
            self.hub.piece(event, EventSink::none());
        }
        if lanes.events.is_open() {
            lanes.lane(stream).ready.push_str(&fresh);
        }
    }

    fn chunk(&self, lanes: &mut Lanes, stream: Stream) -> Event {
        let text = std::mem::take(&mut lanes.lane(stream).ready);
        self.event(stream, &mut lanes.heard, text)
    }

    fn event(&self, stream: Stream, before: &mut u64, text: String) -> Event {
        let offset = *before;
        *before = offset.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        let kind = EventKind::OutputChunk {
            call_id: self.call_id.clone(),
            stream,
            offset,
            text,
        };
        Event::unnumbered(self.conversation.clone(), kind)
    }
}

impl Lanes {
    fn lane(&mut self, stream: Stream) -> &mut Lane {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }
}
