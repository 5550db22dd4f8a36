//! Reading the changes off the upper half of a layer.
//!
//! ```text
//!  upper half                         in the root          change
//!  device 0/0                         anything             Deleted
//!  directory                          directory            (its mode)     and on with both
//!  directory, marked as opaque        directory            Replaced       and on without
//!  file with the same content         file                 Attributes, or nothing
//!  file with other content            file                 Modified
//!  anything                           another type         Replaced
//!  anything                           nothing              Created
//!  the second name of a file                               Linked
//! ```
//!
//! A command cannot set the attributes that are read here: the kernel keeps those of commands under
//! other names.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use super::changes::{Change, ChangeKind, Changes, Entry, EntryKind, Withheld};
use super::error::LayerError;
use super::held::{Layer, LayeredRoot};
use super::look::{
    attributes, enter, is_opaque, is_whiteout, leave, look, names, open, open_directory, reopen,
    same_content,
};
use crate::command::Watched;

/// Names are taken from the kernel by so many bytes.
const BUFFER: usize = 32 << 10;
/// More changes than these are not collected.
const MOST: usize = 1_000_000;
/// Deeper directories are not looked into: no path leads there.
const DEEPEST: usize = 2_000;

impl Layer {
    /// Everything that the command changed in the roots, compared with what is there now.
    ///
    /// # Errors
    /// Something cannot be read, there are too many changes, or directories are nested too deeply.
    /// Then nothing of the layer can be applied.
    pub fn changes(&self) -> Result<Changes, LayerError> {
        let mut changes = Changes::default();
        for (root, watched) in self.roots.iter().zip(self.watched.iter()) {
            let upper = self.upper(root).map_err(LayerError::at(&root.path))?;
            let mut collector = Collector {
                layer: self,
                root,
                watched,
                out: &mut changes.all,
                groups: HashMap::new(),
                buffer: Vec::with_capacity(BUFFER),
            };
            let lower = open_directory(&root.handle, b"").map_err(LayerError::at(&root.path))?;
            collector.top(&upper, &lower)?;
            collector.directory(&upper, Some(&lower), &[], None, 0)?;
            let groups = std::mem::take(&mut collector.groups);
            link(&mut changes.all, groups);
        }
        Ok(changes)
    }

    /// What a directory holds that was deleted or replaced as a whole: its paths in the root, at most
    /// so many.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn beneath(&self, change: &Change, most: usize) -> Result<Vec<PathBuf>, LayerError> {
        let mut all = Vec::new();
        let root = self.root(change)?;
        let is_directory = |entry: &Entry| entry.kind == EntryKind::Directory;
        if !change.before.as_ref().is_some_and(is_directory) {
            return Ok(all);
        }
        let mut open = vec![change.path.clone()];
        let mut buffer = Vec::with_capacity(BUFFER);
        while let Some(directory) = open.pop() {
            let failed = |errno| LayerError::at(root.path.join(&directory))(errno);
            let handle = open_directory(&root.handle, directory.as_os_str().as_bytes());
            let handle = handle.map_err(failed)?;
            for name in names(&handle, &mut buffer).map_err(failed)? {
                if all.len() >= most {
                    return Ok(all);
                }
                let path = directory.join(OsStr::from_bytes(&name));
                if let Some(stat) = look(&handle, &name).map_err(failed)?
                    && FileType::from_raw_mode(stat.st_mode) == FileType::Directory
                {
                    open.push(path.clone());
                }
                all.push(path);
            }
        }
        all.sort();
        Ok(all)
    }

    /// Opens the file that the command left at a changed path, to read it.
    ///
    /// # Errors
    /// It is no file, or cannot be opened.
    pub fn open_new(&self, change: &Change) -> Result<OwnedFd, LayerError> {
        let root = self.root(change)?;
        let path = change.path.as_os_str().as_bytes();
        let upper = self.upper(root);
        let opened = upper.and_then(|upper| exactly(&upper, path, change.after.as_ref()));
        opened.map_err(LayerError::at(&change.path))
    }

    /// Opens the file that was at a changed path, to read it.
    ///
    /// # Errors
    /// It is no file, cannot be opened, or is not the one that was compared.
    pub fn open_old(&self, change: &Change) -> Result<OwnedFd, LayerError> {
        let root = self.root(change)?;
        let path = change.path.as_os_str().as_bytes();
        let opened = exactly(&root.handle, path, change.before.as_ref());
        opened.map_err(LayerError::at(&change.path))
    }

    pub(super) fn root(&self, change: &Change) -> Result<&LayeredRoot, LayerError> {
        let mut roots = self.roots.iter();
        let root = roots.find(|root| root.number == change.root);
        root.ok_or_else(|| LayerError::at(&change.path)(Errno::NOENT))
    }
}

