//! The built-in tools.
//!
//! ```text
//!  args (fit the schema) ──▶ tool ──▶ cx.wall() ──▶ Output | ToolError
//!                             │        the only way to a file
//!                             └──▶ cx.session(): what was read, what was kept
//! ```
//!
//! Each tool is one file or folder, made from a struct (its arguments) and a
//! function. No tool opens a path by its name: everything goes through the path
//! wall of the context. What can go wrong is said in the words of a model: what
//! was wrong, what is there instead, what to do next.
//!
//! [`register_all`] puts the tools, their other names and the profiles into a registry.

mod apply_patch;
mod base64;
mod blocking;
mod change;
mod edit_file;
mod glob;
mod grep;
mod lines;
mod list_directory;
mod names;
mod pattern;
mod place;
mod read_file;
mod read_many_files;
mod read_output;
mod run_command;
mod sanitize;
mod secrets;
mod settings;
mod text;
mod write_file;

use std::sync::Arc;

use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_gate::tool::Tool;

pub use apply_patch::formats as patch;
pub use names::{aliases, profiles};
pub use run_command::CommandSettings;
pub use settings::{
    ListSettings, PatchSettings, ReadSettings, SearchSettings, ToolSettings, WriteSettings,
};

/// Every built-in tool.
pub fn all(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::tool(settings.read)),
        Arc::new(read_many_files::tool(settings.read)),
        Arc::new(write_file::tool(settings.write)),
        Arc::new(edit_file::tool(settings.write)),
        Arc::new(apply_patch::ApplyPatch::new(settings.patch, settings.write)),
        Arc::new(list_directory::tool(settings.list)),
        Arc::new(glob::tool(&settings.search)),
        Arc::new(grep::tool(&settings.search)),
        Arc::new(read_output::tool()),
        Arc::new(run_command::tool(&settings.commands)),
        Arc::new(run_command::output_tool()),
        Arc::new(run_command::stop_tool()),
        Arc::new(sanitize::tool()),
    ]
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
