//! A question and its answer.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolgate_model::{ApprovalId, ApprovalItem, CallId, ConversationId, PlanRecord, Risk};

use super::Grant;
use crate::output::{Redactor, approval_text, preview_text, whole_line, whole_sentence};
use crate::plan::{Live, beyond};

impl Live {
    /// The call as an approver sees it. `grants` are what "always" would save: those that were tried on this very call.
    ///
    /// Only known values are hidden. The shape of a secret can hold code, so a plan as it is
    /// stored and sent to listeners, redacted by shape, is nothing to approve from.
    pub(crate) fn approval_item(&self, grants: &[Grant], redactor: &Redactor) -> ApprovalItem {
        let (plan, exact) = (&*self.record, &self.exact);
        let shown = |text: &str| whole_line(&redactor.for_approver(text));
        let sentence = |text: &str| whole_sentence(&redactor.for_approver(text));
        let title = |text: &str| approval_text(&redactor.for_approver(text));
        let source = &plan.decision.source;
        ApprovalItem {
            call_id: plan.call.id.clone(),
            tool: plan.tool.clone(),
            summary: title(&exact.summary),
            whole: redactor.whole_for_approver(plan),
            args: redactor.args_for_approver(&plan.call),
            risk: plan.risk,
            facts: redactor.facts_for_approver(&plan.facts),
            locations: plan.locations.iter().map(|place| shown(place)).collect(),
            why: sentence(&format!("{} [{source}]", exact.reason)),
            model_reason: plan.call.reason.as_deref().map(title),
            preview: exact
                .preview
                .as_deref()
                .map(|text| preview_text(&redactor.for_approver(text)).into_owned()),
            preview_cut: plan.preview_cut,
            could_open: plan
                .opens
                .iter()
                .map(|directory| shown(&beyond::shown(directory)))
                .collect(),
            would_remember: grants
                .iter()
                .map(|grant| sentence(&grant.for_approver(redactor).describe()))
                .collect(),
            plan_hash: plan.plan_hash.clone(),
        }
    }
}

/// The call as clients see it: without anything that has the shape of a secret.
pub(super) fn item_for_clients(
    item: &ApprovalItem,
    plan: &PlanRecord,
    redactor: &Redactor,
) -> ApprovalItem {
    let plan = redactor.shown_plan(plan);
    let lines = |texts: &[String]| -> Vec<String> {
        let shown = texts.iter().map(|text| redactor.shown(text));
        shown.map(|text| whole_line(&text)).collect()
    };
    let why = format!("{} [{}]", plan.decision.reason, plan.decision.source);
    ApprovalItem {
        call_id: item.call_id.clone(),
        tool: item.tool.clone(),
        summary: approval_text(&plan.summary),
        whole: plan.whole.unwrap_or_default(),
        args: plan.call.args,
        risk: plan.risk,
        facts: plan.facts,
        locations: lines(&plan.locations),
        why: whole_sentence(&why),
        model_reason: plan.call.reason.as_deref().map(approval_text),
        preview: plan.preview.map(|text| preview_text(&text).into_owned()),
        preview_cut: plan.preview_cut,
        could_open: lines(&item.could_open),
        would_remember: lines(&item.would_remember),
        plan_hash: plan.plan_hash,
    }
}

/// One question for everything a batch needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Its single-use name.
    pub id: ApprovalId,
    /// The conversation whose person is asked.
    pub conversation: ConversationId,
    /// The calls, in their order.
    pub items: Vec<ApprovalItem>,
    /// How long an answer is waited for.
    pub expires_after: Option<Duration>,
}

impl ApprovalRequest {
    /// The highest risk of its calls.
    pub fn risk(&self) -> Risk {
        self.items
            .iter()
            .map(|item| item.risk)
            .max()
            .unwrap_or(Risk::Low)
    }
}

/// Which calls of a question may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// All of them.
    All,
    /// None of them.
    None,
    /// These; ids that were not asked about count for nothing.
    Only(BTreeSet<CallId>),
}

/// How long a yes is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For these calls.
    #[default]
    Once,
    /// Until the conversation ends.
    Conversation,
    /// For this project.
    Project,
}

impl Remember {
    /// The spelling of records and wires.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Conversation => "conversation",
            Self::Project => "project",
        }
    }
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Which calls may run.
    pub choice: Choice,
    /// How long a yes is remembered.
    pub remember: Remember,
    /// Whether the directories that a call would need are opened to it, for reading.
    #[serde(default)]
    pub open: bool,
    /// What the model is told about a no.
    pub reason: Option<String>,
    /// Who answered, for the record.
    pub by: String,
}

impl Answer {
    /// Yes to all, once.
    pub fn yes() -> Self {
        Self {
            choice: Choice::All,
            remember: Remember::Once,
            open: false,
            reason: None,
            by: "person".into(),
        }
    }

    /// No to all.
    pub fn no() -> Self {
        Self {
            choice: Choice::None,
            ..Self::yes()
        }
    }

    /// Yes to these, once.
    pub fn only<I: Into<CallId>>(calls: impl IntoIterator<Item = I>) -> Self {
        Self {
            choice: Choice::Only(calls.into_iter().map(Into::into).collect()),
            ..Self::yes()
        }
    }

    /// The same, remembered for longer.
    #[must_use]
    pub fn remember(mut self, remember: Remember) -> Self {
        self.remember = remember;
        self
    }

    /// The same, and the directories that the calls would need are opened to them.
    #[must_use]
    pub fn opening(mut self) -> Self {
        self.open = true;
        self
    }

    /// The same with words for the model.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The same by somebody.
    #[must_use]
    pub fn by(mut self, by: impl Into<String>) -> Self {
        self.by = by.into();
        self
    }

    /// Whether a call may run.
    pub fn allows(&self, call: &CallId) -> bool {
        match &self.choice {
            Choice::All => true,
            Choice::None => false,
            Choice::Only(calls) => calls.contains(call),
        }
    }
}
