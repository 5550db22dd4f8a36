//! Where a path leads, by its text alone.
//!
//! Links are not followed: this is what a line claims, and the walls are what
//! is true. A path becomes absolute against the directory the line is in at that
//! moment, `..` is taken off, and then it is named from the root it lies in.

use crate::LineContext;
use crate::container::Container;
use crate::expand::field::Field;
use crate::expand::glob;
use crate::process::{self, Owner};
use crate::unknown_places::{UNKNOWN_HOME, UNKNOWN_ROOT};

/// Directories that a system does not survive the loss of.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/media",
    "/mnt",
    "/nix",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/share",
    "/var",
    "/var/lib",
    "/var/log",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/private",
];

/// What a path is to those who live on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Grave {
    /// `/`.
    Everything,
    /// A directory of the system.
    System,
    /// A home, or a directory above it.
    Home,
    /// A root of the workspace, or a directory above it.
    Workspace,
}

impl Grave {
    /// Homes and workspaces have owners who may do with them as they like.
    pub(crate) fn is_system(self) -> bool {
        matches!(self, Self::Everything | Self::System)
    }
}

/// The directories that paths are measured against.
pub(crate) struct Places {
    roots: Vec<String>,
    home: String,
    /// The container that the command which is looked at would run in.
    pub(crate) container: Option<Container>,
}

impl Places {
    pub(crate) fn new(context: &LineContext<'_>) -> Self {
        let mut roots: Vec<String> = context.roots.iter().map(|root| join("/", root)).collect();
        if roots.is_empty() {
            roots.push(UNKNOWN_ROOT.to_owned());
        }
        let home = context
            .home
            .map_or_else(|| UNKNOWN_HOME.to_owned(), |home| join("/", home));
        Self {
            roots,
            home,
            container: None,
        }
    }

    /// The absolute path of the directory a line starts in.
    pub(crate) fn start(&self, context: &LineContext<'_>) -> String {
        join(
            self.roots.first().map_or(UNKNOWN_ROOT, String::as_str),
            context.cwd,
        )
    }

    pub(crate) fn home(&self) -> &str {
        &self.home
    }

    pub(crate) fn root(&self) -> &str {
        self.roots.first().map_or(UNKNOWN_ROOT, String::as_str)
    }

    /// Whether an absolute path lies in a root.
    pub(crate) fn is_inside(&self, path: &str) -> bool {
        self.roots.iter().any(|root| beneath(root, path).is_some())
    }

    /// How facts name an absolute path.
    pub(crate) fn name(&self, path: &str) -> String {
        for root in &self.roots {
            if let Some(inside) = beneath(root, path) {
                return if inside.is_empty() {
                    ".".to_owned()
                } else {
                    inside.to_owned()
                };
            }
        }
        match beneath(UNKNOWN_HOME, path) {
            Some("") => "~".to_owned(),
            Some(inside) => format!("~/{inside}"),
            None => path.to_owned(),
        }
    }

    /// Whether losing this directory is losing a system, a home or a workspace.
    pub(crate) fn grave(&self, path: &str) -> Option<Grave> {
        match &self.container {
            Some(container) => {
                let lost = container.lost_with(path);
                lost.iter().find_map(|path| self.grave_on_machine(path))
            }
            None => self.grave_on_machine(path),
        }
    }

    fn grave_on_machine(&self, path: &str) -> Option<Grave> {
        if path == "/" {
            return Some(Grave::Everything);
        }
        if self.roots.iter().any(|root| beneath(path, root).is_some()) {
            return Some(Grave::Workspace);
        }
        if beneath(path, &self.home).is_some() {
            return Some(Grave::Home);
        }
        if SYSTEM.contains(&path) {
            return Some(Grave::System);
        }
        is_someones_home(path).then_some(Grave::Home)
    }

    /// Likewise, but a root of the workspace may be put in order by its own tools.
    pub(crate) fn grave_beyond_roots(&self, path: &str) -> Option<Grave> {
        let own = self.roots.iter().any(|root| root == path) && path != self.home;
        self.grave(path).filter(|_| !own || path == "/")
    }

    /// Whether a path is a home, or holds homes.
    pub(crate) fn is_home(&self, path: &str) -> bool {
        match &self.container {
            Some(container) => container
                .lost_with(path)
                .iter()
                .any(|path| self.holds_home(path)),
            None => self.holds_home(path),
        }
    }

    fn holds_home(&self, path: &str) -> bool {
        let holds = beneath(path, &self.home).is_some();
        holds || path == "/root" || is_someones_home(path)
    }

