//! Names that are executed because of their content or of the names beside them.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::git_state::StateFile;
use crate::paths::drivers;

/// A longer file counts as obeyed.
const MOST_BYTES: usize = 1 << 20;

/// The rule for files that git obeys in a directory that is a repository by its content.
pub(crate) const REPOSITORY: &str = "configuration of a bare repository";
/// The rule for a name that makes a directory one of git's.
pub(crate) const MARK: &str = "a name that makes the directory a git repository";

/// The names by which git takes a directory for its own, all of one line. A directory of a
/// worktree has the others elsewhere.
const REPOSITORIES: [&[&[u8]]; 2] = [&[b"HEAD", b"objects", b"refs"], &[b"HEAD", b"commondir"]];
/// Names that git continues from, where a whole repository appeared.
const STATES: [&[u8]; 4] = [
    b"rebase-merge",
    b"rebase-apply",
    b"sequencer",
    b"BISECT_NAMES",
];

/// The names in a directory that git looks at to tell a repository, and those it obeys.
#[derive(Debug, Default)]
pub(super) struct RepositoryNames {
    marks: Vec<Vec<u8>>,
    obeyed: Vec<Vec<u8>>,
    states: Vec<Vec<u8>>,
}

impl RepositoryNames {
    /// Takes a name of the directory into account. File systems may fold case.
    pub(super) fn note(&mut self, name: &[u8]) {
        let is = |other: &&[u8]| name.eq_ignore_ascii_case(other);
        if REPOSITORIES.iter().any(|names| names.iter().any(is)) {
            self.marks.push(name.to_vec());
        }
        let config = name
            .get(..6)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"config"));
        if config || [&b"hooks"[..], b"commondir", b"gitdir"].iter().any(is) {
            self.obeyed.push(name.to_vec());
        }
        if STATES.iter().any(is) {
            self.states.push(name.to_vec());
        }
    }

    /// Whether git takes the directory for a repository.
    pub(crate) fn is_one(&self) -> bool {
        let has = |name: &&[u8]| {
            self.marks
                .iter()
                .any(|mark| mark.eq_ignore_ascii_case(name))
        };
        REPOSITORIES.iter().any(|names| names.iter().all(has))
    }

    /// The names that git obeys, if it is one. In one that appeared as a whole these are more.
    pub(crate) fn obeyed(&self, appeared: bool) -> impl Iterator<Item = &[u8]> {
        let states = self.states.iter().filter(move |_| appeared);
        self.obeyed.iter().chain(states).map(Vec::as_slice)
    }

    /// All names that were noted.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.marks
            .iter()
            .map(Vec::as_slice)
            .chain(self.obeyed(true))
    }
}

/// The names that make a directory a repository, the best to move first.
pub(crate) fn marks() -> impl Iterator<Item = &'static [u8]> {
    [&b"HEAD"[..], b"commondir", b"objects", b"refs"].into_iter()
}

/// Files that programs obey only if they say certain things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.gitattributes`, where it names a driver.
    Attributes,
    /// The steps of a rebase or a sequence, where one is a command.
    Steps,
    /// Another file of such a state, where it is not what git writes.
    State(StateFile),
    /// A file that Python's `site` reads, where a line is code.
    SitePath,
    /// The name of a directory of such files, if it is a link.
    Directory,
}

impl Kind {
    /// The kind of a path; `in_git` says that it lies in a repository.
    fn of(path: &[u8], in_git: bool) -> Option<Self> {
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
        let parent = parent.as_deref().unwrap_or_default();
        let in_git =
            in_git || parent == b".git" || names.any(|part| part.eq_ignore_ascii_case(b".git"));
        if name == b"site-packages" || name == b"dist-packages" {
            return Some(Self::Directory);
        }
        // A link that was moved aside has no effect.
        if !in_git || name.starts_with(b"set-aside-") {
            return None;
        }
        let is_todo = match parent {
            b"rebase-merge" => name.starts_with(b"git-rebase-todo"),
            b"sequencer" => name == b"todo",
            _ => false,
        };
        if is_todo {
            return Some(Self::Steps);
        }
        // Git makes no links in its directory.
        Some(StateFile::of(parent, &name).map_or(Self::Directory, Self::State))
    }

