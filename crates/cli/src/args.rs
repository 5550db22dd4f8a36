//! The command line as it is typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::complete;
use crate::counted::Counted;

mod call;
mod examples;
mod policy;

use call::CallArgs;
pub(crate) use policy::{GrantsCommand, PolicyCommand};

/// Stands between a language model and your machine: checks its tool calls, asks you,
/// runs them in a sandbox and hands the results back.
#[derive(Debug, Parser)]
#[command(
    name = "toolgate",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Common {
    /// The directory that tools may use [default: the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// A further configuration file, trusted, above the user's and the project's
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The journal's file [default: journal.db among Toolgate's own files]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Who says yes: you on the terminal, everything, or nobody [default: ask on a terminal]
    #[arg(long, global = true, value_enum, value_name = "WHO")]
    pub(crate) approve: Option<Approve>,
    /// How much the model is trusted: supervised, guided or autonomous
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) trust: Option<String>,
    /// Under which names tools are offered: bash, classic or shell [default: their own]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Appends a JSON line to this file for every call: which, what was decided, how it ended
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Writes counts of calls to this file at the end, as text for Prometheus
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
    #[arg(skip)]
    pub(crate) counted: Counted,
    /// Machine-readable output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// The person on the terminal.
    Ask,
    /// Yes to everything that may be asked.
    All,
    /// Nobody: what needs a yes is not run.
    None,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one call and print its result as a JSON line
    #[command(after_help = examples::EXEC)]
    Exec {
        /// The tool, by name or alias
        #[arg(add = complete::tools())]
        tool: OsString,
        #[command(flatten)]
        args: CallArgs,
        /// Go on with this conversation: what was read in it is known, and has to be
        #[arg(long, value_name = "ID", add = complete::conversations())]
        conversation: Option<String>,
    },
    /// Run JSON lines of calls; print one result line each
    #[command(after_help = examples::BATCH)]
    Batch {
        /// The file with the calls [default: standard input]
        file: Option<PathBuf>,
        /// Take more calls than max_tool_calls_per_batch
        #[arg(long)]
        unlimited: bool,
        /// Go on with this conversation [default: a new one]
        #[arg(long, value_name = "ID", add = complete::conversations())]
        conversation: Option<String>,
    },
    /// Run one turn with a model: its calls too, until it is done
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Talk with a model in the terminal, and approve its calls
    #[command(after_help = examples::CHAT)]
    Chat(ChatArgs),
    /// Serve conversations over HTTP and WebSocket
    #[command(after_help = examples::SERVE)]
    Serve(ServeArgs),
    /// List the configured providers and the models they offer
    #[command(after_help = examples::MODELS)]
    Models(Asked),
    /// Read calls out of a recorded answer of a model
    #[command(after_help = examples::PARSE)]
    Parse {
        /// The file with the answer [default: standard input]
        file: Option<PathBuf>,
        /// How the answer is written
        #[arg(long, value_enum)]
        format: ParseFormat,
    },
    /// Show the tools as a wire format has them
    #[command(after_help = examples::TOOLS)]
    Tools {
        /// toolgate, anthropic, openai-chat, openai-responses, ollama or mcp
        #[arg(long, default_value = "toolgate", value_name = "WIRE")]
        format: String,
    },
    /// Explain and check the rules
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Trust this project's toolgate.toml until it changes
    #[command(after_help = examples::TRUST, args_conflicts_with_subcommands = true)]
    Trust {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(subcommand)]
        command: Option<TrustCommand>,
    },
    /// Show, export, check and prune what is on record
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Repair an interrupted conversation without running anything
    #[command(after_help = examples::RESUME)]
    Resume(Resumed),
    /// Give files back what they held before a conversation or call
    #[command(after_help = examples::UNDO)]
    Undo(Undone),
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Say which sandboxes this machine has, and how to get others
    Doctor,
    /// Show what Toolgate does, with nothing configured
    Demo,
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all into a directory
    #[command(after_help = examples::MAN)]
    Man {
        /// The directory
        dir: Option<PathBuf>,
    },
}

