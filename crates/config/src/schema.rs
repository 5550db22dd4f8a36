//! The JSON Schema of a configuration file, for editors.

use serde_json::{Map, Value, json};

use crate::catalog::{Key, ROOT, Shape};

/// The schema of a file, JSON Schema 2020-12.
pub fn schema() -> Value {
    let mut schema = table(ROOT);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        schema.insert("title".to_owned(), json!("Toolgate configuration"));
    }
    schema
}

fn table(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut property = of(&key.shape);
            if let Some(property) = property.as_object_mut() {
                property.insert("description".to_owned(), json!(key.doc));
                property.extend(
                    key.default
                        .value()
                        .map(|value| ("default".to_owned(), value)),
                );
            }
            (key.name.to_owned(), property)
        })
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut table =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if let Some(table) = table.as_object_mut().filter(|_| !required.is_empty()) {
        table.insert("required".to_owned(), json!(required));
    }
    table
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Price => json!({ "type": "number", "minimum": 0, "maximum": 1_000_000 }),
        Shape::Text(check) => match check.pattern() {
            Some(pattern) => json!({ "type": "string", "pattern": pattern }),
            None => json!({ "type": "string" }),
        },
        Shape::Choice(words) => json!({ "type": "string", "enum": words }),
        Shape::List { item, min: 0 } => json!({ "type": "array", "items": of(item) }),
        Shape::List { item, min } => json!({ "type": "array", "items": of(item), "minItems": min }),
        Shape::Either(shapes) => {
            let all: Vec<Value> = shapes.iter().map(of).collect();
            json!({ "anyOf": all })
        }
        Shape::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Shape::Table(keys) => table(keys),
        Shape::Named(keys) => json!({
            "type": "object",
            "additionalProperties": table(keys),
            "propertyNames": { "pattern": r"\S" },
        }),
        Shape::Anything => json!({ "type": "object" }),
    }
}
