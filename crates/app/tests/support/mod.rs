//! An app with a home and a workspace of its own, and scripts that play the model.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use toolgate_app::approvals::ApprovalRequest;
use toolgate_app::{
    App, AppOptions, Approval, Conversation, Finished, Home, Input, ScriptText, StartOptions,
    Subscription,
};
use toolgate_model::{ConversationId, Event, EventKind};

/// Directories that are removed at the end.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) workspace: TempDir,
    pub(crate) notices: Arc<Mutex<Vec<String>>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            workspace: tempfile::tempdir().unwrap(),
            notices: Arc::default(),
        }
    }

    pub(crate) fn configured(self, text: &str) -> Self {
        std::fs::write(self.home.path().join("config.toml"), text).unwrap();
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.workspace.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace.path().join(name)).ok()
    }

    pub(crate) fn app(&self, approval: Approval) -> App {
        app_at(
            self.home.path(),
            self.workspace.path(),
            approval,
            &self.notices,
        )
    }
}

pub(crate) fn app_at(
    home: &Path,
    workspace: &Path,
    approval: Approval,
    notices: &Arc<Mutex<Vec<String>>>,
) -> App {
    let notices = Arc::clone(notices);
    let options = AppOptions::new(Home::at(home), workspace)
        .approval(approval)
        .on_notice(move |text| notices.lock().unwrap().push(text.to_owned()));
    App::open(options).unwrap()
}

/// A conversation with a script, under this id.
pub(crate) fn played(id: &str, script: &str) -> StartOptions {
    StartOptions {
        id: Some(id.into()),
        script: Some(ScriptText {
            path: "script.toml".into(),
            text: script.into(),
        }),
        ..StartOptions::default()
    }
}

/// A script that writes a file and says so.
pub(crate) fn writes(name: &str, content: &str) -> String {
    format!(
        "[[steps]]\ntext = \"I write it.\"\nchunk_bytes = 3\n\n[[steps.calls]]\nid = \"call_1\"\nname = \"write_file\"\nargs = {{ path = {name:?}, content = {content:?} }}\n\n[[steps]]\ntext = \"It is written.\"\nchunk_bytes = 4\n"
    )
}

pub(crate) async fn said(conversation: &Conversation, words: &str) -> Finished {
    let turn = conversation.send(Input::message(words)).await.unwrap();
    turn.outcome().await.unwrap()
}

/// Waits for the question of a conversation.
pub(crate) async fn question(app: &App, of: &ConversationId) -> ApprovalRequest {
    let of = of.clone();
    let wanted = |all: &[ApprovalRequest]| all.iter().find(|one| one.conversation == of).cloned();
    app.approvals().wait_for(wanted).await
}

/// Everything up to the end of the conversation.
pub(crate) async fn all(mut subscription: Subscription) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(one) = subscription.next().await.unwrap() {
        all.push(one);
    }
    all
}

/// The kinds of journaled events.
pub(crate) fn kinds(all: &[Event]) -> Vec<String> {
    let numbered = all.iter().filter(|one| one.seq.is_some());
    let kind = |one: &Event| serde_json::to_value(one).unwrap()["type"].clone();
    numbered
        .map(|one| kind(one).as_str().unwrap().to_owned())
        .collect()
}

/// The words of the model.
pub(crate) fn words(all: &[Event]) -> String {
    let words = all.iter().filter_map(|one| match &one.kind {
        EventKind::AssistantMessage { text, .. } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

/// The numbers of entries, in the order in which they came.
pub(crate) fn numbers(all: &[Event]) -> Vec<u64> {
    all.iter().filter_map(|one| one.seq).collect()
}
