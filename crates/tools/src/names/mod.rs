//! Other names of the tools, and which of them are offered together.

mod other_agents;

use serde_json::Value;
use toolgate_gate::registry::{Alias, Profile};
use toolgate_gate::tool::Spelling;

/// The names under which others know these tools.
///
/// An alias presets arguments; it never lifts a check. `file_write` may replace a
/// file without saying so, and has to have read it all the same.
pub fn aliases() -> Vec<Alias> {
    let mut aliases = vec![
        Alias::new("file_read", "read_file"),
        Alias::new("file_write", "write_file").preset("overwrite", true),
        // Its `maxDepth` counts the directories below the listed one: 0 is the directory alone.
        Alias::new("ls", "list_directory")
            .spelling(converted("maxDepth", "max_depth", one_more))
            .preset("format", "tree"),
        Alias::new("search", "grep"),
    ];
    if cfg!(feature = "commands") {
        let timeout = |canonical| Spelling::same("timeout", canonical);
        aliases.extend([
            Alias::new("bash", "run_command").spelling(timeout("timeout_seconds")),
            Alias::new("shell", "run_command").spelling(timeout("timeout_ms")),
        ]);
    }
    aliases.extend(other_agents::aliases());
    aliases
}

/// A spelling whose value means something else.
fn converted(
    other: &str,
    canonical: &str,
    convert: fn(Value) -> Result<Value, String>,
) -> Spelling {
    Spelling {
        convert: Some(convert),
        ..Spelling::same(other, canonical)
    }
}

/// A number of levels below a directory, as the number of levels that are listed.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a conversion can fail, this one leaves that to the schema"
)]
fn one_more(levels: Value) -> Result<Value, String> {
    Ok(match (levels.as_u64(), levels.as_f64()) {
        (Some(levels), _) => levels.saturating_add(1).into(),
        (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 => (float + 1.0).into(),
        _ => levels,
    })
}

/// Sets of names to advertise; what they do not rename keeps its own name.
///
/// `bash` and `shell` are what models call the tools that were trained with a program of
/// that name for commands; `classic` renames only the tools that work on files; `agent` has the
/// capitalized names of coding agents.
pub fn profiles() -> Vec<Profile> {
    let commands = cfg!(feature = "commands");
    let of_commands = |name, tools: &[&str]| commands.then(|| Profile::new(name, tools.to_vec()));
    let classic = ["file_read", "file_write", "search", "ls"];
    let mut agent = vec!["Read", "Write", "Edit", "Glob", "Grep", "LS", "TodoWrite"];
    if commands {
        agent.extend(["Bash", "BashOutput", "KillShell"]);
    }
    if cfg!(feature = "web") {
        agent.extend(["WebFetch", "WebSearch"]);
    }
    let all = [
        Some(Profile::new("agent", agent)),
        of_commands("bash", &["bash", "file_read", "file_write", "search"]),
        Some(Profile::new("classic", classic)),
        of_commands("shell", &["shell", "ls"]),
    ];
    all.into_iter().flatten().collect()
}
