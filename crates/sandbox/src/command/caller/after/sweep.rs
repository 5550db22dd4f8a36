//! Moves aside the guarded names that a command made.
//!
//! A name that would be executed later is moved aside, to a random name that no rule guards. The
//! tree is searched again, because the moved directory may hold more. Nothing is deleted. A
//! directory that the command closed is opened for this with the owner's rights.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::placeholders::is_empty;
use crate::command::caller::guards::Hidden;
use crate::command::caller::remedy::Remedy;
use crate::command::caller::sandbox::bytes;
use crate::command::caller::search::found::{After, Found, Guarded, Missed, Why};
use crate::command::caller::search::owner::Reopened;
use crate::command::caller::search::planted::{MARK, REPOSITORY, marks};
use crate::command::caller::search::walk::{Search, join};
use crate::command::rules::SetAside;
use crate::paths::RootAccess;

/// If one command made more denied names than this, all are moved aside.
const MOST_DENIED: usize = 1_000;
/// Rounds of searching, because a moved directory may hold more.
const ROUNDS: usize = 64;

/// Something that appeared under a guarded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appeared {
    /// Where it appeared.
    pub path: PathBuf,
    /// The rule that guards the name.
    pub rule: String,
    /// Where it was moved to; none if it stayed.
    pub moved_to: Option<PathBuf>,
    /// Why it could not be moved; none if it was, or if it is denied and does no harm there.
    pub error: Option<Errno>,
    /// Whether the link that was there before was restored.
    pub link_restored: bool,
    /// Whether a command of an earlier run made it, which was killed.
    pub earlier: bool,
    /// The configuration that allows commands to write there; none if none does.
    pub remedy: Option<Remedy>,
    /// Whether it is a directory that could not be searched in its place.
    pub unsearched: bool,
}

impl Appeared {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self {
            path,
            rule: String::new(),
            moved_to: None,
            error: None,
            link_restored: false,
            earlier: false,
            remedy: None,
            unsearched: false,
        }
    }
}

/// The results of the sweep after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The guarded names that appeared.
    pub appeared: Vec<Appeared>,
    /// Why not all guarded names were seen after the command, if so.
    pub missed: Option<Missed>,
    /// Directories that were hidden from the command as a whole.
    pub hidden: Vec<Hidden>,
}

/// A tree in which a command could write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) path: &'a Path,
    pub(crate) handle: BorrowedFd<'a>,
    pub(crate) how: SetAside,
    /// The number of the root, if it is one.
    pub(crate) root: Option<usize>,
}

