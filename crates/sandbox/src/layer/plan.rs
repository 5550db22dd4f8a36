//! From changes to steps.
//!
//! ```text
//!  changes ── chosen? ──▶ left out
//!     │
//!     ├─ is the root as it was when the command began? ──▶ Conflict, and no steps at all
//!     ▼
//!  steps: open closed directories │ the changes, by path │ modes of directories, inner ones first
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, Stat};
use rustix::io::Errno;

use super::changes::{Change, ChangeKind, Changes, Entry, EntryKind};
use super::collect::split;
use super::error::LayerError;
use super::held::{Layer, LayeredRoot};
use super::look::{look, names, open, open_directory};
use super::places::Time;
use super::step::{Ident, Step, StepKind};

/// Conflicts that are named; the others are counted.
const NAMED: usize = 100;
/// A directory that its owner can change.
const OPEN: u32 = 0o700;

/// The steps, and where their slots are filled from.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<(Step, Source)>,
    /// The numbers of the changes that are not applied.
    pub(super) left_out: Vec<usize>,
}

/// Where the content of a slot comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The slot stays empty until the step.
    Nothing,
    /// The upper half, at the path of the step.
    Upper,
    /// A new directory that looks like the one in the upper half.
    Directory,
    /// Another name of a file of the root.
    Link(Vec<u8>),
}

/// What is at a path beneath a directory; nothing if a part of the way is missing or a link.
pub(super) fn look_at(root: &OwnedFd, path: &[u8]) -> Result<Option<Stat>, Errno> {
    if path.is_empty() {
        return rustix::fs::fstat(root).map(Some);
    }
    let (above, name) = split(path);
    match open(root, above, OFlags::PATH | OFlags::DIRECTORY) {
        Ok(above) => look(&above, name),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn plan(
    layer: &Layer,
    changes: &Changes,
    choose: impl FnMut(&Change) -> bool,
) -> Result<Plan, LayerError> {
    let chosen = chosen(changes, choose);
    let mut plan = Plan::default();
    let mut conflicts = Conflicts::default();
    for (number, root) in layer.roots.iter().enumerate() {
        let mut planner = Planner {
            layer,
            root,
            number,
            by_path: HashMap::new(),
            made: HashSet::new(),
            opened: BTreeMap::new(),
            last: BTreeMap::new(),
            written: HashMap::new(),
            in_place: Vec::new(),
            main: Vec::new(),
        };
        let all = changes.iter().zip(&chosen);
        let of_root = all.filter(|(change, _)| change.root == root.number);
        for (change, chosen) in of_root.clone() {
            planner
                .by_path
                .insert(change.path.as_path(), (change, *chosen));
        }
        for (change, _) in of_root.filter(|(_, chosen)| **chosen) {
            if planner.conflicts(change)? {
                conflicts.add(root.path.join(&change.path));
            } else {
                planner.add(change, &mut conflicts)?;
            }
        }
        plan.steps.extend(planner.finish());
    }
    conflicts.none()?;
    let all = chosen.iter().enumerate();
    plan.left_out = all.filter(|(_, one)| !**one).map(|(at, _)| at).collect();
    Ok(plan)
}

/// Which changes are applied: those that may be, were chosen, and lie in a directory that is there
/// then.
fn chosen(changes: &Changes, mut choose: impl FnMut(&Change) -> bool) -> Vec<bool> {
    let mut missing: Option<(usize, &Path)> = None;
    let one = |change| {
        let change: &Change = change;
        let within = missing
            .is_some_and(|(root, path)| root == change.root && change.path.starts_with(path));
        let chosen = !within && !change.is_barred() && choose(change);
        let is_new = matches!(change.kind, ChangeKind::Created | ChangeKind::Replaced);
        if !chosen && !within && is_new && is_directory(change.after.as_ref()) {
            missing = Some((change.root, change.path.as_path()));
        }
        chosen
    };
    changes.all.iter().map(one).collect()
}

#[derive(Default)]
struct Conflicts {
    named: Vec<PathBuf>,
    more: usize,
    /// Two names of one file that were changed apart from each other.
    split: Option<(PathBuf, PathBuf)>,
}

impl Conflicts {
    fn add(&mut self, path: PathBuf) {
        if self.named.len() < NAMED {
            self.named.push(path);
        } else {
            self.more += 1;
        }
    }

    fn none(self) -> Result<(), LayerError> {
        match (self.named, self.more) {
            (paths, 0) if paths.is_empty() => match self.split {
                None => Ok(()),
                Some((one, other)) => Err(LayerError::SplitLinks { one, other }),
            },
            (paths, more) => Err(LayerError::Conflict { paths, more }),
        }
    }
}

struct Planner<'a> {
    layer: &'a Layer,
    root: &'a LayeredRoot,
    number: usize,
    by_path: HashMap<&'a Path, (&'a Change, bool)>,
    /// Directories that the steps make.
    made: HashSet<&'a Path>,
    /// Directories that have to be opened first, as they are.
    opened: BTreeMap<Vec<u8>, Ident>,
    /// The attributes that directories get last.
    last: BTreeMap<Vec<u8>, (Ident, Ident)>,
    /// Files with several names that are changed in place, by their inodes.
    written: HashMap<u64, PathBuf>,
    /// Steps that change files in place: after those that take other names of them away.
    in_place: Vec<(Step, Source)>,
    main: Vec<(Step, Source)>,
}

