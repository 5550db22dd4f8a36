//! `read_many_files`: several files under their names, within one budget.
//!
//! ```text
//!  paths ──▶ each file once, in order ──▶ fits into what is left? ──▶ === path ===, text
//!                                          does not, or cannot be read ──▶ === path ===, Error: why
//! ```
//!
//! What can go wrong with one file is told under its name and leaves the others
//! alone, also where a rule or the sandbox denies it: such a file is not even opened. Only if no file could be read does the call itself fail, like the first
//! of them. What was shown counts as read, line by line, as with `read_file`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, Facts, Risk, ToolError};

use crate::blocking::{blocking, go_on};
use crate::lines::said;
use crate::place::{fact_path, one_line};
use crate::read_file::read_whole;
use crate::settings::ReadSettings;

const DESCRIPTION: &str = "Reads several text files of the working directory at once and returns each \
    under a line with its path. A file that cannot be read, or does not fit into what is left of the \
    result, is told of in its place and does not stop the others. What is shown counts as read.";

/// What a file that is not shown takes at least: its name and why. Kept free for those to come.
const RESERVED: usize = 256;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadManyFiles {
    /// The files, relative to the working directory, in the order in which they are wanted.
    #[schemars(length(min = 1, max = 200))]
    paths: Vec<String>,
    /// Those that may not be read, and why.
    #[serde(skip)]
    denied: Vec<(String, ToolError)>,
}

impl ReadManyFiles {
    /// Every file once.
    fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for path in self.paths.iter().map(|path| fact_path(path)) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }

    /// Why a file may not be read.
    fn denial(&self, path: &str) -> Option<&ToolError> {
        let mut denied = self.denied.iter();
        denied.find_map(|(other, error)| (other == path).then_some(error))
    }

    /// Every file that may be read, once.
    fn readable(&self) -> Vec<String> {
        let mut files = self.files();
        files.retain(|path| self.denial(path).is_none());
        files
    }

    fn summary(&self) -> String {
        let files = self.readable();
        let denied: Vec<&str> = self.denied.iter().map(|(path, _)| path.as_str()).collect();
        let without = if denied.is_empty() {
            String::new()
        } else {
            format!(" (not read, as denied: {})", denied.join(", "))
        };
        format!("Read {} files: {}{without}", files.len(), files.join(", "))
    }
}

/// The tool.
pub(crate) fn tool(settings: ReadSettings) -> TypedTool<ReadManyFiles> {
    typed(
        "read_many_files",
        DESCRIPTION,
        move |args: ReadManyFiles, cx| blocking(move || read(&args, &cx, settings)),
    )
    .check(|args| match args.paths.iter().position(String::is_empty) {
        Some(at) => Err(ToolError::bad_args(format!("path {} is empty", at + 1))),
        None => Ok(()),
    })
    .summary(ReadManyFiles::summary)
    .facts(|args| Facts {
        reads: args.readable(),
        ..Facts::none()
    })
    .leave_out(|args, denied| args.denied.extend_from_slice(denied))
    .paths(["paths"])
    .category(Category::File)
    .risk(Risk::Low)
}

fn read(args: &ReadManyFiles, cx: &RunCtx, settings: ReadSettings) -> Result<Output, ToolError> {
    let files = args.files();
    let budget = cx.limits().effective();
    let mut content = String::new();
    let mut told = Vec::with_capacity(files.len());
    let mut first_error = None;
    let mut shown = 0_usize;
    for (at, path) in files.iter().enumerate() {
        go_on(cx.cancel())?;
        let gap = if at == 0 { "" } else { "\n" };
        let header = format!("{gap}=== {} ===\n", one_line(path));
        let still_to_come = (files.len() - at - 1) * RESERVED.min(budget / files.len());
        let room = budget
            .saturating_sub(content.len() + header.len() + 1)
            .saturating_sub(still_to_come);
        let read = match args.denial(path) {
            Some(denied) => Err(denied.clone()),
            None => read_whole(path, cx, settings, room),
        };
        match read {
            Ok(read) => {
                let output = read.note(cx);
                content.push_str(&header);
                content.push_str(&output.content);
                if !output.content.ends_with('\n') {
                    content.push('\n');
                }
                let lines = output
                    .metadata
                    .get("lines")
                    .and_then(serde_json::Value::as_u64);
                told.push(
                    json!({"path": path, "lines": lines, "sha256": output.metadata.get("sha256")}),
                );
                shown += 1;
            }
            Err(error) => {
                let line = format!("{header}Error: {}\n", one_line(&error.message));
                let left = budget.saturating_sub(content.len());
                content.push_str(
                    line.get(..line.floor_char_boundary(left))
                        .unwrap_or_default(),
                );
                told.push(json!({"path": path, "error": error.kind.as_str()}));
                first_error.get_or_insert(error);
            }
        }
    }
    let lines: u64 = told.iter().filter_map(|file| file["lines"].as_u64()).sum();
    let display = format!("Read {shown} of {} files ({})", files.len(), said(lines));
    // It was kept within the limits, and what files hold is not touched.
    let mut output = Output::self_bounded(content)
        .display(display)
        .with("files", told)
        .with("shown", shown);
    if shown == 0 {
        output.error = first_error;
    }
    Ok(output)
}
