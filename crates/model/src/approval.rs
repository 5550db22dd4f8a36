//! A question to the user, as an approver and every client sees it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::Args;
use crate::facts::Facts;
use crate::ids::{ApprovalId, CallId, PlanHash};
use crate::plan::{NeededDirectory, Risk};

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
    /// What a command does, in words made from its facts, the gravest first. Empty for other
    /// tools: their summary says it, and `locations` what they touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// What the sandbox will refuse of it after a plain yes, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_fail: Vec<String>,
    /// Directories beyond the sandbox that the call would need. Only an answer that says so opens them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub could_open: Vec<String>,
    /// The networks that an answer can open to the call, the smallest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub could_connect: Vec<NetworkAccess>,
    /// What "always" would remember, in words. Nothing where it could not be remembered.
    pub would_remember: Vec<String>,
    /// Examples of calls that the remembered rule would allow, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_cover: Vec<String>,
    /// Kinds of calls that can be allowed for the conversation, of which this is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub could_allow: Vec<CallKind>,
    /// What the answer is bound to.
    pub plan_hash: PlanHash,
}

/// A kind of calls that one answer can allow for a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Changes to files of the workspace by file tools.
    Edits,
    /// Commands in the command sandbox.
    Commands,
}

/// A network that an answer can open to commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// A loopback device of the sandbox's own.
    Loopback,
    /// The network of the machine.
    On,
}

impl NetworkAccess {
    /// The spelling of configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::On => "on",
        }
    }
}

/// How a directory beyond the sandbox is opened.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryAccess {
    /// For reading.
    #[default]
    Read,
    /// For reading and writing.
    Write,
}

/// What an approver opened to a call beyond its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Openings {
    /// Directories, by identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<OpenedDirectory>,
    /// The network, if it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkAccess>,
}

/// A directory that an approver opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedDirectory {
    /// The directory as it was shown.
    pub directory: NeededDirectory,
    /// How it is opened.
    #[serde(default)]
    pub access: DirectoryAccess,
}

impl Openings {
    /// Whether nothing was opened.
    pub const fn is_empty(&self) -> bool {
        self.directories.is_empty() && self.network.is_none()
    }

    /// Adds what another answer opened. Of two accesses to one directory the wider counts.
    pub fn add(&mut self, more: &Self) {
        for new in &more.directories {
            let known = self.directories.iter_mut();
            match known.into_iter().find(|old| old.directory == new.directory) {
                Some(old) => old.access = old.access.max(new.access),
                None => self.directories.push(new.clone()),
            }
        }
        self.network = self.network.max(more.network);
    }

    /// Takes away what was revoked: directories by identity, and the network as a whole.
    pub fn remove(&mut self, revoked: &Self) {
        let is_revoked = |opened: &OpenedDirectory| {
            let mut gone = revoked.directories.iter();
            gone.any(|gone| gone.directory == opened.directory)
        };
        self.directories.retain(|opened| !is_revoked(opened));
        if revoked.network.is_some() {
            self.network = None;
        }
    }

    /// What was opened in words, a directory or network each.
    pub fn in_words(&self) -> Vec<String> {
        let directories = self.directories.iter().map(|opened| {
            let to = &opened.directory.to;
            match opened.access {
                DirectoryAccess::Read => to.clone(),
                DirectoryAccess::Write => format!("{to} (for writing)"),
            }
        });
        let network = self.network.map(|network| match network {
            NetworkAccess::Loopback => "network (loopback)".to_owned(),
            NetworkAccess::On => "network".to_owned(),
        });
        directories.chain(network).collect()
    }
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
    /// How long the answer is remembered: `once`, `conversation`, `project`, or the kind of calls
    /// that it allows for the conversation: `edits`, `commands`.
    pub scope: String,
    /// The approver's own words, or why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The approver's words about single calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<CallId, String>,
}