impl<'a> Planner<'a> {
    fn failed(&self, path: &Path) -> impl FnOnce(Errno) -> LayerError + use<> {
        LayerError::at(self.root.path.join(path))
    }

    /// Whether the root is no longer as it was when the command began.
    fn conflicts(&self, change: &Change) -> Result<bool, LayerError> {
        let above = change.path.parent();
        if above.is_some_and(|above| self.made.contains(above)) {
            // What is at this path in the root lies in a directory that is replaced.
            return Ok(false);
        }
        let path = change.path.as_os_str().as_bytes();
        let now = look_at(&self.root.handle, path).map_err(self.failed(&change.path))?;
        let begun = self.layer.begun;
        let Some(before) = &change.before else {
            return Ok(now.is_some() || self.has_vanished(change)?);
        };
        let Some(now) = now.map(|stat| Entry::of(&stat)) else {
            return Ok(true);
        };
        if !Ident::from(&now).is_entry(&Ident::from(before)) {
            return Ok(true);
        }
        if before.kind != EntryKind::Directory {
            return Ok(now.changed != before.changed || now.changed >= begun);
        }
        if change.kind == ChangeKind::Attributes {
            // What is made or removed in a directory changes its times as well.
            let only_attributes = now.changed >= begun && now.modified < begun;
            return Ok(only_attributes || !now.has_attributes_of(before));
        }
        self.has_changed_within(&change.path, begun)
    }

    /// Whether something was removed from the root that the command had changed: a copy in the
    /// upper half keeps the time of the last access, something new has a later one.
    fn has_vanished(&self, change: &Change) -> Result<bool, LayerError> {
        let is_old = |after: &Entry| after.accessed < self.layer.started;
        if !change.after.as_ref().is_some_and(is_old) {
            return Ok(false);
        }
        let above = change.path.parent().unwrap_or(Path::new(""));
        let above = look_at(&self.root.handle, above.as_os_str().as_bytes());
        let above = above.map_err(self.failed(&change.path))?;
        let is_new = |stat: Stat| (stat.st_mtime, stat.st_mtime_nsec) >= self.layer.begun;
        Ok(above.is_none_or(is_new))
    }

    /// Whether anything in a directory is newer than the command.
    fn has_changed_within(&self, path: &Path, begun: Time) -> Result<bool, LayerError> {
        let mut open = vec![path.as_os_str().as_bytes().to_vec()];
        let mut buffer = Vec::with_capacity(32 << 10);
        while let Some(directory) = open.pop() {
            let at = Path::new(OsStr::from_bytes(&directory));
            let handle = match open_directory(&self.root.handle, &directory) {
                // The command could not see into it either; only its owner can change that.
                Err(Errno::ACCESS) => continue,
                other => other.map_err(self.failed(at))?,
            };
            let changed = |stat: &Stat| (stat.st_ctime, stat.st_ctime_nsec) >= begun;
            if changed(&rustix::fs::fstat(&handle).map_err(self.failed(at))?) {
                return Ok(true);
            }
            for name in names(&handle, &mut buffer).map_err(self.failed(at))? {
                let Some(stat) = look(&handle, &name).map_err(self.failed(at))? else {
                    return Ok(true);
                };
                if changed(&stat) {
                    return Ok(true);
                }
                if Entry::of(&stat).kind == EntryKind::Directory {
                    open.push([directory.as_slice(), b"/", &name].concat());
                }
            }
        }
        Ok(false)
    }

