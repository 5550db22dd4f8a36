//! What stands around commands, from the configuration and this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolgate_config::Effective;
use toolgate_config::settings::{CommandSandbox, Network as Reach};
use toolgate_sandbox::command::{
    Appeared, CommandWall, Grant, Network, Omit, Rung, SetupFailure, WallRules,
};
use toolgate_sandbox::env;
use toolgate_sandbox::paths::{PathWall, Root, RootAccess};
use toolgate_tools::CommandSettings;

use crate::home::Home;
use crate::out::Out;
use crate::secrets;

/// What stands around commands, and what they are given.
pub(crate) struct AroundCommands {
    pub(crate) settings: Arc<CommandSettings>,
    rules: WallRules,
    /// Which rungs are wanted.
    sandbox: CommandSandbox,
}

impl AroundCommands {
    /// Everything but the wall.
    pub(crate) fn new(config: &Effective, home: &Home, paths: &PathWall) -> Self {
        let tools = &config.settings().tools;
        let rules = wall_rules(config, home, paths);
        let roots = paths.roots().iter();
        let home = std::env::var("HOME").ok().filter(|home| !home.is_empty());
        let strip = [tools.environment.strip.clone(), secrets::named(config)].concat();
        let mut env = env::clean(std::env::vars_os(), &tools.environment.keep, &strip);
        let grants: Vec<PathBuf> = rules
            .grants
            .iter()
            .map(|grant| grant.path.clone())
            .collect();
        env.extend(homes(&grants, home.as_deref(), &env));
        Self {
            settings: Arc::new(CommandSettings {
                grants,
                wall: OnceLock::new(),
                roots: roots.map(|root| root.path().to_path_buf()).collect(),
                home,
                env,
                timeout: Duration::from_secs(tools.timeouts.shell_commands_seconds),
            }),
            rules,
            sandbox: tools.sandbox.command_sandbox,
        }
    }

    /// Starts the wall. That is another process, which takes its time to look around.
    pub(crate) fn start(&self) {
        self.settings
            .wall
            .get_or_init(|| CommandWall::start(&self.rules).map_err(|error| error.to_string()));
    }

    /// Where the wall stands.
    pub(crate) fn wall(&self) -> Option<&CommandWall> {
        self.settings.wall.get()?.as_ref().ok()
    }

    /// Reports what commands of a killed run had left under protected names.
    pub(crate) fn tell_earlier(&self, out: &Out) {
        let earlier = self.wall().map(CommandWall::earlier);
        tell_appeared(&earlier.unwrap_or_default(), "an interrupted command", out);
    }

    /// Why every command is asked about, where it is.
    pub(crate) fn asks(&self) -> Option<String> {
        self.wall().and_then(|wall| why_asked(self.sandbox, wall))
    }
}

/// Reports what background commands left under protected names, where no result did.
pub(crate) fn tell_unreported(commands: &CommandSettings, out: &Out) {
    if let Some(Ok(wall)) = commands.wall.get() {
        tell_appeared(&wall.unreported(), "a background command", out);
    }
}

fn tell_appeared(appeared: &[Appeared], by: &str, out: &Out) {
    for one in appeared {
        let (path, rule) = (one.path.display(), &one.rule);
        out.remark(match (&one.moved_to, one.error) {
            (Some(to), _) => format!(
                "{path} is a protected name ({rule}): {by} had made it, and it was moved to {}. Move it back if it is yours.",
                to.display()
            ),
            (None, Some(error)) => format!(
                "{path} is a protected name ({rule}): {by} had made it, and it could not be moved ({error}). Look at it before you use it."
            ),
            (None, None) => continue,
        });
    }
}

/// Programs that look for a folder of theirs in the home folder, and how they are told
/// otherwise. Commands have a home of their own, so a granted folder has to be named.
const HOMES: [(&str, &str); 6] = [
    (".cargo", "CARGO_HOME"),
    (".rustup", "RUSTUP_HOME"),
    ("go", "GOPATH"),
    (".gradle", "GRADLE_USER_HOME"),
    (".npm", "npm_config_cache"),
    (".cache/pip", "PIP_CACHE_DIR"),
];

fn homes(
    grants: &[PathBuf],
    home: Option<&str>,
    env: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let Some(home) = home else {
        return Vec::new();
    };
    HOMES
        .iter()
        .map(|(folder, name)| (Path::new(home).join(folder), *name))
        .filter(|(folder, name)| {
            grants.contains(folder) && !env.iter().any(|(known, _)| known == *name)
        })
        .map(|(folder, name)| (name.into(), folder.into()))
        .collect()
}

/// What the wall is built from.
pub(crate) fn wall_rules(config: &Effective, home: &Home, paths: &PathWall) -> WallRules {
    let sandbox = &config.settings().tools.sandbox;
    let mut rules = WallRules::new(paths.clone());
    for folder in config.command_folders() {
        let in_root =
            |root: &Root| folder.path.starts_with(root.path()) && folder.path != root.path();
        if folder.access == RootAccess::ReadWrite && paths.roots().iter().any(in_root) {
            // A protected path of the workspace that commands may change all the same.
            rules.opened.push(folder.path);
        } else {
            rules.grants.push(Grant {
                path: folder.path,
                access: folder.access,
            });
        }
    }
    rules.network = match sandbox.network {
        Reach::Off => Network::Off,
        Reach::Loopback => Network::Loopback,
        Reach::On => Network::On,
    };
    rules.records = Some(home.wall_records());
    if sandbox.command_sandbox == CommandSandbox::Off {
        // What is left is the supervisor, which ends everything a command started.
        rules.highest = Rung::Landlock;
        rules.network = Network::On;
        rules.omit = Omit {
            landlock: true,
            seccomp: true,
        };
    }
    rules
}

fn why_asked(sandbox: CommandSandbox, wall: &CommandWall) -> Option<String> {
    if sandbox == CommandSandbox::Off {
        return Some(
            "commands run without any wall here (command_sandbox = \"off\"), so each one is asked about"
                .to_owned(),
        );
    }
    let because = |failure: &SetupFailure| format!(" ({failure})");
    (wall.rung() == Rung::Landlock).then(|| {
        format!(
            "secrets inside the workspace cannot be hidden from commands here, so each one is asked about{}; `toolgate doctor` says what to do",
            wall.stepped_down().map(because).unwrap_or_default()
        )
    })
}