fn exactly(directory: &OwnedFd, path: &[u8], entry: Option<&Entry>) -> Result<OwnedFd, Errno> {
    let entry = entry.filter(|entry| entry.kind == EntryKind::File);
    let entry = entry.ok_or(Errno::NOENT)?;
    let (above, name) = split(path);
    let above = open(directory, above, OFlags::PATH | OFlags::DIRECTORY)?;
    let file = reopen(above.as_fd(), name, OFlags::RDONLY | OFlags::NONBLOCK)?;
    let found = Entry::of(&rustix::fs::fstat(&file)?);
    if (found.kind, found.inode, found.size) != (entry.kind, entry.inode, entry.size) {
        return Err(Errno::STALE);
    }
    Ok(file)
}

struct Collector<'a> {
    layer: &'a Layer,
    root: &'a LayeredRoot,
    watched: &'a Watched,
    out: &'a mut Vec<Change>,
    /// The names of each file of the upper half that has several.
    groups: HashMap<u64, Vec<Member>>,
    buffer: Vec<u8>,
}

/// A name of a file with several names.
struct Member {
    path: Vec<u8>,
    entry: Entry,
    /// Its change, if there is one without the other names.
    change: Option<usize>,
    withheld: Option<Withheld>,
    before: Option<Entry>,
}

