//! `docs/configuration.md`, `config show` and `config schema` say the same as the program does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use support::{Texts, built_in, user};
use toolgate_config::{Effective, LayerName, keys, schema};
use toolgate_policy::Policy;

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// The full example of the page.
fn example() -> String {
    let (_, rest) = PAGE.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// The rows of the page's tables: section, key, default, what an untrusted project may do.
fn documented() -> Vec<(String, String, String, String)> {
    let mut section = String::new();
    let mut rows = Vec::new();
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("### `[") {
            section = heading.trim_end_matches("]`").to_owned();
        } else if line.starts_with("## ") {
            section.clear();
        } else if !section.is_empty() && line.starts_with("| `") {
            let line = line.replace("\\|", "or");
            let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
            let key = cells[1].trim_matches('`').to_owned();
            rows.push((section.clone(), key, cells[3].clone(), cells[4].clone()));
        }
    }
    rows
}

#[test]
fn every_key_is_documented_once_with_its_default() {
    let rows = documented();
    let on_the_page: Vec<String> = rows
        .iter()
        .map(|(section, key, ..)| format!("{section}.{key}"))
        .collect();
    let known: BTreeSet<String> = keys().into_iter().map(|key| key.path).collect();
    assert_eq!(on_the_page.iter().cloned().collect::<BTreeSet<_>>(), known);
    assert_eq!(on_the_page.len(), known.len());
    for key in keys() {
        let at = on_the_page
            .iter()
            .position(|path| *path == key.path)
            .unwrap();
        let default = rows[at].2.as_str();
        assert_eq!(rows[at].3.trim_matches('`'), key.project, "{}", key.path);
        match (&key.default, &key.short_for) {
            (_, Some(target)) => {
                let name = target.rsplit('.').next().unwrap();
                assert_eq!(default, format!("short for `{name}`"), "{}", key.path);
            }
            (None, None) => assert_eq!(default, "unset", "{}", key.path),
            (Some(value), None) => {
                let written: Value = serde_json::from_str(default.trim_matches('`')).unwrap();
                assert_eq!(written, *value, "{}", key.path);
            }
        }
    }
}

#[test]
fn the_example_of_the_page_has_no_mistake_and_every_key() {
    let text = example();
    let effective = user(&text);
    let given: BTreeSet<String> = effective
        .show()
        .into_iter()
        .filter(|row| row.origin.layer == LayerName::User)
        .map(|row| {
            let names: Vec<&str> = row.key.split('.').collect();
            match names.as_slice() {
                [section @ ("presets" | "providers"), _, key] => {
                    format!("{section}.*.{key}")
                }
                _ => row.key.clone(),
            }
        })
        .collect();
    for key in keys() {
        match &key.short_for {
            Some(_) => assert!(
                text.contains(key.path.rsplit('.').next().unwrap()),
                "{}",
                key.path
            ),
            None => assert!(given.contains(&key.path), "{}", key.path),
        }
    }
    Policy::compile(
        effective.policy_settings(),
        &effective.rules().layers,
        &str::to_owned,
    )
    .unwrap();
}

#[test]
fn the_picture_on_the_page_is_what_is_drawn() {
    let texts = Texts {
        project: "[tools]\nmax_tool_call_per_batch = 4\n",
        ..Texts::default()
    };
    let drawn = texts.load().unwrap_err().to_string();
    let picture = drawn.split("\n\n").next().unwrap();
    assert!(PAGE.contains(picture), "{picture}");
}

/// Every key of the schema that holds a value.
fn schema_keys(schema: &Value, prefix: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().unwrap() {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        if property.get("properties").is_some() {
            schema_keys(property, &path, found);
        } else if property["additionalProperties"].get("properties").is_some() {
            schema_keys(
                &property["additionalProperties"],
                &format!("{path}.*"),
                found,
            );
        } else {
            found.insert(path);
        }
    }
}

#[test]
fn the_schema_has_every_key_with_description_and_default() {
    let schema = schema();
    let mut found = BTreeSet::new();
    schema_keys(&schema, "", &mut found);
    assert_eq!(found, keys().into_iter().map(|key| key.path).collect());
    let calls = &schema["properties"]["tools"]["properties"]["max_tool_calls_per_batch"];
    assert_eq!(calls["default"], json!(64));
    assert!(
        calls["description"]
            .as_str()
            .unwrap()
            .starts_with("The most calls")
    );
    assert_eq!(
        schema["$schema"],
        json!("https://json-schema.org/draft/2020-12/schema")
    );
}

