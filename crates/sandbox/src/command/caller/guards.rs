//! The masks for what a search found.
//!
//! A mask lies on the guarded name; every directory above it is pinned, because a directory
//! that can be renamed takes the name out of the way of the next search.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::command::caller::search::found::{Found, Why};
use crate::command::protocol::message::{MOST_MASKS, Mask, MaskKind};

/// Why a directory is hidden from a command as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// It cannot be listed or entered, so its content is unknown.
    Unsearchable {
        /// The directory.
        path: PathBuf,
    },
    /// It holds more denied names than can be masked one by one.
    TooManyDenied {
        /// The directory.
        path: PathBuf,
        /// How many there are.
        names: usize,
    },
}

/// More names have to be masked than is possible, and they lie beside each other in the
/// tree itself, which cannot be hidden as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany {
    pub(crate) names: usize,
}

/// A directory that is hidden as a whole, and how many names there were to hide in it.
pub(super) type Collapsed = (Vec<u8>, usize);

/// The guarded names in one tree of a command.
#[derive(Debug)]
pub(crate) struct Guards<'a> {
    pub(crate) found: &'a Found,
    /// Names to keep vacant.
    pub(crate) vacant: &'a [Vec<u8>],
    /// Other roots and grants that lie in this tree, as paths in it.
    pub(super) nested: Vec<Vec<u8>>,
    /// Whether commands can rename something there.
    pub(crate) writable: bool,
}

impl Guards<'_> {
    /// The masks in the order in which they go on, and the directories that had to be hidden
    /// as a whole to get below the limit, with the number of names in each.
    pub(super) fn masks(
        &self,
        directory: u16,
        most: usize,
    ) -> Result<(Vec<Mask>, Vec<Collapsed>), TooMany> {
        let mut kinds = self.kinds();
        let mut collapsed = Vec::new();
        for only_hidden in [true, false] {
            if kinds.len() > most {
                collapsed.extend(collapse(&mut kinds, most, only_hidden));
            }
        }
        if kinds.len() > most {
            return Err(TooMany { names: kinds.len() });
        }
        let masks = kinds.into_iter();
        let masks = masks.map(|(path, kind)| Mask {
            directory,
            path,
            kind,
        });
        Ok((masks.collect(), collapsed))
    }

    /// The strictest guard of every path. In this order a directory comes before what is
    /// in it.
    ///
    /// Links get none: what they lead to has a name of its own, and the sweep compares the
    /// link itself.
    fn kinds(&self) -> BTreeMap<Vec<u8>, MaskKind> {
        let mut kinds: BTreeMap<Vec<u8>, MaskKind> = BTreeMap::new();
        let mut guard = |path: &[u8], kind| {
            let known = kinds.entry(path.to_vec()).or_insert(kind);
            if strictness(kind) > strictness(*known) {
                *known = kind;
            }
        };
        for path in self.vacant {
            guard(path, MaskKind::Vacant);
        }
        let masked = self.found.guarded.iter();
        for found in masked.filter(|found| found.is_masked()) {
            let kind = match found.why {
                Why::Denied(_) | Why::Own | Why::Unsearchable => MaskKind::Hide,
                Why::Protected(_) => MaskKind::Freeze,
            };
            guard(&found.path, kind);
        }
        if self.writable {
            let guarded = self.found.guarded.iter();
            let guarded = guarded.filter(|found| !found.is_missing());
            let ways = self.found.pinned.iter();
            let pinned: BTreeSet<&[u8]> = guarded
                .map(|found| &found.path)
                .chain(self.vacant)
                .chain(&self.nested)
                .chain(&self.found.pinned)
                .flat_map(|path| ancestors(path))
                .chain(ways.map(Vec::as_slice))
                .collect();
            for path in pinned {
                guard(path, MaskKind::Pin);
            }
        }
        // Beneath what is covered there is nothing to guard.
        let covers = |kind: &MaskKind| matches!(kind, MaskKind::Hide | MaskKind::Vacant);
        let covered = kinds.iter().filter(|(_, kind)| covers(kind));
        let covered: BTreeSet<Vec<u8>> = covered.map(|(path, _)| path.clone()).collect();
        kinds.retain(|path, _| !ancestors(path).any(|above| covered.contains(above)));
        kinds
    }
}

/// The limit for all trees of a command together.
pub(super) const MOST: usize = MOST_MASKS;

fn strictness(kind: MaskKind) -> u8 {
    match kind {
        MaskKind::Pin => 0,
        MaskKind::Freeze => 1,
        MaskKind::Vacant => 2,
        MaskKind::Hide => 3,
    }
}

