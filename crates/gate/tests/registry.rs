//! Which tools there are: registration, retrieval, order, definitions, aliases.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_gate::BatchContext;
use toolgate_gate::approve::Answer;
use toolgate_gate::middleware::AskAlways;
use toolgate_gate::registry::{
    Alias, Profile, Registry, RegistryError, WireFormat, server_tool_name,
};
use toolgate_gate::tool::{Output, Spelling, Tool, typed};
use toolgate_model::{Action, Args, ErrorKind};
use toolgate_policy::RuleSpec;
use toolgate_testkit::{Act, Rig, Scripted, ScriptedApprover, asking, call, laws, paused};

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_-]{0,20}"
}

fn names() -> impl Strategy<Value = BTreeSet<String>> {
    prop::collection::btree_set(name(), 1..12)
}

fn tool(name: &str) -> Arc<dyn Tool> {
    Scripted::new(name).into()
}

/// What one tool says about itself.
#[derive(Clone, Debug)]
struct Says {
    description: String,
    schema: Value,
    side_effects: bool,
    requires_approval: bool,
}

impl Says {
    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tool = Scripted::new(name).spec(|spec| {
            spec.description = self.description.clone();
            spec.schema = self.schema.clone();
            spec.side_effects = self.side_effects;
            spec.requires_approval = self.requires_approval;
        });
        tool.into()
    }

    /// The definition as the documents of each wire write it.
    fn on_wire(&self, name: &str, format: &str) -> Value {
        let (text, schema) = (&self.description, &self.schema);
        let function = json!({"name": name, "description": text, "parameters": schema});
        match format {
            "toolgate" => json!({"name": name, "description": text, "input_schema": schema,
                "tool": name, "read_only": !self.side_effects,
                "requires_approval": self.requires_approval}),
            "anthropic" => json!({"name": name, "description": text, "input_schema": schema}),
            "openai-chat" | "ollama" => json!({"type": "function", "function": function}),
            "openai-responses" => json!({"type": "function", "name": name,
                "description": text, "parameters": schema, "strict": false}),
            "mcp" => json!({"name": name, "description": text, "inputSchema": schema,
                "annotations": {"readOnlyHint": !self.side_effects,
                    "destructiveHint": self.side_effects}}),
            other => panic!("{other} is a format that this test does not know"),
        }
    }
}

/// A tool with a text and parameters of its own.
fn says() -> impl Strategy<Value = Says> {
    let kind = prop::sample::select(vec!["string", "integer", "boolean", "array"]);
    let about = prop::option::of("[a-z \"é]{1,12}");
    let params = prop::collection::btree_map("[a-z]{1,6}", (kind, about, any::<bool>()), 0..4);
    let text = "[A-Z][a-zé \"\\\\\n]{1,30}\\.";
    (text, params, any::<bool>(), any::<bool>()).prop_map(
        |(description, params, side_effects, requires_approval)| {
            let mut schema = json!({"type": "object", "properties": {}});
            let mut required = Vec::new();
            for (name, (kind, about, needed)) in params {
                schema["properties"][&name] = json!({"type": kind});
                if let Some(about) = about {
                    schema["properties"][&name]["description"] = about.into();
                }
                if needed {
                    required.push(name);
                }
            }
            schema["required"] = required.into();
            Says {
                description,
                schema,
                side_effects,
                requires_approval,
            }
        },
    )
}

fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn property_01_tool_registration_and_retrieval(names in names(), absent in name()) {
        let registry = Registry::new();
        let mut tools = Vec::new();
        for name in &names {
            let tool = tool(name);
            registry.register(Arc::clone(&tool)).unwrap();
            tools.push(tool);
        }
        for tool in &tools {
            let entry = registry.get(&tool.spec().name).unwrap();
            prop_assert!(Arc::ptr_eq(entry.tool(), tool), "the very same tool");
        }
        prop_assert_eq!(registry.get(&absent).is_some(), names.contains(&absent));
    }

    #[test]
    fn property_02_tool_replacement(names in names(), pick in any::<prop::sample::Index>()) {
        let registry = Registry::new();
        for name in &names {
            registry.register(tool(name)).unwrap();
        }
        let name = pick.get(&names.iter().cloned().collect::<Vec<_>>()).clone();
        let first = Arc::clone(registry.get(&name).unwrap().tool());
        let second = tool(&name);
        prop_assert_eq!(
            registry.register(Arc::clone(&second)),
            Err(RegistryError::DuplicateTool { name: name.clone() }),
            "only `replace` replaces"
        );
        prop_assert!(Arc::ptr_eq(registry.get(&name).unwrap().tool(), &first));
        let before = registry.replace(Arc::clone(&second)).unwrap().unwrap();
        prop_assert!(Arc::ptr_eq(before.tool(), &first));
        prop_assert!(Arc::ptr_eq(registry.get(&name).unwrap().tool(), &second));
        prop_assert_eq!(registry.list().len(), names.len());
    }

    #[test]
    fn property_03_tool_unregistration(names in names(), pick in any::<prop::sample::Index>()) {
        let registry = Registry::new();
        for name in &names {
            registry.register(tool(name)).unwrap();
        }
        let name = pick.get(&names.iter().cloned().collect::<Vec<_>>()).clone();
        let kept = registry.get(&name).unwrap();
        let gone = registry.unregister(&name).unwrap();
        prop_assert!(Arc::ptr_eq(&kept, &gone));
        prop_assert!(registry.get(&name).is_none());
        prop_assert_eq!(registry.unregister(&name).unwrap_err(), RegistryError::NoSuchTool { name });
        prop_assert_eq!(registry.list().len(), names.len() - 1);
    }

    #[test]
    fn property_04_tool_list_ordering_and_consistency(
        names in names(),
        order in any::<u64>(),
    ) {
        let registry = Registry::new();
        let mut shuffled: Vec<&String> = names.iter().collect();
        shuffled.sort_by_key(|name| {
            name.bytes().fold(order, |hash, byte| hash.rotate_left(5) ^ u64::from(byte).wrapping_mul(0x9E37_79B9))
        });
        for name in shuffled {
            registry.register(tool(name)).unwrap();
        }
        let listed = |registry: &Registry| -> Vec<String> {
            registry.list().iter().map(|entry| entry.spec().name.clone()).collect()
        };
        let once = listed(&registry);
        prop_assert_eq!(&once, &names.iter().cloned().collect::<Vec<_>>());
        prop_assert_eq!(listed(&registry), once);
    }

    #[test]
    fn property_05_schema_generation_completeness(tools in prop::collection::btree_map(name(), says(), 1..12)) {
        let registry = Registry::new();
        for (name, says) in &tools {
            registry.register(says.tool(name)).unwrap();
        }
        let definitions = registry.definitions("").unwrap();
        prop_assert_eq!(definitions.len(), tools.len(), "exactly one for each tool");
        for (definition, (name, says)) in definitions.iter().zip(&tools) {
            prop_assert_eq!(&definition.name, name);
            prop_assert_eq!(&definition.description, &says.description);
            prop_assert_eq!(&definition.input_schema, &says.schema);
            for (format, wire) in WireFormat::ALL {
                prop_assert_eq!(definition.to_wire(wire), says.on_wire(name, format), "{}", format);
            }
        }
        prop_assert!(Arc::ptr_eq(&definitions, &registry.definitions("").unwrap()), "made once");
    }
}

#[test]
fn test_tool_interface() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Greet {
        name: String,
    }
    let tool = typed("greet", "Greets.", |args: Greet, _| async move {
        Ok(Output::plain(format!("Hello, {}!", args.name)))
    })
    .requires_approval();
    assert!(tool.spec().requires_approval);
    assert_eq!(tool.spec().schema["required"], json!(["name"]));
    let parsed = tool.parse(&args(json!({"name": "Ann"}))).unwrap();
    assert!(parsed.facts().complete);
    assert_eq!(parsed.summary(), "greet");
    let wrong = tool.parse(&args(json!({"name": 1}))).err().unwrap();
    assert_eq!(wrong.kind, ErrorKind::BadArgs);
}

#[test]
fn test_registry_register() {
    let registry = Registry::new();
    registry.register(tool("read")).unwrap();
    let twice = registry.register(tool("read")).unwrap_err();
    assert!(twice.to_string().starts_with("duplicate_tool"), "{twice}");
    for bad in ["", "with space", "tool\u{1b}", &"x".repeat(65), "ünï"] {
        let error = registry.register(tool(bad)).unwrap_err();
        assert!(
            matches!(error, RegistryError::BadName { .. }),
            "{bad:?}: {error}"
        );
    }
    let broken = Scripted::new("broken").spec(|spec| spec.schema = json!({"type": "string"}));
    let error = registry.register(broken.into()).unwrap_err();
    assert!(matches!(error, RegistryError::Schema(_)), "{error}");
    assert_eq!(registry.list().len(), 1);
}

