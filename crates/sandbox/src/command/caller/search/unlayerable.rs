//! What a layer over a tree could not show or change.
//!
//! An overlay obeys attributes and devices in its lower half: entries vanish. A repository can plant
//! them. And it cannot copy up what belongs to a user that its user namespace does not know.
//!
//! Attributes of files are not looked at: with the options used here the kernel ignores them or
//! refuses to open the file, and shows no other content.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::found::Why;
use super::walk::Search;
use crate::layer::{NoLayer, OVERLAY};

/// Where it is in the tree, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unlayerable {
    Planted(Vec<u8>),
    Foreign(Vec<u8>, u32),
}

impl Unlayerable {
    pub(crate) fn why(&self, tree: &Path) -> NoLayer {
        use std::os::unix::ffi::OsStrExt;
        let at = |path: &[u8]| tree.join(std::ffi::OsStr::from_bytes(path));
        match self {
            Self::Planted(path) => NoLayer::Planted { path: at(path) },
            Self::Foreign(path, uid) => NoLayer::ForeignOwner {
                path: at(path),
                uid: *uid,
            },
        }
    }
}

impl Search<'_> {
    /// The rule that guards a path, the strictest first: what would be executed is protected also
    /// where its name is denied.
    pub(crate) fn judge(&self, path: &[u8], is_directory: bool) -> Option<Why> {
        match self.why(path, is_directory, false) {
            Some(Why::Denied(rule)) => {
                let also = self.protects(path, is_directory).map(Why::Protected);
                also.or(Some(Why::Denied(rule)))
            }
            other => other,
        }
    }
}

/// Looks at a directory itself.
pub(super) fn directory(handle: &OwnedFd, path: &[u8]) -> Result<Option<Unlayerable>, Errno> {
    let mut names = [0; 1024];
    let planted = match rustix::fs::flistxattr(handle, &mut names[..]) {
        Ok(length) => {
            let names = names.get(..length).unwrap_or_default();
            let mut names = names.split(|byte| *byte == 0);
            names.any(|name| name.starts_with(OVERLAY))
        }
        Err(Errno::NOTSUP) => false,
        // More than is usual, so more than is looked at.
        Err(Errno::RANGE) => true,
        Err(errno) => return Err(errno),
    };
    if planted {
        return Ok(Some(Unlayerable::Planted(path.to_vec())));
    }
    let owner = rustix::fs::fstat(handle)?.st_uid;
    Ok(is_foreign(owner).then(|| Unlayerable::Foreign(path.to_vec(), owner)))
}

/// Looks at an entry of a directory.
pub(super) fn entry(
    handle: &OwnedFd,
    name: &CStr,
    kind: FileType,
    path: &[u8],
) -> Option<Unlayerable> {
    let is_device = kind == FileType::CharacterDevice;
    // All ids of root are known in its sandboxes.
    if !is_device && (kind == FileType::Directory || rustix::process::geteuid().is_root()) {
        return None;
    }
    let stat = rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if is_device && stat.st_rdev == 0 {
        return Some(Unlayerable::Planted(path.to_vec()));
    }
    is_foreign(stat.st_uid).then(|| Unlayerable::Foreign(path.to_vec(), stat.st_uid))
}

fn is_foreign(owner: u32) -> bool {
    let own = rustix::process::geteuid();
    !own.is_root() && own.as_raw() != owner
}
