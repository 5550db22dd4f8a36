//! Arguments against a JSON Schema (2020-12), with messages a model can act on.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, JsonType, PatternOptions, ValidationError, Validator};
use serde_json::Value;
use toolgate_model::json::type_name;
use toolgate_model::nearest::nearest;
use toolgate_model::{Args, ToolError};

/// At most so many faults are told at once; the rest follow from them as a rule.
const TOLD: usize = 5;

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema of {tool} cannot be used: {message}")]
pub struct SchemaError {
    /// The tool it belongs to.
    pub tool: String,
    /// What is wrong with it.
    pub message: String,
}

/// A schema compiled once.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    schema: Value,
    fields: Vec<String>,
}

impl Schema {
    /// Compiles a schema. References to elsewhere are refused, patterns run in linear time.
    pub fn compile(tool: &str, schema: &Value) -> Result<Self, SchemaError> {
        let fault = |message: String| SchemaError {
            tool: tool.to_owned(),
            message,
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(fault("its type has to be object".into()));
        }
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
            .offline()
            .build(schema)
            .map_err(|error| fault(error.to_string()))?;
        let fields = schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|map| map.keys().cloned().collect())
            .unwrap_or_default();
        let schema = schema.clone();
        Ok(Self {
            validator,
            schema,
            fields,
        })
    }

    /// The names of the arguments at the top.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Checks arguments. `also` are spellings that were accepted and taken off before.
    pub fn check(&self, args: &Args, also: &[&str]) -> Result<(), ToolError> {
        // The validator wants a value of its own; arguments have been bounded before.
        let value = Value::Object(args.clone());
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        let mut errors: Vec<_> = self.validator.iter_errors(&value).collect();
        // What is missing is mostly what an unknown name was meant for, so it is said first.
        errors.sort_by_key(|error| !matches!(error.kind(), ValidationErrorKind::Required { .. }));
        let more = errors.len().saturating_sub(TOLD);
        let told = errors.iter().take(TOLD);
        let told: Vec<String> = told.map(|error| self.tell(error, also)).collect();
        let mut message = told.join("; ");
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        Err(ToolError::bad_args(message))
    }

    fn tell(&self, error: &ValidationError<'_>, also: &[&str]) -> String {
        let place = match error.instance_path().to_string() {
            path if path.is_empty() => "arguments".to_owned(),
            path => path.trim_start_matches('/').replace('/', "."),
        };
        let came = brief(error.instance());
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                format!("{place}: {name:?} is missing")
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let top = place == "arguments";
                let here = Here {
                    place: (!top).then_some(place.as_str()),
                    schema: self.schema_of(error),
                    given: error.instance(),
                    also: if top { also } else { &[] },
                };
                let told = unexpected.iter().map(|name| here.unknown(name));
                told.collect::<Vec<_>>().join("; ")
            }
            ValidationErrorKind::Type { kind } => {
                format!("{place}: expected {}, got {came}", types(kind))
            }
            ValidationErrorKind::Enum { options } => {
                let options: Vec<String> = options
                    .as_array()
                    .map(|all| all.iter().map(ToString::to_string).collect())
                    .unwrap_or_default();
                format!(
                    "{place}: expected one of {}, got {came}",
                    options.join(", ")
                )
            }
            ValidationErrorKind::Minimum { limit } => {
                format!("{place}: expected at least {limit}, got {came}")
            }
            ValidationErrorKind::Maximum { limit } => {
                format!("{place}: expected at most {limit}, got {came}")
            }
            ValidationErrorKind::MinLength { limit } => {
                format!("{place}: expected at least {limit} characters, got {came}")
            }
            ValidationErrorKind::MaxLength { limit } => {
                format!("{place}: expected at most {limit} characters, got {came}")
            }
            ValidationErrorKind::MinItems { limit } => {
                format!(
                    "{place}: expected at least {limit} items, got {}",
                    items(error.instance())
                )
            }
            ValidationErrorKind::MaxItems { limit } => {
                format!(
                    "{place}: expected at most {limit} items, got {}",
                    items(error.instance())
                )
            }
            ValidationErrorKind::Pattern { pattern } => {
                format!("{place}: expected text that fits /{pattern}/, got {came}")
            }
            ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                format!("{place}: fits none of the allowed forms, got {came}")
            }
            other => format!("{place}: breaks {:?}, got {came}", other.keyword()),
        }
    }

    /// The schema of the object that an error is about.
    fn schema_of(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let path = error.schema_path().to_string();
        let (object, _keyword) = path.rsplit_once('/')?;
        self.schema.pointer(object)
    }
}

/// An object with unknown names.
struct Here<'a> {
    /// Where it is; nothing for the arguments themselves.
    place: Option<&'a str>,
    schema: Option<&'a Value>,
    given: &'a Value,
    /// Names that were accepted and taken off before.
    also: &'a [&'a str],
}

