//! Ignore files, read through the wall and matched without touching a disk.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};

use super::PathWall;
use super::resolve::Want;

/// Longer ignore files are cut: they are nobody's honest work.
const LONGEST: u64 = 1024 * 1024;

/// The ignore files of the folders from the root down to where a walk stands.
///
/// `.ignore` files, nearest first, decide before `.gitignore` files, nearest
/// first; then the repository's own excludes; then the person's.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    levels: Vec<Level>,
    repository: Option<Gitignore>,
    person: Option<Gitignore>,
}

#[derive(Debug)]
struct Level {
    /// The folder's name in the root.
    folder: Vec<u8>,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
}

impl Ignores {
    /// The rules that hold above the folder where a walk starts.
    pub(crate) fn above(
        wall: &PathWall,
        root: usize,
        start: &[u8],
        global_excludes: Option<&str>,
    ) -> Self {
        let mut ignores = Self {
            person: global_excludes.and_then(|text| compile(text.as_bytes())),
            ..Self::default()
        };
        let info = wall.look_up(root, b".git/info", Want::Folder);
        ignores.repository = info
            .ok()
            .and_then(|found| load(found.fd.as_fd(), "exclude"));
        let ends = start
            .iter()
            .enumerate()
            .filter_map(|(at, b)| (*b == b'/').then_some(at));
        let outermost = (!start.is_empty()).then_some(0);
        for end in outermost.into_iter().chain(ends) {
            let folder = start.get(..end).unwrap_or_default();
            if let Ok(found) = wall.look_up(root, folder, Want::Folder) {
                ignores.enter(found.fd.as_fd(), folder, true, true);
            }
        }
        ignores
    }

    /// Goes into a folder; whether it holds the two files is known from its names.
    pub(crate) fn enter(
        &mut self,
        folder: BorrowedFd<'_>,
        rel: &[u8],
        has_ignore: bool,
        has_gitignore: bool,
    ) {
        self.levels.push(Level {
            folder: rel.to_vec(),
            ignore: has_ignore.then(|| load(folder, ".ignore")).flatten(),
            gitignore: has_gitignore.then(|| load(folder, ".gitignore")).flatten(),
        });
    }

    /// Goes out of the folder that was entered last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether a path of the root is ignored.
    pub(crate) fn ignores(&self, rel: &[u8], is_folder: bool) -> bool {
        let nearest = |pick: fn(&Level) -> Option<&Gitignore>| {
            self.levels.iter().rev().find_map(|level| {
                let inside = rel.strip_prefix(level.folder.as_slice())?;
                let inside = inside.strip_prefix(b"/").unwrap_or(inside);
                verdict(pick(level)?, inside, is_folder)
            })
        };
        nearest(|level| level.ignore.as_ref())
            .or_else(|| nearest(|level| level.gitignore.as_ref()))
            .or_else(|| verdict(self.repository.as_ref()?, rel, is_folder))
            .or_else(|| verdict(self.person.as_ref()?, rel, is_folder))
            .unwrap_or(false)
    }
}

fn verdict(rules: &Gitignore, path: &[u8], is_folder: bool) -> Option<bool> {
    let path = Path::new(OsStr::from_bytes(path));
    let matched = rules.matched(path, is_folder);
    (!matched.is_none()).then(|| matched.is_ignore())
}

fn load(folder: BorrowedFd<'_>, name: &str) -> Option<Gitignore> {
    let flags = Want::Read.flags() | OFlags::NOFOLLOW;
    let fd = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let mode = rustix::fs::fstat(&fd).ok()?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    std::fs::File::from(fd)
        .take(LONGEST)
        .read_to_end(&mut text)
        .ok()?;
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
