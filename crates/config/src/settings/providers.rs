//! `[providers.NAME]` as types.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// `[providers.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The wire format.
    pub kind: ProviderKind,
    /// The wire under fenced blocks.
    pub over: Option<WireKind>,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// The model to use.
    pub model: Option<String>,
    /// How many tokens the model's context has.
    pub context_tokens: Option<u64>,
    /// The most tokens of one answer.
    pub max_tokens: Option<u64>,
    /// What a million tokens cost that the model reads.
    pub price_input: Option<Price>,
    /// The same for tokens that come from the provider's cache.
    pub price_cached_input: Option<Price>,
    /// What a million tokens cost that the model writes.
    pub price_output: Option<Price>,
    /// How much the model thinks.
    pub reasoning: Option<Reasoning>,
    /// Whether the model takes images in results.
    pub images: Option<bool>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// A program with its arguments that prints the key.
    pub api_key_command: Option<Vec<String>>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How long an answer may stay silent.
    pub timeout_seconds: u64,
    /// How long a provider that is too busy is asked again and again.
    pub retry_seconds: u64,
    /// The recording that `replay` plays.
    pub script: Option<PathBuf>,
}

/// A price, in millionths of a dollar for a million tokens: a token costs a millionth of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price(pub u64);

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let millionths = (dollars * 1e6).round();
        if !(0.0..=1e12).contains(&millionths) {
            return Err(serde::de::Error::custom("this is no price"));
        }
        // Within the bounds every whole number is exact.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self(millionths as u64))
    }
}

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Ollama.
    Ollama,
    /// Fenced tool blocks in the text of another wire.
    Fenced,
    /// A recording.
    Replay,
}

/// A wire that fenced blocks can travel on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireKind {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    #[default]
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Ollama.
    Ollama,
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Reasoning {
    /// At most so many tokens.
    Tokens(u64),
    /// As a word says.
    Level(ReasoningLevel),
}

/// Words for how much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningLevel {
    /// Not at all.
    Off,
    /// As much as it finds right.
    On,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// As much as it can.
    Max,
}
