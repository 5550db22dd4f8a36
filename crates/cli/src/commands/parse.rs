//! `toolgate parse`: calls out of a recorded answer.

use std::path::Path;

use serde_json::json;
use toolgate_model::Call;
use toolgate_model::json::JsonLimits;
use toolgate_providers::fenced::{Parser, Piece};
use toolgate_providers::{Reply, StopReason, StreamDecoder, StreamEvent, StreamLimits, Wire};

use crate::args::ParseFormat;
use crate::failure::CliError;
use crate::input;
use crate::out::Out;

/// The most bytes of an answer.
const INPUT: usize = 64 * 1024 * 1024;

pub(crate) fn run(out: &Out, file: Option<&Path>, format: ParseFormat) -> Result<u8, CliError> {
    let bytes = input::file(file, INPUT)?;
    let wire = match format {
        ParseFormat::Fenced => return fenced(out, &bytes),
        ParseFormat::Anthropic => Wire::Anthropic,
        ParseFormat::OpenaiChat => Wire::OpenAiChat,
        ParseFormat::OpenaiResponses => Wire::OpenAiResponses,
        ParseFormat::Ollama => Wire::Ollama,
    };
    let mut decoder = StreamDecoder::new(wire, StreamLimits::default());
    let mut reply = Reply::default();
    let mut events = decoder.push(&bytes);
    events.extend(decoder.finish());
    let sound = !events.iter().any(|event| {
        matches!(
            event,
            StreamEvent::Call(Call::Bad(_)) | StreamEvent::End(Err(_))
        )
    });
    events.into_iter().for_each(|event| reply.push(event));
    for line in reply.lines() {
        out.json_line(&line)?;
    }
    Ok(u8::from(!sound))
}

/// Text with fenced blocks.
fn fenced(out: &Out, bytes: &[u8]) -> Result<u8, CliError> {
    let mut parser = Parser::new(JsonLimits::default());
    let mut pieces = parser.push_bytes(bytes);
    pieces.extend(parser.finish());
    let mut text = String::new();
    let mut code = 0;
    let mut stop = StopReason::EndTurn;
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Call(call) => {
                stop = StopReason::ToolUse;
                flush(out, &mut text)?;
                match call {
                    Call::Whole(call) => out.json_line(&json!({"type": "call", "call": call}))?,
                    Call::Bad(call) => {
                        code = 1;
                        out.json_line(&json!({"type": "bad_call", "call": call}))?;
                    }
                }
            }
        }
    }
    flush(out, &mut text)?;
    out.json_line(&json!({"type": "end", "stop": stop.as_str()}))?;
    Ok(code)
}

/// Pieces of text that belong together are one line.
fn flush(out: &Out, text: &mut String) -> Result<(), CliError> {
    if text.is_empty() {
        return Ok(());
    }
    let text = std::mem::take(text);
    out.json_line(&json!({"type": "text", "text": text}))
}