#[test]
fn the_schema_is_one_and_agrees_with_the_reader() {
    let schema = jsonschema::draft202012::new(&schema()).unwrap();
    let as_json =
        |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
    assert!(schema.is_valid(&as_json(&example())));
    for wrong in [
        "[tool]\n",
        "[tools]\nmode = \"on\"\n",
        "[tools]\nmax_concurrent = 0\n",
        "[tools.timeouts]\ndefault_seconds = 1.5\n",
        "[tools.approval]\ndenylist = \"x\"\n",
        "[[tools.rules]]\ntool = \"*\"\n",
        "[[tools.rules]]\ntool = \"*\"\naction = \"deny\"\nruns = []\n",
        "[tools.sandbox]\nallowed_roots = []\n",
        "[tools.sandbox]\nallowed_roots = [{ acces = \"read\" }]\n",
        "[search.searxng]\nurl = \"localhost\"\n",
    ] {
        assert!(!schema.is_valid(&as_json(wrong)), "{wrong}");
        assert!(
            Texts {
                user: wrong,
                ..Texts::default()
            }
            .load()
            .is_err(),
            "{wrong}"
        );
    }
}

fn shown_keys(effective: &Effective) -> BTreeSet<String> {
    effective.show().into_iter().map(|row| row.key).collect()
}

#[test]
fn show_lists_every_key_even_if_nobody_set_anything() {
    let expected: BTreeSet<String> = keys()
        .into_iter()
        .filter(|key| !key.path.contains('*') && key.short_for.is_none())
        .map(|key| key.path)
        .collect();
    assert_eq!(shown_keys(&built_in()), expected);
    let full = shown_keys(&user(&example()));
    for key in keys()
        .iter()
        .filter(|key| key.path.starts_with("providers.*."))
    {
        assert!(
            full.contains(&key.path.replace('*', "work")),
            "{}",
            key.path
        );
    }
}

#[test]
fn show_says_where_each_value_comes_from() {
    let effective = Texts {
        user: "[tools]\nmax_concurrent = 3\n\n[tools.approval]\ndenylist = [\"a\"]\n",
        project: "[tools.approval]\ndenylist = [\"b\"]\nallowlist = [\"c\"]\n",
        config: "[[tools.rules]]\ntool = \"*\"\naction = \"deny\"\n\n[[tools.rules]]\ntool = \"x\"\naction = \"ask\"\n",
        options: toolgate_config::Options {
            trust: Some(toolgate_policy::Trust::Supervised),
            ..toolgate_config::Options::default()
        },
        ..Texts::default()
    }
    .effective();
    let lines: Vec<String> = effective.show().iter().map(ToString::to_string).collect();
    for line in [
        "tools.mode = \"enabled\"  # built-in",
        "tools.max_concurrent = 3  # user user.toml:2",
        "tools.approval.trust = \"supervised\"  # option --trust",
        "tools.approval.mode = (unset)  # built-in",
        "tools.approval.default_action = (unset)  # built-in",
        "tools.approval.denylist = [\"a\"]  # user user.toml:5",
        "tools.approval.denylist = [\"b\"]  # project toolgate.toml:2",
        "tools.approval.allowlist = [\"read_file\"]  # built-in",
        "tools.rules = { action = \"deny\", tool = \"*\" }  # config config.toml:1",
        "tools.rules = { action = \"ask\", tool = \"x\" }  # config config.toml:5",
    ] {
        assert!(
            lines.iter().any(|shown| shown == line),
            "{line}\n{}",
            lines.join("\n")
        );
    }
    let row = effective
        .show()
        .into_iter()
        .find(|row| row.key == "tools.max_concurrent")
        .unwrap();
    assert_eq!(
        serde_json::to_value(row).unwrap(),
        json!({
            "key": "tools.max_concurrent",
            "value": 3,
            "origin": { "layer": "user", "file": "user.toml", "line": 2 },
        })
    );
    let ignored: Vec<String> = effective
        .ignored()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        ignored,
        [
            "toolgate.toml:3: tools.approval.allowlist is ignored: a project's file may set it only once it is trusted"
        ]
    );
}

#[test]
fn show_says_nothing_of_a_mode_that_nobody_set() {
    for (user, expected) in [
        ("", json!(null)),
        ("[tools.approval]\ntrust = \"autonomous\"\n", json!(null)),
        ("[tools.approval]\nmode = \"deny\"\n", json!("deny")),
    ] {
        let effective = self::user(user);
        let rows = effective.show();
        let row = rows.iter().find(|row| row.key == "tools.approval.mode");
        assert_eq!(row.unwrap().value, expected, "{user}");
        // What is shown is what decides.
        let settings = effective.policy_settings();
        assert_eq!(json!(settings.mode), expected, "{user}");
        assert_eq!(settings.mode_alone, !expected.is_null(), "{user}");
    }
}

#[test]
fn show_hides_what_may_be_secret_and_obeys_no_control_character() {
    let effective = user(
        "[providers.x]\nkind = \"ollama\"\nmodel = \"a\\u001b[2Jb\\nc\"\nheaders = { authorization = \"hunter2\" }\n",
    );
    let text: Vec<String> = effective.show().iter().map(ToString::to_string).collect();
    let text = text.join("\n");
    assert!(text.contains("authorization") && !text.contains("hunter2"));
    assert!(
        !serde_json::to_string(&effective.show())
            .unwrap()
            .contains("hunter2")
    );
    assert!(!text.contains('\u{1b}'));
    assert_eq!(text.lines().count(), effective.show().len());
    assert_eq!(
        effective.settings().providers["x"].headers["authorization"],
        "hunter2"
    );
}
