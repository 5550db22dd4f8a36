//! A question and its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolgate_model::{
    ApprovalId, ApprovalItem, CallId, CallKind, ConversationId, DirectoryAccess, NetworkAccess,
    PlanRecord, Risk,
};

use super::{Grant, effects};
use crate::output::{Redactor, approval_text, preview_text, whole_line, whole_sentence};
use crate::plan::{Live, beyond};

/// What an approver can be offered beside a plain yes.
#[derive(Default)]
pub(crate) struct Offer {
    /// What "always" would save: grants that were tried on this very call.
    pub(crate) grants: Vec<Grant>,
    /// The kinds of calls that this call is one of and that can be allowed.
    pub(crate) kinds: Vec<CallKind>,
    /// The networks that can be opened.
    pub(crate) could_connect: Vec<NetworkAccess>,
    /// What the sandbox will refuse after a plain yes.
    pub(crate) would_fail: Vec<String>,
}

impl Live {
    /// The call as an approver sees it.
    ///
    /// Only known values are hidden. The shape of a secret can hold code, so a plan as it is
    /// stored and sent to listeners, redacted by shape, is nothing to approve from.
    pub(crate) fn approval_item(&self, offer: &Offer, redactor: &Redactor) -> ApprovalItem {
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
            effects: effects::in_words(&plan.facts)
                .iter()
                .map(|text| title(text))
                .collect(),
            would_fail: offer.would_fail.iter().map(|text| sentence(text)).collect(),
            could_connect: offer.could_connect.clone(),
            could_allow: offer.kinds.clone(),
            would_cover: Grant::examples(&offer.grants, &plan.facts)
                .iter()
                .map(|text| shown(text))
                .collect(),
            would_remember: offer
                .grants
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
        effects: lines(&item.effects),
        would_fail: lines(&item.would_fail),
        could_connect: item.could_connect.clone(),
        could_allow: item.could_allow.clone(),
        would_cover: lines(&item.would_cover),
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

/// How long a yes is remembered, and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For these calls.
    #[default]
    Once,
    /// For calls like these, until the conversation ends.
    Conversation,
    /// For calls like these in this project.
    Project,
    /// For all changes to files of the workspace, until the conversation ends.
    Edits,
    /// For all commands in the command sandbox, until the conversation ends.
    Commands,
}

impl Remember {
    /// The spelling of records and wires.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Conversation => "conversation",
            Self::Project => "project",
            Self::Edits => "edits",
            Self::Commands => "commands",
        }
    }

    /// The kind of calls that is allowed as a whole, if one is.
    pub const fn kind(self) -> Option<CallKind> {
        match self {
            Self::Once | Self::Conversation | Self::Project => None,
            Self::Edits => Some(CallKind::Edits),
            Self::Commands => Some(CallKind::Commands),
        }
    }
}

impl From<CallKind> for Remember {
    fn from(kind: CallKind) -> Self {
        match kind {
            CallKind::Edits => Self::Edits,
            CallKind::Commands => Self::Commands,
        }
    }
}

/// What an answer opens to the calls that it approves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// How the directories that a call would need are opened; absent if they stay closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<DirectoryAccess>,
    /// The network that is opened to commands; absent if it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkAccess>,
    /// Whether they stay open until the conversation ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_conversation: bool,
}

impl Open {
    /// Whether it opens nothing.
    pub const fn is_nothing(&self) -> bool {
        self.directories.is_none() && self.network.is_none()
    }
}

/// What the person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Which calls may run.
    pub choice: Choice,
    /// How long a yes is remembered.
    pub remember: Remember,
    /// What is opened to the calls that may run.
    #[serde(default)]
    pub open: Open,
    /// What the model is told about a no.
    pub reason: Option<String>,
    /// What the model is told about a no to one call. It comes before `reason`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<CallId, String>,
    /// Who answered, for the record.
    pub by: String,
}

impl Answer {
    /// Yes to all, once.
    pub fn yes() -> Self {
        Self {
            choice: Choice::All,
            remember: Remember::Once,
            open: Open::default(),
            reason: None,
            reasons: BTreeMap::new(),
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

    /// The same, and the directories that the calls would need are opened to them for reading.
    #[must_use]
    pub fn opening(mut self) -> Self {
        self.open.directories = Some(DirectoryAccess::Read);
        self
    }

    /// The same, and the directories that the calls would need are opened to them for writing too.
    #[must_use]
    pub fn opening_for_writing(mut self) -> Self {
        self.open.directories = Some(DirectoryAccess::Write);
        self
    }

    /// The same, and the network is opened to the commands.
    #[must_use]
    pub fn connecting(mut self, network: NetworkAccess) -> Self {
        self.open.network = Some(network);
        self
    }

    /// The same, and what is opened stays open until the conversation ends.
    #[must_use]
    pub fn for_conversation(mut self) -> Self {
        self.open.for_conversation = true;
        self
    }

    /// The same with a no to one call, and words about it for the model. Of an answer that
    /// approves all calls the others stay approved.
    ///
    /// ```
    /// use toolgate_gate::approve::Answer;
    ///
    /// let answer = Answer::only(["a"]).denying("b", "use the other file");
    /// assert!(answer.allows(&"a".into()) && !answer.allows(&"b".into()));
    /// assert_eq!(answer.reason_for(&"b".into()), Some("use the other file"));
    /// ```
    #[must_use]
    pub fn denying(mut self, call: impl Into<CallId>, reason: impl Into<String>) -> Self {
        self.reasons.insert(call.into(), reason.into());
        self
    }

    /// What the model is told about a no to this call.
    pub fn reason_for(&self, call: &CallId) -> Option<&str> {
        self.reasons
            .get(call)
            .or(self.reason.as_ref())
            .map(String::as_str)
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
        !self.reasons.contains_key(call)
            && match &self.choice {
                Choice::All => true,
                Choice::None => false,
                Choice::Only(calls) => calls.contains(call),
            }
    }
}
