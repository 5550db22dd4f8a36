//! Hints whether the sandbox caused a failure.
//!
//! The kernel reports a refusal to the command only: from outside it cannot be
//! known which sandbox a command ran into, or whether it did. What can be known is which paths
//! the command complains about, and what the sandbox let it do there. So every hint says
//! "possibly", names the layer, and gives a line of configuration to paste.

use std::path::Path;

use toolgate_model::{Access, ErrorKind, ToolError};
use toolgate_sandbox::command::{Barrier, Network, Reach, Refused, seen_by_all};

use super::settings::CommandSettings;

/// Messages of programs that were refused access.
const COMPLAINTS: [&str; 7] = [
    "permission denied",
    "read-only file system",
    "no such file or directory",
    "operation not permitted",
    "invalid cross-device link",
    "can't open",
    "cannot",
];

/// Messages of programs whose system call was refused.
const NOT_PERMITTED: &str = "operation not permitted";

/// Messages of programs without a network.
const UNREACHABLE: [&str; 6] = [
    "network is unreachable",
    "could not resolve",
    "name resolution",
    "name or service not known",
    "couldn't connect",
    "failed to connect",
];

/// More hints than this do not help.
const MOST: usize = 3;

/// The likely causes of a failure, a line each.
pub(super) fn hints(
    stderr: &str,
    cwd: &Path,
    network: Network,
    settings: &CommandSettings,
    reach: &Reach,
    refused: &[Refused],
) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for line in stderr.lines() {
        let lower = line.to_lowercase();
        let mut found = Vec::new();
        if network == Network::Off && UNREACHABLE.iter().any(|words| lower.contains(words)) {
            found.push("the network is off for commands. The user can switch it on: network = \"on\" under [tools.sandbox] in the user's configuration".to_owned());
        }
        if let Some((_, program)) = line
            .strip_suffix(": command not found")
            .and_then(|rest| rest.rsplit_once(' '))
        {
            found.extend(unseen_program(program, settings));
        }
        if COMPLAINTS.iter().any(|words| lower.contains(words)) {
            let told = paths(line).filter_map(|path| about(path, cwd, reach));
            found.extend(told);
        }
        if found.is_empty() && lower.contains(NOT_PERMITTED) && !refused.is_empty() {
            let names: Vec<&str> = refused.iter().map(Refused::name).collect();
            found.push(format!(
                "these system calls are not permitted to commands: {}",
                names.join(", ")
            ));
        }
        for hint in found {
            if hints.len() < MOST && !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    hints
}

/// A program may stand in a directory of `PATH` that commands do not see.
fn unseen_program(program: &str, settings: &CommandSettings) -> Option<String> {
    let path = settings.env.iter().find(|(name, _)| name == "PATH")?;
    let mut directories: Vec<String> = Vec::new();
    for directory in std::env::split_paths(&path.1) {
        let inside = settings
            .roots
            .iter()
            .any(|root| directory.starts_with(root));
        if inside
            || seen_by_all(&directory)
            || settings.grants.iter().any(|g| directory.starts_with(g))
        {
            continue;
        }
        // Programs of `x/bin` need what is in `x` beside it.
        let whole = match directory.file_name() {
            Some(name) if name == "bin" => directory.parent(),
            _ => Some(directory.as_path()),
        };
        let whole = whole.and_then(Path::to_str).map(str::to_owned);
        directories.extend(
            whole.filter(|directory| directory.len() > 1 && !directories.contains(directory)),
        );
    }
    let list = directories
        .iter()
        .map(|directory| format!("\"{directory}\""));
    let list = list.collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| {
        format!(
            "{program} may be in a directory of PATH that commands do not see. The user can allow them: grants = [{list}] under [tools.sandbox] in the user's configuration"
        )
    })
}

/// Words of a line that look like paths.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let edges = |c: char| c.is_whitespace() || "'\"`‘’“”()[]{}<>,;=".contains(c);
    line.split(edges)
        .map(|word| word.trim_end_matches([':', '.']))
        .filter(|word| word.contains('/') || word.starts_with('.'))
        .filter(|word| word.len() > 1 && !word.contains("://"))
}

