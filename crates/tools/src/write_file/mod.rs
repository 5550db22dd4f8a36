//! `write_file`: a whole file, in one step.
//!
//! ```text
//!  path, content ──▶ what is there now ──▶ may it be replaced? ──▶ stage ──▶ is it still the same? ──▶ commit
//!                    nothing, a text,       asked for, known,       beside      read again
//!                    something binary       no elisions             its place
//! ```
//!
//! Whoever looks at the path sees the old file or the new one. A file that is
//! replaced keeps its mode, and its encoding too: the model never saw the mark at
//! its start and cannot mean to remove it.
//!
//! What can go wrong: the file exists and was not to be replaced, it was not read
//! or has changed since, the content stands for code it leaves out, or the wall
//! says no.

mod difference;
mod elision;

use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toolgate_gate::output::{Limits, bound};
use toolgate_gate::place;
use toolgate_gate::session::{LineRanges, Staleness};
use toolgate_gate::tool::{Output, Preview, RunCtx, TypedTool, View, hex, path_error, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};
use toolgate_sandbox::paths::{Committed, PathError, PathWall, StageOptions};

use crate::blocking::{blocking, go_on};
use crate::lines;
use crate::place::fact_path;
use crate::text::{Decoded, Encoding, decode};
use difference::Difference;

const DESCRIPTION: &str = "Writes a whole file of the working folder in one step and makes missing \
    folders on the way. An existing file is replaced only with overwrite = true, and only if all of \
    it was read in this conversation and has not changed since. Always send the complete content: \
    a comment that stands for code left out is refused.";

/// A larger file cannot be replaced by this tool: nobody has read that much.
const LARGEST: u64 = 64 * 1024 * 1024;

/// How much of a difference a person is shown.
const PREVIEW: Limits = Limits {
    max_bytes: 24 * 1024,
    max_lines: Some(400),
    capacity: Some(24 * 1024),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// The file, relative to the working folder, such as `src/lib.rs`.
    #[schemars(length(min = 1))]
    path: String,
    /// The complete text of the file.
    content: String,
    /// Whether a file that exists is replaced. It has to be read first.
    #[serde(default)]
    overwrite: bool,
}

impl WriteFile {
    fn summary(&self) -> String {
        let lines = lines::said(lines::count(&self.content));
        let over = if self.overwrite {
            ", replacing what is there"
        } else {
            ""
        };
        format!("Write {} ({lines}{over})", self.path)
    }
}

/// The tool.
pub(crate) fn tool() -> TypedTool<WriteFile> {
    typed("write_file", DESCRIPTION, |args: WriteFile, cx| {
        blocking(move || write(&args, &cx))
    })
    .summary(WriteFile::summary)
    .facts(|args| Facts::writing(fact_path(&args.path)))
    .preview(preview)
    .category(Category::File)
    .side_effects()
    .risk(Risk::Medium)
}

/// The file that is there.
struct Current {
    /// Under which name the conversation knows it.
    place: String,
    bytes: Vec<u8>,
    sha256: String,
    /// Its text, unless it is binary.
    decoded: Option<Decoded>,
}

impl Current {
    fn of(place: String, bytes: Vec<u8>) -> Self {
        Self {
            place,
            sha256: hex(&Sha256::digest(&bytes)),
            decoded: decode(bytes.clone(), true),
            bytes,
        }
    }

