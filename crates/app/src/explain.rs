//! What the rules say about a call, and whether they say what they mean.
//!
//! ```
//! use toolgate_app::{ArgsText, Purpose};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! let project = app.project(Purpose::Plan("read_file"))?;
//! let call = project.call_from("call_1", "read_file", ArgsText::Whole(b"{}".to_vec()));
//! let page = project.explain(call).await?;
//! assert_eq!(page["decision"], "deny");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::approve::GrantStore;
use toolgate_gate::output::Redactor;
use toolgate_gate::plan::Plan;
use toolgate_model::{Action, Args, Call, Decision, ErrorKind, Facts, Risk};
use toolgate_policy::{Example, Policy, check, misfits};
use toolgate_shell::LineContext;

pub use toolgate_gate::approve::Grant;
pub use toolgate_policy::Finding;

use crate::error::AppError;
use crate::project::Project;

impl Project {
    /// What would be decided about a call, and why. Nothing runs.
    pub async fn explain(&self, call: Call) -> Result<Value, AppError> {
        let session = Arc::new(self.session("explain").without_staleness());
        let planned = self.gate.plan(&session, vec![call]).await;
        let plan = planned.plans().next();
        let plan = plan.ok_or_else(|| AppError::internal("the call was not planned"))?;
        Ok(explanation(plan, self.gate.redactor()))
    }

    /// Runs the rules' examples, and finds rules that can never match.
    pub fn check_rules(&self) -> Result<Vec<Finding>, AppError> {
        let policy = self.policy()?;
        let tools = self.gate.registry().list();
        let known: Vec<&str> = tools
            .iter()
            .map(|entry| entry.spec().name.as_str())
            .collect();
        let read = |tool: &str, example: &str| read_example(self, tool, example);
        let mut findings = check(&policy, &known, &read);
        findings.extend(misfits(&policy, &self.gate.registry().known_tools()));
        Ok(findings)
    }

    /// The remembered approvals of this project.
    pub async fn grants(&self) -> Result<Vec<Grant>, AppError> {
        self.grants.list().await.map_err(AppError::internal)
    }

    /// Takes a remembered approval back. Whether there was one of this id.
    pub async fn revoke_grant(&self, id: &str) -> Result<bool, AppError> {
        self.grants.revoke(id).await.map_err(AppError::internal)
    }

    /// The rules as one policy.
    fn policy(&self) -> Result<Policy, AppError> {
        let rules = self.config.rules();
        let registry = self.gate.registry();
        registry
            .policy(rules.settings, &rules.layers)
            .map_err(AppError::usage)
    }

    /// What a command line would touch.
    fn command_facts(&self, line: &str) -> Facts {
        let roots: Vec<String> = self
            .gate
            .sandbox()
            .roots()
            .iter()
            .map(|root| root.path().to_string_lossy().into_owned())
            .collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        let context = LineContext {
            cwd: "",
            home: None,
            roots: &roots,
        };
        toolgate_shell::analyse(line, &context).facts
    }
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

/// An example is a command line, the tool's first required argument, or a JSON object of arguments.
fn read_example(project: &Project, tool: &str, example: &str) -> Result<Example, String> {
    let canonical = project.gate.registry().canonical(tool);
    if canonical == "run_command" || tool == "*" {
        let facts = project.command_facts(example);
        let args = [("command".to_owned(), Value::from(example))]
            .into_iter()
            .collect();
        return Ok(Example {
            tool: "run_command".into(),
            args,
            facts,
        });
    }
    let Some(entry) = project.gate.registry().get(tool) else {
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
    let resolved = project
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
