//! `[tools]` and the sections beneath it.

use super::rules::{DEFINITION, RULE};
use super::{Check, Fallback, Key, MANY, Project, Shape, YEAR_SECONDS};

const TEXT: Shape = Shape::Text(Check::Filled);
const TEXTS: Shape = Shape::list(&TEXT);
const TOOL_NAMES: Shape = Shape::list(&Shape::Text(Check::Tool));
const PATHS: Shape = Shape::list(&Shape::Text(Check::PathPattern));
const VARIABLES: Shape = Shape::list(&Shape::Text(Check::Variables));
const DIRECTORY: Shape = Shape::Either(&[Shape::Text(Check::Path), Shape::Table(ROOT_KEYS)]);
const AMOUNT: Shape = Shape::Count { min: 1, max: MANY };
const SECONDS: Shape = Shape::Count {
    min: 1,
    max: YEAR_SECONDS,
};

/// A quota that a disk can hold, and that is not less than one result.
const KEPT: Shape = Shape::Count {
    min: 1 << 20,
    max: 1 << 40,
};

/// The least that a result may be cut to: the note about what is missing has to fit.
const LEAST_OUTPUT: u64 = 1024;

const fn section(name: &'static str, keys: &'static [Key], doc: &'static str) -> Key {
    Key::new(name, Shape::Table(keys), doc)
}

const fn limit(name: &'static str, default: u64, doc: &'static str) -> Key {
    Key::new(name, AMOUNT, doc)
        .or(Fallback::Count(default))
        .project(Project::Lowers)
}

const fn seconds(name: &'static str, default: u64, doc: &'static str) -> Key {
    Key::new(name, SECONDS, doc)
        .or(Fallback::Count(default))
        .project(Project::Lowers)
}

