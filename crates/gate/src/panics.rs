//! Panics of foreign code, as text that is safe to show.

use std::any::Any;

use crate::output::approval_text;

/// What a panic said: one line, nothing invisible, not long. Payloads that are no text say so.
pub(crate) fn payload_text(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    text.map_or_else(|| "no message".to_owned(), |text| approval_text(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_become_one_harmless_line() {
        assert_eq!(payload_text(&"plain"), "plain");
        assert_eq!(
            payload_text(&String::from("a\nb\u{1b}[31m")),
            "a\\nb\\u{1b}[31m"
        );
        assert_eq!(payload_text(&7_u32), "no message");
    }
}
