//! Other names of the tools, and which of them are offered together.

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
        Alias::new("ls", "list_directory").preset("format", "tree"),
        Alias::new("search", "grep"),
    ];
    if cfg!(feature = "commands") {
        let timeout = |canonical| Spelling::same("timeout", canonical);
        aliases.extend([
            Alias::new("bash", "run_command").spelling(timeout("timeout_seconds")),
            Alias::new("shell", "run_command").spelling(timeout("timeout_ms")),
        ]);
    }
    aliases
}

/// Sets of names to advertise; what they do not rename keeps its own name.
///
/// `bash` and `shell` are what models call the tools that were trained with a program of
/// that name for commands; `classic` renames only the tools that work on files.
pub fn profiles() -> Vec<Profile> {
    let commands = cfg!(feature = "commands");
    let of_commands = |name, tools: &[&str]| commands.then(|| Profile::new(name, tools.to_vec()));
    let classic = ["file_read", "file_write", "search", "ls"];
    let all = [
        of_commands("bash", &["bash", "file_read", "file_write", "search"]),
        Some(Profile::new("classic", classic)),
        of_commands("shell", &["shell", "ls"]),
    ];
    all.into_iter().flatten().collect()
}
