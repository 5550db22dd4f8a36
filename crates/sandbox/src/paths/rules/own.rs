//! The places where Toolgate keeps its own files, wherever they lie.
//!
//! Other rules are about names, these about places: a directory that is called like one of them
//! and lies elsewhere is not one. A place that does not exist yet counts too, since it would be
//! obeyed as soon as it exists.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::fold::{Folded, fold_name};
use super::guard::folded;

/// The rule that a refusal names for configuration.
pub(crate) const KEPT: &str = "Toolgate's own configuration";

/// The rule that a refusal names for a closed place.
pub(crate) const CLOSED: &str = "Toolgate's own files";

/// Toolgate's own places: absolute, without links, existing or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPlaces {
    /// Paths that no tool reads, changes or sees, whatever a rule says: the journal, full outputs,
    /// remembered approvals.
    pub closed: Vec<PathBuf>,
    /// Paths that no tool changes, unless a trusted rule names the very path: configuration.
    pub kept: Vec<PathBuf>,
}

impl OwnPlaces {
    /// The place that a directory is, or lies in.
    pub fn around(&self, directory: &Path) -> Option<&Path> {
        let mut all = self.closed.iter().chain(&self.kept);
        all.find(|place| directory.starts_with(place))
            .map(PathBuf::as_path)
    }

    /// The closed place that a path is, or lies in.
    pub fn closed_around(&self, path: &Path) -> Option<&Path> {
        let mut closed = self.closed.iter().map(PathBuf::as_path);
        closed.find(|place| path.starts_with(place))
    }

    /// The places that lie in a directory, as names in it.
    pub(crate) fn beneath(&self, directory: &Path) -> OwnHere {
        let here = |places: &[PathBuf]| -> Vec<Place> {
            let inside = |place: &PathBuf| {
                let rel = place.strip_prefix(directory).ok()?;
                (!rel.as_os_str().is_empty()).then(|| Place::at(rel))
            };
            places.iter().filter_map(inside).collect()
        };
        OwnHere {
            closed: here(&self.closed),
            kept: here(&self.kept),
        }
    }
}

/// Own places in one directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnHere {
    closed: Vec<Place>,
    kept: Vec<Place>,
}

#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    /// Its names as rules look at them.
    names: Vec<Vec<u8>>,
}

impl Place {
    fn at(path: &Path) -> Self {
        let names = path.components().map(|name| {
            let name = name.as_os_str().as_bytes();
            fold_name(name).into_owned()
        });
        Self {
            path: path.to_path_buf(),
            names: names.collect(),
        }
    }

    fn holds(&self, path: &Folded<'_>) -> bool {
        let begins = |form: &[std::borrow::Cow<'_, [u8]>]| {
            form.len() >= self.names.len()
                && form
                    .iter()
                    .zip(&self.names)
                    .all(|(name, own)| **name == **own)
        };
        path.forms().any(begins)
    }
}

impl OwnHere {
    /// Whether a name is that of a closed place, or lies in one.
    pub(crate) fn closes(&self, path: &Folded<'_>) -> bool {
        self.closed.iter().any(|place| place.holds(path))
    }

    /// The same for a path of the directory.
    pub(crate) fn closes_path(&self, rel: &Path) -> bool {
        !self.closed.is_empty() && self.closes(&folded(rel.as_os_str().as_bytes()))
    }

    /// Whether a name is that of a kept place, or lies in one.
    pub(crate) fn keeps(&self, path: &Folded<'_>) -> bool {
        self.kept.iter().any(|place| place.holds(path))
    }

    /// The same for a path of the directory.
    pub(crate) fn keeps_path(&self, rel: &Path) -> bool {
        !self.kept.is_empty() && self.keeps(&folded(rel.as_os_str().as_bytes()))
    }

    /// Whether a place lies in a directory of this one, so that it would go with it.
    pub(crate) fn lies_in(&self, rel: &Path) -> bool {
        let mut all = self.closed.iter().chain(&self.kept);
        all.any(|place| place.path.starts_with(rel))
    }

    /// Whether nothing is closed here, so that names need not be looked at.
    pub(crate) fn closes_nothing(&self) -> bool {
        self.closed.is_empty()
    }

