//! What the model reads where a tool failed.

use super::bound::{Limits, bound};
use super::redact::Redactor;

/// The text of a tool's error, within `limits` and without secrets.
///
/// A message that is itself a JSON object is for a machine to read: it goes on
/// unchanged, or, where it is too long or holds a secret, is replaced as a whole,
/// because half of it would no longer be JSON. Any other message gets
/// `"{tool} failed: "` in front.
#[must_use]
pub fn error_text(tool: &str, message: &str, limits: Limits, redactor: &Redactor) -> String {
    let limit = limits.effective_bytes();
    if !is_json_object(message) {
        let plain = format!("{tool} failed: {message}");
        return bound(&redactor.redact(&plain).0, limits, None).text;
    }
    let why = if redactor.holds_secret(message) {
        "holds a secret".to_owned()
    } else if message.len() > limit {
        format!(
            "has {} bytes, more than the limit of {limit}",
            message.len()
        )
    } else {
        return message.to_owned();
    };
    let replaced =
        format!("{tool} failed: its error is a JSON object that {why}, so it is left out");
    bound(&replaced, limits, None).text
}

fn is_json_object(message: &str) -> bool {
    // The first character decides for nearly every message, without parsing it.
    message.trim_start().starts_with('{')
        && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(message).is_ok()
}
