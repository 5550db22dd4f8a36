//! From values to the rules of the sandbox and the settings of the gate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toolgate_gate::Settings as GateSettings;
use toolgate_gate::Timeouts;
use toolgate_gate::output::BlockLimits;
use toolgate_gate::plan::CallLimits;
use toolgate_model::Access;
use toolgate_policy::{Policy, PolicyError};
use toolgate_sandbox::paths::{
    LiftedPath, OwnPlaces, PathRules, PathSandbox, RootAccess, RootRule, RulesError,
};

use crate::effective::Effective;
use crate::key_path::KeyPath;
use crate::merge::{Merged, tidy};
use crate::picture::quoted;
use crate::setting_error::{SettingError, SettingErrorKind};
use crate::settings::{ConfiguredDirectory, Network};

impl Effective {
    /// The settings of the gate. `commands_run` says whether commands run here at all: behind
    /// a sandbox, or without one because the user said so.
    pub fn gate_settings(&self, commands_run: bool) -> GateSettings {
        let tools = &self.settings().tools;
        let seconds = Duration::from_secs;
        GateSettings {
            mode: tools.mode,
            limits: CallLimits {
                max_calls: tools.max_tool_calls_per_batch,
                max_args_bytes: tools.max_tool_args_bytes,
                ..CallLimits::default()
            },
            timeouts: Timeouts {
                default: seconds(tools.timeouts.default_seconds),
                file: seconds(tools.timeouts.file_operations_seconds),
                exec: seconds(tools.timeouts.shell_commands_seconds),
            },
            max_output_bytes: tools.output.max_bytes,
            max_output_lines: tools.output.max_lines,
            blocks: BlockLimits {
                max_block_bytes: tools.output.max_block_bytes,
                max_total_bytes: tools.output.max_blocks_bytes,
                ..BlockLimits::default()
            },
            max_concurrent: tools.max_concurrent,
            on_error: tools.on_error,
            approval_timeout: tools.approval.timeout(),
            command_sandbox: commands_run,
            network_closed: tools.sandbox.network != Network::On,
            ..GateSettings::default()
        }
    }

    /// The rules of the path sandbox.
    ///
    /// # Errors
    /// Rules that cannot be compiled; [`Effective::load`] has found them before.
    pub fn path_rules(&self) -> Result<PathRules, PolicyError> {
        let sandbox = &self.settings().tools.sandbox;
        let roots: Vec<RootRule> =
            self.narrowed(sandbox.allowed_roots.iter().map(|directory| RootRule {
                path: self.place(directory),
                access: directory.access(RootAccess::ReadWrite),
            }));
        let policy = Policy::compile(self.policy_settings(), &self.layers, &str::to_owned)?;
        let mut named: Vec<PathBuf> = policy
            .named_paths()
            // A rule about deleting says nothing about what may be written there.
            .filter(|named| named.access == Access::Write)
            .map(|named| PathBuf::from(named.path))
            .filter(|path| {
                path.is_relative() || roots.iter().any(|root| path.starts_with(&root.path))
            })
            .collect();
        named.sort();
        named.dedup();
        // Only a rule about every tool opens a path to every tool and to commands.
        let lifted = policy
            .named_paths()
            .filter(|named| named.tool.is_none() && named.access != Access::Delete)
            .map(|named| LiftedPath {
                path: PathBuf::from(named.path),
                writes: named.access == Access::Write,
            })
            .collect();
        Ok(PathRules {
            roots,
            denied_patterns: sandbox.denied_patterns.clone(),
            protected_paths: sandbox.protected_paths.clone(),
            include_default_denies: sandbox.include_default_denies,
            allow_absolute: sandbox.allow_absolute,
            named,
            lifted,
            own: OwnPlaces::default(),
            home: None,
        })
    }

    /// Further directories that commands may use.
    pub fn command_directories(&self) -> Vec<RootRule> {
        let grants = &self.settings().tools.sandbox.grants;
        grants
            .iter()
            .map(|directory| RootRule {
                path: self.place(directory),
                access: directory.access(RootAccess::ReadOnly),
            })
            .collect()
    }

    fn place(&self, directory: &ConfiguredDirectory) -> PathBuf {
        tidy(&self.workspace.join(directory.path()))
    }

    /// Roots as far as the fence of an untrusted project leaves them. The first stays:
    /// paths in rules start there.
    fn narrowed(&self, roots: impl Iterator<Item = RootRule>) -> Vec<RootRule> {
        let path = KeyPath::of(["tools", "sandbox", "allowed_roots"]);
        let fence = self.merged.settings.get(&path).and_then(|setting| {
            let part = setting.parts.iter().find(|part| !part.trusted)?;
            serde_json::from_value::<Vec<ConfiguredDirectory>>(part.value.clone()).ok()
        });
        let Some(fence) = fence else {
            return roots.collect();
        };
        let overlap = |root: &Path, directory: &ConfiguredDirectory| {
            let directory = self.place(directory);
            directory.starts_with(root) || root.starts_with(&directory)
        };
        roots
            .enumerate()
            .filter(|(at, root)| {
                *at == 0 || fence.iter().any(|directory| overlap(&root.path, directory))
            })
            .map(|(_, root)| {
                let writable = fence.iter().any(|directory| {
                    directory.access(RootAccess::ReadWrite) == RootAccess::ReadWrite
                        && overlap(&root.path, directory)
                });
                let access = if writable {
                    root.access
                } else {
                    RootAccess::ReadOnly
                };
                RootRule { access, ..root }
            })
            .collect()
    }
}

/// Patterns that the path sandbox does not understand.
///
/// The sandbox itself is asked, over the workspace; where that cannot be opened there
/// is nothing to ask, and opening the real sandbox will say so.
pub(crate) fn bad_patterns(merged: &Merged, workspace: &Path) -> Vec<SettingError> {
    let mut mistakes = Vec::new();
    for key in ["denied_patterns", "protected_paths"] {
        let path = KeyPath::of(["tools", "sandbox", key]);
        let Some(setting) = merged.settings.get(&path) else {
            continue;
        };
        for part in &setting.parts {
            let (Value::Array(entries), Some((source, places))) = (&part.value, &part.places)
            else {
                continue;
            };
            let texts: Vec<String> = entries
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            if problem(workspace, texts.clone()).is_none() {
                continue;
            }
            for (at, text) in texts.into_iter().enumerate() {
                if let Some(RulesError::Pattern { pattern, problem }) =
                    problem(workspace, vec![text])
                {
                    let fault = SettingErrorKind::Pattern {
                        key: path.to_string(),
                        pattern: quoted(&pattern),
                        problem,
                    };
                    mistakes.push(SettingError::new(
                        source,
                        places.entry(at).span.clone(),
                        fault,
                    ));
                }
            }
        }
    }
    mistakes
}

fn problem(workspace: &Path, patterns: Vec<String>) -> Option<RulesError> {
    let rules = PathRules {
        denied_patterns: patterns,
        ..PathRules::new(workspace)
    };
    match PathSandbox::open(&rules) {
        Err(error @ RulesError::Pattern { .. }) => Some(error),
        _ => None,
    }
}
