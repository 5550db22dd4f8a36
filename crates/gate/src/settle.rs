//! From what a tool made to the one result everybody sees.
//!
//! ```text
//! Output | ToolError ──▶ middleware.after ──▶ sanitize ──▶ redact ──▶ blocks ──▶ bound (rest kept under a handle) ──▶ ToolResult
//! ```

use std::time::Duration;

use toolgate_model::{
    CallId, ContentBlock, ErrorKind, Metadata, PlanRecord, Status, ToolError, ToolResult,
};

use crate::middleware::{Chain, Ended};
use crate::output::{
    BlockCleaner, CleanBlocks, Limits, Redactor, approval_text, bound, error_text, sanitize,
};
use crate::session::Session;
use crate::tool::{Output, OutputLimits, Text};

/// The user sees at most so many bytes of what a tool did not describe itself.
const DISPLAY_BYTES: usize = 2_000;

/// More bytes of metadata than this are left out as a whole.
const METADATA_BYTES: usize = 64 * 1024;

/// What a call came to, before anybody but the gate has seen it.
pub(crate) struct Unsettled<'a> {
    pub(crate) call_id: CallId,
    pub(crate) tool: String,
    pub(crate) plan: Option<&'a PlanRecord>,
    pub(crate) outcome: Outcome,
    /// How long the tool ran; nothing if it never began.
    pub(crate) ran_for: Option<Duration>,
    pub(crate) still_running: bool,
    /// Why a yes is not remembered although the user wanted that.
    pub(crate) not_remembered: Option<String>,
}

pub(crate) enum Outcome {
    /// The tool ran to its end.
    Ran(Result<Output, ToolError>),
    /// The pipeline ended it; this is what it had so far.
    CutShort(Output, ToolError),
    /// The pipeline ended it, or it never began. The words are the pipeline's, not the tool's.
    Stopped(ToolError),
}

impl Outcome {
    /// The kind of its error, if there is one.
    pub(crate) fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Ran(Ok(output)) => output.error.as_ref().map(|error| error.kind),
            Self::Ran(Err(error)) | Self::CutShort(_, error) | Self::Stopped(error) => {
                Some(error.kind)
            }
        }
    }
}

/// Whether an error is a failure of the tool, which is told with its name, however early it was
/// found. What was denied or cancelled did not fail, and what the pipeline says is its own.
fn is_of_the_tool(kind: ErrorKind, ran: bool) -> bool {
    use ErrorKind as Kind;
    match kind {
        Kind::BadArgs
        | Kind::StaleFile
        | Kind::NotFound
        | Kind::AlreadyExists
        | Kind::NotAFile
        | Kind::NotADirectory
        | Kind::Permission
        | Kind::TooLarge
        | Kind::Binary
        | Kind::TargetNotFound
        | Kind::TargetAmbiguous
        | Kind::PatchFailed
        | Kind::ExitStatus
        | Kind::Network
        | Kind::HttpStatus
        | Kind::Failed => true,
        other => ran && other.status() == Status::Error,
    }
}

/// The name of a tool for users and logs. Names of tools are plain; an unknown one is
/// whatever the model wrote.
pub(crate) fn shown_name(name: String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.len() <= 64 && name.bytes().all(plain) {
        name
    } else {
        approval_text(&name)
    }
}

/// Makes results fit to be seen.
pub(crate) struct Settler<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) redactor: &'a Redactor,
    pub(crate) limits: OutputLimits,
}

