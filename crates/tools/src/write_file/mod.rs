//! `write_file`: a whole file, in one step.
//!
//! ```text
//!  path, content ──▶ what is there now ──▶ may it be replaced? ──▶ change
//!                    nothing, a text,       asked for, known,       in one step
//!                    something binary       no elisions
//! ```
//!
//! Whoever looks at the path sees the old file or the new one. A file that is
//! replaced keeps its mode, and its encoding too: the model never saw the mark at
//! its start and cannot mean to remove it.
//!
//! What can go wrong: the file exists and was not to be replaced, it was not read
//! or has changed since, the content stands for code it leaves out, or the sandbox
//! says no.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::output::{Limits, Redactor, bound, preview_name};
use toolgate_gate::session::LineRanges;
use toolgate_gate::tool::{Output, Preview, RunCtx, TypedTool, View, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};

use crate::blocking::blocking;
use crate::change::{
    self, After, Change, Changed, Current, Difference, LARGEST, Region, Touch, check_elision,
};
use crate::lines;
use crate::place::{fact_path, names_a_file};
use crate::placeholders::{self, Placeholders};
use crate::settings::WriteSettings;
use crate::text::{Decoded, Encoding, decode};

const DESCRIPTION: &str = "Writes a whole file of the working directory in one step and makes missing \
    directories on the way. An existing file is replaced only with overwrite = true, and only if all of \
    it was read in this conversation and has not changed since. Always send the complete content: \
    a comment that stands for code that is there now is refused.";

/// How much of a difference a person is shown.
pub(crate) const PREVIEW: Limits = Limits {
    max_bytes: 24 * 1024,
    max_lines: Some(400),
    capacity: Some(24 * 1024),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// The file, relative to the working directory, such as `src/lib.rs`.
    #[schemars(length(min = 1))]
    path: String,
    /// The complete text of the file.
    content: String,
    /// Whether a file that exists is replaced. It has to be read first.
    #[serde(default)]
    overwrite: bool,
    /// Whether a comment such as "rest unchanged" is meant as it stands, although lines go there.
    #[serde(default)]
    allow_elision: bool,
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
pub(crate) fn tool(settings: WriteSettings) -> TypedTool<WriteFile> {
    typed("write_file", DESCRIPTION, |args: WriteFile, cx| {
        write(args, Arc::new(cx))
    })
    .check(move |args| {
        names_a_file(&args.path)?;
        settings.check(&fact_path(&args.path), args.content.len())
    })
    .summary(WriteFile::summary)
    .facts(|args| Facts::writing(fact_path(&args.path)))
    .preview(preview)
    .paths(["path"])
    .category(Category::File)
    .side_effects()
    .risk(Risk::Medium)
}

/// What a call comes to before anything is written.
enum Intent {
    /// The file has this content already.
    Unchanged(Output),
    Write(Box<Writing>),
}

struct Writing {
    change: Change,
    /// The old text; nothing if it was binary.
    old: Option<String>,
    new: String,
    encoding: Encoding,
}

/// The content with the secrets of the lines that stay.
fn with_secrets<'c>(
    args: &'c WriteFile,
    old: Option<&str>,
    redactor: &Redactor,
) -> Result<(Cow<'c, str>, Option<Placeholders>), ToolError> {
    let content = Cow::Borrowed(args.content.as_str());
    let Some(old) = old.filter(|_| placeholders::are_in(&content)) else {
        return Ok((content, None));
    };
    let Some(placeholders) = Placeholders::of(redactor, old) else {
        return Ok((content, None));
    };
    let count = |text: &str| text.split_inclusive('\n').count();
    let all = Region {
        old: 0..count(old),
        new: 0..count(&content),
    };
    let path = fact_path(&args.path);
    let put_back = placeholders.put_back(redactor, &path, &content, &[all])?;
    Ok((Cow::Owned(put_back), Some(placeholders)))
}

/// The lines of a text with secrets that stay in the other one.
fn kept(placeholders: &Placeholders, old: &str, new: &str) -> Vec<u64> {
    let difference = Difference::between(old, new);
    let touched: Vec<Touch> = difference.touched().collect();
    placeholders.kept(|line| {
        touched.iter().any(|touch| match *touch {
            Touch::Lines(first, last) => (first..=last).contains(&line),
            Touch::Between(..) => false,
        })
    })
}

async fn write(args: WriteFile, cx: Arc<RunCtx>) -> Result<Output, ToolError> {
    let path = fact_path(&args.path);
    let with = Arc::clone(&cx);
    let intent = blocking(move || look(args, &with)).await?;
    let Writing {
        change,
        old,
        new,
        encoding,
    } = match intent {
        Intent::Unchanged(output) => return Ok(output),
        Intent::Write(writing) => *writing,
    };
    let bytes = change.after.as_ref().map_or(0, |after| after.bytes.len());
    let mut changed = change::make(vec![change], &cx).await?;
    let Changed {
        created,
        made_directories,
        sha256,
    } = changed.pop().unwrap_or_default();

    let difference = old.as_ref().map(|old| Difference::between(old, &new));
    let counts = difference.as_ref().map_or_else(
        || lines::said(lines::count(&new)),
        |difference| difference.counts(),
    );
    let verb = if created { "created" } else { "modified" };
    let mut display = format!("Wrote {path} ({counts})");
    if let Some(difference) = difference.filter(|_| !created) {
        display.push('\n');
        display.push_str(&difference.unified(&path, &path));
    }
    let mut output = Output::plain(format!("{verb}: {path} ({counts}, {bytes} bytes)"))
        .display(bound(&display, PREVIEW, None).text)
        .with("path", path)
        .with("changed", true)
        .with("created", created)
        .with("bytes", bytes)
        .with("encoding", encoding.name())
        .with("sha256", sha256);
    if !made_directories.is_empty() {
        let made = made_directories.iter();
        let made: Vec<String> = made
            .map(|directory| crate::place::shown(directory))
            .collect();
        output = output.with("made_directories", made);
    }
    Ok(output)
}

