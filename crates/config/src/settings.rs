//! The effective values as types.
//!
//! There are no defaults here: they stand in the catalog, and a field that the
//! catalog does not fill is an error of this program that a test finds.

mod providers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolgate_gate::OnError;
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_model::Action;
use toolgate_policy::{Mode, Trust};
use toolgate_sandbox::paths::RootAccess;

pub use providers::{Price, Provider, ProviderKind, Reasoning, ReasoningLevel, WireKind};

/// Everything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `[tools]`.
    pub tools: Tools,
    /// `[defaults]`.
    pub defaults: Defaults,
    /// `[presets.NAME]`.
    #[serde(default)]
    pub presets: BTreeMap<String, Preset>,
    /// `[providers.NAME]`.
    #[serde(default)]
    pub providers: BTreeMap<String, Provider>,
    /// `[search]`.
    pub search: Search,
    /// `[server]`.
    pub server: Server,
    /// `[journal]`.
    #[serde(default)]
    pub journal: Journal,
}

/// `[tools]`, without the rules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// What tools are for.
    #[serde(deserialize_with = "tools_mode")]
    pub mode: ToolsMode,
    /// The most calls of one batch.
    pub max_tool_calls_per_batch: usize,
    /// How often a model may call tools before it has to answer.
    pub max_tool_iterations_per_user_turn: usize,
    /// The most bytes of one call's arguments.
    pub max_tool_args_bytes: usize,
    /// Whether models are told the project's instructions.
    pub project_instructions: bool,
    /// How many calls may run side by side.
    pub max_concurrent: usize,
    /// What happens to the rest of a batch after a failure.
    #[serde(deserialize_with = "on_error")]
    pub on_error: OnError,
    /// Under which names tools are offered.
    pub profile: Option<String>,
    /// `[tools.approval]`.
    pub approval: Approval,
    /// `[tools.sandbox]`.
    pub sandbox: Sandbox,
    /// `[tools.timeouts]`.
    pub timeouts: Timeouts,
    /// `[tools.output]`.
    pub output: Output,
    /// `[tools.environment]`.
    pub environment: Environment,
    /// `[tools.read_file]`.
    pub read_file: ReadFile,
    /// `[tools.write_file]`.
    pub write_file: WriteFile,
    /// `[tools.apply_patch]`.
    pub apply_patch: ApplyPatch,
    /// `[tools.list_directory]`.
    pub list_directory: ListDirectory,
    /// `[tools.web_fetch]`.
    pub web_fetch: WebFetch,
    /// `[[tools.definitions]]`.
    pub definitions: Vec<ManualTool>,
}

/// `[tools.approval]`, without the lists that stand for rules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Approval {
    /// Whether tools run at all.
    pub enabled: bool,
    /// How much is done without a question.
    pub trust: Trust,
    /// The default for tools without a rule, if it was said.
    pub mode: Option<Mode>,
    /// What replaces trust and mode, if it was said.
    pub default_action: Option<Action>,
    /// Whether side effects are asked about.
    pub prompt_side_effects: bool,
    /// How long a question waits; 0 is for ever.
    pub timeout_seconds: u64,
}

impl Approval {
    /// How long a question waits; nothing means for ever.
    pub const fn timeout(&self) -> Option<Duration> {
        match self.timeout_seconds {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        }
    }
}

/// `[tools.sandbox]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// Directories that tools may use; the first is the working directory.
    pub allowed_roots: Vec<ConfiguredDirectory>,
    /// Paths that are neither read nor written, besides the built-in ones.
    pub denied_patterns: Vec<String>,
    /// Paths that are not written, besides the built-in ones.
    pub protected_paths: Vec<String>,
    /// Whether absolute paths into a root are understood.
    pub allow_absolute: bool,
    /// Whether the built-in denied paths count.
    pub include_default_denies: bool,
    /// Whether commands need a sandbox.
    pub command_sandbox: CommandSandboxMode,
    /// What commands reach of the network.
    pub network: Network,
    /// Further directories for commands.
    pub grants: Vec<ConfiguredDirectory>,
}

/// Whether commands run in the command sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSandboxMode {
    /// Behind it, or not at all.
    Required,
    /// Without it, each one asked about.
    Off,
}

/// What commands reach of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    Off,
    /// The machine itself.
    Loopback,
    /// Everything.
    On,
}

/// A directory: text, or a table with what may be done there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ConfiguredDirectory {
    /// Just the directory.
    Plain(PathBuf),
    /// The directory and what may be done there.
    With {
        /// The directory.
        path: PathBuf,
        /// What may be done there.
        access: Option<DirectoryAccess>,
    },
}

/// What may be done in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryAccess {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

impl ConfiguredDirectory {
    /// Where it is, as it was written.
    pub fn path(&self) -> &Path {
        match self {
            Self::Plain(path) | Self::With { path, .. } => path,
        }
    }

