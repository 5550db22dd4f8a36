//! `read_output`: the part of an earlier result that was cut.

use std::io::BufRead;
use std::num::NonZeroU64;

use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::session::KeptText;
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, ErrorKind, Facts, OutputHandle, Risk, ToolError};

use crate::blocking::{blocking, go_on};
use crate::lines::{LineRange, count, said};

const DESCRIPTION: &str = "Returns lines of an earlier output that was too long to be returned \
    whole. The handle stands where the output was cut. Give start_line and end_line for a part, or \
    a pattern (a regular expression) for the lines that fit it.";

/// What the note at the end of a part takes at most.
const NOTE_BYTES: usize = 120;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadOutput {
    /// The handle of the output, such as `out_3`.
    #[schemars(length(min = 1))]
    handle: String,
    /// The first line to return, counted from 1.
    #[serde(default)]
    start_line: Option<NonZeroU64>,
    /// The last line to return, included.
    #[serde(default)]
    end_line: Option<NonZeroU64>,
    /// Return only lines that fit this regular expression, with their numbers.
    #[serde(default)]
    #[schemars(length(min = 1, max = 10_000))]
    pattern: Option<String>,
}

impl ReadOutput {
    fn check(&self) -> Result<(), ToolError> {
        let range = LineRange::new(self.start_line, self.end_line)?;
        if range.is_some() && self.pattern.is_some() {
            return Err(ToolError::bad_args(
                "give start_line and end_line, or pattern, not both",
            ));
        }
        if let Some(pattern) = &self.pattern {
            matcher(pattern)?;
        }
        Ok(())
    }
}

fn matcher(pattern: &str) -> Result<grep_regex::RegexMatcher, ToolError> {
    RegexMatcherBuilder::new()
        .size_limit(1 << 20)
        .dfa_size_limit(1 << 20)
        .build(pattern)
        .map_err(|error| ToolError::bad_args(format!("pattern: {error}")))
}

/// The tool.
pub(crate) fn tool() -> TypedTool<ReadOutput> {
    typed("read_output", DESCRIPTION, read)
        .check(ReadOutput::check)
        .summary(|args| format!("Read the output {}", args.handle))
        .facts(|_| Facts::none())
        .category(Category::Other)
        .risk(Risk::Low)
}

async fn read(args: ReadOutput, cx: RunCtx) -> Result<Output, ToolError> {
    let session = cx.session();
    let handle = OutputHandle::new(args.handle.clone());
    let text = session
        .outputs()
        .open(session.id(), &handle)
        .await
        .ok_or_else(|| {
            ToolError::new(
                ErrorKind::NotFound,
                format!(
                    "no output of this conversation is kept under {:?}. Handles stand where an output was cut; the oldest outputs are dropped first. Run the call again to get it anew.",
                    args.handle
                ),
            )
        })?;
    blocking(move || {
        let limit = cx.limits().effective();
        let output = match &args.pattern {
            Some(pattern) => fitting(text, pattern, limit, &cx),
            None => part(&args, text, limit, &cx),
        };
        Ok(output?.with("handle", args.handle.clone()))
    })
    .await
}

/// An output that cannot be read any more.
fn unreadable(error: &std::io::Error) -> ToolError {
    ToolError::new(
        ErrorKind::Failed,
        format!("the kept output cannot be read: {error}"),
    )
}

/// The wanted lines of a text of any length, as far as there is room for them.
struct Part {
    wanted: Vec<u8>,
    /// Whether there was more than there is room for.
    more: bool,
    /// How many lines the whole text has.
    total: u64,
}

fn gather(
    mut text: KeptText,
    range: LineRange,
    room: usize,
    cx: &RunCtx,
) -> Result<Part, ToolError> {
    let last = range.last.unwrap_or(u64::MAX);
    let mut part = Part {
        wanted: Vec::new(),
        more: false,
        total: 0,
    };
    let (mut line, mut ended) = (1, true);
    loop {
        go_on(cx.cancel())?;
        let bytes = text.fill_buf().map_err(|error| unreadable(&error))?;
        if bytes.is_empty() {
            break;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if (range.first..=last).contains(&line) {
                let left = room.saturating_sub(part.wanted.len());
                part.more |= piece.len() > left;
                part.wanted.extend(piece.iter().take(left));
            }
            ended = piece.ends_with(b"\n");
            line += u64::from(ended);
        }
        let count = bytes.len();
        text.consume(count);
    }
    part.total = if ended { line - 1 } else { line };
    // The newline after the last wanted line is no part of what was asked for.
    if range.last.is_some_and(|last| last <= part.total) && part.wanted.ends_with(b"\n") {
        part.wanted.pop();
    }
    Ok(part)
}

