//! The command sandbox of a workspace.

use std::ffi::OsString;
#[cfg(feature = "tools")]
use std::sync::{Arc, OnceLock};

use toolgate_sandbox::command::Network;
#[cfg(feature = "tools")]
use {
    toolgate_gate::middleware::{AskAlways, Middleware},
    toolgate_sandbox::command::{CommandWall, Rung, WallRules},
    toolgate_sandbox::env,
    toolgate_sandbox::paths::PathWall,
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
    pub(super) fn start(&self, paths: &PathWall, settings: &CommandSettings) -> Started {
        let mut rules = WallRules::new(paths.clone());
        rules.network = self.network;
        let none: [&str; 0] = [];
        let variables = self.environment.iter().map(|(name, value)| (name, value));
        let wall = CommandWall::start(&rules).map_err(|error| error.to_string());
        let roots = paths.roots().iter();
        Started {
            settings: CommandSettings {
                wall: OnceLock::from(wall),
                roots: roots.map(|root| root.path().to_path_buf()).collect(),
                env: env::clean(variables, &none, &none),
                ..settings.clone()
            },
        }
    }
}

#[cfg(feature = "tools")]
impl Started {
    fn wall(&self) -> Option<&CommandWall> {
        self.settings.wall.get()?.as_ref().ok()
    }

    pub(super) fn is_up(&self) -> bool {
        self.wall().is_some()
    }

    /// Landlock alone cannot hide denied files inside the roots, so every command needs approval.
    pub(super) fn asks(&self) -> Option<Arc<dyn Middleware>> {
        let reason = "this machine cannot hide denied files of the workspace from commands";
        let wall = self.wall()?;
        (wall.rung() == Rung::Landlock)
            .then(|| Arc::new(AskAlways::about("run_command", reason)) as Arc<dyn Middleware>)
    }
}
