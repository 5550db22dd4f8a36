//! The paths that a command could reach, to explain why it failed.
//!
//! The kernel reports a refusal to the command only. Whether a layer of the sandbox refused
//! something is rarely known, but the access that the sandbox gives to a path is.
//! A path that a command complained about goes in. The barrier comes out, with the line of
//! configuration that removes it. Outside of the directories that the
//! command could see, nothing is looked at: the answer says nothing about what is there.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use toolgate_model::Access;

use crate::command::caller::remedy::Remedy;
use crate::command::caller::search::walk::{READABLE, is_opened};
use crate::command::inside::mounts::{DEVICES, SYSTEM, may_be_shown};
use crate::command::rules::{Grant, Level, SandboxRules};
use crate::paths::{KEPT, PathSandbox, RootAccess, rule_that_names};

/// Links that are followed before a path is called endless.
const MOST_LINKS: usize = 40;

/// Directories of well-known tools: of no use in part.
const WHOLE: [&str; 15] = [
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".npm",
    ".nvm",
    ".pnpm-store",
    ".pyenv",
    ".cache/pip",
    ".cache/uv",
    ".deno",
    ".bun",
    ".m2",
    ".gradle",
    ".rbenv",
    "go/pkg/mod",
];

/// Directories that every command gets empty, the inner ones first.
pub(super) const PRIVATE: [&str; 5] = ["/run/home", "/tmp", "/run", "/dev/shm", "/var/tmp"];

/// Whether commands see this path without a grant.
pub fn seen_by_all(path: &Path) -> bool {
    let Ok(rel) = path.strip_prefix("/") else {
        return false;
    };
    let mut directories = SYSTEM.iter().chain(&["dev", "proc"]);
    directories.any(|directory| rel.starts_with(directory))
}

/// The reason why a command cannot use a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// It lies outside the roots and grants.
    Outside,
    /// The command has an empty directory of its own in that place.
    Private,
    /// It can be read and not changed.
    ReadOnly,
    /// It belongs to Toolgate itself.
    Own,
    /// A deny pattern hides it.
    Hidden {
        /// The pattern.
        rule: String,
    },
    /// It is protected against changes, existing or not.
    Protected {
        /// The rule.
        rule: String,
    },
}

/// Why a command could not use a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The path as the sandbox saw it: absolute, and past the links in the command's directories.
    pub path: PathBuf,
    /// The reason.
    pub why: Barrier,
    /// The layer of the sandbox that refuses.
    pub sandbox: &'static str,
    /// The configuration that opens it; none if there is none.
    pub remedy: Option<Remedy>,
}

/// The paths that a command can reach.
#[derive(Clone, Debug)]
pub struct Reach {
    level: Level,
    paths: PathSandbox,
    opened: Vec<PathBuf>,
    directories: Vec<Place>,
}

#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    writable: bool,
    root: Option<usize>,
}

impl SandboxRules {
    /// The paths that a command reaches on a level, with these grants beside those of the rules.
    pub fn reach(&self, level: Level, more: &[Grant]) -> Reach {
        let roots = self.paths.roots().iter().enumerate();
        let mut directories: Vec<Place> = roots
            .map(|(number, root)| Place {
                path: root.path().to_path_buf(),
                writable: root.access() == RootAccess::ReadWrite,
                root: Some(number),
            })
            .collect();
        directories.extend(self.grants.iter().chain(more).map(|grant| Place {
            path: grant.path.clone(),
            writable: grant.access == RootAccess::ReadWrite,
            root: None,
        }));
        // The innermost comes first, and of two that are the same the stricter.
        directories.sort_by(|a, b| (&b.path, a.writable).cmp(&(&a.path, b.writable)));
        directories.dedup_by(|later, first| later.path == first.path);
        Reach {
            level,
            paths: self.paths.clone(),
            opened: self.opened.clone(),
            directories,
        }
    }
}

impl Reach {
    /// The reason why a command cannot use this absolute path; none if it can.
    pub fn explains(&self, path: &Path, access: Access) -> Option<Denial> {
        let path = self.follow(path)?;
        let denial = |why, remedy| {
            Some(Denial {
                path: path.clone(),
                sandbox: self.sandbox_of(&why),
                why,
                remedy,
            })
        };
        let wanted = match access {
            Access::Read => RootAccess::ReadOnly,
            Access::Write | Access::Delete => RootAccess::ReadWrite,
        };
        let Some((place, rel)) = self.place_of(&path) else {
            let rel = path.strip_prefix("/").ok()?;
            let system = SYSTEM.iter().any(|name| rel.starts_with(name)) || rel.starts_with("proc");
            let device = DEVICES
                .iter()
                .any(|name| path == Path::new("/dev").join(name));
            if device || (system && access == Access::Read) || path == Path::new("/") {
                return None;
            }
            if self.paths.own().closed_around(&path).is_some() {
                return denial(Barrier::Own, None);
            }
            if let Some(rule) = self.paths.denied_by(rel, true)
                && !self.paths.is_lifted_beyond(&path, access)
            {
                let rule = rule.to_owned();
                return denial(Barrier::Hidden { rule }, None);
            }
            let remedy = self.grant_for(&path, wanted);
            return match (system, self.private(&path)) {
                (true, _) => denial(Barrier::ReadOnly, None),
                // Something new can be made there.
                (_, Some(own)) if access == Access::Write && path.parent() == Some(own) => None,
                (_, Some(_)) => denial(Barrier::Private, remedy),
                _ => denial(Barrier::Outside, remedy),
            };
        };
        self.in_place(place, rel, access)
            .and_then(|(why, remedy)| denial(why, remedy))
    }