/// As many of the wanted lines as fit into one result.
fn part(args: &ReadOutput, text: KeptText, limit: usize, cx: &RunCtx) -> Result<Output, ToolError> {
    let every = LineRange {
        first: 1,
        last: None,
    };
    let range = LineRange::new(args.start_line, args.end_line)?.unwrap_or(every);
    let Part {
        wanted,
        more,
        total,
    } = gather(text, range, limit.saturating_add(1), cx)?;
    if range.first > total.max(1) {
        return Err(ToolError::bad_args(format!(
            "start_line {} is past the end: the output has {}",
            range.first,
            said(total)
        )));
    }
    let wanted = String::from_utf8_lossy(&wanted);
    let first = range.first;
    if !more && wanted.len() <= limit {
        let last = range.last.unwrap_or(total).min(total);
        return Ok(Output::self_bounded(wanted)
            .display(format!(
                "Read {} (lines {first}-{last} of {total})",
                args.handle
            ))
            .with("truncated", false)
            .with("total_lines", total));
    }
    let room = wanted.floor_char_boundary(limit.saturating_sub(NOTE_BYTES));
    let head = wanted.get(..room).unwrap_or_default();
    // Whole lines, unless not even one fits.
    let whole = memchr::memrchr(b'\n', head.as_bytes());
    let kept = whole.map_or(head, |newline| head.get(..newline).unwrap_or_default());
    let next = first + count(kept).max(1);
    let note = match whole {
        Some(_) => format!(
            "\n[lines {first}-{} of {total}; go on with start_line {next}]",
            next - 1
        ),
        None => format!(
            "\n[line {first} has more; look for parts of it with pattern, or go on with start_line {next}]"
        ),
    };
    Ok(Output::self_bounded(format!("{kept}{note}"))
        .display(format!(
            "Read {} (lines {first}-{} of {total})",
            args.handle,
            next - 1
        ))
        .with("truncated", true)
        .with("next_line", next)
        .with("total_lines", total))
}

/// The lines that fit a pattern, with their numbers.
fn fitting(
    mut text: KeptText,
    pattern: &str,
    limit: usize,
    cx: &RunCtx,
) -> Result<Output, ToolError> {
    let matcher = matcher(pattern)?;
    let mut content = String::new();
    let (mut hits, mut truncated) = (0_usize, false);
    let (mut number, mut bytes) = (0_u64, Vec::new());
    loop {
        bytes.clear();
        let read = text.read_until(b'\n', &mut bytes);
        if read.map_err(|error| unreadable(&error))? == 0 {
            break;
        }
        number += 1;
        if number % 1024 == 0 {
            go_on(cx.cancel())?;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let found = matcher.find(line.as_bytes()).ok().flatten();
        let Some(found) = found.filter(|_| !truncated) else {
            continue;
        };
        hits += 1;
        let room = limit.saturating_sub(content.len() + NOTE_BYTES);
        let shown = around(line, found.start(), room.min(1_000));
        let entry = format!("{number}: {shown}\n");
        if entry.len() > room {
            truncated = true;
            continue;
        }
        content.push_str(&entry);
    }
    if hits == 0 {
        content.push_str("No lines found.");
    } else if truncated {
        content.push_str("[there are more; narrow the pattern, or read the lines by number]");
    } else {
        content.pop();
    }
    let noun = if hits == 1 { "line" } else { "lines" };
    Ok(Output::self_bounded(content)
        .display(format!("Found {hits} {noun}"))
        .with("matches", hits)
        .with("truncated", truncated)
        .with("total_lines", number))
}

/// A piece of a line with the place that fits in it.
fn around(line: &str, at: usize, room: usize) -> &str {
    if line.len() <= room {
        return line;
    }
    let start = line.floor_char_boundary(at.saturating_sub(room / 4));
    let end = line.floor_char_boundary(start.saturating_add(room));
    line.get(start..end).unwrap_or_default()
}
