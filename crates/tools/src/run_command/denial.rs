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

/// Messages of programs without a network, in lower case: of the C library, and of the languages
/// that put them in words of their own.
const UNREACHABLE: [&str; 20] = [
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "unable to resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "no address associated with hostname",
    "failed to lookup address",
    "no such host",
    "couldn't connect",
    "failed to connect",
    "failed to establish a new connection",
    "cannot assign requested address",
    "unknownhostexception",
    "eai_again",
    "enotfound",
    "enetunreach",
    "eaddrnotavail",
    "err_name_not_resolved",
];

/// Messages about a server that is not there.
const REFUSED: [&str; 2] = ["connection refused", "econnrefused"];

/// Names of the machine itself.
const LOOPBACK: [&str; 5] = ["localhost", "127.0.0.1", "[::1]", "::1", "0.0.0.0"];

/// Programs that look for packages on the network, and where the user's machine has those that
/// it knows already, in the home directory.
const CACHES: [(&str, &[&str]); 6] = [
    ("cargo", &[".cargo/registry", ".cargo/git"]),
    ("go", &["go/pkg/mod"]),
    ("npm", &[".npm"]),
    ("npx", &[".npm"]),
    ("pip", &[".cache/pip"]),
    ("uv", &[".cache/uv"]),
];

/// More hints than this do not help.
const MOST: usize = 3;

/// The likely causes of a failure, a line each.
pub(super) fn hints(
    said: &str,
    command: &str,
    cwd: &Path,
    network: Network,
    settings: &CommandSettings,
    reach: &Reach,
    refused: &[Refused],
) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for line in said.lines() {
        let lower = line.to_lowercase();
        let mut found = Vec::new();
        if let Some(hint) = of_network(&lower, command, network) {
            found.extend(of_caches(command, settings));
            found.push(hint);
        }
        if let Some(program) = not_found(line) {
            found.push(unseen_program(program, settings));
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

/// The lines that begin with the name of a program or with a word for an error: `curl: (6) …`.
pub(super) fn complaints(said: &str) -> String {
    let is_one = |line: &&str| {
        let head = line.split_once(": ").map_or("", |(head, _)| head);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let is_short = head.len() <= 40 && !head.is_empty();
        is_short && (head.chars().all(is_name) || head.starts_with("/bin/bash: line"))
    };
    let lines: Vec<&str> = said.lines().filter(is_one).collect();
    lines.join("\n")
}

/// Words of a server that waits for others.
const SERVERS: [&str; 8] = [
    "listening on",
    "listening at",
    "serving http",
    "running at http",
    "running on http",
    "local: http",
    "server started",
    "ready on http",
];

/// The note on a command that was still serving when its time was over.
pub(super) fn server(said: &str) -> &'static str {
    let lower = said.to_lowercase();
    if SERVERS.iter().any(|words| lower.contains(words)) {
        "[it looks like a server, which does not end by itself: start it with background: true, and reach it on its loopback from the next command]\n"
    } else {
        ""
    }
}

/// What git says of files that it could not change, and goes on.
const LEFT_OUT: [&str; 3] = [
    "error: unable to unlink old '",
    "error: unable to create file ",
    "warning: unable to unlink '",
];

/// The error of a command that ended well although git could not change protected files.
pub(super) fn left_out(said: &str) -> Option<ToolError> {
    let refused = [
        "Device or resource busy",
        "Read-only file system",
        "Permission denied",
    ];
    let is_one = |line: &&str| {
        LEFT_OUT.iter().any(|words| line.starts_with(words))
            && refused.iter().any(|why| line.ends_with(why))
    };
    let line = said.lines().find(is_one)?;
    Some(ToolError::new(
        ErrorKind::ProtectedPath,
        format!(
            "git could not change a protected file and went on ({line}). The working tree is not what git says: look at `git status` before you commit anything"
        ),
    ))
}

/// What a message about the network comes from, with the line that opens just that.
fn of_network(lower: &str, command: &str, network: Network) -> Option<String> {
    let has = |all: &[&str]| all.iter().any(|words| lower.contains(words));
    // A server that cannot listen says no more than this, and the address stands elsewhere.
    let names_local = has(&REFUSED) && LOOPBACK.iter().any(|name| command.contains(name));
    let is_local =
        has(&LOOPBACK) || names_local || has(&["cannot assign requested address", "eaddrnotavail"]);
    let under = "under [tools.sandbox] in the user's configuration";
    match network {
        Network::Off | Network::Loopback if is_local && (has(&UNREACHABLE) || has(&REFUSED)) => {
            Some(format!(
                "commands have a loopback of their own, where servers of the machine are not. The user can give them the machine's: network = \"on\" {under}"
            ))
        }
        Network::Off if has(&UNREACHABLE) => Some(format!(
            "the network is off for commands. The user can switch it on: network = \"on\" {under}"
        )),
        Network::Loopback if !is_local && has(&UNREACHABLE) => Some(format!(
            "commands reach only a loopback of their own. The user can switch the network on: network = \"on\" {under}"
        )),
        _ => None,
    }
}

/// What the machine has already of the packages that a program asks the network for.
fn of_caches(command: &str, settings: &CommandSettings) -> Option<String> {
    let home = Path::new(settings.home.as_deref()?);
    let is_named = |program: &str| {
        let mut words = command.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
        words.any(|word| word == program)
    };
    let (program, caches) = CACHES.iter().find(|(program, _)| is_named(program))?;
    let caches = caches.iter().map(|name| home.join(name));
    let caches: Vec<String> = caches
        .filter(|cache| cache.is_dir())
        .filter(|cache| !settings.grants.iter().any(|grant| cache.starts_with(grant)))
        .filter_map(|cache| Some(format!("\"{}\"", cache.to_str()?)))
        .collect();
    (!caches.is_empty()).then(|| {
        format!(
            "commands do not see what {program} has stored on this machine, which may be all that is needed. The user can allow it: grants = [{}] under [tools.sandbox] in the user's configuration",
            caches.join(", ")
        )
    })
}

/// The program that a shell or `env` did not find.
fn not_found(line: &str) -> Option<&str> {
    let of_shell = line
        .strip_suffix(": command not found")
        .or_else(|| line.strip_suffix(": not found"))
        .and_then(|rest| rest.rsplit_once(' '))
        .map(|(_, program)| program);
    let of_env = || {
        let rest = line.strip_suffix(": No such file or directory")?;
        let (who, program) = rest.split_once(": ")?;
        let program = program.trim_matches(['\'', '‘', '’']);
        (who.ends_with("env") && !program.contains([' ', '/'])).then_some(program)
    };
    let program = of_shell.or_else(of_env)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    (!program.is_empty() && program.chars().all(is_name)).then_some(program)
}

/// Where a program is that commands do not see, or that it is nowhere.
fn unseen_program(program: &str, settings: &CommandSettings) -> String {
    let path = settings.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| path.as_os_str()).unwrap_or_default();
    let found = std::env::split_paths(path).find(|directory| {
        let is_seen = seen_by_all(directory)
            || settings
                .roots
                .iter()
                .any(|root| directory.starts_with(root))
            || settings
                .grants
                .iter()
                .any(|grant| directory.starts_with(grant));
        !is_seen && directory.is_absolute() && directory.join(program).is_file()
    });
    let Some(directory) = found else {
        return format!("{program} is not installed: no directory of PATH has it");
    };
    // Programs of `x/bin` need what is in `x` beside it, if that is not half the machine.
    let whole = match directory.file_name() {
        Some(name) if name == "bin" => directory.parent(),
        _ => None,
    };
    let whole = whole.filter(|whole| !settings.is_too_much(whole));
    let whole = whole.unwrap_or(&directory);
    match whole.to_str().filter(|_| !settings.is_too_much(whole)) {
        Some(whole) => format!(
            "{program} is in {}, which commands do not see. The user can allow it: grants = [\"{whole}\"] under [tools.sandbox] in the user's configuration",
            directory.display()
        ),
        None => format!(
            "{program} is in {}, which commands do not see",
            directory.display()
        ),
    }
}