impl Collector<'_> {
    fn failed(&self, path: &[u8]) -> impl FnOnce(Errno) -> LayerError + use<> {
        LayerError::at(self.root.path.join(OsStr::from_bytes(path)))
    }

    /// The mode of the root itself.
    fn top(&mut self, upper: &OwnedFd, lower: &OwnedFd) -> Result<(), LayerError> {
        let stat = |handle: &OwnedFd| rustix::fs::fstat(handle).map(|stat| Entry::of(&stat));
        let after = stat(upper).map_err(self.failed(b""))?;
        let before = stat(lower).map_err(self.failed(b""))?;
        if !before.has_attributes_of(&after) {
            let kind = ChangeKind::Attributes;
            self.push(b"", kind, Some(before), Some(after), None)?;
        }
        Ok(())
    }

    fn directory(
        &mut self,
        upper: &OwnedFd,
        lower: Option<&OwnedFd>,
        path: &[u8],
        withheld: Option<&Withheld>,
        depth: usize,
    ) -> Result<(), LayerError> {
        if depth > DEEPEST {
            return Err(self.failed(path)(Errno::NAMETOOLONG));
        }
        let names = names(upper, &mut self.buffer).map_err(self.failed(path))?;
        for name in names {
            let path = match path {
                [] => name.clone(),
                _ => [path, b"/", &name].concat(),
            };
            self.entry(upper.as_fd(), lower, &name, &path, withheld, depth)
                .map_err(|error| match error {
                    Failed::Here(errno) => self.failed(&path)(errno),
                    Failed::Known(error) => error,
                })?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        upper: BorrowedFd<'_>,
        lower: Option<&OwnedFd>,
        name: &[u8],
        path: &[u8],
        withheld: Option<&Withheld>,
        depth: usize,
    ) -> Result<(), Failed> {
        let Some(stat) = look(upper, name)? else {
            return Err(Failed::Here(Errno::STALE));
        };
        let old = match lower {
            Some(lower) => look(lower, name)?,
            None => None,
        };
        let before = match (&old, lower) {
            (Some(stat), Some(lower)) => Some(described(lower, name, stat)?),
            _ => None,
        };
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_whiteout(&stat) {
            if let Some(before) = before {
                let is_directory = before.kind == EntryKind::Directory;
                let withheld = self.judge(path, is_directory, withheld);
                self.push(path, ChangeKind::Deleted, Some(before), None, withheld)?;
            }
            return Ok(());
        }
        if is_directory && before.is_none() && self.root.vacant.iter().any(|one| one == path) {
            return Ok(());
        }
        let withheld = self.judge(path, is_directory, withheld);
        let after = described(&upper, name, &stat)?;
        if is_directory {
            let (handle, mode) = enter(upper, name, &stat)?;
            let kept = (before, after, withheld);
            let done = self.subdirectory(&handle, lower, name, path, kept, depth);
            leave(&handle, mode)?;
            return done;
        }
        let kind = match &before {
            None => ChangeKind::Created,
            Some(before) if before.kind != after.kind => ChangeKind::Replaced,
            Some(before) if before.target != after.target => ChangeKind::Modified,
            Some(before) if after.kind == EntryKind::File => {
                let lower = lower.ok_or(Errno::STALE)?;
                match self.has_same_content(upper, lower, name, before, &after)? {
                    false => ChangeKind::Modified,
                    true => ChangeKind::Attributes,
                }
            }
            Some(_) => ChangeKind::Attributes,
        };
        let alike = before.as_ref().is_some_and(|before| {
            kind == ChangeKind::Attributes
                && before.has_attributes_of(&after)
                && before.modified == after.modified
        });
        let mut member = Member {
            path: path.to_vec(),
            entry: after.clone(),
            change: None,
            withheld: withheld.clone(),
            before: before.clone(),
        };
        let several = after.kind == EntryKind::File && after.links > 1;
        if !alike {
            member.change = Some(self.out.len());
            let in_place = is_in_place(old.as_ref(), &stat, self.layer);
            self.push(path, kind, before, Some(after), withheld)?;
            if let Some(change) = self.out.last_mut() {
                change.in_place = in_place;
                if stat_is_file(&stat) {
                    let file = reopen(upper, name, OFlags::RDONLY | OFlags::NONBLOCK)?;
                    change.marked = !attributes(&file)?.is_empty();
                }
            }
        }
        if several {
            self.groups.entry(stat.st_ino).or_default().push(member);
        }
        Ok(())
    }

    fn subdirectory(
        &mut self,
        handle: &OwnedFd,
        lower: Option<&OwnedFd>,
        name: &[u8],
        path: &[u8],
        (before, after, withheld): (Option<Entry>, Entry, Option<Withheld>),
        depth: usize,
    ) -> Result<(), Failed> {
        let opaque = is_opaque(handle);
        let was_directory = before.as_ref().map(|one| one.kind == EntryKind::Directory);
        let kind = match was_directory {
            None => Some(ChangeKind::Created),
            Some(true) if !opaque => None,
            Some(_) => Some(ChangeKind::Replaced),
        };
        let marked = !attributes(handle)?.is_empty();
        let merged = kind.is_none();
        let differs = before
            .as_ref()
            .is_some_and(|old| !old.has_attributes_of(&after));
        if let Some(kind) = kind.or(differs.then_some(ChangeKind::Attributes)) {
            self.push(path, kind, before, Some(after), withheld.clone())?;
            if let Some(change) = self.out.last_mut() {
                change.marked = marked;
            }
        }
        let inner = match lower.filter(|_| merged) {
            Some(lower) => Some(open_directory(lower, name)?),
            None => None,
        };
        // What is in a protected directory is protected with it; what a denied one holds has
        // rules of its own.
        let beneath = withheld.filter(|one| !matches!(one, Withheld::Denied { .. }) || !merged);
        self.directory(handle, inner.as_ref(), path, beneath.as_ref(), depth + 1)
            .map_err(Failed::Known)
    }

    fn has_same_content(
        &self,
        upper: BorrowedFd<'_>,
        lower: &OwnedFd,
        name: &[u8],
        before: &Entry,
        after: &Entry,
    ) -> Result<bool, Errno> {
        if before.size != after.size {
            return Ok(false);
        }
        let old = match open(lower, name, OFlags::RDONLY | OFlags::NONBLOCK) {
            // The command could not read it either, so it did not keep its content.
            Err(Errno::ACCESS) => return Ok(before.modified == after.modified),
            other => other?,
        };
        let new = reopen(upper, name, OFlags::RDONLY | OFlags::NONBLOCK)?;
        same_content(&new, &old)
    }

    fn judge(&self, path: &[u8], is_directory: bool, outer: Option<&Withheld>) -> Option<Withheld> {
        let own = self
            .watched
            .judge(self.layer.sandbox.rules(), path, is_directory);
        match (own, outer) {
            (Some(own), Some(outer)) => Some(own.min(outer.clone())),
            (own, outer) => own.or_else(|| outer.cloned()),
        }
    }

    fn push(
        &mut self,
        path: &[u8],
        kind: ChangeKind,
        before: Option<Entry>,
        after: Option<Entry>,
        withheld: Option<Withheld>,
    ) -> Result<(), LayerError> {
        if self.out.len() >= MOST {
            return Err(LayerError::TooMany { limit: MOST });
        }
        self.out.push(Change {
            root: self.root.number,
            path: PathBuf::from(OsStr::from_bytes(path)),
            kind,
            before,
            after,
            withheld,
            marked: false,
            in_place: false,
        });
        Ok(())
    }
}

