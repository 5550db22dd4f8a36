//! `toolgate parse`: calls out of a recorded answer.

use std::path::Path;

use serde_json::json;
use toolgate_model::Call;
use toolgate_model::json::JsonLimits;
use toolgate_providers::fenced::{Parser, Piece};

use crate::args::ParseFormat;
use crate::failure::Failure;
use crate::input;
use crate::out::Out;

/// The most bytes of an answer.
const INPUT: usize = 64 * 1024 * 1024;

pub(crate) fn run(out: &Out, file: Option<&Path>, format: ParseFormat) -> Result<u8, Failure> {
    let bytes = input::file(file, INPUT)?;
    let ParseFormat::Fenced = format;
    let mut parser = Parser::new(JsonLimits::default());
    let mut pieces = parser.push_bytes(&bytes);
    pieces.extend(parser.finish());
    let mut text = String::new();
    let mut code = 0;
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Call(call) => {
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
    out.json_line(&json!({"type": "end"}))?;
    Ok(code)
}

/// Pieces of text that belong together are one line.
fn flush(out: &Out, text: &mut String) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let text = std::mem::take(text);
    out.json_line(&json!({"type": "text", "text": text}))
}
