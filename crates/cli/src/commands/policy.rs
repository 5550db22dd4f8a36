//! `toolgate policy`: what the rules say, and whether they say what they mean.

use std::ffi::OsString;

use serde_json::{Value, json};
use toolgate_app::Purpose;
use toolgate_app::explain::Finding;
use toolgate_app::listing::only_one;

use crate::args::{Common, GrantsCommand, PolicyCommand};
use crate::assembly;
use crate::clean::style::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};
use crate::commands::exec::CALL;
use crate::failure::CliError;
use crate::out::Out;
use crate::words;

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    command: PolicyCommand,
) -> Result<u8, CliError> {
    match command {
        PolicyCommand::Explain { tool, args } => {
            explain(common, out, &tool.to_string_lossy(), &args.all()).await
        }
        PolicyCommand::Check => check_rules(common, out),
        PolicyCommand::Grants {
            conversation: Some(of),
            command,
        } => held(common, out, &of, command).await,
        PolicyCommand::Grants { command, .. } => grants(common, out, command).await,
    }
}

async fn explain(
    common: &Common,
    out: &Out,
    tool: &str,
    args: &[OsString],
) -> Result<u8, CliError> {
    let project = assembly::app(common, out)?.project(Purpose::Plan(tool))?;
    let args = words::arguments(&project, tool, args)?;
    let call = project.call_from(CALL, tool, args);
    let page = project.explain(call).await?;
    if out.json || !Out::stdout_is_seen() {
        out.json_line(&page)?;
    } else {
        out.text(picture(&page))?;
    }
    Ok(match page.get("decision").and_then(Value::as_str) {
        Some("allow") => 0,
        Some("ask") => 4,
        _ => 3,
    })
}

/// The explanation for a user.
fn picture(page: &Value) -> Clean {
    let text = |key: &str| page.get(key).and_then(Value::as_str).unwrap_or_default();
    let colour = |answer: &str| match answer {
        "allow" => GREEN,
        "ask" => YELLOW,
        _ => RED,
    };
    let mut lines = vec![say!(
        "{}  {}  {} risk",
        colour(text("decision")).on(text("decision")),
        BOLD.on(text("summary")),
        text("risk")
    )];
    // The summary is a title; nothing is missing here.
    lines.extend(
        text("whole")
            .lines()
            .map(|line| say!("    {}", Clean::lines(line))),
    );
    lines.push(say!("  {}", text("reason")));
    for atom in page
        .get("atoms")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let part = |key: &str| atom.get(key).and_then(Value::as_str).unwrap_or_default();
        let answer = part("answer");
        let arrow = DIM.on("→");
        lines.push(say!(
            "  {} {} {} {} {} {} {}",
            part("atom"),
            arrow,
            part("layer"),
            arrow,
            part("rule"),
            arrow,
            colour(answer).on(answer)
        ));
    }
    Clean::join(lines, "\n")
}

fn check_rules(common: &Common, out: &Out) -> Result<u8, CliError> {
    let project = assembly::app(common, out)?.project(Purpose::Look)?;
    let findings = project.check_rules()?;
    let mistakes = findings
        .iter()
        .filter(|finding| finding.kind.is_mistake())
        .count();
    if out.json {
        let all: Vec<Value> = findings.iter().map(finding_json).collect();
        out.json_line(&json!({"findings": all, "mistakes": mistakes}))?;
    } else {
        for finding in &findings {
            let colour = if finding.kind.is_mistake() {
                RED
            } else {
                YELLOW
            };
            let kind = finding.kind.as_str().replace('_', " ");
            out.text(say!("{} {}", colour.on(kind), finding.to_string()))?;
        }
        out.remark(say!(
            "{}, {} of them {}",
            counted(findings.len(), "finding"),
            mistakes,
            if mistakes == 1 {
                "a mistake"
            } else {
                "mistakes"
            }
        ));
    }
    Ok(u8::from(mistakes > 0))
}

fn counted(count: usize, what: &str) -> String {
    let more = if count == 1 { "" } else { "s" };
    format!("{count} {what}{more}")
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.as_str(),
        "mistake": finding.kind.is_mistake(),
        "rule": finding.rule, "source": finding.source, "message": finding.message,
    })
}

async fn grants(
    common: &Common,
    out: &Out,
    command: Option<GrantsCommand>,
) -> Result<u8, CliError> {
    let project = assembly::app(common, out)?.project(Purpose::Look)?;
    match command {
        None => {
            let all = project.grants().await?;
            if out.json {
                out.json_line(&all)?;
            } else {
                for grant in &all {
                    out.text(say!("{}  {}", BOLD.on(&grant.id), grant.describe()))?;
                }
                out.remark(say!(
                    "{} for this project",
                    counted(all.len(), "remembered approval")
                ));
            }
            Ok(0)
        }
        Some(GrantsCommand::Revoke { grant: id }) => {
            let all = project.grants().await?;
            let id = only_one(&id, all.iter().map(|grant| grant.id.as_str()))?;
            if project.revoke_grant(&id).await? {
                out.remark(format!("{id} is taken back"));
                Ok(0)
            } else {
                Err(CliError::usage(format!(
                    "no remembered approval of this project is called {id:?}; `toolgate policy grants` lists them"
                )))
            }
        }
    }
}

/// What holds until a conversation ends.
async fn held(
    common: &Common,
    out: &Out,
    of: &str,
    command: Option<GrantsCommand>,
) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    let id = app.find_id(of).await?;
    let conversation = app.conversation(&id).await?;
    let held = conversation.held().await?;
    let Some(GrantsCommand::Revoke { grant }) = command else {
        if out.json {
            let all = held.iter();
            let all: Vec<Value> = all
                .map(|one| json!({"id": one.name, "allows": one.words}))
                .collect();
            out.json_line(&all)?;
            return Ok(0);
        }
        for one in &held {
            out.text(say!("{}  {}", BOLD.on(&one.name), &one.words))?;
        }
        out.remark(say!(
            "{} until conversation {} ends",
            counted(held.len(), "remembered approval"),
            &id
        ));
        return Ok(0);
    };
    let name = only_one(&grant, held.iter().map(|one| one.name.as_str()))?;
    if conversation.revoke(&name, "terminal").await? {
        out.remark(say!("{} is taken back", &name));
        return Ok(0);
    }
    Err(CliError::usage(format!(
        "conversation {id} remembers no approval called {name:?}; `toolgate policy grants --conversation {id}` lists them"
    )))
}
