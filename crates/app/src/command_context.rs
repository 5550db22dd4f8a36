//! What stands around commands, from the configuration and this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolgate_config::Effective;
use toolgate_config::settings::{CommandSandboxMode, ConfiguredDirectory, Network as Reach};
use toolgate_sandbox::command::{
    Appeared, CommandSandbox, Grant, Level, Network, Omit, RECORDS_LOCK, Remedy, SandboxRules,
    SetupError,
};
use toolgate_sandbox::env;
use toolgate_sandbox::paths::{GitFiles, PathSandbox, Root, RootAccess};
use toolgate_tools::{CommandSettings, ConfiguredLines};

use crate::options::AppOptions;
use crate::secrets;
use crate::toolchains::Toolchains;

/// What stands around commands, and what they are given.
pub(crate) struct CommandContext {
    pub(crate) settings: Arc<CommandSettings>,
    rules: SandboxRules,
    /// Which levels are wanted.
    sandbox: CommandSandboxMode,
}

impl CommandContext {
    /// Everything but the sandbox.
    pub(crate) fn new(options: &AppOptions, config: &Effective, paths: &PathSandbox) -> Self {
        let tools = &config.settings().tools;
        let rules = sandbox_rules(options, config, paths);
        let roots = paths.roots().iter();
        let home = options.environment.text("HOME").map(str::to_owned);
        let strip = [tools.environment.strip.clone(), secrets::named(config)].concat();
        let mut env = env::clean(
            options.environment.iter().cloned(),
            &tools.environment.keep,
            &strip,
        );
        let grants: Vec<PathBuf> = rules
            .grants
            .iter()
            .map(|grant| grant.path.clone())
            .collect();
        if let Some(path) = toolchains(options, paths).path
            && let Some((_, known)) = env.iter_mut().find(|(name, _)| name == "PATH")
        {
            *known = path;
        }
        env.extend(homes(&grants, home.as_deref(), &env));
        Self {
            settings: Arc::new(CommandSettings {
                grants,
                sandbox: OnceLock::new(),
                roots: roots.map(|root| root.path().to_path_buf()).collect(),
                home,
                env,
                configured: configured(config),
                timeout: Duration::from_secs(tools.timeouts.shell_commands_seconds),
            }),
            rules,
            sandbox: tools.sandbox.command_sandbox,
        }
    }

    /// Starts the sandbox. That is another process, which takes its time to look around.
    pub(crate) fn start(&self) {
        self.settings
            .sandbox
            .get_or_init(|| CommandSandbox::start(&self.rules).map_err(|error| error.to_string()));
    }

    /// Whether a process with commands left a record: it still runs, or it was killed and the next
    /// sandbox moves aside what its commands had made.
    pub(crate) fn was_interrupted(&self) -> bool {
        let records = self.rules.records.as_deref().map(std::fs::read_dir);
        let Some(Ok(entries)) = records else {
            return false;
        };
        // The lock stays; every other file is a record.
        entries
            .flatten()
            .any(|entry| entry.file_name() != RECORDS_LOCK)
    }

    /// Where the sandbox stands.
    pub(crate) fn sandbox(&self) -> Option<&CommandSandbox> {
        self.settings.sandbox.get()?.as_ref().ok()
    }

    /// Reports what commands of a killed run had left under protected names.
    pub(crate) fn tell_earlier(&self, options: &AppOptions) {
        let earlier = self.sandbox().map(CommandSandbox::earlier);
        tell_appeared(
            &earlier.unwrap_or_default(),
            "an interrupted command",
            options,
        );
    }

    /// Reports the grants that commands do not get.
    pub(crate) fn tell_left_out(&self, options: &AppOptions, config: &Effective) {
        let configured = config.command_directories();
        let sandbox = self.sandbox();
        for left_out in sandbox.map(CommandSandbox::left_out).unwrap_or_default() {
            // A toolchain that cannot be shown was not asked for.
            if !configured.iter().any(|one| one.path == left_out.path) {
                continue;
            }
            options.notice(format!(
                "a directory of `grants` was left out: {}",
                left_out.why
            ));
        }
    }

    /// Why every command is asked about, where it is.
    pub(crate) fn asks(&self) -> Option<String> {
        self.sandbox()
            .and_then(|sandbox| why_asked(self.sandbox, sandbox))
    }
}

/// Reports what background commands left under protected names, where no result did.
pub(crate) fn tell_unreported(commands: &CommandSettings, options: &AppOptions) {
    if let Some(Ok(sandbox)) = commands.sandbox.get() {
        tell_appeared(&sandbox.unreported(), "a background command", options);
    }
}

