//! A question to the user, as an approver and every client sees it.

use serde::{Deserialize, Serialize};

use crate::call::Args;
use crate::facts::Facts;
use crate::ids::{ApprovalId, CallId, PlanHash};
use crate::plan::Risk;

/// One call of a question. Every text is made from the parsed call with nothing hidden; only
/// `model_reason` is the model's own words. `whole` and `preview` have lines, and all others
/// are one line each. `summary` is a title and can leave something out of its middle, while
/// `whole` leaves nothing out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalItem {
    /// The call.
    pub call_id: CallId,
    /// The tool's canonical name.
    pub tool: String,
    /// What it will do, as a title.
    pub summary: String,
    /// Every argument that the preview does not show, whole.
    #[serde(default)]
    pub whole: String,
    /// The arguments without known values, and otherwise as they will be used.
    #[serde(default)]
    pub args: Args,
    /// How much harm it can do.
    pub risk: Risk,
    /// What it reads, writes, deletes, runs and connects to.
    pub facts: Facts,
    /// What it touches.
    pub locations: Vec<String>,
    /// Why the user is asked: the rule and its place.
    pub why: String,
    /// What the model says about it.
    pub model_reason: Option<String>,
    /// The diff or text to look at, if there is one.
    pub preview: Option<String>,
    /// Whether something is missing from the preview because it was too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview_cut: bool,
    /// Directories beyond the sandbox that the call would need. Only an answer that says so opens them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub could_open: Vec<String>,
    /// What "always" would remember, in words. Nothing where it could not be remembered.
    pub would_remember: Vec<String>,
    /// What the answer is bound to.
    pub plan_hash: PlanHash,
}

/// A whole question, as it is journalled and sent to clients. Its texts are redacted like those
/// of plans and results; an approver gets the exact ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalQuestion {
    /// Its single-use name.
    pub approval_id: ApprovalId,
    /// The highest risk of its calls.
    pub risk: Risk,
    /// The calls, in their order.
    pub items: Vec<ApprovalItem>,
    /// When it expires, in milliseconds since 1970. Absent if it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// The whole answer to a question, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalOutcome {
    /// The question's name.
    pub approval_id: ApprovalId,
    /// The calls that may run.
    pub approved: Vec<CallId>,
    /// The calls that may not.
    pub denied: Vec<CallId>,
    /// The approver, or `nobody` if the question was not answered.
    pub by: String,
    /// How long the answer is remembered: `once`, `conversation`, `project`.
    pub scope: String,
    /// The approver's own words, or why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
