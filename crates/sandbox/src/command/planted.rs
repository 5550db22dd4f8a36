//! Names that become execution by what stands beside them or in them.

use std::os::fd::BorrowedFd;

use std::time::SystemTime;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

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
    /// How a rebase or a sequence merges, where that is not what git has built in.
    Strategy,
    /// A file that Python's `site` reads, where a line is code.
    SitePath,
    /// A name that stands for a directory of such files, where it is a link to another one.
    Directory,
}

/// The strategies that git has built in.
const STRATEGIES: [&[u8]; 6] = [
    b"ort",
    b"recursive",
    b"resolve",
    b"octopus",
    b"ours",
    b"subtree",
];

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
        let in_git = parent.as_deref() == Some(b".git")
            || names.any(|part| part.eq_ignore_ascii_case(b".git"));
        match (parent.as_deref(), name.as_slice()) {
            _ if name == b"site-packages" || name == b"dist-packages" => Some(Self::Directory),
            // A link that was moved aside is obeyed by nobody.
            _ if !in_git || name.starts_with(b"set-aside-") => None,
            (Some(b"rebase-merge"), steps) if steps.starts_with(b"git-rebase-todo") => {
                Some(Self::Steps)
            }
            (Some(b"sequencer"), b"todo") => Some(Self::Steps),
            (Some(b"rebase-merge"), b"strategy") | (Some(b"sequencer"), b"opts") => {
                Some(Self::Strategy)
            }
            // Git makes no links in its directory.
            _ => Some(Self::Directory),
        }
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
            Self::Strategy => lines.any(|line| {
                let mut parts = line.splitn(2, |byte| *byte == b'=');
                let key = parts.next().unwrap_or_default().trim_ascii();
                match parts.next() {
                    Some(value) => {
                        key.eq_ignore_ascii_case(b"strategy")
                            && !STRATEGIES.contains(&value.trim_ascii())
                    }
                    None => {
                        let plain = key.is_empty() || key.starts_with(b"[") && key.ends_with(b"]");
                        !plain && !STRATEGIES.contains(&key)
                    }
                }
            }),
            // Versions of Python differ in what ends a line.
            Self::SitePath => content.windows(7).any(|seven| {
                seven.starts_with(b"import") && matches!(seven.last(), Some(b' ' | b'\t'))
            }),
            // Only the link itself counts, and is not read.
            Self::Directory => false,
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Attributes => ".gitattributes that names a driver",
            Self::Steps => "a step of a rebase that is a command",
            Self::Strategy => "a merge strategy that is a program",
            Self::SitePath => "a .pth file with code",
            Self::Directory => "a link in the place of a directory that is obeyed",
        }
    }
}

/// Whether something is judged by what it says, or by where it leads.
pub(super) fn is_judged(path: &[u8], is_link: bool) -> bool {
    Kind::of(path).is_some_and(|kind| is_link || kind != Kind::Directory)
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

    /// Whether it was last changed before a moment.
    pub(super) fn is_older_than(&self, moment: SystemTime) -> bool {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_secs());
        // A second more, for clocks that tick coarsely.
        u64::try_from(self.changed.0).is_ok_and(|changed| changed + 1 < since)
    }

    /// Looks at the file, and reads it unless it is as it was. None where nothing is there.
    /// Whatever cannot be read, or is a link, counts as obeyed.
    pub(super) fn at(tree: BorrowedFd<'_>, path: &[u8], known: Option<&Self>) -> Option<Self> {
        match Self::try_at(tree, path, known) {
            Ok(judged) => Some(judged),
            Err(Errno::NOENT) => None,
            Err(_) => Some(Self::obeyed()),
        }
    }

    fn try_at(tree: BorrowedFd<'_>, path: &[u8], known: Option<&Self>) -> Result<Self, Errno> {
        let kind = Kind::of(path).ok_or(Errno::INVAL)?;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let named = rustix::fs::openat2(
            tree,
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )?;
        let stat = rustix::fs::fstat(&named)?;
        let (inode, changed) = (stat.st_ino, (stat.st_ctime, stat.st_ctime_nsec));
        let judged = |is_obeyed| Self {
            inode,
            changed,
            is_obeyed,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => return Ok(judged(true)),
            _ if kind == Kind::Directory => return Ok(judged(false)),
            FileType::RegularFile => {}
            _ => return Ok(judged(true)),
        }
        if let Some(known) = known
            && (known.inode, known.changed) == (inode, changed)
        {
            return Ok(*known);
        }
        let file = rustix::fs::openat2(
            tree,
            path,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )?;
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
        Ok(judged(!complete || kind.is_obeyed(&content)))
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
            (".git/rebase-merge/done", "exec x", Some(false)),
            (".git/rebase-merge/strategy", "ort\n", Some(false)),
            (".git/rebase-merge/strategy", "x/../payload", Some(true)),
            (
                ".git/sequencer/opts",
                "[options]\n\tstrategy = ours\n",
                Some(false),
            ),
            (
                ".git/sequencer/opts",
                "[options]\n\tstrategy = evil\n",
                Some(true),
            ),
            (
                ".git/sequencer/opts",
                "[options]\n\tedit = true\n",
                Some(false),
            ),
            ("v/lib/python3.13/site-packages", "", Some(false)),
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
            assert_eq!(is_judged(path, true), obeyed.is_some(), "{path:?}");
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
