//! What a model is told about questions: what the rules in force say about a call of each tool.

use serde_json::{Value, json};
use toolgate_engine::Permissions;
use toolgate_gate::registry::Definition;
use toolgate_gate::session::Session;
use toolgate_model::{Action, Args};

use crate::project::Project;

/// Calls as models make them, and what they stand for. A tool that is not here stands for itself.
fn samples(tool: &str) -> Vec<(&'static str, Value)> {
    let path = "src/a.txt";
    match tool {
        "read_file" => vec![("", json!({"path": path}))],
        "read_many_files" => vec![("", json!({"paths": [path]}))],
        "list_directory" => vec![("", json!({}))],
        "glob" | "grep" => vec![("", json!({"pattern": "a"}))],
        "write_file" => vec![("", json!({"path": path, "content": "a"}))],
        "edit_file" => vec![(
            "",
            json!({"path": path, "edits": [{"target": "a", "replacement": "b"}]}),
        )],
        "apply_patch" => vec![(
            "",
            json!({"patch": format!("LP1\nF {path}\nT\na\n.\nEND\n")}),
        )],
        "run_command" => vec![
            (" for commands that only read", json!({"command": "ls"})),
            (" for other commands", json!({"command": "./run-it"})),
        ],
        "command_output" | "stop_command" | "read_output" => vec![("", json!({"handle": "a"}))],
        "web_fetch" => vec![("", json!({"url": "https://example.com/"}))],
        "web_search" => vec![("", json!({"query": "a"}))],
        "memory" | "write_todos" => vec![("", json!({"action": "list"}))],
        _ => Vec::new(),
    }
}

/// What becomes of calls of these tools.
pub(crate) fn of(project: &Project, definitions: &[Definition]) -> Permissions {
    let session = Session::new("permissions");
    // Grants that cannot be read grant nothing.
    let grants = project.grants.here().unwrap_or_default();
    let policy = project.gate.policy_with(&session, &grants).ok();
    let mut permissions = Permissions::default();
    for definition in definitions {
        let name = format!("`{}`", definition.name);
        let mut known: Vec<(String, Action)> = Vec::new();
        for (kind, args) in samples(&definition.tool) {
            let args: Args = args.as_object().cloned().unwrap_or_default();
            // What cannot be judged is asked about.
            let action = policy.as_ref().and_then(|policy| {
                let gate = &project.gate;
                gate.expected(&session, policy, &definition.tool, args)
            });
            known.push((format!("{name}{kind}"), action.unwrap_or(Action::Ask)));
        }
        if known.is_empty() {
            let asks = definition.requires_approval || !definition.read_only;
            let action = if asks { Action::Ask } else { Action::Allow };
            known.push((name.clone(), action));
        }
        // One word where all kinds of its calls come to the same.
        if let [(_, first), rest @ ..] = known.as_slice()
            && rest.iter().all(|(_, action)| action == first)
        {
            known = vec![(name, *first)];
        }
        for (words, action) in known {
            match action {
                Action::Allow => permissions.allowed.push(words),
                Action::Ask => permissions.asked.push(words),
                Action::Deny => permissions.denied.push(words),
            }
        }
    }
    permissions
}