#[test]
fn test_registry_get() {
    let registry = Registry::new();
    registry.register(tool("read_file")).unwrap();
    assert_eq!(registry.get("read_file").unwrap().spec().name, "read_file");
    assert!(registry.get("write_file").is_none());
    let missing = registry.resolve("raed_file", Args::new()).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::UnknownTool);
    assert!(
        missing.message.contains("did you mean \"read_file\""),
        "{}",
        missing.message
    );
    let strange = registry.resolve("zzzzzz", Args::new()).unwrap_err();
    assert!(
        strange.message.contains("there are: read_file"),
        "{}",
        strange.message
    );
}

#[test]
fn test_registry_list() {
    let registry = Registry::new();
    assert!(registry.list().is_empty());
    for name in ["b", "c", "a"] {
        registry.register(tool(name)).unwrap();
    }
    let names: Vec<String> = registry
        .list()
        .iter()
        .map(|e| e.spec().name.clone())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(
        format!("{registry:?}"),
        "Registry { tools: 3, aliases: 0, .. }"
    );
    assert_eq!(
        format!("{:?}", registry.get("a").unwrap()),
        "Entry { name: \"a\", .. }"
    );
}

#[test]
fn test_concurrency() {
    let registry = Arc::new(Registry::new());
    registry.register(tool("stays")).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let registry = Arc::clone(&registry);
            scope.spawn(move || {
                for round in 0..50 {
                    let name = format!("t{worker}_{round}");
                    registry.register(tool(&name)).unwrap();
                    assert!(registry.get(&name).is_some());
                    assert!(registry.get("stays").is_some(), "readers always see it");
                    assert!(
                        registry
                            .definitions("")
                            .unwrap()
                            .iter()
                            .any(|d| d.name == name)
                    );
                    registry.unregister(&name).unwrap();
                }
            });
        }
    });
    assert_eq!(registry.list().len(), 1);
}

/// How a call of `name` goes and how many seconds three of them in a batch take.
fn goes(rig: Rig, name: &str, approver: Option<ScriptedApprover>) -> (Option<ErrorKind>, u64) {
    paused(async {
        let bench = rig.build();
        let mut passage = BatchContext::default();
        if let Some(approver) = approver {
            passage = asking(approver);
        }
        let began = tokio::time::Instant::now();
        let calls = ["1", "2", "3"].map(|id| call(id, name, json!({})));
        let results = bench.run_through(calls.to_vec(), &passage).await;
        (results[0].kind(), began.elapsed().as_secs())
    })
}

#[test]
fn test_functional_options() {
    let rig = || {
        Rig::new()
            .tool(Scripted::new("read"))
            .tool(Scripted::new("write").side_effects())
            .tool(Scripted::new("slow").does(Act::Take(Duration::from_secs(10))))
    };
    // Without options.
    assert_eq!(goes(rig(), "read", None), (None, 0));
    assert_eq!(goes(rig(), "write", None), (Some(ErrorKind::NoApprover), 0));
    assert_eq!(goes(rig(), "slow", None), (None, 30));
    // The policy.
    let denied = rig().rule(RuleSpec::new("read", Action::Deny));
    assert_eq!(
        goes(denied, "read", None),
        (Some(ErrorKind::PolicyDenied), 0)
    );
    // Who is asked.
    let person = ScriptedApprover::new([Answer::yes()]);
    assert_eq!(goes(rig(), "write", Some(person)), (None, 0));
    // Middleware.
    let asking_always = rig().middleware(Arc::new(AskAlways::about("read", "it is Friday")));
    assert_eq!(
        goes(asking_always, "read", None),
        (Some(ErrorKind::NoApprover), 0)
    );
    // How long a call may take; the other limits keep their default.
    let hasty = rig().settings(|settings| settings.timeouts.default = Duration::from_secs(7));
    let (kind, seconds) = goes(hasty, "slow", None);
    assert_eq!(kind, Some(ErrorKind::Timeout));
    assert!((21..30).contains(&seconds), "{seconds}");
    // How many run side by side.
    let wide = rig().settings(|settings| settings.max_concurrent = 3);
    assert_eq!(goes(wide, "slow", None), (None, 10));
    // All of them together.
    let composed = rig()
        .rule(RuleSpec::new("slow", Action::Ask))
        .settings(|settings| {
            settings.timeouts.default = Duration::from_secs(7);
            settings.max_concurrent = 2;
        });
    let person = ScriptedApprover::new([Answer::yes()]);
    let (kind, seconds) = goes(composed, "slow", Some(person));
    assert_eq!(kind, Some(ErrorKind::Timeout));
    assert!((14..20).contains(&seconds), "{seconds}");
    let settings = toolgate_gate::Settings::default();
    assert_eq!(settings.timeouts.exec.as_secs(), 300);
    assert!(format!("{:?}", rig().build().gate).starts_with("Gate"));
}

