//! A script to TOML.

use serde_json::{Map, Value};

use super::read::{Numbers, RawCall, RawPart, RawScript, RawSeal, RawStep, ScriptError};
use super::script::{Arguments, Finish, Part, PlayedCall, Script, Step};
use crate::event::Seal;

impl Script {
    /// Writes the script so that reading it gives the same again.
    pub fn to_toml(&self) -> Result<String, ScriptError> {
        let raw = RawScript {
            model: self.model.clone(),
            steps: self.steps.iter().map(RawStep::of).collect(),
        };
        toml::to_string_pretty(&raw).map_err(|error| ScriptError::Unwritable {
            message: error.to_string(),
        })
    }
}

impl RawStep {
    fn of(step: &Step) -> Self {
        let delays = step.pace.delays.iter();
        let delays = delays.map(|delay| u32::try_from(delay.as_millis()).unwrap_or(u32::MAX));
        let sizes = step.pace.chunk_bytes.iter();
        let sizes = sizes.map(|size| u32::try_from(*size).unwrap_or(u32::MAX));
        let mut raw = Self {
            chunk_bytes: numbers(sizes.collect()),
            delay_ms: numbers(delays.collect()),
            usage: step.usage,
            expect: step.expect.clone(),
            ..Self::default()
        };
        match &step.finish {
            Finish::Normal => {}
            Finish::Stop(reason) => raw.stop = Some(reason.clone()),
            Finish::Error(error) => raw.error = Some(error.clone()),
            Finish::Cut => raw.cut = true,
        }
        if !raw.shortly(&step.parts) {
            raw.thinking = None;
            raw.text = None;
            raw.calls.clear();
            raw.parts = Some(step.parts.iter().map(RawPart::of).collect());
        }
        raw
    }

    /// Writes thinking, text and calls, if the parts are just these in this order.
    fn shortly(&mut self, parts: &[Part]) -> bool {
        parts.iter().all(|part| match part {
            Part::Thinking { text, seal: None }
                if self.thinking.is_none() && self.text.is_none() && self.calls.is_empty() =>
            {
                self.thinking = Some(text.clone());
                true
            }
            Part::Text(text) if self.text.is_none() && self.calls.is_empty() => {
                self.text = Some(text.clone());
                true
            }
            Part::Call(call) => {
                self.calls.push(RawCall::of(call));
                true
            }
            _ => false,
        })
    }
}

fn numbers(list: Vec<u32>) -> Option<Numbers> {
    match list.as_slice() {
        [] => None,
        [one] => Some(Numbers::One(*one)),
        _ => Some(Numbers::Many(list)),
    }
}

impl RawPart {
    fn of(part: &Part) -> Self {
        let mut raw = Self::default();
        match part {
            Part::Text(text) => raw.text = Some(text.clone()),
            Part::Refusal(text) => raw.refusal = Some(text.clone()),
            Part::Thinking { text, seal } => {
                raw.thinking = Some(text.clone());
                raw.seal = seal.as_ref().map(|seal| match seal {
                    Seal::Signature(text) => RawSeal::Signature(text.clone()),
                    Seal::Redacted(text) => RawSeal::Redacted(text.clone()),
                    Seal::Item(item) => RawSeal::ItemJson(text_of(item)),
                });
            }
            Part::Call(call) => raw.call = Some(RawCall::of(call)),
        }
        raw
    }
}

impl RawCall {
    fn of(call: &PlayedCall) -> Self {
        let (args, args_json) = match &call.args {
            Arguments::Object(object) => match table(object) {
                Some(table) => (Some(table), None),
                None => (None, Some(text_of(object))),
            },
            Arguments::Damaged(text) => (None, Some(text.clone())),
        };
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            args_json,
            args,
        }
    }
}

fn text_of(object: &Map<String, Value>) -> String {
    // A map of strings and values always serializes.
    serde_json::to_string(object).unwrap_or_default()
}

/// The object as TOML, unless it holds what TOML cannot say: `null`, or a very large number.
fn table(object: &Map<String, Value>) -> Option<toml::Table> {
    let fields = object.iter();
    fields
        .map(|(key, inner)| Some((key.clone(), value(inner)?)))
        .collect()
}

fn value(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => toml::Value::Boolean(*truth),
        Value::Number(number) => match (number.as_i64(), number.is_f64()) {
            (Some(number), _) => toml::Value::Integer(number),
            (None, true) => toml::Value::Float(number.as_f64()?),
            (None, false) => return None,
        },
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Array(items) => {
            toml::Value::Array(items.iter().map(self::value).collect::<Option<_>>()?)
        }
        Value::Object(object) => toml::Value::Table(table(object)?),
    })
}