impl Tree<'_> {
    /// Moves aside what is there now and was not before, until there is nothing more.
    pub(crate) fn sweep(
        self,
        before: &Found,
        search: impl Fn(After<'_>) -> Found,
        names: &Search<'_>,
    ) -> (Vec<Appeared>, Option<Missed>) {
        let closed = before.guarded.iter();
        let closed = closed.filter(|guarded| guarded.why == Why::Unsearchable);
        let closed = closed.map(|guarded| (guarded.path.clone(), guarded.id.inode));
        let reopened = Reopened::new(self.handle, closed.collect());
        let stood = before.guarded.iter();
        let stood: HashMap<&[u8], &Guarded> =
            stood.map(|stood| (stood.path.as_slice(), stood)).collect();
        let known = After {
            reopened: &reopened,
            before,
            stood: &stood,
        };
        let mut appeared: Vec<Appeared> = Vec::new();
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        for _ in 0..ROUNDS {
            let after = search(known);
            let mut moved = false;
            let new = self.appeared(before, known, &after);
            let denied = new.iter().filter(|new| matches!(new.why, Why::Denied(_)));
            // Every later command would have to mask all of them.
            let how = if denied.count() > MOST_DENIED {
                SetAside::ProtectedAndDenied
            } else {
                self.how
            };
            // Inner ones first: their paths are valid until the outer one is moved.
            for new in new.into_iter().rev() {
                if !seen.insert(new.path.clone()) {
                    continue;
                }
                let tree = Self { how, ..self };
                let all = if new.is_too_deep() {
                    tree.raise(&new, &reopened, names)
                } else {
                    vec![tree.set_aside(&new, before, known, names)]
                };
                for one in all {
                    if let Some(to) = &one.moved_to {
                        moved = true;
                        // A directory that could not be searched is not moved again.
                        let within = to.strip_prefix(self.path).map(bytes);
                        seen.extend(within.ok().filter(|_| one.unsearched));
                    }
                    appeared.push(one);
                }
            }
            if !moved {
                return (appeared, after.missed);
            }
        }
        let path = self.path.to_path_buf();
        (appeared, Some(Missed::Unsettled { path }))
    }

    /// The entries that are new or were replaced.
    fn appeared(self, before: &Found, known: After<'_>, after: &Found) -> Vec<Guarded> {
        let is_new =
            |found: &&Guarded| !known.stood(found) && !self.is_empty_directory(&found.path);
        let mut new: Vec<Guarded> = after.guarded.iter().filter(is_new).cloned().collect();
        for (path, judged) in &after.judged {
            if judged.says_more_than(before.judged.get(path)) {
                let why = Why::Protected(judged.rule.to_owned());
                new.push(Guarded::new(path.clone(), why, Default::default()));
            }
        }
        for at in 0..new.len() {
            let mark = new.get(at).and_then(|new| mark_of(new, before, after));
            if let (Some(new), Some(mark)) = (new.get_mut(at), mark) {
                *new = mark;
            }
        }
        new.sort();
        new.dedup();
        new
    }

    /// An empty directory does no harm, and may be the placeholder of another program.
    fn is_empty_directory(self, path: &[u8]) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        open(self.handle, path, flags).is_ok_and(|handle| is_empty(&handle) == Ok(true))
    }

    fn set_aside(
        self,
        new: &Guarded,
        before: &Found,
        known: After<'_>,
        names: &Search<'_>,
    ) -> Appeared {
        let at = |path: &[u8]| self.path.join(OsStr::from_bytes(path));
        let mut one = Appeared {
            unsearched: new.why == Why::Unsearchable,
            rule: new.also.as_deref().unwrap_or(new.why.rule()).to_owned(),
            ..Appeared::at(at(&new.path))
        };
        let stays = match new.why {
            Why::Denied(_) => self.how != SetAside::ProtectedAndDenied && new.also.is_none(),
            Why::Own | Why::Protected(_) | Why::Unsearchable => false,
        };
        if stays {
            return one;
        }
        if holds_more(new, before) || is_unmoved(new, before) {
            one.error = Some(Errno::BUSY);
            return one;
        }
        match self.move_aside(new, known.reopened, names) {
            Ok(to) => {
                one.remedy = self.remedy(new);
                one.moved_to = Some(at(&to));
                let old = known.stood.get(new.path.as_slice());
                if let Some(link) = old.and_then(|old| old.link.as_ref()) {
                    one.link_restored = self.restore(&new.path, &link.target).is_ok();
                }
            }
            Err(errno) => one.error = Some(errno),
        }
        one
    }

    /// The configuration that opens a protected path of a root.
    fn remedy(self, new: &Guarded) -> Option<Remedy> {
        let path = Path::new(OsStr::from_bytes(&new.path));
        let path = match (self.root?, &new.why) {
            (_, Why::Own | Why::Unsearchable) => return None,
            (_, Why::Protected(rule)) if rule == MARK => return None,
            (0, _) => path.to_path_buf(),
            _ => self.path.join(path),
        };
        let access = RootAccess::ReadWrite;
        path.to_str()
            .is_some()
            .then_some(Remedy::Grant { path, access })
    }

    /// Renames in the same directory, to a random name that no rule guards.
    fn move_aside(
        self,
        new: &Guarded,
        reopened: &Reopened<'_>,
        rules: &Search<'_>,
    ) -> Result<Vec<u8>, Errno> {
        let (directory, name) = split(&new.path);
        let names = aside(name)?;
        // The kernel takes names of 255 bytes.
        let free = || names.iter().filter(|name| name.len() <= 255);
        let aside = free().find(|name| rules.is_free(&join(directory, name)));
        // In a directory with a name of data every other name is denied as well.
        let is_protected = new.also.is_some() || matches!(new.why, Why::Protected(_));
        let aside = aside.or_else(|| {
            let harmless = |name: &&Vec<u8>| rules.is_harmless(&join(directory, name));
            free().find(harmless).filter(|_| is_protected)
        });
        let aside = aside.ok_or(Errno::EXIST)?;
        let rename = |to: &[u8]| {
            let handle = self.parent(directory)?;
            let flags = RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&handle, name, &handle, to, flags)
        };
        match rename(aside) {
            Err(Errno::ACCESS | Errno::PERM) if reopened.open(directory) => rename(aside),
            // A name that is not longer may still fit where nothing else does.
            Err(Errno::NOSPC | Errno::DQUOT) => {
                let short = short(name.len(), &random()?);
                if !rules.is_free(&join(directory, &short)) {
                    return Err(Errno::NOSPC);
                }
                rename(&short)?;
                return Ok(join(directory, &short));
            }
            other => other,
        }?;
        Ok(join(directory, aside))
    }

    /// Makes a link again that a command replaced.
    fn restore(self, path: &[u8], target: &[u8]) -> Result<(), Errno> {
        let (directory, name) = split(path);
        rustix::fs::symlinkat(target, self.parent(directory)?, name)
    }

    pub(crate) fn parent(self, directory: &[u8]) -> Result<OwnedFd, Errno> {
        let directory = if directory.is_empty() {
            b"."
        } else {
            directory
        };
        open(
            self.handle,
            directory,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        )
    }
}

