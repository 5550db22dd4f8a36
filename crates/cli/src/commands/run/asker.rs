//! Who is asked in a turn: a provider over HTTP, or a recording.

use std::path::Path;

use toolgate_config::Effective;
use toolgate_config::settings::{Preset, ProviderKind};
use toolgate_engine::{Context, Retry, ToolsFor, TurnSettings, context_of, system_prompt};
use toolgate_gate::plan::Mode;
use toolgate_gate::{Entropy, SystemEntropy};
use toolgate_providers::fenced::{Definition, Language};
use toolgate_providers::http::{Endpoint, HttpProvider};
use toolgate_providers::provider::{Fenced, Played, fenced_system};
use toolgate_providers::replay::Script;
use toolgate_providers::request::Frame;
use toolgate_providers::{Provider, StreamLimits};

use crate::app::App;
use crate::args::RunArgs;
use crate::asked::Source;
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::input;
use crate::out::Out;
use crate::secrets;

use super::prepare::INPUT;

/// Who is asked, and for which model.
pub(super) struct Asker {
    name: String,
    pub(super) model: String,
    answers: Answers,
}

/// Who answers.
enum Answers {
    Recording(Script),
    Provider(Source, Box<Endpoint>),
}

impl Asker {
    pub(super) fn choose(
        config: &Effective,
        args: &RunArgs,
        preset: &Preset,
    ) -> Result<Self, CliError> {
        let wanted = args.asked.model.clone().or_else(|| preset.model.clone());
        let source = match &args.script {
            Some(_) => None,
            None => Some(Source::chosen(config, &args.asked)?),
        };
        let of_source = source
            .as_ref()
            .filter(|source| source.kind == ProviderKind::Replay);
        let played = match (&args.script, of_source) {
            (Some(path), _) => Some(path.clone()),
            (None, Some(source)) => Some(source.script.clone().ok_or_else(|| {
                CliError::usage(format!("provider {} has no script to play", source.name))
            })?),
            (None, None) => None,
        };
        let script = played.as_deref().map(read_script).transpose()?;
        let name = source
            .as_ref()
            .map_or("replay", |source| source.name.as_str());
        let recorded = script.as_ref().map(|script| {
            let model = script.model.clone();
            model.unwrap_or_else(|| "replay".to_owned())
        });
        let configured = source.as_ref().and_then(|source| source.model.clone());
        let model = wanted.or(configured).or(recorded).ok_or_else(|| {
            CliError::usage(format!(
                "say which model of {name} is asked: --model NAME, or `model` in [providers.{name}]; `toolgate models` lists them"
            ))
        })?;
        let name = name.to_owned();
        let answers = match (script, source) {
            (Some(script), _) => Answers::Recording(script),
            (None, Some(source)) => {
                let wire = source.wire();
                let wire = wire.ok_or_else(|| CliError::internal("a recording has no wire"))?;
                let endpoint = Box::new(source.endpoint(wire)?);
                Answers::Provider(source, endpoint)
            }
            (None, None) => return Err(CliError::internal("there is nobody to ask")),
        };
        Ok(Self {
            name,
            model,
            answers,
        })
    }

    /// The secrets with which it is asked.
    pub(super) fn asked_with(&self) -> Vec<(String, String)> {
        match &self.answers {
            Answers::Recording(_) => Vec::new(),
            Answers::Provider(_, endpoint) => secrets::of_provider(endpoint.secrets()),
        }
    }

    pub(super) fn provider(
        &self,
        app: &App,
        preset: &Preset,
        out: &Out,
    ) -> Result<Box<dyn Provider>, CliError> {
        let limits = app.limits();
        let (source, endpoint) = match &self.answers {
            Answers::Recording(script) => {
                return Ok(Box::new(Played::new(script.clone(), limits)));
            }
            Answers::Provider(source, endpoint) => (source, endpoint),
        };
        let tools = app.definitions()?;
        let workspace = app.workspace.display().to_string();
        let language = language();
        let system = match &preset.system_prompt {
            Some(words) => words.clone(),
            None => system_prompt(&tools, &workspace, language),
        };
        let definitions: Vec<Definition> = tools
            .into_iter()
            .map(|tool| Definition {
                name: tool.name,
                description: tool.description,
                schema: tool.input_schema,
                requires_approval: tool.requires_approval,
            })
            .collect();
        let fenced = source.kind == ProviderKind::Fenced;
        let mut options = source.options(&self.model);
        let (system, offered) = if fenced {
            (
                fenced_system(Some(&system), &definitions, language),
                Vec::new(),
            )
        } else {
            (system, definitions)
        };
        options.system = Some(system);
        let frame = Frame::new(endpoint.wire(), &options, &offered)
            .map_err(|fault| CliError::usage(fault.to_string()))?;
        let stream = StreamLimits {
            args: limits,
            ..StreamLimits::default()
        };
        let client = source.client((**endpoint).clone(), out)?;
        let provider = HttpProvider::new(client, frame, stream).images(source.takes_images());
        Ok(if fenced {
            Box::new(Fenced::new(provider, limits))
        } else {
            Box::new(provider)
        })
    }

    /// The model's context: as the configuration says, or as it is known.
    fn context(&self) -> Option<Context> {
        let (tokens, answer) = match &self.answers {
            Answers::Recording(_) => (None, None),
            Answers::Provider(source, _) => (source.context_tokens, source.max_tokens),
        };
        let tokens = tokens.or_else(|| context_of(&self.model))?;
        Some(Context::new(tokens, answer))
    }

    pub(super) fn settings(&self, app: &App) -> TurnSettings {
        let tools = &app.config.settings().tools;
        let most = tools.max_tool_iterations_per_user_turn;
        TurnSettings {
            provider: self.name.clone(),
            model: self.model.clone(),
            tools: match tools.mode {
                Mode::Enabled => ToolsFor::Gate,
                Mode::ParseOnly => ToolsFor::Person,
                Mode::Disabled => ToolsFor::Nobody,
            },
            max_iterations: u32::try_from(most).unwrap_or(u32::MAX),
            context: self.context(),
            retry: Retry {
                seed: seed(),
                ..Retry::default()
            },
            ..TurnSettings::default()
        }
    }
}

/// A number of this run's own; without randomness there are not many runs to tell apart.
fn seed() -> u64 {
    let bits = SystemEntropy.bits().unwrap_or_default();
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
}

fn read_script(path: &Path) -> Result<Script, CliError> {
    let bytes = input::file(Some(path), INPUT)?;
    let told = |error: &dyn std::fmt::Display| {
        CliError::usage(say!("the script {}: {}", path, Clean::lines(error)))
    };
    let text = String::from_utf8(bytes).map_err(|error| told(&error))?;
    Script::from_toml(&text).map_err(|fault| told(&fault))
}

/// The language of the person's machine, as far as there are words in it.
fn language() -> Language {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = set("LC_ALL")
        .or_else(|| set("LC_MESSAGES"))
        .or_else(|| set("LANG"));
    match named {
        Some(name) if name.starts_with("pt") => Language::Portuguese,
        _ => Language::English,
    }
}
