//! The places where Toolgate keeps its own files, wherever they lie.
//!
//! Other rules are about names, these about places: a folder that is called like one of them
//! and lies elsewhere is nobody's. What is not there yet counts as well, since it would be
//! obeyed as soon as it were.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::fold::{Folded, fold_name};
use super::guard::folded;

/// The rule that a refusal names for configuration.
pub(crate) const KEPT: &str = "Toolgate's own configuration";

/// Toolgate's own places: absolute, without links, existing or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnPlaces {
    /// What no tool reads, changes or sees, whatever a rule says: the record, full outputs,
    /// remembered approvals.
    pub closed: Vec<PathBuf>,
    /// What no tool changes, unless a trusted rule names the very path: configuration.
    pub kept: Vec<PathBuf>,
}

impl OwnPlaces {
    /// The place that a folder is, or lies in.
    pub fn around(&self, folder: &Path) -> Option<&Path> {
        let mut all = self.closed.iter().chain(&self.kept);
        all.find(|place| folder.starts_with(place))
            .map(PathBuf::as_path)
    }

    /// The closed place that a path is, or lies in.
    pub fn closed_around(&self, path: &Path) -> Option<&Path> {
        let mut closed = self.closed.iter().map(PathBuf::as_path);
        closed.find(|place| path.starts_with(place))
    }

    /// The places that lie in a folder, as names in it.
    pub(crate) fn beneath(&self, folder: &Path) -> OwnHere {
        let here = |places: &[PathBuf]| -> Vec<Place> {
            let inside = |place: &PathBuf| {
                let rel = place.strip_prefix(folder).ok()?;
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

/// Own places in one folder.
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

    /// The same for a path of the folder.
    pub(crate) fn closes_path(&self, rel: &Path) -> bool {
        !self.closed.is_empty() && self.closes(&folded(rel.as_os_str().as_bytes()))
    }

    /// Whether a name is that of a kept place, or lies in one.
    pub(crate) fn keeps(&self, path: &Folded<'_>) -> bool {
        self.kept.iter().any(|place| place.holds(path))
    }

    /// The same for a path of the folder.
    pub(crate) fn keeps_path(&self, rel: &Path) -> bool {
        !self.kept.is_empty() && self.keeps(&folded(rel.as_os_str().as_bytes()))
    }

    /// Whether a place lies in a folder of this one, so that it would go with it.
    pub(crate) fn lies_in(&self, rel: &Path) -> bool {
        let mut all = self.closed.iter().chain(&self.kept);
        all.any(|place| place.path.starts_with(rel))
    }

    /// Whether nothing is closed here, so that names need not be looked at.
    pub(crate) fn closes_nothing(&self) -> bool {
        self.closed.is_empty()
    }

    /// Where the kept places are, with the folders on the way to them first: what a command
    /// could make while it is missing.
    pub(crate) fn ways_to_kept(&self) -> Vec<&Path> {
        let mut all: Vec<&Path> = Vec::new();
        // What lies in another place goes with it.
        let lies_within = |place: &Place| {
            let others = self.kept.iter().chain(&self.closed);
            let mut others = others.filter(|other| other.path != place.path);
            others.any(|other| place.path.starts_with(&other.path))
        };
        for place in self.kept.iter().filter(|place| !lies_within(place)) {
            let ancestors = place.path.ancestors();
            all.extend(ancestors.filter(|above| !above.as_os_str().is_empty()));
        }
        // A folder sorts before what is in it.
        all.sort_unstable();
        all.dedup();
        all
    }
}
