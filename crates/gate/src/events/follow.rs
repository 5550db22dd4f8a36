//! Reading a conversation's events: those on record, then those that come.
//!
//! ```text
//!  subscribe ─▶ read the journal after `after` ─▶ streamed pieces so far ─▶ live
//!                 ▲                                                          │ a gap, or the reader is behind
//!                 └──────────────────────────────────────────────────────────┘
//! ```
//!
//! The journal decides: a live event is passed on only if it follows the last entry that was
//! read. In every other case the entries in between are read first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use toolgate_model::{CallId, ConversationId, Event, EventKind, MessageId};

use super::{Hub, Teller};
use crate::gate::Gate;
use crate::journal::{Body, Filter, JournalError, Line, ReadJournal, Record};
use crate::output::Redactor;
use crate::session::Session;

/// So many entries are read at once.
const PAGE: u64 = 256;

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Followed {
    /// The next event.
    Event(Box<Event>),
    /// The subscriber was too slow, and so many live events were dropped. What is on record is
    /// read again and follows; of streamed output the end follows.
    Lagged(u64),
}

/// The events of one conversation, in order, none twice. Nothing waits for it.
///
/// Events of entries come exactly once each. Streamed pieces come as long as they are not
/// journalled, each byte at most once; only a reader that lags can miss some, and sees that by
/// their offsets.
pub struct Subscription {
    reader: Reader,
    hub: Weak<Hub>,
    /// Nothing once the conversation has ended.
    live: Option<broadcast::Receiver<Event>>,
    /// Whether entries may be on record that were not read.
    behind: bool,
    /// Pieces that were streamed before the subscription, or that were lost by lagging.
    streamed: Vec<Event>,
    ready: VecDeque<Event>,
    pieces: Pieces,
}

impl Gate {
    /// The events of the entries of a conversation after this number: the same that were sent
    /// when the entries were written.
    pub async fn replay(
        &self,
        journal: Arc<dyn ReadJournal>,
        conversation: &ConversationId,
        after: u64,
    ) -> Result<Vec<Event>, JournalError> {
        let redactor = Arc::clone(&self.inner.redactor);
        replay(journal, redactor, conversation, after).await
    }

    /// Follows a conversation from the entry after this number on: first what is on record in
    /// the journal that this gate writes, then what happens.
    pub fn follow(
        &self,
        journal: Arc<dyn ReadJournal>,
        session: &Session,
        after: u64,
    ) -> Subscription {
        // Before the journal is read, so that nothing falls in between.
        let (live, streamed) = session.hub().subscribe();
        let redactor = Arc::clone(&self.inner.redactor);
        Subscription {
            reader: Reader::new(journal, redactor, session.id().clone(), after),
            hub: Arc::downgrade(session.hub()),
            live,
            behind: true,
            streamed,
            ready: VecDeque::new(),
            pieces: Pieces::default(),
        }
    }
}

/// [`Gate::replay`] for a journal that no gate of this process writes.
pub async fn replay(
    journal: Arc<dyn ReadJournal>,
    redactor: Arc<Redactor>,
    conversation: &ConversationId,
    after: u64,
) -> Result<Vec<Event>, JournalError> {
    let mut reader = Reader::new(journal, redactor, conversation.clone(), after);
    let mut all = VecDeque::new();
    while reader.page(&mut all).await? {}
    Ok(all.into())
}

impl Subscription {
    /// Reads the journal again before it waits: another writer may have added entries.
    pub fn look_again(&mut self) {
        self.behind = true;
    }

    /// Ends it: the events that were read and not passed on yet, and [`Self::after`].
    pub fn into_rest(self) -> (Vec<Event>, u64) {
        (self.ready.into(), self.reader.after)
    }

    /// The number of the last entry that was read or passed on: where to follow from later.
    pub fn after(&self) -> u64 {
        self.reader.after
    }

    /// Waits for the next event. Nothing comes after the conversation has ended. After an error
    /// the journal is read again by the next call.
    pub async fn next(&mut self) -> Result<Option<Followed>, JournalError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(Followed::Event(Box::new(event))));
            }
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            let Some(live) = &mut self.live else {
                return Ok(None);
            };
            match live.recv().await {
                Ok(event) => self.take(event),
                Err(RecvError::Lagged(missed)) => {
                    self.behind = true;
                    self.streamed = self.hub.upgrade().map_or_else(Vec::new, |hub| hub.open());
                    return Ok(Some(Followed::Lagged(missed)));
                }
                Err(RecvError::Closed) => {
                    self.live = None;
                    self.behind = true;
                }
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), JournalError> {
        self.behind = self.reader.page(&mut self.ready).await?;
        for event in &self.ready {
            self.pieces.end(&event.kind);
        }
        if !self.behind {
            for event in std::mem::take(&mut self.streamed) {
                self.ready.extend(self.pieces.rest(event));
            }
        }
        Ok(())
    }

    fn take(&mut self, event: Event) {
        let Some(seq) = event.seq else {
            self.ready.extend(self.pieces.rest(event));
            return;
        };
        if seq <= self.reader.after {
            return;
        }
        if seq == self.reader.after + 1 {
            self.reader.pass(&event);
            self.pieces.end(&event.kind);
            // Everything that was sent before it is through.
            self.pieces.ended.clear();
            self.ready.push_back(event);
        } else {
            // Entries without an event, or of another writer, are in between.
            self.behind = true;
        }
    }
}