    /// The rule against an absolute path that a command line names, before it runs: the path
    /// is denied or protected. Paths outside the roots and grants are not judged here.
    pub fn forbids(&self, path: &Path, access: Access) -> Option<Denial> {
        let path = self.follow(path)?;
        let place = self.place_of(&path);
        if place.is_none() && self.private(&path).is_some() {
            return None;
        }
        let goes_along = place.filter(|_| access == Access::Delete);
        if let Some((place, rel)) = goes_along
            && let Some(rule) = self.guarded_within(place, rel)
        {
            let why = Barrier::Protected { rule };
            return Some(Denial {
                sandbox: self.sandbox_of(&why),
                path,
                why,
                remedy: None,
            });
        }
        self.explains(&path, access)
            .filter(|denial| match &denial.why {
                Barrier::Own | Barrier::Protected { .. } => true,
                // Some patterns are about files only, and a line may make a directory.
                Barrier::Hidden { rule } => {
                    let rel = place.map_or(path.as_path(), |(_, rel)| rel);
                    path.is_file() || self.paths.denied_by(rel, false) == Some(rule.as_str())
                }
                _ => false,
            })
    }

    /// The rule that guards something in a directory, which would go with it: a repository has
    /// its hooks and its configuration, and Toolgate's files lie somewhere.
    fn guarded_within(&self, place: &Place, rel: &Path) -> Option<String> {
        if self.paths.own().beneath(&place.path).lies_in(rel) {
            return Some(KEPT.to_owned());
        }
        let name = rel.file_name()?;
        let rule = self.paths.protected_by(place.root?, &rel.join("hooks"))?;
        let whole = place.path.join(rel);
        let is_repository = name.eq_ignore_ascii_case(".git") && has_content(&whole);
        (is_repository && !self.is_opened(&whole)).then(|| rule.to_owned())
    }

    fn is_opened(&self, path: &Path) -> bool {
        self.opened.iter().any(|opened| {
            let opened = self.working().join(opened);
            is_opened(
                &[opened.as_os_str().as_bytes().to_vec()],
                path.as_os_str().as_bytes(),
            )
        })
    }

    /// The guard on a path in one of the command's directories.
    fn in_place(
        &self,
        place: &Place,
        rel: &Path,
        access: Access,
    ) -> Option<(Barrier, Option<Remedy>)> {
        let masked = self.level == Level::Namespaces;
        let own = self.paths.own().beneath(&place.path);
        if masked && own.closes_path(rel) {
            return Some((Barrier::Own, None));
        }
        // Some patterns are about files only.
        let is_file = !place.path.join(rel).is_dir();
        // The same patterns as the masks of a grant are made from.
        let in_grant;
        let denied = match place.root {
            Some(root) => self.paths.denies(root, rel, is_file, access),
            None => {
                in_grant = self.paths.denied_beneath(&place.path);
                let lifted = in_grant.is_lifted(rel, access);
                in_grant.by(rel, is_file).filter(|_| !lifted)
            }
        };
        let denied = denied.filter(|_| masked);
        if let Some(rule) = denied.filter(|rule| *rule != READABLE) {
            let rule = rule.to_owned();
            let remedy = self.rule_for(place, rel, access);
            return Some((Barrier::Hidden { rule }, remedy));
        }
        if access == Access::Read {
            return None;
        }
        let root = place.root;
        if !place.writable {
            let remedy = root.is_none().then(|| Remedy::Grant {
                path: place.path.clone(),
                access: RootAccess::ReadWrite,
            });
            return Some((Barrier::ReadOnly, remedy));
        }
        // The widest path that is protected: what is beneath it goes with it.
        let (guarded, rule) = rel
            .ancestors()
            .filter(|above| !above.as_os_str().is_empty())
            .filter_map(|above| Some((above, self.protected(place, above)?)))
            .last()?;
        let whole = place.path.join(guarded);
        (masked && !self.is_opened(&whole)).then(|| {
            let path = if root == Some(0) {
                guarded.to_path_buf()
            } else {
                whole
            };
            let access = RootAccess::ReadWrite;
            let rule = rule.to_owned();
            // A protected path in a root can be opened; in a grant it cannot.
            let remedy = root.map(|_| Remedy::Grant { path, access });
            (Barrier::Protected { rule }, remedy)
        })
    }

