//! The model of a turn: a provider over HTTP, or a recording.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toolgate_config::Effective;
use toolgate_config::settings::{Preset, PromptLanguage, ProviderKind};
use toolgate_engine::{
    Context, Retry, ToolsFor, TurnSettings, context_of, instructions_prompt, system_prompt,
};
use toolgate_gate::journal::Instructions;
use toolgate_gate::plan::Mode;
use toolgate_gate::{Entropy, SystemEntropy};
use toolgate_providers::fenced::{Definition, Language};
use toolgate_providers::http::{Endpoint, HttpProvider};
use toolgate_providers::provider::{Fenced, Played, fenced_system};
use toolgate_providers::replay::Script;
use toolgate_providers::request::Frame;
use toolgate_providers::{Provider, StreamLimits, Usage};

use crate::conversation::{ScriptText, StartOptions};
use crate::error::AppError;
use crate::options::{AppOptions, Environment};
use crate::permissions;
use crate::project::Project;
use crate::provider_source::Source;
use crate::secrets;

/// The most bytes of a script.
const MAX_SCRIPT_BYTES: u64 = 16 * 1024 * 1024;

/// Who is asked, and for which model.
pub(crate) struct Asker {
    name: String,
    pub(crate) model: String,
    answers: Answers,
}

/// Who answers.
enum Answers {
    Recording(Script),
    Provider(Box<Source>, Box<Endpoint>),
}

impl Asker {
    pub(crate) fn choose(
        options: &AppOptions,
        config: &Effective,
        start: &StartOptions,
        preset: &Preset,
    ) -> Result<Self, AppError> {
        let wanted = start.asked.model.clone().or_else(|| preset.model.clone());
        let source = match &start.script {
            Some(_) => None,
            None => Some(Source::chosen(options, config, &start.asked)?),
        };
        let of_source = source
            .as_ref()
            .filter(|source| source.kind == ProviderKind::Replay);
        let script = match (&start.script, of_source) {
            (Some(text), _) => Some(parse_script(text)?),
            (None, Some(source)) => {
                let path = source.script.as_deref().ok_or_else(|| {
                    AppError::usage(format!("provider {} has no script to play", source.name))
                })?;
                Some(parse_script(&read_script(path)?)?)
            }
            (None, None) => None,
        };
        let name = source
            .as_ref()
            .map_or("replay", |source| source.name.as_str());
        let recorded = script.as_ref().map(|script| {
            let model = script.model.clone();
            model.unwrap_or_else(|| "replay".to_owned())
        });
        let configured = source.as_ref().and_then(|source| source.model.clone());
        let defaults = &config.settings().defaults;
        let by_default = defaults.model.clone();
        let by_default = by_default.filter(|_| source.is_some() && start.asked.provider.is_none());
        let named = wanted.or(by_default).or(configured).or(recorded);
        let usual = source.as_ref().and_then(Source::usual_model);
        if let Some(source) = &source {
            tell_chosen(options, source, named.as_deref().or(usual), named.is_none());
        }
        let model = named.or_else(|| usual.map(str::to_owned)).ok_or_else(|| {
            AppError::usage(format!(
                "say which model of {name} is asked: --model NAME, or `model` in [providers.{name}]; `toolgate models` lists them"
            ))
        })?;
        let name = name.to_owned();
        let answers = match (script, source) {
            (Some(script), _) => Answers::Recording(script),
            (None, Some(source)) => {
                let wire = source.wire();
                let wire = wire.ok_or_else(|| AppError::internal("a recording has no wire"))?;
                let endpoint = Box::new(source.endpoint(wire, options)?);
                Answers::Provider(Box::new(source), endpoint)
            }
            (None, None) => return Err(AppError::internal("there is nobody to ask")),
        };
        Ok(Self {
            name,
            model,
            answers,
        })
    }

    /// What a turn cost, in millionths of a dollar, where prices are configured.
    pub(crate) fn cost(&self, usage: &Usage) -> Option<u64> {
        match &self.answers {
            Answers::Recording(_) => None,
            Answers::Provider(source, _) => Some(source.prices?.cost(usage)),
        }
    }

    /// The secrets with which it is asked.
    pub(crate) fn asked_with(&self) -> Vec<(String, String)> {
        match &self.answers {
            Answers::Recording(_) => Vec::new(),
            Answers::Provider(_, endpoint) => secrets::of_provider(endpoint.secrets()),
        }
    }

