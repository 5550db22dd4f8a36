//! What the tools are called and how they describe themselves.

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_model::Risk;
use toolgate_tools::{Searxng, ToolSettings, register_all};

fn registry() -> Registry {
    let registry = Registry::new();
    let server = Searxng::at("http://localhost:8080").unwrap();
    let settings = ToolSettings {
        search_providers: vec![Arc::new(server)],
        ..ToolSettings::default()
    };
    register_all(&registry, &settings).unwrap();
    registry
}

#[test]
fn web_search_is_offered_only_where_a_server_is_configured() {
    assert!(offered("").iter().any(|name| name == "web_search"));
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    for profile in ["", "classic"] {
        let definitions = registry.definitions(profile).unwrap();
        assert!(definitions.iter().all(|tool| tool.tool != "web_search"));
    }
    assert!(registry.get("web_search").is_some());
}

fn offered(profile: &str) -> Vec<String> {
    let definitions = registry().definitions(profile).unwrap();
    definitions
        .iter()
        .map(|definition| definition.name.clone())
        .collect()
}

#[test]
fn every_name_of_the_specification_leads_to_its_tool() {
    let registry = registry();
    for (name, tool) in [
        ("read_file", "read_file"),
        ("file_read", "read_file"),
        ("write_file", "write_file"),
        ("file_write", "write_file"),
        ("list_directory", "list_directory"),
        ("ls", "list_directory"),
        ("glob", "glob"),
        ("grep", "grep"),
        ("search", "grep"),
        ("read_many_files", "read_many_files"),
        ("edit_file", "edit_file"),
        ("apply_patch", "apply_patch"),
        ("read_output", "read_output"),
        ("run_command", "run_command"),
        ("bash", "run_command"),
        ("shell", "run_command"),
        ("command_output", "command_output"),
        ("stop_command", "stop_command"),
        ("sanitize", "sanitize"),
    ] {
        assert_eq!(registry.get(name).unwrap().spec().name, tool);
    }
    let twice = register_all(&registry, &ToolSettings::default());
    assert!(matches!(twice, Err(RegistryError::DuplicateTool { .. })));
}

#[test]
fn diagnostic_tools_are_not_offered_and_a_profile_chooses_names() {
    assert_eq!(
        offered(""),
        [
            "apply_patch",
            "command_output",
            "edit_file",
            "glob",
            "grep",
            "list_directory",
            "memory",
            "read_file",
            "read_many_files",
            "read_output",
            "run_command",
            "stop_command",
            "web_fetch",
            "web_search",
            "write_file",
            "write_todos"
        ]
    );
    assert_eq!(
        offered("classic"),
        [
            "apply_patch",
            "command_output",
            "edit_file",
            "file_read",
            "file_write",
            "glob",
            "ls",
            "memory",
            "read_many_files",
            "read_output",
            "run_command",
            "search",
            "stop_command",
            "web_fetch",
            "web_search",
            "write_todos"
        ]
    );
}

/// What changes or runs something, or contacts somebody.
const CHANGING: [&str; 5] = [
    "apply_patch",
    "edit_file",
    "run_command",
    "web_fetch",
    "write_file",
];

#[test]
fn every_argument_is_described_and_only_writing_has_side_effects() {
    for entry in registry().list() {
        let spec = entry.spec();
        assert_eq!(
            spec.side_effects,
            CHANGING.contains(&spec.name.as_str()),
            "{}",
            spec.name
        );
        assert!(spec.description.len() > 40, "{}", spec.name);
        let properties = spec.schema["properties"].as_object().unwrap();
        for (argument, schema) in properties {
            let described = schema["description"]
                .as_str()
                .is_some_and(|text| text.len() > 8);
            assert!(described, "{}.{argument}: {schema}", spec.name);
        }
        assert_eq!(spec.schema["additionalProperties"], Value::Bool(false));
        for spelling in &spec.spellings {
            assert!(properties.contains_key(&spelling.canonical), "{spelling:?}");
            assert!(!properties.contains_key(&spelling.other), "{spelling:?}");
        }
    }
}