    /// Where the kept places are, with the directories on the way to them first: what a command
    /// could make while it is missing.
    pub(crate) fn ways_to_kept(&self) -> Vec<&Path> {
        let mut all: Vec<&Path> = Vec::new();
        // A place inside another is covered by it.
        let lies_within = |place: &Place| {
            let others = self.kept.iter().chain(&self.closed);
            let mut others = others.filter(|other| other.path != place.path);
            others.any(|other| place.path.starts_with(&other.path))
        };
        for place in self.kept.iter().filter(|place| !lies_within(place)) {
            let ancestors = place.path.ancestors();
            all.extend(ancestors.filter(|above| !above.as_os_str().is_empty()));
        }
        // A directory sorts before what is in it.
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> OwnPlaces {
        let at = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        OwnPlaces {
            closed: at(&["/home/data", "/home/cfg/secret"]),
            kept: at(&["/home/cfg", "/home/a/b/cfg", "/elsewhere/cfg"]),
        }
    }

    #[test]
    fn a_place_is_around_what_it_is_and_what_lies_in_it() {
        let own = places();
        for (path, around, closed) in [
            ("/home/data", Some("/home/data"), Some("/home/data")),
            ("/home/data/x/y", Some("/home/data"), Some("/home/data")),
            (
                "/home/cfg/secret/x",
                Some("/home/cfg/secret"),
                Some("/home/cfg/secret"),
            ),
            ("/home/cfg/x", Some("/home/cfg"), None),
            ("/home/data2", None, None),
            ("/home", None, None),
        ] {
            let path = Path::new(path);
            assert_eq!(own.around(path), around.map(Path::new), "{path:?}");
            assert_eq!(own.closed_around(path), closed.map(Path::new), "{path:?}");
        }
    }

    #[test]
    fn in_a_directory_places_are_names_beneath_it() {
        let here = places().beneath(Path::new("/home"));
        for (name, closes, keeps, goes_with) in [
            ("data", true, false, true),
            ("DATA/x", true, false, false),
            ("data2", false, false, false),
            ("cfg", false, true, true),
            ("cfg/x", false, true, false),
            ("cfg/secret/x", true, true, false),
            ("a", false, false, true),
            ("a/b", false, false, true),
            ("a/b/cfg/x", false, true, false),
            ("a/c", false, false, false),
        ] {
            let path = Path::new(name);
            assert_eq!(here.closes_path(path), closes, "{name}");
            assert_eq!(here.keeps_path(path), keeps, "{name}");
            assert_eq!(here.lies_in(path), goes_with, "{name}");
        }
        assert!(!here.closes_nothing());
        let ways = ["a", "a/b", "a/b/cfg", "cfg"];
        assert_eq!(here.ways_to_kept(), ways.map(Path::new));
        // A place itself has no name in itself.
        let inside = places().beneath(Path::new("/elsewhere/cfg"));
        assert!(inside.closes_nothing() && inside.ways_to_kept().is_empty());
        assert!(!inside.closes_path(Path::new("x")) && !inside.keeps_path(Path::new("x")));
    }

    #[test]
    fn a_kept_place_in_a_closed_one_needs_no_way_of_its_own() {
        let own = OwnPlaces {
            closed: vec!["/home/data".into()],
            kept: vec![
                "/home/data/cfg".into(),
                "/home/cfg/deep".into(),
                "/home/cfg".into(),
            ],
        };
        let here = own.beneath(Path::new("/home"));
        assert_eq!(here.ways_to_kept(), [Path::new("cfg")]);
    }

    #[test]
    fn a_sandbox_knows_its_own_places_and_those_in_each_root() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let mut rules = crate::paths::PathRules::new(&place);
        rules.own.closed = vec![place.join("data")];
        let own = rules.own.clone();
        let sandbox = crate::paths::PathSandbox::open(&rules).unwrap();
        assert_eq!(sandbox.own(), &own);
        assert!(sandbox.own_in(0).unwrap().closes_path(Path::new("data/x")));
        assert!(sandbox.own_in(1).is_none());
    }
}
