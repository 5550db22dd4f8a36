//! A tool call as it came from a model or a client, whole or damaged.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ErrorKind, ToolError};
use crate::ids::CallId;
use crate::json::{self, JsonError, JsonLimits};

/// The arguments of a call: one JSON object, read once.
pub type Args = Map<String, Value>;

/// A whole call: which tool, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The name the results go back under.
    pub id: CallId,
    /// The tool, by its canonical name or an alias.
    pub name: String,
    /// What the tool gets.
    pub args: Args,
    /// The model's own words about why; shown to the user, marked as the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ToolCall {
    /// A call without a reason.
    pub fn new(id: impl Into<CallId>, name: impl Into<String>, args: Args) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            args,
            reason: None,
        }
    }

    /// How many bytes the arguments have as JSON.
    pub fn args_bytes(&self) -> usize {
        struct Count(usize);
        impl std::io::Write for Count {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut count = Count(0);
        match serde_json::to_writer(&mut count, &self.args) {
            Ok(()) => count.0,
            // A map of strings and values always serializes; were it otherwise, no limit is met.
            Err(_) => usize::MAX,
        }
    }
}

/// A damaged call: it settles as an error the model can read, is never repaired, never dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadCall {
    /// The name the error goes back under.
    pub id: CallId,
    /// The tool it named, as far as that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was wrong with it.
    pub error: ToolError,
}

/// What `assemble` hands to the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// A whole call.
    Whole(ToolCall),
    /// A damaged call.
    Bad(BadCall),
}

impl Call {
    /// A call with these arguments. Anything but an object makes it a damaged call.
    pub fn new(id: impl Into<CallId>, name: impl Into<String>, args: Value) -> Self {
        match args {
            Value::Object(args) => Self::Whole(ToolCall::new(id, name, args)),
            other => Self::Bad(BadCall {
                id: id.into(),
                name: Some(name.into()),
                error: args_fault(&JsonError::NotAnObject {
                    got: json::type_name(&other),
                }),
            }),
        }
    }

    /// Takes a name and the text of its arguments as they came from a wire.
    ///
    /// Empty text means no arguments: several wires send nothing for a call without any.
    pub fn from_wire(id: impl Into<CallId>, name: &str, args: &[u8], limits: JsonLimits) -> Self {
        let blank = args.iter().all(u8::is_ascii_whitespace) && args.len() <= limits.max_bytes;
        Self::from_text(id, name, if blank { b"{}" } else { args }, limits)
    }

    /// Takes a name and the text of its arguments, which has to be there.
    pub fn from_text(id: impl Into<CallId>, name: &str, args: &[u8], limits: JsonLimits) -> Self {
        let id = id.into();
        if name.trim().is_empty() {
            let error = ToolError::new(
                ErrorKind::BadCall,
                "the call names no tool; send {\"name\": …, \"args\": {…}} with the name of a listed tool",
            );
            return Self::Bad(BadCall {
                id,
                name: None,
                error,
            });
        }
        match json::parse_object(args, limits) {
            Ok(args) => Self::Whole(ToolCall::new(id, name, args)),
            Err(fault) => Self::Bad(BadCall {
                id,
                name: Some(name.to_owned()),
                error: args_fault(&fault),
            }),
        }
    }

    /// The call's id.
    pub const fn id(&self) -> &CallId {
        match self {
            Self::Whole(call) => &call.id,
            Self::Bad(call) => &call.id,
        }
    }

    /// The tool it names, if it could be read.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Whole(call) => Some(&call.name),
            Self::Bad(call) => call.name.as_deref(),
        }
    }
}

impl From<ToolCall> for Call {
    fn from(call: ToolCall) -> Self {
        Self::Whole(call)
    }
}

