//! Names that become execution by what stands beside them or in them.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use crate::paths::names_driver;

/// A file that is longer than this counts as one that says what it should not.
const MOST_BYTES: usize = 1 << 20;

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

/// Files that programs obey only if they say certain things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `.gitattributes`, where it names a driver.
    Attributes,
    /// The steps of a rebase or a sequence, where one is a command.
    Steps,
    /// A file that Python's `site` reads, where a line is code.
    SitePath,
}

impl Kind {
    fn of(path: &[u8]) -> Option<Self> {
        let mut names = path.rsplit(|byte| *byte == b'/');
        let name = names.next()?.to_ascii_lowercase();
        if name == b".gitattributes" {
            return Some(Self::Attributes);
        }
        if name.ends_with(b".pth") {
            let site = |part: &[u8]| {
                let part = part.to_ascii_lowercase();
                part == b"site-packages" || part == b"dist-packages" || part.starts_with(b"python")
            };
            return names.any(site).then_some(Self::SitePath);
        }
        let parent = names.next().map(<[u8]>::to_ascii_lowercase);
        let steps = match parent.as_deref() {
            Some(b"rebase-merge") => name.starts_with(b"git-rebase-todo"),
            Some(b"sequencer") => name == b"todo",
            _ => false,
        };
        (steps && names.any(|part| part.eq_ignore_ascii_case(b".git"))).then_some(Self::Steps)
    }

    fn is_obeyed(self, content: &[u8]) -> bool {
        let mut lines = content.split(|byte| matches!(byte, b'\n' | b'\r'));
        let first_word = |line: &[u8]| -> Vec<u8> {
            let line = line.trim_ascii_start();
            let end = line.iter().position(u8::is_ascii_whitespace);
            line.get(..end.unwrap_or(line.len()))
                .unwrap_or_default()
                .to_vec()
        };
        match self {
            Self::Attributes => names_driver(content),
            Self::Steps => lines.any(|line| matches!(first_word(line).as_slice(), b"x" | b"exec")),
            // Python looks at the very beginning of a line only, after a byte order mark.
            Self::SitePath => lines.any(|line| first_word(line).ends_with(b"import")),
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Attributes => ".gitattributes that names a driver",
            Self::Steps => "a step of a rebase that is a command",
            Self::SitePath => "a .pth file with code",
        }
    }
}

/// Whether a file is judged by what it says.
pub(super) fn is_judged(path: &[u8]) -> bool {
    Kind::of(path).is_some()
}

/// Why a file is guarded that says what it should not.
pub(super) fn rule_of(path: &[u8]) -> &'static str {
    Kind::of(path).map_or("a file that is executed", Kind::rule)
}

/// What a file says, and the state in which it said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    inode: u64,
    changed: (i64, u64),
    /// Whether a program would execute something because of it.
    pub(super) is_obeyed: bool,
}

impl Judged {
    /// What is known of a file only by what it said.
    pub(super) fn obeyed() -> Self {
        Self {
            inode: 0,
            changed: (0, 0),
            is_obeyed: true,
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
            if content.len() > MOST_BYTES {
                break false;
            }
        };
        Some(Self {
            inode,
            changed,
            is_obeyed: !complete || Kind::of(path).is_none_or(|kind| kind.is_obeyed(&content)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_judged_by_what_they_say() {
        for (path, content, obeyed) in [
            (".gitattributes", "* filter=x", Some(true)),
            ("a/.GitAttributes", "*.png binary", Some(false)),
            (
                ".git/rebase-merge/git-rebase-todo",
                "pick a b\nexec make",
                Some(true),
            ),
            (
                ".git/rebase-merge/git-rebase-todo.backup",
                " x make",
                Some(true),
            ),
            (
                ".git/worktrees/w/rebase-merge/git-rebase-todo",
                "pick exec",
                Some(false),
            ),
            (".git/sequencer/todo", "pick a x", Some(false)),
            ("rebase-merge/git-rebase-todo", "exec x", None),
            (".git/rebase-merge/done", "exec x", None),
            (
                "v/lib/python3.11/site-packages/a.pth",
                "import os",
                Some(true),
            ),
            (
                "v/lib/python3.11/site-packages/a.pth",
                "\u{feff}import os",
                Some(true),
            ),
            (
                "v/lib/python3/dist-packages/a.pth",
                "../src\n# import\n",
                Some(false),
            ),
            ("weights/model.pth", "import", None),
        ] {
            let path = path.as_bytes();
            assert_eq!(is_judged(path), obeyed.is_some(), "{path:?}");
            let judged = Kind::of(path).map(|kind| kind.is_obeyed(content.as_bytes()));
            assert_eq!(judged, obeyed, "{path:?} {content:?}");
        }
    }

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