    fn add(&mut self, change: &'a Change, conflicts: &mut Conflicts) -> Result<(), LayerError> {
        let path = change.path.as_os_str().as_bytes();
        let before = change.before.as_ref().map(Ident::from);
        let after = change.after.as_ref().map(Ident::from);
        let (Some(old), Some(new)) = (before, after) else {
            self.open_above(change)?;
            let (kind, source) = match after {
                None => (StepKind::Remove, Source::Nothing),
                Some(_) => (StepKind::Place, self.source(change)?),
            };
            self.made(change, after);
            self.open_itself(path, before);
            self.push(path, kind, source, before, after);
            return Ok(());
        };
        if is_in_place(change) {
            self.in_place(change, old, new, conflicts);
            return Ok(());
        }
        self.open_above(change)?;
        let source = self.source(change)?;
        if let Source::Link(other) = &source {
            let other = look_at(&self.root.handle, other).map_err(self.failed(&change.path))?;
            if other.is_some_and(|stat| stat.st_ino == old.inode) {
                // It is a name of that file already.
                return Ok(());
            }
        }
        self.made(change, after);
        self.open_itself(path, before);
        self.push(path, StepKind::Swap, source, before, after);
        Ok(())
    }

    /// Changes the file or directory that is there.
    fn in_place(&mut self, change: &Change, old: Ident, new: Ident, conflicts: &mut Conflicts) {
        let path = change.path.as_os_str().as_bytes();
        if old.is_directory() {
            self.last.insert(path.to_vec(), (old, new));
            return;
        }
        let kind = match change.kind {
            ChangeKind::Modified => StepKind::Rewrite,
            _ => StepKind::Attributes,
        };
        if change.before.as_ref().is_some_and(|one| one.links > 1)
            && let Some(other) = self.written.insert(old.inode, change.path.clone())
        {
            // The command saw two files where there is one.
            let at = |path: &Path| self.root.path.join(path);
            conflicts.split = Some((at(&other), at(&change.path)));
        }
        let source = match kind {
            StepKind::Rewrite => Source::Upper,
            _ => Source::Nothing,
        };
        let after = Ident {
            inode: old.inode,
            ..new
        };
        let step = Step {
            root: self.number,
            path: path.to_vec(),
            kind,
            before: Some(old),
            after: Some(after),
        };
        self.in_place.push((step, source));
    }

    fn source(&self, change: &Change) -> Result<Source, LayerError> {
        if is_directory(change.after.as_ref()) {
            return Ok(Source::Directory);
        }
        let links_to = change
            .after
            .as_ref()
            .and_then(|after| after.links_to.as_deref());
        let Some(other) = links_to else {
            return Ok(Source::Upper);
        };
        let stays = match self.by_path.get(other) {
            None => true,
            Some((other, chosen)) => *chosen && is_in_place(other),
        };
        if !stays {
            return Ok(Source::Upper);
        }
        let bytes = other.as_os_str().as_bytes();
        let stat = look_at(&self.root.handle, bytes).map_err(self.failed(other))?;
        let is_new = |stat: Stat| (stat.st_ctime, stat.st_ctime_nsec) >= self.layer.begun;
        if stat.is_none_or(is_new) {
            return Err(LayerError::Conflict {
                paths: vec![self.root.path.join(other)],
                more: 0,
            });
        }
        Ok(Source::Link(bytes.to_vec()))
    }

