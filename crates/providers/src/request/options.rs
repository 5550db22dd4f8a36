//! What a request asks for beside its messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is asked of the model, the same for every wire.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOptions {
    /// The model's name at its provider.
    pub model: String,
    /// The first instructions to the model.
    pub system: Option<String>,
    /// The most tokens of one answer, thinking included.
    pub max_tokens: Option<u64>,
    /// How much it thinks.
    pub reasoning: Reasoning,
    /// The size of the context to work in, where the provider lets one choose.
    pub context_tokens: Option<u64>,
    /// Whether the provider may keep what it has read for the next request.
    pub cache: bool,
    /// Fields that only this provider knows, passed on as they are.
    pub extra: Map<String, Value>,
}

impl RequestOptions {
    /// Everything as the provider does it by itself.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: None,
            max_tokens: None,
            reasoning: Reasoning::Default,
            context_tokens: None,
            cache: true,
            extra: Map::new(),
        }
    }
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// As the model does it by itself.
    #[default]
    Default,
    /// Not at all.
    Off,
    /// As much as it finds right, and shown.
    On,
    /// At most this many tokens. Wires that know only levels get the nearest.
    Budget(u64),
    /// This much.
    Effort(Effort),
}

/// Levels of thinking, as far as a wire knows them; otherwise the nearest it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    #[serde(rename = "xhigh")]
    XHigh,
    /// As much as it can.
    Max,
}

impl Effort {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The level that comes nearest to a number of tokens.
    pub(crate) const fn of_budget(tokens: u64) -> Self {
        match tokens {
            0..=2_048 => Self::Low,
            2_049..=12_288 => Self::Medium,
            _ => Self::High,
        }
    }
}
