//! From the content of a tool block to a call.

use serde_json::{Map, Value};
use toolgate_model::json::{self, JsonLimits};
use toolgate_model::nearest::nearest;
use toolgate_model::{BadCall, Call, CallId, ToolCall};

use super::fault::{BlockError, head};

const FIELDS: [&str; 4] = ["name", "args", "reason", "id"];

/// Names that models know from other wires, and what they mean here.
const FOREIGN: [(&str, &str); 6] = [
    ("arguments", "args"),
    ("parameters", "args"),
    ("input", "args"),
    ("tool", "name"),
    ("function", "name"),
    ("call_id", "id"),
];

/// Reads a closed block.
pub(super) fn read(content: &str, number: u64, limits: JsonLimits) -> Call {
    if content.trim().is_empty() {
        return bad(default_id(number), None, BlockError::Empty);
    }
    let object = match json::parse_object(content.as_bytes(), limits) {
        Ok(object) => object,
        Err(fault) => {
            let fault = BlockError::json(&fault, content);
            return bad(default_id(number), None, fault);
        }
    };
    let (id, name) = identity(&object, number);
    match check(object, content) {
        Ok((name, args, reason)) => Call::Whole(ToolCall {
            id,
            name,
            args,
            reason,
        }),
        Err(fault) => bad(id, name, fault),
    }
}

/// A block that cannot be read as a call because of `fault`. If its JSON is
/// whole, the error goes back under the id and the name that stand there.
pub(super) fn refuse(content: &str, number: u64, limits: JsonLimits, fault: BlockError) -> Call {
    let object = json::parse_object(content.as_bytes(), limits).unwrap_or_default();
    let (id, name) = identity(&object, number);
    bad(id, name, fault)
}

fn bad(id: CallId, name: Option<String>, fault: BlockError) -> Call {
    Call::Bad(BadCall {
        id,
        name,
        error: fault.into(),
    })
}

fn default_id(number: u64) -> CallId {
    CallId::new(format!("fenced_{number}"))
}

/// The id and the name as far as they can be read.
fn identity(object: &Map<String, Value>, number: u64) -> (CallId, Option<String>) {
    let text = |field: &str| {
        let text = object.get(field).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty())
    };
    let id = text("id").map_or_else(|| default_id(number), CallId::from);
    (id, text("name").map(str::to_owned))
}

type Parts = (String, Map<String, Value>, Option<String>);

/// The fields of a call, each with its one type; `null` is no way to leave one out.
fn check(mut object: Map<String, Value>, content: &str) -> Result<Parts, BlockError> {
    if let Some(field) = object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let foreign = FOREIGN.iter().find(|(theirs, _)| theirs == field);
        let hint = foreign.map(|(_, ours)| *ours);
        return Err(BlockError::UnknownField {
            field: head(field),
            hint: hint.or_else(|| nearest(field, FIELDS)),
            excerpt: head(content),
        });
    }
    let wrong = |field, expected, got| BlockError::WrongField {
        field,
        expected,
        got,
        excerpt: head(content),
    };
    let name = match object.remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        Some(Value::String(_)) | None => {
            return Err(BlockError::NoName {
                excerpt: head(content),
            });
        }
        Some(other) => return Err(wrong("name", "a string", json::type_name(&other))),
    };
    let args = match object.remove("args") {
        Some(Value::Object(args)) => args,
        None => Map::new(),
        Some(other) => return Err(wrong("args", "an object", json::type_name(&other))),
    };
    let reason = match object.remove("reason") {
        Some(Value::String(reason)) => Some(reason),
        None => None,
        Some(other) => return Err(wrong("reason", "a string", json::type_name(&other))),
    };
    match object.remove("id") {
        Some(Value::String(id)) if id.trim().is_empty() => {
            Err(wrong("id", "a name or left out", "blank"))
        }
        Some(Value::String(_)) | None => Ok((name, args, reason)),
        Some(other) => Err(wrong("id", "a string", json::type_name(&other))),
    }
}

