//! The questions of all conversations, for one client.

use std::sync::Arc;
use std::time::Duration;

use super::writer::Out;
use crate::auth::Principal;
use crate::frames::{Confirm, Frames, Inbox, ServerFrame, Shown};
use crate::state::State;

/// The most calls that are listed; the number of all is said.
const MOST: usize = 200;

/// Changes within this time are one frame.
const PAUSE: Duration = Duration::from_millis(50);

/// Sends the list now and whenever it changes.
pub(super) async fn run(state: Arc<State>, principal: Principal, out: Out) {
    let may_answer = principal.role() != crate::auth::Role::Reader;
    let everywhere = principal.is_operator();
    let _watching = (may_answer && everywhere).then(|| state.conversations.everywhere.watch());
    let mut sent: Option<Vec<Confirm>> = None;
    let mut changes = state.app.approvals().changes();
    loop {
        changes.mark_unchanged();
        let (approvals, total) = list(&state, &principal).await;
        if sent.as_ref() != Some(&approvals) {
            let frame = ServerFrame::Inbox(Inbox {
                approvals: approvals.clone(),
                total,
            });
            if out.send(&frame).await.is_err() {
                return;
            }
            sent = Some(approvals);
        }
        tokio::select! {
            () = out.gone.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The questions that a principal may see, with how many calls there are.
pub(crate) async fn list(state: &State, principal: &Principal) -> (Vec<Confirm>, usize) {
    let (mut listed, mut total) = (Vec::new(), 0);
    for request in state.app.approvals().list() {
        let Ok(open) = state.conversations.any(request.conversation.as_str()).await else {
            continue;
        };
        // Exact texts are for those who decide; others see the journal's in the conversation.
        if !principal.may_approve(open.subject()) {
            continue;
        }
        total += request.items.len();
        if listed.len() + request.items.len() <= MOST {
            let shown = Shown {
                pending: true,
                may_answer: true,
                expires_at: None,
                unwatched_ms: state.conversations.unwatched_ms(),
            };
            let frames = Frames::of(request.conversation.as_str());
            listed.extend(frames.request(None, &request, shown));
        }
    }
    (listed, total)
}