#[test]
fn fr_apr_06_a_question_says_what_a_call_will_do_and_how_risky_it_is() {
    let registry = registry();
    for (tool, args, summary, risk) in [
        ("read_file", json!({"path": "a.rs"}), "Read a.rs", Risk::Low),
        (
            "read_file",
            json!({"path": "a.rs", "start_line": 3, "end_line": 9}),
            "Read a.rs lines 3-9",
            Risk::Low,
        ),
        (
            "list_directory",
            json!({"path": "src"}),
            "List src",
            Risk::Low,
        ),
        (
            "list_directory",
            json!({"path": "src", "recursive": true, "max_depth": 3}),
            "List src depth 3",
            Risk::Low,
        ),
        (
            "apply_patch",
            json!({"patch": "LP1\nF a.rs\nT\nx\n.\nF b.rs\nT\nx\n.\nEND\n"}),
            "Apply patch to 2 file(s): a.rs, b.rs",
            Risk::Medium,
        ),
        (
            "write_file",
            json!({"path": "n.txt", "content": "x\n"}),
            "Write n.txt (1 line)",
            Risk::Medium,
        ),
        (
            "run_command",
            json!({"command": "cargo test"}),
            "Run command: cargo test",
            Risk::High,
        ),
        (
            "run_command",
            json!({"command": "ɡit status"}),
            "Run command [the program's name holds ɡ (U+0261)]: ɡit status",
            Risk::High,
        ),
    ] {
        let entry = registry.get(tool).unwrap();
        let parsed = entry.tool().parse(args.as_object().unwrap()).unwrap();
        assert_eq!(parsed.summary(), summary);
        assert_eq!(
            parsed.risk().unwrap_or(entry.spec().risk),
            risk,
            "{summary}"
        );
    }
}