/// Whether something lies in it that was guarded before: moving it would take that out of its
/// rules.
fn holds_more(new: &Guarded, before: &Found) -> bool {
    let mut old = before.guarded.iter().filter(|old| !old.is_missing());
    old.any(|old| {
        let rest = old.path.strip_prefix(new.path.as_slice());
        rest.is_some_and(|rest| rest.starts_with(b"/"))
    })
}

/// Whether it existed before the command, and git obeys it only since.
fn is_unmoved(new: &Guarded, before: &Found) -> bool {
    is_of_repository(new) && before.marks.contains(&new.path)
}

fn is_of_repository(new: &Guarded) -> bool {
    matches!(&new.why, Why::Protected(rule) if rule == REPOSITORY)
        || new.also.as_deref() == Some(REPOSITORY)
}

/// The name to move instead of another in a repository that was none before the command, where
/// the other existed before or cannot be moved: one of the names that make it a repository. One
/// of them at least was not there before.
fn mark_of(new: &Guarded, before: &Found, after: &Found) -> Option<Guarded> {
    let (directory, _) = split(&new.path);
    if !is_of_repository(new)
        || before.repositories.contains(directory)
        || !(holds_more(new, before) || is_unmoved(new, before))
    {
        return None;
    }
    let is = |path: &[u8], mark: &[u8]| {
        let (its, name) = split(path);
        its == directory && name.eq_ignore_ascii_case(mark)
    };
    let all = marks().flat_map(|mark| after.marks.iter().filter(move |path| is(path, mark)));
    let all = all.map(|path| {
        let why = Why::Protected(MARK.to_owned());
        Guarded::new(path.clone(), why, Default::default())
    });
    let mut new = all.filter(|mark| !before.marks.contains(&mark.path));
    new.find(|mark| !holds_more(mark, before))
}

/// Names for something that is moved aside, the best first.
pub(crate) fn aside(name: &[u8]) -> Result<[Vec<u8>; 3], Errno> {
    let plain = name.iter().map(|b| if *b == b'.' { b'_' } else { *b });
    let plain: Vec<u8> = plain.collect();
    let prefix = format!("set-aside-{}", random()?);
    Ok([
        [prefix.as_bytes(), b"-", name].concat(),
        [prefix.as_bytes(), b"-", plain.as_slice()].concat(),
        prefix.into_bytes(),
    ])
}

/// A random name that is not longer than another, nor shorter than six bytes.
fn short(most: usize, random: &str) -> Vec<u8> {
    let length = most.clamp(6, random.len());
    random.bytes().take(length).collect()
}

fn open(tree: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(tree.as_fd(), path, flags, Mode::empty(), resolve)
}

pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let (directory, name) = path.split_at(at);
            (directory, name.strip_prefix(b"/").unwrap_or(name))
        }
        None => (b"", path),
    }
}

/// Names that no process can predict.
fn random() -> Result<String, Errno> {
    let mut bytes = [0; 12];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if read < bytes.len() {
        return Err(Errno::AGAIN);
    }
    Ok(toolgate_model::hex::encode(&bytes))
}
