//! Which directories a command gets, and what in them is guarded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::directory::Directory;
use super::guards::{self, Guards, Hidden, TooMany};
use super::sandbox::{Inner, bytes};
use crate::command::caller::after::baseline::Stood;
use crate::command::caller::after::placeholders::Held;
use crate::command::caller::after::sweep::Appeared;
use crate::command::caller::search::found::{Found, Missed, Why};
use crate::command::caller::search::hard_links::Inodes;
use crate::command::caller::search::link_targets::Step;
use crate::command::caller::search::own_files::OwnFiles;
use crate::command::caller::search::walk::is_opened;
use crate::command::error::SandboxError;
use crate::command::inside::init::Kind;
use crate::command::inside::mounts::SYSTEM;
use crate::command::protocol::message::{BadOrder, Mask, MaskKind, Order, SharedDirectory};
use crate::command::rules::{CommandSpec, Program, SandboxRules};
use crate::layer::{NoLayer, Withheld};
use crate::paths::Root;

/// Variables that the sandbox sets itself.
const OWN_VARIABLES: [&[u8]; 3] = [b"HOME", b"TMPDIR", b"PWD"];

/// The files of git in the home directory of commands.
const GIT_CONFIG: &str = ".gitconfig";
const GIT_IGNORED: &str = ".gitexcludes";

/// The directories of a sandbox and the shell that is there.
#[derive(Debug)]
pub(super) struct Layout {
    directories: Vec<Arc<Directory>>,
    own: OwnFiles,
    shell: Vec<Vec<u8>>,
}

/// A command on its way to the warden.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) order: Order,
    pub(crate) directories: Vec<Arc<Directory>>,
    pub(crate) held: Held,
    /// The search results of writable directories.
    pub(super) watched: Vec<Watched>,
    pub(crate) hidden: Vec<Hidden>,
    /// Why there can be no layer over one of the directories, if so.
    pub(super) unlayerable: Option<NoLayer>,
}

/// A directory in which a command can write, as it was before.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) directory: Arc<Directory>,
    pub(crate) found: Found,
    pub(crate) vacant: Vec<Vec<u8>>,
}

impl Watched {
    /// The rule against something that a command made at a path.
    pub(crate) fn judge(
        &self,
        rules: &SandboxRules,
        path: &[u8],
        is_directory: bool,
    ) -> Option<Withheld> {
        match self.directory.judge(rules, path, is_directory)? {
            Why::Own | Why::Unsearchable => Some(Withheld::Own),
            Why::Protected(rule) => Some(Withheld::Protected { rule }),
            Why::Denied(rule) => Some(Withheld::Denied { rule }),
        }
    }

    /// Whether its changes can go to a layer.
    pub(super) fn is_layerable(&self) -> bool {
        self.directory.is_layerable()
    }

    fn unlayerable(&self) -> Option<NoLayer> {
        let found = self.found.unlayerable.as_ref()?;
        (self.directory.is_layerable()).then(|| found.why(&self.directory.path))
    }

    /// Moves aside what appeared since.
    pub(crate) fn sweep(&self, rules: &SandboxRules) -> (Vec<Appeared>, Option<Missed>) {
        self.directory.sweep(rules, &self.found, &self.vacant)
    }
}

/// The masks, the search results and the directories that are hidden as a whole.
type Guarding = (Vec<Mask>, Vec<Watched>, Vec<Hidden>);

impl Layout {
    /// Of the roots, and of the grants as they were opened.
    pub(super) fn open(
        rules: &SandboxRules,
        granted: Vec<Directory>,
    ) -> Result<Self, SandboxError> {
        refuse_own_in_system(rules)?;
        let mut directories = Vec::new();
        for (number, root) in rules.paths.roots().iter().enumerate() {
            directories.push(Directory::root(rules, number, root)?);
        }
        directories.extend(granted);
        Ok(Self {
            directories: directories.into_iter().map(Arc::new).collect(),
            own: OwnFiles::of(rules),
            shell: shell(),
        })
    }

    /// Finds what is guarded, makes the placeholders and writes the order.
    pub(crate) fn prepare(
        &self,
        inner: &Inner,
        spec: &CommandSpec,
        kind: Kind,
        layered: bool,
    ) -> Result<Prepared, SandboxError> {
        let rules = &inner.rules;
        let mut directories = self.directories.clone();
        for grant in &spec.grants {
            directories.push(Arc::new(Directory::grant(rules, grant)?));
        }
        for exact in &spec.opened {
            directories.push(Arc::new(Directory::exact(rules, exact)?));
        }
        // Of two that are the same the stricter comes first and stays; inner ones come after
        // the outer ones that they lie on.
        directories.sort_by(|a, b| (&a.path, a.writable).cmp(&(&b.path, b.writable)));
        directories.dedup_by(|later, first| later.path == first.path);
        let mut held = Held::default();
        match self.guard(inner, &directories, kind, layered, &mut held) {
            Ok((masks, watched, hidden)) => Ok(Prepared {
                order: self.order(rules, spec, kind, layered, &directories, masks),
                directories,
                held,
                unlayerable: watched.iter().find_map(Watched::unlayerable),
                watched,
                hidden,
            }),
            Err(error) => {
                inner.placeholders.release(&held);
                Err(error)
            }
        }
    }

