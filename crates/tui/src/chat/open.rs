//! Opening a conversation: a new one, or one of the journal.

use toolgate_app::interrupted::{Class, Interrupted};
use toolgate_app::{App, AppError, Conversation, StartOptions};
use toolgate_model::{CallId, ConversationId};

use crate::text::one_line;

/// A conversation, and what has to be decided about it first.
pub(super) struct Opened {
    pub(super) conversation: Conversation,
    /// What a crash left, if the user has to decide.
    pub(super) interrupted: Option<Interrupted>,
    /// Calls that wait for results of the user.
    pub(super) wanted: Vec<(CallId, String)>,
}

/// Opens the conversation.
pub(super) async fn open(
    app: &App,
    id: Option<&ConversationId>,
    start: &StartOptions,
) -> Result<Opened, AppError> {
    let Some(id) = id else {
        return Ok(Opened {
            conversation: app.start(start.clone())?,
            interrupted: None,
            wanted: Vec::new(),
        });
    };
    let conversation = app.conversation(id).await?;
    conversation.configure(start.clone()).await?;
    conversation.prepare().await?;
    let interrupted = conversation.interrupted().await?;
    if interrupted.waits_for_results() {
        let calls = interrupted.calls().iter();
        let open = calls.filter(|call| call.class() != Class::Finished);
        let wanted = open.map(|call| (call.call.clone(), call.tool.clone().unwrap_or_default()));
        return Ok(Opened {
            wanted: wanted.collect(),
            conversation,
            interrupted: None,
        });
    }
    let interrupted = match interrupted.turn() {
        None => None,
        Some(_) if interrupted.is_undecided() => Some(interrupted),
        Some(_) => {
            conversation.resume(&interrupted, None).await?;
            None
        }
    };
    Ok(Opened {
        conversation,
        interrupted,
        wanted: Vec::new(),
    })
}

/// What a crash left, as lines: what finished, what did not start, what is unknown.
pub(super) fn told(interrupted: &Interrupted) -> Vec<String> {
    let mut lines = vec!["The last turn was cut off. Its calls:".to_owned()];
    for (call, tool) in interrupted.finished() {
        lines.push(format!(
            "  finished         {}  {}",
            one_line(tool),
            one_line(call)
        ));
    }
    for call in interrupted.calls() {
        let class = match call.class() {
            Class::NotStarted => "not started    ",
            Class::Finished => "finished       ",
            Class::OutcomeUnknown => "outcome unknown",
        };
        let tool = call.tool.as_deref().unwrap_or("not planned");
        let half = if call.half_changed {
            "  in the middle of changing files"
        } else {
            ""
        };
        lines.push(format!(
            "  {class}  {}  {}{half}",
            one_line(tool),
            one_line(call.call.as_str())
        ));
    }
    lines.push("Nothing is run again. Type /keep to go on with what there is, or /discard to give all results of these calls up.".to_owned());
    lines
}