    /// The same for a pattern: it may match such a directory, or everything in one.
    pub(crate) fn grave_pattern(&self, directory: &str, field: &Field) -> Option<Grave> {
        let components = absolute_components(directory, field);
        let (last, parents) = components.split_last()?;
        let everything = last.1 && is_wide(&last.0) && !field.narrow;
        if everything && parents.iter().all(|(_, pattern)| !*pattern) {
            let parent = plain_path(parents.iter().map(|(text, _)| text.as_str()));
            if let Some(grave) = self.grave(&parent) {
                return Some(grave);
            }
        }
        if field.narrow {
            return None;
        }
        let inside = |path: &str| match &self.container {
            Some(container) => container.names_of(path),
            None => vec![path.to_owned()],
        };
        self.grave_directories()
            .flat_map(inside)
            .find(|path| fits(&components, path))
            .and_then(|path| self.grave(&path))
    }

    fn grave_directories(&self) -> impl Iterator<Item = &str> {
        let above = |path: &'_ str| -> Vec<usize> {
            path.match_indices('/')
                .map(|(at, _)| at)
                .filter(|at| *at > 0)
                .collect()
        };
        let own = self.roots.iter().chain([&self.home]).flat_map(move |path| {
            above(path)
                .into_iter()
                .chain([path.len()])
                .filter_map(|end| path.get(..end))
        });
        own.chain(SYSTEM.iter().copied())
    }
}

fn is_someones_home(path: &str) -> bool {
    ["/home", "/Users"]
        .iter()
        .any(|top| beneath(top, path).is_some_and(|user| !user.is_empty() && !user.contains('/')))
}

/// Whether a pattern that the line writes chooses directories, and not only names in one directory.
///
/// What a search found (`deep`, `narrow`) is named by patterns too; there the directory it started
/// from is what counts.
pub(crate) fn crosses_directories(field: &Field) -> bool {
    let components = field.components();
    let named = components.iter().rposition(|(text, _)| !text.is_empty());
    !field.deep
        && !field.narrow
        && components
            .iter()
            .take(named.unwrap_or_default())
            .any(|(_, pattern)| *pattern)
}

/// The part of a pattern's path before the first component that is one, and
/// whether what follows stays below it.
pub(crate) fn leading_directory(directory: &str, field: &Field) -> (String, bool) {
    let mut fixed = String::new();
    let mut climbs = false;
    let mut open = false;
    for (text, pattern) in field.components() {
        open |= pattern;
        if open {
            climbs |= text == "..";
        } else {
            push_unescaped(&mut fixed, &text);
            fixed.push('/');
        }
    }
    (join(directory, &fixed), !climbs)
}

/// An absolute path in its shortest form.
///
/// The links of the kernel that lead out of `/proc` are followed.
pub(crate) fn join(directory: &str, path: &str) -> String {
    follow(directory, path).0
}

/// Whether a path goes through a process that is another's, or through a descriptor.
pub(crate) fn is_led_away(directory: &str, path: &str) -> bool {
    follow(directory, path).1
}

fn follow(directory: &str, path: &str) -> (String, bool) {
    let start = if path.starts_with('/') { "" } else { directory };
    let mut joined = String::with_capacity(start.len() + path.len() + 1);
    let mut away = false;
    for part in start.split('/').chain(path.split('/')) {
        if matches!(part, "" | ".") {
            continue;
        }
        if joined.starts_with("/proc/") || joined.starts_with("/dev/fd") {
            away |= process::leave_descriptor(&mut joined);
        }
        if part == ".." {
            joined.truncate(joined.rfind('/').unwrap_or(0));
            continue;
        }
        joined.push('/');
        push_unescaped(&mut joined, part);
        if joined.starts_with("/proc/") {
            away |= process::follow(&mut joined, directory) == Some(Owner::Other);
        }
    }
    if joined.is_empty() {
        joined.push('/');
    }
    (joined, away)
}

fn plain_path<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        push_unescaped(&mut path, part);
    }
    if path.is_empty() {
        "/".to_owned()
    } else {
        path
    }
}

fn push_unescaped(out: &mut String, text: &str) {
    if !text.contains('\\') {
        out.push_str(text);
        return;
    }
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        out.push(if character == '\\' {
            characters.next().unwrap_or('\\')
        } else {
            character
        });
    }
}

/// What is left of `path` below `directory`, or nothing if it is not below it.
pub(crate) fn beneath<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    if directory == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}

