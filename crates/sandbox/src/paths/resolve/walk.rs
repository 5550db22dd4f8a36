//! Resolving beneath a root by hand.
//!
//! Every component is opened from the handle of the directory before it and never
//! followed; a link is read and its text put in front of what is left. `..` in a
//! link goes back to a handle that is already held, so a directory that is moved in
//! between does not lead out of the root.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::roots::Roots;
use crate::paths::resolve::{Found, Miss, Want};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// Each directory on the way is an open descriptor.
const MOST_DIRECTORIES: usize = 256;
/// How often a component is looked at again that was replaced meanwhile.
const TRIES: usize = 128;

struct Walk<'r> {
    roots: &'r Roots,
    root: usize,
    /// The directories from the root down to here.
    directories: Vec<(OwnedFd, Vec<u8>)>,
    ahead: VecDeque<Vec<u8>>,
    links: usize,
    /// The last link that was followed, to name the one that led out.
    link: Vec<u8>,
}

/// Opens `rel` beneath a root without help from the kernel.
pub(crate) fn open(roots: &Roots, root: usize, rel: &[u8], want: Want) -> Result<Found, Miss> {
    let ahead = rel
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let mut walk = Walk {
        roots,
        root,
        directories: Vec::new(),
        ahead,
        links: 0,
        link: Vec::new(),
    };
    let mut tries = 0;
    while let Some(name) = walk.ahead.pop_front() {
        match name.as_slice() {
            b"" | b"." => {}
            b".." => {
                if walk.directories.pop().is_none() {
                    return Err(Miss::LeadsOut(walk.link));
                }
            }
            _ => {
                if let Some(fd) = walk.step(&name, want, &mut tries)? {
                    return Ok(walk.found(fd, Some(&name)));
                }
            }
        }
    }
    let fd = open_at(walk.here()?, b".", want.flags())?;
    Ok(walk.found(fd, None))
}

impl Walk<'_> {
    fn here(&self) -> Result<BorrowedFd<'_>, Miss> {
        match self.directories.last() {
            Some((fd, _)) => Ok(fd.as_fd()),
            None => Ok(self.roots.get(self.root).ok_or(Miss::Missing)?.handle()),
        }
    }

    /// Takes one component; returns the descriptor if it was the last and no directory.
    fn step(
        &mut self,
        name: &[u8],
        want: Want,
        tries: &mut usize,
    ) -> Result<Option<OwnedFd>, Miss> {
        let fd = open_at(self.here()?, name, Want::Look.flags())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        match kind {
            FileType::Directory if self.directories.len() >= MOST_DIRECTORIES => Err(Miss::TooDeep),
            FileType::Directory => {
                self.directories.push((fd, name.to_vec()));
                Ok(None)
            }
            FileType::Symlink => {
                self.follow(name, &fd)?;
                Ok(None)
            }
            _ if !self.ahead.is_empty() || want.flags().contains(OFlags::DIRECTORY) => {
                Err(Miss::NotDirectory)
            }
            _ if want == Want::Look => Ok(Some(fd)),
            _ => match open_at(self.here()?, name, want.flags()) {
                Ok(fd) => Ok(Some(fd)),
                // It was no link a moment ago. Look again.
                Err(Errno::LOOP | Errno::NOENT) if *tries < TRIES => {
                    *tries += 1;
                    self.ahead.push_front(name.to_vec());
                    Ok(None)
                }
                Err(Errno::LOOP) => Err(Miss::Busy),
                Err(other) => Err(other.into()),
            },
        }
    }

    fn follow(&mut self, name: &[u8], link: &OwnedFd) -> Result<(), Miss> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Miss::Loop);
        }
        self.link = self.name_in_root(Some(name));
        let target = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        let mut parts: Vec<&[u8]> = target.split(|b| *b == b'/').collect();
        if target.is_empty() {
            return Err(Miss::Missing);
        }
        if target.starts_with(b"/") {
            let named: Vec<&[u8]> = parts
                .iter()
                .copied()
                .filter(|part| !part.is_empty())
                .collect();
            let (root, length) = self
                .roots
                .containing(&named)
                .ok_or_else(|| Miss::LeadsOut(self.link.clone()))?;
            let ends_like_directory = parts.last().is_some_and(|part| part.is_empty());
            parts = named.get(length..).unwrap_or_default().to_vec();
            if ends_like_directory {
                parts.push(b".");
            }
            self.root = root;
            self.directories.clear();
        }
        // An empty last part (`x/`) stays as `.`: what comes before it must be a directory.
        for part in parts.iter().rev() {
            let part: &[u8] = if part.is_empty() { b"." } else { part };
            self.ahead.push_front(part.to_vec());
        }
        Ok(())
    }

    fn name_in_root(&self, last: Option<&[u8]>) -> Vec<u8> {
        let names: Vec<&[u8]> = self
            .directories
            .iter()
            .map(|(_, name)| name.as_slice())
            .chain(last)
            .collect();
        names.join(&b'/')
    }

    fn found(&self, fd: OwnedFd, last: Option<&[u8]>) -> Found {
        Found {
            fd,
            root: self.root,
            moved_to: (self.links > 0).then(|| self.name_in_root(last)),
        }
    }
}

fn open_at(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    loop {
        match rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
