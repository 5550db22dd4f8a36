//! The lines of an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::Key;
use crate::event::{StopReason, Usage};
use crate::fault::{ProviderErrorKind, StreamError};
use crate::machine::{Answer, Machine, WireError, Words};

#[derive(Debug, Default)]
pub(crate) struct Stream;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Words<'a>,
    #[serde(borrow, default)]
    thinking: Words<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
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

impl Machine for Stream {
    fn take(&mut self, data: &str, answer: &mut Answer) -> Result<(), StreamError> {
        let line: Line<'_> = serde_json::from_str(data)
            .map_err(|error| StreamError::malformed("ollama", &error, data))?;
        if let Some(message) = line.error {
            let error = WireError::of_message(message);
            return Err(error.read(ProviderErrorKind::Other).into());
        }
        if let Some(message) = line.message {
            answer.began = true;
            answer.thinking(&message.thinking);
            answer.text(&message.content);
            for call in message.tool_calls.unwrap_or_default() {
                whole_call(&call, answer)?;
            }
        }
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            answer.usage = Some(Usage {
                input_tokens: line.prompt_eval_count.unwrap_or(0),
                output_tokens: line.eval_count.unwrap_or(0),
                ..Usage::default()
            });
        }
        if line.done {
            answer.stop(stop_reason(line.done_reason));
            answer.end();
        }
        Ok(())
    }
}

fn whole_call(call: &Call<'_>, answer: &mut Answer) -> Result<(), StreamError> {
    let none = Function::default();
    let function = call.function.as_ref().unwrap_or(&none);
    let (calls, out) = (&mut answer.calls, &mut answer.out);
    let at = calls.open(Key::Unnamed)?;
    calls.describe(at, Some(&call.id), Some(&function.name), out);
    let arguments = function.arguments.map_or("{}", RawValue::get);
    calls.more(at, if arguments == "null" { "{}" } else { arguments }, out);
    calls.close(at, None, out);
    Ok(())
}

fn stop_reason(word: Option<String>) -> StopReason {
    match word.as_deref() {
        Some("stop") | None => StopReason::EndTurn,
        Some("length") => StopReason::MaxTokens,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}
