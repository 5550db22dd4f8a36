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

mod html;
mod json;
mod markdown;
mod transcript;
mod words;

pub(crate) use transcript::Transcript;

use crate::args::ExportFormat;

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
