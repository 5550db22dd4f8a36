//! The top layer: what the command line says.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolgate_gate::plan::Mode as ToolsMode;
use toolgate_policy::{Mode, Trust};

use crate::catalog;
use crate::key_path::KeyPath;
use crate::layer::{Layer, LayerName};
use crate::read::{Found, Places};

/// Values from the command line; what is `None` was not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--trust`.
    pub trust: Option<Trust>,
    /// `--approval-mode`.
    pub approval_mode: Option<Mode>,
    /// `--tools-mode`.
    pub tools_mode: Option<ToolsMode>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--journal`.
    pub journal: Option<PathBuf>,
}

impl Options {
    pub(crate) fn layer(&self) -> Layer {
        let tools_mode = self.tools_mode.map(|mode| match mode {
            ToolsMode::Disabled => "disabled",
            ToolsMode::ParseOnly => "parse_only",
            ToolsMode::Enabled => "enabled",
        });
        let said: [(&str, &'static str, Option<Value>); 5] = [
            (
                "tools.approval.trust",
                "--trust",
                self.trust.map(|trust| json!(trust.as_str())),
            ),
            (
                "tools.approval.mode",
                "--approval-mode",
                self.approval_mode.map(|mode| json!(mode.as_str())),
            ),
            (
                "tools.mode",
                "--tools-mode",
                tools_mode.map(|mode| json!(mode)),
            ),
            (
                "tools.profile",
                "--profile",
                self.profile.as_ref().map(|profile| json!(profile)),
            ),
            (
                "journal.path",
                "--journal",
                self.journal
                    .as_ref()
                    .map(|path| json!(path.to_string_lossy())),
            ),
        ];
        let found = said.into_iter().filter_map(|(path, option, value)| {
            let path = KeyPath::of(path.split('.'));
            Some(Found {
                key: catalog::find(&path)?,
                path,
                value: value?,
                places: Places::default(),
                option: Some(option),
            })
        });
        Layer {
            name: LayerName::Options,
            trusted: true,
            source: None,
            found: found.collect(),
        }
    }
}