impl Settler<'_> {
    pub(crate) async fn settle(&self, session: &Session, unsettled: Unsettled<'_>) -> ToolResult {
        let Unsettled {
            call_id,
            tool,
            plan,
            outcome,
            ran_for,
            still_running,
            not_remembered,
        } = unsettled;
        let (mut result, text) = self.raw(call_id, shown_name(tool), outcome);
        let millis = ran_for.unwrap_or_default().as_millis();
        result.duration_ms = u64::try_from(millis).unwrap_or(u64::MAX);
        let ended = Ended {
            session,
            plan,
            ran_for,
        };
        let mut result = self.chain.after(&ended, result);
        // Whatever is added is added before it is cleaned.
        if still_running {
            result.metadata.insert("still_running".into(), true.into());
        }
        if let Some(why) = not_remembered {
            result.metadata.insert("not_remembered".into(), why.into());
        }
        self.clean(&mut result, text);
        self.blocks(session, &mut result).await;
        self.fit(session, &mut result, text).await;
        result
    }

    /// What came from elsewhere, made fit to be seen.
    pub(crate) async fn foreign(&self, session: &Session, mut result: ToolResult) -> ToolResult {
        result.tool = shown_name(result.tool);
        self.clean(&mut result, Text::Plain);
        self.blocks(session, &mut result).await;
        self.fit(session, &mut result, Text::Plain).await;
        result
    }

    fn raw(&self, call_id: CallId, tool: String, outcome: Outcome) -> (ToolResult, Text) {
        let (output, error, ran) = match outcome {
            Outcome::Stopped(error) => (Output::default(), Some(error), false),
            Outcome::Ran(Err(error)) => (Output::default(), Some(error), true),
            Outcome::Ran(Ok(mut output)) => {
                let error = output.error.take();
                (output, error, true)
            }
            Outcome::CutShort(output, why) => (output, Some(why), false),
        };
        let told = |error: &ToolError| {
            // Who has nothing to say is at least named.
            if is_of_the_tool(error.kind, ran) || error.message.is_empty() {
                self.told(&tool, error)
            } else {
                (error.message.clone(), Text::Plain)
            }
        };
        let told = error.as_ref().map(told).unwrap_or_default();
        let mut result = ToolResult::ok(call_id, tool, output.content);
        result.display = output.display.unwrap_or_default();
        result.blocks = output.blocks;
        result.metadata = output.metadata;
        result.truncated = output.cut;
        result.output_handle = output.kept;
        let mut text = output.text;
        if let Some(error) = error {
            if result.content.is_empty() {
                (result.content, text) = told;
            }
            if result.display.is_empty() {
                result.display = error.message.clone();
            }
            result.error = Some(error);
        }
        (result, text)
    }

    fn text_limits(&self) -> Limits {
        Limits {
            max_bytes: self.limits.max_bytes,
            max_lines: self.limits.max_lines,
            capacity: Some(self.limits.available_capacity),
        }
    }

    /// What the model reads about a tool's own error. A JSON object goes byte for byte,
    /// other words are bounded like any output, so that nothing of them is lost.
    fn told(&self, tool: &str, error: &ToolError) -> (String, Text) {
        let limits = self.text_limits();
        let message = &error.message;
        let whole = error_text(tool, message, Limits::bytes(usize::MAX), self.redactor);
        if whole != *message {
            return (whole, Text::Plain);
        }
        if message.len() > limits.effective_bytes() {
            let replaced = error_text(tool, message, limits, self.redactor);
            return (replaced, Text::Plain);
        }
        (whole, Text::SelfBounded)
    }

    fn clean(&self, result: &mut ToolResult, text: Text) {
        if text == Text::Plain {
            result.content = sanitize(&result.content).into_owned();
        }
        result.display = self.redactor.shown(&result.display);
        if let Some(error) = &mut result.error {
            error.message = self.redactor.shown(&error.message);
        }
        self.clean_metadata(&mut result.metadata);
        let (content, hits) = self.redactor.redact(&result.content);
        if !hits.is_empty() {
            let count = hits.len();
            result.content = content.into_owned();
            result.metadata.insert("redacted".into(), count.into());
        }
    }

    /// Makes the blocks fit to be seen. The text gets what they say and it does not.
    async fn blocks(&self, session: &Session, result: &mut ToolResult) {
        if result.blocks.is_empty() {
            return;
        }
        let cleaner = BlockCleaner {
            redactor: self.redactor,
            limits: self.limits.blocks,
            text: Limits {
                capacity: Some(self.limits.max_bytes),
                ..self.text_limits()
            },
            session,
        };
        let CleanBlocks {
            blocks,
            texts,
            redacted,
            left_out,
            not_kept,
        } = cleaner.clean(std::mem::take(&mut result.blocks)).await;
        result.blocks = blocks;
        let of_json = serde_json::from_str::<serde_json::Value>(&result.content).ok();
        for text in texts {
            let is_json = || {
                of_json.is_some()
                    && serde_json::from_str::<serde_json::Value>(&text).ok() == of_json
            };
            if result.content.contains(&text) || is_json() {
                continue;
            }
            if !result.content.is_empty() && !result.content.ends_with('\n') {
                result.content.push('\n');
            }
            result.content.push_str(&text);
        }
        for (name, count) in [
            ("redacted_in_blocks", redacted),
            ("blocks_left_out", left_out),
        ] {
            if count > 0 {
                result.metadata.insert(name.into(), count.into());
            }
        }
        if let Some(error) = not_kept {
            let why = error.to_string().into();
            result.metadata.insert("output_not_kept".into(), why);
        }
    }

    fn clean_metadata(&self, metadata: &mut Metadata) {
        let bytes = serde_json::to_string(metadata).map_or(usize::MAX, |text| text.len());
        if bytes > METADATA_BYTES {
            metadata.clear();
            let left_out = format!("{bytes} bytes, more than {METADATA_BYTES}");
            metadata.insert("metadata_left_out".into(), left_out.into());
        }
        self.redactor.show_map(metadata);
    }

    async fn fit(&self, session: &Session, result: &mut ToolResult, text: Text) {
        let limits = self.text_limits();
        let bytes_only = Limits {
            max_lines: None,
            ..limits
        };
        // A tool that bounds itself keeps its form as long as it keeps its word.
        let wanted = if text == Text::SelfBounded {
            bytes_only
        } else {
            limits
        };
        if bound(&result.content, wanted, None).truncated {
            let handle = match session.keep_whole(result.content.clone()).await {
                Ok(handle) => Some(handle),
                Err(error) => {
                    result
                        .metadata
                        .insert("output_not_kept".into(), error.to_string().into());
                    None
                }
            };
            let bounded = bound(
                &result.content,
                wanted,
                handle.as_ref().map(toolgate_model::OutputHandle::as_str),
            );
            result.content = bounded.text;
            result.truncated = bounded.truncated;
            result.output_handle = handle;
        }
        let short = Limits {
            max_lines: Some(20),
            ..Limits::bytes(DISPLAY_BYTES)
        };
        let message = result.error.as_ref().map(|error| error.message.as_str());
        let display = if result.display.is_empty() && result.content.is_empty() {
            let labels: Vec<String> = result.blocks.iter().map(ContentBlock::label).collect();
            bound(&labels.join("\n"), short, None).text
        } else if result.display.is_empty() {
            bound(&sanitize(&result.content), short, None).text
        } else if message == Some(result.display.as_str()) {
            bound(&result.display, short, None).text
        } else {
            bound(&result.display, bytes_only, None).text
        };
        result.display = display;
        if let Some(error) = &mut result.error {
            error.message = bound(&error.message, bytes_only, None).text;
        }
    }
}