/// Why an entry could not be compared.
enum Failed {
    Here(Errno),
    Known(LayerError),
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self::Here(errno)
    }
}

impl From<LayerError> for Failed {
    fn from(error: LayerError) -> Self {
        Self::Known(error)
    }
}

fn stat_is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Whether the command wrote to a file with several names instead of replacing one of them. In the
/// upper half both look alike, but for the time of the last access: a copy keeps it, reading does not
/// change it here, and a new file has a later one.
fn is_in_place(old: Option<&Stat>, new: &Stat, layer: &Layer) -> bool {
    let time = |stat: &Stat| (stat.st_atime, stat.st_atime_nsec);
    old.is_some_and(|old| {
        stat_is_file(old)
            && stat_is_file(new)
            && old.st_nlink > 1
            && time(old) == time(new)
            && time(new) <= layer.begun
    })
}

fn described(directory: &impl AsFd, name: &[u8], stat: &Stat) -> Result<Entry, Errno> {
    let mut entry = Entry::of(stat);
    if entry.kind == EntryKind::Symlink {
        let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
        entry.target = Some(target.into_bytes());
    }
    Ok(entry)
}

/// Makes changes of the further names of files.
fn link(all: &mut Vec<Change>, groups: HashMap<u64, Vec<Member>>) {
    let mut more = Vec::new();
    for mut members in groups.into_values().filter(|members| members.len() > 1) {
        // The name that stands already, unchanged or changed, is the one that others link to.
        let rank = |one: &Member| {
            let was_file = one
                .before
                .as_ref()
                .is_some_and(|one| one.kind == EntryKind::File);
            (one.change.is_some(), !was_file, one.withheld.is_some())
        };
        members.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.path.cmp(&b.path)));
        let mut members = members.into_iter();
        let Some(first) = members.next() else {
            continue;
        };
        let root = first.change.and_then(|at| all.get(at)).map(|one| one.root);
        let to = PathBuf::from(OsStr::from_bytes(&first.path));
        for member in members {
            let entry = Entry {
                links_to: Some(to.clone()),
                ..member.entry
            };
            match member.change.and_then(|at| all.get_mut(at)) {
                Some(change) => {
                    change.kind = ChangeKind::Linked;
                    change.after = Some(entry);
                }
                None => more.push((root, member.path, entry, member.before, member.withheld)),
            }
        }
    }
    for (root, path, entry, before, withheld) in more {
        all.push(Change {
            root: root.unwrap_or_default(),
            path: PathBuf::from(OsStr::from_bytes(&path)),
            kind: ChangeKind::Linked,
            before,
            after: Some(entry),
            withheld,
            marked: false,
            in_place: false,
        });
    }
    all.sort_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
}

/// The directory and the name of a path.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => {
            let (directory, name) = path.split_at(at);
            (directory, name.strip_prefix(b"/").unwrap_or(name))
        }
        None => (b"", path),
    }
}
