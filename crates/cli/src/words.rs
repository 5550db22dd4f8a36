//! Arguments of a call as words: `key=value`, typed as the tool's schema says.

use std::ffi::OsString;

use serde_json::{Map, Value};
use toolgate_app::{ArgsText, Project};

use crate::failure::CliError;
use crate::input;

/// The arguments: one JSON object, `-` for standard input, or words.
pub(crate) fn arguments(
    project: &Project,
    tool: &str,
    words: &[OsString],
) -> Result<ArgsText, CliError> {
    if let [only] = words {
        let text = only.to_string_lossy();
        if text == "-" || text.trim_start().starts_with('{') || !text.contains('=') {
            return input::arguments(only, project.limits().max_bytes);
        }
    }
    let schema = project.schema(tool);
    let properties = schema.as_ref().and_then(|schema| schema.get("properties"));
    let mut args = Map::new();
    for word in words {
        let text = word.to_str();
        let text = text.ok_or_else(|| CliError::usage("an argument is not UTF-8"))?;
        let (key, value) = text.split_once('=').ok_or_else(|| {
            CliError::usage(format!(
                "{text:?} is no argument: write key=value, key:=JSON, or one JSON object for all"
            ))
        })?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, json(key, value)?),
            None => {
                let wanted = properties.and_then(|known| known.get(key));
                (key, typed(key, value, wanted)?)
            }
        };
        match (args.get_mut(key), value) {
            (None, value) => drop(args.insert(key.to_owned(), value)),
            // A list is said piece by piece.
            (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
            (Some(_), _) => return Err(CliError::usage(format!("{key} is said twice"))),
        }
    }
    let text = serde_json::to_vec(&Value::Object(args));
    let text = text.map_err(|error| CliError::internal(format!("no JSON: {error}")))?;
    Ok(match text.len() > project.limits().max_bytes {
        true => ArgsText::TooLarge,
        false => ArgsText::Whole(text),
    })
}

fn json(key: &str, value: &str) -> Result<Value, CliError> {
    serde_json::from_str(value)
        .map_err(|error| CliError::usage(format!("{key}:={value}: this is no JSON: {error}")))
}

/// A value of the type that the schema wants. What it does not know is text.
fn typed(key: &str, value: &str, schema: Option<&Value>) -> Result<Value, CliError> {
    let wants = |name: &str| {
        let of = |one: &Value| one.as_str() == Some(name);
        match schema.and_then(|schema| schema.get("type")) {
            Some(Value::Array(several)) => several.iter().any(of),
            Some(one) => of(one),
            None => false,
        }
    };
    if wants("string") {
        return Ok(value.into());
    }
    if wants("array") {
        let item = schema.and_then(|schema| schema.get("items"));
        return Ok(Value::Array(vec![typed(key, value, item)?]));
    }
    let other = ["integer", "number", "boolean", "object"];
    if !other.iter().any(|name| wants(name)) {
        return Ok(value.into());
    }
    let read: Option<Value> = serde_json::from_str(value).ok();
    let fits = read.filter(|read| match read {
        Value::Bool(_) => wants("boolean"),
        Value::Number(number) => wants("number") || (wants("integer") && !number.is_f64()),
        Value::Object(_) => wants("object"),
        _ => false,
    });
    fits.ok_or_else(|| {
        let names: Vec<&str> = other.into_iter().filter(|name| wants(name)).collect();
        CliError::usage(format!("{key}={value}: {key} is {}", names.join(" or ")))
    })
}
