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
//! ```

pub use toolgate_gate::approve::{
    Answer as ApprovalAnswer, AnswerError, ApprovalItem, ApprovalRequest, ApproveAll, Approver,
    Bus, Choice, DenyAll, Grant, GrantError, GrantStore, GrantsInMemory, NoGrants, Remember,
    Requests, Unanswered,
};
pub use toolgate_policy::GrantScope;