#[cfg(test)]
mod tests {
    use toolgate_model::ErrorKind;

    use super::*;

    fn call(content: &str) -> Call {
        read(content, 7, JsonLimits::default())
    }

    #[test]
    fn a_whole_call_has_everything_it_was_given() {
        let text = r#"{"id":"a","name":"grep","args":{"pattern":"x"},"reason":"why"}"#;
        let Call::Whole(whole) = call(text) else {
            panic!()
        };
        assert_eq!(whole.id.as_str(), "a");
        assert_eq!(whole.name, "grep");
        assert_eq!(whole.args["pattern"], "x");
        assert_eq!(whole.reason.as_deref(), Some("why"));
        let Call::Whole(short) = call("\n {\"name\":\"ls\"} \r\n") else {
            panic!()
        };
        assert_eq!(short.id.as_str(), "fenced_7");
        assert!(short.args.is_empty() && short.reason.is_none());
    }

    #[test]
    fn damaged_calls_say_what_is_wrong_and_keep_what_can_be_read() {
        for (content, id, name, part) in [
            ("", "fenced_7", None, "is empty"),
            (" \n\t", "fenced_7", None, "is empty"),
            ("{\"name\":", "fenced_7", None, "EOF"),
            ("ls -la", "fenced_7", None, "ls -la"),
            ("{} {}", "fenced_7", None, "trailing characters"),
            ("[]", "fenced_7", None, "holds an array"),
            ("{}", "fenced_7", None, "names no tool"),
            (r#"{"name":" "}"#, "fenced_7", None, "names no tool"),
            (
                r#"{"name":1,"id":"b"}"#,
                "b",
                None,
                "\"name\" of the tool block has to be a string, and is a number",
            ),
            (
                r#"{"name":"x","args":null}"#,
                "fenced_7",
                Some("x"),
                "an object, and is null",
            ),
            (
                r#"{"name":"x","args":"{}"}"#,
                "fenced_7",
                Some("x"),
                "an object, and is a string",
            ),
            (
                r#"{"name":"x","reason":null}"#,
                "fenced_7",
                Some("x"),
                "\"reason\"",
            ),
            (r#"{"name":"x","id":3}"#, "fenced_7", Some("x"), "\"id\""),
            (r#"{"name":"x","id":""}"#, "fenced_7", Some("x"), "is blank"),
            (
                r#"{"name":"x","arguments":{}}"#,
                "fenced_7",
                Some("x"),
                "perhaps \"args\"",
            ),
            (
                r#"{"name":"x","resaon":""}"#,
                "fenced_7",
                Some("x"),
                "perhaps \"reason\"",
            ),
            (
                r#"{"name":"x","approved":true}"#,
                "fenced_7",
                Some("x"),
                "unknown field \"approved\".",
            ),
            (
                r#"{"name":"x","name":"y"}"#,
                "fenced_7",
                None,
                "key \"name\" twice",
            ),
            (
                r#"{"name":"x","args":{"n":1e99}}"#,
                "fenced_7",
                None,
                "too large to be exact",
            ),
        ] {
            let Call::Bad(bad) = call(content) else {
                panic!("{content}")
            };
            assert_eq!(bad.error.kind, ErrorKind::BadCall, "{content}");
            assert_eq!(bad.id.as_str(), id, "{content}");
            assert_eq!(bad.name.as_deref(), name, "{content}");
            let message = &bad.error.message;
            assert!(message.contains(part), "{content}: {message}");
        }
    }

    #[test]
    fn messages_stay_short_whatever_is_quoted() {
        let long = "k".repeat(9000);
        for content in [
            format!("{{\"{long}\":1,\"{long}\":2}}"),
            format!("{{\"{long}\":1}}"),
            format!("{{\"args\":{{\"{long}\":1}}}}"),
            long,
        ] {
            let Call::Bad(bad) = call(&content) else {
                panic!()
            };
            let length = bad.error.message.chars().count();
            assert!(length < 800, "{length}: {}", bad.error.message);
        }
    }
}
