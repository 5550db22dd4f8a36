//! What the tools are called and how they describe themselves.

use serde_json::{Value, json};
use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_model::Risk;
use toolgate_tools::{ToolSettings, register_all};

fn registry() -> Registry {
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    registry
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