const TOKEN_EXAMPLES: &str = "Examples:\n  toolgate serve token create ci --role approver\n  toolgate serve token create bot --directory /srv/project --scope scope.json";

/// How a server listens.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: as configured, 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// The port to listen on, 0 for any free one [default: as configured, 7433]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Create, list and revoke tokens of users and programs
    #[command(subcommand)]
    Token(TokenCommand),
    /// Print the OpenAPI document of the HTTP interface
    Openapi,
    /// Print the JSON Schema of the WebSocket's frames
    Frames,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it once
    #[command(after_help = TOKEN_EXAMPLES)]
    Create {
        /// Whose it is
        name: String,
        /// owner (own conversations), approver (watch and answer) or reader (watch)
        #[arg(long, value_name = "ROLE", default_value = "owner")]
        role: String,
        /// A directory that it may use, again for more [default: the workspace]
        #[arg(long = "directory", value_name = "DIR")]
        directories: Vec<PathBuf>,
        /// A file with the scope of its conversations: {"permissions": {TOOL: {"allowed": true}}}
        #[arg(long, value_name = "FILE")]
        scope: Option<PathBuf>,
    },
    /// List the tokens, without their secrets
    List,
    /// Revoke a token, by its id or name
    Revoke {
        /// Its id or name, from the list
        token: String,
    },
}

/// Which model is asked, and where.
#[derive(Clone, Debug, Args)]
pub(crate) struct Asked {
    /// A provider of the configuration, or anthropic, openai-chat, openai-responses or ollama
    #[arg(long, value_name = "NAME", add = complete::providers())]
    pub(crate) provider: Option<String>,
    /// The model [default: the preset's, else the provider's]
    #[arg(long, value_name = "NAME", add = complete::models())]
    pub(crate) model: Option<String>,
    /// Where the provider is, as its own SDK takes it: http://host, for OpenAI http://host/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

impl From<&Asked> for toolgate_app::Asked {
    fn from(asked: &Asked) -> Self {
        Self {
            provider: asked.provider.clone(),
            model: asked.model.clone(),
            base_url: asked.base_url.clone(),
        }
    }
}

/// One turn.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("which").args(["conversation", "go_on"])))]
pub(crate) struct RunArgs {
    /// What to do, or - for standard input [default: standard input]
    #[arg(conflicts_with = "file")]
    pub(crate) prompt: Option<String>,
    /// A file with what to do
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Go on with this conversation [default: a new one]
    #[arg(long, value_name = "ID", add = complete::conversations())]
    pub(crate) conversation: Option<String>,
    /// Go on with the last conversation of this workspace
    #[arg(long = "continue", short = 'c', conflicts_with = "history")]
    pub(crate) go_on: bool,
    /// A conversation to go on with that was held elsewhere, as `journal export --format json` writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["conversation", "results"])]
    pub(crate) history: Option<PathBuf>,
    /// Results of the calls that the last turn left to you: JSON lines {"call_id", "content"}, or "error" instead of "content"
    #[arg(long, value_name = "FILE", requires = "which", conflicts_with_all = ["prompt", "file"])]
    pub(crate) results: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// A recorded conversation that plays the model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["provider", "base_url"])]
    pub(crate) script: Option<PathBuf>,
    /// Writes what the model says to this new file, to be played with --script
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// How the model works: a name from `toolgate config presets` [default: coder]
    #[arg(long, value_name = "NAME", add = complete::presets())]
    pub(crate) preset: Option<String>,
}

/// A conversation on the terminal.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChatArgs {
    /// Go on with this conversation; the beginning of its id is enough
    #[arg(long, value_name = "ID", add = complete::conversations())]
    pub(crate) conversation: Option<String>,
    /// Go on with the newest conversation of this workspace
    #[arg(long = "continue", conflicts_with = "conversation")]
    pub(crate) go_on: bool,
    /// Linear text with labels and numbered choices, for screen readers
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// A recorded conversation that plays the model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["provider", "base_url"])]
    pub(crate) script: Option<PathBuf>,
    /// How the model works: a name from `toolgate config presets` [default: coder]
    #[arg(long, value_name = "NAME", add = complete::presets())]
    pub(crate) preset: Option<String>,
}

