//! A script from TOML.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::script::{Arguments, Expected, Finish, Pace, Part, PlayedCall, Script, Step};
use crate::event::{Seal, StopReason, Usage};
use crate::fault::ProviderError;

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is not TOML, or has what a script does not have.
    #[error("line {line} of the script: {message}")]
    Toml {
        /// Which line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A step contradicts itself.
    #[error("step {step} of the script: {message}")]
    Step {
        /// Which step, from 1.
        step: usize,
        /// What is wrong with it.
        message: &'static str,
    },
    /// A script cannot be written.
    #[error("the script cannot be written: {message}")]
    Unwritable {
        /// What the writer stumbled over.
        message: String,
    },
}

/// The file's own form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScript {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) steps: Vec<RawStep>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawStep {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunk_bytes: Option<Numbers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<Numbers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<StopReason>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ProviderError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<RawCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<Vec<RawPart>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) expect: Vec<Expected>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or a list of numbers")]
pub(super) enum Numbers {
    One(u32),
    Many(Vec<u32>),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawCall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args_json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<toml::Table>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seal: Option<RawSeal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<RawCall>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawSeal {
    Signature(String),
    Redacted(String),
    /// As JSON: what a provider sends need not be sayable in TOML.
    ItemJson(String),
}

impl Script {
    /// Reads a script.
    ///
    /// ```
    /// use toolgate_providers::replay::{Part, Script};
    ///
    /// let script = Script::from_toml("[[steps]]\ntext = \"Hello\"\n")?;
    /// assert_eq!(script.steps[0].parts, [Part::Text("Hello".into())]);
    /// # Ok::<(), toolgate_providers::replay::ScriptError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        let raw: RawScript = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            ScriptError::Toml {
                line: before.matches('\n').count().saturating_add(1),
                message: error.message().to_owned(),
            }
        })?;
        let steps = raw.steps.into_iter().zip(1..);
        let steps = steps.map(|(step, number)| {
            step.read().map_err(|message| ScriptError::Step {
                step: number,
                message,
            })
        });
        Ok(Self {
            model: raw.model,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }
}

impl RawStep {
    fn read(self) -> Result<Step, &'static str> {
        let short = self.thinking.is_some() || self.text.is_some() || !self.calls.is_empty();
        let parts = match self.parts {
            Some(_) if short => {
                return Err("has parts, and text, thinking or calls beside them; use one of both");
            }
            Some(parts) => parts
                .into_iter()
                .map(RawPart::read)
                .collect::<Result<_, _>>()?,
            None => {
                let thinking = self
                    .thinking
                    .map(|text| Part::Thinking { text, seal: None });
                let text = self.text.map(Part::Text);
                let mut parts: Vec<Part> = thinking.into_iter().chain(text).collect();
                for call in self.calls {
                    parts.push(Part::Call(call.read()?));
                }
                parts
            }
        };
        let finish = match (self.stop, self.error, self.cut) {
            (None, None, false) => Finish::Normal,
            (Some(reason), None, false) => Finish::Stop(reason),
            (None, Some(error), false) => Finish::Error(error),
            (None, None, true) => Finish::Cut,
            _ => return Err("ends in two ways; use one of stop, error and cut"),
        };
        let chunk_bytes = numbers(self.chunk_bytes);
        if chunk_bytes.contains(&0) {
            return Err("has chunks of no bytes; leave chunk_bytes out to send all at once");
        }
        let delays = numbers(self.delay_ms).into_iter();
        Ok(Step {
            expect: self.expect,
            parts,
            pace: Pace {
                // On the platforms there are, a `usize` holds 32 bits.
                chunk_bytes: chunk_bytes.into_iter().map(|n| n as usize).collect(),
                delays: delays.map(|ms| Duration::from_millis(ms.into())).collect(),
            },
            usage: self.usage,
            finish,
        })
    }
}

fn numbers(numbers: Option<Numbers>) -> Vec<u32> {
    match numbers {
        None => Vec::new(),
        Some(Numbers::One(number)) => vec![number],
        Some(Numbers::Many(numbers)) => numbers,
    }
}

impl RawPart {
    fn read(self) -> Result<Part, &'static str> {
        let seal = self.seal.map(RawSeal::read).transpose()?;
        match (self.text, self.refusal, self.thinking, self.call, seal) {
            (Some(text), None, None, None, None) => Ok(Part::Text(text)),
            (None, Some(text), None, None, None) => Ok(Part::Refusal(text)),
            (None, None, Some(text), None, seal) => Ok(Part::Thinking { text, seal }),
            (None, None, None, Some(call), None) => Ok(Part::Call(call.read()?)),
            _ => Err(
                "has a part that is not one of text, refusal, thinking and call; a seal \
                      belongs to thinking",
            ),
        }
    }
}

impl RawSeal {
    fn read(self) -> Result<Seal, &'static str> {
        match self {
            Self::Signature(text) => Ok(Seal::Signature(text)),
            Self::Redacted(text) => Ok(Seal::Redacted(text)),
            Self::ItemJson(text) => serde_json::from_str(&text)
                .map(Seal::Item)
                .map_err(|_| "has an item_json that is no JSON object"),
        }
    }
}

impl RawCall {
    fn read(self) -> Result<PlayedCall, &'static str> {
        let args = match (self.args, self.args_json) {
            (None, None) => Arguments::Object(Map::new()),
            (Some(table), None) => Arguments::Object(object(table)?),
            (None, Some(text)) => Arguments::from_text(text),
            (Some(_), Some(_)) => return Err("has a call with args and args_json; use one"),
        };
        Ok(PlayedCall {
            id: self.id,
            name: self.name,
            args,
        })
    }
}

fn object(table: toml::Table) -> Result<Map<String, Value>, &'static str> {
    let fields = table.into_iter();
    fields
        .map(|(key, inner)| Ok((key, value(inner)?)))
        .collect()
}

fn value(value: toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Value::Number)
            .ok_or("has a number in args that JSON does not know")?,
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(_) => return Err("has a date in args; write it as text"),
        toml::Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(self::value)
                .collect::<Result<_, _>>()?,
        ),
        toml::Value::Table(table) => Value::Object(object(table)?),
    })
}
