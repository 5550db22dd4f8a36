//! The arguments of `toolgate policy`.

use std::ffi::OsString;

use clap::Subcommand;

use super::call::CallArgs;
use super::examples;
use crate::complete;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what would be decided about a call, and why; run nothing
    #[command(after_help = examples::EXPLAIN)]
    Explain {
        /// The tool, by name or alias
        #[arg(add = complete::tools())]
        tool: OsString,
        #[command(flatten)]
        args: CallArgs,
    },
    /// Run the rules' examples and find rules that never match
    Check,
    /// List the remembered approvals of this project
    #[command(after_help = examples::GRANTS)]
    Grants {
        /// Those of this conversation, and what it opened; the beginning of its id is enough
        #[arg(long, value_name = "ID", global = true, add = complete::conversations())]
        conversation: Option<String>,
        #[command(subcommand)]
        command: Option<GrantsCommand>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// Take a remembered approval back
    #[command(after_help = examples::REVOKE_GRANT)]
    Revoke {
        /// Its id, from the list, or the beginning of it
        #[arg(value_name = "ID")]
        grant: String,
    },
}