    /// Notes a new directory, and the attributes it gets when everything is in it.
    fn made(&mut self, change: &'a Change, after: Option<Ident>) {
        let Some(after) = after.filter(Ident::is_directory) else {
            return;
        };
        self.made.insert(&change.path);
        if after.mode & OPEN != OPEN {
            let open = Ident {
                mode: after.mode | OPEN,
                ..after
            };
            let path = change.path.as_os_str().as_bytes().to_vec();
            self.last.insert(path, (open, after));
        }
    }

    /// Opens a directory that its owner closed, before something in it changes.
    fn open_above(&mut self, change: &Change) -> Result<(), LayerError> {
        let Some(above) = change.path.parent().filter(|above| self.is_shut(above)) else {
            return Ok(());
        };
        let above = above.to_path_buf();
        let mut ways: Vec<&Path> = above.ancestors().collect();
        ways.reverse();
        for way in ways {
            let path = way.as_os_str().as_bytes();
            let stat = look_at(&self.root.handle, path).map_err(self.failed(way))?;
            self.open_itself(path, stat.as_ref().map(Ident::of).as_ref().copied());
        }
        Ok(())
    }

    /// Whether it may be a directory that is closed to its owner.
    fn is_shut(&self, above: &Path) -> bool {
        let opened = self.opened.contains_key(above.as_os_str().as_bytes());
        !opened && !self.made.contains(above) && !rustix::process::geteuid().is_root()
    }

    /// A directory is moved or changed only if its owner may write to it.
    fn open_itself(&mut self, path: &[u8], before: Option<Ident>) {
        let me = rustix::process::geteuid();
        let shut = before.filter(|one| {
            one.is_directory() && one.mode & OPEN != OPEN && !me.is_root() && one.uid == me.as_raw()
        });
        if let Some(shut) = shut {
            self.opened.entry(path.to_vec()).or_insert(shut);
        }
    }

    fn push(
        &mut self,
        path: &[u8],
        kind: StepKind,
        source: Source,
        before: Option<Ident>,
        after: Option<Ident>,
    ) {
        let step = Step {
            root: self.number,
            path: path.to_vec(),
            kind,
            before,
            after,
        };
        self.main.push((step, source));
    }

    /// All steps in their order.
    fn finish(self) -> Vec<(Step, Source)> {
        let Self {
            number,
            opened,
            mut last,
            main,
            in_place,
            ..
        } = self;
        let attributes = |path: &[u8], before: Ident, after: Ident| {
            let step = Step {
                root: number,
                path: path.to_vec(),
                kind: StepKind::Attributes,
                before: Some(before),
                after: Some(Ident {
                    inode: before.inode,
                    ..after
                }),
            };
            (step, Source::Nothing)
        };
        let mut all = Vec::with_capacity(main.len() + 2 * opened.len() + last.len());
        let gone: HashSet<&[u8]> = main
            .iter()
            .filter(|(step, _)| matches!(step.kind, StepKind::Remove | StepKind::Swap))
            .map(|(step, _)| step.path.as_slice())
            .collect();
        for (path, shut) in &opened {
            let open = Ident {
                mode: shut.mode | OPEN,
                ..*shut
            };
            all.push(attributes(path, *shut, open));
            if !gone.contains(path.as_slice()) {
                let after = last.get(path).map_or(*shut, |(_, after)| *after);
                last.insert(path.clone(), (open, after));
            }
        }
        drop(gone);
        all.extend(main);
        all.extend(in_place);
        for (path, (before, after)) in last.into_iter().rev() {
            if !before.has_attributes_of(&after) {
                all.push(attributes(&path, before, after));
            }
        }
        all
    }
}

/// Whether the file or directory that is there is changed, instead of another taking its place.
fn is_in_place(change: &Change) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return false;
    };
    let several = before.links > 1;
    match (change.kind, before.kind, after.kind) {
        (ChangeKind::Attributes, EntryKind::Directory, EntryKind::Directory) => true,
        (ChangeKind::Attributes, EntryKind::File, EntryKind::File) => !several || change.in_place,
        (ChangeKind::Modified, EntryKind::File, EntryKind::File) => several && change.in_place,
        _ => false,
    }
}

fn is_directory(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| entry.kind == EntryKind::Directory)
}
