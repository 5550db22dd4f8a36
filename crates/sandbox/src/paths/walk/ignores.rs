//! Ignore files, read through the sandbox and matched without touching a disk.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};

use crate::paths::PathSandbox;
use crate::paths::resolve::Want;

/// Of longer ignore files only the whole lines before this count:
/// a part of a line would exclude something else.
const LONGEST: u64 = 1024 * 1024;

/// The ignore files of the directories from the root down to the current one.
///
/// `.ignore` files, nearest first, decide before `.gitignore` files, nearest
/// first; then the repository's own excludes; then the user's. Every directory
/// shares the rules above it, so that several can be walked at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ignores {
    nearest: Option<Arc<Level>>,
    outermost: Arc<Outermost>,
}

/// Rules that no directory of the tree brings along.
#[derive(Debug, Default)]
struct Outermost {
    repository: Option<Gitignore>,
    user: Option<Gitignore>,
}

/// A directory that has ignore files of its own.
#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    /// Where names inside the directory begin in a path of the root.
    inside: usize,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
}

impl Ignores {
    /// The rules that hold above the directory where a walk starts.
    pub(crate) fn above(
        sandbox: &PathSandbox,
        root: usize,
        start: &[u8],
        global_excludes: Option<&str>,
    ) -> Self {
        let info = sandbox.look_up(root, b".git/info", Want::Directory);
        let mut ignores = Self {
            nearest: None,
            outermost: Arc::new(Outermost {
                repository: info
                    .ok()
                    .and_then(|found| load(found.fd.as_fd(), "exclude")),
                user: global_excludes.and_then(|text| compile(text.as_bytes())),
            }),
        };
        let ends = start
            .iter()
            .enumerate()
            .filter_map(|(at, b)| (*b == b'/').then_some(at));
        let outermost = (!start.is_empty()).then_some(0);
        for end in outermost.into_iter().chain(ends) {
            let directory = start.get(..end).unwrap_or_default();
            if let Ok(found) = sandbox.look_up(root, directory, Want::Directory) {
                ignores = ignores.inside(found.fd.as_fd(), directory, true, true);
            }
        }
        ignores
    }

    /// The rules inside a directory; whether it holds the two files is known from its names.
    pub(crate) fn inside(
        &self,
        directory: BorrowedFd<'_>,
        rel: &[u8],
        has_ignore: bool,
        has_gitignore: bool,
    ) -> Self {
        let ignore = has_ignore.then(|| load(directory, ".ignore")).flatten();
        let gitignore = has_gitignore
            .then(|| load(directory, ".gitignore"))
            .flatten();
        if ignore.is_none() && gitignore.is_none() {
            return self.clone();
        }
        Self {
            nearest: Some(Arc::new(Level {
                above: self.nearest.clone(),
                inside: rel.len() + usize::from(!rel.is_empty()),
                ignore,
                gitignore,
            })),
            outermost: Arc::clone(&self.outermost),
        }
    }

    /// Whether a path in the directory that these rules are for is ignored.
    pub(crate) fn ignores(&self, rel: &[u8], is_directory: bool) -> bool {
        let nearest = |pick: fn(&Level) -> Option<&Gitignore>| {
            let levels =
                std::iter::successors(self.nearest.as_deref(), |level| level.above.as_deref());
            let mut verdicts = levels
                .filter_map(|level| verdict(pick(level)?, rel.get(level.inside..)?, is_directory));
            verdicts.next()
        };
        let Outermost { repository, user } = &*self.outermost;
        nearest(|level| level.ignore.as_ref())
            .or_else(|| nearest(|level| level.gitignore.as_ref()))
            .or_else(|| verdict(repository.as_ref()?, rel, is_directory))
            .or_else(|| verdict(user.as_ref()?, rel, is_directory))
            .unwrap_or(false)
    }
}

fn verdict(rules: &Gitignore, path: &[u8], is_directory: bool) -> Option<bool> {
    let path = Path::new(OsStr::from_bytes(path));
    let matched = rules.matched(path, is_directory);
    (!matched.is_none()).then(|| matched.is_ignore())
}

fn load(directory: BorrowedFd<'_>, name: &str) -> Option<Gitignore> {
    let flags = Want::Read.flags() | OFlags::NOFOLLOW;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?;
    let mode = rustix::fs::fstat(&fd).ok()?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    std::fs::File::from(fd)
        .take(LONGEST + 1)
        .read_to_end(&mut text)
        .ok()?;
    if text.len() as u64 > LONGEST {
        // The one byte too many says whether the line before it is whole.
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        text.truncate(whole.unwrap_or(0));
    }
    compile(&text)
}

fn compile(text: &[u8]) -> Option<Gitignore> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(text).lines() {
        // A line that makes no sense is passed over, as git does.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
