//! The events of an answer.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::calls::{CallError, Key};
use crate::event::{Seal, StopReason, Usage};
use crate::fault::{ProviderErrorKind, StreamError};
use crate::machine::{Answer, Machine, WireError, Words};

/// Of a reasoning item, what the wire wants back. Its status is for the one who reads it.
const REASONING: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// More parts than this are no answer.
const MAX_PARTS: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The parts of which pieces came: their whole, which follows, is not new.
    told: BTreeSet<(u64, Part)>,
    /// The items of which something came, by place and by id: the finished answer repeats them.
    places: BTreeSet<u64>,
    ids: BTreeSet<String>,
    refused: bool,
}

/// A part of an item, by its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Text(u64),
    Refusal(u64),
    Thinking,
}

/// An event, flat: which of the fields are there depends on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Words<'a>,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    content_index: u64,
    #[serde(default)]
    summary_index: u64,
    #[serde(borrow, default)]
    delta: Words<'a>,
    #[serde(borrow, default)]
    text: Words<'a>,
    #[serde(borrow, default)]
    refusal: Words<'a>,
    #[serde(borrow, default)]
    arguments: Words<'a>,
    #[serde(borrow, default)]
    item_id: Words<'a>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    /// An error event has its fields here, or in the event itself.
    error: Option<WireError>,
    code: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    r#type: Words<'a>,
    #[serde(borrow, default)]
    call_id: Words<'a>,
    #[serde(borrow, default)]
    name: Words<'a>,
    #[serde(borrow, default)]
    arguments: Words<'a>,
    #[serde(borrow, default)]
    status: Words<'a>,
    id: Option<Value>,
    summary: Option<Value>,
    content: Option<Value>,
    encrypted_content: Option<Value>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<Vec<Item<'a>>>,
    error: Option<WireError>,
    incomplete_details: Option<Incomplete>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Machine for Stream {
    fn take(&mut self, data: &str, answer: &mut Answer) -> Result<(), StreamError> {
        // Some servers that speak this wire end like the older one.
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(data)
            .map_err(|error| StreamError::malformed("openai-responses", &error, data))?;
        answer.began |= event.r#type.starts_with("response.");
        let output = event.output_index;
        if [".added", ".delta", ".done"]
            .iter()
            .any(|end| event.r#type.ends_with(end))
        {
            self.came(output, &event.item_id)?;
            let id = event.item.as_ref().and_then(Item::id);
            self.came(output, id.unwrap_or_default())?;
        }
        match &*event.r#type {
            "response.output_text.delta" => {
                self.first(output, Part::Text(event.content_index))?;
                answer.text(&event.delta);
            }
            "response.output_text.done" => {
                let new = self.first(output, Part::Text(event.content_index))?;
                answer.text(if new { &event.text } else { "" });
            }
            "response.refusal.delta" => {
                self.first(output, Part::Refusal(event.content_index))?;
                self.refused = true;
                answer.refusal(&event.delta);
            }
            "response.refusal.done" => {
                let new = self.first(output, Part::Refusal(event.content_index))?;
                self.refused = true;
                answer.refusal(if new { &event.refusal } else { "" });
            }
            "response.reasoning_summary_part.added" if event.summary_index > 0 => {
                answer.thinking("\n\n");
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.first(output, Part::Thinking)?;
                answer.thinking(&event.delta);
            }
            "response.output_item.added" => {
                answer.went_on();
                if let Some(item) = event.item
                    && &*item.r#type == "function_call"
                {
                    call(output, &item, answer)?;
                }
            }
            "response.function_call_arguments.delta" => {
                let at = slot(output, answer)?;
                answer.calls.more(at, &event.delta, &mut answer.out);
            }
            "response.function_call_arguments.done" => {
                let at = slot(output, answer)?;
                answer.calls.whole(at, &event.arguments, &mut answer.out);
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.done(output, item, answer)?;
                }
            }
            "response.completed" => {
                let mut response = event.response;
                self.rest(response.as_mut(), answer)?;
                let reason = if self.refused {
                    StopReason::Refusal
                } else {
                    StopReason::EndTurn
                };
                finished(response, answer, |_| reason);
            }
            "response.incomplete" => finished(event.response, answer, incomplete),
            "response.failed" => {
                let response = event.response;
                let (error, usage) = response.map_or((None, None), |r| (r.error, r.usage));
                answer.usage = usage.map(WireUsage::read);
                let error = error.unwrap_or_default();
                return Err(error.read(ProviderErrorKind::Server).into());
            }
            "error" => {
                let error = event.error.unwrap_or(WireError {
                    r#type: event.code,
                    code: None,
                    message: event.message,
                });
                return Err(error.read(ProviderErrorKind::Other).into());
            }
            _ => {}
        }
        Ok(())
    }
}

impl Stream {
    /// Notes a part, and says whether it is new.
    fn first(&mut self, output: u64, part: Part) -> Result<bool, StreamError> {
        if self.told.len() == MAX_PARTS {
            return Err(StreamError::TooManyParts { max: MAX_PARTS });
        }
        Ok(self.told.insert((output, part)))
    }

