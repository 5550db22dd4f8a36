//! A step as the bytes a wire would send for it.
//!
//! For a provider on loopback: what it sends is read by the real decoders.
//! What a wire cannot say is said as it comes nearest: refusals as text, seals
//! of other wires not at all.

use serde_json::{Value, json};
use toolgate_providers::replay::{Arguments, Finish, Part, Pieces, PlayedCall, Step};
use toolgate_providers::{ProviderError, ProviderErrorKind as Kind, Seal, StopReason, Usage, Wire};

/// The bytes that a provider would send for a step.
pub trait Render {
    /// The whole stream of the answer.
    fn render(&self, wire: Wire) -> Vec<u8>;
}

impl Render for Step {
    fn render(&self, wire: Wire) -> Vec<u8> {
        let mut page = Page {
            wire,
            pieces: Pieces::new(&self.pace),
            out: String::new(),
            index: 0,
            calls: 0,
        };
        page.begin();
        self.parts.iter().for_each(|part| page.part(part));
        page.finish(self);
        page.out.into_bytes()
    }
}

fn reason(step: &Step) -> Option<StopReason> {
    let has = |wanted: fn(&Part) -> bool| step.parts.iter().any(wanted);
    match &step.finish {
        Finish::Stop(reason) => Some(reason.clone()),
        Finish::Normal if has(|part| matches!(part, Part::Refusal(_))) => Some(StopReason::Refusal),
        Finish::Normal if has(|part| matches!(part, Part::Call(_))) => Some(StopReason::ToolUse),
        Finish::Normal => Some(StopReason::EndTurn),
        Finish::Error(_) | Finish::Cut => None,
    }
}

struct Page<'a> {
    wire: Wire,
    pieces: Pieces<'a>,
    out: String,
    /// The place of the next block or item.
    index: u64,
    calls: u64,
}