    fn look(wall: &PathWall, path: &str) -> Result<Option<Self>, ToolError> {
        let mut handle = match wall.open_read(path) {
            Ok(handle) => handle,
            Err(PathError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(path_error(&error)),
        };
        let bytes = handle
            .read_all(LARGEST)
            .map_err(|error| path_error(&error))?;
        Ok(Some(Self::of(place(&handle), bytes)))
    }

    fn text(&self) -> Option<&str> {
        self.decoded.as_ref().map(|decoded| decoded.text.as_str())
    }

    fn encoding(&self) -> Encoding {
        self.decoded
            .as_ref()
            .map_or(Encoding::Utf8, |decoded| decoded.encoding)
    }

    /// Whether the conversation knows all of it as it is.
    fn check_known(&self, path: &str, cx: &RunCtx) -> Result<(), ToolError> {
        if cx.session().staleness() == Staleness::NotChecked {
            return Ok(());
        }
        let unread = cx.session().reads(|log| {
            log.check(&self.place, path, &self.sha256)?;
            let total = self.text().map_or(0, lines::count);
            let covered = log
                .seen(&self.place)
                .is_some_and(|seen| total == 0 || seen.lines.covers(1, total));
            Ok::<_, ToolError>((!covered).then_some(total))
        })?;
        match unread {
            None => Ok(()),
            Some(total) => Err(ToolError::new(
                ErrorKind::StaleFile,
                format!(
                    "{path}: not all of its {total} lines were shown in this conversation, and they would be lost. \
                     Read the rest with read_file; lines that hold secrets are never shown, and a file with such lines cannot be replaced as a whole."
                ),
            )),
        }
    }
}

fn write(args: &WriteFile, cx: &RunCtx) -> Result<Output, ToolError> {
    let path = fact_path(&args.path);
    let current = Current::look(cx.wall(), &args.path)?;
    if let Some(current) = &current
        && !args.overwrite
    {
        let lines = current.text().map(lines::count);
        let size = lines.map_or_else(
            || format!("{} bytes, binary", current.bytes.len()),
            lines::said,
        );
        return Err(ToolError::new(
            ErrorKind::AlreadyExists,
            format!(
                "`{path}` already exists ({size}). Read it and set overwrite to true to replace it, or use another name."
            ),
        ));
    }
    elision::check(&args.content, current.as_ref().and_then(Current::text))?;
    let encoding = current.as_ref().map_or(Encoding::Utf8, Current::encoding);
    let bytes = encoding.encode(&args.content);
    let sha256 = hex(&Sha256::digest(&bytes));
    if let Some(current) = &current {
        if current.sha256 == sha256 {
            let now = cx.clock().now_ms();
            cx.session()
                .reads(|log| log.read(&current.place, &sha256, LineRanges::all(), now));
            return Ok(
                Output::plain(format!("unchanged: {path} has this very content already"))
                    .display(format!("{path} is unchanged"))
                    .with("path", path)
                    .with("changed", false)
                    .with("sha256", sha256),
            );
        }
        current.check_known(&path, cx)?;
    }
    let committed = commit(args, cx, current.as_ref(), &bytes)?;
    let (now, place) = (cx.clock().now_ms(), place_of(&committed));
    cx.session().reads(|log| log.wrote(&place, &sha256, now));

    let old = current.as_ref().map_or(Some(""), Current::text);
    let change = old.and_then(|old| Difference::between(old, &args.content));
    let change = change.map_or_else(
        || lines::said(lines::count(&args.content)),
        |change| format!("+{} -{}", change.added, change.removed),
    );
    let verb = if committed.created {
        "created"
    } else {
        "modified"
    };
    let mut output = Output::plain(format!("{verb}: {path} ({change}, {} bytes)", bytes.len()))
        .display(format!("Wrote {path} ({change})"))
        .with("path", path)
        .with("changed", true)
        .with("created", committed.created)
        .with("bytes", bytes.len())
        .with("encoding", encoding.name())
        .with("sha256", sha256);
    if !committed.made_folders.is_empty() {
        let made = committed.made_folders.iter();
        let made: Vec<String> = made.map(|folder| crate::place::shown(folder)).collect();
        output = output.with("made_folders", made);
    }
    Ok(output)
}

/// Puts the bytes in their place, if what is there is still what was looked at.
fn commit(
    args: &WriteFile,
    cx: &RunCtx,
    current: Option<&Current>,
    bytes: &[u8],
) -> Result<Committed, ToolError> {
    let nonce = cx
        .entropy()
        .bits()
        .ok_or_else(|| ToolError::failed("no random name for the new file; nothing was written"))?;
    let failed = |error: PathError| ToolError {
        retryable: error.is_retryable(),
        ..path_error(&error)
    };
    let options = StageOptions {
        overwrite: args.overwrite,
        create_parents: true,
        nonce,
    };
    let mut staged = cx.wall().stage(&args.path, options).map_err(failed)?;
    staged.write_all(bytes).map_err(failed)?;
    staged.sync().map_err(failed)?;
    let expected = current.map(|current| &current.sha256);
    let now = Current::look(cx.wall(), &args.path)?;
    if now.as_ref().map(|now| &now.sha256) != expected {
        return Err(ToolError::new(
            ErrorKind::StaleFile,
            format!(
                "{}: somebody else changed the file while it was written. It was left as it is now; read it and try again.",
                args.path
            ),
        ));
    }
    // The last moment at which nothing has happened yet.
    go_on(cx.cancel())?;
    staged.commit().map_err(failed)
}

/// The name under which a conversation remembers a written file, as [`place`] makes it.
fn place_of(committed: &Committed) -> String {
    format!("{}:{}", committed.root, committed.path.to_string_lossy())
}

fn preview(args: &WriteFile, view: &View<'_>) -> Result<Preview, ToolError> {
    let seen = view.read(&args.path, LARGEST)?;
    let current = seen.content.map(|bytes| Current::of(String::new(), bytes));
    let old = match &current {
        None => Some(""),
        Some(current) => current.text(),
    };
    elision::check(&args.content, current.as_ref().and_then(Current::text))?;
    let path = fact_path(&args.path);
    let lines = lines::said(lines::count(&args.content));
    let difference = old.and_then(|old| Difference::between(old, &args.content));
    let mut text = match (&current, difference) {
        (None, _) => format!("new file {path}, {lines}\n{}", args.content),
        (Some(current), _) if current.text() == Some(args.content.as_str()) => {
            format!("{path} has this very content already\n")
        }
        (Some(_), Some(difference)) => difference.unified(&path),
        (Some(current), None) => format!(
            "{path}: {} bytes are replaced by {lines}\n{}",
            current.bytes.len(),
            args.content
        ),
    };
    if current.is_some() && !args.overwrite {
        text.insert_str(
            0,
            "the file exists and overwrite is not set: as it is, this call will fail\n",
        );
    }
    Ok(Preview {
        text: Some(bound(&text, PREVIEW, None).text),
        rests_on: vec![seen.digest],
    })
}