#[test]
fn an_alias_is_its_tool_with_other_spellings_and_presets() {
    let registry = Registry::new();
    let write = Scripted::new("write").spec(|spec| {
        spec.schema = json!({"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
            "path": {"type": "string"}, "overwrite": {"type": "boolean"}, "seconds": {"type": "integer"}}});
        spec.spellings.push(Spelling::same("filePath", "path"));
    });
    registry.register(write.into()).unwrap();
    let milliseconds = Spelling {
        other: "timeout".into(),
        canonical: "seconds".into(),
        offered: true,
        convert: Some(|value| {
            let ms = value.as_u64().ok_or("expected milliseconds")?;
            Ok((ms / 1000).into())
        }),
    };
    assert_eq!(format!("{milliseconds:?}"), "timeout = seconds");
    let alias = Alias::new("file_write", "write")
        .spelling(Spelling::same("file", "path"))
        .spelling(milliseconds)
        .preset("overwrite", true);
    registry.alias(alias.clone()).unwrap();
    assert_eq!(registry.canonical("file_write"), "write");
    assert_eq!(registry.canonical("nobody"), "nobody");
    assert_eq!(registry.get("file_write").unwrap().spec().name, "write");
    let resolved = |name: &str, given: Value| {
        registry
            .resolve(name, args(given))
            .map(|r| Value::Object(r.args))
    };
    for (name, given, expected) in [
        ("write", json!({"filePath": "a"}), json!({"path": "a"})),
        (
            "file_write",
            json!({"file": "a"}),
            json!({"path": "a", "overwrite": true}),
        ),
        (
            "file_write",
            json!({"path": "a", "overwrite": false}),
            json!({"path": "a", "overwrite": false}),
        ),
        (
            "file_write",
            json!({"path": "a", "timeout": 3000}),
            json!({"path": "a", "seconds": 3, "overwrite": true}),
        ),
        ("write", json!({"file": "a"}), json!({"file": "a"})),
    ] {
        assert_eq!(
            resolved(name, given.clone()).unwrap(),
            expected,
            "{name} {given}"
        );
    }
    let twice = resolved("file_write", json!({"file": "a", "path": "b"})).unwrap_err();
    assert!(
        twice.message.contains("the same argument"),
        "{}",
        twice.message
    );
    let wrong = resolved("file_write", json!({"path": "a", "timeout": "x"})).unwrap_err();
    assert!(
        wrong.message.contains("timeout: expected milliseconds"),
        "{}",
        wrong.message
    );

    for taken in [Alias::new("write", "write"), alias] {
        assert!(matches!(
            registry.alias(taken),
            Err(RegistryError::DuplicateTool { .. })
        ));
    }
    assert!(matches!(
        registry.alias(Alias::new("x", "nobody")),
        Err(RegistryError::NoSuchTool { .. })
    ));
    assert!(matches!(
        registry.alias(Alias::new("x y", "write")),
        Err(RegistryError::BadName { .. })
    ));
    assert!(matches!(
        registry.register(tool("file_write")),
        Err(RegistryError::DuplicateTool { .. })
    ));
    assert!(matches!(
        registry.replace(tool("file_write")),
        Err(RegistryError::DuplicateTool { .. })
    ));

    registry
        .profile(Profile::new("other", ["file_write"]))
        .unwrap();
    assert_eq!(registry.profiles(), ["other"]);
    assert!(
        registry.profile(Profile::new("wrong", ["write"])).is_err(),
        "a profile names aliases"
    );
    let advertised = registry.definitions("other").unwrap();
    assert_eq!(
        (advertised[0].name.as_str(), advertised[0].tool.as_str()),
        ("file_write", "write")
    );
    assert_eq!(advertised[0].input_schema["required"], json!(["file"]));
    assert_eq!(
        advertised[0].input_schema["properties"]["overwrite"]["default"],
        true
    );
    assert!(registry.definitions("nobody").is_err());

    registry.unregister("write").unwrap();
    assert!(
        registry.get("file_write").is_none(),
        "an alias goes with its tool"
    );
    assert!(registry.definitions("other").unwrap().is_empty());
}

