//! Everything that happens in a conversation, for any number of subscribers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, broadcast};
use toolgate_model::{CallId, ConversationId, Event, EventKind, MessageId, Stream};

use super::{EventSink, Teller};
use crate::journal::{Entry, JournalError, Record};
use crate::output::Redactor;
use crate::sync::{Mutex, MutexGuard, lock};

/// So many events a subscriber may be behind before it reads the journal again.
const CAPACITY: usize = 1024;
/// So many bytes of a running call's output are kept for a subscriber that comes later.
const TAIL_BYTES: usize = 64 * 1024;

/// Sends events to subscribers and never waits for one.
#[derive(Debug)]
pub(crate) struct Hub {
    conversation: ConversationId,
    state: Mutex<State>,
    /// Whether output is kept for subscribers.
    followed: AtomicBool,
    /// Reports that held events went out.
    released: Notify,
}

/// Keeps events back until a batch is durable whose entries may come before theirs, or until
/// it is dropped.
pub(crate) struct Ticket<'a> {
    hub: &'a Hub,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        state.offered.remove(&self.number);
        state.release();
        drop(state);
        self.hub.released.notify_waiters();
    }
}

/// An event that waits for those before it, and its listener.
#[derive(Debug)]
struct HeldEvent {
    event: Event,
    listener: EventSink,
}

#[derive(Debug)]
struct State {
    /// The highest number that is known to be durable.
    durable: u64,
    /// Batches that are offered, each with the highest durable number when it was: its own
    /// numbers are higher.
    offered: BTreeMap<u64, u64>,
    next: u64,
    /// Events by number; streamed pieces stand after the event they follow.
    held: BTreeMap<(u64, u32), HeldEvent>,
    /// Nothing until somebody follows: a channel takes memory.
    sender: Option<broadcast::Sender<Event>>,
    /// Whether the conversation has ended.
    closed: bool,
    teller: Teller,
    /// The answer that is coming in.
    message: Option<OpenMessage>,
    outputs: BTreeMap<CallId, OpenOutput>,
}

#[derive(Debug)]
struct OpenMessage {
    id: MessageId,
    text: String,
    thinking: String,
}

/// The last pieces of a running call's output.
#[derive(Debug, Default)]
struct OpenOutput {
    pieces: VecDeque<(Stream, u64, String)>,
    bytes: usize,
}

impl Hub {
    pub(crate) fn new(conversation: ConversationId) -> Self {
        Self {
            conversation,
            state: Mutex::new(State {
                durable: 0,
                offered: BTreeMap::new(),
                next: 0,
                held: BTreeMap::new(),
                sender: None,
                closed: false,
                teller: Teller::default(),
                message: None,
                outputs: BTreeMap::new(),
            }),
            followed: AtomicBool::new(false),
            released: Notify::new(),
        }
    }

    /// Begins to offer a batch. Taken before the journal gets it.
    pub(crate) fn ticket(&self) -> Ticket<'_> {
        let mut state = self.lock();
        let (number, durable) = (state.next, state.durable);
        state.next += 1;
        state.offered.insert(number, durable);
        Ticket { hub: self, number }
    }

    /// Waits until no event of a call is held.
    pub(crate) async fn unheld(&self, call: &CallId) {
        self.until(|state| !state.holds(call)).await;
    }

    /// Waits until the events of everything that is durable now went out.
    pub(crate) async fn went_out(&self) {
        let durable = self.lock().durable;
        self.until(|state| {
            let first = state.held.keys().next();
            first.is_none_or(|(seq, _)| *seq > durable)
        })
        .await;
    }

    async fn until(&self, done: impl Fn(&State) -> bool) {
        loop {
            let released = self.released.notified();
            if done(&self.lock()) {
                return;
            }
            released.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether output of commands is wanted: somebody follows, or did.
    pub(crate) fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Relaxed)
    }

    pub(crate) fn follow(&self) {
        self.followed.store(true, Ordering::Relaxed);
    }

    /// Events from now on, and what was streamed before and is not journalled yet. Nothing
    /// comes after the conversation has ended.
    pub(super) fn subscribe(&self) -> (Option<broadcast::Receiver<Event>>, Vec<Event>) {
        self.follow();
        let mut state = self.lock();
        let live = (!state.closed).then(|| {
            let sender = state
                .sender
                .get_or_insert_with(|| broadcast::Sender::new(CAPACITY));
            sender.subscribe()
        });
        (live, state.open(&self.conversation))
    }

    /// What was streamed and is not journalled yet.
    pub(super) fn open(&self) -> Vec<Event> {
        self.lock().open(&self.conversation)
    }

    /// Reports entries that are durable, the first with this number. The listener does not get
    /// those that it got before they were.
    pub(crate) fn durable<'e>(
        &self,
        entries: impl Iterator<Item = (&'e Entry, bool)>,
        first: u64,
        redactor: &Redactor,
        listener: &EventSink,
    ) {
        let mut state = self.lock();
        let state = &mut *state;
        let followed = state.is_followed();
        for (seq, (entry, was_sent)) in (first..).zip(entries) {
            state.durable = state.durable.max(seq);
            state.pass(entry);
            let heard = !was_sent && listener.is_open();
            if !followed && !heard {
                continue;
            }
            let Some(kind) = state.teller.event(entry, redactor) else {
                continue;
            };
            let event = Event {
                conversation_id: self.conversation.clone(),
                seq: Some(seq),
                kind,
            };
            let listener = if heard {
                listener.clone()
            } else {
                EventSink::none()
            };
            state.held.insert((seq, 0), HeldEvent { event, listener });
        }
    }

    /// Sends a piece of a call's output, after the events of the call that are held.
    pub(crate) fn piece(&self, event: Event, listener: EventSink) {
        let mut state = self.lock();
        let last = event.call_id().and_then(|call| state.last_held(call));
        match last {
            Some((seq, after)) => {
                let key = (seq, after.saturating_add(1));
                state.held.insert(key, HeldEvent { event, listener });
            }
            None => {
                if !listener.is_none() {
                    listener.push(event);
                } else {
                    state.send(&event);
                }
            }
        }
    }

    /// Reports entries that are not durable to the listener alone.
    pub(crate) fn undurable<'e>(
        &self,
        entries: impl Iterator<Item = &'e Entry>,
        error: &JournalError,
        redactor: &Redactor,
        listener: &EventSink,
    ) {
        let mut state = self.lock();
        for entry in entries {
            state.pass(entry);
            if listener.is_open()
                && let Some(mut kind) = state.teller.event(entry, redactor)
            {
                if let EventKind::CallFinished { result } = &mut kind {
                    let unwritten = || error.to_string().into();
                    result.metadata.entry("journal").or_insert_with(unwritten);
                }
                listener.push(Event::unnumbered(self.conversation.clone(), kind));
            }
        }
    }

    /// Sends an event that has no entry to the subscribers and the listener.
    pub(crate) fn report(&self, kind: EventKind, listener: &EventSink) {
        let event = Event::unnumbered(self.conversation.clone(), kind);
        self.send(&event);
        listener.push(event);
    }

    /// Sends an event that has no entry to the subscribers.
    pub(crate) fn send(&self, event: &Event) {
        self.lock().send(event);
    }

    /// No event comes after this.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.sender = None;
    }
}

