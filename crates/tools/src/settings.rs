//! What the configuration says about the tools.

use std::num::NonZeroUsize;
#[cfg(any(feature = "commands", feature = "web"))]
use std::sync::Arc;

use toolgate_model::{ErrorKind, ToolError};

use crate::memory::Notes;
#[cfg(feature = "commands")]
use crate::run_command::CommandSettings;
#[cfg(feature = "web")]
use crate::{web::WebSettings, web_search::SearchProvider};

/// More results than this are never collected: nobody reads them.
const MOST_RESULTS: usize = 10_000;

/// Settings of every built-in tool, with the defaults of the specification.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// `read_file` and `read_many_files`.
    pub read: ReadSettings,
    /// `write_file` and `edit_file`.
    pub write: WriteSettings,
    /// `apply_patch`.
    pub patch: PatchSettings,
    /// `list_directory`.
    pub list: ListSettings,
    /// `glob` and `grep`.
    pub search: SearchSettings,
    /// `run_command` and its companions.
    #[cfg(feature = "commands")]
    pub commands: Arc<CommandSettings>,
    /// `web_fetch`, and the way to the network.
    #[cfg(feature = "web")]
    pub web: WebSettings,
    /// Whom `web_search` asks, in this order.
    #[cfg(feature = "web")]
    pub search_providers: Vec<Arc<dyn SearchProvider>>,
    /// Where `memory` and `write_todos` keep things.
    pub notes: Notes,
}

/// Bounds of `read_file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSettings {
    /// The most bytes of a text that is returned whole.
    pub max_file_read_bytes: u64,
    /// The most bytes that are looked at to find a range of lines.
    pub max_scan_bytes: u64,
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self {
            max_file_read_bytes: 200 * 1024,
            max_scan_bytes: 2 * 1024 * 1024,
        }
    }
}

/// Bounds of `write_file` and `edit_file`, and of each file of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSettings {
    /// The largest file that is written.
    pub max_file_bytes: u64,
}

impl WriteSettings {
    /// Refuses a content that is too large.
    pub(crate) fn check(&self, path: &str, bytes: usize) -> Result<(), ToolError> {
        if bytes as u64 <= self.max_file_bytes {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::TooLarge,
            format!(
                "`{path}` would have {bytes} bytes, and files of at most {} are written. Write less, or split it into several files.",
                self.max_file_bytes
            ),
        ))
    }
}

impl Default for WriteSettings {
    fn default() -> Self {
        Self {
            max_file_bytes: 10 * 1024 * 1024,
        }
    }
}

/// Bounds of `apply_patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchSettings {
    /// The largest patch.
    pub max_patch_bytes: u64,
}

impl Default for PatchSettings {
    fn default() -> Self {
        Self {
            max_patch_bytes: 256 * 1024,
        }
    }
}

/// Bounds of `list_directory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListSettings {
    /// The most entries of one listing.
    pub max_entries: usize,
    /// How deep a recursive listing goes at most.
    pub max_depth: usize,
}

impl Default for ListSettings {
    fn default() -> Self {
        Self {
            max_entries: 200,
            max_depth: 4,
        }
    }
}

/// Bounds of `glob` and `grep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSettings {
    /// How many results are returned where the call does not say.
    pub max_results: usize,
    /// What is passed over besides what ignore files say, in their language.
    pub excludes: String,
}

impl SearchSettings {
    /// How many results a call gets at most.
    pub(crate) fn most(&self, asked: Option<NonZeroUsize>) -> usize {
        asked
            .map_or(self.max_results, NonZeroUsize::get)
            .min(MOST_RESULTS)
    }
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            max_results: 500,
            excludes: ".git/\nnode_modules/\n".to_owned(),
        }
    }
}
