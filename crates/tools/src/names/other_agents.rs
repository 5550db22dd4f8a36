//! Names and arguments under which models know tools from other agents.
//!
//! What an argument means there is said here once. One that has no equivalent is refused in
//! words that say what to use instead; one that only describes the call is left out.

use serde_json::{Value, json};
use toolgate_gate::registry::Alias;
use toolgate_gate::tool::Spelling;
use toolgate_model::Args;

use super::converted;

/// The aliases.
pub(super) fn aliases() -> Vec<Alias> {
    let path = || Spelling::same("file_path", "path");
    let mut aliases = vec![
        Alias::new("Read", "read_file")
            .spelling(path())
            .spelling(converted("offset", "start_line", from_line)),
        Alias::new("Write", "write_file")
            .spelling(path())
            .preset("overwrite", true),
        Alias::new("Edit", "edit_file").rewrite(edit),
        Alias::new("MultiEdit", "edit_file").rewrite(edits),
        Alias::new("Glob", "glob"),
        Alias::new("Grep", "grep").rewrite(grep),
        Alias::new("LS", "list_directory")
            .preset("format", "tree")
            .rewrite(list),
        Alias::new("TodoWrite", "write_todos").rewrite(todos),
    ];
    if cfg!(feature = "commands") {
        aliases.extend([
            Alias::new("Bash", "run_command").rewrite(command),
            Alias::new("BashOutput", "command_output").rewrite(command_output),
            Alias::new("KillShell", "stop_command").spelling(Spelling::same("shell_id", "handle")),
        ]);
    }
    if cfg!(feature = "web") {
        aliases.extend([
            Alias::new("WebFetch", "web_fetch").rewrite(fetch),
            Alias::new("WebSearch", "web_search").rewrite(search),
        ]);
    }
    aliases
}

type Rewritten = Result<Args, String>;

/// Gives an argument its canonical name; the same argument under both is refused later.
fn rename(args: &mut Args, other: &str, canonical: &str) {
    if !args.contains_key(canonical)
        && let Some(value) = args.remove(other)
    {
        args.insert(canonical.to_owned(), value);
    }
}

/// Refuses an argument that asks for something there is not. Where it asks for nothing it is
/// left out.
fn refuse(args: &mut Args, name: &str, instead: &str) -> Result<(), String> {
    let asks = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    match args.remove(name) {
        Some(value) if asks(&value) => Err(format!("{name} is not supported; {instead}")),
        _ => Ok(()),
    }
}

/// Line 0 is read as line 1: counting from 0 means the start.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a conversion can fail, this one leaves that to the schema"
)]
fn from_line(line: Value) -> Result<Value, String> {
    Ok(if line.as_f64() == Some(0.0) {
        1.into()
    } else {
        line
    })
}

/// `old_string`, `new_string` and `replace_all` as one edit.
fn one_edit(args: &mut Args) -> Result<Value, String> {
    if args.get("old_string").and_then(Value::as_str) == Some("") {
        return Err("old_string is empty; make new files with Write".to_owned());
    }
    let mut edit = Args::new();
    for (other, canonical) in [
        ("old_string", "target"),
        ("new_string", "replacement"),
        ("replace_all", "replace_all"),
    ] {
        if let Some(value) = args.remove(other) {
            edit.insert(canonical.to_owned(), value);
        } else if other != "replace_all" {
            return Err(format!("{other} is missing"));
        }
    }
    Ok(Value::Object(edit))
}

fn edit(mut args: Args) -> Rewritten {
    rename(&mut args, "file_path", "path");
    if !args.contains_key("edits") {
        let edit = one_edit(&mut args)?;
        args.insert("edits".to_owned(), json!([edit]));
    }
    Ok(args)
}

fn edits(mut args: Args) -> Rewritten {
    rename(&mut args, "file_path", "path");
    if let Some(Value::Array(edits)) = args.get_mut("edits") {
        for edit in edits {
            if let Value::Object(fields) = edit
                && fields.contains_key("old_string")
            {
                let made = one_edit(fields)?;
                if let Some(unknown) = fields.keys().next() {
                    return Err(format!("an edit has no {unknown:?}"));
                }
                *edit = made;
            }
        }
    }
    Ok(args)
}

fn grep(mut args: Args) -> Rewritten {
    rename(&mut args, "glob", "file_pattern");
    let output = match args.remove("output_mode").as_ref().map(Value::as_str) {
        // Lines say the paths of their files too.
        None => None,
        Some(Some("content")) => Some("lines"),
        Some(Some("files_with_matches")) => Some("files"),
        Some(Some("count")) => Some("counts"),
        _ => {
            return Err(
                "output_mode is \"content\", \"files_with_matches\" or \"count\"".to_owned(),
            );
        }
    };
    args.extend(output.map(|output| ("output".to_owned(), output.into())));
    refuse(
        &mut args,
        "type",
        "name the files with glob, such as \"*.rs\"",
    )?;
    refuse(
        &mut args,
        "offset",
        "narrow the pattern or the path instead",
    )?;
    // Lines are numbered whether that was asked for or not.
    args.remove("-n");
    let ignores_case = match args.remove("-i") {
        None => false,
        Some(Value::Bool(flag)) => flag,
        Some(other) => return Err(format!("-i is true or false, not {other}")),
    };
    args.entry("case_sensitive")
        .or_insert((!ignores_case).into());
    for (name, canonical) in [
        ("-A", "after"),
        ("-B", "before"),
        ("-C", "context"),
        ("context", "context"),
    ] {
        let Some(value) = args.remove(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let lines = value
            .as_u64()
            .ok_or_else(|| format!("{name} is a number of lines, not {value}"))?;
        args.insert(canonical.to_owned(), lines.into());
    }
    // There, 0 means all of them.
    match args.remove("head_limit") {
        None | Some(Value::Null) => {}
        Some(limit) if limit.as_f64() == Some(0.0) => {}
        Some(limit) => drop(args.insert("max_results".to_owned(), limit)),
    }
    Ok(args)
}

fn list(mut args: Args) -> Rewritten {
    refuse(
        &mut args,
        "ignore",
        "use Glob with a pattern that leaves them out",
    )?;
    Ok(args)
}

fn command(mut args: Args) -> Rewritten {
    args.remove("description");
    rename(&mut args, "timeout", "timeout_ms");
    rename(&mut args, "run_in_background", "background");
    let always = "every command runs in the sandbox; the user can open more of it";
    refuse(&mut args, "dangerouslyDisableSandbox", always)?;
    Ok(args)
}

fn command_output(mut args: Args) -> Rewritten {
    rename(&mut args, "bash_id", "handle");
    refuse(
        &mut args,
        "filter",
        "read the output and look for the lines",
    )?;
    Ok(args)
}

fn fetch(mut args: Args) -> Rewritten {
    // What is wanted of the page: the page itself is the answer.
    args.remove("prompt");
    Ok(args)
}

fn search(mut args: Args) -> Rewritten {
    let instead = "put `site:` words into the query";
    refuse(&mut args, "allowed_domains", instead)?;
    refuse(&mut args, "blocked_domains", instead)?;
    Ok(args)
}

/// A whole list of tasks, which takes the place of the one there is.
fn todos(mut args: Args) -> Rewritten {
    let Some(Value::Array(todos)) = args.get_mut("todos") else {
        return Ok(args);
    };
    for todo in todos {
        if let Value::Object(fields) = todo {
            rename(fields, "content", "task");
            for described in ["activeForm", "id", "priority"] {
                fields.remove(described);
            }
        }
    }
    args.insert("action".to_owned(), "replace".into());
    Ok(args)
}
