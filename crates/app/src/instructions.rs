//! What a project tells every model that works in it: `AGENTS.md` and its like.
//!
//! The file is read through the path sandbox, within a bound, and only where no rule denies
//! it. Its words are the repository's: they are quoted in the system prompt, they stand in the
//! journal, and they allow nothing.

use serde_json::json;
use sha2::{Digest, Sha256};
use toolgate_gate::journal::Instructions;
use toolgate_gate::output::sanitize;
use toolgate_gate::session::Session;
use toolgate_gate::tool::hex;
use toolgate_model::{Action, Args};
use toolgate_sandbox::paths::PathError;

use crate::project::Project;

/// The files that are looked for; the first that is there counts.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// The most bytes that are told.
const MOST: usize = 32 * 1024;

/// The instructions of a project, if it has any that may be read.
pub(crate) fn of(project: &Project) -> Option<Box<Instructions>> {
    if !project.config.settings().tools.project_instructions {
        return None;
    }
    NAMES.iter().find_map(|name| match read(project, name) {
        Ok(found) => found,
        Err(why) => {
            let options = project.app.options();
            options.notice(format!("{name} of the project is not read: {why}"));
            None
        }
    })
}

fn read(project: &Project, name: &str) -> Result<Option<Box<Instructions>>, String> {
    let sandbox = project.gate.sandbox();
    let mut handle = match sandbox.open_read(name) {
        Ok(handle) => handle,
        Err(PathError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    // A rule about the place to which a link leads counts too.
    let real = sandbox.name(handle.root, &handle.path);
    for name in [name, &*real.to_string_lossy()] {
        if is_denied(project, name) {
            return Err("a rule denies it".to_owned());
        }
    }
    let (bytes, whole) = handle
        .read_up_to(MOST as u64)
        .map_err(|error| error.to_string())?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) if !whole && error.error_len().is_none() => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return Err("it is not UTF-8 text".to_owned()),
    };
    // A line that was cut could say the contrary of what it says.
    let told = match text.rfind('\n') {
        Some(end) if !whole => text.get(..end).unwrap_or_default(),
        _ => text,
    };
    let redacted = project.gate.redactor().redact(told).0.into_owned();
    let text = sanitize(&redacted).into_owned();
    if text.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(Instructions {
        path: name.to_owned(),
        sha256: hex(&Sha256::digest(&bytes)),
        text,
        cut: !whole,
    })))
}