    /// The parts of this content that a program would execute: lines, drivers, or all of it.
    fn obeyed(self, content: &[u8]) -> BTreeSet<Vec<u8>> {
        let whole = || BTreeSet::from([content.to_vec()]);
        let lines = content.split(|byte| *byte == b'\n');
        match self {
            Self::Attributes => match drivers(content) {
                Some(drivers) => drivers.into_iter().map(String::into_bytes).collect(),
                None => whole(),
            },
            // A text ends for git where there is a zero.
            Self::Steps if content.contains(&0) => whole(),
            Self::Steps => lines
                .filter(|line| line.split(|byte| *byte == b'\r').any(is_command))
                .map(|line| line.trim_ascii().to_vec())
                .collect(),
            Self::State(file) if file.is_plain(content) => BTreeSet::new(),
            Self::State(_) => whole(),
            // Versions of Python differ in what ends a line within these.
            Self::SitePath => lines
                .filter(|line| line.windows(7).any(is_import))
                .map(|line| line.trim_ascii().to_vec())
                .collect(),
            // Only the link itself counts, and is not read.
            Self::Directory => BTreeSet::new(),
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Attributes => ".gitattributes that names a driver",
            Self::Steps => "a step of a rebase that is a command",
            Self::State(StateFile::Strategy | StateFile::Options) => {
                "a merge strategy that is a program"
            }
            Self::State(_) => "a state of git that git did not write",
            Self::SitePath => "a .pth file with code",
            Self::Directory => "a link in the place of a directory that is obeyed",
        }
    }
}

/// Whether a line of steps is a command.
fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let first = line.get(..end.unwrap_or(line.len()));
    matches!(first, Some(b"x" | b"exec"))
}

fn is_import(seven: &[u8]) -> bool {
    seven.starts_with(b"import") && matches!(seven.last(), Some(b' ' | b'\t'))
}

/// How something is judged by what it says, or by where it leads; none if it is not.
pub(super) fn judged_as(path: &[u8], is_link: bool, in_git: bool) -> Option<Kind> {
    Kind::of(path, in_git).filter(|kind| is_link || *kind != Kind::Directory)
}

/// The judgement of a file, and its state when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    inode: u64,
    changed: (i64, u64),
    pub(crate) rule: &'static str,
    /// The parts that a program would execute.
    pub(crate) obeyed: Arc<BTreeSet<Vec<u8>>>,
}

impl Judged {
    /// A judgement from the content alone.
    pub(crate) fn said(obeyed: BTreeSet<Vec<u8>>) -> Self {
        Self {
            inode: 0,
            changed: (0, 0),
            rule: "a file that is executed",
            obeyed: Arc::new(obeyed),
        }
    }