impl<'a> Here<'a> {
    fn unknown(&self, name: &str) -> String {
        let place = self.place.map(|place| format!("{place}: "));
        let place = place.unwrap_or_default();
        let shown = cut(&format!("{name:?}"));
        let mut known: Vec<&str> = self.names("properties").collect();
        known.sort_unstable();
        let list = match known.join(", ") {
            none if none.is_empty() => "; there are none".to_owned(),
            list => format!("; known are {list}"),
        };
        match self.meant(name, &known).as_slice() {
            [] => format!("{place}unknown argument {shown}{list}"),
            meant => {
                let list = if self.place.is_some() { &list } else { "" };
                let meant: Vec<String> = meant.iter().map(|name| format!("{name:?}")).collect();
                let meant = meant.join(" or ");
                format!("{place}unknown argument {shown}, did you mean {meant}?{list}")
            }
        }
    }

    /// What may have been meant: what is missing and was shortened, what it is the beginning
    /// of, or what is spelled nearly so. Never what was given already.
    fn meant(&self, name: &str, known: &[&'a str]) -> Vec<&'a str> {
        let is_given = |name: &&str| self.given.get(*name).is_some();
        let mut missing = known.iter().filter(|known| {
            self.required().any(|required| required == **known) && !is_given(known)
        });
        if let (Some(only), None) = (missing.next(), missing.next())
            && (shortens(name, only) || shortens(only, name))
        {
            return vec![*only];
        }
        let open = || {
            let own = known.iter().copied().filter(|known| !is_given(known));
            own.chain(self.also.iter().copied())
        };
        let longer: Vec<&str> = open()
            .filter(|known| {
                known
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('_'))
            })
            .collect();
        if longer.is_empty() {
            nearest(name, open()).into_iter().collect()
        } else {
            longer
        }
    }

    fn names(&self, keyword: &str) -> impl Iterator<Item = &'a str> {
        let map = self
            .schema
            .and_then(|schema| schema.get(keyword)?.as_object());
        map.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    fn required(&self) -> impl Iterator<Item = &'a str> {
        let list = self
            .schema
            .and_then(|schema| schema.get("required")?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// Whether one name is another with letters left out: the same first letter, and the others in
/// their order.
fn shortens(short: &str, long: &str) -> bool {
    let (mut short, mut long) = (short.chars(), long.chars());
    short.next().is_some_and(|first| long.next() == Some(first))
        && short.all(|wanted| long.any(|c| c == wanted))
}

fn types(kind: &TypeKind) -> String {
    let name = |json: JsonType| match json {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    };
    match kind {
        TypeKind::Single(json) => name(*json).to_owned(),
        TypeKind::Multiple(set) => set.iter().map(name).collect::<Vec<_>>().join(" or "),
    }
}

/// How many items there are.
fn items(value: &Value) -> String {
    match value.as_array() {
        Some(items) => items.len().to_string(),
        None => brief(value),
    }
}

/// What came, short enough for a message.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => type_name(value).to_owned(),
        other => cut(&other.to_string()),
    }
}

/// A text short enough for a message.
fn cut(text: &str) -> String {
    const MOST: usize = 60;
    let characters = text.chars().count();
    if characters <= MOST {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST).collect();
    format!("{head}… ({characters} characters)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::compile(
            "t",
            &json!({"type":"object","additionalProperties":false,"required":["path"],"properties":{
                "path":{"type":"string","minLength":1,"maxLength":9},
                "start_line":{"type":["integer","null"],"minimum":1,"maximum":9},
                "kind":{"enum":["a","b"]},
                "list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","additionalProperties":false,"properties":{"x":{"pattern":"^a+$"}}}},
                "either":{"anyOf":[{"type":"string"},{"type":"boolean"}]},
                "odd":{"multipleOf":2}
            }}),
        )
        .unwrap()
    }

    #[test]
    fn messages_name_the_place_what_was_expected_and_what_came() {
        let schema = schema();
        for (args, parts) in [
            (json!({}), vec!["\"path\" is missing"]),
            (json!({"path":1}), vec!["path: expected a string, got 1"]),
            (json!({"path":""}), vec!["at least 1 characters, got \"\""]),
            (json!({"path":"0123456789"}), vec!["at most 9 characters"]),
            (
                json!({"path":"a","start_line":0}),
                vec!["start_line: expected at least 1, got 0"],
            ),
            (json!({"path":"a","start_line":10}), vec!["at most 9"]),
            (
                json!({"path":"a","start_line":"x"}),
                vec!["a whole number", "null", "got \"x\""],
            ),
            (
                json!({"path":"a","kind":"c"}),
                vec!["one of \"a\", \"b\", got \"c\""],
            ),
            (
                json!({"path":"a","strat_line":1}),
                vec![
                    "unknown argument \"strat_line\"",
                    "did you mean \"start_line\"",
                ],
            ),
            (
                json!({"path":"a","zzz":1}),
                vec!["unknown argument \"zzz\"; known are", "kind"],
            ),
            (
                json!({"path":"a","list":[]}),
                vec!["list: expected at least 1 items, got 0"],
            ),
            (
                json!({"path":"a","list":[{},{},{}]}),
                vec!["list: expected at most 2 items, got 3"],
            ),
            (
                json!({"path":"a","list":[{"x":"b"}]}),
                vec!["list.0.x: expected text that fits /^a+$/"],
            ),
            (
                json!({"path":"a","list":[{"y":"b"}]}),
                vec!["list.0: unknown argument \"y\", did you mean \"x\"?; known are x"],
            ),
            (
                json!({"path":"a","list":[{},{"zzz":"b"}]}),
                vec!["list.1: unknown argument \"zzz\"; known are x"],
            ),
            (
                json!({"path":"a","either":1}),
                vec!["either: fits none of the allowed forms, got 1"],
            ),
            (
                json!({"path":"a","odd":3}),
                vec!["odd: breaks \"multipleOf\", got 3"],
            ),
            (
                json!({"path":{"$ref":"/etc/passwd"}}),
                vec!["path: expected a string, got an object"],
            ),
        ] {
            let error = schema
                .check(args.as_object().unwrap(), &["offset"])
                .unwrap_err();
            for part in parts {
                assert!(error.message.contains(part), "{args}: {}", error.message);
            }
        }
        let args = json!({"path":"a","start_line":null});
        assert_eq!(schema.check(args.as_object().unwrap(), &[]), Ok(()));
    }

    #[test]
    fn what_an_unknown_name_was_meant_for_is_offered() {
        let schema = Schema::compile(
            "t",
            &json!({"type":"object","additionalProperties":false,"required":["command"],"properties":{
                "command":{}, "cwd":{}, "timeout_seconds":{}, "timeout_ms":{}, "background":{}
            }}),
        )
        .unwrap();
        for (args, also, told) in [
            // What is missing and was shortened, before what is spelled alike.
            (
                json!({"cmd":1}),
                vec![],
                "\"command\" is missing; unknown argument \"cmd\", did you mean \"command\"?",
            ),
            (
                json!({"command_line":1}),
                vec![],
                "did you mean \"command\"?",
            ),
            (
                json!({"command":1,"cmd":1}),
                vec![],
                "did you mean \"cwd\"?",
            ),
            (
                json!({"line":1}),
                vec![],
                "\"command\" is missing; unknown argument \"line\"; known are",
            ),
            // All that it is the beginning of.
            (
                json!({"command":1,"timeout":1}),
                vec![],
                "did you mean \"timeout_ms\" or \"timeout_seconds\"?",
            ),
            // What the name that was called knows as well.
            (
                json!({"command":1,"timout":1}),
                vec!["timeout"],
                "did you mean \"timeout\"?",
            ),
            // Never what was given already.
            (
                json!({"command":1,"comand":1}),
                vec![],
                "unknown argument \"comand\"; known are",
            ),
        ] {
            let error = schema.check(args.as_object().unwrap(), &also).unwrap_err();
            assert!(error.message.contains(told), "{args}: {}", error.message);
        }
        let args = json!({"command":1, "k".repeat(3000):1});
        let error = schema.check(args.as_object().unwrap(), &[]).unwrap_err();
        assert!(error.message.len() < 300, "{}", error.message);
        assert!(
            error.message.contains("(3002 characters); known are"),
            "{}",
            error.message
        );
    }

    #[test]
    fn many_faults_are_counted_and_long_values_cut() {
        let schema = schema();
        let args = json!({"path":"x".repeat(500),"start_line":0,"kind":1,"list":[],"either":1,"odd":3,"z":1});
        let message = schema
            .check(args.as_object().unwrap(), &[])
            .unwrap_err()
            .message;
        assert!(message.ends_with("more"), "{message}");
        assert!(message.len() < 900, "{message}");
        let args = json!({"path":"x".repeat(500)});
        let message = schema
            .check(args.as_object().unwrap(), &[])
            .unwrap_err()
            .message;
        assert!(message.contains("(502 characters)"), "{message}");
    }

    #[test]
    fn schemas_that_reach_out_or_are_no_object_are_refused() {
        for schema in [
            json!({"type":"string"}),
            json!({}),
            json!({"type":"object","properties":{"a":{"$ref":"https://example.invalid/x.json"}}}),
            json!({"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}),
            json!({"type":"object","properties":{"a":{"type":"nonsense"}}}),
            json!({"type":"object","properties":{"a":{"pattern":"(?=look)"}}}),
        ] {
            let fault = Schema::compile("t", &schema).unwrap_err();
            assert!(
                fault
                    .to_string()
                    .starts_with("the schema of t cannot be used"),
                "{schema}"
            );
        }
    }
}
