//! Conditions on the parameters of a call.

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use toolgate_model::Args;

use crate::error::RuleError;
use crate::rule::{Condition, Operator};

/// How large a compiled expression may become. The engine is linear in the text; this bounds the factor.
const REGEX_BYTES: usize = 1 << 20;

/// A condition ready to be tested.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    param: String,
    compare: Compare,
}

#[derive(Clone, Debug)]
enum Compare {
    Equals(Vec<String>),
    Contains(Vec<String>),
    StartsWith(Vec<String>),
    Matches(Vec<Regex>),
}

/// What a condition can be looked up by.
pub(crate) enum Key<'t> {
    /// The argument is one of these.
    Equal(&'t [String]),
    /// The argument begins with one of these.
    Head(&'t [String]),
    /// It has to be tried.
    None,
}

impl Test {
    /// The parameter that it is about.
    pub(crate) fn param(&self) -> &str {
        &self.param
    }

    pub(crate) fn key(&self) -> Key<'_> {
        match &self.compare {
            Compare::Equals(values) => Key::Equal(values),
            Compare::StartsWith(values) => Key::Head(values),
            Compare::Contains(_) | Compare::Matches(_) => Key::None,
        }
    }

    pub(crate) fn compile(condition: &Condition) -> Result<Self, RuleError> {
        let values = condition.value.list();
        if values.is_empty() {
            return Err(RuleError::EmptyList { key: "value" });
        }
        let compare = match condition.operator {
            Operator::Equals => Compare::Equals(values.to_vec()),
            Operator::Contains => Compare::Contains(values.to_vec()),
            Operator::StartsWith => Compare::StartsWith(values.to_vec()),
            Operator::Matches => Compare::Matches(
                values
                    .iter()
                    .map(|value| expression(&condition.param, value))
                    .collect::<Result<_, _>>()?,
            ),
        };
        Ok(Self {
            param: condition.param.clone(),
            compare,
        })
    }

    /// Whether it holds. Of several values in one parameter a `strict` rule needs one, another needs all.
    pub(crate) fn holds(&self, args: &Args, strict: bool) -> bool {
        args.get(&self.param)
            .and_then(|value| self.judge(value, strict))
            .unwrap_or(false)
    }

    /// The answer for a value; nothing for an empty list, which has no value to judge.
    fn judge(&self, value: &Value, strict: bool) -> Option<bool> {
        match value {
            Value::String(text) => Some(self.compare.fits(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                Some(self.compare.fits(&value.to_string()))
            }
            Value::Array(values) => self.judge_all(values.iter(), strict),
            Value::Object(values) => self.judge_all(values.values(), strict),
        }
    }

    fn judge_all<'v>(&self, values: impl Iterator<Item = &'v Value>, strict: bool) -> Option<bool> {
        values
            .filter_map(|value| self.judge(value, strict))
            .reduce(|left, right| if strict { left || right } else { left && right })
    }
}

impl Compare {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equals(values) => values.iter().any(|value| text == value),
            Self::Contains(values) => values.iter().any(|value| text.contains(value.as_str())),
            Self::StartsWith(values) => values.iter().any(|value| text.starts_with(value.as_str())),
            Self::Matches(values) => values.iter().any(|value| value.is_match(text)),
        }
    }
}

fn expression(param: &str, pattern: &str) -> Result<Regex, RuleError> {
    RegexBuilder::new(pattern)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_BYTES)
        .nest_limit(50)
        .build()
        .map_err(|error| RuleError::Regex {
            param: param.to_owned(),
            pattern: pattern.to_owned(),
            message: error.to_string(),
        })
}
