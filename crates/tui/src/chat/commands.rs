//! `/` commands that the app answers.

use std::path::Path;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use toolgate_app::export::ExportFormat;
use toolgate_app::listing::Which;
use toolgate_app::undo::{Scope, Undo, UndoPlan};
use toolgate_app::{App, AppError, ArgsText, Batch, Conversation, Purpose, presets, time};
use toolgate_model::{Args, Call, ToolCall};

use crate::text::one_line;

/// The undo that was shown, with what was typed for it.
pub(super) type Planned = Mutex<Option<(String, Box<UndoPlan>)>>;

/// Runs a command; the lines that it says.
pub(super) async fn run(
    app: &App,
    conversation: &Conversation,
    name: &str,
    rest: &str,
    planned: &Planned,
) -> Result<Vec<String>, AppError> {
    match name {
        "!" => command(app, rest).await,
        "/tools" => tools(app),
        "/policy" => policy(app),
        "/explain" => explain(app, rest).await,
        "/grants" => grants(app, conversation, rest).await,
        "/undo" => undo(conversation, rest, planned).await,
        "/network" => network(app, conversation, rest).await,
        "/export" => export(conversation, rest).await,
        "/preset" => Ok(list_presets(app)),
        "/resume" => list(app).await,
        other => Ok(vec![format!("{other} does nothing here.")]),
    }
}

/// Runs a command of the user through the same pipeline as the model's.
async fn command(app: &App, words: &str) -> Result<Vec<String>, AppError> {
    let mut args = Args::new();
    args.insert("command".into(), words.into());
    let call = Call::Whole(ToolCall::new("user", "run_command", args));
    let batch = Batch {
        by_user: true,
        ..Batch::new(app.fresh_id("user")?, vec![call])
    };
    let project = app.project(Purpose::Run("run_command"))?;
    let results = project.run(batch).await;
    let mut lines = Vec::new();
    for result in &results {
        let shown = match result.display.is_empty() {
            true => &result.content,
            false => &result.display,
        };
        if let Some(error) = &result.error {
            lines.extend(error.message.lines().map(str::to_owned));
        }
        lines.extend(shown.lines().map(str::to_owned));
    }
    Ok(lines)
}

fn tools(app: &App) -> Result<Vec<String>, AppError> {
    let definitions = app.project(Purpose::Look)?.definitions()?;
    let lines = definitions.iter().map(|tool| {
        let first = tool.description.lines().next().unwrap_or_default();
        format!("  {:<18} {}", tool.name, first)
    });
    Ok(lines.collect())
}

fn policy(app: &App) -> Result<Vec<String>, AppError> {
    let findings = app.project(Purpose::Look)?.check_rules()?;
    if findings.is_empty() {
        return Ok(vec![
            "The rules' examples hold, and every rule can match.".into(),
        ]);
    }
    Ok(findings
        .iter()
        .map(|finding| format!("  {finding}"))
        .collect())
}

