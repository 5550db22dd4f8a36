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

mod base64;
mod blocking;
mod glob;
mod grep;
mod lines;
mod list_directory;
mod names;
mod pattern;
mod place;
mod read_file;
mod read_output;
mod sanitize;
mod secrets;
mod settings;
mod text;
mod write_file;

use std::sync::Arc;

use toolgate_gate::registry::{Registry, RegistryError};
use toolgate_gate::tool::Tool;

pub use names::{aliases, profiles};
pub use settings::{ListSettings, ReadSettings, SearchSettings, ToolSettings};

/// Every built-in tool.
pub fn all(settings: &ToolSettings) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::tool(settings.read)),
        Arc::new(write_file::tool()),
        Arc::new(list_directory::tool(settings.list)),
        Arc::new(glob::tool(&settings.search)),
        Arc::new(grep::tool(&settings.search)),
        Arc::new(read_output::tool()),
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