    fn guard(
        &self,
        inner: &Inner,
        directories: &[Arc<Directory>],
        kind: Kind,
        layered: bool,
        held: &mut Held,
    ) -> Result<Guarding, SandboxError> {
        let rules = &inner.rules;
        for directory in directories.iter().filter(|directory| directory.writable) {
            // Without mounts nothing could lie on a placeholder.
            let is_opened = |path: &[u8]| is_opened(&directory.opened, path);
            if let (Some(root), true) = (directory.root, kind.namespaces) {
                if layered {
                    inner.placeholders.list(root, is_opened, held);
                    continue;
                }
                inner
                    .placeholders
                    .hold(root, is_opened, held)
                    .map_err(|(path, errno)| SandboxError::Placeholder { path, errno })?;
            }
        }
        let mut all_found: Vec<Found> = directories
            .iter()
            .map(|directory| directory.find(rules, held.of(directory)))
            .collect();
        share_steps(rules, directories, &mut all_found);
        let mut masks = Vec::new();
        let mut hidden = Vec::new();
        if kind.namespaces {
            // A file that is denied in one directory is denied under its other names too.
            let own = self.own.find(rules, directories);
            let inodes = Inodes::of(all_found.iter().chain([&own]));
            for (directory, found) in directories.iter().zip(&mut all_found) {
                directory.guard_links(rules, &inodes, found);
                if let Some(missed) = found.missed.take() {
                    return Err(SandboxError::Search(missed));
                }
            }
            (masks, hidden) = all_masks(directories, held, &all_found)?;
        }
        let watched = directories.iter().zip(all_found);
        let watched = watched.filter(|(directory, _)| directory.writable);
        let watched = watched.map(|(directory, found)| Watched {
            directory: Arc::clone(directory),
            found,
            vacant: held.of(directory).to_vec(),
        });
        Ok((masks, watched.collect(), hidden))
    }

    /// Searches the grants again that are searched once: a name in one has moved.
    pub(super) fn search_again(&self, rules: &SandboxRules) {
        for directory in &self.directories {
            directory.search_again(rules);
        }
    }

    /// The directory that a killed process watched, if commands of this one use it too.
    pub(super) fn watched_before(&self, stood: &mut Stood) -> Option<Watched> {
        let mut writable = self
            .directories
            .iter()
            .filter(|directory| directory.writable);
        let directory = writable.find(|directory| directory.path == stood.tree)?;
        Some(Watched {
            directory: Arc::clone(directory),
            found: std::mem::take(&mut stood.found),
            vacant: Vec::new(),
        })
    }

    fn order(
        &self,
        rules: &SandboxRules,
        spec: &CommandSpec,
        kind: Kind,
        layered: bool,
        directories: &[Arc<Directory>],
        all_masks: Vec<Mask>,
    ) -> Order {
        let argv = match &spec.program {
            Program::Line(line) => self.shell.iter().cloned().chain([bytes(line)]).collect(),
            Program::Exact(argv) => argv.iter().map(bytes).collect(),
        };
        let variables = spec
            .env
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .filter(|(name, _)| !name.is_empty() && !OWN_VARIABLES.contains(name));
        let mut env: Vec<Vec<u8>> = variables
            .map(|(name, value)| [name, b"=", value].concat())
            .collect();
        // Without it every shell asks the system who it runs for, to learn just this.
        if !env.iter().any(|variable| variable.starts_with(b"SHELL="))
            && let Some(shell) = self.shell.first()
        {
            env.push([b"SHELL=", shell.as_slice()].concat());
        }
        Order {
            namespaces: kind.namespaces,
            omit: rules.omit,
            network: kind.network,
            limits: spec.limits.unwrap_or(rules.limits),
            argv,
            env,
            home: git_files(rules, &all_masks),
            cwd: bytes(&spec.cwd),
            directories: directories
                .iter()
                .map(|directory| SharedDirectory {
                    path: bytes(&directory.path),
                    writable: directory.writable,
                    layered: layered && directory.is_layerable(),
                })
                .collect(),
            masks: all_masks,
        }
    }
}

