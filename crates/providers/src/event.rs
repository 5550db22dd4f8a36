//! What every wire's stream comes to: one enum for all of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolgate_model::{Call, CallId};

use crate::fault::StreamError;

/// Something a model's answer brought, in the order it came.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More of the answer's text.
    Text(String),
    /// More of the words in which the model refuses.
    Refusal(String),
    /// More thinking.
    Thinking(String),
    /// The thinking before this is whole, or there was only its seal.
    Sealed(Seal),
    /// A call has begun: its id and its name are known.
    CallStarted {
        /// The call's number in the conversation.
        number: u64,
        /// The name its result goes back under.
        id: CallId,
        /// The tool it names.
        name: String,
    },
    /// More of a call's arguments, as text. For the screen: what runs is in [`StreamEvent::Call`].
    CallFragment {
        /// The call's number in the conversation.
        number: u64,
        /// The next part of the arguments' JSON.
        text: String,
    },
    /// A call is whole or damaged. Calls come in the order the model began them.
    Call(Call),
    /// What the answer cost, once, right before the end.
    Usage(Usage),
    /// The answer is over. Always there, always last, once.
    End(Result<StopReason, StreamError>),
}

/// What a wire needs to take thinking back in the next request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Seal {
    /// Anthropic: the signature of a thinking block.
    Signature(String),
    /// Anthropic: a thinking block of which only this is shown.
    Redacted(String),
    /// OpenAI Responses: the reasoning item, as far as it goes back.
    Item(Map<String, Value>),
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it had to say.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// It may not say more than this at once.
    MaxTokens,
    /// It met a text that was given as its end.
    StopSequence,
    /// It does not want to answer.
    Refusal,
    /// A filter of the provider took the rest away.
    ContentFilter,
    /// The conversation does not fit the model's context any more.
    ContextFull,
    /// The provider wants to be asked again to go on.
    Paused,
    /// A word this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl StopReason {
    /// Whether the answer breaks off where the model would have gone on.
    pub const fn is_cut_short(&self) -> bool {
        !matches!(self, Self::EndTurn | Self::ToolUse | Self::StopSequence)
    }

    /// The one spelling of this reason.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::ContextFull => "context_full",
            Self::Paused => "paused",
            Self::Other(word) => word,
        }
    }
}

/// What an answer cost, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Everything that was read, from a cache or not.
    pub input_tokens: u64,
    /// Everything that was written, thinking too.
    pub output_tokens: u64,
    /// Of the input, what a cache already had.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Of the input, what was put into a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the output, what was thinking.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// What two answers cost together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self
                .cache_read_tokens
                .saturating_add(other.cache_read_tokens),
            cache_write_tokens: self
                .cache_write_tokens
                .saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
        }
    }
}

// `skip_serializing_if` hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_reason_has_one_spelling() {
        for reason in [
            StopReason::EndTurn,
            StopReason::ToolUse,
            StopReason::MaxTokens,
            StopReason::StopSequence,
            StopReason::Refusal,
            StopReason::ContentFilter,
            StopReason::ContextFull,
            StopReason::Paused,
            StopReason::Other("tired".into()),
        ] {
            let json = serde_json::to_value(&reason).unwrap();
            assert_eq!(json, reason.as_str());
            assert_eq!(serde_json::from_value::<StopReason>(json).unwrap(), reason);
        }
    }
}