fn is_denied(project: &Project, path: &str) -> bool {
    let mut args = Args::new();
    args.insert("path".to_owned(), json!(path));
    let session = Session::new("instructions");
    let gate = &project.gate;
    let known = gate.registry().get("read_file").is_some();
    let grants = project.grants.here().unwrap_or_default();
    let policy = gate.policy_with(&session, &grants);
    let expected = policy
        .ok()
        .and_then(|policy| gate.expected(&session, &policy, "read_file", args));
    known && expected == Some(Action::Deny)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolgate_engine::{instructions_prompt, system_prompt};
    use toolgate_providers::fenced::Language;

    use super::*;
    use crate::permissions;
    use crate::project::{Plan, Purpose};
    use crate::{App, AppOptions, Home};

    /// A project in this directory, with this configuration of the user.
    fn project(home: &Path, workspace: &Path, config: &str) -> Project {
        std::fs::write(home.join("config.toml"), config).unwrap();
        let app = App::open(AppOptions::new(Home::at(home), workspace)).unwrap();
        let plan = Plan {
            purpose: Purpose::Look,
            workspace: workspace.canonicalize().unwrap(),
            config: app.config().clone(),
            asked_with: Vec::new(),
            scopes: Vec::new(),
        };
        Project::build(&app, plan, |_| {}).unwrap()
    }

    #[test]
    fn the_first_file_that_may_be_read_is_told_within_its_bound() {
        let long = "one line of words\n".repeat(4_000);
        let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        let secret = format!("key {token}\n");
        let deny = "[[tools.rules]]\ntool = '*'\naction = 'deny'\nreads = ['AGENTS.md']\n";
        let pattern = "[tools.sandbox]\ndenied_patterns = ['AGENTS.md']\n";
        let off = "[tools]\nproject_instructions = false\n";
        type Case<'a> = (
            &'a [(&'a str, &'a str)],
            &'a str,
            Option<(&'a str, &'a str)>,
        );
        let cases: [Case<'_>; 12] = [
            (&[], "", None),
            (
                &[("AGENTS.md", "Use tabs.\n")],
                "",
                Some(("AGENTS.md", "Use tabs.")),
            ),
            (
                &[("CLAUDE.md", "c\n"), ("GEMINI.md", "g\n")],
                "",
                Some(("CLAUDE.md", "c")),
            ),
            (&[("GEMINI.md", "g\n")], "", Some(("GEMINI.md", "g"))),
            (
                &[("AGENTS.md", "a\n"), ("CLAUDE.md", "c\n")],
                "",
                Some(("AGENTS.md", "a")),
            ),
            (&[("AGENTS.md", "a\n")], off, None),
            (&[("AGENTS.md", "a\n")], deny, None),
            (&[("AGENTS.md", "a\n")], pattern, None),
            (
                &[("AGENTS.md", &long)],
                "",
                Some(("AGENTS.md", "one line of words")),
            ),
            (
                &[("AGENTS.md", &secret)],
                "",
                Some(("AGENTS.md", "key [redacted")),
            ),
            (
                &[("AGENTS.md", "a\u{1b}[2Jb\u{202e}\n")],
                "",
                Some(("AGENTS.md", "ab")),
            ),
            (&[("AGENTS.md", "  \n")], "", None),
        ];
        for (files, config, expected) in cases {
            let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            for (name, text) in files {
                std::fs::write(place.path().join(name), text).unwrap();
            }
            let told = of(&project(home.path(), place.path(), config));
            let Some((name, begins)) = expected else {
                assert_eq!(told, None, "{files:?} {config}");
                continue;
            };
            let told = told.unwrap();
            assert_eq!(told.path, name);
            assert!(told.text.starts_with(begins), "{}", told.text);
            assert!(told.text.len() <= MOST && !told.text.contains(token));
            assert_eq!(told.cut, files.iter().any(|(_, text)| text.len() > MOST));
            if told.cut {
                assert!(told.text.ends_with("one line of words"), "a line is whole");
                let prompt = instructions_prompt(&told, Language::English);
                assert!(prompt.contains("is longer"), "it says so");
            }
        }
    }

    #[test]
    fn a_link_that_leads_out_or_to_a_denied_file_is_not_followed() {
        for (target, read) in [("../secret.md", false), (".env", false), ("docs.md", true)] {
            let (home, top) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let place = top.path().join("ws");
            std::fs::create_dir(&place).unwrap();
            for path in [
                top.path().join("secret.md"),
                place.join(".env"),
                place.join("docs.md"),
            ] {
                std::fs::write(path, "words\n").unwrap();
            }
            std::os::unix::fs::symlink(target, place.join("AGENTS.md")).unwrap();
            let told = of(&project(home.path(), &place, ""));
            assert_eq!(told.is_some(), read, "{target}");
        }
    }

    #[test]
    fn the_prompt_says_what_the_rules_in_force_ask_about() {
        let rule = "[[tools.rules]]\ntool = 'write_file'\naction = 'deny'\n[[tools.rules]]\ntool = 'edit_file'\naction = 'allow'\n";
        for (config, tool, list) in [
            ("", "`edit_file`", "asked before"),
            ("", "`read_file`", "Run without a question"),
            (rule, "`edit_file`", "Run without a question"),
            (rule, "`write_file`", "Refused by"),
            (
                "tools.approval.trust = 'supervised'\n",
                "`read_many_files`",
                "asked before",
            ),
            (
                "tools.approval.denylist = ['web_fetch']\n",
                "`web_fetch`",
                "Refused by",
            ),
            (
                "tools.approval.enabled = false\n",
                "`read_file`",
                "Refused by",
            ),
        ] {
            let (home, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let project = project(home.path(), place.path(), config);
            let tools = project.definitions().unwrap();
            let permissions = permissions::of(&project, &tools);
            let prompt = system_prompt(&tools, "/w", Language::English, &permissions);
            let line = prompt.lines().find(|line| line.contains(list));
            assert!(
                line.is_some_and(|line| line.contains(tool)),
                "{config}: {prompt}"
            );
            for guideline in [
                "in a sentence what it is for",
                "find out why",
                "can be undone",
            ] {
                assert!(prompt.contains(guideline), "{guideline}");
            }
        }
    }
}