    pub(crate) fn provider(
        &self,
        project: &Project,
        preset: &Preset,
        instructions: Option<&Instructions>,
    ) -> Result<Box<dyn Provider>, AppError> {
        let options = project.app.options();
        let limits = project.limits();
        let (source, endpoint) = match &self.answers {
            Answers::Recording(script) => {
                return Ok(Box::new(Played::new(script.clone(), limits)));
            }
            Answers::Provider(source, endpoint) => (source, endpoint),
        };
        let tools = project.definitions()?;
        let workspace = project.workspace.display().to_string();
        let language = match project.config.settings().defaults.language {
            PromptLanguage::Auto => language(&options.environment),
            PromptLanguage::En => Language::English,
            PromptLanguage::Pt => Language::Portuguese,
        };
        let system = match &preset.system_prompt {
            Some(words) => words.clone(),
            None => {
                let permissions = permissions::of(project, &tools);
                system_prompt(&tools, &workspace, language, &permissions)
            }
        };
        let system = match instructions {
            Some(told) => format!("{system}\n{}", instructions_prompt(told, language)),
            None => system,
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
        let mut request = source.options(&self.model);
        let (system, offered) = if fenced {
            (
                fenced_system(Some(&system), &definitions, language),
                Vec::new(),
            )
        } else {
            (system, definitions)
        };
        request.system = Some(system);
        let frame = Frame::new(endpoint.wire(), &request, &offered).map_err(AppError::usage)?;
        let stream = StreamLimits {
            args: limits,
            ..StreamLimits::default()
        };
        let client = source.client((**endpoint).clone(), options)?;
        let provider = HttpProvider::new(client, frame, stream).images(source.takes_images());
        Ok(if fenced {
            Box::new(Fenced::new(provider, limits))
        } else {
            Box::new(provider)
        })
    }

    /// The tokens of the model's context: as the configuration says, or as it is known.
    pub(crate) fn context_tokens(&self) -> Option<u64> {
        let configured = match &self.answers {
            Answers::Recording(_) => None,
            Answers::Provider(source, _) => source.context_tokens,
        };
        configured.or_else(|| context_of(&self.model))
    }

    fn context(&self) -> Option<Context> {
        let answer = match &self.answers {
            Answers::Recording(_) => None,
            Answers::Provider(source, _) => source.max_tokens,
        };
        Some(Context::new(self.context_tokens()?, answer))
    }

    fn retry(&self) -> Retry {
        let usual = Retry {
            seed: seed(),
            ..Retry::default()
        };
        match &self.answers {
            Answers::Recording(_) => usual,
            Answers::Provider(source, _) => Retry {
                longest_in_all: source.retry,
                ..usual
            },
        }
    }

    pub(crate) fn settings(&self, config: &Effective) -> TurnSettings {
        let tools = &config.settings().tools;
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
            retry: self.retry(),
            ..TurnSettings::default()
        }
    }
}

/// Says what was chosen that nobody named.
fn tell_chosen(options: &AppOptions, source: &Source, model: Option<&str>, is_usual: bool) {
    let Some(model) = model else { return };
    let name = &source.name;
    match source.found_by {
        Some(variable) => options.notice(format!(
            "no provider is configured; {variable} is set, so {name} is asked, model {model}; --provider and --model, or [defaults], choose another"
        )),
        None if is_usual => options.notice(format!(
            "no model is named; {model} of {name} is asked; --model, or `model` in [defaults], chooses another"
        )),
        None => {}
    }
}

/// A number of this run's own; without randomness there are not many runs to tell apart.
fn seed() -> u64 {
    let bits = SystemEntropy.bits().unwrap_or_default();
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
}

fn read_script(path: &Path) -> Result<ScriptText, AppError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| {
        let mut file = file.take(MAX_SCRIPT_BYTES + 1);
        file.read_to_end(&mut text)
    });
    match read {
        Err(error) => Err(AppError::usage(format!("{}: {error}", path.display()))),
        Ok(_) if text.len() as u64 > MAX_SCRIPT_BYTES => Err(AppError::usage(format!(
            "{}: more than {MAX_SCRIPT_BYTES} bytes; split it",
            path.display()
        ))),
        Ok(_) => Ok(ScriptText {
            path: path.to_path_buf(),
            text,
        }),
    }
}

fn parse_script(script: &ScriptText) -> Result<Script, AppError> {
    let told = |error: &dyn std::fmt::Display| AppError::Script {
        path: script.path.clone(),
        message: error.to_string(),
    };
    let text = std::str::from_utf8(&script.text).map_err(|error| told(&error))?;
    Script::from_toml(text).map_err(|fault| told(&fault))
}

/// The language of the user's machine, as far as there are words in it.
fn language(environment: &Environment) -> Language {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let named = set.into_iter().find_map(|name| environment.text(name));
    match named {
        Some(name) if name.starts_with("pt") => Language::Portuguese,
        _ => Language::English,
    }
}
