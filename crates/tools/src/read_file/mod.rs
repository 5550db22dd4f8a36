//! `read_file`: the exact text of a file, or of some of its lines.
//!
//! ```text
//!  path, lines ──▶ sandbox.open_read ──▶ first 8 KiB ─┬─▶ text ──▶ whole, or the lines asked for
//!                                                  └─▶ binary ──▶ base64, within the limit; an image
//!                                                                 beside it
//! ```
//!
//! What was shown is noted in the conversation, line by line, so that files can
//! be changed only as the model knows them. Lines in which something was redacted
//! are not noted, and neither are those that did not fit into the result.
//!
//! What can go wrong: nothing is there, it is a directory, it is too large to be
//! returned whole or to be searched for lines, or it is binary and lines were wanted.

mod binary;
mod open;
mod shown;

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toolgate_gate::place;
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, RunCtx, Spelling, TypedTool, hex, path_error, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};
use toolgate_sandbox::paths::ReadHandle;

use crate::blocking::{blocking, go_on};
use crate::change::LARGEST;
use crate::lines::{LineRange, count, newlines, said, select};
use crate::place::fact_path;
use crate::secrets::Secrets;
use crate::settings::ReadSettings;
use crate::text::{Decoded, SNIFF_BYTES, decode, looks_like_text};

/// How much of a long file is in memory at once while it is hashed.
const HASHED_AT_ONCE: u64 = 1024 * 1024;

const DESCRIPTION: &str = "Reads a file of the working directory and returns its exact text. \
    Give start_line and end_line to read a part of a long file; without them a file that is too \
    long is refused. Binary files come as base64, and \
    PNG, JPEG, GIF and WebP images are shown. A file has to be read before it can be overwritten.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    /// The file, relative to the working directory, such as `src/lib.rs`.
    #[schemars(length(min = 1))]
    path: String,
    /// The first line to return, counted from 1.
    #[serde(default)]
    start_line: Option<NonZeroU64>,
    /// The last line to return, included. Past the end means up to the end.
    #[serde(default)]
    end_line: Option<NonZeroU64>,
    /// How many lines to return from start_line on, instead of end_line.
    #[serde(default)]
    limit: Option<NonZeroU64>,
    /// Return the first so many lines, instead of the three above.
    #[serde(default)]
    lines: Option<NonZeroU64>,
    /// Put its number and a tab in front of each line.
    #[serde(default)]
    line_numbers: bool,
    /// For a binary file: the byte to go on from, counted from 0, as a cut result says it.
    #[serde(default)]
    from_byte: Option<u64>,
}

impl ReadFile {
    /// The lines that are wanted, if not all.
    fn range(&self) -> Result<Option<LineRange>, ToolError> {
        let refuse = |what: &str| Err(ToolError::bad_args(what));
        let lines = self.start_line.or(self.end_line).or(self.limit);
        if self.from_byte.is_some() && lines.or(self.lines).is_some() {
            return refuse(
                "`from_byte` is for binary files and lines are for text; give one of them",
            );
        }
        if let Some(lines) = self.lines {
            if self.start_line.or(self.end_line).or(self.limit).is_some() {
                return refuse(
                    "`lines` means the first lines of the file and stands alone; use start_line and end_line for others",
                );
            }
            return LineRange::new(None, Some(lines));
        }
        let Some(limit) = self.limit else {
            return LineRange::new(self.start_line, self.end_line);
        };
        if self.end_line.is_some() {
            return refuse("`limit` and `end_line` both say where to stop; give one of them");
        }
        let first = self.start_line.unwrap_or(NonZeroU64::MIN);
        LineRange::new(Some(first), Some(first.saturating_add(limit.get() - 1)))
    }

    fn summary(&self) -> String {
        let lines = match self.range() {
            Ok(Some(LineRange {
                first,
                last: Some(last),
            })) => format!(" lines {first}-{last}"),
            Ok(Some(LineRange { first, last: None })) => format!(" from line {first}"),
            _ => String::new(),
        };
        format!("Read {}{lines}", self.path)
    }
}

