//! A conversation for people and other programs.
//!
//! ```text
//! entries ──▶ Transcript: messages in order, each call with its story ──▶ json │ markdown │ html
//! ```
//!
//! In: what is on record. Out: the same content in the same order, three times; JSON has
//! exactly the documented form, the page is one file that loads nothing. What files held
//! before a change is no part of it. What can go wrong: parts of the record were pruned;
//! their places say so.
//!
//! ```
//! use toolgate_app::export::ExportFormat;
//! use toolgate_app::{Input, ScriptText, StartOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! # let script = ScriptText { path: "s".into(), text: b"[[steps]]\ntext = \"Nothing.\"\n".to_vec() };
//! # let options = StartOptions { script: Some(script), ..StartOptions::default() };
//! let conversation = app.start(options)?;
//! conversation.send(Input::message("Look around.")).await?.outcome().await?;
//! let page = app.export(conversation.id(), ExportFormat::Md).await?;
//! assert!(page.contains("Look around."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod html;
mod json;
mod markdown;
mod rich;
mod transcript;
mod words;

pub(crate) use transcript::Transcript;

use toolgate_gate::journal::{Filter, ReadJournal};
use toolgate_gate::output::Redactor;
use toolgate_model::ConversationId;

use crate::app::App;
use crate::error::AppError;
use crate::secrets;

/// How a conversation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Markdown.
    Md,
    /// JSON, for other programs.
    Json,
    /// One HTML page that needs nothing else.
    Html,
}

/// A conversation of the journal in this format, without the secrets of the environment.
pub(crate) async fn of(
    app: &App,
    id: &ConversationId,
    format: ExportFormat,
) -> Result<String, AppError> {
    let known = secrets::of_environment(&app.options().environment, app.config());
    let redactor = Redactor::new(known).map_err(AppError::internal)?;
    let reader = app.reader()?;
    let reader: &dyn ReadJournal = &*reader;
    let stored = reader.conversation(id).await?;
    let stored = stored.ok_or_else(|| AppError::NotFound(id.clone()))?;
    let mut transcript = Transcript::of(&stored);
    let each = |line| {
        transcript.take(line);
        true
    };
    reader.each(Filter::of(&stored.id), each).await?;
    transcript.close();
    transcript.redact(&redactor);
    Ok(render(&transcript, format))
}

/// The conversation in this format.
pub(crate) fn render(transcript: &Transcript, format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => json::render(transcript),
        ExportFormat::Md => markdown::render(transcript),
        ExportFormat::Html => html::render(transcript),
    }
}

#[cfg(test)]
mod tests;
