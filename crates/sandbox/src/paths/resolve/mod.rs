//! From a path in a root to an open descriptor, beneath the root, in one act.
//!
//! The kernel does it where it can (`openat2`). The common case, a path without
//! links, is one call that forbids links altogether: then the name that was
//! asked for is the name that was opened. Only where a link is met does a second
//! call allow links that stay beneath, and the kernel is asked for the name that
//! came out. A link with an absolute target is never "beneath" for the kernel,
//! even if it leads into a root; those go through the walk of
//! [`walk`], which is also what older kernels get.

pub(crate) mod missing;
pub(crate) mod request;
pub(crate) mod roots;
pub(crate) mod walk;

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use self::roots::{Root, Roots, name_of};

/// How often a lookup is repeated that a rename elsewhere disturbed.
const TRIES: usize = 128;

/// How paths are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The kernel, by `openat2`.
    Kernel,
    /// A walk, component by component, that never follows a link it has not read.
    Walk,
}

/// The purpose that a path is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The content of a file.
    Read,
    /// The names in a directory.
    List,
    /// The directory as the start of other calls.
    Directory,
    /// To know what it is.
    Look,
}

impl Want {
    pub(crate) fn flags(self) -> OFlags {
        // Not blocking: a pipe without a writer must not block before
        // its type is known. No terminal is ever taken over.
        let read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match self {
            Self::Read => read,
            Self::List => read | OFlags::DIRECTORY,
            Self::Directory => OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Self::Look => OFlags::PATH | OFlags::CLOEXEC,
        }
    }
}

/// An open descriptor and the name it really has.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) fd: OwnedFd,
    pub(crate) root: usize,
    /// The name in the root, if it is not the one that was asked for.
    pub(crate) moved_to: Option<Vec<u8>>,
}

/// Why nothing was opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    Missing,
    NotDirectory,
    /// This link leads out of the roots.
    LeadsOut(Vec<u8>),
    Loop,
    TooDeep,
    Busy,
    System(Errno),
}

impl From<Errno> for Miss {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::NOTDIR => Self::NotDirectory,
            Errno::LOOP => Self::Loop,
            Errno::AGAIN => Self::Busy,
            other => Self::System(other),
        }
    }
}

impl Method {
    /// The kernel's way if this machine has it. Some container profiles answer a
    /// call they do not know with "not permitted" instead of "no such call".
    pub(crate) fn best(root: &Root) -> Self {
        Self::after(beneath(root, b"", Want::Directory, ResolveFlags::empty()).map(drop))
    }

    fn after(first_try: Result<(), Errno>) -> Self {
        match first_try {
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Self::Walk,
            _ => Self::Kernel,
        }
    }

    /// Opens `rel` (no `..`, no `.`, empty for the root) beneath a root.
    pub(crate) fn open(
        self,
        roots: &Roots,
        root: usize,
        rel: &[u8],
        want: Want,
    ) -> Result<Found, Miss> {
        match self {
            Self::Kernel => kernel(roots, root, rel, want),
            Self::Walk => walk::open(roots, root, rel, want),
        }
    }
}

fn kernel(roots: &Roots, root: usize, rel: &[u8], want: Want) -> Result<Found, Miss> {
    let own = roots.get(root).ok_or(Miss::Missing)?;
    match beneath(own, rel, want, ResolveFlags::NO_SYMLINKS) {
        Ok(fd) => {
            return Ok(Found {
                fd,
                root,
                moved_to: None,
            });
        }
        Err(Errno::LOOP) => {}
        Err(other) => return Err(other.into()),
    }
    match beneath(own, rel, want, ResolveFlags::empty()) {
        Ok(fd) => {
            let name = name_beneath(own, &fd)?.ok_or_else(|| Miss::LeadsOut(rel.to_vec()))?;
            Ok(Found {
                fd,
                root,
                moved_to: Some(name),
            })
        }
        // An absolute target, a loop, or a magic link. The walk takes every link as the
        // text it is, so a magic one loses its magic.
        Err(Errno::XDEV | Errno::LOOP) => walk::open(roots, root, rel, want),
        Err(other) => Err(other.into()),
    }
}

fn beneath(root: &Root, rel: &[u8], want: Want, more: ResolveFlags) -> Result<OwnedFd, Errno> {
    let rel: &[u8] = if rel.is_empty() { b"." } else { rel };
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    patiently(|| rustix::fs::openat2(root.handle(), rel, want.flags(), Mode::empty(), how))
}

/// Retries a lookup that others disturbed, up to a limit.
fn patiently<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..TRIES {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    open()
}

/// The name of a descriptor relative to a root; `None` if it is not beneath it.
pub(crate) fn name_beneath(root: &Root, fd: &impl AsFd) -> Result<Option<Vec<u8>>, Errno> {
    let name = name_of(fd.as_fd())?;
    // Asked for anew each time: the root itself may have been moved.
    let top = name_of(root.handle())?;
    let top = top.strip_suffix(b"/").unwrap_or(&top);
    Ok(match name.strip_prefix(top) {
        Some([]) => Some(Vec::new()),
        Some([b'/', rest @ ..]) => Some(rest.to_vec()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_call_is_walked() {
        for errno in [Errno::NOSYS, Errno::PERM, Errno::INVAL] {
            assert_eq!(Method::after(Err(errno)), Method::Walk);
        }
        assert_eq!(Method::after(Ok(())), Method::Kernel);
        assert_eq!(Method::after(Err(Errno::ACCESS)), Method::Kernel);
    }

    #[test]
    fn a_disturbed_lookup_is_retried_a_limited_number_of_times() {
        let mut tried = 0;
        let mut ends_after = |tries| {
            tried = 0;
            let answer = patiently(|| {
                tried += 1;
                if tried > tries {
                    Ok(())
                } else {
                    Err(Errno::AGAIN)
                }
            });
            (answer, tried)
        };
        assert_eq!(ends_after(0), (Ok(()), 1));
        assert_eq!(ends_after(TRIES), (Ok(()), TRIES + 1));
        assert_eq!(ends_after(TRIES + 1), (Err(Errno::AGAIN), TRIES + 1));
        assert_eq!(patiently(|| Err::<(), _>(Errno::NOENT)), Err(Errno::NOENT));
    }

    #[test]
    fn nothing_is_opened_that_blocks_takes_a_terminal_or_is_inherited() {
        let wants = [Want::Read, Want::List, Want::Directory, Want::Look];
        for flags in wants.map(Want::flags) {
            assert!(flags.contains(OFlags::CLOEXEC), "{flags:?}");
            let harmless = OFlags::NONBLOCK | OFlags::NOCTTY;
            assert!(
                flags.contains(harmless) || flags.contains(OFlags::PATH),
                "{flags:?}"
            );
        }
    }
}