/// Hides directories as a whole, those with the most names right in them first, until the
/// limit holds. Gives them with those numbers.
fn collapse(
    kinds: &mut BTreeMap<Vec<u8>, MaskKind>,
    most: usize,
    only_hidden: bool,
) -> Vec<Collapsed> {
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (path, kind) in kinds.iter() {
        if (*kind == MaskKind::Hide || !only_hidden)
            && let Some(parent) = ancestors(path).last()
        {
            *counts.entry(parent).or_default() += 1;
        }
    }
    let mut excess = kinds.len().saturating_sub(most);
    let mut fullest: Vec<(&[u8], usize)> = counts.into_iter().collect();
    fullest.sort_by_key(|(_, names)| std::cmp::Reverse(*names));
    let mut whole: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (directory, names) in fullest {
        if excess == 0 {
            break;
        }
        excess = excess.saturating_sub(names);
        whole.insert(directory.to_vec(), names);
    }
    let within = |path: &[u8]| ancestors(path).any(|above| whole.contains_key(above));
    kinds.retain(|path, _| !within(path));
    let outermost = whole.iter().filter(|(path, _)| !within(path));
    let outermost: Vec<_> = outermost
        .map(|(path, names)| (path.clone(), *names))
        .collect();
    for (directory, _) in &outermost {
        kinds.insert(directory.clone(), MaskKind::Hide);
    }
    outermost
}

/// The directories above a path, the outermost first, without the tree itself.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| path.get(..at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::caller::search::found::{Guarded, Identity};

    fn guarded(path: &str, why: Why) -> Guarded {
        let id = Identity {
            inode: 1,
            ..Identity::default()
        };
        Guarded::new(path.as_bytes().to_vec(), why, id)
    }

    fn masks(found: Vec<Guarded>, nested: &[&str], most: usize) -> Result<Vec<String>, TooMany> {
        let guards = Guards {
            found: &Found {
                guarded: found,
                ..Found::default()
            },
            vacant: &[b".vscode".to_vec()],
            nested: nested.iter().map(|path| path.as_bytes().to_vec()).collect(),
            writable: true,
        };
        let (masks, _) = guards.masks(0, most)?;
        let shown = masks.into_iter();
        let shown = shown.map(|mask| {
            let path = String::from_utf8(mask.path).expect("text");
            format!("{:?} {path}", mask.kind)
        });
        Ok(shown.collect())
    }

    #[test]
    fn every_directory_above_a_guarded_name_is_pinned() {
        let denied = || Why::Denied(".env".to_owned());
        let found = vec![
            guarded("a/b/.env", denied()),
            guarded("a/closed", Why::Unsearchable),
            guarded("p/.bashrc", Why::Protected(".bashrc".to_owned())),
        ];
        let masks = masks(found, &["n/inner"], 100).expect("masks");
        let expected = [
            "Vacant .vscode",
            "Pin a",
            "Pin a/b",
            "Hide a/b/.env",
            "Hide a/closed",
            "Pin n",
            "Pin p",
            "Freeze p/.bashrc",
        ];
        assert_eq!(masks, expected);
    }

    #[test]
    fn directories_on_a_way_are_pinned_and_missing_names_are_not_masked() {
        let why = Why::Protected(".envrc".to_owned());
        let missing = Guarded::new(b"gen/in/envrc".to_vec(), why, Identity::default());
        let guards = Guards {
            found: &Found {
                guarded: vec![missing],
                pinned: [b"a/b".to_vec()].into(),
                ..Found::default()
            },
            vacant: &[],
            nested: Vec::new(),
            writable: true,
        };
        let (masks, _) = guards.masks(0, 100).expect("masks");
        let paths: Vec<&[u8]> = masks.iter().map(|mask| mask.path.as_slice()).collect();
        assert_eq!(paths, [b"a".as_slice(), b"a/b"]);
        assert!(masks.iter().all(|mask| mask.kind == MaskKind::Pin));
    }

    #[test]
    fn the_stricter_guard_of_a_path_counts() {
        let protected = || Why::Protected("x".to_owned());
        let found = vec![
            guarded("a", protected()),
            guarded("a", Why::Unsearchable),
            guarded("a/b", protected()),
        ];
        let masks = masks(found, &[], 100).expect("masks");
        assert_eq!(masks, ["Vacant .vscode", "Hide a"]);
    }

    #[test]
    fn directories_full_of_denied_names_are_hidden_as_a_whole() {
        let pem = |path: String| guarded(&path, Why::Denied("*.pem".to_owned()));
        let many = |directory: &str| {
            let directory = directory.to_owned();
            (0..40).map(move |number| pem(format!("{directory}{number}.pem")))
        };
        let found: Vec<_> = many("a/keys/")
            .chain([pem("b/one.pem".to_owned())])
            .collect();
        let some = masks(found, &[], 10).expect("masks");
        let expected = [
            "Vacant .vscode",
            "Pin a",
            "Hide a/keys",
            "Pin b",
            "Hide b/one.pem",
        ];
        assert_eq!(some, expected);
        let spread = (0..40).map(|number| pem(format!("pkgs/{number}/one.pem")));
        let spread = masks(spread.collect(), &[], 10).expect("masks");
        assert_eq!(spread, ["Vacant .vscode", "Hide pkgs"]);
        let in_the_tree = masks(many("").collect(), &[], 10);
        assert_eq!(in_the_tree, Err(TooMany { names: 41 }));
    }
}
