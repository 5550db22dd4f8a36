//! What is denied and what is protected before anybody configures anything.

use super::patterns::Rule;

/// Names of the three templates that a `.env.*` rule must not hide: they hold no values.
const ENV_TEMPLATES: &[&str] = &[".env.example", ".env.sample", ".env.template"];

/// Denied to the file tools, for reading and for writing.
pub(crate) const DENIED: &[Rule<'static>] = &[
    Rule::new(".ssh/"),
    Rule::new(".gnupg/"),
    Rule::new(".aws/"),
    Rule::new(".azure/"),
    Rule::new(".kube/"),
    Rule::new("**/.docker/config.json"),
    Rule::new("**/.config/gcloud/"),
    Rule::new(".netrc"),
    Rule::new(".pgpass"),
    Rule::new(".npmrc"),
    Rule::new(".pypirc"),
    Rule::new(".git-credentials"),
    // Remote addresses in it often carry a token; submodules have theirs further down.
    Rule::new("**/.git/**/config"),
    Rule::new("**/.git/**/config.worktree"),
    Rule::new("id_rsa*"),
    Rule::new("id_ed25519*"),
    Rule::new("id_ecdsa*"),
    Rule::new("*.pem"),
    Rule::new("*.key"),
    Rule::new("*.p12"),
    Rule::new("*.pfx"),
    Rule::new("*.keystore"),
    Rule::new(".env"),
    Rule::new(".env.*").unless(ENV_TEMPLATES),
    Rule::new("*credential*"),
    Rule::new("*secret*"),
    // The 8.3 forms of the two wildcards above and of the long key names.
    Rule::new("creden~*"),
    Rule::new("id_ed2~*"),
    Rule::new("id_ecd~*"),
    // Core dumps. Files only: `core/` is a folder of honest sources everywhere.
    Rule::new("core").file(),
    Rule::numbered("core.").file(),
    Rule::numbered("vgcore.").file(),
    Rule::new("*.coredump").file(),
];

/// Protected against writing, because what is written there is run later.
pub(crate) const PROTECTED: &[Rule<'static>] = &[
    // As a file it says where the repository, and with it the hooks, really is.
    Rule::new(".git").file(),
    Rule::new("**/.git/**/hooks/"),
    Rule::new("**/.git/**/config*"),
    Rule::new("commondir"),
    Rule::new(".gitmodules"),
    Rule::new(".gitconfig"),
    Rule::new("**/.config/git/"),
    Rule::new(".bashrc"),
    Rule::new(".bash_profile"),
    Rule::new(".bash_login"),
    Rule::new(".bash_logout"),
    Rule::new(".bash_aliases"),
    Rule::new(".zshrc"),
    Rule::new(".zprofile"),
    Rule::new(".zshenv"),
    Rule::new(".zlogin"),
    Rule::new(".zlogout"),
    Rule::new(".profile"),
    Rule::new("**/.config/fish/"),
    Rule::new(".ripgreprc"),
    Rule::new(".mcp.json"),
    Rule::new(".vscode/"),
    Rule::new(".idea/"),
    Rule::new(".claude/"),
    Rule::new(".cursor/"),
    // Our own configuration.
    Rule::new("toolgate.toml"),
    Rule::new(".toolgate/"),
];

/// Names that a rule above spells out and that a file system with 8.3 names also
/// answers to in short form (`GIT~1`).
pub(crate) const NAMES_WITH_SHORT_FORMS: &[&str] = &[
    ".git",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".env",
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".profile",
    ".ripgreprc",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".claude",
    ".cursor",
    ".toolgate",
    "toolgate.toml",
    "commondir",
];
