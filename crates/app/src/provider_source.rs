//! The provider that is asked, from the configuration and the options.

use std::collections::BTreeMap;
use std::time::Duration;

use toolgate_config::Effective;
use toolgate_config::settings::{
    Price, Provider as Configured, ProviderKind, Reasoning as Thinking, ReasoningLevel, WireKind,
};
use toolgate_engine::Retry;
use toolgate_providers::http::{Client, Endpoint, HttpTimeouts, Secret};
use toolgate_providers::request::{Effort, Reasoning, RequestOptions};
use toolgate_providers::{Usage, Wire};

use crate::error::AppError;
use crate::options::{AppOptions, SecretSource};

/// Which model is asked, and where. What is left out comes from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// A provider of the configuration, or a built-in one.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The provider's address.
    pub base_url: Option<String>,
}

/// A provider that a user can name.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) kind: ProviderKind,
    over: WireKind,
    pub(crate) model: Option<String>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    reasoning: Reasoning,
    images: Option<bool>,
    pub(crate) prices: Option<Prices>,
    base_url: Option<String>,
    key_variable: Option<String>,
    /// Whether the configuration names the variable: then the key has to be in it.
    key_is_wanted: bool,
    key_command: Option<Vec<String>>,
    headers: BTreeMap<String, String>,
    idle: Duration,
    pub(crate) retry: Duration,
    pub(crate) script: Option<std::path::PathBuf>,
    is_built_in: bool,
    /// The variable by which it was found, where nobody named it.
    pub(crate) found_by: Option<&'static str>,
}

/// Providers that need no configuration: their names, and where their keys usually are.
const BUILT_IN: [(&str, ProviderKind, Option<&str>); 4] = [
    (
        "anthropic",
        ProviderKind::Anthropic,
        Some("ANTHROPIC_API_KEY"),
    ),
    (
        "openai-chat",
        ProviderKind::OpenaiChat,
        Some("OPENAI_API_KEY"),
    ),
    (
        "openai-responses",
        ProviderKind::OpenaiResponses,
        Some("OPENAI_API_KEY"),
    ),
    ("ollama", ProviderKind::Ollama, None),
];

/// The built-in providers that are found by their keys, the first first.
const FOUND: [(&str, &str); 2] = [
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("openai-responses", "OPENAI_API_KEY"),
];

/// What tokens cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    input: Price,
    cached: Price,
    output: Price,
}

impl Prices {
    fn of(provider: &Configured) -> Option<Self> {
        let input = provider.price_input?;
        Some(Self {
            input,
            cached: provider.price_cached_input.unwrap_or(input),
            output: provider.price_output?,
        })
    }

    /// What a turn cost, in millionths of a dollar.
    pub(crate) const fn cost(self, usage: &Usage) -> u64 {
        let cached = usage.cache_read_tokens;
        let read = usage.input_tokens.saturating_sub(cached);
        let all = read
            .saturating_mul(self.input.0)
            .saturating_add(cached.saturating_mul(self.cached.0))
            .saturating_add(usage.output_tokens.saturating_mul(self.output.0));
        all / 1_000_000
    }
}

impl Source {
    fn configured(name: &str, provider: &Configured) -> Self {
        Self {
            name: name.to_owned(),
            kind: provider.kind,
            over: provider.over.unwrap_or_default(),
            model: provider.model.clone(),
            context_tokens: provider.context_tokens,
            max_tokens: provider.max_tokens,
            reasoning: provider.reasoning.map_or(Reasoning::Default, reasoning),
            images: provider.images,
            prices: Prices::of(provider),
            base_url: provider.base_url.clone(),
            key_variable: provider
                .api_key_env
                .clone()
                .or_else(|| usual_variable(provider)),
            key_is_wanted: provider.api_key_env.is_some(),
            key_command: provider.api_key_command.clone(),
            headers: provider.headers.clone(),
            idle: Duration::from_secs(provider.timeout_seconds),
            retry: Duration::from_secs(provider.retry_seconds),
            script: provider.script.clone(),
            is_built_in: false,
            found_by: None,
        }
    }

