//! An answer without the secrets of the endpoint it comes from.
//!
//! ```text
//! StreamEvent ──▶ Redaction ──▶ the same; text waits while it may be the beginning of a secret
//! ```
//!
//! Some servers repeat in an error, or even in an answer, what they were sent. A secret
//! that is cut across pieces is found all the same. A call that holds one is damaged: what
//! it would do with a key is nothing the model was to decide.

use std::collections::VecDeque;

use toolgate_model::{BadCall, Call, ErrorKind, ToolError};

use super::secrets::Secrets;
use crate::event::{Seal, StopReason, StreamEvent};

/// Looks at one answer.
#[derive(Debug)]
pub(super) struct Redaction {
    secrets: Secrets,
    /// Text that is not shown yet, and what kind of text it is.
    held: Option<(Flow, String)>,
}

/// Text that belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Text,
    Refusal,
    Thinking,
    Fragment(u64),
}

impl Flow {
    const fn event(self, text: String) -> StreamEvent {
        match self {
            Self::Text => StreamEvent::Text(text),
            Self::Refusal => StreamEvent::Refusal(text),
            Self::Thinking => StreamEvent::Thinking(text),
            Self::Fragment(number) => StreamEvent::CallFragment { number, text },
        }
    }
}

impl Redaction {
    pub(super) const fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            held: None,
        }
    }

    /// Takes an event and puts out what can be shown.
    pub(super) fn take(&mut self, event: StreamEvent, out: &mut VecDeque<StreamEvent>) {
        if self.secrets.is_empty() {
            out.push_back(event);
            return;
        }
        match event {
            StreamEvent::Text(text) => self.flow(Flow::Text, &text, out),
            StreamEvent::Refusal(text) => self.flow(Flow::Refusal, &text, out),
            StreamEvent::Thinking(text) => self.flow(Flow::Thinking, &text, out),
            StreamEvent::CallFragment { number, text } => {
                self.flow(Flow::Fragment(number), &text, out);
            }
            other => {
                self.release(out);
                out.push_back(self.whole(other));
            }
        }
    }

    fn flow(&mut self, flow: Flow, text: &str, out: &mut VecDeque<StreamEvent>) {
        if self.held.as_ref().is_some_and(|(held, _)| *held != flow) {
            self.release(out);
        }
        let mut all = self.held.take().map_or_else(String::new, |(_, held)| held);
        all.push_str(text);
        let all = self.secrets.hide_whole(&all);
        let (shown, begun) = self.secrets.split(&all);
        if !begun.is_empty() {
            self.held = Some((flow, begun.to_owned()));
        }
        if !shown.is_empty() {
            out.push_back(flow.event(shown.to_owned()));
        }
    }

    /// Puts out what waits: it does not go on.
    fn release(&mut self, out: &mut VecDeque<StreamEvent>) {
        if let Some((flow, held)) = self.held.take() {
            out.push_back(flow.event(self.secrets.hide(&held).into_owned()));
        }
    }

    fn whole(&self, event: StreamEvent) -> StreamEvent {
        match event {
            StreamEvent::Sealed(seal) => StreamEvent::Sealed(self.seal(seal)),
            StreamEvent::CallStarted { number, id, name } => StreamEvent::CallStarted {
                number,
                id: self.secrets.hide(id.as_str()).into_owned().into(),
                name: self.secrets.hide(&name).into_owned(),
            },
            StreamEvent::Call(call) => StreamEvent::Call(self.call(call)),
            StreamEvent::End(Err(fault)) => StreamEvent::End(Err(self.secrets.fault(fault))),
            StreamEvent::End(Ok(StopReason::Other(mut word))) => {
                self.secrets.hide_in(&mut word);
                StreamEvent::End(Ok(StopReason::Other(word)))
            }
            other => other,
        }
    }

    fn seal(&self, seal: Seal) -> Seal {
        let hide = |text: String| self.secrets.hide(&text).into_owned();
        match seal {
            Seal::Signature(text) => Seal::Signature(hide(text)),
            Seal::Redacted(text) => Seal::Redacted(hide(text)),
            Seal::Item(mut item) => {
                for value in item.values_mut() {
                    self.secrets.hide_in_value(value);
                }
                Seal::Item(item)
            }
        }
    }

    fn call(&self, call: Call) -> Call {
        let hide = |text: &str| self.secrets.hide(text).into_owned();
        match call {
            Call::Whole(call) => {
                let of_args = call.args.iter();
                let mut of_args = of_args.map(|(name, value)| {
                    self.secrets.are_in(name) || self.secrets.are_in_value(value)
                });
                let named = [call.id.as_str(), &call.name];
                let reason = call.reason.as_deref().unwrap_or_default();
                if !of_args.any(|held| held)
                    && !named.into_iter().any(|text| self.secrets.are_in(text))
                    && !self.secrets.are_in(reason)
                {
                    return Call::Whole(call);
                }
                let message = "the call holds the key that this provider is asked with; it was \
                               not run and is not on record, send it without the key";
                Call::Bad(BadCall {
                    id: hide(call.id.as_str()).into(),
                    name: Some(hide(&call.name)),
                    error: ToolError::new(ErrorKind::BadCall, message),
                })
            }
            Call::Bad(mut bad) => {
                bad.id = hide(bad.id.as_str()).into();
                bad.name = bad.name.as_deref().map(hide);
                bad.error.message = hide(&bad.error.message);
                Call::Bad(bad)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolgate_model::ToolCall;

    use super::*;
    use crate::fault::StreamError;
    use crate::http::Secret;

    const KEY: &str = "sk-sk-0123456789";

    fn veiled(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
        let mut veil = Redaction::new(Secrets::of(Some(&Secret::new(KEY)), []).unwrap());
        let mut out = VecDeque::new();
        for event in events {
            veil.take(event, &mut out);
        }
        out.into()
    }

    fn end() -> StreamEvent {
        StreamEvent::End(Ok(StopReason::EndTurn))
    }

    #[test]
    fn a_key_is_found_however_the_text_is_cut() {
        let whole = format!("sk-{KEY} and sk-sk then {KEY}sk-");
        let told = "sk-[redacted:key] and sk-sk then [redacted:key]sk-";
        for size in 1..whole.len() {
            let pieces = whole.as_bytes().chunks(size);
            let pieces = pieces.map(|piece| String::from_utf8(piece.to_vec()).unwrap());
            for flow in [Flow::Text, Flow::Refusal, Flow::Thinking, Flow::Fragment(1)] {
                let events = pieces.clone().map(|piece| flow.event(piece));
                let all: String = veiled(events.chain([end()]).collect())
                    .into_iter()
                    .filter_map(|event| match event {
                        StreamEvent::Text(text)
                        | StreamEvent::Refusal(text)
                        | StreamEvent::Thinking(text)
                        | StreamEvent::CallFragment { text, .. } => Some(text),
                        _ => None,
                    })
                    .collect();
                assert_eq!(all, told, "{flow:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn text_that_cannot_become_a_key_does_not_wait() {
        let text = |text: &str| StreamEvent::Text(text.to_owned());
        assert_eq!(veiled(vec![text("ask")]), [text("a")]);
        assert_eq!(veiled(vec![text("as")]), [text("a")]);
        assert_eq!(veiled(vec![text("a sky")]), [text("a sky")]);
        // Other text ends the wait, in the order it came.
        let thought = StreamEvent::Thinking("hm".into());
        assert_eq!(
            veiled(vec![text("as"), thought.clone()]),
            [text("a"), text("s"), thought]
        );
    }

    #[test]
    fn nothing_else_of_an_answer_shows_the_key() {
        let args = |value: serde_json::Value| match value {
            serde_json::Value::Object(args) => args,
            other => panic!("{other}"),
        };
        let call = |value| StreamEvent::Call(Call::Whole(ToolCall::new("c", "t", args(value))));
        let item = args(json!({"summary": [{"text": KEY}]}));
        for event in [
            StreamEvent::Sealed(Seal::Signature(KEY.into())),
            StreamEvent::Sealed(Seal::Redacted(KEY.into())),
            StreamEvent::Sealed(Seal::Item(item)),
            StreamEvent::CallStarted {
                number: 1,
                id: KEY.into(),
                name: KEY.into(),
            },
            call(json!({"a": {"b": [format!("x{KEY}")]}})),
            call(json!({KEY: 1})),
            StreamEvent::Call(Call::Whole(ToolCall::new(KEY, "t", args(json!({}))))),
            StreamEvent::Call(Call::Whole(ToolCall::new("c", KEY, args(json!({}))))),
            StreamEvent::Call(Call::Bad(BadCall {
                id: KEY.into(),
                name: Some(KEY.into()),
                error: ToolError::new(ErrorKind::BadCall, KEY),
            })),
            StreamEvent::End(Ok(StopReason::Other(KEY.into()))),
            StreamEvent::End(Err(StreamError::NotAStream {
                content_type: KEY.into(),
                excerpt: KEY.into(),
            })),
        ] {
            let shown = format!("{:?}", veiled(vec![event.clone()]));
            assert!(!shown.contains(KEY), "{event:?}: {shown}");
        }
        let harmless = call(json!({"path": "a"}));
        assert_eq!(veiled(vec![harmless.clone()]), [harmless]);
    }
}
