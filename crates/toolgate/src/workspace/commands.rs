//! The command sandbox of a workspace.

use std::ffi::OsString;
#[cfg(feature = "tools")]
use std::sync::{Arc, OnceLock};

use toolgate_sandbox::command::Network;
#[cfg(feature = "tools")]
use {
    toolgate_gate::middleware::{AskAlways, Middleware},
    toolgate_sandbox::command::{CommandSandbox, Level, SandboxRules},
    toolgate_sandbox::env,
    toolgate_sandbox::paths::PathSandbox,
    toolgate_tools::CommandSettings,
};

/// What commands are given.
#[derive(Default)]
pub(super) struct Commands {
    pub(super) network: Network,
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// The settings of commands, with the sandbox or the reason why there is none.
#[cfg(feature = "tools")]
pub(super) struct Started {
    pub(super) settings: CommandSettings,
}

#[cfg(feature = "tools")]
impl Commands {
    pub(super) fn start(&self, paths: &PathSandbox, settings: &CommandSettings) -> Started {
        let mut rules = SandboxRules::new(paths.clone());
        rules.network = self.network;
        rules.shared = true;
        let none: [&str; 0] = [];
        let variables = self.environment.iter().map(|(name, value)| (name, value));
        let sandbox = CommandSandbox::start(&rules).map_err(|error| error.to_string());
        let roots = paths.roots().iter();
        Started {
            settings: CommandSettings {
                sandbox: OnceLock::from(sandbox),
                roots: roots.map(|root| root.path().to_path_buf()).collect(),
                env: env::clean(variables, &none, &none),
                ..settings.clone()
            },
        }
    }
}

#[cfg(feature = "tools")]
impl Started {
    fn sandbox(&self) -> Option<&CommandSandbox> {
        self.settings.sandbox.get()?.as_ref().ok()
    }

    pub(super) fn is_up(&self) -> bool {
        self.sandbox().is_some()
    }

    /// Why there is no sandbox.
    pub(super) fn missing(&self) -> Option<Arc<str>> {
        let error = self.settings.sandbox.get()?.as_ref().err()?;
        Some(error.as_str().into())
    }

    /// Whether commands have no network but a loopback of their own.
    pub(super) fn network_is_closed(&self) -> bool {
        let network = self.sandbox().map(CommandSandbox::network);
        network.is_some_and(|network| network != Network::On)
    }

    /// Landlock alone cannot hide denied files inside the roots, so every command needs approval.
    pub(super) fn asks(&self) -> Option<Arc<dyn Middleware>> {
        let reason = "this machine cannot hide denied files of the workspace from commands";
        let sandbox = self.sandbox()?;
        (sandbox.level() == Level::Landlock)
            .then(|| Arc::new(AskAlways::about("run_command", reason)) as Arc<dyn Middleware>)
    }
}
