//! The events of a conversation: those of the journal, then those that happen.
//!
//! ```text
//! no session here ── the journal alone ── a session begins ──▶ Gate::follow ── it ends ──┐
//!        ▲                                                                                │
//!        └────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A conversation can be opened, configured anew and ended while somebody follows it, so a
//! subscription outlives the sessions that it follows. The journal's numbers carry it from one to
//! the next: a subscriber sees every entry exactly once and in order, whenever it begins.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use toolgate_gate::Gate;
use toolgate_gate::events::{self, Followed};
use toolgate_gate::journal::ReadJournal;
use toolgate_gate::output::Redactor;
use toolgate_gate::session::Session;
use toolgate_model::{ConversationId, Event};

use crate::app::App;
use crate::error::AppError;
use crate::secrets;

/// The session that a conversation has in this process, for those who follow it.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) gate: Gate,
    pub(super) session: Weak<Session>,
    /// The journal that the gate writes.
    pub(super) journal: Arc<dyn ReadJournal>,
}

/// What subscribers know of a conversation besides its journal.
#[derive(Clone, Default)]
pub(super) struct Known {
    live: Option<Live>,
    /// Whether the conversation ended in this process.
    ended: bool,
}

/// Tells subscribers where to look.
pub(super) struct Signals(watch::Sender<Known>);

impl Signals {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Known::default()))
    }

    /// A session began.
    pub(super) fn begin(&self, live: Live) {
        self.0.send_replace(Known {
            live: Some(live),
            ended: false,
        });
    }

    /// The session that it has here.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.0.borrow().live.as_ref()?.session.upgrade()
    }

    /// The journal may have more, from elsewhere than the session.
    pub(super) fn journaled(&self) {
        self.0.send_modify(|_| {});
    }

    /// The conversation ended in this process.
    pub(super) fn end(&self) {
        self.0.send_modify(|known| known.ended = true);
    }
}

/// The events of a conversation, in order, none twice. Nothing waits for it.
pub struct Subscription {
    id: ConversationId,
    app: App,
    redactor: Arc<Redactor>,
    signals: watch::Receiver<Known>,
    following: Option<events::Subscription>,
    /// The session that was followed to its end.
    done: Option<Weak<Session>>,
    /// The last entry that was read.
    after: u64,
    ready: VecDeque<Event>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("id", &self.id)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    pub(super) fn new(
        app: &App,
        id: &ConversationId,
        signals: &Signals,
        after: u64,
    ) -> Result<Self, AppError> {
        let known = secrets::of_environment(&app.options().environment, app.config());
        let mut receiver = signals.0.subscribe();
        receiver.mark_changed();
        Ok(Self {
            id: id.clone(),
            app: app.clone(),
            redactor: Arc::new(Redactor::new(known).map_err(AppError::internal)?),
            signals: receiver,
            following: None,
            done: None,
            after,
            ready: VecDeque::new(),
        })
    }

    /// Waits for the next event; nothing when the conversation ended in this process and
    /// everything was read.
    pub async fn next(&mut self) -> Result<Option<Event>, AppError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(following) = &mut self.following else {
                if !self.look().await? {
                    return Ok(None);
                }
                continue;
            };
            tokio::select! {
                biased;
                followed = following.next() => match followed? {
                    Some(Followed::Event(event)) => return Ok(Some(*event)),
                    // What is on record is read again, and follows.
                    Some(Followed::Lagged(_)) => {}
                    None => {
                        self.after = following.after();
                        self.following = None;
                        self.signals.mark_changed();
                    }
                },
                // The session that is followed ends by itself before another one begins.
                Ok(()) = self.signals.changed() => following.look_again(),
            }
        }
    }

    /// The events that are there now, without waiting for more.
    pub async fn replay(&mut self) -> Result<Vec<Event>, AppError> {
        if let Some(following) = self.following.take() {
            let (rest, after) = following.into_rest();
            self.ready.extend(rest);
            self.after = after;
            // The same session is followed again by the next call.
            self.done = None;
            self.signals.mark_changed();
        }
        self.read_on().await?;
        Ok(self.ready.drain(..).collect())
    }

    /// Reads the journal, then follows the session or waits for one. Returns whether more may
    /// come.
    async fn look(&mut self) -> Result<bool, AppError> {
        if self.signals.changed().await.is_err() {
            self.read_on().await?;
            return Ok(!self.ready.is_empty());
        }
        let known = self.signals.borrow_and_update().clone();
        if let Some(live) = known.live
            && let Some(session) = live.session.upgrade()
            && !self.is_done(&live.session)
        {
            self.done = Some(live.session);
            let following = live.gate.follow(live.journal, &session, self.after);
            self.following = Some(following);
            return Ok(true);
        }
        self.read_on().await?;
        if known.ended {
            // To be found again after the events that are ready.
            self.signals.mark_changed();
        }
        Ok(!known.ended || !self.ready.is_empty())
    }

    fn is_done(&self, session: &Weak<Session>) -> bool {
        let done = self.done.as_ref();
        done.is_some_and(|done| Weak::ptr_eq(done, session))
    }

    /// Reads the journal to its end.
    async fn read_on(&mut self) -> Result<(), AppError> {
        // A conversation that has not begun may be the first in its journal.
        if !self.app.journal_file().exists() {
            return Ok(());
        }
        let reader: Arc<dyn ReadJournal> = self.app.reader()?;
        let redactor = Arc::clone(&self.redactor);
        let read = events::replay(reader, redactor, &self.id, self.after).await?;
        if let Some(seq) = read.iter().rev().find_map(|event| event.seq) {
            self.after = seq;
        }
        self.ready.extend(read);
        Ok(())
    }
}