/// The files of git in the home directory: the user's settings, and what is not part of a project. The
/// names that are kept vacant are not: `git clean` and `git stash` would try to remove them.
fn git_files(rules: &SandboxRules, masks: &[Mask]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut ignored = rules.git.ignored.clone().into_bytes();
    let vacant = masks.iter().filter(|mask| mask.kind == MaskKind::Vacant);
    for mask in vacant {
        ignored.extend([b"\n/", mask.path.as_slice(), b"/"].concat());
    }
    if ignored.is_empty() && rules.git.settings.is_empty() {
        return Vec::new();
    }
    ignored.push(b'\n');
    let settings = format!(
        "{}[core]\n\texcludesfile = ~/{GIT_IGNORED}\n",
        rules.git.settings
    );
    vec![
        (GIT_CONFIG.into(), settings.into_bytes()),
        (GIT_IGNORED.into(), ignored),
    ]
}

/// The system is shown as it is, so Toolgate's own files must not lie in it. In a root they
/// are masked, whatever the root lies in.
fn refuse_own_in_system(rules: &SandboxRules) -> Result<(), SandboxError> {
    for place in &rules.paths.own().closed {
        let in_root = |root: &Root| place.starts_with(root.path());
        let system = SYSTEM
            .into_iter()
            .find(|name| place.starts_with(Path::new("/").join(name)));
        if let Some(system) = system
            && !rules.paths.roots().iter().any(in_root)
        {
            return Err(SandboxError::OwnInSystem {
                place: place.clone(),
                system,
            });
        }
    }
    Ok(())
}

impl Held {
    fn of(&self, directory: &Directory) -> &[Vec<u8>] {
        directory
            .root
            .map(|root| self.names(root))
            .unwrap_or_default()
    }
}

/// Guards what protected links of one directory lead to in another one.
fn share_steps(rules: &SandboxRules, directories: &[Arc<Directory>], all_found: &mut [Found]) {
    loop {
        let from = all_found.iter_mut().enumerate();
        let steps: Vec<(usize, Step)> = from
            .flat_map(|(from, found)| found.steps.drain(..).map(move |step| (from, step)))
            .collect();
        if steps.is_empty() {
            return;
        }
        for (number, (directory, found)) in directories.iter().zip(&mut *all_found).enumerate() {
            let here = steps.iter().filter(|(from, step)| {
                *from != number && directory.writable && step.path.starts_with(&directory.path)
            });
            let here: Vec<&Step> = here.map(|(_, step)| step).collect();
            if !here.is_empty() {
                directory.guard_steps(rules, &here, found);
            }
        }
    }
}

fn all_masks(
    directories: &[Arc<Directory>],
    held: &Held,
    all_found: &[Found],
) -> Result<(Vec<Mask>, Vec<Hidden>), SandboxError> {
    let (mut masks, mut hidden) = (Vec::new(), Vec::new());
    for (number, (directory, found)) in directories.iter().zip(all_found).enumerate() {
        let number = u16::try_from(number).map_err(|_| BadOrder::TooLarge)?;
        let nested = |other: &Arc<Directory>| {
            let rel = other.path.strip_prefix(&directory.path).ok()?;
            (!rel.as_os_str().is_empty()).then(|| bytes(rel))
        };
        let guards = Guards {
            found,
            vacant: held.of(directory),
            nested: directories.iter().filter_map(nested).collect(),
            writable: directory.writable,
        };
        let at = |path: &[u8]| directory.path.join(OsStr::from_bytes(path));
        let left = guards::MOST.saturating_sub(masks.len());
        let too_many = |TooMany { names }| SandboxError::TooManyGuarded {
            path: directory.path.clone(),
            names,
        };
        let (more, collapsed) = guards.masks(number, left).map_err(too_many)?;
        masks.extend(more);
        let closed = found.guarded.iter();
        let closed = closed.filter(|guarded| guarded.why == Why::Unsearchable);
        hidden.extend(closed.map(|guarded| Hidden::Unsearchable {
            path: at(&guarded.path),
        }));
        hidden.extend(collapsed.iter().map(|(path, names)| Hidden::TooManyDenied {
            path: at(path),
            names: *names,
        }));
    }
    Ok((masks, hidden))
}

/// The shell without start-up files.
fn shell() -> Vec<Vec<u8>> {
    let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    match bash.iter().find(|path| Path::new(path).exists()) {
        Some(bash) => [bash, "--noprofile", "--norc", "-c"].map(bytes).to_vec(),
        None => ["/bin/sh", "-c"].map(bytes).to_vec(),
    }
}
