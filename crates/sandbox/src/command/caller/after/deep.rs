//! Directories that a command made deeper than a search goes.
//!
//! A path can be as long as a program likes, if it goes there step by step; the kernel takes
//! 4,096 bytes at once. Such a directory is moved to the top of its tree, where the next round
//! of the sweep looks into it. Directories too deep inside it are moved there too, one by one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::sweep::{Appeared, Tree, aside, split};
use crate::command::caller::search::entry::kind_at;
use crate::command::caller::search::found::Guarded;
use crate::command::caller::search::owner::Reopened;
use crate::command::caller::search::walk::{BUFFER, LONGEST, Search, join};

/// The rule for such a directory.
const TOO_DEEP: &str = "a path that is too long to be searched";

impl Tree<'_> {
    /// Moves a directory that lies too deep to the top of the tree, and what lies too deep in
    /// it.
    pub(super) fn raise(
        self,
        new: &Guarded,
        reopened: &Reopened<'_>,
        rules: &Search<'_>,
    ) -> Vec<Appeared> {
        let mut all = Vec::new();
        let mut to_raise = vec![new.path.clone()];
        while let Some(path) = to_raise.pop() {
            let at = |path: &[u8]| self.path.join(OsStr::from_bytes(path));
            let mut one = Appeared {
                rule: TOO_DEEP.to_owned(),
                ..Appeared::at(at(&path))
            };
            one.unsearched = true;
            match self.to_top(&path, reopened, rules) {
                Ok(to) => {
                    // Where this fails, the next round finds it, or says why it does not.
                    let _ = self.too_deep_in(&to, reopened, rules, &mut to_raise);
                    one.moved_to = Some(at(&to));
                }
                Err(Errno::NOENT) => continue,
                Err(errno) => one.error = Some(errno),
            }
            all.push(one);
        }
        all
    }

    /// Renames to a random name in the top directory that no rule guards.
    fn to_top(
        self,
        path: &[u8],
        reopened: &Reopened<'_>,
        rules: &Search<'_>,
    ) -> Result<Vec<u8>, Errno> {
        let (directory, name) = split(path);
        // The name is what made it long, and says little.
        let [_, _, to] = aside(name)?;
        if !rules.is_free(&to) {
            return Err(Errno::EXIST);
        }
        let rename = || {
            let from = self.parent(directory)?;
            let flags = RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&from, name, self.handle, to.as_slice(), flags)
        };
        match rename() {
            Err(Errno::ACCESS | Errno::PERM) => {
                // The directory itself has to be writable too: its parent changes.
                for closed in [b"", directory, path] {
                    reopened.open(closed);
                }
                rename()
            }
            other => other,
        }?;
        Ok(to)
    }

    /// The directories in this one that lie too deep.
    fn too_deep_in(
        self,
        top: &[u8],
        reopened: &Reopened<'_>,
        rules: &Search<'_>,
        found: &mut Vec<Vec<u8>>,
    ) -> Result<(), Errno> {
        let mut open = vec![top.to_vec()];
        let mut left = rules.most;
        let mut buffer = Vec::with_capacity(BUFFER);
        while let Some(directory) = open.pop() {
            let list = || {
                rustix::fs::openat2(
                    self.handle,
                    directory.as_slice(),
                    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                    Mode::empty(),
                    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
                )
            };
            // The right to enter it is needed for what is in it.
            let closed = reopened.open(&directory);
            let handle = match list() {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                // The search says what cannot be looked into.
                Err(Errno::ACCESS | Errno::PERM) if !closed => continue,
                other => other?,
            };
            let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
            while let Some(entry) = entries.next() {
                let entry = entry?;
                let name = entry.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                left = left.checked_sub(1).ok_or(Errno::TOOBIG)?;
                let kind = match entry.file_type() {
                    FileType::Unknown => kind_at(&handle, name),
                    kind => kind,
                };
                if kind != FileType::Directory {
                    continue;
                }
                let path = join(&directory, name.to_bytes());
                if path.len() > LONGEST {
                    found.push(path);
                } else {
                    open.push(path);
                }
            }
        }
        Ok(())
    }
}
