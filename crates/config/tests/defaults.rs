//! Every default of the specification, in one table.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{built_in, workspace};
use toolgate_config::{LayerName, keys};
use toolgate_gate::OnError;
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_policy::{LayerTrust, Trust};
use toolgate_sandbox::paths::PathRules;

/// The key, its default, and where the specification says so.
fn table() -> Vec<(&'static str, Value)> {
    vec![
        // The decisions of the design: enabled, 200 iterations, one call at a time.
        ("tools.mode", json!("enabled")),
        ("tools.max_tool_iterations_per_user_turn", json!(200)),
        ("tools.max_concurrent", json!(1)),
        ("tools.on_error", json!("continue")),
        ("tools.profile", Value::Null),
        ("tools.project_instructions", json!(true)),
        // Seed 001, 2.7 and 6.1.
        ("tools.max_tool_calls_per_batch", json!(64)),
        ("tools.max_tool_args_bytes", json!(256 * 1024)),
        ("tools.definitions", json!([])),
        ("tools.rules", json!([])),
        // Seed 001, 6.7, and the formats.
        ("tools.approval.enabled", json!(true)),
        ("tools.approval.trust", json!("guided")),
        // Named or not decides which column of the table of defaults counts.
        ("tools.approval.mode", Value::Null),
        ("tools.approval.allowlist", json!(["read_file"])),
        ("tools.approval.denylist", json!([])),
        ("tools.approval.default_action", Value::Null),
        ("tools.approval.prompt_side_effects", json!(true)),
        ("tools.approval.timeout_seconds", json!(0)),
        ("tools.approval.allowed_commands", json!([])),
        ("tools.approval.blocked_commands", json!([])),
        ("tools.approval.allowed_paths", json!([])),
        ("tools.approval.blocked_paths", json!([])),
        // Seed 001, 6.3, and the sandbox.
        ("tools.sandbox.allowed_roots", json!(["."])),
        ("tools.sandbox.denied_patterns", json!([])),
        ("tools.sandbox.protected_paths", json!([])),
        ("tools.sandbox.allow_absolute", json!(false)),
        ("tools.sandbox.include_default_denies", json!(true)),
        ("tools.sandbox.command_sandbox", json!("required")),
        ("tools.sandbox.network", json!("off")),
        ("tools.sandbox.grants", json!([])),
        // Seed 001, 6.4.
        ("tools.timeouts.default_seconds", json!(30)),
        ("tools.timeouts.file_operations_seconds", json!(30)),
        ("tools.timeouts.shell_commands_seconds", json!(300)),
        // Seed 001, 6.5.
        ("tools.output.max_bytes", json!(100 * 1024)),
        ("tools.output.max_lines", Value::Null),
        ("tools.output.max_block_bytes", json!(5 << 20)),
        ("tools.output.max_blocks_bytes", json!(16 << 20)),
        ("tools.output.keep_bytes", json!(64 << 20)),
        ("tools.output.keep_total_bytes", json!(512 << 20)),
        // Seed 001, 6.6: the list is added to the built-in one.
        ("tools.environment.keep", json!([])),
        ("tools.environment.strip", json!([])),
        // Seed 001, 6.8, 6.9 and 2.7; seed 002 for writing.
        ("tools.read_file.max_file_read_bytes", json!(204_800)),
        ("tools.read_file.max_scan_bytes", json!(2 * 1024 * 1024)),
        ("tools.write_file.max_file_bytes", json!(10 * 1024 * 1024)),
        ("tools.apply_patch.max_patch_bytes", json!(256 * 1024)),
        ("tools.list_directory.max_entries", json!(200)),
        ("tools.list_directory.max_depth", json!(4)),
        ("tools.web_fetch.private_hosts", json!([])),
        // Seed 004.
        ("search.searxng.url", Value::Null),
        ("search.brave.api_key_env", Value::Null),
        ("server.host", json!("127.0.0.1")),
        ("server.port", json!(7433)),
        ("server.allowed_origins", json!([])),
        ("server.allowed_hosts", json!([])),
        ("server.workspaces", json!([])),
        ("server.tls_certificate", Value::Null),
        ("server.tls_key", Value::Null),
        ("server.allow_plain_remote", json!(false)),
        ("server.max_connections", json!(2048)),
        ("server.max_conversations", json!(2048)),
        ("server.requests_per_second", json!(200)),
        ("defaults.provider", Value::Null),
        ("defaults.model", Value::Null),
        ("defaults.preset", Value::Null),
        ("defaults.language", json!("auto")),
        ("journal.path", Value::Null),
        ("journal.max_bytes", Value::Null),
    ]
}

#[test]
fn defaults_are_those_of_the_specification() {
    let shown = built_in().show();
    for (key, default) in table() {
        let rows: Vec<_> = shown.iter().filter(|row| row.key == key).collect();
        assert_eq!(rows.len(), 1, "{key}");
        assert_eq!(rows.first().unwrap().value, default, "{key}");
        assert_eq!(
            rows.first().unwrap().origin.layer,
            LayerName::BuiltIn,
            "{key}"
        );
    }
}

#[test]
fn the_table_of_defaults_misses_no_key() {
    let listed: BTreeSet<String> = table().iter().map(|(key, _)| (*key).to_owned()).collect();
    let known: BTreeSet<String> = keys()
        .into_iter()
        .filter(|key| !key.path.contains('*') && key.short_for.is_none())
        .map(|key| key.path)
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn without_any_file_the_gate_gets_its_own_defaults() {
    let effective = built_in();
    let settings = effective.gate_settings(false);
    let own = toolgate_gate::Settings::default();
    assert_eq!(settings.mode, ToolsMode::Enabled);
    assert_eq!(settings.limits, own.limits);
    assert_eq!(settings.timeouts, own.timeouts);
    assert_eq!(settings.max_output_bytes, own.max_output_bytes);
    assert_eq!(settings.max_output_lines, own.max_output_lines);
    assert_eq!(settings.blocks, own.blocks);
    assert_eq!(settings.max_concurrent, own.max_concurrent);
    assert_eq!(settings.on_error, OnError::Continue);
    assert_eq!(settings.approval_timeout, None);
    assert!(!settings.command_sandbox && effective.gate_settings(true).command_sandbox);
    assert!(effective.is_built_in("tools.approval.timeout_seconds"));
}

#[test]
fn without_any_file_policy_gets_the_built_in_allowlist_and_its_own_defaults() {
    let rules = built_in().rules();
    assert_eq!(rules.settings, toolgate_policy::Settings::default());
    assert_eq!(
        (rules.settings.trust, rules.settings.mode),
        (Trust::Guided, None)
    );
    let [built_in, others @ ..] = rules.layers.as_slice() else {
        panic!("no layers")
    };
    assert_eq!(built_in.trust, LayerTrust::Trusted);
    assert_eq!(built_in.allowlist.as_ref().unwrap().entries, ["read_file"]);
    assert!(
        others
            .iter()
            .all(|layer| layer.rules.is_empty() && layer.allowlist.is_none())
    );
}

#[test]
fn without_any_file_the_path_sandbox_gets_the_workspace_and_its_own_defaults() {
    assert_eq!(
        built_in().path_rules().unwrap(),
        PathRules::new(workspace())
    );
}
