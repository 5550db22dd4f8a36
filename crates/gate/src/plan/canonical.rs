//! The one name of a place, for policy, journal and tools.
//!
//! Models like absolute paths. One that leads into a root, by whichever name of the root, is
//! the path from it; rules, approvals and locks never see two names for one file.

use serde_json::Value;
use toolgate_model::{Args, Facts};
use toolgate_sandbox::paths::PathSandbox;

/// Brings the arguments that are paths to canonical names. What leads nowhere stays as it is,
/// and the path sandbox refuses it.
pub(super) fn args(sandbox: &PathSandbox, paths: &[String], args: &mut Args) {
    for name in paths {
        match args.get_mut(name) {
            Some(Value::String(path)) => bring(sandbox, path),
            Some(Value::Array(items)) => {
                for item in items {
                    if let Value::String(path) = item {
                        bring(sandbox, path);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The same for the paths of facts, which name what a tool reads out of other arguments. What
/// a command claims is brought to names where the line is read.
pub(super) fn facts(sandbox: &PathSandbox, facts: &mut Facts) {
    if facts.claimed {
        return;
    }
    for paths in [&mut facts.reads, &mut facts.writes, &mut facts.deletes] {
        for path in paths {
            bring(sandbox, path);
        }
    }
}

fn bring(sandbox: &PathSandbox, path: &mut String) {
    if !path.starts_with('/') {
        return;
    }
    let named = sandbox.asked_name(&*path).ok();
    // A name that ends like a directory's is for the tool to refuse.
    let plain = !path.ends_with('/') && !path.ends_with("/.");
    if let Some(name) = named.as_deref().and_then(std::path::Path::to_str) {
        *path = if plain || name == "." {
            name.to_owned()
        } else {
            format!("{name}/")
        };
    }
}