/// A call under a name of another agent, and what the journal has of it: tool and arguments.
#[test]
fn names_and_arguments_of_other_agents_mean_the_tools_own() {
    let registry = registry();
    for (name, args, tool, canonical) in [
        (
            "Read",
            json!({"file_path": "a"}),
            "read_file",
            json!({"path": "a"}),
        ),
        (
            "Read",
            json!({"file_path": "a", "offset": 3, "limit": 2}),
            "read_file",
            json!({"path": "a", "start_line": 3, "limit": 2}),
        ),
        (
            "Read",
            json!({"file_path": "a", "offset": 0}),
            "read_file",
            json!({"path": "a", "start_line": 1}),
        ),
        (
            "Write",
            json!({"file_path": "a", "content": "x"}),
            "write_file",
            json!({"path": "a", "content": "x", "overwrite": true}),
        ),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
            "edit_file",
            json!({"path": "a", "edits": [{"target": "x", "replacement": "y"}]}),
        ),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "", "replace_all": true}),
            "edit_file",
            json!({"path": "a", "edits": [{"target": "x", "replacement": "", "replace_all": true}]}),
        ),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "1", "new_string": "2", "replace_all": false}]}),
            "edit_file",
            json!({"path": "a", "edits": [{"target": "x", "replacement": "y"}, {"target": "1", "replacement": "2", "replace_all": false}]}),
        ),
        (
            "Glob",
            json!({"pattern": "*.rs", "path": "src"}),
            "glob",
            json!({"pattern": "*.rs", "directory": "src"}),
        ),
        (
            "Grep",
            json!({"pattern": "x", "path": "src", "glob": "*.rs", "output_mode": "content", "-i": true, "-n": true, "-A": 1, "-B": 3, "head_limit": 9, "multiline": true}),
            "grep",
            json!({"pattern": "x", "directory": "src", "file_pattern": "*.rs", "case_sensitive": false, "output": "lines", "after": 1, "before": 3, "max_results": 9, "multiline": true}),
        ),
        (
            "Grep",
            json!({"pattern": "x", "-C": 2, "head_limit": 0, "output_mode": "files_with_matches"}),
            "grep",
            json!({"pattern": "x", "case_sensitive": true, "output": "files", "context": 2}),
        ),
        (
            "Bash",
            json!({"command": "ls", "timeout": 5000, "description": "Lists files", "run_in_background": true}),
            "run_command",
            json!({"command": "ls", "timeout_ms": 5000, "background": true}),
        ),
        (
            "BashOutput",
            json!({"bash_id": "cmd_1"}),
            "command_output",
            json!({"handle": "cmd_1"}),
        ),
        (
            "KillShell",
            json!({"shell_id": "cmd_1"}),
            "stop_command",
            json!({"handle": "cmd_1"}),
        ),
        (
            "LS",
            json!({"path": "src", "ignore": []}),
            "list_directory",
            json!({"path": "src", "format": "tree"}),
        ),
        (
            "WebFetch",
            json!({"url": "https://example.com/", "prompt": "What is it?"}),
            "web_fetch",
            json!({"url": "https://example.com/"}),
        ),
        (
            "WebSearch",
            json!({"query": "x", "allowed_domains": []}),
            "web_search",
            json!({"query": "x"}),
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "in_progress", "activeForm": "Doing a"}]}),
            "write_todos",
            json!({"action": "replace", "todos": [{"task": "a", "status": "in_progress"}]}),
        ),
        (
            "ls",
            json!({"path": ".", "recursive": true, "maxDepth": 0}),
            "list_directory",
            json!({"path": ".", "recursive": true, "max_depth": 1, "format": "tree"}),
        ),
        (
            "ls",
            json!({"path": ".", "maxDepth": 3}),
            "list_directory",
            json!({"path": ".", "max_depth": 4, "format": "tree"}),
        ),
    ] {
        let given = args.as_object().unwrap().clone();
        let resolved = registry.resolve(name, given).unwrap();
        assert_eq!(resolved.entry.spec().name, tool, "{name}");
        assert_eq!(
            Value::Object(resolved.args.clone()),
            canonical,
            "{name} {args}"
        );
        resolved.check().unwrap();
        resolved
            .entry
            .tool()
            .parse(&resolved.args)
            .map(drop)
            .unwrap();
    }
}

#[test]
fn arguments_of_other_agents_without_an_equivalent_are_refused_in_words() {
    let registry = registry();
    for (name, args, says) in [
        (
            "Edit",
            json!({"file_path": "a", "old_string": "", "new_string": "y"}),
            "Write",
        ),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x"}),
            "new_string is missing",
        ),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y", "regex": true}]}),
            "regex",
        ),
        (
            "Grep",
            json!({"pattern": "x", "output_mode": "lines"}),
            "output_mode",
        ),
        ("Grep", json!({"pattern": "x", "type": "rust"}), "glob"),
        ("Grep", json!({"pattern": "x", "-A": "many"}), "-A"),
        ("LS", json!({"path": ".", "ignore": ["*.o"]}), "Glob"),
        (
            "Bash",
            json!({"command": "ls", "dangerouslyDisableSandbox": true}),
            "sandbox",
        ),
        (
            "BashOutput",
            json!({"bash_id": "cmd_1", "filter": "x"}),
            "filter",
        ),
        (
            "WebSearch",
            json!({"query": "x", "blocked_domains": ["a.example"]}),
            "site:",
        ),
        (
            "Bash",
            json!({"command": "ls", "timeout": 1, "timeout_ms": 2}),
            "timeout",
        ),
        ("Read", json!({"file_path": "a", "pages": "1-2"}), "pages"),
        (
            "Read",
            json!({"file_path": "a", "path": "b"}),
            "same argument",
        ),
    ] {
        let given = args.as_object().unwrap().clone();
        let error = match registry.resolve(name, given) {
            Ok(resolved) => resolved.check().unwrap_err(),
            Err(error) => error,
        };
        assert!(error.message.contains(says), "{name}: {}", error.message);
    }
}
