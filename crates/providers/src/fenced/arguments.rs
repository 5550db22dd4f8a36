//! The arguments of a tool, read from its JSON Schema for users and models to read.

use std::cell::Cell;

use serde_json::{Map, Value};

/// How deep arguments inside arguments are described; schemas may refer to themselves.
const DEPTH_MAX: usize = 4;

/// How many parts of one schema are described; references can make few lines mean many.
const PARTS_MAX: usize = 1000;

/// How many alternatives of one argument are listed.
const ALTERNATIVES_MAX: usize = 50;

/// One argument, or one field of an argument that is an object.
#[derive(Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) name: String,
    /// `string`, `integer[]`, `"a" | "b"`, …
    pub(super) kind: String,
    pub(super) required: bool,
    /// The default as JSON.
    pub(super) default: Option<String>,
    pub(super) description: String,
    /// A value that fits, for an example.
    pub(super) sample: Value,
    pub(super) fields: Vec<Argument>,
}

/// The arguments a schema describes: required ones first, then by name.
pub(super) fn arguments(schema: &Value) -> Vec<Argument> {
    let parts_left = Cell::new(PARTS_MAX);
    let root = schema;
    Reader { root, parts_left }.fields(schema, DEPTH_MAX)
}

/// Text on one line, so that it cannot break the list it stands in.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

struct Reader<'a> {
    root: &'a Value,
    parts_left: Cell<usize>,
}

impl<'a> Reader<'a> {
    fn fields(&self, schema: &'a Value, depth: usize) -> Vec<Argument> {
        let Some(depth) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let schema = self.resolve(schema);
        let required: Vec<&str> = items(schema, "required")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields: Vec<Argument> = properties
            .into_iter()
            .flatten()
            .take_while(|_| self.spend())
            .map(|(name, property)| {
                self.argument(name, property, required.contains(&name.as_str()), depth)
            })
            .collect();
        fields.sort_by_key(|field| !field.required);
        fields
    }

    /// Whether one more part may be described.
    fn spend(&self) -> bool {
        let left = self.parts_left.get();
        self.parts_left.set(left.saturating_sub(1));
        left > 0
    }

    fn argument(&self, name: &str, schema: &'a Value, required: bool, depth: usize) -> Argument {
        // What stands beside a reference is about this argument, what stands behind it about all.
        let beyond = self.resolve(schema);
        let about = |key: &str| schema.get(key).or_else(|| beyond.get(key));
        let default = about("default").filter(|value| !value.is_null());
        let fields = self.fields(self.element(schema), depth);
        Argument {
            name: one_line(name),
            kind: self.kind(schema, depth),
            required,
            default: default.map(Value::to_string),
            description: one_line(about("description").and_then(Value::as_str).unwrap_or("")),
            sample: self.sample(name, schema, &fields),
            fields,
        }
    }

    /// Follows references inside the schema, and looks through wrappers of a single schema.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut at = schema;
        for _ in 0..DEPTH_MAX {
            let target = at.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|path| self.root.pointer(path.strip_prefix('#')?));
            let wrapper = at.get("type").is_none() && at.get("properties").is_none();
            let only = || {
                let mut variants = variants(at);
                let first = variants.next().filter(|_| wrapper);
                first.filter(|_| variants.next().is_none())
            };
            match target.or_else(only) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// The schema of an array's elements, or of the value itself.
    fn element(&self, schema: &'a Value) -> &'a Value {
        let schema = self.resolve(schema);
        schema
            .get("items")
            .map_or(schema, |items| self.resolve(items))
    }

    fn kind(&self, schema: &'a Value, depth: usize) -> String {
        let schema = self.resolve(schema);
        if let Some(constant) = schema.get("const") {
            return constant.to_string();
        }
        let choices = items(schema, "enum");
        if !choices.is_empty() {
            let choices = choices.iter().filter(|choice| !choice.is_null());
            return alternatives(choices.map(Value::to_string));
        }
        let Some(depth) = depth.checked_sub(1).filter(|_| self.spend()) else {
            return "any".into();
        };
        if variants(schema).next().is_some() {
            return alternatives(variants(schema).map(|variant| self.kind(variant, depth)));
        }
        let named = |name: &str| match (name, schema.get("items")) {
            ("array", Some(items)) => {
                let element = self.kind(items, depth);
                if element.contains(" | ") {
                    format!("({element})[]")
                } else {
                    format!("{element}[]")
                }
            }
            _ => name.to_owned(),
        };
        match schema.get("type") {
            Some(Value::String(name)) => named(name),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                alternatives(names.filter(|name| *name != "null").map(named))
            }
            _ if schema.get("properties").is_some() => "object".into(),
            _ => "any".into(),
        }
    }

    /// A value that fits, given the fields of the value or of an array's elements.
    fn sample(&self, name: &str, schema: &'a Value, fields: &[Argument]) -> Value {
        let schema = self.resolve(schema);
        let given = items(schema, "examples").first();
        let given = given.or_else(|| schema.get("const"));
        if let Some(given) = given.or_else(|| items(schema, "enum").first()) {
            return given.clone();
        }
        let kind = match schema.get("type") {
            Some(Value::Array(names)) => {
                let mut names = names.iter().filter_map(Value::as_str);
                names.find(|name| *name != "null")
            }
            other => other.and_then(Value::as_str),
        };
        match (kind, schema.get("items")) {
            (Some("integer" | "number"), _) => 1.into(),
            (Some("boolean"), _) => true.into(),
            (Some("object"), _) => required_sample(fields).into(),
            (Some("array"), Some(items)) if self.resolve(items).get("items").is_none() => {
                Value::Array(vec![self.sample(name, items, fields)])
            }
            (Some("array"), _) => Value::Array(Vec::new()),
            _ => format!("<{}>", one_line(name)).into(),
        }
    }
}

