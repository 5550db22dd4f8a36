//! Approvals: one question per batch, and its answer.
//!
//! An [`Approver`] is asked once for everything in a batch that needs approval, before anything
//! of the batch runs. The answer is bound to the plans that were shown.
//!
//! ```
//! use toolgate::BoxFuture;
//! use toolgate::approve::{ApprovalAnswer, ApprovalRequest, Approver, Unanswered};
//! use toolgate::call::Risk;
//!
//! /// Approves what is of low risk.
//! struct Careful;
//!
//! impl Approver for Careful {
//!     fn ask<'a>(
//!         &'a self,
//!         request: &'a ApprovalRequest,
//!     ) -> BoxFuture<'a, Result<ApprovalAnswer, Unanswered>> {
//!         let answer = match request.risk() {
//!             Risk::Low => ApprovalAnswer::yes(),
//!             _ => ApprovalAnswer::no().because("Only calls of low risk run here."),
//!         };
//!         Box::pin(async { Ok(answer.by("careful")) })
//!     }
//! }
//! # let _: &dyn Approver = &Careful;
//! // One for every batch and turn: `BatchContext::asking(Careful)`, `turn_context(…).asking(…)`.
//! ```

pub use toolgate_gate::approve::{
    Answer as ApprovalAnswer, AnswerError, ApprovalItem, ApprovalRequest, ApproveAll, Approver,
    Bus, CallKind, Choice, DenyAll, DirectoryAccess, Grant, GrantError, GrantStamp, GrantStore,
    GrantsInMemory, NetworkAccess, NoGrants, Open as OpenedDirectory, Remember, Requests,
    Unanswered,
};
pub use toolgate_model::{ApprovalOutcome, ApprovalQuestion, Openings};
pub use toolgate_policy::GrantScope;
