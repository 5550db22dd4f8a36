//! Follows one conversation for one client.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use toolgate_app::approvals::ApprovalId;
use toolgate_app::{AppError, Subscription};
use toolgate_model::{ApprovalQuestion, Event, EventKind};

use super::view::View;
use super::writer::{Gone, Out};
use crate::auth::Principal;
use crate::conversations::Open;
use crate::frames::{Confirm, ServerFrame, Snapshot};
use crate::state::State;

/// How long a question may take from the journal to the list.
const LISTED: Duration = Duration::from_millis(500);

/// What a follower is told meanwhile.
pub(super) enum Ask {
    /// The client wants the whole state.
    Snapshot,
}

/// From where a client follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct From {
    pub(super) after: u64,
    /// Whether the client's offsets are of another run of the server.
    pub(super) is_stale: bool,
}

/// One client's view of one conversation.
pub(super) struct Follow {
    pub(super) state: Arc<State>,
    pub(super) open: Arc<Open>,
    pub(super) principal: Principal,
    pub(super) out: Out,
}

/// Why a follower ends.
enum End {
    Gone,
    Failed(AppError),
}

impl std::convert::From<Gone> for End {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl std::convert::From<AppError> for End {
    fn from(error: AppError) -> Self {
        Self::Failed(error)
    }
}

impl Follow {
    /// Replays what was missed, says so on `ready`, and follows until the client is gone.
    pub(super) async fn run(
        self,
        from: From,
        mut asked: mpsc::Receiver<Ask>,
        ready: oneshot::Sender<()>,
    ) {
        let may_approve = self.principal.may_approve(self.open.subject());
        let _watching = may_approve.then(|| self.open.watchers.watch());
        let _following = self.open.followers.watch();
        let gone = self.out.gone.clone();
        let ended = tokio::select! {
            ended = self.followed(from, &mut asked, ready) => ended,
            () = gone.cancelled() => Ok(()),
        };
        self.open.touch();
        if let Err(End::Failed(error)) = ended {
            let id = self.open.id.as_str().to_owned();
            let _ = self.out.problem(Some(id), None, error.into()).await;
        }
    }

    async fn followed(
        &self,
        from: From,
        asked: &mut mpsc::Receiver<Ask>,
        ready: oneshot::Sender<()>,
    ) -> Result<(), End> {
        let id = self.open.id.as_str();
        let head = self.open.conversation.last_seq().await?;
        // A client that knows more than the journal knows another one.
        let is_other = from.after > head;
        let after = if is_other { 0 } else { from.after };
        let mut view = View::of(id, after);
        if is_other || from.is_stale {
            let known = View::of(id, after);
            self.snapshot(&known, false, is_other).await?;
        }
        let mut events = self.open.conversation.subscribe(after).await?;
        let missed = events.replay().await?;
        self.replay(&mut view, &missed).await?;
        let _ = ready.send(());
        loop {
            let event = tokio::select! {
                event = events.next() => event?,
                ask = asked.recv() => {
                    if ask.is_none() {
                        return Ok(());
                    }
                    self.snapshot(&view, false, false).await?;
                    continue;
                }
            };
            let Some(event) = event else {
                // It ended here; a new turn begins a session that can be followed again.
                return Ok(());
            };
            if !self.pass(&mut view, &event).await? {
                self.state.counters.behind();
                events = self.caught_up(&mut view).await?;
            }
        }
    }

