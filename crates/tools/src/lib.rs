//! The built-in tools.
//!
//! ```text
//!  args (fit the schema) ──▶ tool ──▶ cx.sandbox() ──▶ Output | ToolError
//!                             │        the only way to a file
//!                             └──▶ cx.session(): what was read, what was kept
//! ```
//!
//! Each tool is one file or directory, made from a struct (its arguments) and a
//! function. No tool opens a path by its name: everything goes through the path
//! sandbox of the context. What can go wrong is said in the words of a model: what
//! was wrong, what is there instead, what to do next.
//!
//! [`register_all`] puts the tools, their other names and the profiles into a registry.

mod apply_patch;
mod blocking;
mod change;
mod edit_file;
mod glob;
mod grep;
mod lines;
mod list_directory;
mod memory;
mod names;
mod pattern;
mod place;
mod placeholders;
mod read_file;
mod read_many_files;
mod read_output;
#[cfg(feature = "commands")]
mod run_command;
mod sanitize;
mod secrets;
mod settings;
mod text;
#[cfg(feature = "web")]
pub mod web;
#[cfg(feature = "web")]
mod web_fetch;
#[cfg(feature = "web")]
mod web_search;
mod write_file;
mod write_todos;

use std::sync::Arc;

use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_gate::tool::Tool;

pub use apply_patch::formats as patch;
pub use memory::Notes;
pub use names::{aliases, profiles};
pub use pattern::PathPattern;
#[cfg(feature = "commands")]
pub use run_command::{CommandSettings, ConfiguredLines};
pub use settings::{
    ListSettings, PatchSettings, ReadSettings, SearchSettings, ToolSettings, WriteSettings,
};
#[cfg(feature = "web")]
pub use web_fetch::html;
#[cfg(feature = "web")]
pub use web_search::{Brave, Hit, SearchError, SearchProvider, Searxng};

/// Every built-in tool of the features that are on.
pub fn all(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(read_file::tool(settings.read)),
        Arc::new(read_many_files::tool(settings.read)),
        Arc::new(write_file::tool(settings.write)),
        Arc::new(edit_file::tool(settings.write)),
        Arc::new(apply_patch::ApplyPatch::new(settings.patch, settings.write)),
        Arc::new(list_directory::tool(settings.list)),
        Arc::new(glob::tool(&settings.search)),
        Arc::new(grep::tool(&settings.search)),
        Arc::new(read_output::tool()),
        Arc::new(memory::tool(&settings.notes)),
        Arc::new(write_todos::tool(&settings.notes)),
        Arc::new(sanitize::tool()),
    ];
    tools.extend(commands(settings));
    tools.extend(web_tools(settings));
    tools
}

#[cfg(feature = "commands")]
fn commands(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(run_command::tool(&settings.commands)),
        Arc::new(run_command::output_tool()),
        Arc::new(run_command::stop_tool()),
    ]
}

#[cfg(not(feature = "commands"))]
fn commands(_: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}

#[cfg(feature = "web")]
fn web_tools(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    let web = Arc::new(web::Web::new(&settings.web));
    vec![
        Arc::new(web_fetch::WebFetch::new(Arc::clone(&web))),
        Arc::new(web_search::tool(web, settings.search_providers.clone())),
    ]
}

#[cfg(not(feature = "web"))]
fn web_tools(_: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}

/// Registers every built-in tool, its other names and the profiles.
pub fn register_all(registry: &Registry, settings: &ToolSettings) -> Result<(), RegistryError> {
    for tool in all(settings) {
        registry.register(tool)?;
    }
    for alias in aliases() {
        registry.alias(alias)?;
    }
    for profile in profiles() {
        registry.profile(profile)?;
    }
    Ok(())
}
