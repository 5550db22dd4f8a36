//! What the four wires share while they read an answer.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::Value;

use crate::calls::Calls;
use crate::event::{Seal, StopReason, StreamEvent, Usage};
use crate::fault::{ProviderError, ProviderErrorKind, StreamError};
use crate::fenced::clip;

/// The most characters of a provider's own message that are kept.
const MESSAGE: usize = 1_000;

/// Reads the decoded events of one wire.
pub(crate) trait Machine: Send {
    /// Takes one event. A fault ends the answer.
    fn take(&mut self, data: &str, answer: &mut Answer) -> Result<(), StreamError>;
}

/// The answer so far: what every wire writes to.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) calls: Calls,
    pub(crate) usage: Option<Usage>,
    /// Why the model stopped, as soon as the wire has said it.
    pub(crate) stop: Option<StopReason>,
    /// Whether anything of the answer came.
    pub(crate) began: bool,
    pub(crate) ended: bool,
    pub(crate) out: Vec<StreamEvent>,
    /// How many bytes it may say, and how many of them are left.
    max_words: usize,
    words_left: usize,
}

impl Answer {
    pub(crate) const fn new(calls: Calls, max_words: usize) -> Self {
        Self {
            calls,
            usage: None,
            stop: None,
            began: false,
            ended: false,
            out: Vec::new(),
            max_words,
            words_left: max_words,
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.words(text, StreamEvent::Text);
    }

    pub(crate) fn refusal(&mut self, text: &str) {
        self.words(text, StreamEvent::Refusal);
    }

    pub(crate) fn thinking(&mut self, text: &str) {
        self.words(text, StreamEvent::Thinking);
    }

    /// A seal of so many bytes. It goes back with the next request, so it counts like words.
    pub(crate) fn sealed(&mut self, seal: Seal, bytes: usize) {
        self.counted(bytes, || StreamEvent::Sealed(seal));
    }

    fn words(&mut self, text: &str, event: impl FnOnce(String) -> StreamEvent) {
        if !text.is_empty() {
            self.counted(text.len(), || event(text.to_owned()));
        }
    }

    fn counted(&mut self, bytes: usize, event: impl FnOnce() -> StreamEvent) {
        match self.words_left.checked_sub(bytes) {
            Some(_) if self.ended => {}
            Some(left) => {
                self.words_left = left;
                self.out.push(event());
            }
            None => self.close(Some(StreamError::TooLarge {
                max: self.max_words,
            })),
        }
    }

    pub(crate) fn went_on(&mut self) {
        self.calls.went_on(&mut self.out);
    }

    /// The model stopped, and every call is over.
    ///
    /// Who stops normally after calls waits for their results, whatever the wire calls that.
    pub(crate) fn stop(&mut self, reason: StopReason) {
        let reason = match reason {
            StopReason::EndTurn if self.calls.any() => StopReason::ToolUse,
            other => other,
        };
        self.calls.stop(reason.is_cut_short(), &mut self.out);
        self.stop = Some(reason);
    }

    /// The answer is over and says so.
    pub(crate) fn end(&mut self) {
        if self.stop.is_none() {
            self.stop(StopReason::EndTurn);
        }
        self.close(None);
    }

    /// The stream ended, for this reason or because nothing more comes.
    pub(crate) fn close(&mut self, fault: Option<StreamError>) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.calls.cut(&mut self.out);
        let end = match (fault, self.stop.take()) {
            (Some(fault), _) => Err(fault),
            (None, Some(stop)) => Ok(stop),
            (None, None) if self.began => Err(StreamError::Cut),
            (None, None) => Err(StreamError::Nothing),
        };
        if let Some(usage) = self.usage {
            self.out.push(StreamEvent::Usage(usage));
        }
        self.out.push(StreamEvent::End(end));
    }
}

/// An error object as the wires send it. What each calls its kind differs.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct WireError {
    pub(crate) r#type: Option<String>,
    /// A word on most wires, a number on some servers that speak like them.
    pub(crate) code: Option<Value>,
    pub(crate) message: Option<String>,
}

impl WireError {
    pub(crate) const fn of_message(message: String) -> Self {
        Self {
            r#type: None,
            code: None,
            message: Some(message),
        }
    }

    /// The error in our words; `fallback` is its kind where nothing in it says one.
    pub(crate) fn read(self, fallback: ProviderErrorKind) -> ProviderError {
        self.told(|said| said.unwrap_or(fallback))
    }

    /// The error in our words, as the answer to a request that was refused with this status.
    pub(crate) fn refused(self, status: u16) -> ProviderError {
        self.told(|said| match said {
            Some(said) => ProviderErrorKind::refined(status, said),
            None => ProviderErrorKind::by_status(status),
        })
    }

    fn told(
        self,
        kind: impl FnOnce(Option<ProviderErrorKind>) -> ProviderErrorKind,
    ) -> ProviderError {
        let code = match self.code {
            Some(Value::String(word)) => word,
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let kind_of_code = ProviderErrorKind::by_word(&code).or_else(|| {
            let status: u16 = code.parse().ok()?;
            Some(ProviderErrorKind::by_status(status))
        });
        let word = self.r#type.unwrap_or_default();
        let kind = kind(kind_of_code.or_else(|| ProviderErrorKind::by_word(&word)));
        let code = if code.is_empty() { word } else { code };
        let message = self.message.unwrap_or_else(|| "(no message)".to_owned());
        ProviderError {
            kind,
            message: clip(&message, MESSAGE),
            code: clip(&code, 100),
        }
    }
}

/// Text of an event, borrowed from it where it holds no escapes. `null` is none.
#[derive(Debug, Default)]
pub(crate) struct Words<'a>(Cow<'a, str>);

impl Deref for Words<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Words<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or null")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Words<'de>, E> {
                Ok(Words(Cow::Borrowed("")))
            }
        }

        deserializer.deserialize_any(Text)
    }
}