/// A choice whose words go from the strictest to the loosest.
const fn strictness(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Key {
    Key::new(name, Shape::Choice(words), doc).project(Project::Tightens(words))
}

/// The keys of `[tools]`.
pub(super) const TOOLS: &[Key] = &[
    strictness(
        "mode",
        &["disabled", "parse_only", "enabled"],
        "Whether tools are offered, only read and checked, or run.",
    )
    .or(Fallback::Text("enabled")),
    limit("max_tool_calls_per_batch", 64, "The most calls of one batch; further ones are refused."),
    limit(
        "max_tool_iterations_per_user_turn",
        200,
        "How often a model may call tools before it has to answer.",
    ),
    limit("max_tool_args_bytes", 262_144, "The most bytes of one call's arguments as JSON."),
    limit(
        "max_concurrent",
        1,
        "How many calls may run side by side, where their facts do not conflict.",
    ),
    Key::new(
        "allow_parallel",
        Shape::Flag,
        "Short for `max_concurrent`: true is 4 and false is 1, unless the same file gives a number.",
    )
    .short_for("max_concurrent"),
    strictness(
        "on_error",
        &["stop", "continue"],
        "What happens to the rest of a batch after a failure.",
    )
    .or(Fallback::Text("continue")),
    Key::new("profile", TEXT, "Under which names tools are offered; canonical names without it."),
    Key::new(
        "project_instructions",
        Shape::Flag,
        "Whether a model is told what `AGENTS.md` of the workspace says, or `CLAUDE.md` or `GEMINI.md` where there is none.",
    )
    .or(Fallback::Flag(true))
    .project(Project::Sets(false)),
    section("approval", APPROVAL, "What is asked, and what holds where no rule matches."),
    Key::new(
        "rules",
        Shape::list(&Shape::Table(RULE)),
        "Rules, the first that fits decides; rules that name a tool come before `*`.",
    )
    .adds(),
    section("sandbox", SANDBOX, "The sandbox around files and commands."),
    section("timeouts", TIMEOUTS, "How long calls may take that do not say so themselves."),
    section("output", OUTPUT, "How much of a result reaches the model."),
    section("environment", ENVIRONMENT, "Which variables commands see."),
    section("read_file", READ_FILE, "Limits of `read_file` and `read_many_files`."),
    section("write_file", WRITE_FILE, "Limits of `write_file` and `edit_file`."),
    section("apply_patch", APPLY_PATCH, "Limits of `apply_patch`."),
    section("list_directory", LIST_DIRECTORY, "Limits of `list_directory`."),
    section("web_fetch", WEB_FETCH, "What `web_fetch` may contact."),
    Key::new(
        "definitions",
        Shape::list(&Shape::Table(DEFINITION)),
        "Tools that a person answers for; used in mode `parse_only`.",
    )
    .or(Fallback::List(&[])),
];

const APPROVAL: &[Key] = &[
    Key::new("enabled", Shape::Flag, "Whether tools run at all.")
        .or(Fallback::Flag(true))
        .project(Project::Sets(false)),
    strictness(
        "trust",
        &["supervised", "guided", "autonomous"],
        "How much is done without a question where no rule matches.",
    )
    .or(Fallback::Text("guided")),
    strictness(
        "mode",
        &["deny", "prompt", "auto"],
        "What happens to what nobody named. Without it: `auto` if trust is `autonomous`, else `prompt`.",
    ),
    Key::new(
        "allowlist",
        TOOL_NAMES,
        "Tools that are not asked about where no rule matches. Commands, and patches that delete, are asked about all the same; a rule that names the tool allows them.",
    )
    .or(Fallback::List(&["read_file"])),
    Key::new("denylist", TOOL_NAMES, "Tools that are always denied.").adds(),
    Key::new(
        "default_action",
        Shape::Choice(&["allow", "ask", "deny"]),
        "Replaces what trust and mode say where no rule matches.",
    )
    .project(Project::DefaultAction),
    Key::new(
        "prompt_side_effects",
        Shape::Flag,
        "Whether mode `prompt` asks about side effects.",
    )
    .or(Fallback::Flag(true))
    .project(Project::Sets(true)),
    Key::new(
        "timeout_seconds",
        Shape::Count {
            min: 0,
            max: YEAR_SECONDS,
        },
        "How long a question waits for its answer; 0 is for ever.",
    )
    // A shorter question is not a stricter one: a yes that comes too late answers the next.
    .or(Fallback::Count(0)),
    Key::new(
        "allowed_commands",
        TEXTS,
        "Commands, by their leading words, that need no question; if there are any, no other runs.",
    )
    .fences(),
    Key::new(
        "blocked_commands",
        TEXTS,
        "Commands, by their leading words, that never run.",
    )
    .adds(),
    Key::new(
        "allowed_paths",
        PATHS,
        "If there are any: the only paths that calls may touch.",
    )
    .fences(),
    Key::new("blocked_paths", PATHS, "Paths that no call may touch; searches leave them out.").adds(),
];

const SANDBOX: &[Key] = &[
    Key::new(
        "allowed_roots",
        Shape::List {
            item: &DIRECTORY,
            min: 1,
        },
        "Directories that tools may use, relative to the workspace; the first is the working directory.",
    )
    .fences()
    .or(Fallback::List(&["."]))
    .project(Project::Narrows),
    Key::new(
        "denied_patterns",
        PATHS,
        "Paths that are neither read nor written.",
    )
    .adds(),
    Key::new("protected_paths", PATHS, "Paths that are not written.").adds(),
    Key::new(
        "allow_absolute",
        Shape::Flag,
        "Changes only how absolute paths beyond the roots are refused; those into a root are always accepted.",
    )
    .or(Fallback::Flag(false))
    .project(Project::Sets(false)),
    Key::new(
        "include_default_denies",
        Shape::Flag,
        "Whether the built-in list of denied paths counts as well.",
    )
    .or(Fallback::Flag(true))
    .project(Project::Sets(true)),
    strictness(
        "command_sandbox",
        &["required", "off"],
        "Whether commands run in the command sandbox only, or without one and asked each time.",
    )
    .or(Fallback::Text("required")),
    strictness(
        "network",
        &["off", "loopback", "on"],
        "What commands reach of the network.",
    )
    .or(Fallback::Text("off")),
    Key::new(
        "grants",
        Shape::list(&DIRECTORY),
        "Further directories that commands may read, or write where `access` says so.",
    )
    .or(Fallback::List(&[])),
];

const ROOT_KEYS: &[Key] = &[
    Key::new("path", Shape::Text(Check::Path), "The directory.").required(),
    Key::new(
        "access",
        Shape::Choice(&["read", "write"]),
        "What may be done there.",
    ),
];

const TIMEOUTS: &[Key] = &[
    seconds("default_seconds", 30, "Every other tool."),
    seconds("file_operations_seconds", 30, "Tools that work on files."),
    seconds("shell_commands_seconds", 300, "Commands."),
];

const OUTPUT: &[Key] = &[
    Key::new(
        "max_bytes",
        Shape::Count {
            min: LEAST_OUTPUT,
            max: MANY,
        },
        "The most bytes of a result; the rest is kept and can be read later.",
    )
    .or(Fallback::Count(102_400))
    .project(Project::Lowers),
    Key::new(
        "max_lines",
        AMOUNT,
        "The most lines of a result; no limit without it.",
    )
    .project(Project::Lowers),
    Key::new(
        "max_block_bytes",
        Shape::Count {
            min: LEAST_OUTPUT,
            max: MANY,
        },
        "The most bytes of an image or another block beside the text, as base64; a larger one is kept and named.",
    )
    .or(Fallback::Count(5 << 20))
    .project(Project::Lowers),
    Key::new(
        "max_blocks_bytes",
        Shape::Count {
            min: LEAST_OUTPUT,
            max: MANY,
        },
        "The most bytes of all blocks of a result; further ones are kept and named.",
    )
    .or(Fallback::Count(16 << 20))
    .project(Project::Lowers),
    Key::new(
        "keep_bytes",
        KEPT,
        "The most bytes that are kept of one full output; of more, the middle is dropped.",
    )
    .or(Fallback::Count(64 << 20)),
    Key::new(
        "keep_total_bytes",
        KEPT,
        "The most bytes that are kept of all full outputs; the oldest go first.",
    )
    // Less is not stricter: outputs of other conversations make room.
    .or(Fallback::Count(512 << 20)),
];

const ENVIRONMENT: &[Key] = &[
    Key::new(
        "keep",
        VARIABLES,
        "Variables that commands see although the built-in list strips them.",
    )
    .or(Fallback::List(&[])),
    Key::new(
        "strip",
        VARIABLES,
        "Variables that commands do not see, besides the built-in list; wins over `keep`.",
    )
    .adds(),
    Key::new("denylist", VARIABLES, "Another name for `strip`.").short_for("strip"),
];

const WEB_FETCH: &[Key] = &[
    Key::new(
        "private_hosts",
        TEXTS,
        "Hosts of private networks, as `host` or `host:port`, that `web_fetch` may contact all the same.",
    )
    .or(Fallback::List(&[])),
];

const READ_FILE: &[Key] = &[
    limit(
        "max_file_read_bytes",
        204_800,
        "The most bytes that one read returns.",
    ),
    limit(
        "max_scan_bytes",
        2_097_152,
        "The most bytes that are looked through for a range of lines.",
    ),
];

const WRITE_FILE: &[Key] = &[limit(
    "max_file_bytes",
    10_485_760,
    "The largest file that is written.",
)];

const APPLY_PATCH: &[Key] = &[limit(
    "max_patch_bytes",
    262_144,
    "The largest patch; at most `max_tool_args_bytes`, which a patch is part of.",
)];

const LIST_DIRECTORY: &[Key] = &[
    limit(
        "max_entries",
        200,
        "The most entries that a call may ask for.",
    ),
    limit("max_depth", 4, "The deepest that a call may ask for."),
];