/// Words of a line that look like paths.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let edges = |c: char| c.is_whitespace() || "'\"`‘’“”()[]{}<>,;=".contains(c);
    line.split(edges)
        .map(|word| word.trim_end_matches([':', '.']))
        .filter(|word| word.contains('/') || word.contains('.'))
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
        let hints =
            |said: &str, network| hints(said, "true", &root, network, &settings, &reach, &[]);
        let said = |stderr: &str| hints(stderr, Network::Off).join("\n");
        for (stderr, part) in [
            (
                "cat: /srv/toolchain/lib/x.so: No such file or directory",
                "grants = [\"/srv/toolchain/lib\"]",
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
                "path = \".git\", access = \"write\"",
            ),
            (
                "cat: .env: Permission denied",
                ".env is hidden from commands",
            ),
            (
                "/bin/bash: line 1: cargo: command not found",
                "cargo is not installed",
            ),
            ("sh: 1: cargo: not found", "cargo is not installed"),
            (
                "/usr/bin/env: ‘cargo’: No such file or directory",
                "cargo is not installed",
            ),
            (
                "Error: connect ECONNREFUSED 127.0.0.1:3000",
                "a loopback of their own",
            ),
            (
                "getaddrinfo EAI_AGAIN registry.npmjs.org",
                "network = \"on\"",
            ),
            ("Temporary failure in name resolution", "network = \"on\""),
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
        let refused = "curl: (7) Failed to connect to localhost port 1: Connection refused";
        let own = hints(refused, Network::Loopback).join("\n");
        assert!(own.contains("network = \"on\""), "{own}");
    }
}