/// The rule against a path that a command line names, before it runs.
pub(super) fn before(rules: &Reach, path: &Path, access: Access) -> Option<ToolError> {
    let denial = rules.forbids(path, access)?;
    let kind = match denial.why {
        Barrier::Protected { .. } => ErrorKind::ProtectedPath,
        _ => ErrorKind::DeniedPattern,
    };
    let told = match &denial.remedy {
        Some(remedy) => format!("{denial}. {}.", remedy.told().trim_end()),
        None => format!("{denial}."),
    };
    Some(ToolError::new(kind, told))
}

/// The barrier between the command and a path that it complains about.
fn about(path: &str, cwd: &Path, reach: &Reach) -> Option<String> {
    let path = cwd.join(path);
    // A readable path may still have to be changed.
    let denial = reach
        .explains(&path, Access::Read)
        .or_else(|| reach.explains(&path, Access::Write))?;
    match (&denial.remedy, &denial.why) {
        (Some(remedy), _) => Some(format!("{denial}. {}", remedy.told())),
        (None, Barrier::Own | Barrier::Hidden { .. }) => Some(denial.to_string()),
        // No user would change that.
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use toolgate_sandbox::command::{Level, SandboxRules};
    use toolgate_sandbox::paths::{PathRules, PathSandbox};

    use super::*;

    #[test]
    fn a_complaint_about_a_path_says_what_to_grant() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(&root)).unwrap();
        let settings = CommandSettings {
            roots: vec![root.clone()],
            env: vec![(
                "PATH".into(),
                "/home/ann/.cargo/bin:/srv/seen/bin:/usr/bin:/opt/x/bin:/home/ann/tools".into(),
            )],
            grants: vec!["/srv/seen".into()],
            home: Some("/home/ann".into()),
            ..CommandSettings::default()
        };
        let reach = SandboxRules::new(sandbox).reach(Level::Namespaces, &[]);
        let hints = |stderr: &str, network| hints(stderr, &root, network, &settings, &reach, &[]);
        let said = |stderr: &str| hints(stderr, Network::Off).join("\n");
        for (stderr, part) in [
            (
                "cat: /srv/toolchain/lib/x.so: No such file or directory",
                "grants = [\"/srv/toolchain/lib\"]",
            ),
            (
                "error: could not open '/home/ann/.cargo/registry/index': Permission denied",
                "grants = [\"/home/ann/.cargo\"]",
            ),
            (
                "fatal: cannot mkdir .git: Permission denied",
                "grants = [{ path = \".git\", access = \"write\" }]",
            ),
            (
                "bash: .git/hooks/pre-commit: Read-only file system",
                "path = \".git\", access = \"write\"",
            ),
            (
                "cat: .env: Permission denied",
                ".env is hidden from commands",
            ),
            (
                "/bin/bash: line 1: cargo: command not found",
                "cargo may be in a directory of PATH that commands do not see. The user can allow them: grants = [\"/home/ann/.cargo\", \"/home/ann/tools\"]",
            ),
            (
                "curl: (6) Could not resolve host: example.org",
                "network = \"on\"",
            ),
        ] {
            assert!(said(stderr).contains(part), "{stderr}: {}", said(stderr));
        }
        for stderr in [
            "",
            "cat: missing.txt: No such file or directory",
            "cat: src/missing: No such file or directory",
            "ls: cannot access '/usr/lib/nothing': No such file or directory",
            "cat: /etc/shadow: Permission denied",
            "all is well in /srv/toolchain/lib",
            "cat: /: Permission denied",
            "see https://example.org/x: cannot",
        ] {
            assert_eq!(said(stderr), "", "{stderr}");
        }
        let many: String = (0..9)
            .map(|n| format!("cat: /srv/{n}/a/b: No such file or directory\n"))
            .collect();
        assert_eq!(said(&many).lines().count(), MOST);
        let on = hints("could not resolve", Network::On);
        assert!(on.is_empty());
    }
}
