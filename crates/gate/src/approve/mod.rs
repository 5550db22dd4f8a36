//! Asking the person: one question for everything a batch needs.
//!
//! ```text
//! NeedsApproval… ──▶ ApprovalRequest ──▶ Approver ──▶ Answer ──▶ Authorized | denied
//!                    (id, plan hashes)   (a person)   (bound to the hashes, used once)
//! ```
//!
//! What can go wrong: nobody is there, nobody answers in time, the line is
//! cancelled while waiting, or what the person was shown has changed meanwhile.
//! Each of these is a result; none of them runs anything.

mod bus;
mod effects;
mod grants;
mod remembering;
mod request;
mod stage;

use futures::future::BoxFuture;

pub use bus::{AnswerError, Bus, Requests};
pub use grants::{Grant, GrantError, GrantStamp, GrantStore, GrantsInMemory, NoGrants};
pub use request::{Answer, ApprovalRequest, Choice, Open, Remember};
pub use toolgate_model::{ApprovalItem, CallKind, DirectoryAccess, NetworkAccess};
pub use toolgate_policy::GrantScope;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// Nobody is there to ask.
    #[error("nobody is there to ask")]
    NobodyThere,
    /// Whoever was asked failed: the approver panicked.
    #[error("the approver failed")]
    Failed,
    /// Nobody answered in time.
    #[error("nobody answered in time")]
    Expired,
    /// The line was cancelled while it waited.
    #[error("the question was cancelled")]
    Cancelled,
}

/// Somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks and waits. Dropping the future takes the question back. What it returns is boxed:
    /// `Box::pin(async move { … })`.
    fn ask<'a>(&'a self, request: &'a ApprovalRequest)
    -> BoxFuture<'a, Result<Answer, Unanswered>>;

    /// Whether anybody gets to see the question. It is on record before that; where nobody
    /// does, it goes on record with the answer, before anything happens because of it.
    fn is_seen(&self) -> bool {
        true
    }
}

/// Says yes to everything that may be asked. It has to be named to be used.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproveAll;

impl Approver for ApproveAll {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::yes().by("approve-all"))))
    }

    fn is_seen(&self) -> bool {
        false
    }
}

/// Says no to everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl<A: Approver + ?Sized> Approver for std::sync::Arc<A> {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        (**self).ask(request)
    }

    fn is_seen(&self) -> bool {
        (**self).is_seen()
    }
}

impl Approver for DenyAll {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        Box::pin(std::future::ready(Ok(Answer::no().by("deny-all"))))
    }

    fn is_seen(&self) -> bool {
        false
    }
}
