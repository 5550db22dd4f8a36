//! The words about a call, the same in Markdown and on a page.

use toolgate_gate::journal::{IntendedFile, Recovered};
use toolgate_model::characters::escape_json;
use toolgate_model::{Action, ContentBlock, Status, ToolResult};

use super::transcript::{Said, Story, Transcript};
use crate::listing::one_line;

/// What is said where the record says no more.
pub(super) const GONE: &str = "no longer on record";

/// Who wanted the call.
pub(super) const fn asked_by(story: &Story) -> &'static str {
    if story.by_model {
        "the model"
    } else {
        "a person or program, without a model"
    }
}

/// The blocks of a result that its text does not hold: images, sound and bytes.
pub(super) fn beside_text(result: &ToolResult) -> impl Iterator<Item = &ContentBlock> {
    let blocks = result.blocks.iter();
    blocks.filter(|block| block.as_text().is_none())
}

/// Who let it through, or did not.
pub(super) fn approved_by(story: &Story) -> String {
    if let Some(approval) = &story.approval {
        let said = match (approval.approved, approval.scope.as_str()) {
            (false, _) => "refused".to_owned(),
            (true, "once") => "approved once".to_owned(),
            (true, scope) => format!("approved for the {scope}"),
        };
        let reason = approval.reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        return format!("{} ({said}){reason}", approval.by);
    }
    if story.gone.answer {
        return GONE.to_owned();
    }
    match &story.plan {
        None if story.gone.plan => GONE.to_owned(),
        None => "nobody: it was not planned".to_owned(),
        Some(_) if story.asked_ms.is_some() => "nobody: the question was not answered".to_owned(),
        Some(plan) => {
            let decision = &plan.decision;
            let rule = format!("{} [{}]", decision.rule, decision.source);
            match decision.action {
                Action::Allow => format!("the rules: {rule}"),
                Action::Deny => format!("nobody: the rules deny it, {rule}"),
                Action::Ask => "nobody: a person has to be asked".to_owned(),
            }
        }
    }
}

/// How long something took.
pub(super) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// How long the call took, and how long the approver thought about it.
pub(super) fn took(story: &Story) -> String {
    let ran = match (&story.result, story.started_ms) {
        (Some(result), Some(_)) => span(result.duration_ms),
        (_, None) => "did not run".to_owned(),
        (None, Some(_)) if story.finished_ms.is_some() => GONE.to_owned(),
        (None, Some(_)) => "unknown".to_owned(),
    };
    let asked = story.asked_ms.zip(story.approval.as_ref());
    match asked.map(|(asked, approval)| approval.at_ms.saturating_sub(asked)) {
        Some(waited) if waited > 0 => {
            format!("{ran}, after waiting {} for an answer", span(waited))
        }
        _ => ran,
    }
}

/// What happened to a file: a sign and a word.
pub(super) const fn change(file: &IntendedFile) -> (&'static str, &'static str) {
    match (&file.before, &file.after) {
        (None, _) => ("+", "created"),
        (Some(_), None) => ("−", "deleted"),
        (Some(_), Some(_)) => ("~", "changed"),
    }
}

/// What is to be said about the files, where it is not just that they changed.
pub(super) fn reservation(story: &Story) -> Option<&'static str> {
    if story.files.is_empty() && story.gone.files {
        return Some(GONE);
    }
    // Whether it succeeded is not known where its result is gone.
    let is_gone = story.result.is_none() && story.finished_ms.is_some();
    if story.files.is_empty() || story.has_changed() || is_gone {
        return None;
    }
    Some(match story.recovered {
        Some(Recovered::Back) => "taken back after a crash",
        Some(Recovered::LeftAlone) => "cut off by a crash and left as found",
        Some(Recovered::Forward) | None => "intended; the call did not succeed",
    })
}

/// How the call ended, in a word.
pub(super) fn ended(story: &Story) -> &'static str {
    match (&story.result, story.started_ms) {
        (Some(result), _) => match result.status() {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Denied => "denied",
            Status::Cancelled => "cancelled",
        },
        (None, Some(_)) if story.finished_ms.is_none() => "unknown",
        (None, None) if story.finished_ms.is_none() => "not started",
        (None, _) => GONE,
    }
}

/// The arguments, where they are known.
pub(super) fn arguments(story: &Story) -> Option<String> {
    let known = !story.gone.call;
    known.then(|| {
        let args = serde_json::to_string_pretty(&story.call.args).unwrap_or_default();
        // Written out: a reader has to see what was hidden from them, too.
        escape_json(&args).into_owned()
    })
}

/// What stands where a result should be.
pub(super) fn no_result(story: &Story) -> &'static str {
    match ended(story) {
        "unknown" => "No result: it had begun, and its outcome is not known.",
        "not started" => "No result: it was not started.",
        _ => "No result: it is no longer on record.",
    }
}

/// The user's first words, or the name of a conversation that has none.
pub(super) fn title(transcript: &Transcript) -> String {
    let first = transcript
        .messages
        .iter()
        .find_map(|message| match &message.said {
            Said::User { text } => Some(one_line(text)),
            _ => None,
        });
    let first = first.filter(|words| !words.is_empty());
    first.unwrap_or_else(|| transcript.conversation.clone())
}

/// The calls of a conversation, in order.
pub(super) fn stories(transcript: &Transcript) -> impl Iterator<Item = &Story> {
    transcript
        .messages
        .iter()
        .filter_map(|message| match &message.said {
            Said::Tool(story) => Some(&**story),
            _ => None,
        })
}

/// How many calls there were, and how they ended.
pub(super) fn counted(transcript: &Transcript) -> String {
    let count = stories(transcript).count();
    let ends = [
        "ok",
        "error",
        "denied",
        "cancelled",
        "unknown",
        "not started",
        GONE,
    ];
    let parts = ends.map(|end| {
        let of_end = stories(transcript).filter(|story| ended(story) == end);
        (of_end.count(), end)
    });
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, end)| format!("{count} {end}"))
        .collect();
    match count {
        0 => "no calls".to_owned(),
        1 => format!("1 call: {}", parts.join(", ")),
        _ => format!("{count} calls: {}", parts.join(", ")),
    }
}
