//! `sanitize`: shows what Toolgate would make of a text. For diagnosis; no model is offered it.

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::output::{Bounder, Limits, Sanitizer, approval_text};
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError, hex};

use crate::blocking::{blocking, go_on};

const DESCRIPTION: &str = "Returns a text as Toolgate would show it: as output of a tool, or as a \
    line of an approval question.";

/// How often a piece can be repeated.
const MOST_REPEATS: u64 = 50_000_000;
/// Pieces of a repetition that go through the machine at once.
const CHUNK: usize = 64 * 1024;
/// An approval line is made from the whole text, so that has to be in memory.
const LONGEST_APPROVAL: usize = 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sanitize {
    /// The text.
    #[serde(default)]
    text: Option<String>,
    /// The text in pieces, as a stream would bring them.
    #[serde(default)]
    chunks: Option<Vec<String>>,
    /// The bytes in hexadecimal.
    #[serde(default)]
    bytes_hex: Option<String>,
    /// A text made of a repeated piece.
    #[serde(default)]
    repeat: Option<Repeat>,
    /// Whether it is shown as output or in an approval question.
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Repeat {
    /// What comes first.
    #[serde(default)]
    prefix: String,
    /// What is repeated.
    unit: String,
    /// How often.
    #[schemars(range(max = 50_000_000))]
    count: u64,
    /// What comes last.
    #[serde(default)]
    suffix: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Output,
    Approval,
}

impl Sanitize {
    fn check(&self) -> Result<(), ToolError> {
        let given = [
            self.text.is_some(),
            self.chunks.is_some(),
            self.bytes_hex.is_some(),
            self.repeat.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(ToolError::bad_args(
                "give exactly one of text, chunks, bytes_hex and repeat",
            ));
        }
        if let Some(hex) = &self.bytes_hex {
            bytes(hex)?;
        }
        Ok(())
    }

    /// Hands the text over, piece by piece.
    fn pieces(
        &self,
        cx: &RunCtx,
        take: &mut dyn FnMut(&[u8]) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        if let Some(text) = &self.text {
            take(text.as_bytes())?;
        }
        for chunk in self.chunks.iter().flatten() {
            take(chunk.as_bytes())?;
        }
        if let Some(hex) = &self.bytes_hex {
            take(&bytes(hex)?)?;
        }
        if let Some(repeat) = &self.repeat {
            take(repeat.prefix.as_bytes())?;
            let mut left = repeat.count.min(MOST_REPEATS);
            let at_once = (CHUNK / repeat.unit.len().max(1)).max(1);
            let many = repeat.unit.repeat(at_once);
            while left >= at_once as u64 {
                go_on(cx.cancel())?;
                take(many.as_bytes())?;
                left -= at_once as u64;
            }
            let rest = usize::try_from(left).unwrap_or(0);
            take(repeat.unit.repeat(rest).as_bytes())?;
            take(repeat.suffix.as_bytes())?;
        }
        Ok(())
    }
}

fn bytes(text: &str) -> Result<Vec<u8>, ToolError> {
    hex::decode(text).ok_or_else(|| {
        ToolError::bad_args("bytes_hex: expected two hexadecimal digits for each byte")
    })
}

/// The tool.
pub(crate) fn tool() -> TypedTool<Sanitize> {
    typed("sanitize", DESCRIPTION, |args: Sanitize, cx| {
        blocking(move || show(&args, &cx))
    })
    .check(Sanitize::check)
    .summary(|_| "Show a text as Toolgate would".to_owned())
    .facts(|_| Facts::none())
    .category(Category::Other)
    .risk(Risk::Low)
    .unadvertised()
}

fn show(args: &Sanitize, cx: &RunCtx) -> Result<Output, ToolError> {
    match args.mode {
        Mode::Output => as_output(args, cx),
        Mode::Approval => as_question(args, cx),
    }
}

fn as_output(args: &Sanitize, cx: &RunCtx) -> Result<Output, ToolError> {
    let mut sanitizer = Sanitizer::new();
    // In the memory of one result, however long the text is.
    let mut kept = Bounder::new(Limits::bytes(cx.limits().effective()));
    let mut clean = String::new();
    args.pieces(cx, &mut |piece| {
        sanitizer.push(piece, &mut clean);
        kept.push(&clean);
        clean.clear();
        Ok(())
    })?;
    sanitizer.finish(&mut clean);
    kept.push(&clean);
    let bounded = kept.finish(None);
    Ok(Output::self_bounded(bounded.text)
        .with("truncated", bounded.truncated)
        .with("bytes", bounded.total_bytes))
}

fn as_question(args: &Sanitize, cx: &RunCtx) -> Result<Output, ToolError> {
    let mut whole = Vec::new();
    args.pieces(cx, &mut |piece| {
        if whole.len() + piece.len() > LONGEST_APPROVAL {
            return Err(ToolError::new(
                ErrorKind::TooLarge,
                format!("a question is made from at most {LONGEST_APPROVAL} bytes; give less"),
            ));
        }
        whole.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(Output::self_bounded(approval_text(
        &String::from_utf8_lossy(&whole),
    )))
}
