//! `toolgate journal`: what is on record.

mod list;
mod show;

use std::path::Path;

use serde_json::{Value, json};
use toolgate_app::App;
use toolgate_app::journal::{Anchor, Coverage, Filter, Prune, State, Verified};

use crate::args::{Common, JournalCommand};
use crate::assembly;
use crate::clean::style::{BOLD, GREEN, RED};
use crate::clean::{Clean, say};
use crate::clock;
use crate::failure::CliError;
use crate::out::Out;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    command: JournalCommand,
) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    match command {
        JournalCommand::List { limit, since } => {
            list::list(&app, common, out, limit, since.as_deref()).await
        }
        JournalCommand::Show {
            conversation,
            call,
            kind,
            full,
        } => {
            let id = app.find_id(&conversation).await?;
            let call = match call {
                Some(call) => Some(app.find_call(&id, &call).await?),
                None => None,
            };
            let filter = Filter {
                conversation: Some(id),
                call,
                kind,
                ..Filter::default()
            };
            show::show(&app, filter, full, out).await
        }
        JournalCommand::Export {
            conversation,
            format,
            output,
        } => {
            let id = app.find_id(&conversation).await?;
            let page = app.export(&id, format.into()).await?;
            written(&page, output.as_deref(), out)
        }
        JournalCommand::Verify { against } => verify(&app, against.as_deref(), out).await,
        JournalCommand::Prune {
            older_than_days,
            to_bytes,
        } => {
            let days = older_than_days.map(|days| days.saturating_mul(DAY_MS));
            let what = Prune {
                before_ms: days.map(|age| clock::now_ms().saturating_sub(age)),
                to_bytes,
            };
            prune(&app, what, out).await
        }
    }
}

fn counted(calls: &std::collections::BTreeMap<State, u64>) -> Value {
    let counts = calls
        .iter()
        .map(|(state, count)| (state.as_str().to_owned(), json!(count)));
    Value::Object(counts.collect())
}

fn written(page: &str, output: Option<&Path>, out: &Out) -> Result<u8, CliError> {
    let Some(file) = output else {
        return out.raw(Clean::lines(page)).map(|()| 0);
    };
    std::fs::write(file, page).map_err(|error| CliError::internal(say!("{}: {}", file, error)))?;
    out.remark(say!("Written to {}", file));
    Ok(0)
}

async fn verify(app: &App, against: Option<&Path>, out: &Out) -> Result<u8, CliError> {
    let against = against.map(anchor_from).transpose()?;
    let found = app.verify_journal(against).await?;
    if out.json {
        out.json_line(&verdict(&found))?;
    } else {
        for problem in &found.problems {
            out.text(say!("{} {}", RED.on("✗"), problem.to_string()))?;
        }
        if found.more_problems > 0 {
            out.text(say!("and {} more", found.more_problems))?;
        }
        let word = if found.is_sound() {
            GREEN.on("sound")
        } else {
            RED.on("not as it was written")
        };
        out.text(say!(
            "{}: {} conversations, {} entries, {} commits, {} contents pruned",
            BOLD.on(word),
            found.conversations,
            found.entries,
            found.commits,
            found.pruned
        ))?;
        if let Some(remark) = covered(found.coverage) {
            out.remark(remark);
        }
        if let Some(anchor) = &found.anchor {
            out.remark(say!(
                "A cut-off end is only found by comparing with an anchor kept elsewhere. The present one, for --against:\n{}",
                serde_json::to_string(anchor).unwrap_or_default()
            ));
        }
    }
    Ok(u8::from(!found.is_sound()))
}

/// What the commits do not cover, if anything.
fn covered(coverage: Coverage) -> Option<String> {
    let what = "Workspaces, start times and stored values";
    match coverage {
        Coverage::Whole => None,
        Coverage::Since { commit } => Some(format!(
            "{what} are covered from commit {commit} on; an older version wrote the rest, taken over as found."
        )),
        Coverage::Not => Some(format!(
            "{what} are not covered: an older version wrote this file. The next command that writes to it covers them from there on."
        )),
    }
}

fn verdict(found: &Verified) -> Value {
    let problems: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    json!({
        "sound": found.is_sound(),
        "conversations": found.conversations,
        "entries": found.entries,
        "commits": found.commits,
        "pruned": found.pruned,
        "covered_from_commit": match found.coverage {
            Coverage::Whole => Some(1),
            Coverage::Since { commit } => Some(commit),
            Coverage::Not => None,
        },
        "calls": counted(&found.calls),
        "anchor": found.anchor,
        "problems": problems,
        "more_problems": found.more_problems,
    })
}

fn anchor_from(file: &Path) -> Result<Anchor, CliError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("{}: {error}", file.display())))?;
    serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("{} is no anchor: {error}", file.display())))
}

async fn prune(app: &App, what: Prune, out: &Out) -> Result<u8, CliError> {
    let pruned = app.prune_journal(what).await?;
    if out.json {
        out.json_line(&json!({
            "bodies": pruned.bodies,
            "images": pruned.images,
            "bytes": pruned.bytes,
            "before_ms": pruned.before_ms,
        }))?;
    } else {
        out.text(say!(
            "Let go of what {} entries said and of {} contents of files, {} bytes together.",
            pruned.bodies,
            pruned.images,
            pruned.bytes
        ))?;
    }
    Ok(0)
}