    /// What may be done there; `unsaid` where nothing was said.
    pub const fn access(&self, unsaid: RootAccess) -> RootAccess {
        match self {
            Self::With {
                access: Some(DirectoryAccess::Read),
                ..
            } => RootAccess::ReadOnly,
            Self::With {
                access: Some(DirectoryAccess::Write),
                ..
            } => RootAccess::ReadWrite,
            Self::Plain(_) | Self::With { access: None, .. } => unsaid,
        }
    }
}

/// `[tools.timeouts]`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// Every other tool.
    pub default_seconds: u64,
    /// Tools that work on files.
    pub file_operations_seconds: u64,
    /// Commands.
    pub shell_commands_seconds: u64,
}

/// `[tools.output]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The most bytes of a result.
    pub max_bytes: usize,
    /// The most lines of a result.
    pub max_lines: Option<usize>,
    /// The most bytes of one block.
    pub max_block_bytes: usize,
    /// The most bytes of all blocks of a result.
    pub max_blocks_bytes: usize,
    /// The most bytes that are kept of one full output.
    pub keep_bytes: u64,
    /// The most bytes that are kept of all of them.
    pub keep_total_bytes: u64,
}

/// `[tools.environment]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Variables that commands see although they would be stripped.
    pub keep: Vec<String>,
    /// Variables that commands do not see.
    pub strip: Vec<String>,
}

/// `[tools.read_file]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// The most bytes that one read returns.
    pub max_file_read_bytes: u64,
    /// The most bytes that are looked through for a range of lines.
    pub max_scan_bytes: u64,
}

/// `[tools.write_file]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// The largest file that is written.
    pub max_file_bytes: u64,
}

/// `[tools.apply_patch]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatch {
    /// The largest patch.
    pub max_patch_bytes: u64,
}

/// `[tools.list_directory]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    /// The most entries that a call may ask for.
    pub max_entries: usize,
    /// The deepest that a call may ask for.
    pub max_depth: usize,
}

/// A tool that the user answers for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManualTool {
    /// Its name.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// `[defaults]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The provider that is asked.
    pub provider: Option<String>,
    /// The model that is asked.
    pub model: Option<String>,
    /// The preset.
    pub preset: Option<String>,
    /// The language of the system prompt.
    pub language: PromptLanguage,
}

/// The language of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptLanguage {
    /// That of the user's locale, as far as there is a prompt in it.
    Auto,
    /// English.
    En,
    /// Portuguese.
    Pt,
}

/// `[presets.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// What it is for.
    pub description: Option<String>,
    /// The model to talk to.
    pub model: Option<String>,
    /// The first instructions to the model.
    pub system_prompt: Option<String>,
    /// Under which names tools are offered.
    pub profile: Option<String>,
    /// How much is done without a question.
    pub trust: Option<Trust>,
}

/// `[search]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// SearXNG, asked first.
    #[serde(default)]
    pub searxng: Searxng,
    /// Brave Search, asked second.
    #[serde(default)]
    pub brave: Brave,
}

/// `[search.searxng]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searxng {
    /// Where it is reached; without it, it is not asked.
    pub url: Option<String>,
}

/// `[search.brave]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brave {
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
}

/// `[server]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The address to listen on.
    pub host: String,
    /// The port to listen on.
    pub port: u16,
    /// Pages that may connect.
    pub allowed_origins: Vec<String>,
    /// Names under which it may be called.
    pub allowed_hosts: Vec<String>,
    /// Directories that conversations may be about.
    pub workspaces: Vec<PathBuf>,
    /// The certificates, PEM.
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, PEM.
    pub tls_key: Option<PathBuf>,
    /// Whether plain HTTP may be spoken beyond this machine.
    pub allow_plain_remote: bool,
    /// The most connections at once.
    pub max_connections: usize,
    /// The most conversations of one token that are open at once.
    pub max_conversations: usize,
    /// The most requests and frames of one token per second.
    pub requests_per_second: u32,
}

/// `[tools.web_fetch]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebFetch {
    /// Hosts of private networks that may be contacted.
    pub private_hosts: Vec<String>,
}

/// `[journal]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The journal's file.
    pub path: Option<PathBuf>,
    /// The size at which the oldest contents are pruned.
    pub max_bytes: Option<u64>,
}

fn tools_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolsMode, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "disabled" => Ok(ToolsMode::Disabled),
        "parse_only" => Ok(ToolsMode::ParseOnly),
        "enabled" => Ok(ToolsMode::Enabled),
        other => Err(serde::de::Error::custom(format!(
            "there is no mode `{other}`"
        ))),
    }
}

fn on_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OnError, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "continue" => Ok(OnError::Continue),
        "stop" => Ok(OnError::Stop),
        other => Err(serde::de::Error::custom(format!(
            "there is no `on_error` called `{other}`"
        ))),
    }
}