/// The error of arguments that are not one strict JSON object.
fn args_fault(fault: &JsonError) -> ToolError {
    match fault {
        JsonError::TooLarge { .. } => ToolError::new(
            ErrorKind::LimitExceeded,
            format!("the arguments are too large: {fault}; send less at once"),
        ),
        JsonError::NotAnObject { .. } => ToolError::new(
            ErrorKind::BadCall,
            format!("the arguments are no object: {fault}; send {{\"name\": value, …}}"),
        ),
        JsonError::Invalid { .. } => ToolError::new(
            ErrorKind::BadCall,
            format!(
                "the arguments are not valid JSON: {fault}; nothing was run, send the whole call again"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(name: &str, args: &str) -> Call {
        Call::from_wire(
            "c1",
            name,
            args.as_bytes(),
            JsonLimits {
                max_bytes: 40,
                max_depth: 4,
            },
        )
    }

    #[test]
    fn whole_calls_keep_their_arguments() {
        let Call::Whole(call) = wire("read_file", r#"{"path":"a.txt"}"#) else {
            panic!()
        };
        assert_eq!(call.args["path"], "a.txt");
        assert_eq!(call.args_bytes(), r#"{"path":"a.txt"}"#.len());
        let Call::Whole(call) = wire("list", " \n") else {
            panic!()
        };
        assert!(call.args.is_empty());
        assert_eq!(Call::from(call.clone()).name(), Some("list"));
        assert_eq!(Call::from(call).id().as_str(), "c1");
    }

    #[test]
    fn damaged_calls_say_what_was_wrong() {
        for (name, args, kind, part) in [
            ("", "{}", ErrorKind::BadCall, "names no tool"),
            ("x", "{\"a\":", ErrorKind::BadCall, "not valid JSON"),
            ("x", "[1]", ErrorKind::BadCall, "an array"),
            ("x", "{\"a\":1,\"a\":1}", ErrorKind::BadCall, "twice"),
            (
                "x",
                "{\"a\":\"0123456789012345678901234567890123456789\"}",
                ErrorKind::LimitExceeded,
                "at most 40",
            ),
            (
                "x",
                "                                          ",
                ErrorKind::LimitExceeded,
                "at most 40",
            ),
        ] {
            let Call::Bad(bad) = wire(name, args) else {
                panic!("{args}")
            };
            assert_eq!(bad.error.kind, kind, "{args}");
            assert!(
                bad.error.message.contains(part),
                "{args}: {}",
                bad.error.message
            );
            let call = Call::Bad(bad);
            assert_eq!(call.id().as_str(), "c1");
            assert_eq!(call.name(), (!name.is_empty()).then_some(name));
        }
    }

    #[test]
    fn arguments_that_are_no_object_make_a_damaged_call() {
        let whole = Call::new("1", "x", serde_json::json!({"a": 1}));
        assert!(matches!(&whole, Call::Whole(call) if call.args["a"] == 1));
        for args in [Value::Null, "a".into(), vec![1].into()] {
            let Call::Bad(bad) = Call::new("1", "x", args.clone()) else {
                panic!("{args}")
            };
            assert_eq!(bad.error.kind, ErrorKind::BadCall);
            assert!(bad.error.message.contains(json::type_name(&args)));
        }
    }

    #[test]
    fn only_a_wire_may_leave_the_arguments_out() {
        for text in ["", " ", "\n\t"] {
            let limits = JsonLimits::default();
            let call = Call::from_wire("c1", "list", text.as_bytes(), limits);
            assert!(matches!(call, Call::Whole(_)), "{text:?}");
            let Call::Bad(bad) = Call::from_text("c1", "list", text.as_bytes(), limits) else {
                panic!("{text:?}")
            };
            assert_eq!(bad.error.kind, ErrorKind::BadCall, "{text:?}");
        }
    }

    #[test]
    fn unknown_fields_of_a_call_are_refused() {
        let text = r#"{"id":"1","name":"x","args":{},"approved":true}"#;
        assert!(serde_json::from_str::<ToolCall>(text).is_err());
    }
}
