//! The built-in tools.
//!
//! ```
//! use toolgate::Registry;
//! use toolgate::tools::{ToolSettings, register_all};
//!
//! let registry = Registry::new();
//! register_all(&registry, &ToolSettings::default())?;
//! assert!(registry.get("read_file").is_some());
//! assert_eq!(registry.canonical("ls"), "list_directory");
//! # Ok::<(), toolgate::registry::RegistryError>(())
//! ```

#[cfg(feature = "sandbox")]
pub use toolgate_tools::CommandSettings;
#[cfg(feature = "web")]
pub use toolgate_tools::{
    Brave, Hit as SearchHit, SearchError, SearchProvider, Searxng,
    web::{Internet, Network as WebNetwork, PrivateHosts, Web, WebLimits, WebSettings},
};
pub use toolgate_tools::{
    ListSettings, Notes, PatchSettings, ReadSettings, SearchSettings, ToolSettings, WriteSettings,
    aliases, all, profiles, register_all,
};