    /// The rule that protects a path. That of `.git` is about a file of this name: in the
    /// directory only some names are protected.
    fn protected(&self, place: &Place, path: &Path) -> Option<&str> {
        let readable = self.paths.denied_by(path, true);
        let rule = match place.root {
            Some(root) => self.paths.protected_by(root, path),
            None => self.paths.protected_in(&place.path, path),
        };
        let rule = rule.or(readable)?;
        let is_directory = || has_content(&place.path.join(path));
        (rule != ".git" || !is_directory()).then_some(rule)
    }

    fn working(&self) -> &Path {
        let first = self.directories.iter().find(|place| place.root == Some(0));
        first.map_or(Path::new("/"), |place| &place.path)
    }

    fn place_of<'a>(&self, path: &'a Path) -> Option<(&Place, &'a Path)> {
        self.directories
            .iter()
            .find_map(|place| Some((place, path.strip_prefix(&place.path).ok()?)))
    }

    /// The private directory that a path lies in.
    fn private(&self, path: &Path) -> Option<&'static Path> {
        let mut places = PRIVATE.iter().map(Path::new);
        let place = places.find(|place| path.starts_with(place));
        place.filter(|_| self.level == Level::Namespaces)
    }

    fn sandbox_of(&self, why: &Barrier) -> &'static str {
        match (self.level, why) {
            (Level::Landlock, _) => "landlock",
            (_, Barrier::Own | Barrier::Hidden { .. } | Barrier::Protected { .. }) => "masks",
            _ => "mounts",
        }
    }

    /// The directory to grant for a path: its own, or that of the tool it belongs to. None
    /// that holds half the machine or a root; then it is the path itself.
    fn grant_for(&self, path: &Path, access: RootAccess) -> Option<Remedy> {
        let of_tool = path
            .ancestors()
            .find(|above| WHOLE.iter().any(|name| above.ends_with(name)));
        let directory = of_tool.or_else(|| {
            path.parent()
                .filter(|directory| !self.is_too_much(directory))
        });
        let directory = directory.unwrap_or(path);
        let can_be = !self.is_too_much(directory) && may_be_shown(directory.as_os_str().as_bytes());
        (can_be && directory.to_str().is_some()).then(|| Remedy::Grant {
            path: directory.to_path_buf(),
            access,
        })
    }

    /// The rule that opens a denied path of a command's directory, if no pattern of the
    /// configuration denies it.
    fn rule_for(&self, place: &Place, rel: &Path, access: Access) -> Option<Remedy> {
        let bytes = rel.as_os_str().as_bytes();
        let name = match place.root {
            Some(root) => self.paths.name(root, rel),
            None => place.path.join(rel),
        };
        let text = rule_that_names(name.as_os_str().as_bytes(), access);
        let text = text.filter(|_| self.paths.can_be_lifted(bytes));
        text.map(|text| Remedy::Rule { text })
    }

    fn is_too_much(&self, directory: &Path) -> bool {
        let depth = directory.components().skip(1).count();
        let homes = directory.starts_with("/home") || directory.starts_with("/Users");
        depth < if homes { 3 } else { 2 }
            || self
                .directories
                .iter()
                .any(|place| place.path.starts_with(directory))
    }

    /// The path without `.` and `..`, past the links that lie in the command's directories.
    fn follow(&self, path: &Path) -> Option<PathBuf> {
        if !path.is_absolute() {
            return None;
        }
        let mut left: Vec<OsString> = parts(path);
        let mut links = 0;
        let mut whole = PathBuf::from("/");
        while let Some(part) = left.pop() {
            if part == ".." {
                whole.pop();
                continue;
            }
            whole.push(&part);
            let link = self
                .place_of(&whole)
                .filter(|(_, rel)| !rel.as_os_str().is_empty())
                .and_then(|_| std::fs::read_link(&whole).ok());
            if let Some(target) = link {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                whole.pop();
                if target.is_absolute() {
                    whole = PathBuf::from("/");
                }
                left.extend(parts(&target));
            }
        }
        Some(whole)
    }
}

/// The names of a path from the last to the first.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

/// Whether this is a directory with something in it: an empty one may be a placeholder.
fn has_content(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Barrier::Outside => write!(f, "{path} is outside the roots and grants of commands"),
            Barrier::Private => write!(
                f,
                "{path} is private to this conversation; put files in the workspace"
            ),
            Barrier::ReadOnly => write!(f, "{path} cannot be changed by commands"),
            Barrier::Own => write!(
                f,
                "{path} belongs to Toolgate itself and is hidden from commands"
            ),
            Barrier::Hidden { rule } => {
                write!(f, "{path} is hidden from commands by the pattern {rule}")
            }
            Barrier::Protected { rule } => write!(
                f,
                "{path} is protected against changes by the rule {rule}, because its content may be executed later"
            ),
        }
    }
}
