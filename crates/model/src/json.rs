//! JSON from outside, read once and strictly.
//!
//! In: bytes of a model, a client or a file. Out: one JSON value of which
//! everybody downstream sees the same. What is refused: too many bytes, too
//! deep, a key twice or one that `serde_json` keeps for itself, a number that
//! would not survive exactly, anything after the value, and whatever
//! `serde_json` refuses (comments, NaN, control characters in strings, lone
//! surrogates).

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::decimal::first_inexact;

/// Bounds for one piece of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonLimits {
    /// The most bytes of text.
    pub max_bytes: usize,
    /// The most arrays and objects inside each other.
    pub max_depth: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self {
            max_bytes: 256 * 1024,
            max_depth: 64,
        }
    }
}

/// Why a text was not taken as JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// More bytes than allowed.
    #[error("{got} bytes of JSON, at most {max} are allowed")]
    TooLarge {
        /// How many came.
        got: usize,
        /// How many may come.
        max: usize,
    },
    /// Not JSON, or JSON that is refused.
    #[error("{message} (line {line}, column {column})")]
    Invalid {
        /// What the reader stumbled over.
        message: String,
        /// One-based line.
        line: usize,
        /// One-based column.
        column: usize,
    },
    /// JSON, but not an object.
    #[error("expected a JSON object, got {got}")]
    NotAnObject {
        /// The kind of value that came.
        got: &'static str,
    },
}

/// The name of a JSON value's type as messages use it.
pub const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Reads one value and nothing after it.
pub fn parse(text: &[u8], limits: JsonLimits) -> Result<Value, JsonError> {
    if text.len() > limits.max_bytes {
        return Err(JsonError::TooLarge {
            got: text.len(),
            max: limits.max_bytes,
        });
    }
    let mut reader = serde_json::Deserializer::from_slice(text);
    let fractions = Cell::new(false);
    let value = Strict {
        depth_left: limits.max_depth,
        fractions: &fractions,
    }
    .deserialize(&mut reader)
    .and_then(|value| reader.end().map(|()| value));
    let value = value.map_err(|error| {
        let full = error.to_string();
        let message = full
            .rsplit_once(" at line ")
            .map_or(full.as_str(), |(head, _)| head);
        JsonError::Invalid {
            message: message.to_owned(),
            line: error.line(),
            column: error.column(),
        }
    })?;
    // Only numbers with a point or an exponent can have lost something.
    match fractions.get().then(|| first_inexact(text)).flatten() {
        Some(at) => Err(inexact(text, at)),
        None => Ok(value),
    }
}

fn inexact(text: &[u8], at: usize) -> JsonError {
    let before = text.get(..at).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').next_back();
    JsonError::Invalid {
        message: "number with more digits than are kept".to_owned(),
        line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
        column: line.map_or(0, <[u8]>::len) + 1,
    }
}

/// Reads one object and nothing after it.
pub fn parse_object(text: &[u8], limits: JsonLimits) -> Result<Map<String, Value>, JsonError> {
    match parse(text, limits)? {
        Value::Object(map) => Ok(map),
        other => Err(JsonError::NotAnObject {
            got: type_name(&other),
        }),
    }
}

/// How deep arrays and objects stand inside each other; a scalar is 0, `[]` is 1.
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0_usize)];
    while let Some((value, around)) = open.pop() {
        let level = match value {
            Value::Array(_) | Value::Object(_) => around + 1,
            _ => around,
        };
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, level))),
            _ => {}
        }
    }
    deepest
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth_left: usize,
    /// Whether a number was read that is no integer.
    fractions: &'a Cell<bool>,
}