/// An object with a value for each required field.
pub(super) fn required_sample(fields: &[Argument]) -> Map<String, Value> {
    let required = fields.iter().filter(|field| field.required);
    required
        .map(|field| (field.name.clone(), field.sample.clone()))
        .collect()
}

fn items<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    let list = schema.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The schemas of which one has to fit, without the one for `null`.
fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(|key| items(schema, key))
        .filter(|variant| variant.get("type").and_then(Value::as_str) != Some("null"))
}

/// `a | b`, each once, as far as there is room.
fn alternatives(kinds: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for kind in kinds {
        if seen.len() == ALTERNATIVES_MAX {
            seen.push("…".into());
            break;
        }
        if !seen.contains(&kind) {
            seen.push(kind);
        }
    }
    if seen.is_empty() {
        return "any".into();
    }
    seen.join(" | ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_read_from_every_usual_spelling() {
        for (schema, kind) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["integer", "null"]}), "integer"),
            (json!({"type": ["string", "number"]}), "string | number"),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "string[]",
            ),
            (
                json!({"type": "array", "items": {"enum": ["a", "b"]}}),
                "(\"a\" | \"b\")[]",
            ),
            (json!({"type": "array"}), "array"),
            (json!({"enum": ["a", null, 2]}), "\"a\" | 2"),
            (json!({"const": 3}), "3"),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                "integer",
            ),
            (
                json!({"oneOf": [{"const": "x"}, {"const": "y"}]}),
                "\"x\" | \"y\"",
            ),
            (json!({"$ref": "#/$defs/Side"}), "\"left\" | \"right\""),
            (
                json!({"allOf": [{"$ref": "#/$defs/Side"}]}),
                "\"left\" | \"right\"",
            ),
            (json!({"$ref": "#/$defs/Missing"}), "any"),
            (json!({"$ref": "https://example.org/x"}), "any"),
            (json!({"properties": {}}), "object"),
            (json!({"type": []}), "any"),
            (json!(true), "any"),
        ] {
            let schema = json!({
                "properties": {"x": schema},
                "$defs": {"Side": {"enum": ["left", "right"]}},
            });
            let read = arguments(&schema);
            assert_eq!(read[0].kind, kind, "{schema}");
        }
    }

    #[test]
    fn required_arguments_come_first_and_fields_are_described() {
        let schema = json!({
            "properties": {
                "context": {"type": "integer", "default": 3},
                "edits": {
                    "type": "array", "description": "what\n\n to change",
                    "items": {"$ref": "#/$defs/Edit"},
                },
                "path": {"type": "string"},
            },
            "required": ["path", "edits"],
            "$defs": {"Edit": {
                "type": "object", "required": ["target"],
                "properties": {"target": {"type": "string"}, "line_hint": {"type": ["integer", "null"], "default": null}},
            }},
        });
        let read = arguments(&schema);
        let names: Vec<&str> = read.iter().map(|argument| argument.name.as_str()).collect();
        assert_eq!(names, ["edits", "path", "context"]);
        assert_eq!(read[0].kind, "object[]");
        assert_eq!(read[0].description, "what to change");
        assert_eq!(read[0].fields[0].name, "target");
        assert!(read[0].fields[0].required && !read[0].fields[1].required);
        assert_eq!(read[0].fields[1].default, None);
        assert_eq!(read[2].default.as_deref(), Some("3"));
        let narrowed = json!({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}]});
        assert_eq!(arguments(&narrowed).len(), 1);
        let sample = json!({"edits": [{"target": "<target>"}], "path": "<path>"});
        assert_eq!(Value::Object(required_sample(&read)), sample);
    }

    #[test]
    fn schemas_that_refer_to_themselves_come_to_an_end() {
        let schema = json!({
            "properties": {"node": {"$ref": "#"}, "self": {"$ref": "#/properties/self"}},
            "required": ["node", "self"],
        });
        assert_eq!(arguments(&schema).len(), 2);
        let wide: Map<String, Value> = (0..500)
            .map(|n| (format!("n{n}"), json!({"$ref": "#"})))
            .collect();
        let variants: Vec<Value> = (0..500).map(|_| json!({"$ref": "#"})).collect();
        for schema in [
            json!({"type": "object", "properties": wide}),
            json!({"properties": {"x": {"$ref": "#"}}, "anyOf": variants}),
        ] {
            let text = format!("{:?}", arguments(&schema));
            assert!(text.len() < 1_000_000, "{}", text.len());
        }
        let choices: Vec<usize> = (0..9999).collect();
        let many = arguments(&json!({"properties": {"x": {"enum": choices}}}));
        assert!(many[0].kind.ends_with("49 | …"), "{}", many[0].kind);
        assert!(arguments(&json!(null)).is_empty());
    }
}