/// Whether the file may be written, and with which bytes.
fn look(mut args: WriteFile, cx: &RunCtx) -> Result<Intent, ToolError> {
    let path = fact_path(&args.path);
    let current = Current::look(cx.sandbox(), &args.path)?;
    let decoded = current.as_ref().and_then(Current::decoded);
    if let Some(current) = &current
        && !args.overwrite
    {
        let size = decoded.as_ref().map_or_else(
            || format!("{} bytes that are no text", current.bytes.len()),
            |(text, _)| lines::said(lines::count(text)),
        );
        return Err(ToolError::new(
            ErrorKind::AlreadyExists,
            format!(
                "File {path} already exists. Set overwrite=true to replace it. It has {size}: read it first, or use another name."
            ),
        ));
    }
    let (old, encoding) = match decoded {
        Some((text, encoding)) => (Some(text.into_owned()), encoding),
        None => (None, Encoding::Utf8),
    };
    let (content, placeholders) = with_secrets(&args, old.as_deref(), cx.redactor())?;
    args.content = content.into_owned();
    let replaced = old.as_deref().filter(|_| !args.allow_elision);
    if let Some(old) = replaced {
        check_elision(&path, old, &Difference::between(old, &args.content))?;
    }
    let bytes = encoding.encode(args.content.clone());
    let mut after = After::content(bytes.map_err(|error| error.in_file(&path))?);
    let mut stay = Vec::new();
    if let (Some(placeholders), Some(old)) = (&placeholders, &old) {
        stay = kept(placeholders, old, &args.content);
        // The model still does not know what these lines say.
        let mut known = LineRanges::all();
        let hidden = Placeholders::of(cx.redactor(), &args.content);
        let hidden = hidden.map_or_else(Vec::new, |hidden| hidden.kept(|_| false));
        hidden.iter().for_each(|line| known.remove(*line, *line));
        after.known = Some(known);
    }
    if let Some(current) = &current {
        if *current.bytes == after.bytes {
            let now = cx.clock().now_ms();
            let sha256 = &current.sha256;
            cx.session()
                .reads(|log| log.read(&current.place, sha256, LineRanges::all(), now));
            return Ok(Intent::Unchanged(
                Output::plain(format!("unchanged: {path} has this very content already"))
                    .display(format!("{path} is unchanged"))
                    .with("path", path)
                    .with("changed", false)
                    .with("sha256", sha256.as_str()),
            ));
        }
        current.check_read(&path, cx)?;
        current.check_all_seen(&path, old.as_deref(), &stay, cx)?;
    }
    Ok(Intent::Write(Box::new(Writing {
        // A file that is not there yet differs from nothing.
        old: if current.is_some() {
            old
        } else {
            Some(String::new())
        },
        change: Change {
            path: args.path,
            before: current,
            after: Some(after),
        },
        new: args.content,
        encoding,
    })))
}

fn preview(args: &WriteFile, view: &View) -> Result<Preview, ToolError> {
    let seen = view.read(&args.path, LARGEST)?;
    let size = seen.content.as_ref().map(Vec::len);
    let old = seen.content.and_then(|bytes| decode(bytes, true));
    let path = fact_path(&args.path);
    let text = old.as_ref().map(|decoded| decoded.text.as_str());
    let (content, _) = with_secrets(args, text, view.redactor())?;
    if let Some(Decoded { encoding, .. }) = &old {
        let encoded = encoding.encode(content.clone().into_owned());
        encoded.map_err(|error| error.in_file(&path))?;
    }
    let old = old.map(|decoded| decoded.text);
    if let Some(old) = old.as_deref().filter(|_| !args.allow_elision) {
        check_elision(&path, old, &Difference::between(old, &content))?;
    }
    view.check_content(&args.path, content.as_bytes())?;
    let lines = lines::said(lines::count(&content));
    let name = preview_name(&path);
    let mut text = match (size, &old) {
        (None, _) => format!("new file {name}, {lines}\n{content}"),
        (Some(_), Some(old)) if *old == content => {
            format!("{name} has this very content already\n")
        }
        (Some(_), Some(old)) => Difference::between(old, &content).unified(&path, &path),
        (Some(size), None) => format!(
            "{name}: {size} bytes are replaced by {lines}\n{}",
            args.content
        ),
    };
    if size.is_some() && !args.overwrite {
        text.insert_str(
            0,
            "the file exists and overwrite is not set: as it is, this call will fail\n",
        );
    }
    Ok(Preview::bounded(
        &text,
        PREVIEW,
        &["content"],
        vec![seen.digest],
    ))
}
