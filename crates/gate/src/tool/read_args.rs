//! Arguments that fit their schema, as a type.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use toolgate_model::{Args, ToolError};

/// Up to here every whole number has one spelling as a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Names of types that are not known outside of this program.
const NUMBERS: [&str; 14] = [
    "usize", "isize", "u128", "i128", "u64", "i64", "u32", "i32", "u16", "i16", "u8", "i8", "f64",
    "f32",
];

/// Reads arguments that were checked. A whole number may be written with a point, as JSON
/// Schema has it: `1.0` is 1.
pub fn read_args<A: DeserializeOwned>(args: &Args) -> Result<A, ToolError> {
    let mut value = Value::Object(args.clone());
    make_whole(&mut value);
    serde_json::from_value(value).map_err(|error| {
        let told = in_plain_words(&error.to_string());
        ToolError::bad_args(format!("the arguments do not fit: {told}"))
    })
}

fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(map) => map.values_mut().for_each(make_whole),
        _ => {}
    }
}

fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.fract() != 0.0 || float.abs() > EXACT {
        return None;
    }
    // Exact within these bounds, and without a point.
    let text = format!("{float:.0}");
    let text = if text == "-0" { "0" } else { &text };
    let whole = text.parse::<i64>().ok()?;
    Some(if let Ok(positive) = u64::try_from(whole) {
        positive.into()
    } else {
        whole.into()
    })
}

/// A fault without the names of types.
fn in_plain_words(fault: &str) -> String {
    let Some((what, expected)) = fault.split_once("expected ") else {
        return fault.to_owned();
    };
    let mut words = expected.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    if words.any(|word| NUMBERS.contains(&word)) {
        format!("{what}expected a number that is not out of range")
    } else if expected.starts_with("struct ") {
        format!("{what}expected an object")
    } else {
        fault.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Some {
        small: u8,
        line: Option<NonZeroU64>,
        signed: i64,
        share: f64,
        list: Vec<usize>,
    }

    #[test]
    fn a_whole_number_may_have_a_point() {
        let args = json!({"small": 1.0, "line": 2e2, "signed": -3.0, "share": 4.0, "list": [5.0, 6, -0.0]});
        let read: Some = read_args(args.as_object().unwrap()).unwrap();
        let wanted = Some {
            small: 1,
            line: NonZeroU64::new(200),
            signed: -3,
            share: 4.0,
            list: vec![5, 6, 0],
        };
        assert_eq!(read, wanted);
        let half: Some = read_args(json!({"share": 0.5}).as_object().unwrap()).unwrap();
        assert_eq!(half.share, 0.5);
    }

    #[test]
    fn an_error_message_holds_no_names_of_types() {
        for args in [
            json!({"small": 300}),
            json!({"small": 1.5}),
            json!({"list": [1e30]}),
            json!({"line": 0}),
            json!({"line": -1}),
            json!({"signed": 1e19}),
        ] {
            let error = read_args::<Some>(args.as_object().unwrap()).unwrap_err();
            let told = error.message.as_str();
            let mut words = told.split(|c: char| !c.is_alphanumeric());
            assert!(!words.any(|word| NUMBERS.contains(&word)), "{told}");
            assert!(told.contains("out of range"), "{told}");
        }
    }
}
