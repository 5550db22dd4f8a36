//! What a crash left of a conversation, for the user on the terminal.

use toolgate_app::interrupted::{Choice, Class, Interrupted, SettledCall, Unfinished};
use toolgate_app::text::approval_text;
use toolgate_app::time;
use toolgate_model::ConversationId;

use crate::clean::style::{BOLD, DIM, GREEN, YELLOW};
use crate::clean::{Clean, say};
use crate::question;

/// Each call of the batch that was interrupted, and what is known of it.
pub(crate) fn pictured(interrupted: &Interrupted) -> Vec<Clean> {
    let finished = interrupted.finished().iter().map(|(call, tool)| {
        let (call, tool) = (approval_text(call), approval_text(tool));
        say!("{}  {}  {}", BOLD.on(call), tool, GREEN.on("finished"))
    });
    let calls = interrupted.calls().iter().map(call_pictured);
    finished.chain(calls).collect()
}

/// Shows the calls and asks what becomes of them; nothing without a user to ask.
pub(crate) async fn ask(interrupted: &Interrupted) -> Option<Choice> {
    let calls = pictured(interrupted);
    let calls = calls.iter().map(|line| say!("  {}\n", line.plain()));
    let question = say!(
        "The last turn was cut off:\n{}Nothing is run again. Resume with what there is (keep), or discard the results of all these calls?",
        Clean::join(calls, "")
    );
    match question::choose(question, &["keep", "discard"]).await? {
        "keep" => Some(Choice::Keep),
        _ => Some(Choice::Discard),
    }
}

/// The remark about a choice that gives up results that are there.
pub(crate) fn given_up(
    id: &ConversationId,
    interrupted: &Interrupted,
    choice: Option<Choice>,
) -> Option<String> {
    let count = interrupted.given_up(choice);
    (count > 0).then(|| {
        format!(
            "The model is told that the results of all calls of the batch are discarded, also of the {count} that had finished; what those did is still there, and `toolgate undo {id}` takes changes of files back.",
        )
    })
}

/// A call and what became of it.
pub(crate) fn lines(settled: &SettledCall) -> Vec<Clean> {
    let files = settled.recovery.iter().flat_map(|recovery| &recovery.files);
    let files = files.map(|file| {
        let (path, note) = (approval_text(&file.path), approval_text(&file.note));
        say!("    {}: {}", path, note)
    });
    let result = settled.result.iter().map(|result| {
        let content = approval_text(&result.content);
        say!("    {}", DIM.on(content))
    });
    let first = std::iter::once(call_pictured(&settled.call));
    first.chain(files).chain(result).collect()
}

fn call_pictured(call: &Unfinished) -> Clean {
    let class = match call.class() {
        Class::NotStarted => GREEN.on("not started"),
        Class::Finished => GREEN.on("finished"),
        Class::OutcomeUnknown => YELLOW.on("outcome unknown"),
    };
    let half = if call.half_changed {
        ", in the middle of changing files"
    } else {
        ""
    };
    // A terminal does not obey the name that a model gave a call.
    say!(
        "{}  {}  {}{}  {}",
        BOLD.on(approval_text(call.call.as_str())),
        approval_text(call.tool.as_deref().unwrap_or("not planned")),
        class,
        half,
        DIM.on(time::shown(call.received_ms))
    )
}
