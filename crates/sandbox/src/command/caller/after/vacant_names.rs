//! Which names are kept vacant in a writable root.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::placeholders::is_marked;
use crate::paths::{OwnHere, PathSandbox};

/// Names kept vacant in every writable root, unless they exist or the user opened them.
const NAMES: &[&str] = &[
    ".cargo",
    ".claude",
    ".cursor",
    ".git",
    ".git/hooks",
    ".githooks",
    ".gitmodules",
    ".husky",
    ".idea",
    ".mcp.json",
    ".mvn",
    ".toolgate",
    ".vscode",
    "toolgate.toml",
];

/// Names that programs look for in a home directory only, and that are kept vacant in one. Elsewhere
/// the sweep after a command is enough.
const IN_A_HOME: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".gitconfig",
    ".profile",
    ".ripgreprc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Where the system keeps home directories.
const HOMES: &str = "/home";

/// The names that are protected in a root.
pub(super) fn wanted(rules: &PathSandbox, root: usize) -> Vec<String> {
    let is_wanted = |name: &&&str| rules.protected_by(root, Path::new(name)).is_some();
    let is_home = rules
        .roots()
        .get(root)
        .is_none_or(|root| is_home(rules, root.path()));
    let of_home = IN_A_HOME.iter().filter(|_| is_home);
    let names = NAMES.iter().chain(of_home).filter(is_wanted);
    let mut all: Vec<String> = names.map(|name| (*name).to_owned()).collect();
    // A directory that is missing on the way is kept vacant as well: it could be made.
    let own = rules.own_in(root).map(OwnHere::ways_to_kept);
    let own = own.unwrap_or_default();
    all.extend(
        own.iter()
            .filter_map(|path| path.to_str().map(str::to_owned)),
    );
    all
}

/// Whether a directory is somebody's home. Where the user's is not known, any may be.
fn is_home(rules: &PathSandbox, root: &Path) -> bool {
    let Some(home) = rules.home() else {
        return true;
    };
    let is_root =
        |home: &Path| home == root || std::fs::canonicalize(home).is_ok_and(|home| home == root);
    let of_user = |line: &str| {
        line.split(':')
            .nth(5)
            .is_some_and(|home| is_root(Path::new(home)))
    };
    is_root(home)
        || root.parent() == Some(Path::new(HOMES))
        || IN_A_HOME.iter().any(|name| root.join(name).symlink_metadata().is_ok())
        // A list that cannot be read says nothing about whose home it is.
        || std::fs::read_to_string("/etc/passwd").map_or(true, |users| users.lines().any(of_user))
}

/// Those of the names that nothing is at. What lies in a missing directory is left out.
pub(super) fn missing(
    root: BorrowedFd<'_>,
    names: &[String],
    is_opened: impl Fn(&[u8]) -> bool,
) -> Vec<Vec<u8>> {
    let stat = |name: &str| rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW);
    let mut vacant: Vec<&str> = Vec::new();
    for name in names.iter().map(String::as_str) {
        let within = vacant.iter().any(|above| is_beneath(name, above));
        if within || is_opened(name.as_bytes()) {
            continue;
        }
        let is_vacant = match stat(name) {
            Err(Errno::NOENT) => name.rsplit_once('/').is_none_or(|(above, _)| {
                let kind = stat(above).map(|stat| FileType::from_raw_mode(stat.st_mode));
                kind == Ok(FileType::Directory)
            }),
            // The placeholder of another program.
            Ok(there) => is_marked(&there),
            // A name that cannot be looked up cannot be made either.
            Err(_) => false,
        };
        if is_vacant {
            vacant.push(name);
        }
    }
    vacant.iter().map(|name| name.as_bytes().to_vec()).collect()
}

pub(super) fn is_beneath(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.starts_with('/'))
}
