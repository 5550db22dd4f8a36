//! The events of an answer.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calls::Key;
use crate::event::{Seal, StopReason, Usage};
use crate::fault::{ProviderErrorKind, StreamError};
use crate::machine::{Answer, Machine, WireError, Words};

/// More blocks than this at once are no answer: real ones come one after the other.
const MAX_OPEN: usize = 512;

/// What is known of the blocks that are open.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    blocks: Vec<(u64, Block)>,
}

#[derive(Debug)]
enum Block {
    Text,
    Thinking {
        signature: String,
    },
    /// The input that stood in the start, for servers that send no pieces.
    Call {
        input: Option<Box<RawValue>>,
    },
    Other,
}

/// An event, flat: which of the fields are there depends on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Words<'a>,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<ContentBlock<'a>>,
    message: Option<Started>,
    usage: Option<WireUsage>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    r#type: Words<'a>,
    #[serde(borrow, default)]
    text: Words<'a>,
    #[serde(borrow, default)]
    thinking: Words<'a>,
    #[serde(borrow, default)]
    signature: Words<'a>,
    #[serde(borrow, default)]
    partial_json: Words<'a>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct ContentBlock<'a> {
    #[serde(borrow)]
    r#type: Words<'a>,
    #[serde(borrow, default)]
    text: Words<'a>,
    #[serde(borrow, default)]
    thinking: Words<'a>,
    #[serde(borrow, default)]
    signature: Words<'a>,
    #[serde(borrow, default)]
    data: Words<'a>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Started {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl Machine for Stream {
    fn take(&mut self, data: &str, answer: &mut Answer) -> Result<(), StreamError> {
        let event: Event<'_> = serde_json::from_str(data)
            .map_err(|error| StreamError::malformed("anthropic", &error, data))?;
        match &*event.r#type {
            "message_start" => {
                answer.began = true;
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    usage.add_to(answer);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(event.index, block, answer)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(event.index, &delta, answer)?;
                }
            }
            "content_block_stop" => self.stop(event.index, answer),
            "message_delta" => {
                if let Some(usage) = event.usage {
                    usage.add_to(answer);
                }
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    answer.stop(stop_reason(reason));
                }
            }
            "message_stop" => answer.end(),
            "error" => {
                let error = event.error.unwrap_or_default();
                return Err(error.read(ProviderErrorKind::Other).into());
            }
            _ => {}
        }
        Ok(())
    }
}

impl Stream {
    fn start(
        &mut self,
        index: u64,
        block: ContentBlock<'_>,
        answer: &mut Answer,
    ) -> Result<(), StreamError> {
        answer.began = true;
        // A block that was never closed and whose index comes again is over.
        self.stop(index, answer);
        answer.went_on();
        if self.blocks.len() == MAX_OPEN {
            return Err(StreamError::TooManyParts { max: MAX_OPEN });
        }
        let opened = match &*block.r#type {
            "text" => {
                answer.text(&block.text);
                Block::Text
            }
            "thinking" => {
                answer.thinking(&block.thinking);
                Block::Thinking {
                    signature: (*block.signature).to_owned(),
                }
            }
            "redacted_thinking" => {
                let seal = Seal::Redacted((*block.data).to_owned());
                answer.sealed(seal, block.data.len());
                Block::Other
            }
            "tool_use" => {
                let at = answer.calls.open(Key::Index(index))?;
                let (id, name) = (block.id.as_deref(), block.name.as_deref());
                answer.calls.describe(at, id, name, &mut answer.out);
                Block::Call { input: block.input }
            }
            _ => Block::Other,
        };
        self.blocks.push((index, opened));
        Ok(())
    }

    fn delta(
        &mut self,
        index: u64,
        delta: &Delta<'_>,
        answer: &mut Answer,
    ) -> Result<(), StreamError> {
        answer.began = true;
        match &*delta.r#type {
            "text_delta" => answer.text(&delta.text),
            "thinking_delta" => answer.thinking(&delta.thinking),
            "signature_delta" => {
                if let Some(Block::Thinking { signature }) = self.block(index) {
                    (*delta.signature).clone_into(signature);
                }
            }
            "input_json_delta" => {
                let known = match self.block(index) {
                    // Arguments of the provider's own tools are not for us.
                    Some(Block::Other) => return Ok(()),
                    _ => answer.calls.find(&Key::Index(index)),
                };
                // Pieces of a call that nobody opened: it has no name, and is told so.
                let at = match known {
                    Some(at) => at,
                    None => answer.calls.open(Key::Index(index))?,
                };
                answer.calls.more(at, &delta.partial_json, &mut answer.out);
            }
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, index: u64, answer: &mut Answer) {
        let Some(place) = self.blocks.iter().rposition(|(at, _)| *at == index) else {
            if let Some(at) = answer.calls.find(&Key::Index(index)) {
                answer.calls.close(at, None, &mut answer.out);
            }
            return;
        };
        match self.blocks.swap_remove(place).1 {
            Block::Thinking { signature } if !signature.is_empty() => {
                let bytes = signature.len();
                answer.sealed(Seal::Signature(signature), bytes);
            }
            Block::Call { input } => {
                let Some(at) = answer.calls.find(&Key::Index(index)) else {
                    return;
                };
                if let Some(input) = input.filter(|input| !is_empty_object(input))
                    && answer.calls.is_blank(at)
                {
                    answer.calls.more(at, input.get(), &mut answer.out);
                }
                answer.calls.close(at, None, &mut answer.out);
            }
            Block::Thinking { .. } | Block::Text | Block::Other => {}
        }
    }

    fn block(&mut self, index: u64) -> Option<&mut Block> {
        let mut blocks = self.blocks.iter_mut().rev();
        blocks.find(|(at, _)| *at == index).map(|(_, block)| block)
    }
}

/// Every tool-use block starts with an empty input; the real one follows in pieces.
fn is_empty_object(input: &RawValue) -> bool {
    let inner = input.get().strip_prefix('{');
    let inner = inner.and_then(|inner| inner.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

impl WireUsage {
    /// Counts are totals: what comes later replaces what came before, where it is there.
    fn add_to(self, answer: &mut Answer) {
        let usage = answer.usage.get_or_insert(Usage::default());
        // On this wire the input does not count what the cache gave or took.
        let plain = usage
            .input_tokens
            .saturating_sub(usage.cache_read_tokens)
            .saturating_sub(usage.cache_write_tokens);
        let plain = self.input_tokens.unwrap_or(plain);
        let replace = |kept: &mut u64, now: Option<u64>| *kept = now.unwrap_or(*kept);
        replace(&mut usage.cache_read_tokens, self.cache_read_input_tokens);
        let written = self.cache_creation_input_tokens;
        replace(&mut usage.cache_write_tokens, written);
        replace(&mut usage.output_tokens, self.output_tokens);
        let details = self.output_tokens_details;
        let thinking = details.and_then(|details| details.thinking_tokens);
        replace(&mut usage.reasoning_tokens, thinking);
        usage.input_tokens = plain
            .saturating_add(usage.cache_read_tokens)
            .saturating_add(usage.cache_write_tokens);
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Paused,
        "model_context_window_exceeded" => StopReason::ContextFull,
        _ => StopReason::Other(word),
    }
}