/// The tool.
pub(crate) fn tool(settings: ReadSettings) -> TypedTool<ReadFile> {
    typed(
        "read_file",
        DESCRIPTION,
        move |args: ReadFile, cx| async move {
            if is_long(&args, &cx) {
                return blocking(move || read(&args, &cx, settings)).await;
            }
            // On this thread: a small regular file, and going to another thread and back takes
            // half as long as the whole call.
            read(&args, &cx, settings)
        },
    )
    .check(|args| args.range().map(drop))
    .summary(ReadFile::summary)
    .facts(|args| Facts::reading(fact_path(&args.path)))
    .paths(["path"])
    .category(Category::File)
    .risk(Risk::Low)
    .spellings([
        Spelling::same("startLine", "start_line"),
        Spelling::same("endLine", "end_line"),
        Spelling::same("offset", "start_line"),
    ])
}

/// A file on its way to the model.
struct Reading<'a> {
    args: &'a ReadFile,
    cx: &'a RunCtx,
    settings: ReadSettings,
    handle: ReadHandle,
    /// What was read so far.
    bytes: Vec<u8>,
    /// Whether that is all of it.
    whole: bool,
}

/// A larger file is read and hashed on a thread that may wait.
const SMALL: u64 = 64 * 1024;

/// Whether reading and hashing a file takes its time.
fn is_long(args: &ReadFile, cx: &RunCtx) -> bool {
    let opened = cx.sandbox().open_read(&args.path);
    opened.is_ok_and(|handle| handle.stat.len > SMALL)
}

fn read(args: &ReadFile, cx: &RunCtx, settings: ReadSettings) -> Result<Output, ToolError> {
    let range = args.range()?;
    let mut reading = Reading::open(args, cx, settings)?;
    let read = if !reading.is_text()? {
        reading.binary(range)
    } else if args.from_byte.is_some() {
        Err(reading.no_bytes())
    } else if let Some(range) = range {
        reading.part(range)
    } else {
        let limit = reading.whole_limit();
        match reading.all(limit)? {
            Some(read) => Ok(read),
            None => {
                // Rare enough to read it twice: the first bytes are text and later ones are not.
                let mut again = Reading::open(args, cx, settings)?;
                again.up_to(SNIFF_BYTES)?;
                again.binary(None)
            }
        }
    };
    read.map(|read| read.note(cx))
}

/// A whole text of at most so many bytes, for whoever shows it among others.
pub(crate) fn read_whole(
    path: &str,
    cx: &RunCtx,
    settings: ReadSettings,
    room: usize,
) -> Result<Read, ToolError> {
    let args = ReadFile {
        path: path.to_owned(),
        start_line: None,
        end_line: None,
        limit: None,
        lines: None,
        line_numbers: false,
        from_byte: None,
    };
    let mut reading = Reading::open(&args, cx, settings)?;
    let binary = |bytes: u64| {
        ToolError::new(
            ErrorKind::Binary,
            format!(
                "`{path}` is binary ({bytes} bytes); read it alone with read_file to get it as base64."
            ),
        )
    };
    let bytes = reading.handle.stat.len;
    if !reading.is_text()? {
        return Err(binary(bytes));
    }
    let limit = reading.whole_limit().min(room as u64);
    match reading.all(limit)? {
        Some(read) if read.output.content.len() <= room => Ok(read),
        // Markers in the place of secrets, or another encoding, made it longer.
        Some(read) => Err(ToolError::new(
            ErrorKind::TooLarge,
            format!(
                "`{path}` has {} bytes as text, and there is room for {room}.",
                read.output.content.len()
            ),
        )),
        None => Err(binary(bytes)),
    }
}

/// What was read, and what the conversation then knows.
pub(crate) struct Read {
    pub(crate) output: Output,
    known: Option<Known>,
}

struct Known {
    place: String,
    sha256: String,
    lines: LineRanges,
}