impl Page<'_> {
    fn event(&mut self, event: &Value) {
        match (self.wire, event["type"].as_str()) {
            (Wire::Ollama, _) => self.out.push_str(&format!("{event}\n")),
            (_, Some(name)) => self
                .out
                .push_str(&format!("event: {name}\ndata: {event}\n\n")),
            (_, None) => self.out.push_str(&format!("data: {event}\n\n")),
        }
    }

    fn begin(&mut self) {
        match self.wire {
            Wire::Anthropic => self.event(&json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "replay",
                "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }})),
            Wire::OpenAiChat => self.delta(&json!({"role": "assistant", "content": ""})),
            Wire::OpenAiResponses => {
                self.event(&json!({"type": "response.created", "response": {"id": "resp_1"}}));
            }
            Wire::Ollama => {}
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.words(text, Words::Text),
            Part::Refusal(text) => self.words(text, Words::Refusal),
            Part::Thinking { text, seal } => self.thinking(text, seal.as_ref()),
            Part::Call(call) => {
                self.call(call);
                self.calls += 1;
            }
        }
        self.index += 1;
    }

    fn words(&mut self, text: &str, words: Words) {
        let index = self.index;
        if self.wire == Wire::Anthropic {
            let block = words.anthropic_block();
            self.event(
                &json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
        }
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = self.pieces.cut(rest);
            match self.wire {
                Wire::Anthropic => self.event(&json!({
                    "type": "content_block_delta", "index": index,
                    "delta": words.anthropic_delta(piece),
                })),
                Wire::OpenAiChat => self.delta(&json!({words.chat_field(): piece})),
                Wire::OpenAiResponses => self.event(&json!({
                    "type": words.responses_event(), "output_index": index, "content_index": 0,
                    "item_id": format!("item_{index}"), "delta": piece,
                })),
                Wire::Ollama => self.line(&json!({"content": "", words.ollama_field(): piece})),
            }
            rest = after;
        }
        if self.wire == Wire::Anthropic && words != Words::Thinking {
            self.event(&json!({"type": "content_block_stop", "index": index}));
        }
    }

    fn thinking(&mut self, text: &str, seal: Option<&Seal>) {
        let index = self.index;
        match (self.wire, seal) {
            (Wire::Anthropic, Some(Seal::Redacted(data))) => {
                let block = json!({"type": "redacted_thinking", "data": data});
                self.event(
                    &json!({"type": "content_block_start", "index": index, "content_block": block}),
                );
                self.event(&json!({"type": "content_block_stop", "index": index}));
            }
            (Wire::Anthropic, seal) => {
                self.words(text, Words::Thinking);
                if let Some(Seal::Signature(signature)) = seal {
                    let delta = json!({"type": "signature_delta", "signature": signature});
                    self.event(
                        &json!({"type": "content_block_delta", "index": index, "delta": delta}),
                    );
                }
                self.event(&json!({"type": "content_block_stop", "index": index}));
            }
            (Wire::OpenAiResponses, Some(Seal::Item(item))) => {
                self.words(text, Words::Thinking);
                self.event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            }
            _ => self.words(text, Words::Thinking),
        }
    }

    fn call(&mut self, call: &PlayedCall) {
        let index = self.index;
        let (id, name) = (&call.id, &call.name);
        match self.wire {
            Wire::Anthropic => self.event(&json!({
                "type": "content_block_start", "index": index,
                "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}},
            })),
            Wire::OpenAiChat => self.delta(&json!({"tool_calls": [{
                "index": self.calls, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""},
            }]})),
            Wire::OpenAiResponses => self.event(&json!({
                "type": "response.output_item.added", "output_index": index,
                "item": {"type": "function_call", "call_id": id, "name": name, "arguments": ""},
            })),
            Wire::Ollama => {
                let arguments = match &call.args {
                    Arguments::Object(object) => Value::Object(object.clone()),
                    Arguments::Damaged(text) => Value::String(text.clone()),
                };
                let function = json!({"name": name, "arguments": arguments});
                self.line(
                    &json!({"content": "", "tool_calls": [{"id": id, "function": function}]}),
                );
                return;
            }
        }
        let text = call.args.to_text();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = self.pieces.cut(rest);
            match self.wire {
                Wire::Anthropic => self.event(&json!({
                    "type": "content_block_delta", "index": index,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                })),
                Wire::OpenAiChat => self.delta(&json!({"tool_calls": [{
                    "index": self.calls, "function": {"arguments": piece},
                }]})),
                _ => self.event(&json!({
                    "type": "response.function_call_arguments.delta", "output_index": index,
                    "item_id": format!("item_{index}"), "delta": piece,
                })),
            }
            rest = after;
        }
        match self.wire {
            Wire::Anthropic => self.event(&json!({"type": "content_block_stop", "index": index})),
            Wire::OpenAiResponses => self.event(&json!({
                "type": "response.output_item.done", "output_index": index,
                "item": {
                    "type": "function_call", "call_id": id, "name": name, "arguments": text,
                    "status": "completed",
                },
            })),
            Wire::OpenAiChat | Wire::Ollama => {}
        }
    }

    fn finish(&mut self, step: &Step) {
        if let Finish::Error(error) = &step.finish {
            self.error(error);
        }
        let Some(reason) = reason(step) else { return };
        let usage = step.usage;
        match self.wire {
            Wire::Anthropic => {
                let usage = usage.unwrap_or_default();
                let plain = usage
                    .input_tokens
                    .saturating_sub(usage.cache_read_tokens)
                    .saturating_sub(usage.cache_write_tokens);
                self.event(&json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": anthropic_reason(&reason), "stop_sequence": null},
                    "usage": {
                        "input_tokens": plain, "output_tokens": usage.output_tokens,
                        "cache_read_input_tokens": usage.cache_read_tokens,
                        "cache_creation_input_tokens": usage.cache_write_tokens,
                        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
                    },
                }));
                self.event(&json!({"type": "message_stop"}));
            }
            Wire::OpenAiChat => {
                let word = chat_reason(&reason);
                self.event(&json!({
                    "object": "chat.completion.chunk",
                    "choices": [{"index": 0, "delta": {}, "finish_reason": word}],
                }));
                if let Some(usage) = usage {
                    self.event(&json!({
                        "object": "chat.completion.chunk", "choices": [], "usage": chat_usage(&usage),
                    }));
                }
                self.out.push_str("data: [DONE]\n\n");
            }
            Wire::OpenAiResponses => {
                let (kind, details) = responses_reason(&reason);
                self.event(&json!({"type": kind, "response": {
                    "id": "resp_1", "incomplete_details": details,
                    "usage": usage.as_ref().map(responses_usage),
                }}));
            }
            Wire::Ollama => self.event(&json!({
                "model": "replay", "message": {"role": "assistant", "content": ""}, "done": true,
                "done_reason": ollama_reason(&reason),
                "prompt_eval_count": usage.map(|usage| usage.input_tokens),
                "eval_count": usage.map(|usage| usage.output_tokens),
            })),
        }
    }

    fn error(&mut self, error: &ProviderError) {
        let (word, message) = (error_word(error), &error.message);
        self.event(&match self.wire {
            Wire::Anthropic => {
                json!({"type": "error", "error": {"type": word, "message": message}})
            }
            Wire::OpenAiChat => json!({"error": {"type": word, "message": message}}),
            Wire::OpenAiResponses => json!({"type": "error", "code": word, "message": message}),
            Wire::Ollama => json!({"error": message}),
        });
    }

    fn delta(&mut self, delta: &Value) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        self.event(&json!({"object": "chat.completion.chunk", "choices": [choice]}));
    }

    fn line(&mut self, message: &Value) {
        self.event(&json!({"model": "replay", "message": message, "done": false}));
    }
}