impl State {
    fn is_followed(&self) -> bool {
        let sender = self.sender.as_ref();
        sender.is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Sends the events before which no other can come.
    fn release(&mut self) {
        let safe = self.offered.values().min().copied();
        while let Some(first) = self.held.first_entry() {
            if safe.is_some_and(|safe| first.key().0 > safe) {
                return;
            }
            let HeldEvent { event, listener } = first.remove();
            if event.seq.is_some() || listener.is_none() {
                self.send(&event);
            }
            listener.push(event);
        }
    }

    fn holds(&self, call: &CallId) -> bool {
        self.last_held(call).is_some()
    }

    fn last_held(&self, call: &CallId) -> Option<(u64, u32)> {
        let mut held = self.held.iter().rev();
        let found = held.find(|(_, held)| held.event.call_id() == Some(call));
        found.map(|(key, _)| *key)
    }

    fn send(&mut self, event: &Event) {
        self.track(&event.kind);
        if self.is_followed()
            && let Some(sender) = &self.sender
        {
            // An error says that there is no subscriber any more.
            let _ = sender.send(event.clone());
        }
    }

    /// Takes note of an entry: what it says whole is not streamed any more.
    fn pass(&mut self, entry: &Entry) {
        self.teller.pass(&entry.call, &entry.record);
        match &entry.record {
            Record::AssistantMessage { message_id, .. } => {
                let is_it = |open: &mut OpenMessage| Some(&open.id) == message_id.as_ref();
                self.message.take_if(is_it);
            }
            Record::TurnFinished { .. } => self.message = None,
            Record::Finished { .. } => {
                self.outputs.remove(&entry.call);
            }
            _ => {}
        }
    }

    fn track(&mut self, kind: &EventKind) {
        match kind {
            EventKind::TextDelta {
                message_id, text, ..
            } => {
                self.message(message_id).text.push_str(text);
            }
            EventKind::ThinkingDelta {
                message_id, text, ..
            } => {
                self.message(message_id).thinking.push_str(text);
            }
            EventKind::OutputChunk {
                call_id,
                stream,
                offset,
                text,
            } => {
                let output = self.outputs.entry(call_id.clone()).or_default();
                output.push(*stream, *offset, text);
            }
            _ => {}
        }
    }

    fn message(&mut self, id: &MessageId) -> &mut OpenMessage {
        let is_another = |open: &mut OpenMessage| open.id != *id;
        self.message.take_if(is_another);
        self.message.get_or_insert_with(|| OpenMessage {
            id: id.clone(),
            text: String::new(),
            thinking: String::new(),
        })
    }

    fn open(&self, conversation: &ConversationId) -> Vec<Event> {
        let mut kinds = Vec::new();
        if let Some(OpenMessage { id, text, thinking }) = &self.message {
            if !thinking.is_empty() {
                kinds.push(EventKind::ThinkingDelta {
                    message_id: id.clone(),
                    offset: 0,
                    text: thinking.clone(),
                });
            }
            if !text.is_empty() {
                kinds.push(EventKind::TextDelta {
                    message_id: id.clone(),
                    offset: 0,
                    text: text.clone(),
                });
            }
        }
        for (call, output) in &self.outputs {
            for (stream, offset, text) in &output.pieces {
                kinds.push(EventKind::OutputChunk {
                    call_id: call.clone(),
                    stream: *stream,
                    offset: *offset,
                    text: text.clone(),
                });
            }
        }
        let event = |kind| Event::unnumbered(conversation.clone(), kind);
        kinds.into_iter().map(event).collect()
    }
}

impl OpenOutput {
    fn push(&mut self, stream: Stream, offset: u64, text: &str) {
        self.bytes += text.len();
        match self.pieces.back_mut() {
            // Few long pieces instead of many short ones.
            Some((of, _, piece)) if *of == stream && piece.len() < TAIL_BYTES / 16 => {
                piece.push_str(text);
            }
            _ => self.pieces.push_back((stream, offset, text.to_owned())),
        }
        while self.bytes > TAIL_BYTES && self.pieces.len() > 1 {
            let first = self.pieces.pop_front();
            self.bytes -= first.map_or(0, |(_, _, piece)| piece.len());
        }
    }
}
