//! Names that become execution by what stands beside them or in them.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use crate::paths::names_driver;

/// A file of attributes that is longer than this counts as one that names a driver.
const MOST_ATTRIBUTES: usize = 1 << 20;

/// The names in a directory that git looks at to tell a repository.
#[derive(Debug, Default)]
pub(super) struct RepositoryNames {
    head: bool,
    objects: bool,
    refs: bool,
    /// The names that git obeys there.
    obeyed: Vec<Vec<u8>>,
}

impl RepositoryNames {
    /// Takes a name of the directory into account. File systems may fold case.
    pub(super) fn note(&mut self, name: &[u8]) {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        self.head |= is(b"HEAD");
        self.objects |= is(b"objects");
        self.refs |= is(b"refs");
        let config = name
            .get(..6)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"config"));
        if config || is(b"hooks") || is(b"commondir") {
            self.obeyed.push(name.to_vec());
        }
    }

    /// Whether git takes the directory for a repository.
    pub(super) fn is_one(&self) -> bool {
        self.head && self.objects && self.refs
    }

    /// The names that git obeys, if it is one.
    pub(super) fn obeyed(&self) -> impl Iterator<Item = &[u8]> {
        self.obeyed.iter().map(Vec::as_slice)
    }
}

/// What a `.gitattributes` says, and the state in which it said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    inode: u64,
    changed: (i64, u64),
    /// Whether it makes git run a program that the configuration names.
    pub(super) names_driver: bool,
}

impl Attributes {
    /// What is known of a file only by what it said.
    pub(super) fn that_names_a_driver() -> Self {
        Self {
            inode: 0,
            changed: (0, 0),
            names_driver: true,
        }
    }

    /// Looks at the file, and reads it unless it is as it was. None where it is no file.
    pub(super) fn at(tree: BorrowedFd<'_>, path: &[u8], known: Option<&Self>) -> Option<Self> {
        let file = rustix::fs::openat2(
            tree,
            path,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .ok()?;
        let stat = rustix::fs::fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let (inode, changed) = (stat.st_ino, (stat.st_ctime, stat.st_ctime_nsec));
        if let Some(known) = known
            && (known.inode, known.changed) == (inode, changed)
        {
            return Some(*known);
        }
        let mut content = Vec::with_capacity(4 << 10);
        let complete = loop {
            let mut chunk = [0; 4 << 10];
            match rustix::io::read(&file, &mut chunk) {
                Ok(0) => break true,
                Ok(read) => content.extend(chunk.iter().take(read)),
                Err(_) => break false,
            }
            if content.len() > MOST_ATTRIBUTES {
                break false;
            }
        };
        Some(Self {
            inode,
            changed,
            names_driver: !complete || names_driver(&content),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_told_by_three_names() {
        for (names, is_one, obeyed) in [
            (&["HEAD", "objects", "refs"][..], true, 0),
            (&["head", "Objects", "REFS", "Config", "hooks"], true, 2),
            (&["HEAD", "objects", "config"], false, 1),
            (&["HEAD", "refs", "commondir", "config.worktree"], false, 2),
            (&[], false, 0),
        ] {
            let mut repository = RepositoryNames::default();
            names
                .iter()
                .for_each(|name| repository.note(name.as_bytes()));
            assert_eq!(repository.is_one(), is_one, "{names:?}");
            assert_eq!(repository.obeyed().count(), obeyed, "{names:?}");
        }
    }
}
