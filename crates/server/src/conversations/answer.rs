//! Answers to questions: who may give them, and what they are bound to.

use std::collections::BTreeSet;
use std::time::Duration;

use toolgate_app::approvals::{Answer, ApprovalId, ApprovalRequest, Remember};

use super::Conversations;
use crate::auth::Principal;
use crate::frames::{Approve, ApproveWord, ToolApprove};
use crate::problem::Problem;

/// How long an answer waits for its question to be on the list: clients hear of a question when
/// it is in the journal, a moment before.
const LISTED: Duration = Duration::from_millis(500);

/// The most bytes of a reason.
const MAX_REASON: usize = 4096;

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) conversation_id: String,
    pub(crate) approval_id: ApprovalId,
    /// Whether other calls of the question are still to be answered.
    pub(crate) is_partial: bool,
}

impl Conversations {
    /// Answers a question, or one call of it.
    pub(crate) async fn answer(
        &self,
        principal: &Principal,
        given: &ToolApprove,
    ) -> Result<Answered, Problem> {
        let wanted = Wanted::of(given)?;
        let remember = remembered(given.remember.as_deref())?;
        if given
            .reason
            .as_ref()
            .is_some_and(|reason| reason.len() > MAX_REASON)
        {
            return Err(Problem::bad("a reason has at most 4096 bytes"));
        }
        let find = self.app.approvals().wait_for(|all| wanted.find(all));
        let request = tokio::time::timeout(LISTED, find).await;
        let request = request.map_err(|_| Problem::approval_closed())?;
        let open = self.any(request.conversation.as_str()).await?;
        if !principal.may_read(open.subject()) {
            // Whoever may not see a conversation learns nothing of its questions.
            return Err(Problem::approval_closed());
        }
        if !principal.may_approve(open.subject()) {
            return Err(Problem::forbidden(
                "this token may not answer this question",
            ));
        }
        check_plans(given, &request)?;
        let calls: Vec<&str> = request
            .items
            .iter()
            .map(|item| item.call_id.as_str())
            .collect();
        let mut answered = Answered {
            conversation_id: request.conversation.as_str().to_owned(),
            approval_id: request.id,
            is_partial: false,
        };
        let answer = match (&given.approve, &given.tool_id, given.approved) {
            (Some(approve), _, _) => chosen(approve, &calls)?,
            (None, Some(call), Some(approved)) => {
                let Some(all) = open.answered_alone(request.id, &calls, call, approved) else {
                    answered.is_partial = true;
                    return Ok(answered);
                };
                let approved = all.into_iter().filter(|(_, approved)| *approved);
                of_calls(approved.map(|(call, _)| call).collect(), &calls)
            }
            _ => return Err(incomplete()),
        };
        let mut answer = answer.remember(remember).by(principal.name());
        if let Some(reason) = &given.reason {
            answer = answer.because(reason.clone());
        }
        let approvals = self.app.approvals();
        approvals.answer(&request.conversation, request.id, answer)?;
        Ok(answered)
    }
}

/// Which question is meant.
struct Wanted<'a> {
    conversation: Option<&'a str>,
    question: Option<ApprovalId>,
    call: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn of(given: &'a ToolApprove) -> Result<Self, Problem> {
        let question = given.approval_id.as_deref().map(str::parse).transpose();
        let question =
            question.map_err(|_| Problem::bad("an approval_id is 32 hexadecimal digits"))?;
        let is_one_call = given.tool_id.is_some() && given.approved.is_some();
        let is_whole = question.is_some() && given.approve.is_some();
        if is_one_call == is_whole {
            return Err(incomplete());
        }
        Ok(Self {
            conversation: given.conversation_id.as_deref(),
            question,
            call: given.tool_id.as_deref(),
        })
    }

    fn find(&self, all: &[ApprovalRequest]) -> Option<ApprovalRequest> {
        let fits = |request: &&ApprovalRequest| {
            let mut items = request.items.iter();
            self.conversation
                .is_none_or(|id| request.conversation.as_str() == id)
                && self.question.is_none_or(|id| request.id == id)
                && self
                    .call
                    .is_none_or(|id| items.any(|item| item.call_id.as_str() == id))
        };
        let mut found = all.iter().filter(fits);
        // Two questions with a call of this id: the client has to say which conversation it means.
        match (found.next(), found.next()) {
            (Some(request), None) => Some(request.clone()),
            _ => None,
        }
    }
}

fn incomplete() -> Problem {
    Problem::bad("send tool_id with approved, or approval_id with approve")
}

/// An answer counts for what was shown.
fn check_plans(given: &ToolApprove, request: &ApprovalRequest) -> Result<(), Problem> {
    let one = given.tool_id.iter().zip(&given.plan_hash);
    let all = given.plan_hashes.iter().chain(one);
    for (call, hash) in all {
        let mut items = request.items.iter();
        let item = items.find(|item| item.call_id.as_str() == call);
        if item.is_none_or(|item| item.plan_hash.as_str() != hash) {
            return Err(Problem::conflict(
                "stale_approval",
                format!("the plan of {call:?} is not the one that was shown; look at it again"),
            ));
        }
    }
    Ok(())
}

fn remembered(name: Option<&str>) -> Result<Remember, Problem> {
    let all = [Remember::Once, Remember::Conversation, Remember::Project];
    let Some(name) = name else {
        return Ok(Remember::Once);
    };
    let found = all.into_iter().find(|one| one.as_str() == name);
    found.ok_or_else(|| Problem::bad("remember is once, conversation or project"))
}

fn chosen(approve: &Approve, calls: &[&str]) -> Result<Answer, Problem> {
    match approve {
        Approve::Word(ApproveWord::All) => Ok(Answer::yes()),
        Approve::Word(ApproveWord::None) => Ok(Answer::no()),
        Approve::Calls(named) => {
            if let Some(unknown) = named.iter().find(|call| !calls.contains(&call.as_str())) {
                return Err(Problem::bad(format!(
                    "the question has no call {unknown:?}"
                )));
            }
            Ok(of_calls(named.iter().cloned().collect(), calls))
        }
    }
}

fn of_calls(approved: BTreeSet<String>, calls: &[&str]) -> Answer {
    if approved.is_empty() {
        Answer::no()
    } else if approved.len() == calls.len() {
        Answer::yes()
    } else {
        Answer::only(approved)
    }
}