impl Read {
    /// Notes what was shown, once it is clear that it is.
    pub(crate) fn note(self, cx: &RunCtx) -> Output {
        if let Some(known) = self.known {
            let now = cx.clock().now_ms();
            cx.session()
                .reads(|log| log.read(&known.place, &known.sha256, known.lines, now));
        }
        self.output
    }
}

impl<'a> Reading<'a> {
    fn open(args: &'a ReadFile, cx: &'a RunCtx, settings: ReadSettings) -> Result<Self, ToolError> {
        Ok(Self {
            handle: open::open(&args.path, cx)?,
            args,
            cx,
            settings,
            bytes: Vec::new(),
            whole: false,
        })
    }

    /// Whether it is text, as far as its first bytes show it.
    fn is_text(&mut self) -> Result<bool, ToolError> {
        self.up_to(SNIFF_BYTES)?;
        Ok(looks_like_text(&self.bytes, self.whole))
    }

    /// The most bytes that are returned whole.
    fn whole_limit(&self) -> u64 {
        let capacity = self.cx.limits().available_capacity as u64;
        self.settings.max_file_read_bytes.min(capacity)
    }

    /// Reads on until there are `limit` bytes, or all.
    fn up_to(&mut self, limit: u64) -> Result<(), ToolError> {
        let more = limit.saturating_sub(self.bytes.len() as u64);
        if self.whole {
            return Ok(());
        }
        let (bytes, whole) = self
            .handle
            .read_up_to(more)
            .map_err(|error| path_error(&error))?;
        self.whole = whole;
        if self.bytes.is_empty() {
            self.bytes = bytes;
        } else {
            self.bytes.extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// The whole text, if it may be returned whole. Nothing if its first bytes are text and
    /// later ones are not.
    fn all(mut self, limit: u64) -> Result<Option<Read>, ToolError> {
        self.up_to(limit.max(SNIFF_BYTES))?;
        if !self.whole || self.bytes.len() as u64 > limit {
            return Err(self.too_large(limit)?);
        }
        let sha256 = hex(&Sha256::digest(&self.bytes));
        match decode(std::mem::take(&mut self.bytes), true) {
            Some(decoded) => self.text(decoded, None, Some(sha256)).map(Some),
            None => Ok(None),
        }
    }

    /// Some lines of the text.
    fn part(mut self, range: LineRange) -> Result<Read, ToolError> {
        let limit = self.settings.max_scan_bytes;
        self.up_to(limit.max(SNIFF_BYTES))?;
        let (mut hash, read) = (Sha256::new(), self.bytes.len() as u64);
        hash.update(&self.bytes);
        let Some(decoded) = decode(std::mem::take(&mut self.bytes), self.whole) else {
            return Err(self.no_lines());
        };
        let reached = newlines(&decoded.text);
        if !self.whole && range.last.is_none_or(|last| last > reached) {
            return Err(ToolError::new(
                ErrorKind::TooLarge,
                format!(
                    "`{}` has {} bytes, of which the first {limit} are searched for lines; they hold {reached} whole lines. \
                     Narrow the range: end_line can be at most {reached}. Use grep to find what lies further down.",
                    self.args.path, self.handle.stat.len
                ),
            ));
        }
        let sha256 = self.digest(hash, read)?;
        self.text(decoded, Some(range), sha256)
    }

    /// SHA-256 of the whole file, of which so many bytes went into the hash so far. Nothing where
    /// it is larger than any file that can be changed.
    fn digest(&mut self, mut hash: Sha256, read: u64) -> Result<Option<String>, ToolError> {
        if self.handle.stat.len > LARGEST {
            return Ok(None);
        }
        let (mut total, mut ended) = (read, self.whole);
        while !ended {
            go_on(self.cx.cancel())?;
            let piece = self.handle.read_up_to(HASHED_AT_ONCE);
            let (piece, last) = piece.map_err(|error| path_error(&error))?;
            total += piece.len() as u64;
            if total > LARGEST {
                return Ok(None);
            }
            hash.update(&piece);
            ended = last;
        }
        Ok(Some(hex(&hash.finalize())))
    }

    fn text(
        &self,
        decoded: Decoded,
        range: Option<LineRange>,
        sha256: Option<String>,
    ) -> Result<Read, ToolError> {
        let Decoded { text, encoding } = decoded;
        let every = LineRange {
            first: 1,
            last: None,
        };
        let total = count(&text);
        let selection = select(&text, range.unwrap_or(every)).ok_or_else(|| {
            let first = range.map_or(1, |range| range.first);
            ToolError::bad_args(format!(
                "start_line {first} is past the end: `{}` has {}",
                self.args.path,
                said(total)
            ))
        })?;
        let secrets = Secrets::find(self.cx.redactor(), &text);
        let shown = shown::Shown::new(&text, selection, &secrets, self.args.line_numbers);
        let path = fact_path(&self.args.path);
        let lines = selection.count();
        let display = match range {
            Some(_) if self.whole => format!(
                "Read {path} (lines {}-{} of {total})",
                selection.first, selection.last
            ),
            Some(_) => format!("Read {path} (lines {}-{})", selection.first, selection.last),
            None => format!("Read {path} ({})", said(lines)),
        };
        let mut metadata = vec![
            ("path", path.into()),
            ("lines", lines.into()),
            ("encoding", encoding.name().into()),
        ];
        if range.is_some() {
            metadata.push(("start_line", selection.first.into()));
            metadata.push(("end_line", selection.last.into()));
        }
        if self.whole {
            metadata.push(("total_lines", total.into()));
        }
        if shown.secrets > 0 {
            metadata.push(("redacted", shown.secrets.into()));
        }
        let known = sha256.map(|sha256| Known {
            place: place(&self.handle),
            lines: shown.seen(self.cx.limits()),
            sha256,
        });
        match &known {
            Some(known) => metadata.push(("sha256", known.sha256.as_str().into())),
            None => metadata.push(("counts_as_read", false.into())),
        }
        let output = Output::exact(shown.content).display(display);
        let output = metadata
            .into_iter()
            .fold(output, |output, (key, value): (&str, serde_json::Value)| {
                output.with(key, value)
            });
        Ok(Read { output, known })
    }

    /// Why a text is not returned whole: how much there is, and how to ask for less.
    fn too_large(&mut self, limit: u64) -> Result<ToolError, ToolError> {
        self.up_to(self.settings.max_scan_bytes)?;
        let path = &self.args.path;
        let bytes = self.handle.stat.len.max(self.bytes.len() as u64);
        let seen = self.bytes.len() as u64;
        let decoded = decode(std::mem::take(&mut self.bytes), self.whole);
        let lines = decoded.map(|decoded| {
            if self.whole {
                count(&decoded.text)
            } else {
                newlines(&decoded.text)
            }
        });
        // As many lines as fit on average, with some room to spare.
        let fitting = lines
            .and_then(|lines| (lines * (limit * 3 / 4)).checked_div(seen))
            .filter(|fitting| *fitting > 0);
        let size = match lines {
            Some(lines) if self.whole => format!("{bytes} bytes in {}", said(lines)),
            Some(lines) if lines > 0 => format!("{bytes} bytes and more than {}", said(lines)),
            _ => format!("{bytes} bytes"),
        };
        let next = match fitting {
            Some(fitting) => format!(
                "Ask for a part with start_line and end_line, such as start_line 1 and end_line {fitting}."
            ),
            None => {
                "Its lines are too long for that; use grep to find the place you need.".to_owned()
            }
        };
        Ok(ToolError::new(
            ErrorKind::TooLarge,
            format!("`{path}` has {size}, and at most {limit} bytes are returned at once. {next}"),
        ))
    }

    fn no_bytes(&self) -> ToolError {
        ToolError::bad_args(format!(
            "`{}` is text, and from_byte is for binary files. Use start_line and end_line.",
            self.args.path
        ))
    }

    fn no_lines(&self) -> ToolError {
        ToolError::bad_args(format!(
            "`{}` is binary, and line ranges are for text. Leave them out to get it as base64.",
            self.args.path
        ))
    }
}