/// What becomes of calls that were cut off.
#[derive(Clone, Debug, Args)]
pub(crate) struct Resumed {
    /// The conversation, from `toolgate journal list`, or the beginning of its id
    #[arg(add = complete::conversations())]
    pub(crate) conversation: String,
    /// Go on with what there is: the model is told what is known of each call
    #[arg(long, conflicts_with = "discard")]
    pub(crate) keep: bool,
    /// Give the batch up: the model is told that none of its results counts
    #[arg(long)]
    pub(crate) discard: bool,
}

/// What is taken back.
#[derive(Clone, Debug, Args)]
pub(crate) struct Undone {
    /// The conversation, or the beginning of its id [default: the last one here that changed files]
    #[arg(add = complete::conversations())]
    pub(crate) conversation: Option<String>,
    /// Only what this call did
    #[arg(long, value_name = "ID", conflicts_with = "turn")]
    pub(crate) call: Option<String>,
    /// Only what the calls of this turn did
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u64>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// How an exported conversation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Markdown.
    Md,
    /// JSON, for other programs.
    Json,
    /// One HTML page that needs nothing else.
    Html,
}

impl From<ExportFormat> for toolgate_app::export::ExportFormat {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Md => Self::Md,
            ExportFormat::Json => Self::Json,
            ExportFormat::Html => Self::Html,
        }
    }
}

/// How an answer of a model is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ParseFormat {
    /// Text with fenced tool blocks.
    Fenced,
    /// A stream of Anthropic's Messages.
    Anthropic,
    /// A stream of OpenAI's Chat Completions.
    OpenaiChat,
    /// A stream of OpenAI's Responses.
    OpenaiResponses,
    /// A stream of Ollama.
    Ollama,
}

impl From<ParseFormat> for toolgate_app::answers::AnswerFormat {
    fn from(format: ParseFormat) -> Self {
        match format {
            ParseFormat::Fenced => Self::Fenced,
            ParseFormat::Anthropic => Self::Anthropic,
            ParseFormat::OpenaiChat => Self::OpenaiChat,
            ParseFormat::OpenaiResponses => Self::OpenaiResponses,
            ParseFormat::Ollama => Self::Ollama,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// List the conversations on record, the newest first
    #[command(after_help = examples::LIST)]
    List {
        /// At most so many
        #[arg(long, short = 'n', value_name = "N")]
        limit: Option<usize>,
        /// Only those that went on since then: 2h, 3d, 1w, or a date like 2026-01-31
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
    },
    /// Show what happened in a conversation, in order
    #[command(after_help = examples::SHOW)]
    Show {
        /// The conversation, from the list, or the beginning of its id
        #[arg(add = complete::conversations())]
        conversation: String,
        /// Only of this call
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// Only of this kind: received, planned, asked, answered, started, intended, finished, …
        #[arg(long)]
        kind: Option<String>,
        /// Everything that each entry says
        #[arg(long)]
        full: bool,
    },
    /// Write a conversation for people or other programs
    #[command(after_help = examples::EXPORT)]
    Export {
        /// The conversation, from the list, or the beginning of its id
        #[arg(add = complete::conversations())]
        conversation: String,
        /// How it is written
        #[arg(long, value_enum)]
        format: ExportFormat,
        /// The file to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check that nothing on record was changed, removed or added
    #[command(after_help = examples::VERIFY)]
    Verify {
        /// A file with an anchor from an earlier check: the record has to contain it
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
    },
    /// Remove old contents; what happened stays on record
    #[command(after_help = examples::PRUNE)]
    Prune {
        /// What was mentioned last more than so many days ago
        #[arg(long, value_name = "DAYS", required_unless_present = "to_bytes")]
        older_than_days: Option<u64>,
        /// The oldest, until the file holds at most so many bytes
        #[arg(long, value_name = "BYTES")]
        to_bytes: Option<u64>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List the trusted files
    List,
    /// Take trust back
    Revoke {
        /// The file [default: the project's]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value in force and where it comes from
    Show,
    /// Print the JSON Schema of the configuration, for editors
    Schema,
    /// List the presets and what each is for
    Presets,
}
