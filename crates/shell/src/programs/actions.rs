//! Words behind a program or subcommand that say what is done.

/// Programs whose first word says what they do, though no row lists those words.
pub(crate) const VERBS: &[&str] = &[
    "apk",
    "apt",
    "apt-get",
    "aptitude",
    "brew",
    "dart",
    "dnf",
    "docker-compose",
    "flatpak",
    "flutter",
    "luarocks",
    "mix",
    "nuget",
    "opam",
    "pacman",
    "podman-compose",
    "pub",
    "rebar3",
    "snap",
    "yum",
    "zypper",
];

/// Words that run whatever follows them.
pub(crate) const RUNNING: &[&str] = &[
    "console",
    "dbshell",
    "debug",
    "eval",
    "exec",
    "foreach",
    "run",
    "sh",
    "shell",
    "shell_plus",
    "ssh",
    "tinker",
];

/// Whether the word behind a subcommand says what is done.
pub(crate) fn has_actions(name: &str, subcommand: &str) -> bool {
    match name {
        "gh" | "glab" => true,
        "docker" | "podman" | "nerdctl" => matches!(
            subcommand,
            "builder"
                | "buildx"
                | "checkpoint"
                | "compose"
                | "config"
                | "container"
                | "context"
                | "image"
                | "kube"
                | "machine"
                | "manifest"
                | "network"
                | "node"
                | "plugin"
                | "pod"
                | "secret"
                | "service"
                | "stack"
                | "swarm"
                | "system"
                | "trust"
                | "volume"
        ),
        "npm" | "pnpm" | "yarn" | "bun" => matches!(
            subcommand,
            "access"
                | "cache"
                | "config"
                | "dist-tag"
                | "env"
                | "npm"
                | "org"
                | "owner"
                | "pkg"
                | "plugin"
                | "pm"
                | "profile"
                | "set"
                | "store"
                | "team"
                | "token"
                | "workspaces"
        ),
        "git" => matches!(
            subcommand,
            "bisect"
                | "bundle"
                | "lfs"
                | "notes"
                | "reflog"
                | "sparse-checkout"
                | "stash"
                | "submodule"
                | "subtree"
        ),
        "kubectl" | "oc" => {
            matches!(
                subcommand,
                "auth" | "certificate" | "config" | "create" | "plugin" | "rollout" | "set"
            )
        }
        "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "uv" | "conda" | "mamba" => {
            matches!(
                subcommand,
                "cache" | "config" | "env" | "pip" | "python" | "self" | "source" | "tool"
            )
        }
        "go" => matches!(subcommand, "env" | "mod" | "tool" | "work"),
        "ip" => true,
        _ => false,
    }
}

/// Interpreters whose scripts take words that say what is done: `manage.py test`.
pub(crate) const INTERPRETERS: &[&str] = &[
    "node", "nodejs", "perl", "php", "pypy", "python", "ruby", "ts-node", "tsx",
];
