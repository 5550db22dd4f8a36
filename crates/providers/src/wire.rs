//! The wires by name, and the one way to read any of them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use toolgate_model::json::JsonLimits;

use crate::calls::Calls;
use crate::decode::{DecodeLimits, NdjsonDecoder, SseDecoder};
use crate::event::StreamEvent;
use crate::fault::{ProviderError, StreamError};
use crate::fenced::{Definition, head};
use crate::machine::{Answer, Machine, WireError};
use crate::request::Form;
use crate::{anthropic, ollama, openai_chat, openai_responses};

/// A wire format of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, which many servers speak.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Ollama's own chat.
    Ollama,
}

impl Wire {
    /// Every wire there is.
    pub const ALL: [Self; 4] = [
        Self::Anthropic,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Ollama,
    ];

    /// The name of the wire in options and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Ollama => "ollama",
        }
    }

    /// What its streams are, as a content type says it.
    pub const fn stream_type(self) -> &'static str {
        match self {
            Self::Anthropic | Self::OpenAiChat | Self::OpenAiResponses => "text/event-stream",
            Self::Ollama => "application/x-ndjson",
        }
    }

    /// Whether most models of this wire take images in results. Servers that speak the wires of
    /// OpenAI Chat and Ollama mostly have models without, and some refuse images then.
    pub const fn takes_images(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAiResponses)
    }

    /// A tool as this wire gets to know it.
    pub fn definition(self, definition: &Definition) -> Value {
        self.form().definition(definition)
    }

    /// What a refused request says: its status, and its body as far as that says it more exactly.
    pub fn read_error(self, status: u16, body: &[u8]) -> ProviderError {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Inner {
            Object(WireError),
            Text(String),
        }
        #[derive(Deserialize)]
        struct Body {
            error: Inner,
        }
        let error = match serde_json::from_slice(body) {
            Ok(Body {
                error: Inner::Object(error),
            }) => error,
            Ok(Body {
                error: Inner::Text(text),
            }) => WireError::of_message(text),
            Err(_) => {
                let text = head(&String::from_utf8_lossy(body));
                WireError::of_message(format!("status {status}: {text}"))
            }
        };
        error.refused(status)
    }

    pub(crate) fn form(self) -> &'static dyn Form {
        match self {
            Self::Anthropic => &anthropic::Anthropic,
            Self::OpenAiChat => &openai_chat::OpenAiChat,
            Self::OpenAiResponses => &openai_responses::OpenAiResponses,
            Self::Ollama => &ollama::Ollama,
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no wire's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no wire format; known are anthropic, openai-chat, openai-responses and ollama"
)]
pub struct UnknownWire {
    /// The name.
    pub name: String,
}

impl FromStr for Wire {
    type Err = UnknownWire;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|wire| wire.as_str() == name);
        found.ok_or_else(|| UnknownWire {
            name: name.to_owned(),
        })
    }
}

/// Bounds of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Of the framing.
    pub decode: DecodeLimits,
    /// Of the arguments of one call.
    pub args: JsonLimits,
    /// The most bytes of the whole stream.
    pub max_bytes: usize,
    /// The most bytes of text and thinking in it: far more than any model says at once.
    pub max_words: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            decode: DecodeLimits::default(),
            args: JsonLimits::default(),
            max_bytes: 256 * 1024 * 1024,
            max_words: 4 * 1024 * 1024,
        }
    }
}

/// Reads one answer in chunks of any size.
///
/// The same bytes give the same events, however they are cut; only where a
/// text or an argument is split into fragments can differ. The last event is
/// always [`StreamEvent::End`], and nothing follows it.
///
/// ```
/// use toolgate_providers::{Reply, StreamDecoder, Wire};
///
/// let mut stream = StreamDecoder::new(Wire::Ollama, Default::default());
/// let mut reply = Reply::default();
/// reply.extend(stream.push(br#"{"message":{"role":"assistant","content":"Hi"},"done":false}"#));
/// reply.extend(stream.push(b"\n{\"done\":true,\"done_reason\":\"stop\"}\n"));
/// reply.extend(stream.finish());
/// assert_eq!(reply.lines()[0]["text"], "Hi");
/// ```
pub struct StreamDecoder {
    framing: Framing,
    machine: Box<dyn Machine>,
    answer: Answer,
    left: usize,
    max_bytes: usize,
}