    /// Sends what is on record. Questions that were answered meanwhile do not wait.
    async fn replay(&self, view: &mut View, missed: &[Event]) -> Result<(), End> {
        let answered: HashSet<ApprovalId> = missed
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ApprovalAnswered { outcome } => Some(outcome.approval_id),
                _ => None,
            })
            .collect();
        for event in missed {
            if let EventKind::ApprovalRequested { question } = &event.kind
                && answered.contains(&question.approval_id)
            {
                let _ = view.take(event);
                let shown = self.shown(false, question.expires_at);
                let confirms = view.frames().question(event.seq, question, shown);
                self.confirm(confirms).await?;
                self.reached(event);
                continue;
            }
            // Streamed pieces are not on record.
            let _ = self.pass(view, event).await?;
        }
        Ok(())
    }

    /// Sends an event. Returns whether it follows what the client has.
    async fn pass(&self, view: &mut View, event: &Event) -> Result<bool, End> {
        let Ok(frame) = view.take(event) else {
            return Ok(false);
        };
        if let EventKind::ApprovalRequested { question } = &event.kind {
            let confirms = self.question(view, event.seq, question).await;
            self.confirm(confirms).await?;
        }
        if let Some(frame) = frame {
            self.out.send(&frame).await?;
        }
        self.reached(event);
        Ok(true)
    }

    fn reached(&self, event: &Event) {
        if let Some(seq) = event.seq {
            self.out.reached(self.open.id.as_str(), seq);
        }
    }

    async fn confirm(&self, confirms: Vec<Confirm>) -> Result<(), Gone> {
        for confirm in confirms {
            self.out
                .send(&ServerFrame::ToolConfirm(Box::new(confirm)))
                .await?;
        }
        Ok(())
    }

    /// A question: as its approver sees it where it waits and this client may answer.
    async fn question(
        &self,
        view: &View,
        seq: Option<u64>,
        question: &ApprovalQuestion,
    ) -> Vec<Confirm> {
        let is_live = self.open.conversation.is_busy();
        let find = self.state.app.approvals().wait_for(|all| {
            let found = all.iter().find(|one| one.id == question.approval_id);
            found.cloned()
        });
        let patience = if is_live { LISTED } else { Duration::ZERO };
        let waiting = tokio::time::timeout(patience, find).await.ok();
        let shown = self.shown(waiting.is_some(), question.expires_at);
        match waiting {
            Some(request) if shown.may_answer => view.frames().request(seq, &request, shown),
            _ => view.frames().question(seq, question, shown),
        }
    }

    fn shown(&self, pending: bool, expires_at: Option<u64>) -> crate::frames::Shown {
        crate::frames::Shown {
            pending,
            may_answer: self.principal.may_approve(self.open.subject()),
            expires_at,
            unwatched_ms: self.state.conversations.unwatched_ms(),
        }
    }

    /// A client that was too slow missed streamed pieces: it gets the state, and goes on there.
    async fn caught_up(&self, view: &mut View) -> Result<Subscription, End> {
        let mut events = self.open.conversation.subscribe(view.seq).await?;
        let missed = events.replay().await?;
        let mut fresh = self.looked_up(view.seq).await?;
        self.replay(view, &missed).await?;
        for event in &missed {
            let _ = fresh.take(event);
        }
        *view = fresh;
        self.snapshot(view, true, false).await?;
        Ok(events)
    }

    /// The state up to an entry, from the journal.
    async fn looked_up(&self, seq: u64) -> Result<View, End> {
        let mut view = View::of(self.open.id.as_str(), 0);
        let mut all = self.open.conversation.subscribe(0).await?;
        for event in all.replay().await? {
            if event.seq.is_some_and(|at| at <= seq) {
                let _ = view.take(&event);
            }
        }
        Ok(view)
    }

    /// Sends the state up to where the client is, with the streamed pieces that it holds.
    async fn snapshot(&self, live: &View, behind: bool, reset: bool) -> Result<(), End> {
        let view = self.looked_up(live.seq).await?.with_streamed(live);
        let (message, thinking) = view.pieces();
        let may_approve = self.principal.may_approve(self.open.subject());
        let waiting = self.open.conversation.approvals();
        let waiting = waiting.iter().filter(|_| may_approve);
        let shown = self.shown(true, None);
        let frames = view.frames();
        let approvals = waiting.flat_map(|request| frames.request(None, request, shown));
        let snapshot = Snapshot {
            conversation_id: self.open.id.as_str().to_owned(),
            epoch: self.state.epoch.clone(),
            seq: live.seq,
            behind,
            reset,
            state: view.state(self.open.conversation.is_busy()),
            turn: view.turn(),
            message,
            thinking,
            calls: view.calls(),
            approvals: approvals.collect(),
        };
        self.out
            .send(&ServerFrame::Snapshot(Box::new(snapshot)))
            .await?;
        Ok(())
    }
}
