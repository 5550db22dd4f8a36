//! The page's types are those of the frames and of the HTTP interface.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

const HEAD: &str = "// Made from the program's own types. To renew it: UPDATE_DOCUMENTS=1 cargo test -p toolgate-server\n";

/// The type of a JSON Schema in TypeScript.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        let all: Vec<String> = values.iter().map(Value::to_string).collect();
        return all.join(" | ");
    }
    for several in ["oneOf", "anyOf"] {
        if let Some(kinds) = schema[several].as_array() {
            let all: Vec<String> = kinds.iter().map(type_of).collect();
            return all.join(" | ");
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let one = |kind: &Value| {
                let mut schema = schema.clone();
                schema["type"] = kind.clone();
                type_of(&schema)
            };
            let all: Vec<String> = kinds.iter().map(one).collect();
            all.join(" | ")
        }
        Value::String(kind) => match kind.as_str() {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => {
                let of = schema.get("items").map_or("unknown".to_owned(), type_of);
                if of.contains(' ') {
                    format!("({of})[]")
                } else {
                    format!("{of}[]")
                }
            }
            "object" => object(schema),
            other => panic!("{other}"),
        },
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        let of = schema["additionalProperties"].as_object();
        let of = of.map_or("unknown".to_owned(), |_| {
            type_of(&schema["additionalProperties"])
        });
        return format!("Record<string, {of}>");
    };
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|one| one == name))
    };
    let mut text = "{\n".to_owned();
    for (name, schema) in properties {
        text += &comment(schema, "  ");
        let mark = if required(name) { "" } else { "?" };
        let of = type_of(schema).replace('\n', "\n  ");
        writeln!(text, "  {name}{mark}: {of};").unwrap();
    }
    text + "}"
}

fn comment(schema: &Value, indent: &str) -> String {
    let said = schema["description"].as_str();
    said.map_or(String::new(), |said| {
        format!("{indent}/** {} */\n", said.replace('\n', " "))
    })
}

/// A declaration for each schema.
fn declared(schemas: &Value) -> String {
    let mut text = HEAD.to_owned();
    for (name, schema) in schemas.as_object().unwrap() {
        text += "\n";
        text += &comment(schema, "");
        writeln!(text, "export type {name} = {};", type_of(schema)).unwrap();
    }
    text
}

#[test]
fn the_committed_types_are_those_of_the_program() {
    let types = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/types");
    let frames = toolgate_server::frames::schema();
    let http = toolgate_server::openapi();
    for (name, schemas) in [
        ("frames.d.ts", &frames["$defs"]),
        ("http.d.ts", &http["components"]["schemas"]),
    ] {
        let path = types.join(name);
        let text = declared(schemas);
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is out of date: run this test with UPDATE_DOCUMENTS=1"
        );
    }
}
