//! Calls out of a recorded answer of a model.
//!
//! ```
//! use toolgate_app::answers::{self, AnswerFormat};
//!
//! let read = answers::read(b"no calls here", AnswerFormat::Fenced);
//! assert!(read.is_sound);
//! assert_eq!(read.lines[0]["type"], "text");
//! ```

use serde_json::{Value, json};
use toolgate_model::Call;
use toolgate_model::json::JsonLimits;
use toolgate_providers::fenced::{Parser, Piece};
use toolgate_providers::{Reply, StopReason, StreamDecoder, StreamEvent, StreamLimits, Wire};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Text with fenced tool blocks.
    Fenced,
    /// A stream of Anthropic's Messages.
    Anthropic,
    /// A stream of OpenAI's Chat Completions.
    OpenaiChat,
    /// A stream of OpenAI's Responses.
    OpenaiResponses,
    /// A stream of Ollama.
    Ollama,
}

/// An answer that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadAnswer {
    /// Text, calls and end, each a JSON object.
    pub lines: Vec<Value>,
    /// Whether no call is damaged and the answer has an end.
    pub is_sound: bool,
}

/// Reads an answer.
pub fn read(bytes: &[u8], format: AnswerFormat) -> ReadAnswer {
    let wire = match format {
        AnswerFormat::Fenced => return fenced(bytes),
        AnswerFormat::Anthropic => Wire::Anthropic,
        AnswerFormat::OpenaiChat => Wire::OpenAiChat,
        AnswerFormat::OpenaiResponses => Wire::OpenAiResponses,
        AnswerFormat::Ollama => Wire::Ollama,
    };
    let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
    let mut reply = Reply::default();
    let mut events = decoder.push(bytes);
    events.extend(decoder.finish());
    let is_damaged = |event: &StreamEvent| {
        matches!(
            event,
            StreamEvent::Call(Call::Bad(_)) | StreamEvent::End(Err(_))
        )
    };
    let is_sound = !events.iter().any(is_damaged);
    events.into_iter().for_each(|event| reply.push(event));
    ReadAnswer {
        lines: reply.lines(),
        is_sound,
    }
}

/// Text with fenced blocks.
fn fenced(bytes: &[u8]) -> ReadAnswer {
    let mut parser = Parser::new(JsonLimits::default());
    let mut pieces = parser.push_bytes(bytes);
    pieces.extend(parser.finish());
    let (mut lines, mut text) = (Vec::new(), String::new());
    let (mut is_sound, mut stop) = (true, StopReason::EndTurn);
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Call(call) => {
                stop = StopReason::ToolUse;
                flush(&mut lines, &mut text);
                lines.push(match call {
                    Call::Whole(call) => json!({"type": "call", "call": call}),
                    Call::Bad(call) => {
                        is_sound = false;
                        json!({"type": "bad_call", "call": call})
                    }
                });
            }
        }
    }
    flush(&mut lines, &mut text);
    lines.push(json!({"type": "end", "stop": stop.as_str()}));
    ReadAnswer { lines, is_sound }
}

/// Pieces of text that belong together are one line.
fn flush(lines: &mut Vec<Value>, text: &mut String) {
    if !text.is_empty() {
        let text = std::mem::take(text);
        lines.push(json!({"type": "text", "text": text}));
    }
}
