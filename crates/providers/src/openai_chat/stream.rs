//! The chunks of an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::Key;
use crate::event::{StopReason, Usage};
use crate::fault::{ProviderErrorKind, StreamError};
use crate::machine::{Answer, Machine, WireError, Words};

#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Whether the model refused in words.
    refused: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<WireUsage>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Words<'a>,
    #[serde(borrow, default)]
    refusal: Words<'a>,
    /// Not of OpenAI's own: how the servers send thinking that show it.
    #[serde(borrow, default)]
    reasoning_content: Words<'a>,
    #[serde(borrow, default)]
    reasoning: Words<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    /// What calls were before there could be several.
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    #[serde(borrow, default)]
    id: Words<'a>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Words<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Machine for Stream {
    fn take(&mut self, data: &str, answer: &mut Answer) -> Result<(), StreamError> {
        if data.trim() == "[DONE]" {
            answer.end();
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|error| StreamError::malformed("openai-chat", &error, data))?;
        if let Some(error) = chunk.error {
            return Err(error.read(ProviderErrorKind::Other).into());
        }
        if let Some(usage) = chunk.usage {
            answer.usage = Some(usage.read());
        }
        // Only one choice is asked for.
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index == 0) {
            answer.began = true;
            if let Some(delta) = choice.delta {
                self.delta(delta, answer)?;
            }
            if let Some(word) = choice.finish_reason.filter(|word| !word.is_empty()) {
                answer.stop(self.stop_reason(word));
            }
        }
        Ok(())
    }
}

impl Stream {
    fn delta(&mut self, delta: Delta<'_>, answer: &mut Answer) -> Result<(), StreamError> {
        if delta.reasoning_content.is_empty() {
            answer.thinking(&delta.reasoning);
        } else {
            answer.thinking(&delta.reasoning_content);
        }
        answer.text(&delta.content);
        self.refused |= !delta.refusal.is_empty();
        answer.refusal(&delta.refusal);
        for call in delta.tool_calls.unwrap_or_default() {
            let function = call.function.unwrap_or_default();
            let at = slot(call.index, &call.id, answer)?;
            fragment(at, &call.id, &function, answer)?;
        }
        if let Some(function) = delta.function_call {
            let at = slot(None, "", answer)?;
            fragment(at, "", &function, answer)?;
        }
        Ok(())
    }

    fn stop_reason(&self, word: String) -> StopReason {
        match word.as_str() {
            "stop" if self.refused => StopReason::Refusal,
            "stop" => StopReason::EndTurn,
            "tool_calls" | "function_call" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            "content_filter" => StopReason::ContentFilter,
            _ => StopReason::Other(word),
        }
    }
}

/// The call a fragment belongs to, by index and id; a new one where neither is known.
fn slot(index: Option<u64>, id: &str, answer: &mut Answer) -> Result<usize, StreamError> {
    let calls = &mut answer.calls;
    let key = match index {
        Some(index) => Key::Index(index),
        None if id.is_empty() => Key::Unnamed,
        None => Key::Id(id.to_owned()),
    };
    let found = match key {
        Key::Unnamed => calls.last_open(),
        _ => calls.find(&key),
    };
    match found {
        // The same index with another id is another call.
        Some(at) if id.is_empty() || calls.id(at).is_none_or(|known| known == id) => Ok(at),
        _ => calls.open(key),
    }
}

fn fragment(
    at: usize,
    id: &str,
    function: &Function<'_>,
    answer: &mut Answer,
) -> Result<(), StreamError> {
    let (calls, out) = (&mut answer.calls, &mut answer.out);
    calls.describe(at, Some(id), Some(&function.name), out);
    let Some(arguments) = function.arguments else {
        return Ok(());
    };
    match arguments.get().bytes().next() {
        Some(b'"') => {
            let text: Words<'_> = serde_json::from_str(arguments.get())
                .map_err(|error| StreamError::malformed("openai-chat", &error, arguments.get()))?;
            calls.more(at, &text, out);
        }
        Some(b'n') => {}
        // Some servers send the arguments as what they are instead of their text.
        _ => calls.more(at, arguments.get(), out),
    }
    Ok(())
}

impl WireUsage {
    fn read(self) -> Usage {
        let prompt = self.prompt_tokens_details;
        let completion = self.completion_tokens_details;
        Usage {
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            cache_read_tokens: prompt.as_ref().and_then(|d| d.cached_tokens).unwrap_or(0),
            cache_write_tokens: prompt.and_then(|d| d.cache_write_tokens).unwrap_or(0),
            reasoning_tokens: completion.and_then(|d| d.reasoning_tokens).unwrap_or(0),
        }
    }
}
