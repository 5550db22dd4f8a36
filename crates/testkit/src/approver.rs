//! A person who answers by script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Unanswered};

/// What the person does with one question.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers.
    Say(Answer),
    /// Lets it be known that there is no answer.
    None(Unanswered),
    /// Never answers.
    Never,
    /// Panics.
    Panic,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Say(answer)
    }
}

type Before = dyn Fn(&ApprovalRequest) + Send + Sync;

/// Answers in order and remembers what was asked. With the script at its end, nobody is there.
#[derive(Clone)]
pub struct ScriptedApprover {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<ApprovalRequest>>>,
    before: Option<Arc<Before>>,
}

impl ScriptedApprover {
    /// A person with these replies.
    pub fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self {
            replies: Arc::new(Mutex::new(replies.into_iter().map(Into::into).collect())),
            asked: Arc::default(),
            before: None,
        }
    }

    /// The same; this happens between the question and the answer.
    #[must_use]
    pub fn before(mut self, act: impl Fn(&ApprovalRequest) + Send + Sync + 'static) -> Self {
        self.before = Some(Arc::new(act));
        self
    }

    /// The questions so far.
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for ScriptedApprover {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        self.asked.lock().unwrap().push(request.clone());
        if let Some(before) = &self.before {
            before(request);
        }
        let reply = self.replies.lock().unwrap().pop_front();
        match reply {
            Some(Reply::Say(answer)) => Box::pin(std::future::ready(Ok(answer))),
            Some(Reply::None(why)) => Box::pin(std::future::ready(Err(why))),
            Some(Reply::Never) => Box::pin(std::future::pending()),
            Some(Reply::Panic) => panic!("the approver panics, says the test"),
            None => Box::pin(std::future::ready(Err(Unanswered::NobodyThere))),
        }
    }
}
