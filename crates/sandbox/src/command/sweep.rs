//! After a command: what it made under guarded names.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::rules::SetAside;
use super::search::{Found, Guarded, Why};

/// Something that appeared under a guarded name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appeared {
    /// Where it appeared.
    pub path: PathBuf,
    /// The rule that guards the name.
    pub rule: String,
    /// Where it was moved to; none if it stayed, because it is denied and does no harm
    /// there, or because it could not be moved.
    pub moved_to: Option<PathBuf>,
}

/// What was left to do after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// What appeared under guarded names.
    pub appeared: Vec<Appeared>,
    /// Whether all guarded names were looked at, before and after.
    pub complete: bool,
}

/// Moves aside what is there now and was not before.
pub(super) fn sweep(
    place: &Path,
    root: BorrowedFd<'_>,
    before: &Found,
    after: &Found,
    how: SetAside,
    is_held: impl Fn(&Path) -> bool,
) -> Vec<Appeared> {
    let is_new = |found: &&Guarded| {
        !before
            .guarded
            .iter()
            .any(|old| old.path == found.path && old.id == found.id)
    };
    let mut appeared: Vec<Appeared> = Vec::new();
    for found in after.guarded.iter().filter(is_new) {
        let path = place.join(OsStr::from_bytes(&found.path));
        let in_moved = appeared
            .iter()
            .any(|above| above.moved_to.is_some() && path.starts_with(&above.path));
        if in_moved || is_held(&path) {
            continue;
        }
        let moves = !matches!(found.why, Why::Denied(_)) || how == SetAside::ProtectedAndDenied;
        let moved_to = moves
            .then(|| move_aside(root, &found.path).ok())
            .flatten()
            .map(|to| place.join(OsStr::from_bytes(&to)));
        appeared.push(Appeared {
            path,
            rule: found.why.rule().to_owned(),
            moved_to,
        });
    }
    appeared
}

/// Renames in the same folder, to a name that nothing has and no rule guards.
fn move_aside(root: BorrowedFd<'_>, path: &[u8]) -> Result<Vec<u8>, Errno> {
    let cut = path.iter().rposition(|byte| *byte == b'/');
    let (folder, name) = match cut {
        Some(at) => (path.get(..at), path.get(at + 1..)),
        None => (Some(b".".as_slice()), Some(path)),
    };
    let (folder, name) = folder.zip(name).ok_or(Errno::INVAL)?;
    let handle: OwnedFd = rustix::fs::openat2(
        root,
        folder,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    for number in 1..1000 {
        let aside = [format!("set-aside-{number}-").as_bytes(), name].concat();
        match rustix::fs::renameat_with(
            &handle,
            name,
            &handle,
            aside.as_slice(),
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) if cut.is_none() => return Ok(aside),
            Ok(()) => return Ok([folder, b"/", &aside].concat()),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}