    fn built_in(name: &str) -> Option<Self> {
        let (name, kind, variable) = BUILT_IN.into_iter().find(|(known, ..)| *known == name)?;
        Some(Self {
            name: name.to_owned(),
            kind,
            over: WireKind::default(),
            model: None,
            context_tokens: None,
            max_tokens: None,
            reasoning: Reasoning::Default,
            images: None,
            prices: None,
            base_url: None,
            key_variable: variable.map(str::to_owned),
            key_is_wanted: false,
            key_command: None,
            headers: BTreeMap::new(),
            idle: HttpTimeouts::default().idle,
            retry: Retry::default().longest_in_all,
            script: None,
            is_built_in: true,
            found_by: None,
        })
    }

    /// Whether this names a provider.
    pub(crate) fn is_known(config: &Effective, name: &str) -> bool {
        config.settings().providers.contains_key(name) || Self::built_in(name).is_some()
    }

    /// The names of all providers: those of the configuration, then the built-in ones.
    pub(crate) fn names(config: &Effective) -> Vec<String> {
        let mut names: Vec<String> = config.settings().providers.keys().cloned().collect();
        for (name, ..) in BUILT_IN {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Every provider of the configuration.
    pub(crate) fn all(config: &Effective) -> Vec<Self> {
        let providers = config.settings().providers.iter();
        providers
            .map(|(name, provider)| Self::configured(name, provider))
            .collect()
    }

    /// The one that is meant.
    pub(crate) fn chosen(
        options: &AppOptions,
        config: &Effective,
        asked: &Asked,
    ) -> Result<Self, AppError> {
        let providers = &config.settings().providers;
        let names: Vec<&str> = providers.keys().map(String::as_str).collect();
        let by_default = config.settings().defaults.provider.as_ref();
        let mut source = match (asked.provider.as_ref().or(by_default), names.as_slice()) {
            (Some(name), _) => providers
                .get(name)
                .map(|provider| Self::configured(name, provider))
                .or_else(|| Self::built_in(name))
                .ok_or_else(|| {
                    AppError::usage(format!(
                        "there is no provider {name:?}; configured are {}, built in are {}",
                        if names.is_empty() {
                            "none".to_owned()
                        } else {
                            names.join(", ")
                        },
                        BUILT_IN.map(|(name, ..)| name).join(", "),
                    ))
                })?,
            (None, [only]) => match providers.get(*only) {
                Some(provider) => Self::configured(only, provider),
                None => return Err(AppError::NoProvider),
            },
            (None, []) => Self::of_environment(options).ok_or(AppError::NoProvider)?,
            (None, several) => {
                return Err(AppError::usage(format!(
                    "say which provider is asked with --provider, or with `provider` in [defaults]; configured are {}",
                    several.join(", ")
                )));
            }
        };
        if let Some(url) = &asked.base_url {
            source.base_url = Some(url.clone());
        }
        Ok(source)
    }

    /// The built-in provider whose key is in its usual variable.
    fn of_environment(options: &AppOptions) -> Option<Self> {
        FOUND.into_iter().find_map(|(name, variable)| {
            let key = options.secret(SecretSource::Variable(variable)).ok()??;
            let source = Self::built_in(name).filter(|_| !key.trim().is_empty());
            source.map(|source| Self {
                found_by: Some(variable),
                ..source
            })
        })
    }

    /// The model of a built-in provider at its own address that is asked where nobody names one.
    pub(crate) fn usual_model(&self) -> Option<&'static str> {
        if !self.is_built_in || (self.base_url.is_some() && self.found_by.is_none()) {
            return None;
        }
        match self.kind {
            ProviderKind::Anthropic => Some("claude-sonnet-4-5"),
            ProviderKind::OpenaiChat | ProviderKind::OpenaiResponses => Some("gpt-5"),
            _ => None,
        }
    }

    /// The wire it speaks; nothing for a recording.
    pub(crate) const fn wire(&self) -> Option<Wire> {
        match self.kind {
            ProviderKind::Anthropic => Some(Wire::Anthropic),
            ProviderKind::OpenaiChat => Some(Wire::OpenAiChat),
            ProviderKind::OpenaiResponses => Some(Wire::OpenAiResponses),
            ProviderKind::Ollama => Some(Wire::Ollama),
            ProviderKind::Fenced => Some(match self.over {
                WireKind::Anthropic => Wire::Anthropic,
                WireKind::OpenaiChat => Wire::OpenAiChat,
                WireKind::OpenaiResponses => Wire::OpenAiResponses,
                WireKind::Ollama => Wire::Ollama,
            }),
            ProviderKind::Replay => None,
        }
    }

    /// Whether its models take images in results.
    pub(crate) fn takes_images(&self) -> bool {
        let by_wire = || self.wire().is_some_and(Wire::takes_images);
        self.images.unwrap_or_else(by_wire)
    }

    /// What is asked of a model of it, as far as the configuration says so.
    pub(crate) fn options(&self, model: &str) -> RequestOptions {
        RequestOptions {
            max_tokens: self.max_tokens,
            context_tokens: self.context_tokens,
            reasoning: self.reasoning,
            ..RequestOptions::new(model)
        }
    }

    /// Where it is, with its key.
    pub(crate) fn endpoint(&self, wire: Wire, options: &AppOptions) -> Result<Endpoint, AppError> {
        let key = self.key(options)?;
        let base = self.base_url.as_deref();
        Endpoint::new(wire, base, key.as_ref(), self.headers.clone())
            .map_err(|error| self.usage(&error))
    }

    /// A way there.
    pub(crate) fn client(
        &self,
        endpoint: Endpoint,
        options: &AppOptions,
    ) -> Result<Client, AppError> {
        if !endpoint.secrets().is_empty() && !endpoint.is_encrypted() && !endpoint.is_local() {
            options.notice(format!(
                "the key of {} goes unencrypted to {}",
                self.name,
                endpoint.address()
            ));
        }
        let timeouts = HttpTimeouts {
            idle: self.idle,
            ..HttpTimeouts::default()
        };
        Client::new(endpoint, timeouts).map_err(|error| self.usage(&error))
    }

    fn usage(&self, error: &dyn std::fmt::Display) -> AppError {
        AppError::usage(format!("provider {}: {error}", self.name))
    }

    fn key(&self, options: &AppOptions) -> Result<Option<Secret>, AppError> {
        if let Some(command) = &self.key_command {
            return self.key_from(command, options).map(Some);
        }
        let Some(variable) = &self.key_variable else {
            return Ok(None);
        };
        match options.secret(SecretSource::Variable(variable)) {
            Ok(Some(key)) if !key.trim().is_empty() => Ok(Some(Secret::new(&key))),
            _ if self.key_is_wanted => Err(AppError::usage(format!(
                "[providers.{}]: the environment variable {variable}, which api_key_env names, is not set or empty; set it, or leave api_key_env out where no key is needed",
                self.name
            ))),
            // A server of one's own may need none; the provider says if it does.
            _ if self.base_url.is_some() => Ok(None),
            _ => Err(AppError::usage(format!(
                "provider {}: the environment variable {variable}, which holds its key, is not set",
                self.name
            ))),
        }
    }

    fn key_from(&self, command: &[String], options: &AppOptions) -> Result<Secret, AppError> {
        let fail = |why: &str| {
            let program = command.first().map_or("", String::as_str);
            AppError::usage(format!(
                "provider {}: api_key_command {program:?} {why}",
                self.name
            ))
        };
        if command.is_empty() {
            return Err(fail("is empty"));
        }
        let key = options
            .secret(SecretSource::Command(command))
            .map_err(|why| fail(&why))?;
        let key = key.filter(|key| !key.trim().is_empty());
        key.map(|key| Secret::new(&key))
            .ok_or_else(|| fail("printed no key"))
    }
}

const fn reasoning(wanted: Thinking) -> Reasoning {
    let effort = match wanted {
        Thinking::Tokens(tokens) => return Reasoning::Budget(tokens),
        Thinking::Level(ReasoningLevel::Off) => return Reasoning::Off,
        Thinking::Level(ReasoningLevel::On) => return Reasoning::On,
        Thinking::Level(ReasoningLevel::Minimal) => Effort::Minimal,
        Thinking::Level(ReasoningLevel::Low) => Effort::Low,
        Thinking::Level(ReasoningLevel::Medium) => Effort::Medium,
        Thinking::Level(ReasoningLevel::High) => Effort::High,
        Thinking::Level(ReasoningLevel::XHigh) => Effort::XHigh,
        Thinking::Level(ReasoningLevel::Max) => Effort::Max,
    };
    Reasoning::Effort(effort)
}

/// Where the key of a provider at its own address usually is, if nothing is said about who asks.
fn usual_variable(provider: &Configured) -> Option<String> {
    let silent = provider.base_url.is_none()
        && provider.api_key_command.is_none()
        && provider.headers.is_empty();
    let mut known = BUILT_IN.into_iter().filter(|_| silent);
    let (.., variable) = known.find(|(_, kind, _)| *kind == provider.kind)?;
    variable.map(str::to_owned)
}
