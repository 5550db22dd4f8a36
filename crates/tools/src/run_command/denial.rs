//! What a wall may have had to do with a failure.
//!
//! The kernel tells a command that it may not, and nobody else: from outside it cannot be
//! known which wall a command ran into, or whether it did. What can be known is which paths
//! the command complains about, and what the walls let it do there. So every hint says
//! "possibly", names the wall, and says as a line to paste what a person could change.

use std::path::{Component, Path, PathBuf};

use toolgate_model::{Access, ErrorKind};
use toolgate_sandbox::command::Network;
use toolgate_sandbox::paths::PathWall;

use super::settings::{CommandSettings, is_visible};

/// What programs say when they were kept from something.
const COMPLAINTS: [&str; 7] = [
    "permission denied",
    "read-only file system",
    "no such file or directory",
    "operation not permitted",
    "invalid cross-device link",
    "can't open",
    "cannot",
];

/// What programs say without a network.
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

/// What may have kept a command from its work, a line each.
pub(super) fn hints(
    stderr: &str,
    cwd: &Path,
    network: Network,
    settings: &CommandSettings,
    wall: &PathWall,
) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for line in stderr.lines() {
        let lower = line.to_lowercase();
        let mut found = Vec::new();
        if network == Network::Off && UNREACHABLE.iter().any(|words| lower.contains(words)) {
            found.push("the network is off for commands. A person can switch it on: network = \"on\" under [tools.sandbox] in the user's configuration".to_owned());
        }
        if let Some((_, program)) = line
            .strip_suffix(": command not found")
            .and_then(|rest| rest.rsplit_once(' '))
        {
            found.extend(unseen_program(program, settings));
        }
        if COMPLAINTS.iter().any(|words| lower.contains(words)) {
            let told = paths(line).filter_map(|path| about(path, cwd, settings, wall));
            found.extend(told);
        }
        for hint in found {
            if hints.len() < MOST && !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    hints
}

/// A program may stand in a folder of `PATH` that commands do not see.
fn unseen_program(program: &str, settings: &CommandSettings) -> Option<String> {
    let path = settings.env.iter().find(|(name, _)| name == "PATH")?;
    let mut folders: Vec<String> = Vec::new();
    for folder in std::env::split_paths(&path.1) {
        let inside = settings.roots.iter().any(|root| folder.starts_with(root));
        if inside || is_visible(&folder) || settings.grants.iter().any(|g| folder.starts_with(g)) {
            continue;
        }
        // Programs of `x/bin` need what is in `x` beside it.
        let whole = match folder.file_name() {
            Some(name) if name == "bin" => folder.parent(),
            _ => Some(folder.as_path()),
        };
        let whole = whole.and_then(Path::to_str).map(str::to_owned);
        folders.extend(whole.filter(|folder| folder.len() > 1 && !folders.contains(folder)));
    }
    let list = folders.iter().map(|folder| format!("\"{folder}\""));
    let list = list.collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| {
        format!(
            "{program} may be in a folder of PATH that commands do not see. A person can let them: grants = [{list}] under [tools.sandbox] in the user's configuration"
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

fn about(path: &str, cwd: &Path, settings: &CommandSettings, wall: &PathWall) -> Option<String> {
    let whole = tidy(&cwd.join(path));
    let root = settings.roots.iter().find(|root| whole.starts_with(root));
    let Some(root) = root else {
        return beyond(&whole, settings);
    };
    let name = whole.strip_prefix(root).ok()?;
    if settings.roots.first() != Some(root) {
        return None;
    }
    // What stands beneath a protected name is kept vacant with it.
    let above = name.ancestors().filter_map(Path::to_str);
    let mut above = above.filter(|name| !name.is_empty());
    let (name, refused) = above.find_map(|name| {
        let refused = wall.preflight(name, Access::Write).err()?;
        Some((name, refused))
    })?;
    match refused.kind() {
        ErrorKind::ProtectedPath => Some(format!(
            "{name} is protected, because what stands there may be run later. A person can open it to commands: grants = [{{ path = \"{name}\", access = \"write\" }}] under [tools.sandbox] in the user's configuration"
        )),
        ErrorKind::DeniedPattern => Some(format!("{name} is hidden from commands: {refused}")),
        _ => None,
    }
}

/// A folder outside everything that the command could see.
fn beyond(path: &Path, settings: &CommandSettings) -> Option<String> {
    if is_visible(path) || path.starts_with("/tmp") || path.starts_with("/run/home") {
        return None;
    }
    let folder = settings.folder_of(path)?;
    Some(format!(
        "{} is outside the workspace. A person can let commands read it: grants = [\"{folder}\"] under [tools.sandbox] in the user's configuration",
        path.display()
    ))
}

fn tidy(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use toolgate_sandbox::paths::PathRules;

    use super::*;

    #[test]
    fn a_complaint_about_a_path_says_what_to_grant() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let wall = PathWall::open(&PathRules::new(&root)).unwrap();
        let settings = CommandSettings {
            roots: vec![root.clone()],
            env: vec![(
                "PATH".into(),
                "/home/ann/.cargo/bin:/opt/seen/bin:/usr/bin:/home/ann/tools".into(),
            )],
            grants: vec!["/opt/seen".into()],
            home: Some("/home/ann".into()),
            ..CommandSettings::default()
        };
        let said = |stderr: &str| hints(stderr, &root, Network::Off, &settings, &wall).join("\n");
        for (stderr, part) in [
            (
                "cat: /opt/toolchain/lib/x.so: No such file or directory",
                "grants = [\"/opt/toolchain/lib\"]",
            ),
            (
                "error: could not open '/home/ann/.cargo/registry/index': Permission denied",
                "grants = [\"/home/ann/.cargo/registry\"]",
            ),
            (
                "fatal: cannot mkdir .git: Permission denied",
                "grants = [{ path = \".git\", access = \"write\" }]",
            ),
            (
                "bash: .git/hooks/pre-commit: Read-only file system",
                "path = \".git/hooks/pre-commit\"",
            ),
            ("cat: .env: Permission denied", ".env is hidden"),
            (
                "/bin/bash: line 1: cargo: command not found",
                "cargo may be in a folder of PATH that commands do not see. A person can let them: grants = [\"/home/ann/.cargo\", \"/home/ann/tools\"]",
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
            "all is well in /opt/toolchain/lib",
            "cat: /: Permission denied",
            "see https://example.org/x: cannot",
        ] {
            assert_eq!(said(stderr), "", "{stderr}");
        }
        let many: String = (0..9)
            .map(|n| format!("cat: /opt/{n}/a/b: No such file or directory\n"))
            .collect();
        assert_eq!(said(&many).lines().count(), MOST);
        let on = hints("could not resolve", &root, Network::On, &settings, &wall);
        assert!(on.is_empty());
    }
}