/// The components of a pattern from `/` on, with `.` and `..` taken off.
fn absolute_components(directory: &str, field: &Field) -> Vec<(String, bool)> {
    let mut out: Vec<(String, bool)> = Vec::new();
    if !field.text.starts_with('/') {
        out.extend(
            directory
                .split('/')
                .filter(|part| !part.is_empty())
                .map(|part| (part.to_owned(), false)),
        );
    }
    for (text, pattern) in field.components() {
        let below = !matches!(text.as_str(), "" | ".");
        if below
            && out
                .first()
                .is_some_and(|(top, _)| top == "proc" || top == "dev")
        {
            let mut path = plain_path(out.iter().map(|(text, _)| text.as_str()));
            if process::leave_descriptor(&mut path) {
                out.clear();
            }
        }
        match text.as_str() {
            "" | "." => {}
            ".." => {
                out.pop();
            }
            _ => out.push((text, pattern)),
        }
        if out.first().is_some_and(|(top, _)| top == "proc") {
            let mut path = plain_path(out.iter().map(|(text, _)| text.as_str()));
            if process::follow(&mut path, directory).is_some() {
                let parts = path.split('/').filter(|part| !part.is_empty());
                out = parts.map(|part| (part.to_owned(), false)).collect();
            }
        }
    }
    out
}

/// Patterns that leave nothing, or nothing visible, in a directory.
fn is_wide(component: &str) -> bool {
    // Two unlike names, with and without a dot: what takes one of each kind takes all.
    let takes = |name| glob::matches(component, name);
    (takes("qzx") && takes("k7.wvj")) || (takes(".qzx") && takes(".k7wvj"))
}

pub(crate) fn name_fits(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.')
        || pattern.starts_with('.')
        || pattern.starts_with("\\.")
        || pattern.starts_with("[.]"))
        && glob::matches(pattern, name)
}

/// Whether a pattern can match this very path; `**` stands for any number of directories.
fn fits(components: &[(String, bool)], path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    fits_parts(components, &parts)
}

fn fits_parts(components: &[(String, bool)], parts: &[&str]) -> bool {
    let Some(((text, _), rest)) = components.split_first() else {
        return parts.is_empty();
    };
    if text == "**" {
        return (0..=parts.len()).any(|skip| {
            parts
                .get(skip..)
                .is_some_and(|below| fits_parts(rest, below))
        });
    }
    parts
        .split_first()
        .is_some_and(|(part, below)| name_fits(text, part) && fits_parts(rest, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let roots = ["/home/ann/work"];
        Places::new(&LineContext {
            cwd: "",
            home: Some("/home/ann"),
            roots: &roots,
        })
    }

    #[test]
    fn paths_are_named_from_their_root() {
        let places = places();
        assert_eq!(places.name("/home/ann/work/src/a"), "src/a");
        assert_eq!(places.name("/home/ann/work"), ".");
        assert_eq!(places.name("/home/ann/work_evil"), "/home/ann/work_evil");
        assert_eq!(join("/a/b", "../c/./d/"), "/a/c/d");
        assert_eq!(join("/a", "../../.."), "/");
    }

    #[test]
    fn what_must_not_be_lost_is_known() {
        let places = places();
        for (path, grave) in [
            ("/", Some(Grave::Everything)),
            ("/etc", Some(Grave::System)),
            ("/home", Some(Grave::Workspace)),
            ("/home/ann", Some(Grave::Workspace)),
            ("/home/bob", Some(Grave::Home)),
            ("/home/ann/work", Some(Grave::Workspace)),
            ("/home/ann/work/target", None),
            ("/tmp", None),
            ("/home/bob/x", None),
        ] {
            assert_eq!(places.grave(path), grave, "{path}");
        }
    }

    #[test]
    fn patterns_that_take_everything_are_known() {
        let places = places();
        let here = "/home/ann/work";
        for (pattern, directory, expected) in [
            ("/*", here, true),
            ("*", here, true),
            ("./*", here, true),
            (".*", here, true),
            ("*", "/home/ann/work/target", false),
            ("*.o", here, false),
            ("/home/*/work", here, true),
            ("/home/a*", here, true),
            ("/et?", here, true),
            ("/tmp/*", here, false),
            ("~/*", here, false),
            ("../*", here, true),
            ("../w*", here, true),
            ("target/*", here, false),
        ] {
            let field = Field::names(pattern, false);
            assert_eq!(
                places.grave_pattern(directory, &field).is_some(),
                expected,
                "{pattern}"
            );
        }
    }
}