    /// Notes that something of an item came.
    fn came(&mut self, output: u64, id: &str) -> Result<(), StreamError> {
        if self.places.len().max(self.ids.len()) == MAX_PARTS {
            return Err(StreamError::TooManyParts { max: MAX_PARTS });
        }
        self.places.insert(output);
        if !id.is_empty() && !self.ids.contains(id) {
            self.ids.insert(id.to_owned());
        }
        Ok(())
    }

    /// Takes the items of a finished answer of which nothing came before.
    fn rest(
        &mut self,
        response: Option<&mut Response<'_>>,
        answer: &mut Answer,
    ) -> Result<(), StreamError> {
        let items = response.and_then(|response| response.output.take());
        for (item, output) in items.unwrap_or_default().into_iter().zip(0..) {
            let id = item.id().unwrap_or_default().to_owned();
            if self.places.contains(&output) || self.ids.contains(&id) {
                continue;
            }
            self.came(output, &id)?;
            answer.went_on();
            if &*item.r#type == "message" {
                self.said(output, item.content.as_ref(), answer)?;
            } else {
                self.done(output, item, answer)?;
            }
        }
        Ok(())
    }

    /// The words of a whole message.
    fn said(
        &mut self,
        output: u64,
        content: Option<&Value>,
        answer: &mut Answer,
    ) -> Result<(), StreamError> {
        let parts = content.and_then(Value::as_array).into_iter().flatten();
        for (part, place) in parts.zip(0..) {
            let words = |name| part.get(name).and_then(Value::as_str);
            if let Some(text) = words("text") {
                self.first(output, Part::Text(place))?;
                answer.text(text);
            } else if let Some(text) = words("refusal") {
                self.first(output, Part::Refusal(place))?;
                self.refused = true;
                answer.refusal(text);
            }
        }
        Ok(())
    }

    fn done(
        &mut self,
        output: u64,
        item: Item<'_>,
        answer: &mut Answer,
    ) -> Result<(), StreamError> {
        match &*item.r#type {
            "function_call" => {
                let at = call(output, &item, answer)?;
                let fault = (&*item.status == "incomplete").then_some(CallError::CutOff);
                answer.calls.close(at, fault, &mut answer.out);
            }
            "reasoning" => {
                if self.first(output, Part::Thinking)? {
                    answer.thinking(&shown(item.summary.as_ref()));
                }
                let item = item.going_back();
                let bytes = item.values().map(text_bytes).sum();
                answer.sealed(Seal::Item(item), bytes);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The call at this place, with what an item says of it.
fn call(output: u64, item: &Item<'_>, answer: &mut Answer) -> Result<usize, StreamError> {
    let at = slot(output, answer)?;
    let (calls, out) = (&mut answer.calls, &mut answer.out);
    calls.describe(at, Some(&item.call_id), Some(&item.name), out);
    if !item.arguments.is_empty() {
        calls.whole(at, &item.arguments, out);
    }
    Ok(at)
}

fn slot(output: u64, answer: &mut Answer) -> Result<usize, StreamError> {
    let key = Key::Index(output);
    match answer.calls.find(&key) {
        Some(at) => Ok(at),
        None => answer.calls.open(key),
    }
}

fn finished(
    response: Option<Response<'_>>,
    answer: &mut Answer,
    reason: impl FnOnce(Option<Incomplete>) -> StopReason,
) {
    let (details, usage) = response.map_or((None, None), |r| (r.incomplete_details, r.usage));
    answer.usage = usage.map(WireUsage::read);
    answer.stop(reason(details));
    answer.end();
}

fn incomplete(details: Option<Incomplete>) -> StopReason {
    let reason = details.and_then(|details| details.reason);
    match reason.as_deref() {
        Some("max_output_tokens") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::ContentFilter,
        Some(other) => StopReason::Other(other.to_owned()),
        None => StopReason::Other("incomplete".to_owned()),
    }
}

/// How many bytes of text a value holds.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(map) => map.values().map(text_bytes).sum(),
        _ => 0,
    }
}

/// The text of a summary's parts.
fn shown(summary: Option<&Value>) -> String {
    let parts = summary.and_then(Value::as_array);
    let texts = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text"));
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    texts.join("\n\n")
}

impl Item<'_> {
    fn id(&self) -> Option<&str> {
        self.id.as_ref().and_then(Value::as_str)
    }

    fn going_back(self) -> Map<String, Value> {
        let kind = Value::from(&*self.r#type);
        let fields = [
            Some(kind),
            self.id,
            Some(self.summary.unwrap_or_else(|| Value::Array(Vec::new()))),
            self.content,
            self.encrypted_content,
        ];
        let there = REASONING.into_iter().zip(fields);
        there
            .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| !v.is_null())?)))
            .collect()
    }
}

impl WireUsage {
    fn read(self) -> Usage {
        let input = self.input_tokens_details;
        let output = self.output_tokens_details;
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: input.as_ref().and_then(|d| d.cached_tokens).unwrap_or(0),
            cache_write_tokens: input.and_then(|d| d.cache_write_tokens).unwrap_or(0),
            reasoning_tokens: output.and_then(|d| d.reasoning_tokens).unwrap_or(0),
        }
    }
}