fn tell_appeared(appeared: &[Appeared], by: &str, options: &AppOptions) {
    for one in appeared {
        let (path, rule) = (one.path.display(), &one.rule);
        options.notice(match (&one.moved_to, one.error) {
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

/// Programs that look for a directory of theirs in the home directory, and how they are told
/// otherwise. Commands have a home of their own, so a granted directory has to be named.
///
/// The last column are parts of the directory, of which each is enough.
const HOMES: [(&str, &str, &[&str]); 13] = [
    (".cargo", "CARGO_HOME", &[".cargo/registry", ".cargo/git"]),
    (".rustup", "RUSTUP_HOME", &[]),
    ("go", "GOPATH", &[]),
    ("go/pkg/mod", "GOMODCACHE", &["go"]),
    (".gradle", "GRADLE_USER_HOME", &[]),
    (".npm", "npm_config_cache", &[]),
    (".cache/pip", "PIP_CACHE_DIR", &[]),
    (".cache/uv", "UV_CACHE_DIR", &[]),
    (".pyenv", "PYENV_ROOT", &[]),
    (".rbenv", "RBENV_ROOT", &[]),
    (".asdf", "ASDF_DATA_DIR", &[]),
    (".local/share/mise", "MISE_DATA_DIR", &[]),
    (".dotnet", "DOTNET_ROOT", &[]),
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
        .map(|(directory, name, parts)| (Path::new(home).join(directory), *name, *parts))
        .filter(|(directory, name, parts)| {
            let mut parts = parts.iter().map(|part| Path::new(home).join(part));
            let is_granted = grants.contains(directory) || parts.any(|part| grants.contains(&part));
            is_granted && !env.iter().any(|(known, _)| known == *name)
        })
        .map(|(directory, name, _)| (name.into(), directory.into()))
        .collect()
}

/// What the sandbox is built from.
pub(crate) fn sandbox_rules(
    options: &AppOptions,
    config: &Effective,
    paths: &PathSandbox,
) -> SandboxRules {
    let sandbox = &config.settings().tools.sandbox;
    let mut rules = SandboxRules::new(paths.clone());
    for directory in config.command_directories() {
        let in_root =
            |root: &Root| directory.path.starts_with(root.path()) && directory.path != root.path();
        if directory.access == RootAccess::ReadWrite && paths.roots().iter().any(in_root) {
            // A protected path of the workspace that commands may change all the same.
            rules.opened.push(directory.path);
        } else {
            rules.grants.push(Grant {
                path: directory.path,
                access: directory.access,
            });
        }
    }
    // What the user grants by name counts instead.
    for path in toolchains(options, paths).directories {
        if !rules.grants.iter().any(|grant| grant.path == path) {
            let access = RootAccess::ReadOnly;
            rules.grants.push(Grant { path, access });
        }
    }
    rules.network = match sandbox.network {
        Reach::Off => Network::Off,
        Reach::Loopback => Network::Loopback,
        Reach::On => Network::On,
    };
    rules.records = Some(options.home.sandbox_records());
    rules.git = git_files(options);
    rules.shared = true;
    if sandbox.command_sandbox == CommandSandboxMode::Off {
        // What is left is the supervisor, which ends everything a command started.
        rules.highest = Level::Landlock;
        rules.network = Network::On;
        rules.omit = Omit {
            landlock: true,
            seccomp: true,
        };
    }
    rules
}

/// The lines of the configuration that a hint has to take up.
fn configured(config: &Effective) -> ConfiguredLines {
    let stands = |key: &str| !config.is_built_in(&format!("tools.sandbox.{key}"));
    let entry = |one: &ConfiguredDirectory| {
        let access = one.access(RootAccess::ReadOnly);
        let path = Remedy::entry(one.path(), RootAccess::ReadOnly);
        (path, Remedy::entry(one.path(), access))
    };
    let grants = config.settings().tools.sandbox.grants.iter();
    ConfiguredLines {
        grants: stands("grants").then(|| grants.map(entry).collect()),
        network: stands("network"),
    }
}

/// The user's name and address, and harmless settings, for git in commands.
fn git_files(options: &AppOptions) -> GitFiles {
    let Some(home) = options.environment.get("HOME").map(PathBuf::from) else {
        return GitFiles::default();
    };
    let config = options.environment.get("XDG_CONFIG_HOME");
    let config = config.map_or_else(|| home.join(".config"), PathBuf::from);
    toolgate_sandbox::git_files(&home, &config)
}

/// The user's toolchains, of the environment that the program was started with.
fn toolchains(options: &AppOptions, paths: &PathSandbox) -> Toolchains {
    let environment = &options.environment;
    let home = environment.get("HOME").map(Path::new);
    Toolchains::of(environment.get("PATH"), home, paths)
}

fn why_asked(mode: CommandSandboxMode, sandbox: &CommandSandbox) -> Option<String> {
    if mode == CommandSandboxMode::Off {
        return Some(
            "commands run without a sandbox here (command_sandbox = \"off\"), so each one is asked about"
                .to_owned(),
        );
    }
    let because = |failure: &SetupError| format!(" ({failure})");
    (sandbox.level() == Level::Landlock).then(|| {
        format!(
            "secrets inside the workspace cannot be hidden from commands here, so each one is asked about{}; `toolgate doctor` says what to do",
            sandbox.stepped_down().map(because).unwrap_or_default()
        )
    })
}