    /// Whether it says something to obey that it did not say before.
    pub(crate) fn says_more_than(&self, before: Option<&Self>) -> bool {
        match before {
            Some(before) => !self.obeyed.is_subset(&before.obeyed),
            None => !self.obeyed.is_empty(),
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
    /// A file that cannot be read, or a link, counts as obeyed; an error is that of a process
    /// that has run out of something, and says nothing of the file.
    pub(super) fn at(
        tree: BorrowedFd<'_>,
        path: &[u8],
        kind: Kind,
        known: Option<&Self>,
    ) -> Result<Option<Self>, Errno> {
        match Self::try_at(tree, path, kind, known) {
            Ok(judged) => Ok(Some(judged)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => Err(errno),
            Err(_) => Ok(Some(Self {
                rule: kind.rule(),
                ..Self::said(BTreeSet::from([b"unknown".to_vec()]))
            })),
        }
    }

    fn try_at(
        tree: BorrowedFd<'_>,
        path: &[u8],
        kind: Kind,
        known: Option<&Self>,
    ) -> Result<Self, Errno> {
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
        let judged = |obeyed| Self {
            inode,
            changed,
            rule: kind.rule(),
            obeyed: Arc::new(obeyed),
        };
        // The content is unknown, but it is unchanged.
        let unread = || {
            let state = format!("{inode} {} {} {}", changed.0, changed.1, stat.st_size);
            judged(BTreeSet::from([state.into_bytes()]))
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&named, c"", Vec::new())?;
                let target = [b"-> ", target.to_bytes()].concat();
                return Ok(judged(BTreeSet::from([target])));
            }
            _ if kind == Kind::Directory => return Ok(judged(BTreeSet::new())),
            FileType::RegularFile => {}
            _ => return Ok(unread()),
        }
        if let Some(known) = known
            && (known.inode, known.changed) == (inode, changed)
        {
            return Ok(known.clone());
        }
        let file = rustix::fs::openat2(
            tree,
            path,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        );
        let file = match file {
            Err(Errno::ACCESS | Errno::PERM) => return Ok(unread()),
            other => other?,
        };
        let mut content = Vec::with_capacity(4 << 10);
        loop {
            let mut chunk = [0; 4 << 10];
            match rustix::io::read(&file, &mut chunk) {
                Ok(0) => return Ok(judged(kind.obeyed(&content))),
                Ok(read) => content.extend(chunk.iter().take(read)),
                Err(Errno::INTR) => {}
                Err(_) => return Ok(unread()),
            }
            if content.len() > MOST_BYTES {
                return Ok(unread());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_judged_by_their_content() {
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
            (
                ".git/rebase-merge/git-rebase-todo",
                "pick a\0exec x",
                Some(true),
            ),
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
            let kind = judged_as(path, true, false);
            let judged = kind.map(|kind| !kind.obeyed(content.as_bytes()).is_empty());
            assert_eq!(judged, obeyed, "{path:?} {content:?}");
        }
    }

    #[test]
    fn newly_obeyed_content_is_detected() {
        for (path, before, after, more) in [
            (".gitattributes", "* filter=a", "*.x filter=a", false),
            (
                ".gitattributes",
                "* filter=a",
                "* filter=a\n* filter=b",
                true,
            ),
            (".gitattributes", "* diff=a", "* filter=a", true),
            (".gitattributes", "\u{0}", "\u{0}x", true),
            (".gitattributes", "\u{0}", "\u{0}", false),
            (".git/sequencer/todo", "x a\nx b", "x b", false),
            (".git/sequencer/todo", "x a\n", "x a\nexec b", true),
            (".git/sequencer/todo", "x a", "x a; b", true),
            (".git/rebase-merge/strategy", "mine\n", "mine\n", false),
            (".git/rebase-merge/strategy", "mine\n", "other\n", true),
            ("site-packages/a.pth", "import a\nb", "import a\nc", false),
            ("site-packages/a.pth", "import a", "import a; x", true),
            (
                "site-packages/a.pth",
                "import a",
                "import a\rimport x",
                true,
            ),
            (
                "site-packages/a.pth",
                "import a",
                "import a\u{c}import x",
                true,
            ),
        ] {
            let kind = judged_as(path.as_bytes(), false, false).expect(path);
            let said = |content: &str| Judged::said(kind.obeyed(content.as_bytes()));
            let (before, after) = (said(before), said(after));
            assert_eq!(
                after.says_more_than(Some(&before)),
                more,
                "{path}: {after:?}"
            );
            assert!(after.says_more_than(None));
        }
    }

    #[test]
    fn a_repository_is_recognised_by_its_names() {
        for (names, is_one, obeyed) in [
            (&["HEAD", "objects", "refs"][..], true, 0),
            (&["head", "Objects", "REFS", "Config", "hooks"], true, 2),
            (&["HEAD", "objects", "config"], false, 1),
            (&["HEAD", "commondir", "config.worktree", "gitdir"], true, 3),
            (&["refs", "commondir", "config.worktree"], false, 2),
            (&["HEAD", "objects", "refs", "Rebase-Merge"], true, 0),
            (&[], false, 0),
        ] {
            let mut repository = RepositoryNames::default();
            names
                .iter()
                .for_each(|name| repository.note(name.as_bytes()));
            assert_eq!(repository.is_one(), is_one, "{names:?}");
            assert_eq!(repository.obeyed(false).count(), obeyed, "{names:?}");
        }
    }
}
