//! `toolgate policy`: what the rules say, and whether they say what they mean.

use std::ffi::OsStr;
use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::approve::GrantStore;
use toolgate_gate::output::Redactor;
use toolgate_gate::plan::Plan;
use toolgate_model::{Action, Args, Decision, ErrorKind, Facts, Risk};
use toolgate_policy::{Example, Finding, check, misfits};

use crate::app::{App, Purpose};
use crate::args::{Common, GrantsCommand, PolicyCommand};
use crate::clean::style::{BOLD, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, say};
use crate::commands::exec::CALL;
use crate::failure::CliError;
use crate::out::Out;

pub(crate) async fn run(
    common: &Common,
    out: &Out,
    command: PolicyCommand,
) -> Result<u8, CliError> {
    match command {
        PolicyCommand::Explain { tool, args } => {
            explain(common, out, &tool.to_string_lossy(), &args).await
        }
        PolicyCommand::Check => check_rules(common, out),
        PolicyCommand::Grants { command } => grants(common, out, command),
    }
}

async fn explain(common: &Common, out: &Out, tool: &str, args: &OsStr) -> Result<u8, CliError> {
    let app = App::load(common, out, Purpose::Plan(tool))?;
    let call = app.call_from(CALL, tool, args)?;
    let planned = app
        .gate
        .plan(&Arc::new(app.person("explain")), vec![call])
        .await;
    let Some(plan) = planned.plans().next() else {
        return Err(CliError::internal("the call was not planned"));
    };
    let page = explanation(plan, app.gate.redactor());
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

/// A plan in the form of `policy explain`, without the secrets of its call.
fn explanation(plan: &Plan, redactor: &Redactor) -> Value {
    let refused;
    let (decision, record) = match plan {
        Plan::Settled(refusal) => {
            // A call that ends before policy is a denial with the kind of its error.
            let decided = refusal.record.as_ref().map(|record| &record.decision);
            refused = Decision {
                action: Action::Deny,
                kind: Some(refusal.error.kind),
                reason: refusal.error.message.clone(),
                ..decided.cloned().unwrap_or_else(|| {
                    Decision::denied(
                        refusal.error.kind,
                        refusal.error.kind.as_str(),
                        refusal.error.message.clone(),
                    )
                })
            };
            (&refused, refusal.record.as_deref())
        }
        Plan::Manual(_) => {
            refused = Decision::denied(
                ErrorKind::Disabled,
                "tools.mode",
                "tools are in parse_only mode: the call is read and checked, and a person supplies its result",
            );
            (&refused, None)
        }
        Plan::Ask(asked) => (&asked.record().decision, Some(asked.record())),
        Plan::Go(authorized) => (&authorized.record().decision, Some(authorized.record())),
    };
    let decision = redactor.shown_decision(decision);
    let record = record.map(|record| redactor.shown_plan(record));
    let record = record.as_ref();
    let mut page = json!({
        "decision": decision.action,
        "risk": record.map_or(Risk::Low, |record| record.risk),
        "summary": record.map_or("", |record| record.summary.as_str()),
        "whole": record.and_then(|record| record.whole.as_deref()).unwrap_or_default(),
        "reason": decision.reason,
        "rule": decision.rule,
        "source": decision.source,
        "atoms": decision.atoms,
        "facts": record.map_or_else(Facts::none, |record| record.facts.clone()),
        "plan_hash": record.map(|record| &record.plan_hash),
    });
    if let (Some(kind), Some(page)) = (decision.kind, page.as_object_mut()) {
        page.insert("kind".into(), kind.as_str().into());
    }
    page
}

/// The explanation for a person.
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
    let app = App::load(common, out, Purpose::Look)?;
    let policy = app.policy()?;
    let tools = app.gate.registry().list();
    let known: Vec<&str> = tools
        .iter()
        .map(|entry| entry.spec().name.as_str())
        .collect();
    let read = |tool: &str, example: &str| read_example(&app, tool, example);
    let mut findings = check(&policy, &known, &read);
    findings.extend(misfits(&policy, &app.gate.registry().known_tools()));
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

/// An example is a command line, the tool's first required argument, or a JSON object of arguments.
fn read_example(app: &App, tool: &str, example: &str) -> Result<Example, String> {
    let canonical = app.gate.registry().canonical(tool);
    if canonical == "run_command" || tool == "*" {
        let facts = app.command_facts(example);
        let args = [("command".to_owned(), Value::from(example))]
            .into_iter()
            .collect();
        return Ok(Example {
            tool: "run_command".into(),
            args,
            facts,
        });
    }
    let Some(entry) = app.gate.registry().get(tool) else {
        return Err(format!("no tool is called {tool:?}"));
    };
    let args = if example.trim_start().starts_with('{') {
        serde_json::from_str(example).map_err(|error| error.to_string())?
    } else {
        let first = entry
            .spec()
            .schema
            .pointer("/required/0")
            .and_then(Value::as_str);
        let first = first.ok_or_else(|| {
            format!("{tool} has no required argument; write the example as a JSON object")
        })?;
        let mut args = placeholders(&entry.spec().schema);
        args.insert(first.to_owned(), example.into());
        args
    };
    let resolved = app
        .gate
        .registry()
        .resolve(tool, args)
        .map_err(|error| error.message)?;
    let invocation = entry
        .tool()
        .parse(&resolved.args)
        .map_err(|error| error.message)?;
    Ok(Example {
        tool: canonical,
        facts: invocation.facts().clone(),
        args: resolved.args,
    })
}

/// Something for every required argument, where an example names only the first.
fn placeholders(schema: &Value) -> Args {
    let required = schema
        .pointer("/required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    required
        .map(|name| {
            let kind = schema
                .pointer(&format!("/properties/{name}/type"))
                .and_then(Value::as_str);
            let value = match kind {
                Some("integer" | "number") => 1.into(),
                Some("boolean") => false.into(),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => "".into(),
            };
            (name.to_owned(), value)
        })
        .collect()
}

fn grants(common: &Common, out: &Out, command: Option<GrantsCommand>) -> Result<u8, CliError> {
    let app = App::load(common, out, Purpose::Look)?;
    let failed = |error: toolgate_gate::approve::GrantError| CliError::internal(error.to_string());
    match command {
        None => {
            let all = app.grants.list().map_err(failed)?;
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
        Some(GrantsCommand::Revoke { id }) => {
            if app.grants.revoke(&id).map_err(failed)? {
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
