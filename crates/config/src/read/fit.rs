//! Whether a value fits the shape of its key.

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};
use toolgate_model::nearest::nearest;

use super::Reader;
use crate::catalog::{Check, Key, Shape};
use crate::picture::quoted;
use crate::setting_error::SettingErrorKind;

impl Reader<'_> {
    /// The value as plain data; nothing, and a mistake, if it does not fit.
    pub(super) fn fit(
        &mut self,
        key: &str,
        shape: &Shape,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        if let (Shape::Price, Some(price)) = (shape, price(value.get_ref())) {
            return Some(price);
        }
        match (shape, value.get_ref()) {
            (Shape::Flag, DeValue::Boolean(flag)) => Some(Value::Bool(*flag)),
            (Shape::Count { min, max }, DeValue::Integer(number)) => {
                let read = whole(number).and_then(|number| u64::try_from(number).ok());
                if let Some(number) = read.filter(|number| (*min..=*max).contains(number)) {
                    return Some(number.into());
                }
                let found = quoted(&number.to_string());
                let low = found.starts_with('-') || read.is_some_and(|number| number < *min);
                let fault = SettingErrorKind::OutOfRange {
                    key: key.to_owned(),
                    found,
                    low,
                    min: *min,
                    max: *max,
                };
                self.mistake(value.span(), fault);
                None
            }
            (Shape::Text(check), DeValue::String(text)) => self.text(key, *check, text, value),
            (Shape::Choice(known), DeValue::String(text)) => self.choice(key, known, text, value),
            (Shape::List { item, min }, DeValue::Array(entries)) => {
                if entries.len() < *min {
                    let fault = SettingErrorKind::TooFew {
                        key: key.to_owned(),
                        found: entries.len(),
                        min: *min,
                    };
                    self.mistake(value.span(), fault);
                    return None;
                }
                // Every entry is looked at before the list is given up.
                let read: Vec<Option<Value>> = entries
                    .iter()
                    .map(|entry| self.fit(key, item, entry))
                    .collect();
                read.into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Array)
            }
            (Shape::Either(shapes), found) => match shapes.iter().find(|shape| takes(shape, found))
            {
                Some(shape) => self.fit(key, shape, value),
                None => self.wrong_type(key, shape, value),
            },
            (Shape::Texts, DeValue::Table(table)) => {
                let text = Shape::Text(Check::Any);
                let read: Vec<Option<(String, Value)>> = table
                    .iter()
                    .map(|(name, value)| {
                        let name = name.get_ref().to_string();
                        let read = self.fit(key, &text, value)?;
                        Some((name, read))
                    })
                    .collect();
                read.into_iter()
                    .collect::<Option<Map<_, _>>>()
                    .map(Value::Object)
            }
            (Shape::Table(keys), DeValue::Table(table)) => self.entries(key, keys, table, value),
            (Shape::Anything, DeValue::Table(_)) => self.anything(key, value),
            _ => self.wrong_type(key, shape, value),
        }
    }

    fn wrong_type(
        &mut self,
        key: &str,
        shape: &Shape,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let fault = SettingErrorKind::WrongType {
            key: key.to_owned(),
            expected: shape.expected(),
            found: type_name(value.get_ref()),
        };
        self.mistake(value.span(), fault);
        None
    }

    fn text(
        &mut self,
        key: &str,
        check: Check,
        text: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let Some(problem) = check.problem(text) else {
            return Some(Value::from(text));
        };
        let fault = SettingErrorKind::BadText {
            key: key.to_owned(),
            found: quoted(text),
            problem: problem.to_owned(),
        };
        self.mistake(value.span(), fault);
        None
    }

    fn choice(
        &mut self,
        key: &str,
        known: &'static [&'static str],
        text: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        if known.contains(&text) {
            return Some(Value::from(text));
        }
        let fault = SettingErrorKind::unknown_value(key.to_owned(), text, known.iter().copied());
        self.mistake(value.span(), fault);
        None
    }

    /// A table that is a value, such as a rule.
    fn entries(
        &mut self,
        key: &str,
        keys: &'static [Key],
        table: &DeTable<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Value> {
        let before = self.mistakes.len();
        let mut read = Map::new();
        let mut meant = Vec::new();
        for (name, value) in table {
            let name_text = name.get_ref().as_ref();
            match keys.iter().find(|known| known.name == name_text) {
                Some(known) => {
                    let path = format!("{key}.{name_text}");
                    read.extend(
                        self.fit(&path, &known.shape, value)
                            .map(|value| (name_text.to_owned(), value)),
                    );
                }
                None => {
                    if !self.is_full() {
                        meant.extend(nearest(name_text, keys.iter().map(|key| key.name)));
                    }
                    self.unknown(&format!("`{key}`"), keys, name_text, name.span());
                }
            }
        }
        for known in keys.iter().filter(|known| known.required) {
            // A misspelt key is one mistake, not two.
            if !table.contains_key(known.name) && !meant.contains(&known.name) {
                let fault = SettingErrorKind::Missing {
                    key: known.name.to_owned(),
                    section: format!("`{key}`"),
                };
                self.mistake(value.span(), fault);
            }
        }
        (self.mistakes.len() == before).then_some(Value::Object(read))
    }

    /// Whatever stands there, as far as JSON can say it.
    fn anything(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let read = match value.get_ref() {
            DeValue::String(text) => Some(Value::from(text.as_ref())),
            DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
            DeValue::Integer(number) => whole(number).and_then(|number| {
                let small = i64::try_from(number).map(Value::from);
                small
                    .or_else(|_| u64::try_from(number).map(Value::from))
                    .ok()
            }),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number),
            DeValue::Datetime(_) => None,
            DeValue::Array(entries) => {
                let read: Vec<Option<Value>> = entries
                    .iter()
                    .map(|entry| self.anything(key, entry))
                    .collect();
                return read
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(Value::Array);
            }
            DeValue::Table(table) => {
                let read: Vec<Option<(String, Value)>> = table
                    .iter()
                    .map(|(name, value)| {
                        Some((name.get_ref().to_string(), self.anything(key, value)?))
                    })
                    .collect();
                return read
                    .into_iter()
                    .collect::<Option<Map<_, _>>>()
                    .map(Value::Object);
            }
        };
        if read.is_none() {
            let fault = SettingErrorKind::WrongType {
                key: key.to_owned(),
                expected: "what JSON can say".to_owned(),
                found: type_name(value.get_ref()),
            };
            self.mistake(value.span(), fault);
        }
        read
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// An amount of money: from nothing to a million dollars.
fn price(value: &DeValue<'_>) -> Option<Value> {
    let number: f64 = match value {
        DeValue::Integer(number) => number.as_str().parse().ok()?,
        DeValue::Float(number) => number.as_str().parse().ok()?,
        _ => return None,
    };
    (0.0..=1e6).contains(&number).then(|| number.into())
}

/// Whether a shape takes values of this type.
fn takes(shape: &Shape, value: &DeValue<'_>) -> bool {
    match shape {
        Shape::Flag => matches!(value, DeValue::Boolean(_)),
        Shape::Count { .. } => matches!(value, DeValue::Integer(_)),
        Shape::Price => matches!(value, DeValue::Integer(_) | DeValue::Float(_)),
        Shape::Text(_) | Shape::Choice(_) => matches!(value, DeValue::String(_)),
        Shape::List { .. } => matches!(value, DeValue::Array(_)),
        Shape::Either(shapes) => shapes.iter().any(|shape| takes(shape, value)),
        Shape::Texts | Shape::Table(_) | Shape::Named(_) | Shape::Anything => {
            matches!(value, DeValue::Table(_))
        }
    }
}

/// What a value is, in words.
pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
