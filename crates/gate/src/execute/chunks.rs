//! Pieces of output on their way to the screen.

use tokio::sync::Mutex;
use toolgate_model::{CallId, Event, Stream};

use super::{EventSink, Stop};
use crate::output::{RedactStream, Redactor, Sanitizer};

/// Makes chunks harmless, in order, whatever way they are cut.
pub(crate) struct Chunks {
    call_id: CallId,
    lanes: Mutex<Lanes>,
}

struct Lanes {
    /// That the call started, while its listener has no room for it. A call holds locks when it
    /// starts, so it does not wait for its listener then.
    started: Option<Event>,
    stdout: Lane,
    stderr: Lane,
    /// Nobody once the call has its result: what a tool that was given up on still says
    /// goes nowhere, and whoever listened is not kept waiting for it.
    events: EventSink,
}

struct Lane {
    sanitizer: Sanitizer,
    redactor: RedactStream,
    /// Harmless text that has not been taken yet. If whoever pushed it was stopped
    /// while the listener was slow, it goes out with the next piece.
    ready: String,
}

impl Chunks {
    /// Reports that a call started, at once or with the first piece, without waiting.
    pub(crate) fn started(
        call_id: CallId,
        tool: String,
        events: EventSink,
        redactor: &Redactor,
    ) -> Self {
        let started = Event::CallStarted {
            call_id: call_id.clone(),
            tool,
        };
        let lane = || Lane {
            sanitizer: Sanitizer::new(),
            redactor: redactor.stream(),
            ready: String::new(),
        };
        Self {
            call_id,
            lanes: Mutex::new(Lanes {
                started: events.send_now(started),
                stdout: lane(),
                stderr: lane(),
                events,
            }),
        }
    }

    pub(crate) async fn push(&self, stream: Stream, bytes: &[u8]) {
        // The lock is held while the listener is waited for: chunks of one call keep their order.
        let mut lanes = self.lanes.lock().await;
        if !lanes.events.is_open() {
            return;
        }
        let Lanes {
            started,
            stdout,
            stderr,
            events,
        } = &mut *lanes;
        let lane = match stream {
            Stream::Stdout => stdout,
            Stream::Stderr => stderr,
        };
        let mut clean = String::new();
        lane.sanitizer.push(bytes, &mut clean);
        lane.redactor.push(&clean, &mut lane.ready);
        if lane.ready.is_empty() {
            return;
        }
        if started.is_some()
            && let Some(room) = events.room().await
            && let Some(started) = started.take()
        {
            room.send(started);
        }
        if let Some(room) = events.room().await {
            room.send(self.chunk(stream, &mut lane.ready));
        }
    }

    /// Hands out what was held back. The call's own end follows. Once the line is cancelled,
    /// a listener that does not read may lose this: it is for the screen.
    pub(crate) async fn finish(&self, listener: &EventSink, stop: Stop<'_>) {
        let mut lanes = tokio::select! {
            biased;
            lanes = self.lanes.lock() => lanes,
            // A tool that was given up on holds them, and waits for the listener itself.
            () = listener.patience(stop.set()) => return,
        };
        let events = std::mem::take(&mut lanes.events);
        let Lanes {
            started,
            stdout,
            stderr,
            ..
        } = &mut *lanes;
        if let Some(started) = started.take() {
            events.send_until(stop.set(), || started).await;
        }
        for (stream, lane) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            let mut clean = String::new();
            lane.sanitizer.finish(&mut clean);
            lane.redactor.push(&clean, &mut lane.ready);
            lane.redactor.finish(&mut lane.ready);
            if !lane.ready.is_empty() {
                let chunk = || self.chunk(stream, &mut lane.ready);
                events.send_until(stop.set(), chunk).await;
            }
        }
    }

    fn chunk(&self, stream: Stream, ready: &mut String) -> Event {
        Event::OutputChunk {
            call_id: self.call_id.clone(),
            stream,
            text: std::mem::take(ready),
        }
    }
}