impl Strict<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1);
        let depth_left = depth_left.ok_or_else(|| E::custom("nested too deep"))?;
        Ok(Self { depth_left, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Above this, neighbouring integers share one `f64`: what is shown would not be what runs.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Where it is read again, `serde_json` takes an object with such a key for the text or the
/// number that it holds: who reads the record would see another value than who ran the call.
const RESERVED: &str = "$serde_json::private::";

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.fractions.set(true);
        if value.abs() >= EXACT {
            return Err(E::custom("number too large to be exact"));
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if key.starts_with(RESERVED) {
                return Err(A::Error::custom(
                    "a key that means something else to others",
                ));
            }
            let value = access.next_value_seed(inner)?;
            match map.entry(key) {
                serde_json::map::Entry::Vacant(slot) => {
                    slot.insert(value);
                }
                serde_json::map::Entry::Occupied(slot) => {
                    // The key comes from outside and may be as long as the whole text.
                    let key: String = slot.key().chars().take(60).collect();
                    return Err(A::Error::custom(format_args!("key {key:?} twice")));
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strict(text: &str) -> Result<Value, JsonError> {
        parse(text.as_bytes(), JsonLimits::default())
    }

    #[test]
    fn an_error_names_the_cause_and_the_place() {
        for (text, why) in [
            (r#"{"a":1,"a":2}"#, "key \"a\" twice"),
            (r#"{"x":{"b":1,"\u0062":2}}"#, "key \"b\" twice"),
            ("99999999999999999999", "number too large"),
            ("1e400", "number out of range"),
            ("-1e17", "number too large"),
            (
                "[0.5,\n 1.0000000000000001]",
                "digits than are kept (line 2, column 2)",
            ),
            (
                r#"{"a":{"$serde_json::private::RawValue":"{}"}}"#,
                "means something else",
            ),
            (
                r#"{"$serde_json::private::Number":"1"}"#,
                "means something else",
            ),
            ("NaN", "expected value"),
            ("{}x", "trailing characters"),
            ("{\"a\":1", "EOF"),
            ("{\"a\":1/*x*/}", "expected `,` or `}`"),
            ("\"\\ud800\"", "hex escape"),
            ("\"a\u{1}\"", "control character"),
            ("", "EOF"),
        ] {
            let fault = strict(text).unwrap_err();
            assert!(fault.to_string().contains(why), "{text}: {fault}");
            assert!(matches!(fault, JsonError::Invalid { .. }), "{text}");
        }
        let place = strict("{\n \"a\": x}").unwrap_err();
        assert!(
            matches!(
                place,
                JsonError::Invalid {
                    line: 2,
                    column: 7,
                    ..
                }
            ),
            "{place:?}"
        );
    }

    #[test]
    fn depth_and_bytes_have_bounds() {
        let limits = JsonLimits {
            max_bytes: 12,
            max_depth: 3,
        };
        assert!(parse(b"[[[1]]]", limits).is_ok());
        assert!(parse(br#"{"a":[{}]}"#, limits).is_ok());
        let deep = parse(b"[[[[1]]]]", limits).unwrap_err();
        assert!(deep.to_string().contains("too deep"), "{deep}");
        assert_eq!(
            parse(b"[1,1,1,1,1,1]", limits),
            Err(JsonError::TooLarge { got: 13, max: 12 })
        );
        assert_eq!(parse(b"[1,1,1,1,11]", limits).unwrap()[4], 11);
    }

    #[test]
    fn only_objects_are_arguments() {
        for (text, got) in [
            ("null", "null"),
            ("[1]", "an array"),
            ("\"x\"", "a string"),
            ("1", "a number"),
            ("true", "a boolean"),
        ] {
            assert_eq!(
                parse_object(text.as_bytes(), JsonLimits::default()),
                Err(JsonError::NotAnObject { got })
            );
        }
        assert!(
            parse_object(b"{}", JsonLimits::default())
                .unwrap()
                .is_empty()
        );
        assert_eq!(type_name(&Value::Object(Map::new())), "an object");
    }

    #[test]
    fn exact_numbers_stay_exact() {
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "0.5",
            "9007199254740991.0",
        ] {
            let value = strict(text).unwrap();
            assert_eq!(strict(&value.to_string()).unwrap(), value);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|n| Value::Number(n.into())),
            ".*".prop_map(Value::String),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::btree_map(".{0,6}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

        #[test]
        fn what_serde_writes_is_read_back_unchanged(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(parse(text.as_bytes(), JsonLimits::default()).unwrap(), value);
        }

        #[test]
        fn the_depth_limit_is_the_depth(value in any_json()) {
            let text = value.to_string();
            let limit = depth(&value);
            let at = JsonLimits { max_depth: limit, ..JsonLimits::default() };
            prop_assert!(parse(text.as_bytes(), at).is_ok(), "{} {}", text, limit);
            if limit > 0 {
                let below = JsonLimits { max_depth: limit - 1, ..JsonLimits::default() };
                prop_assert!(parse(text.as_bytes(), below).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, JsonLimits::default());
        }
    }
}