#[test]
fn ac_01_the_parts_depend_on_each_other_in_one_direction() {
    let allowed: [(&str, &[&str]); 6] = [
        ("model", &[]),
        ("policy", &["model", "shell"]),
        ("sandbox", &["model"]),
        ("redact", &[]),
        ("gate", &["model", "policy", "redact", "sandbox", "shell"]),
        ("journal", &["gate", "model"]),
    ];
    for (part, may) in allowed {
        let place = format!("{}/../{part}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        let manifest = std::fs::read_to_string(&place).unwrap();
        let section = manifest
            .split("\n[")
            .find(|text| text.starts_with("dependencies]"))
            .unwrap();
        let uses = section
            .lines()
            .filter_map(|line| line.strip_prefix("toolgate-"));
        for used in uses.filter_map(|line| line.split([' ', '.', '=']).next()) {
            assert!(may.contains(&used), "{part} depends on {used}");
        }
    }
}

#[test]
fn ac_02_a_definition_serializes_with_the_names_of_its_convention() {
    let registry = Registry::new();
    registry.register(tool("read")).unwrap();
    let definition = registry.definitions("").unwrap()[0].clone();
    let own = serde_json::to_value(&definition).unwrap();
    let keys: Vec<&String> = own.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["description", "input_schema", "name"]);
    for (format, pointer) in [
        ("toolgate", "/input_schema"),
        ("anthropic", "/input_schema"),
        ("openai-chat", "/function/parameters"),
        ("openai-responses", "/parameters"),
        ("ollama", "/function/parameters"),
        ("mcp", "/inputSchema"),
    ] {
        let wire = definition.to_wire(format.parse().unwrap());
        assert_eq!(
            wire.pointer(pointer),
            Some(&definition.input_schema),
            "{format}"
        );
    }
    let unknown = "yaml".parse::<WireFormat>().unwrap_err();
    assert!(
        unknown.contains("known are toolgate, anthropic"),
        "{unknown}"
    );
}

#[test]
fn what_is_not_advertised_is_still_callable() {
    let registry = Registry::new();
    registry
        .register(
            Scripted::new("hidden")
                .spec(|spec| spec.advertised = false)
                .into(),
        )
        .unwrap();
    registry
        .register(Scripted::new("open").does(Act::Echo).into())
        .unwrap();
    let definitions = registry.definitions("").unwrap();
    assert_eq!(
        definitions
            .iter()
            .map(|d| d.name.as_str())
            .collect::<Vec<_>>(),
        ["open"]
    );
    assert!(registry.resolve("hidden", Args::new()).is_ok());
    let unknown = registry.resolve("qqqqqqq", Args::new()).unwrap_err();
    assert!(!unknown.message.contains("hidden"), "{}", unknown.message);
}

#[test]
fn a_changed_tool_has_another_digest() {
    let registry = Registry::new();
    registry.register(tool("t")).unwrap();
    let before = registry.get("t").unwrap().digest().to_owned();
    for changed in [
        Scripted::new("t").spec(|spec| spec.description.push('!')),
        Scripted::new("t").spec(|spec| spec.schema["title"] = json!("x")),
        Scripted::new("t").side_effects(),
        Scripted::new("t").spec(|spec| spec.requires_approval = true),
    ] {
        registry.replace(changed.into()).unwrap();
        assert_ne!(registry.get("t").unwrap().digest(), before);
    }
    registry.replace(tool("t")).unwrap();
    assert_eq!(registry.get("t").unwrap().digest(), before);
}

toolgate_gate::link_tool!(|| Scripted::new("linked_in").into());

#[test]
fn linked_tools_register_themselves() {
    let registry = Registry::with_linked().unwrap();
    assert!(registry.get("linked_in").is_some());
}

/// Names of servers and tools, of letters that tell little apart.
fn foreign() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab_.]{0,4}",
        "[a-c_./é -]{0,6}",
        "[a_]{28,66}",
        "[a-z_]{1,3}_[0-9a-f]{20}",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(laws(256))]

    #[test]
    fn a_tool_of_a_server_has_one_name_of_its_own(pairs in prop::collection::btree_set((foreign(), foreign()), 1..40)) {
        let mut given = BTreeSet::new();
        let registry = Registry::new();
        for (server, tool_name) in &pairs {
            let name = server_tool_name(server, tool_name);
            prop_assert_eq!(&name, &server_tool_name(server, tool_name));
            prop_assert!(given.insert(name.clone()), "{:?} {:?} is {} too", server, tool_name, name);
            prop_assert!(registry.register(tool(&name)).is_ok(), "{}", name);
            // A name that was given is no other server's to give.
            if let Some((server, tool)) = name.split_once("__") {
                let again = server_tool_name(server, tool);
                let own = pairs.contains(&(server.to_owned(), tool.to_owned()));
                prop_assert!(again != name || own);
            }
        }
        prop_assert_eq!(registry.list().len(), pairs.len());
    }
}
