//! `toolgate journal list`: the conversations on record.

use serde_json::{Value, json};
use toolgate_app::App;
use toolgate_app::journal::State;
use toolgate_app::listing::{Listed, Which};
use toolgate_app::time::{self, shown};

use super::counted;
use crate::args::Common;
use crate::clean::style::{BOLD, DIM, RED};
use crate::clean::{Clean, say};
use crate::clock;
use crate::failure::CliError;
use crate::out::Out;

pub(super) async fn list(
    app: &App,
    common: &Common,
    out: &Out,
    limit: Option<usize>,
    since: Option<&str>,
) -> Result<u8, CliError> {
    let since_ms = since.map(|text| {
        time::before(text, clock::now_ms()).ok_or_else(|| {
            CliError::usage(format!(
                "--since {text}: not a time; write 30m, 2h, 3d or 1w for so long ago, or a date like 2026-01-31"
            ))
        })
    });
    let here = common.workspace.is_some().then(|| app.workspace());
    let which = Which {
        since_ms: since_ms.transpose()?,
        workspace: here.map(std::path::Path::to_path_buf),
        most: limit,
    };
    let all = app.list(which).await?;
    for listed in &all {
        if out.json {
            out.json_line(&line(listed))?;
        } else {
            out.text(pictured(listed))?;
        }
    }
    out.remark(say!(
        "{} {} in {}",
        all.len(),
        match all.len() {
            1 => "conversation",
            _ => "conversations",
        },
        app.journal_file()
    ));
    Ok(0)
}

fn line(listed: &Listed) -> Value {
    let conversation = &listed.conversation;
    json!({
        "conversation": conversation.id,
        "first_words": listed.first_words,
        "workspace": conversation.workspace,
        "started_ms": conversation.started_ms,
        "last_ms": conversation.last_ms,
        "entries": conversation.entries,
        "calls": counted(&conversation.calls),
        "bytes": conversation.bytes,
        "held_by": conversation.held_by,
    })
}

fn pictured(listed: &Listed) -> Clean {
    let conversation = &listed.conversation;
    let calls: u64 = conversation.calls.values().sum();
    let noun = if calls == 1 { "call" } else { "calls" };
    let finished = conversation.calls.get(&State::Finished);
    let open = calls - finished.copied().unwrap_or(0);
    let open = if open == 0 {
        Clean::default()
    } else {
        say!(", {}", RED.on(say!("{} without a result", open)))
    };
    let held = conversation
        .held_by
        .map(|process| say!(", in use by process {}", process));
    let words = listed.first_words.as_ref();
    say!(
        "{}  {}  {} {}{}{}  {}{}",
        BOLD.on(&conversation.id),
        shown(conversation.last_ms),
        calls,
        noun,
        open,
        held,
        DIM.on(conversation.workspace.as_deref()),
        words.map(|words| say!("\n    {}", words))
    )
}