async fn explain(app: &App, rest: &str) -> Result<Vec<String>, AppError> {
    let (tool, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    if tool.is_empty() {
        return Ok(vec![
            "Type /explain TOOL ARGS, as in /explain run_command {\"command\": \"ls\"}.".into(),
        ]);
    }
    let project = app.project(Purpose::Plan(tool))?;
    let call = project.call_from("explain", tool, ArgsText::Whole(args.trim().into()));
    let explained = project.explain(call).await?;
    let pretty = serde_json::to_string_pretty(&explained);
    Ok(pretty
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect())
}

async fn grants(
    app: &App,
    conversation: &Conversation,
    rest: &str,
) -> Result<Vec<String>, AppError> {
    let project = app.project(Purpose::Look)?;
    if let Some(name) = rest.strip_prefix("revoke ") {
        let name = name.trim();
        let revoked =
            conversation.revoke(name, "terminal").await? || project.revoke_grant(name).await?;
        return Ok(vec![match revoked {
            true => "Revoked.".into(),
            false => format!("There is no grant {}.", one_line(name)),
        }]);
    }
    let mut lines = Vec::new();
    let grants = project.grants().await?;
    if !grants.is_empty() {
        lines.push("For this project:".into());
    }
    let shown = |name: &str, words: &str| format!("  {}  {}", one_line(name), one_line(words));
    lines.extend(
        grants
            .iter()
            .map(|grant| shown(&grant.id, &grant.describe())),
    );
    let held = conversation.held().await?;
    if !held.is_empty() {
        lines.push("Until this conversation ends:".into());
    }
    lines.extend(held.iter().map(|held| shown(&held.name, &held.words)));
    match lines.is_empty() {
        true => lines.push("Nothing is remembered for this project or conversation.".into()),
        false => lines.push("Type /grants revoke ID to take one back.".into()),
    }
    Ok(lines)
}

/// The network of commands, and closing what an answer opened.
async fn network(
    app: &App,
    conversation: &Conversation,
    rest: &str,
) -> Result<Vec<String>, AppError> {
    if rest == "off" {
        let closed = conversation.revoke("network", "terminal").await?;
        return Ok(vec![match closed {
            true => "The network that was opened for this conversation is closed.".into(),
            false => "No network is open for this conversation.".into(),
        }]);
    }
    if !rest.is_empty() {
        return Ok(vec![
            "Type /network, or /network off. A question opens it: l or i, where it offers that."
                .into(),
        ]);
    }
    let configured = app.config().show().into_iter();
    let mut configured = configured.filter(|row| row.key == "tools.sandbox.network");
    let mut lines: Vec<String> = configured
        .next()
        .map(|row| format!("Configured: {}", one_line(&row.to_string())))
        .into_iter()
        .collect();
    let held = conversation.held().await?;
    let open = held.iter().filter(|held| held.name == "network");
    lines.extend(open.map(|held| {
        format!(
            "Until this conversation ends: {}. /network off closes it.",
            one_line(&held.words)
        )
    }));
    Ok(lines)
}

/// Shows what would be taken back of what file tools changed, and takes back what was shown where
/// the user says yes to that.
async fn undo(
    conversation: &Conversation,
    rest: &str,
    planned: &Planned,
) -> Result<Vec<String>, AppError> {
    let (asked, agreed) = match rest.strip_suffix("yes") {
        Some(asked) if asked.is_empty() || asked.ends_with(' ') => (asked.trim(), true),
        _ => (rest, false),
    };
    if agreed {
        let Some((_, plan)) = planned.lock().await.take_if(|(shown, _)| shown == asked) else {
            let command = format!("/undo {asked}");
            return Ok(vec![format!(
                "Nothing was shown for that: type {} first.",
                one_line(command.trim())
            )]);
        };
        let mut lines: Vec<String> = Vec::new();
        for result in plan.apply("terminal", CancellationToken::new()).await? {
            lines.extend(result.display.lines().map(str::to_owned));
        }
        return Ok(lines);
    }
    *planned.lock().await = None;
    let mut words = asked.split_whitespace();
    let scope = match (words.next(), words.next()) {
        (None, _) => Scope::All,
        (Some("turn"), Some(number)) => match number.parse() {
            Ok(number) => Scope::Turn(number),
            Err(_) => return Ok(vec!["Type /undo, /undo turn N or /undo call ID.".into()]),
        },
        (Some("call"), Some(id)) => Scope::Call(id.into()),
        _ => return Ok(vec!["Type /undo, /undo turn N or /undo call ID.".into()]),
    };
    let plan = match conversation.undo(&scope).await? {
        Undo::Planned(plan) => plan,
        Undo::Nothing { result } | Undo::Refused { result } => {
            return Ok(result.display.lines().map(str::to_owned).collect());
        }
    };
    let mut lines: Vec<String> = Vec::new();
    for difference in plan.differences().await? {
        lines.extend(difference.lines().map(str::to_owned));
    }
    if plan.commands() > 0 {
        lines.push(format!(
            "{} of the calls ran commands; what those did stays.",
            plan.commands()
        ));
    }
    let command = ["/undo", asked, "yes"]
        .into_iter()
        .filter(|word| !word.is_empty());
    let command = command.collect::<Vec<_>>().join(" ");
    lines.push(format!("Type {command} to take this back."));
    *planned.lock().await = Some((asked.to_owned(), plan));
    Ok(lines)
}

async fn export(conversation: &Conversation, rest: &str) -> Result<Vec<String>, AppError> {
    let path = Path::new(rest);
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => ExportFormat::Md,
        Some("json") => ExportFormat::Json,
        Some("html") => ExportFormat::Html,
        _ => {
            return Ok(vec![
                "Type /export FILE, where FILE ends in .md, .json or .html.".into(),
            ]);
        }
    };
    let page = conversation.export(format).await?;
    let created = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path);
    let written =
        created.and_then(|mut file| std::io::Write::write_all(&mut file, page.as_bytes()));
    Ok(vec![match written {
        Ok(()) => format!("Written to {}.", one_line(rest)),
        Err(error) => format!("{} was not written: {error}", one_line(rest)),
    }])
}

fn list_presets(app: &App) -> Vec<String> {
    let all = presets::all(app.config());
    let lines = all
        .into_iter()
        .map(|(name, what)| format!("  {name:<14} {}", what.unwrap_or_default()));
    lines.collect()
}

/// The conversations of this workspace, the newest first.
async fn list(app: &App) -> Result<Vec<String>, AppError> {
    if !app.journal_file().exists() {
        return Ok(vec![
            "The journal has no conversation of this workspace.".into(),
        ]);
    }
    let which = Which {
        workspace: Some(app.workspace().to_path_buf()),
        most: Some(20),
        ..Which::default()
    };
    let listed = app.list(which).await?;
    if listed.is_empty() {
        return Ok(vec![
            "The journal has no conversation of this workspace.".into(),
        ]);
    }
    let lines = listed.iter().map(|listed| {
        let words = listed.first_words.as_deref().unwrap_or_default();
        let conversation = &listed.conversation;
        let id: String = conversation.id.as_str().chars().take(SHORT_ID).collect();
        format!("  {id}  {}  {words}", time::shown(conversation.last_ms))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.push("Type /resume ID, where the beginning of an ID is enough.".into());
    Ok(lines)
}

/// Characters of an id in a list.
const SHORT_ID: usize = 12;