enum Framing {
    Sse(SseDecoder),
    Ndjson(NdjsonDecoder),
}

impl fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamDecoder")
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

impl StreamDecoder {
    /// A decoder at the start of an answer.
    pub fn new(wire: Wire, limits: StreamLimits) -> Self {
        Self::counting_from(wire, limits, 1)
    }

    /// A decoder whose first call has this number, for a conversation that has had some already.
    ///
    /// The number is in the id of a call to which the wire gave none.
    pub fn counting_from(wire: Wire, limits: StreamLimits, first: u64) -> Self {
        let (machine, prefix): (Box<dyn Machine>, _) = match wire {
            Wire::Anthropic => (Box::<anthropic::Stream>::default(), "anthropic"),
            Wire::OpenAiChat => (Box::<openai_chat::Stream>::default(), "openai_chat"),
            Wire::OpenAiResponses => {
                let machine = Box::<openai_responses::Stream>::default();
                (machine, "openai_responses")
            }
            Wire::Ollama => (Box::<ollama::Stream>::default(), "ollama"),
        };
        let framing = match wire {
            Wire::Ollama => Framing::Ndjson(NdjsonDecoder::new(limits.decode)),
            _ => Framing::Sse(SseDecoder::new(limits.decode)),
        };
        Self {
            framing,
            machine,
            answer: Answer::new(Calls::new(limits.args, prefix, first), limits.max_words),
            left: limits.max_bytes,
            max_bytes: limits.max_bytes,
        }
    }

    /// The number the next call gets.
    pub const fn next_number(&self) -> u64 {
        self.answer.calls.next_number()
    }

    /// Whether the answer has ended; what comes after that is read over.
    pub const fn is_over(&self) -> bool {
        self.answer.ended
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<StreamEvent> {
        let (answer, machine) = (&mut self.answer, &mut self.machine);
        if !answer.ended {
            let chunk_fits = chunk.len() <= self.left;
            let chunk = chunk.get(..self.left).unwrap_or(chunk);
            self.left = self.left.saturating_sub(chunk.len());
            let decoded = match &mut self.framing {
                Framing::Sse(decoder) => decoder.push(chunk, |event| {
                    take(machine.as_mut(), event.data, answer);
                }),
                Framing::Ndjson(decoder) => decoder.push(chunk, |line| {
                    take(machine.as_mut(), line, answer);
                }),
            };
            if let Err(fault) = decoded {
                answer.close(Some(fault.into()));
            } else if !chunk_fits {
                answer.close(Some(StreamError::TooLarge {
                    max: self.max_bytes,
                }));
            }
        }
        std::mem::take(&mut self.answer.out)
    }

    /// Nothing more comes: ends the answer, if it has not ended itself.
    pub fn finish(&mut self) -> Vec<StreamEvent> {
        self.over(None)
    }

    /// Nothing more is waited for, for this reason. What came is handed out as it is at a
    /// connection that closes: whole calls are whole, and one that is not is damaged.
    pub fn break_off(&mut self, fault: StreamError) -> Vec<StreamEvent> {
        self.over(Some(fault))
    }

    fn over(&mut self, why: Option<StreamError>) -> Vec<StreamEvent> {
        let (answer, machine) = (&mut self.answer, &mut self.machine);
        if let Framing::Ndjson(decoder) = &mut self.framing
            && !answer.ended
        {
            let ended = decoder.finish(|line| {
                // A last line that is not whole was cut off, it is not malformed.
                if serde_json::from_str::<IgnoredAny>(line).is_ok() {
                    take(machine.as_mut(), line, answer);
                }
            });
            if let Err(fault) = ended {
                answer.close(Some(fault.into()));
            }
        }
        // Server-sent events that were cut off are none, as their standard says.
        answer.close(why);
        std::mem::take(&mut self.answer.out)
    }
}

fn take(machine: &mut dyn Machine, data: &str, answer: &mut Answer) {
    if answer.ended {
        return;
    }
    if let Err(fault) = machine.take(data, answer) {
        answer.close(Some(fault));
    }
}