/// Which streamed pieces a subscriber has.
#[derive(Debug, Default)]
struct Pieces {
    /// How many bytes of each stream were passed on.
    passed: HashMap<Piece, u64>,
    /// Streams whose end was read from the journal while pieces of them may be on their way.
    ended: HashSet<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Piece {
    Text(MessageId),
    Thinking(MessageId),
    Output(CallId),
}

impl Pieces {
    /// An event as far as the subscriber does not have it.
    fn rest(&mut self, mut event: Event) -> Option<Event> {
        let (of, offset, text) = match &mut event.kind {
            EventKind::TextDelta {
                message_id,
                offset,
                text,
            } => (Piece::Text(message_id.clone()), offset, text),
            EventKind::ThinkingDelta {
                message_id,
                offset,
                text,
            } => (Piece::Thinking(message_id.clone()), offset, text),
            EventKind::OutputChunk {
                call_id,
                offset,
                text,
                ..
            } => (Piece::Output(call_id.clone()), offset, text),
            _ => return Some(event),
        };
        if self.ended.contains(&of) {
            return None;
        }
        let end = offset.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        let passed = self.passed.entry(of).or_default();
        if end <= *passed {
            return None;
        }
        if let Ok(known) = usize::try_from(passed.saturating_sub(*offset))
            && known > 0
        {
            *text = text.get(known..).unwrap_or_default().to_owned();
            *offset = *passed;
        }
        *passed = end;
        Some(event)
    }

    /// Forgets the streams that an event ends.
    fn end(&mut self, kind: &EventKind) {
        let mut end = |of: Piece| {
            self.passed.remove(&of);
            self.ended.insert(of);
        };
        match kind {
            EventKind::AssistantMessage {
                message_id: Some(id),
                ..
            } => {
                end(Piece::Text(id.clone()));
                end(Piece::Thinking(id.clone()));
            }
            EventKind::CallFinished { result } => end(Piece::Output(result.call_id.clone())),
            // An id can be used again once its call has ended.
            EventKind::CallStarted { call_id, .. } => {
                self.ended.remove(&Piece::Output(call_id.clone()));
            }
            _ => {}
        }
    }
}

/// Makes events of what is on record.
struct Reader {
    journal: Arc<dyn ReadJournal>,
    redactor: Arc<Redactor>,
    conversation: ConversationId,
    after: u64,
    teller: Teller,
}

impl Reader {
    fn new(
        journal: Arc<dyn ReadJournal>,
        redactor: Arc<Redactor>,
        conversation: ConversationId,
        after: u64,
    ) -> Self {
        Self {
            journal,
            redactor,
            conversation,
            after,
            teller: Teller::default(),
        }
    }

    /// Adds the events of the next entries. Returns whether there may be more.
    async fn page(&mut self, events: &mut VecDeque<Event>) -> Result<bool, JournalError> {
        let mut filter = Filter::after(&self.conversation, self.after);
        filter.most = Some(PAGE);
        let lines = self.journal.entries(filter).await?;
        let more = u64::try_from(lines.len()).is_ok_and(|read| read >= PAGE);
        for line in lines {
            self.find_plan(&line).await?;
            let kind = self.teller.read(&line, &self.redactor);
            self.after = line.seq;
            events.extend(kind.map(|kind| Event {
                conversation_id: self.conversation.clone(),
                seq: Some(line.seq),
                kind,
            }));
        }
        Ok(more)
    }

    /// Takes note of an event that was not read here.
    fn pass(&mut self, event: &Event) {
        self.after = event.seq.unwrap_or(self.after);
    }

    /// Reads the plan of a call that was planned before the entries that are read.
    async fn find_plan(&mut self, line: &Line) -> Result<(), JournalError> {
        let Body::Kept(record) = &line.body else {
            return Ok(());
        };
        if !self.teller.lacks_plan(&line.call, record) {
            return Ok(());
        }
        let filter = Filter {
            call: Some(line.call.clone()),
            kind: Some("planned".into()),
            ..Filter::of(&self.conversation)
        };
        let planned = self.journal.entries(filter).await?;
        let before = planned.into_iter().filter(|other| other.seq < line.seq);
        if let Some(Body::Kept(record)) = before.last().map(|other| other.body)
            && matches!(&*record, Record::Planned { .. })
        {
            self.teller.pass(&line.call, &record);
        }
        Ok(())
    }
}