/// What kind of words a text is, and what each wire calls that.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Text,
    Refusal,
    Thinking,
}

impl Words {
    fn anthropic_block(self) -> Value {
        match self {
            Self::Text | Self::Refusal => json!({"type": "text", "text": ""}),
            Self::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
        }
    }

    fn anthropic_delta(self, piece: &str) -> Value {
        match self {
            Self::Text | Self::Refusal => json!({"type": "text_delta", "text": piece}),
            Self::Thinking => json!({"type": "thinking_delta", "thinking": piece}),
        }
    }

    const fn chat_field(self) -> &'static str {
        match self {
            Self::Text => "content",
            Self::Refusal => "refusal",
            Self::Thinking => "reasoning_content",
        }
    }

    const fn responses_event(self) -> &'static str {
        match self {
            Self::Text => "response.output_text.delta",
            Self::Refusal => "response.refusal.delta",
            Self::Thinking => "response.reasoning_summary_text.delta",
        }
    }

    const fn ollama_field(self) -> &'static str {
        match self {
            Self::Text | Self::Refusal => "content",
            Self::Thinking => "thinking",
        }
    }
}

fn anthropic_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::Paused => "pause_turn",
        StopReason::ContextFull => "model_context_window_exceeded",
        other => other.as_str(),
    }
}

fn chat_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::Refusal => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        other => other.as_str(),
    }
}

fn responses_reason(reason: &StopReason) -> (&'static str, Value) {
    let word = match reason {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Refusal => return ("response.completed", Value::Null),
        StopReason::MaxTokens => "max_output_tokens",
        other => other.as_str(),
    };
    ("response.incomplete", json!({"reason": word}))
}

fn ollama_reason(reason: &StopReason) -> &str {
    match reason {
        StopReason::MaxTokens => "length",
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Refusal => "stop",
        other => other.as_str(),
    }
}

fn chat_usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    })
}

fn responses_usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    })
}

/// A word that every wire's reader takes for the error's kind.
fn error_word(error: &ProviderError) -> &str {
    match error.kind {
        Kind::Overloaded => "overloaded_error",
        Kind::RateLimited => "rate_limit_error",
        Kind::Server => "server_error",
        Kind::Authentication => "authentication_error",
        Kind::Permission => "permission_error",
        Kind::Quota => "insufficient_quota",
        Kind::NotFound => "not_found_error",
        Kind::ContextTooLong => "context_length_exceeded",
        Kind::InvalidRequest => "invalid_request_error",
        _ => "other",
    }
}
